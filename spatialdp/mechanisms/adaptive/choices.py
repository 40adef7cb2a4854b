"""How far is a block divided, and at which cost? The rules of the descent, as functions of released numbers.

The constants were chosen on public data sets (``docs/design/adaptive.md``). Privacy does not rest on them, nor on
anything else in this module: it reads released counts only, and whatever it decides, `descent` spends the same on every
path.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from spatialdp._support.arrays import Array, Floats, Integers

__all__ = [
    "SPLITS",
    "Choice",
    "choose",
    "first_part",
    "first_parts",
    "forecast_variance",
    "heterogeneity",
    "parts_of",
]

T = TypeVar("T", int, Integers)

SPLITS = 4  # halvings into blocks that are decided about in turn
UNEVEN = 1.5  # heterogeneity where nothing is known about it
COUNTS_A_LEAF = (5.0, 2.4, 1.8)  # how many counts, over the noise, a final block has at each stage; the last one stays
MANY_SPLITS = 6  # most halvings into final blocks where siblings are alike; SPLITS elsewhere
FAR = 9  # beyond so many halvings, blocks on the way get a smaller share
SHARE, SMALL_SHARE = (3, 10), (1, 5)  # of the remaining budget, for blocks that are decided about in turn
FIRST_SHARE, SMALL_FIRST_SHARE = (18, 100), (8, 100)  # of a path, for the first blocks
MANY = 30_000.0  # records over the noise of a count that costs a whole path; from here on, the small share is enough
FEW_LEAVES = 24  # up to so many final blocks below a block, no blocks are counted on the way


@dataclass(frozen=True, eq=False)
class Choice:
    """How some nodes of a level go on.

    Attributes
    ----------
    nodes : int array
        Their numbers in the level.
    halvings : int array
        How many times each is halved; 0 to count it once more.
    units : int array
        What each count of a part costs.
    expected : float array
        Estimated counts of the nodes, not negative.
    """

    nodes: Integers
    halvings: Integers
    units: Integers
    expected: Floats


def heterogeneity(values: Floats, family: Integers, cells: Integers, variance: Floats, *, first: bool) -> Floats:
    """Standard deviation of siblings' densities over their mean, for each family.

    Parameters
    ----------
    values : (nodes,) array
        Noisy counts.
    family : (nodes,) int array
        The family of each node, from 0.
    cells : (nodes,) int array
        Number of cells of each node: equal densities are proportional to it.
    variance : (families,) array
        Variance of the noise of each family's counts.
    first : bool
        Whether this is the first family, which stands alone; others are compared with all families of their stage.

    Examples
    --------
    >>> one_family, alike = np.zeros(4, dtype=int), np.ones(4, dtype=int)
    >>> heterogeneity(np.array([10.0, 20.0, 30.0, 20.0]), one_family, alike, np.zeros(1), first=True).round(2)
    array([0.41])
    """
    size, total, area = (np.bincount(family, weights) for weights in (None, values, cells))
    share = cells / area[family]
    freedom = np.maximum(size - 1, 1)
    spread = np.bincount(family, (values - share * total[family]) ** 2) / freedom
    noise = variance * (size - 2 + size * np.bincount(family, share**2)) / freedom
    excess = np.where(size > 1, np.maximum(spread - noise, 0.0), 0.0)
    mean_square = (total / size) ** 2 - variance / size
    if first:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.sqrt(np.where((mean_square > 0) & (size > 1), excess / mean_square, UNEVEN**2))
    whole_excess = float(np.where(size > 1, spread - noise, 0.0).sum())
    whole_square = float(mean_square.sum())
    usual = max(whole_excess, 0.0) / whole_square if whole_square > 0 else UNEVEN**2
    typical = max(whole_square / size.size, 1e-9)
    return np.sqrt((excess + usual * typical) / (np.maximum(mean_square, 0.0) + typical))


def choose(
    strength: Floats, uneven: Floats, possible: Integers, left: Integers, *, stage: int
) -> tuple[Integers, Integers]:
    """Return how many times each block is halved, and how many units each count of a part costs.

    Parameters
    ----------
    strength : float array
        Estimated count of each block, over the noise of a count that costs all that its path has left.
    uneven : float array
        Heterogeneity among the block and its siblings.
    possible : int array
        How many times each block can be halved.
    left : int array
        Units that each block's path has left.
    stage : int
        How many times blocks were decided about before.

    Examples
    --------
    >>> options = np.array([0.0, 100.0, 1e6]), np.ones(3), np.array([12, 12, 12]), np.array([700, 700, 700])
    >>> [each.tolist() for each in choose(*options, stage=1)]
    [[0, 4, 4], [700, 210, 140]]
    """
    with np.errstate(divide="ignore"):
        counts = COUNTS_A_LEAF[min(stage, len(COUNTS_A_LEAF) - 1)] * np.clip(np.sqrt(UNEVEN / uneven), 0.25, 4.0)
        wanted = np.clip(np.rint(np.log2(strength / counts)), 0, possible).astype(np.int64)
    most = np.where((uneven < 1) & (stage >= 1), MANY_SPLITS, SPLITS)
    final = (wanted <= most) | (possible <= SPLITS)
    usual, small = parts_of(left)
    part = np.where(wanted <= FAR, usual, small)
    return np.where(final, wanted, SPLITS), np.where(final, left, part)


def first_parts(path: int) -> tuple[int, int]:
    """Units for each of the first blocks, of those of a path: if there are few records, and if there are many.

    Examples
    --------
    >>> first_parts(990_000)
    (178200, 79200)
    """
    return path * FIRST_SHARE[0] // FIRST_SHARE[1], path * SMALL_FIRST_SHARE[0] // SMALL_FIRST_SHARE[1]


def first_part(path: int, strength: float) -> int:
    """Units for each of the first blocks, given the released number of records over the noise of a path's count.

    Examples
    --------
    >>> first_part(990_000, 1000.0), first_part(990_000, 1e6)
    (178200, 79200)
    """
    return first_parts(path)[int(strength > MANY)]


def parts_of(left: T) -> tuple[T, T]:
    """Units for blocks that are decided about in turn, of those that a path has left: usually, and far from the end."""
    return left * SHARE[0] // SHARE[1], left * SMALL_SHARE[0] // SMALL_SHARE[1]


def forecast_variance(expected: Floats, left: Integers, strength: Callable[[Array], Floats]) -> Floats:
    """Forecast the variance of the sum of all that will be measured below a block, before the block is counted.

    Parameters
    ----------
    expected : float array
        Expected count of each block.
    left : int array
        Units that are left below each block.
    strength : callable
        √2 over the standard deviation of noise at a cost in units.
    """
    below = strength(left)
    leaves = np.maximum(expected * below / 2, 1.0)
    part = parts_of(left)[0]
    on_the_way, rest = strength(part), strength(left - part)
    precision = on_the_way**2 / 2 + rest**2 / (2 * np.clip(leaves / 2**SPLITS, 1, 2**SPLITS))
    return np.where(leaves <= FEW_LEAVES, 2 * leaves / below**2, 2**SPLITS / precision)
