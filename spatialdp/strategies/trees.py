"""Trees of blocks along one axis, with the levels and weights that give a workload the least mean variance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations

import numpy as np

from spatialdp._support.arrays import Floats
from spatialdp.errors import ParameterError
from spatialdp.privacy.noise.laws import Law
from spatialdp.strategies.axis_workload import ALL_RANGES, AxisWorkload
from spatialdp.strategies.objective import SCALE
from spatialdp.transforms.matrices import WindowAxis

__all__ = ["optimised_tree", "tree_for", "tree_strategy"]

_MOST_NODES = 256  # Of one level of a tree, the cells excepted.


def tree_strategy(size: int, levels: Sequence[int], weights: Sequence[Fraction | float]) -> WindowAxis:
    """A tree in one dimension: cells, and blocks of 2, 4, 8, ... cells, each level with a weight of its own.

    Parameters
    ----------
    size : int
        Number of cells. The last block of a level may be shorter.
    levels : sequence of int
        Level l has blocks of 2^l cells; level 0, the cells, must be among them.
    weights : sequence of numbers
        One for each level; rounded to multiples of 1/1024 (never to 0). With Laplace noise a level's weight is its
        share of the budget, with Gaussian noise its square is.

    Examples
    --------
    >>> tree_strategy(4, (0, 1), (Fraction(1, 2), Fraction(1, 2))).matrix
    array([[512,   0,   0,   0],
           [  0, 512,   0,   0],
           [  0,   0, 512,   0],
           [  0,   0,   0, 512],
           [512, 512,   0,   0],
           [  0,   0, 512, 512]])
    """
    if len(levels) != len(weights) or 0 not in levels or min(weights) <= 0:
        raise ParameterError("a tree needs a positive weight for each level, and level 0 (the cells) among its levels.")
    parts = {level: max(1, round(weight * SCALE)) for level, weight in zip(levels, weights, strict=True)}
    cells = np.arange(size)
    blocks = [
        (cells >> level == np.arange(((size - 1) >> level) + 1)[:, None]) * part
        for level, part in parts.items()
        if level
    ]
    return WindowAxis(np.full(size, parts[0]), np.vstack([np.zeros((0, size), dtype=np.int64), *blocks]))


def optimised_tree(size: int, workload: AxisWorkload = ALL_RANGES, law: Law = Law.LAPLACE) -> WindowAxis:
    """The tree whose levels and weights give the least mean variance.

    On an axis of a power of two cells the Haar wavelets diagonalise every tree, so that the mean variance is a sum over
    scales of (the workload's share) / (sum of weight² x block size over the levels that are finer). Other axes take the
    weights of the padded one. Levels of more than 256 blocks (but for the cells) are left out.

    Examples
    --------
    >>> axis = optimised_tree(256)
    >>> axis.windows.shape, round(float(axis.diagonal[0]) / 1024, 2)
    ((16, 256), 0.52)
    """
    return tree_for(workload.gram(size), law)


def tree_for(gram: Floats, law: Law) -> WindowAxis:
    """The tree with the least mean variance for a Gram matrix; see `optimised_tree`."""
    size = len(gram)
    depth = (size - 1).bit_length()
    powers = _scale_powers(gram, depth)
    allowed = [level for level in range(1, depth + 1) if (size - 1) >> level < _MOST_NODES]
    tried = [_best_weights(powers, (0, *more), law) for more in _level_sets(allowed, law)]
    _, levels, weights = min(tried, key=lambda found: found[0])
    return tree_strategy(size, levels, weights)


def _level_sets(allowed: list[int], law: Law) -> Iterator[tuple[int, ...]]:
    """All levels, for Gaussian noise (a convex problem); all sets of up to four otherwise."""
    if law is Law.GAUSSIAN:
        yield tuple(allowed)
    else:
        yield from (levels for count in range(4) for levels in combinations(allowed, count))


def _scale_powers(gram: Floats, depth: int) -> Floats:
    """Σ ψ'Gψ over the orthonormal Haar wavelets of each scale: nodes of 2, 4, ... cells, then the constant."""
    sums = np.zeros((2**depth, 2**depth))
    sums[: len(gram), : len(gram)] = gram
    powers = []
    for scale in range(1, depth + 1):
        blocks = sums.reshape(len(sums) // 2, 2, len(sums) // 2, 2)
        own = np.einsum("iaib->ab", blocks)
        powers.append((own[0, 0] + own[1, 1] - own[0, 1] - own[1, 0]) / 2**scale)
        sums = blocks.sum(axis=(1, 3))
    return np.array([*powers, sums[0, 0] / 2**depth])


def _best_weights(powers: Floats, levels: tuple[int, ...], law: Law) -> tuple[float, tuple[int, ...], list[float]]:
    """Least mean variance of a set of levels, the levels used, and their weights."""
    from scipy.optimize import minimize

    # λ of scale j (rows) is the sum of squared weight x block size over the levels that do not see its wavelets as 0.
    seen = np.array([[2.0**level if level <= scale else 0.0 for level in levels] for scale in range(len(powers))])
    power = 1 if law is Law.GAUSSIAN else 2  # of the shares, which add up to 1, in the measurements' squared weights

    def value(logs: Floats) -> tuple[float, Floats]:
        shares = np.exp(logs - logs.max())
        shares /= shares.sum()
        reach = seen @ shares**power
        slope = -power * shares**power * (seen.T @ (powers / reach**2))
        return float((powers / reach).sum()), slope - shares * slope.sum()

    found = minimize(value, np.zeros(len(levels)), jac=True, method="L-BFGS-B")
    shares = np.exp(found.x - found.x.max())
    shares /= shares.sum()
    kept = [i for i, level in enumerate(levels) if level == 0 or shares[i] > 1e-4]
    weights = [float(shares[i] ** (power / 2)) for i in kept]
    return float(found.fun), tuple(levels[i] for i in kept), weights
