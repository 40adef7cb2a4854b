"""How is the budget of a table divided over the levels of one axis? So that a level gets what it causes.

Measurements of a table are products, one factor for each axis, and so are their shares of the budget, the variances of
the estimates, and the mean variance over the parts of a level of each axis. So each axis is optimised by itself: the
objective is the mean variance of the parts of a level, summed over the levels that may be counted. With s_g the
variance of the measurements of level g, and C_g the part of the objective that is their noise, the optimum has shares
in proportion to C_g. Each step moves the shares towards that (`objective.moved_shares`). Levels that end with next to
nothing are dropped.

Privacy does not rest on this: sensitivities are computed from the shares in use.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np

from spatialdp._support.arrays import Booleans, Floats, Integers
from spatialdp.strategies.objective import moved_shares
from spatialdp.transforms.tree_axis import TreeAxis
from spatialdp.trees.shape import TreeShape

__all__ = ["balanced_shares", "mean_variance"]

_STEPS = 60
_DROPPED = 1e-3  # shares below are not worth a group of their own
_FINENESS = 2**20
_REMEMBERED = 2**12  # nodes of a tree whose shares are remembered


def balanced_shares(
    shape: TreeShape, counted: tuple[bool, ...], power: int, spans: Integers | None = None
) -> tuple[Fraction, ...]:
    """Return a share of the budget for each level, so that the levels that may be counted are about equally accurate.

    Parameters
    ----------
    shape : TreeShape
    counted : tuple of bool
        Which levels may be measured, and count in the objective; the lowest level always is.
    power : int
        2 for Laplace noise, 1 for Gaussian noise.
    spans : (2, nodes) array, optional
        As for `TreeAxis`.

    Examples
    --------
    >>> tree = TreeShape([0, 1, 3, 7], [2, 2, 2, 0, 0, 0, 0])
    >>> [str(share) for share in balanced_shares(tree, (False, False, True), 2)]
    ['0', '0', '1']
    """
    if shape.n_nodes > _REMEMBERED:
        return _balanced(shape, counted, power, spans)
    lines = None if spans is None else np.asarray(spans, dtype=np.int64).tobytes()
    return _remembered(shape.offsets.tobytes(), shape.n_children.tobytes(), tuple(counted), power, lines)


@lru_cache(maxsize=64)
def _remembered(
    offsets: bytes, n_children: bytes, counted: tuple[bool, ...], power: int, spans: bytes | None
) -> tuple[Fraction, ...]:
    """Return the shares of a small tree: every release on a frame asks for those of the same few axes."""
    shape = TreeShape(np.frombuffer(offsets, dtype=np.int64), np.frombuffer(n_children, dtype=np.int32))
    lines = None if spans is None else np.frombuffer(spans, dtype=np.int64).reshape(2, -1)
    return _balanced(shape, counted, power, lines)


def _balanced(shape: TreeShape, counted: tuple[bool, ...], power: int, spans: Integers | None) -> tuple[Fraction, ...]:
    wanted = np.array(counted, dtype=bool)
    wanted[-1] = True
    start = [_optimised(shape, wanted, power, spans, first) for first in _starts(wanted)]
    shares = min(start, key=lambda each: mean_variance(TreeAxis(shape, _exact(each), power, spans), wanted))
    return _exact(shares)


def mean_variance(axis: TreeAxis, wanted: Booleans) -> float:
    """Return the objective: the mean variances of the parts of the levels that are wanted, added up."""
    return float(_caused(axis, wanted).sum())


def _starts(wanted: Booleans) -> list[Floats]:
    """Return shares to begin with: even ones, and nearly all for the cells."""
    even = wanted / wanted.sum()
    cells = np.where(np.arange(wanted.size) == wanted.size - 1, 1.0, 0.0)
    return [even, cells]


def _optimised(shape: TreeShape, wanted: Booleans, power: int, spans: Integers | None, start: Floats) -> Floats:
    shares = start
    for _ in range(_STEPS if (start > 0).sum() > 1 else 0):
        axis = TreeAxis(shape, _exact(shares), power, spans)
        levels = _by_level(axis, _caused(axis, wanted))
        moved = moved_shares(shares, levels, power)
        moved = np.where(moved < _DROPPED * moved.sum(), 0.0, moved)
        moved[-1] = max(moved[-1], _DROPPED * moved.sum())
        moved /= moved.sum()
        if np.abs(moved - shares).max() < 1e-7:
            return moved
        shares = moved
    return shares


def _caused(axis: TreeAxis, wanted: Booleans) -> Floats:
    """Return C of each group: the part of the objective that is its own noise."""
    shares = np.array([float(share) for share in axis.group_shares])
    return np.asarray((axis.level_variances() @ wanted) * shares**-axis.power)


def _by_level(axis: TreeAxis, caused: Floats) -> Floats:
    """Return C of each level: what a group causes is divided over the levels that it stands for, by their shares."""
    levels = np.zeros(axis.n_levels)
    for (first, last), amount, whole in zip(axis.spanned, caused, axis.group_shares, strict=True):
        for level in range(first, last + 1):
            levels[level] += amount * float(axis.shares[level] / whole)
    return levels


def _exact(shares: Floats) -> tuple[Fraction, ...]:
    """Return shares as fractions that add up to 1."""
    whole = np.maximum(np.rint(shares * _FINENESS), shares > 0).astype(np.int64)
    total = int(whole.sum())
    return tuple(Fraction(int(each), total) for each in whole)
