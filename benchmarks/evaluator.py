"""How fast are true counts and a whole evaluation? The evaluator's overhead, and the gain of a second process."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

import spatialdp as sdp
from benchmarks.measure import Result, in_turn, seconds
from benchmarks.trees import clustered
from spatialdp.mechanisms import Mechanism
from spatialdp.records.truth import Counter

DOMAIN = sdp.Domain((0, 0, 1, 1))
EPSILONS = (0.01, 0.1, 1, 10)
TRIALS = 10
FEW = 20  # number of boxes on which shapely is timed


def exact_answers() -> Iterator[Result]:
    """Time 10,000 random boxes on a million records, with building the index, against shapely's STRtree of the points.

    Shapely builds its index too and answers 20 of the boxes; its time for all boxes is computed from these. It finds
    the points in the rectangle of each box, which is its fastest method.
    """
    import shapely

    xy = np.random.default_rng(1).random((1_000_000, 2))
    boxes = sdp.workload.random_boxes(DOMAIN, 10_000).boxes
    assert boxes is not None
    points, lattice = sdp.Points(xy), DOMAIN.boxes(boxes)
    ours = seconds(lambda: Counter.of(points, DOMAIN).count(lattice), 3)
    start = time.perf_counter()
    tree = shapely.STRtree(shapely.points(xy))
    tree.query(shapely.box(0, 0, 0.001, 0.001))  # the first query builds the tree
    building = time.perf_counter() - start
    few_boxes = shapely.box(*boxes[:FEW].T)
    theirs = building + seconds(lambda: np.bincount(tree.query(few_boxes)[0], minlength=FEW), 1) * (len(boxes) / FEW)
    yield Result("10,000 boxes on 1 million records, speed over a shapely STRtree", theirs / ours, 50)


def mechanisms() -> list[Mechanism]:
    """Return six mechanisms with at most 256 × 256 cells."""
    shape = (256, 256)
    grids = sdp.Flat(shape), sdp.Hierarchy(shape), sdp.Wavelet(shape)
    return [*grids, sdp.Quadtree(8), sdp.KdTree(8), sdp.Uniform()]


def evaluation() -> Iterator[Result]:
    """Time an evaluation of 6 mechanisms, 4 ε, 10 trials, 2,000 boxes and 100,000 records, in one and two processes."""
    xy, queries = clustered(100_000), sdp.workload.random_boxes(DOMAIN, 2000)
    assert queries.boxes is not None
    boxes = queries.boxes

    def evaluate(processes: int) -> object:
        return sdp.evaluate(mechanisms(), xy, DOMAIN, queries, EPSILONS, TRIALS, processes=processes)

    def release_and_answer() -> None:
        points = sdp.Points(xy)
        for mechanism in mechanisms():
            for epsilon in EPSILONS:
                for trial in range(TRIALS):
                    noise = sdp.SeededNoise((1, trial))
                    mechanism.release(points, DOMAIN, epsilon=epsilon, noise=noise).answer(boxes)

    works = (lambda: evaluate(1), lambda: evaluate(2), release_and_answer)
    one, two, necessary = in_turn(*works, repeat=2)
    yield Result("evaluation, speed of two processes over one", one / two, 1.6)
    yield Result(
        "evaluation, share of its time that is not release or answer", 100 * (1 - necessary / one), 20, False, "%"
    )


BENCHMARKS = (exact_answers, evaluation)
