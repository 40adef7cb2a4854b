"""Which tree of blocks along one axis gives a workload the least mean variance? Its levels and weights.

On an axis with a power of two of cells the Haar wavelets diagonalise every tree, so the mean variance
is a short sum over scales, and all sets of levels can be compared (``docs/design/tailored.md``).
This module reads no record.
"""

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

_MOST_NODES = 256  # blocks of one level of a tree; the cells may be more


def tree_strategy(size: int, levels: Sequence[int], weights: Sequence[Fraction | float]) -> WindowAxis:
    """Make a tree in one dimension: cells, and blocks of 2, 4, 8, ... cells, with one weight for each level.

    Parameters
    ----------
    size : int
        Number of cells. The last block of a level may be shorter.
    levels : sequence of int
        Level l has blocks of 2^l cells; level 0, the cells, must be among them.
    weights : sequence of numbers
        One for each level; rounded to multiples of 1/1024 (never to 0). With Laplace noise a level's
        weight is its share of the budget; with Gaussian noise the square of the weight is.

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
        raise ParameterError(
            f"levels are {tuple(levels)} and weights {tuple(weights)}; a tree needs one positive weight for each "
            "level, and level 0 (the cells) among its levels: give those."
        )
    parts = {level: max(1, round(weight * SCALE)) for level, weight in zip(levels, weights, strict=True)}
    cells = np.arange(size)
    blocks = [
        (cells >> level == np.arange(((size - 1) >> level) + 1)[:, None]) * part
        for level, part in parts.items()
        if level
    ]
    return WindowAxis(np.full(size, parts[0]), np.vstack([np.zeros((0, size), dtype=np.int64), *blocks]))


def optimised_tree(size: int, workload: AxisWorkload = ALL_RANGES, law: Law = Law.LAPLACE) -> WindowAxis:
    """Find the tree whose levels and weights give a workload the least mean variance.

    Axes without a power of two of cells take the weights of the padded axis. Levels of more than 256
    blocks are left out, except the cells.

    Examples
    --------
    >>> axis = optimised_tree(256)
    >>> axis.windows.shape, round(float(axis.diagonal[0]) / 1024, 2)
    ((16, 256), 0.52)
    """
    return tree_for(workload.gram(size), law)


def tree_for(gram: Floats, law: Law) -> WindowAxis:
    """Find the tree with the least mean variance for a Gram matrix; see `optimised_tree`."""
    size = len(gram)
    depth = (size - 1).bit_length()
    powers = _scale_powers(gram, depth)
    allowed = [level for level in range(1, depth + 1) if (size - 1) >> level < _MOST_NODES]
    candidates = [_best_weights(powers, (0, *more), law) for more in _level_sets(allowed, law)]
    _, levels, weights = min(candidates, key=lambda candidate: candidate[0])
    return tree_strategy(size, levels, weights)


def _level_sets(allowed: list[int], law: Law) -> Iterator[tuple[int, ...]]:
    """Sets of levels above the cells to compare: all levels for Gaussian noise (a convex problem), else up to three."""
    if law is Law.GAUSSIAN:
        yield tuple(allowed)
    else:
        yield from (levels for count in range(4) for levels in combinations(allowed, count))


def _scale_powers(gram: Floats, depth: int) -> Floats:
    """The workload's share of each scale: Σ ψ'Gψ over the Haar wavelets of nodes of 2, 4, ... cells, then the constant.

    The wavelets ψ are orthonormal, and G is the Gram matrix.
    """
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
    """The least mean variance of a set of levels, the levels that are used, and their weights."""
    from scipy.optimize import minimize

    # A tree's eigenvalue at a scale (rows) is the sum of weight² x block size over the levels (columns) with smaller
    # blocks: over a larger block, the wavelets of the scale add up to 0.
    seen = np.array([[2.0**level if level <= scale else 0.0 for level in levels] for scale in range(len(powers))])
    power = 1 if law is Law.GAUSSIAN else 2  # a level's squared weight is its share of the budget to this power

    def value(logs: Floats) -> tuple[float, Floats]:
        shares = np.exp(logs - logs.max())
        shares /= shares.sum()
        eigenvalues = seen @ shares**power
        slope = -power * shares**power * (seen.T @ (powers / eigenvalues**2))
        return float((powers / eigenvalues).sum()), slope - shares * slope.sum()

    minimum = minimize(value, np.zeros(len(levels)), jac=True, method="L-BFGS-B")
    shares = np.exp(minimum.x - minimum.x.max())
    shares /= shares.sum()
    used = [i for i, level in enumerate(levels) if level == 0 or shares[i] > 1e-4]
    weights = [float(shares[i] ** (power / 2)) for i in used]
    return float(minimum.fun), tuple(levels[i] for i in used), weights
