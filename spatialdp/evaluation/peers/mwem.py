"""MWEM: ask the worst of many boxes, again and again, and reweigh the map (Hardt, Ligett, McSherry, NIPS 2012).

The map begins even. Each round chooses, privately, a box that the map answers badly, measures that box, and multiplies
the cells inside it until the map agrees better with all boxes measured so far. Choice and measurement are exact: scores
are whole numbers, the exponential mechanism draws from them without rounding, and the noise is discrete.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from spatialdp._support.arrays import Floats, Integers
from spatialdp._support.checks import whole_number
from spatialdp._support.override import override
from spatialdp.errors import ParameterError
from spatialdp.estimates.grid_noise import IndependentNoise
from spatialdp.estimates.histogram import Histogram
from spatialdp.evaluation.peers.base import ByRecords, Design
from spatialdp.evaluation.peers.blocks import BlockCounter, count_law
from spatialdp.mechanisms.base import Plan, Terms
from spatialdp.privacy.noise.selection import decide
from spatialdp.privacy.noise.source import Noise
from spatialdp.records.points import Points
from spatialdp.space.coverage import prefix_sums
from spatialdp.space.domain import Domain, Grid
from spatialdp.space.lattice import box_array
from spatialdp.strategies.products import BoxQueries
from spatialdp.wording import parameter
from spatialdp.workload import random_boxes

__all__ = ["MWEM", "rounds_for"]

MOST_CANDIDATES = 10**5
MOST_ROUNDS = 10**4
SWEEPS = 20  # over all boxes measured so far, in each round
STEEPEST = 50.0  # greatest exponent of a factor, so that no cell overflows


@dataclass(frozen=True)
class _Rounds(Design):
    candidates: Integers  # blocks of cells, (m, 4)


@dataclass(frozen=True)
class MWEM(ByRecords):
    """Multiplicative weights with the exponential mechanism, on boxes of a grid's cells.

    A round scores each candidate box by |count - estimate|, the estimate rounded to a whole number, draws a box with
    probability proportional to exp(ε score / (4 T)), measures it with discrete Laplace noise of scale 2 T / ε, and goes
    over all measured boxes 20 times: the cells in a box are multiplied by exp((measured - estimate) / (2 n)), and the
    map is scaled back to n.

    Parameters
    ----------
    shape : (nx, ny)
        The grid of the map.
    records : {"public", "paid"}
        Whether n is taken as public, as by its authors, which is not private, or costs 5 % of ε.
    candidates : int or (m, 4) array-like
        So many random boxes of whole cells, drawn in public; or boxes in domain coordinates, whose edges are moved to
        the nearest lines of the grid. At most 100,000.
    rounds : int, optional
        T. By default max(2, √(n ε) / 4, rounded), with the n that was paid for.

    Privacy
    -------
    Neighbours: add or remove one record, which changes a box's count by at most 1, and so each score by at most 1,
    because the map is made of released numbers. n costs 5 % of ε; each of T rounds spends 1 / (2 T) of the rest on its
    choice and as much on its measurement; together they cost ε. T follows from the released n. With "public" the
    release is not private. ``tests/evaluation/peers/test_mwem.py`` computes the sensitivity of scores by brute force,
    and adds up what is spent.

    Examples
    --------
    >>> import spatialdp as sdp
    >>> release = MWEM((8, 8), candidates=500).release([[0.1, 0.2]] * 900, sdp.Domain((0, 0, 1, 1)), epsilon=1)
    >>> release.answer((0, 0, 0.5, 0.5)) > 300
    True
    """

    name: ClassVar[str] = "mwem"
    records_share: ClassVar[Fraction] = Fraction(1, 20)
    candidates: Any = MOST_CANDIDATES
    rounds: int | None = None

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rounds is not None:
            object.__setattr__(self, "rounds", whole_number(self.rounds, "rounds", 1, MOST_ROUNDS))
        object.__setattr__(self, "candidates", _checked_candidates(self.candidates))

    @override
    def _design(self, domain: Domain, terms: Terms) -> _Rounds:
        design = super()._design(domain, terms)
        if isinstance(self.candidates, BoxQueries):
            boxes = self.candidates.corners
        else:
            drawn = random_boxes(domain, self.candidates, shape=self.shape).boxes
            assert drawn is not None
            boxes = drawn
        return _Rounds(design.grid, design.epsilon, blocks_of(design.grid, boxes))

    @override
    def _plan(self, design: Design) -> Plan:
        assert isinstance(design, _Rounds)
        n = design.epsilon * self.records_share if self.private else Fraction(0)
        half = (design.epsilon - n) / 2
        budget = {"records": n} if n else {}
        cells, memory = design.grid.n_cells, 40 * design.grid.n_cells + 100 * len(design.candidates)
        return Plan(self.name, cells, "epsilon", budget | {"choices": half, "measurements": half}, math.nan, memory)

    @override
    def _estimate(self, points: Points, design: _Rounds, noise: Noise) -> Histogram:
        count = BlockCounter.of(points, design.grid)
        n, epsilon = self._n_and_rest(count.n, design.epsilon, noise)
        n = max(n, 1.0)
        rounds = rounds_for(n, design.epsilon) if self.rounds is None else self.rounds
        truth, law = count.exact(design.candidates), count_law(epsilon / (2 * rounds))
        weights: Floats = design.grid.mask * np.float64(n / design.grid.n_cells)
        boxes: list[Integers] = []
        measured: list[float] = []
        for _ in range(rounds):
            scores = scores_of(truth, weights, design.candidates)
            place = drawn_place(scores, epsilon / (2 * rounds), noise)
            boxes.append(design.candidates[place])
            measured.append(float(law.add_to(truth[[place]], noise)[0]))
            reweigh(weights, boxes, measured, n)
        return Histogram(design.grid, weights, IndependentNoise(design.grid, 0.0, 0.0, 0.0), biased=True)


def rounds_for(n: float, epsilon: Fraction) -> int:
    """Return the number of rounds: max(2, √(n ε) / 4, rounded).

    Examples
    --------
    >>> [rounds_for(n, Fraction(1)) for n in (10, 1000, 100_000)]
    [2, 8, 79]
    """
    return max(2, round(math.sqrt(n * float(epsilon)) / 4))


def blocks_of(grid: Grid, boxes: Floats) -> Integers:
    """Return boxes as blocks of cells: first column and row, and those after the last; empty ones are left out.

    Examples
    --------
    >>> grid = Domain((0, 0, 4, 4)).grid((4, 4))
    >>> blocks_of(grid, np.array([[0.9, 0, 4, 2.2], [1.1, 0, 1.2, 4]])).tolist()
    [[1, 0, 4, 2]]
    """
    low, size = np.tile(grid.domain.bounds[:2], 2), np.tile(grid.domain.size, 2)
    shape = np.tile(grid.shape, 2)
    blocks = np.clip(np.rint((boxes - low) / size * shape), 0, shape).astype(np.int64)
    kept: Integers = blocks[(blocks[:, 0] < blocks[:, 2]) & (blocks[:, 1] < blocks[:, 3])]
    if not len(kept):
        raise ParameterError(
            f"{parameter('candidates')} are boxes that hold no cell of {grid.shape[0]} x {grid.shape[1]}; MWEM chooses "
            "among boxes of cells. Give larger boxes, or a finer grid."
        )
    return kept


def scores_of(truth: Integers, weights: Floats, candidates: Integers) -> Integers:
    """Return how far the map is off in each candidate box, as whole numbers.

    Examples
    --------
    >>> scores_of(np.array([7]), np.full((2, 2), 1.1), np.array([[0, 0, 2, 1]])).tolist()
    [5]
    """
    x0, y0, x1, y1 = candidates.T
    sums = prefix_sums(weights)
    estimates = np.rint(sums[y1, x1] - sums[y0, x1] - sums[y1, x0] + sums[y0, x0])
    scores: Integers = np.abs(truth - estimates.astype(np.int64))
    return scores


def drawn_place(scores: Integers, epsilon: Fraction, noise: Noise) -> int:
    """Draw a place with probability proportional to exp(ε score / 2), exactly.

    Scores fall into bands of about 2 / ε. A band is drawn as if all its scores were the best of the band, then one of
    its places, all alike; that one is accepted with the probability exp(-ε / 2) to the power of what it lacks, and
    otherwise all is drawn again. So there are a few hundred exact exponentials instead of one for each score.
    """
    rate = epsilon / 2
    width = max(1, math.floor(1 / rate))
    gaps, lacks = np.divmod(scores.max() - scores, width)
    bands, sizes = np.unique(gaps, return_counts=True)

    def word() -> int:
        return int(noise.uniform_words(1)[0])

    while True:
        members = np.flatnonzero(gaps == bands[decide(sizes.tolist(), bands.tolist(), rate * width, word(), word)])
        place = int(members[int(noise.below(np.array([members.size]))[0])])
        if noise.accepts(rate * int(lacks[place])):
            return place


def reweigh(weights: Floats, boxes: Sequence[Integers], measured: Sequence[float], n: float) -> None:
    """Multiply the cells of each box towards its measured count, box after box, many times; changes the weights."""
    for _ in range(SWEEPS):
        for (left, low, right, top), count in zip(boxes, measured, strict=True):
            block = weights[low:top, left:right]
            exponent = (count - float(block.sum())) / (2 * n)
            block *= math.exp(min(max(exponent, -STEEPEST), STEEPEST))
            weights *= n / float(weights.sum())


def _checked_candidates(candidates: Any) -> int | BoxQueries:
    """Return a number of random boxes, or given boxes, of which there are not too many."""
    if isinstance(candidates, int):
        return whole_number(candidates, "candidates", 1, MOST_CANDIDATES)
    queries = candidates if isinstance(candidates, BoxQueries) else BoxQueries(box_array(candidates))
    if len(queries.corners) > MOST_CANDIDATES:
        raise ParameterError(
            f"{parameter('candidates')} are {len(queries.corners)} boxes; give at most {MOST_CANDIDATES}, for instance "
            "some of them, drawn in public."
        )
    return queries
