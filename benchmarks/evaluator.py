"""Exact answers, and a whole evaluation: own overhead, and what a second process brings."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

import spatialdp as sdp
from benchmarks.measure import Result, seconds
from benchmarks.trees import clustered
from spatialdp.mechanisms import Mechanism
from spatialdp.records.truth import Counter

DOMAIN = sdp.Domain((0, 0, 1, 1))
EPSILONS = (0.01, 0.1, 1, 10)
TRIALS = 10
FEW = 20  # boxes that the peer is timed on


def exact_answers() -> Iterator[Result]:
    """10,000 random boxes on a million records, index included, against a shapely STRtree over the points.

    The peer builds its index too, and answers 20 of the boxes; its time for all is that many times as long. It is asked
    for the points in each box's rectangle, which is its fastest way.
    """
    import shapely

    xy = np.random.default_rng(1).random((1_000_000, 2))
    boxes = sdp.workload.random_boxes(DOMAIN, 10_000).boxes
    assert boxes is not None
    points, lattice = sdp.Points(xy), DOMAIN.boxes(boxes)
    ours = seconds(lambda: Counter.of(points, DOMAIN).count(lattice), 3)
    start = time.perf_counter()
    tree = shapely.STRtree(shapely.points(xy))
    tree.query(shapely.box(0, 0, 0.001, 0.001))  # which is when it is built
    building = time.perf_counter() - start
    asked = shapely.box(*boxes[:FEW].T)
    theirs = building + seconds(lambda: np.bincount(tree.query(asked)[0], minlength=FEW), 1) * (len(boxes) / FEW)
    yield Result("10,000 boxes on 1 million records, speed over a shapely STRtree", theirs / ours, 50)


def mechanisms() -> list[Mechanism]:
    """Six, on 256 x 256 cells."""
    shape = (256, 256)
    grids = sdp.Flat(shape), sdp.Hierarchy(shape), sdp.Wavelet(shape)
    return [*grids, sdp.Quadtree(8), sdp.KdTree(8), sdp.Uniform()]


def evaluation() -> Iterator[Result]:
    """6 mechanisms, 4 ε, 10 trials, 2,000 boxes, 100,000 records: overhead over release and answer, and scaling."""
    xy, queries = clustered(100_000), sdp.workload.random_boxes(DOMAIN, 2000)
    assert queries.boxes is not None
    boxes = queries.boxes

    def whole(processes: int) -> object:
        return sdp.evaluate(mechanisms(), xy, DOMAIN, queries, EPSILONS, TRIALS, processes=processes)

    def bare() -> None:
        points = sdp.Points(xy)
        for mechanism in mechanisms():
            for epsilon in EPSILONS:
                for trial in range(TRIALS):
                    noise = sdp.SeededNoise((1, trial))
                    mechanism.release(points, DOMAIN, epsilon=epsilon, noise=noise).answer(boxes)

    alone, both, needed = (seconds(work, 2) for work in (lambda: whole(1), lambda: whole(2), bare))
    yield Result("evaluation, speed of two processes over one", alone / both, 1.6)
    yield Result(
        "evaluation, share of its time that is not release or answer", 100 * (1 - needed / alone), 20, False, "%"
    )


BENCHMARKS = (exact_answers, evaluation)
