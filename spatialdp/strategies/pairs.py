"""Which strategies of both axes suit a workload that is not one product of two? The axes are optimised alternately.

With the strategy along y fixed, each product of the workload matters along x by its weight times its
variance along y. So the best strategy along x is the one for a single Gram matrix, and the same holds
the other way round. Going back and forth never makes the mean variance larger. (McKenna et al., VLDB
2018, do so for unions of products.) See ``docs/design/tailored.md``. This module reads no record.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from spatialdp._support.arrays import Floats
from spatialdp._support.terminal import progress
from spatialdp.privacy.noise.laws import Law
from spatialdp.strategies.axis_workload import ALL_RANGES
from spatialdp.strategies.objective import cells_alone, unit_variance
from spatialdp.strategies.products import AxisQueries, ProductQueries
from spatialdp.strategies.store import (
    cache_folder,
    load_weights,
    save_weights,
    stored_windows,
    strategy_law,
    write_to_cache,
)
from spatialdp.strategies.trees import tree_for
from spatialdp.strategies.windows import windows_for
from spatialdp.transforms.matrices import WindowAxis

__all__ = ["Pair", "joint_trees", "joint_windows", "mean_pair_variance", "stored_pair"]

# Most rounds of going back and forth, and the share of the variance that a round must save for another one to follow.
_ROUNDS, _WORTH = 5, 2e-3
_LAST_ROUNDS = 2  # for the best pair, on finer stretches


class Pair(NamedTuple):
    """A strategy along x and one along y."""

    x: WindowAxis
    y: WindowAxis


PairQueries = ProductQueries[AxisQueries]
# Makes a strategy for a Gram matrix, starting from a similar one; with queries of the axis it also searches.
Optimiser = Callable[[Floats, WindowAxis, AxisQueries | None], WindowAxis]


def mean_pair_variance(queries: PairQueries, pair: Pair, law: Law) -> float:
    """Mean variance of the workload; 1 is the variance of one count measured with the whole budget."""
    return queries.mean(_variances(queries.x, pair.x, law), _variances(queries.y, pair.y, law))


def _variances(queries: AxisQueries, axis: WindowAxis, law: Law) -> Floats:
    return unit_variance(axis, law) * queries.variances(axis)


@lru_cache(maxsize=16)
def stored_pair(queries: PairQueries, law: Law) -> Pair:
    """The pair of strategies of `joint_windows`: read from the cache, or optimised now and cached."""
    family = strategy_law(law)
    files = [
        (side, f"{queries.digest[:24]}-{name}-{family}-{side.size}.npz")
        for side, name in zip(queries.sides, "xy", strict=True)
    ]
    x, y = (load_weights(cache_folder() / name, side.size, [queries.digest, name]) for side, name in files)
    if (
        x is not None
        and y is not None
        and mean_pair_variance(queries, Pair(x, y), family) <= 1.0001 * _flat_variance(queries, family)
    ):
        return Pair(x, y)
    pair = joint_windows(queries, family)

    def write(folder: Path) -> None:
        for (_, name), axis in zip(files, pair, strict=True):
            save_weights(folder / name, axis, [queries.digest, name])

    write_to_cache(write)
    return pair


def _flat_variance(queries: PairQueries, law: Law) -> float:
    return mean_pair_variance(queries, Pair(*(cells_alone(side.size) for side in queries.sides)), law)


def joint_windows(queries: PairQueries, law: Law) -> Pair:
    """Find a pair of strategies of cells and windows with a small mean variance.

    The search takes 128 stretches of each axis and starts from several strategies along y; the best
    pair is refined on 512 stretches. Cells alone and the strategies for all ranges are among the
    candidates, so the result is never worse than either.
    """

    def roughly(gram: Floats, near: WindowAxis, side: AxisQueries | None) -> WindowAxis:
        # For Gaussian noise the search starts from the optimum over all strategies, whatever is near.
        search = side is not None or law is Law.GAUSSIAN
        queries = side.ranges() if side is not None else []
        return windows_for(gram, law, [] if search else [near], search=search, finish=False, queries=queries)

    def finely(gram: Floats, near: WindowAxis, _side: AxisQueries | None) -> WindowAxis:
        return windows_for(gram, law, [near], search=False)

    ranges = Pair(*(stored_windows(side.size, ALL_RANGES, law) for side in queries.sides))
    rough, others = _best(queries, law, ranges, roughly)
    fine = _alternated(queries, law, rough, finely, _LAST_ROUNDS)
    return min([*others, rough, fine], key=lambda pair: mean_pair_variance(queries, pair, law))


@lru_cache(maxsize=16)
def joint_trees(queries: PairQueries, law: Law) -> Pair:
    """Find a pair of trees with a small mean variance; never worse than cells alone or the trees for all ranges."""

    def optimised(gram: Floats, _near: WindowAxis, _side: AxisQueries | None) -> WindowAxis:
        return tree_for(gram, law)

    ranges = Pair(*(tree_for(ALL_RANGES.gram(side.size), law) for side in queries.sides))
    best, others = _best(queries, law, ranges, optimised)
    return min([*others, best], key=lambda pair: mean_pair_variance(queries, pair, law))


def _best(queries: PairQueries, law: Law, ranges: Pair, optimised: Optimiser) -> tuple[Pair, list[Pair]]:
    """The best pair from several starting points, and the candidates that need no search."""
    flat = Pair(cells_alone(queries.x.size), cells_alone(queries.y.size))
    alone = optimised(_scaled(queries.y.gram(queries.weights)), ranges.y, queries.y) if queries.y.size > 1 else flat.y
    starts = (ranges.y,) if law is Law.GAUSSIAN else (ranges.y, flat.y, alone)
    pairs = [
        _alternated(queries, law, Pair(ranges.x, y), optimised, _ROUNDS)
        for y in progress(starts, "fitting a strategy to a workload")
    ]
    return min(pairs, key=lambda pair: mean_pair_variance(queries, pair, law)), [flat, ranges]


def _alternated(queries: PairQueries, law: Law, start: Pair, optimised: Optimiser, rounds: int) -> Pair:
    """Optimise one axis after the other, for as long as a round saves enough variance."""
    best, before = start, float("inf")
    for turn in range(rounds):
        by_y = queries.weights * _variances(queries.y, best.y, law)
        x = (
            optimised(_scaled(queries.x.gram(by_y)), best.x, None if turn else queries.x)
            if queries.x.size > 1
            else best.x
        )
        by_x = queries.weights * _variances(queries.x, x, law)
        y = (
            optimised(_scaled(queries.y.gram(by_x)), best.y, None if turn else queries.y)
            if queries.y.size > 1
            else best.y
        )
        variance = mean_pair_variance(queries, Pair(x, y), law)
        if variance >= before * (1 - _WORTH):
            return best if variance >= before else Pair(x, y)
        best, before = Pair(x, y), variance
    return best


def _scaled(gram: Floats) -> Floats:
    """The Gram matrix, scaled so that the optimiser's first steps are neither too long nor too short."""
    return np.asarray(gram * (0.3 / np.diag(gram).max()))
