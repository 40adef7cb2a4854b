"""Which levels of blocks to measure, and with how much? Those with the least mean variance of a workload of boxes.

On a hierarchy of whole blocks the mean variance of the fitted answers is a sum over levels (cells
first),

    Σ D_l / E_l,   D_l = a_l S_l - a_(l+1) S_(l+1),   E_l = Σ_(j≤l) a_j / s_j,

with a the number of cells in a block, S the mean over the workload of Σ (covered share of a block)²,
and s the noise variance. That is the fit of `trees.least_squares` for any fan-outs
(``docs/design/tree-noise.md``). The sum depends on the budgets through E alone, so that all sets of
levels worth trying are optimised together, as the rows of one array. Blocks that the edge of the grid
cuts off are treated as whole here; the fit and the variances of a release treat them exactly. This
module reads no record.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile

import numpy as np

from spatialdp._support.arrays import Floats, Integers
from spatialdp.privacy.noise.laws import Law
from spatialdp.space.coverage import block_powers
from spatialdp.strategies.products import IntervalQueries, ProductQueries

__all__ = ["BlockQueries", "GivenBoxes", "Levels", "best_budget", "best_levels", "mean_variance"]


_FACTORS = (1, 3, 5, 9)  # sides of blocks are these numbers times powers of two
_MOST_LEVELS = 4
# On longer grids there are enough powers of two to choose from.
_MANY_SIDES = 4096
# Steps of the optimiser for all sets of levels, for the most promising ones, and for the best one.
_COARSE, _CLOSER, _FINE = 8, 60, 400
_PROMISING = 24  # sets of levels that get the second number of steps
# The optimiser ends when no share moves by more than this.
_SETTLED = 1e-8
# Blocks that fit the grid are preferred unless their mean variance is larger by more than this factor: their
# variances have a closed form.
_WHOLE_IS_WORTH = 1.02
# A simpler set of levels is preferred if its mean variance is within this factor of the best.
_AS_GOOD = 1 + 1e-6
# Levels with a smaller share of the budget are not worth measuring.
_SMALLEST_SHARE = 1e-4


@dataclass(frozen=True)
class BlockQueries:
    """A workload of boxes of whole cells: all boxes, or all boxes of one size.

    Attributes
    ----------
    size : (width, height), optional
        In cells; None for all boxes of whole cells, equally important.
    """

    size: tuple[int, int] | None = None

    def squares(self, shape: tuple[int, int], side: int) -> float:
        """Mean over the boxes of Σ (covered share)² over all blocks of `side` cells a side."""
        if self.size is None:
            return _all_intervals(shape[0], side) * _all_intervals(shape[1], side)
        return _intervals(shape[0], self.size[0], side) * _intervals(shape[1], self.size[1], side)


@dataclass(frozen=True)
class GivenBoxes:
    """A workload of given boxes on a grid; used like `BlockQueries`.

    Attributes
    ----------
    queries : ProductQueries of IntervalQueries
        The queries of the boxes along both axes.
    """

    queries: ProductQueries[IntervalQueries]

    def squares(self, shape: tuple[int, int], side: int) -> float:
        """Mean over the boxes of Σ (covered share)² over all blocks of `side` cells a side."""
        x, y = (axis.coverage.squares(min(side, size)) for axis, size in zip(self.queries.sides, shape, strict=True))
        return self.queries.mean(x, y)


@dataclass(frozen=True)
class Levels:
    """The levels of a hierarchy that are measured, cells first.

    Attributes
    ----------
    sides : tuple of int
        Sides of the levels' blocks, in cells.
    shares : tuple of float
        The levels' shares of the budget; they add up to 1.
    """

    sides: tuple[int, ...]
    shares: tuple[float, ...]


@lru_cache(maxsize=1024)
def _all_intervals(count: int, side: int) -> float:
    """Mean over all intervals of an axis' cells of Σ (covered share of a block)².

    Of the n(n + 1)/2 intervals, (p + 1)(n - q) cover both of the cells p <= q. The result adds these up
    over the pairs of cells of each block.
    """
    side, cell = min(side, count), np.arange(count, dtype=np.float64)
    start = cell - cell % side
    pairs = (cell + 1) * (cell + 2) - start * (start + 1) - (cell + 1)
    return float((count - cell) @ pairs) / (count * (count + 1) / 2 * side**2)


@lru_cache(maxsize=1024)
def _intervals(count: int, length: int, side: int) -> float:
    """Mean over the intervals of one length of Σ (covered share of a block)²."""
    side, length = min(side, count), min(length, count)
    first = np.arange(count - length + 1, dtype=np.float64)
    return float(block_powers(first / side, (first + length) / side, 2).mean())


def mean_variance(
    shape: tuple[int, int], sides: Sequence[int], variances: Sequence[float], workload: BlockQueries | GivenBoxes
) -> float:
    """Mean variance of the workload's boxes after the fit; exact if all blocks are whole.

    Parameters
    ----------
    shape : (nx, ny)
    sides : sequence of int
        Sides of the measured blocks in cells, cells first.
    variances : sequence of float
        Variance of the noise in each level's counts.
    workload : BlockQueries or GivenBoxes

    Examples
    --------
    >>> round(mean_variance((256, 256), [1], [2.0], BlockQueries()))
    14792
    """
    sizes, squares = _sizes(shape, sides), np.array([workload.squares(shape, side) for side in sides])
    gains = -np.diff(sizes * squares, append=0.0)
    return float((gains / np.cumsum(sizes / np.asarray(variances, dtype=np.float64))).sum())


@lru_cache(maxsize=256)
def best_levels(shape: tuple[int, int], law: Law, workload: BlockQueries | GivenBoxes, *, root: bool = False) -> Levels:
    """Find the set of levels, and their shares of the budget, with the least mean variance.

    Parameters
    ----------
    shape : (nx, ny)
    law : Law
        With Laplace noise, variances fall with the square of the budget ε, which favours few levels;
        with Gaussian noise, they fall with the budget ρ itself, which favours many.
    workload : BlockQueries or GivenBoxes
    root : bool
        Whether the number of all records may be one of the levels.

    Examples
    --------
    >>> best = best_levels((256, 256), Law.LAPLACE, BlockQueries())
    >>> best.sides, [round(share, 3) for share in best.shares]
    ((1, 8, 32), [0.654, 0.211, 0.135])
    """
    chains = sorted(set(_chains(shape, law, root=root)), key=lambda chain: (len(chain), chain))
    rough = _preferred_costs(shape, chains, law, workload, _COARSE)
    promising = [chains[i] for i in np.sort(np.argsort(rough, kind="stable")[:_PROMISING]).tolist()]
    costs = _preferred_costs(shape, promising, law, workload, _CLOSER)
    best = promising[int(np.flatnonzero(costs <= costs.min() * _AS_GOOD)[0])]
    return best_budget(shape, best, law, workload)


def _preferred_costs(
    shape: tuple[int, int], chains: Sequence[tuple[int, ...]], law: Law, workload: BlockQueries | GivenBoxes, steps: int
) -> Floats:
    """Mean variances of many sets of levels, lowered by 2 % for those whose blocks are all whole."""
    sides, _, costs = _optimise(shape, chains, law, workload, steps)
    whole = np.all([(n % sides == 0) | (sides >= n) for n in shape], axis=(0, 2))
    return np.where(whole, costs / _WHOLE_IS_WORTH, costs)


@lru_cache(maxsize=256)
def best_budget(
    shape: tuple[int, int], sides: tuple[int, ...], law: Law, workload: BlockQueries | GivenBoxes
) -> Levels:
    """Find the best shares of the budget for given levels, cells first; levels not worth measuring are left out.

    Examples
    --------
    >>> best_budget((256, 256), (1, 16), Law.LAPLACE, BlockQueries((1, 1))).sides
    (1,)
    """
    shares = _optimise(shape, [sides], law, workload, _FINE)[1][0]
    pairs = zip(sides, shares.tolist(), strict=True)
    measured = [(side, share) for side, share in pairs if side == 1 or share >= _SMALLEST_SHARE]
    total = sum(share for _, share in measured)
    return Levels(tuple(side for side, _ in measured), tuple(share / total for _, share in measured))


def _chains(shape: tuple[int, int], law: Law, *, root: bool) -> Iterator[tuple[int, ...]]:
    """Sets of levels worth trying: a few levels each; for Gaussian noise also all sides that double."""
    largest = max(shape)
    end = (largest,) if root else ()
    sides = _candidates(shape)
    yield from (chain + more for chain in _divisible(sides, _MOST_LEVELS) for more in {(), end})
    if law is Law.GAUSSIAN:
        for factor in _FACTORS:
            doubled = tuple(takewhile(lambda side: side < largest, (factor * 2**k for k in range(30))))
            yield tuple(sorted({1, *doubled})) + end
            yield (*_powers_below(2, factor), *doubled, *end) if doubled else (1, *end)


def _powers_below(base: int, most: int) -> tuple[int, ...]:
    return tuple(p for p in takewhile(lambda p: p < most, (base**k for k in range(30))) if most % p == 0)


def _candidates(shape: tuple[int, int]) -> list[int]:
    """Block sides above one cell: powers of two and simple multiples of them."""
    largest = max(shape)
    factors = _FACTORS if largest <= _MANY_SIDES else _FACTORS[:1]
    regular = {factor * 2**k for factor in factors for k in range(30) if factor * 2**k < largest}
    return sorted(regular - {1})


def _divisible(sides: Sequence[int], most: int) -> list[tuple[int, ...]]:
    """All chains of at most `most` sides, the first 1 and each a multiple of the one before."""
    longest: list[tuple[int, ...]] = [(1,)]
    chains = longest
    for _ in range(most - 1):
        longest = [(*chain, side) for chain in longest for side in sides if side > chain[-1] and side % chain[-1] == 0]
        chains = chains + longest
    return chains


def _optimise(
    shape: tuple[int, int], chains: Sequence[tuple[int, ...]], law: Law, workload: BlockQueries | GivenBoxes, steps: int
) -> tuple[Integers, Floats, Floats]:
    """Sides, best shares and mean variances of many sets of levels, one row for each set.

    At the optimum each level's share of the budget equals its share in the fall of the variance. The
    shares move there in steps that are damped so that a level by itself (variance ∝ 1/share^power)
    would arrive in one step. Short rows are filled up with levels without budget, which never get any.
    """
    power = 1 if law is Law.GAUSSIAN else 2
    sides, present = _rows(chains)  # (sets, levels), and 1 where a level is not a filler
    distinct, place = np.unique(sides, return_inverse=True)
    sizes = _sizes(shape, distinct.tolist())
    squares = sizes * np.array([workload.squares(shape, side) for side in distinct.tolist()])
    size, square = sizes[place].reshape(sides.shape), squares[place].reshape(sides.shape) * present
    # Where the workload is of large boxes only, the cells would get nothing; they must be measured nevertheless.
    gains = np.maximum(-np.diff(square, axis=1, append=0.0), 1e-9 * square[:, :1]) * present
    shares = present / present.sum(axis=1, keepdims=True)
    for _ in range(steps):
        before, shares = shares, _step(size, gains, shares, power)
        if np.abs(shares - before).max() < _SETTLED:
            break
    return sides, shares, (gains / np.cumsum(size * shares**power, axis=1)).sum(axis=1)


def _step(size: Floats, gains: Floats, shares: Floats, power: int) -> Floats:
    """The shares, moved towards the levels' shares in the fall of the variance."""
    spent = shares * shares if power == 2 else shares
    weights = size * spent
    energy = np.cumsum(weights, axis=1)
    fall = weights * np.cumsum((gains / (energy * energy))[:, ::-1], axis=1)[:, ::-1]
    moved = np.cbrt(spent * fall) if power == 2 else np.sqrt(spent * fall)
    return np.asarray(moved / moved.sum(axis=1, keepdims=True))


def _rows(chains: Sequence[tuple[int, ...]]) -> tuple[Integers, Floats]:
    """Sets of levels as rows of one length, and 1 for each entry that is not a filler."""
    longest = max(map(len, chains))
    sides = np.array([chain + chain[-1:] * (longest - len(chain)) for chain in chains], dtype=np.int64)
    lengths = np.array([len(chain) for chain in chains])
    return sides, (np.arange(longest) < lengths[:, None]).astype(np.float64)


def _sizes(shape: tuple[int, int], sides: Sequence[int]) -> Floats:
    """Number of cells in the blocks of each side, which end at the edge of the grid."""
    return np.array([min(side, shape[0]) * min(side, shape[1]) for side in sides], dtype=np.float64)
