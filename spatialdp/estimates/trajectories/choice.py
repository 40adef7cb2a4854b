"""How are drawn trajectories as far-reaching as the true ones? Of several ways for each, one is chosen by its extent.

A Markov chain wanders: its ways are too compact for their length. So a few ways are drawn for every trajectory, with
the same ends and the same length, and one of them is taken with weights by extent and length. The weights are fitted,
in a few rounds, so that those taken have the released extents of each length as nearly as the ways at hand allow. All
of this reads released numbers alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spatialdp._support.arrays import Floats, Integers
from spatialdp.estimates.trajectories.model import PathModel
from spatialdp.estimates.trajectories.walk import Ways, draw_ways, picked
from spatialdp.privacy.noise.source import Noise
from spatialdp.space.paths.systems import extent_classes, length_classes

__all__ = ["Squares", "draw_squares"]

_WAYS = 6  # that are drawn for each trajectory
_ROUNDS = 6
_AT_ONCE = 2**15  # trajectories that are drawn together
_POSITIONS = 2**25  # of all ways that are drawn together: about 2 GB
_LEAST, _MOST = 1e-6, 1e6  # weights of a way


@dataclass(frozen=True, eq=False)
class Squares:
    """Drawn trajectories: where the positions of each begin, and the lattice square of each position."""

    starts: Integers
    columns: Integers
    rows: Integers


def draw_squares(model: PathModel, count: int, source: Noise) -> Squares:
    """Draw a number of trajectories as lattice squares.

    Raises
    ------
    ReleaseError
        If no pair of ends that a way can join is likely to have a trajectory.
    """
    at_once = max(1, min(_AT_ONCE, _POSITIONS // (_WAYS * (model.longest + 1))))
    sizes = [min(at_once, count - low) for low in range(0, count, at_once)] or [0]
    parts = [_drawn(model, size, source) for size in sizes]
    starts = np.cumsum(np.concatenate([[0], *(np.diff(part.starts) for part in parts)]))
    return Squares(starts, *(np.concatenate([getattr(part, axis) for part in parts]) for axis in ("columns", "rows")))


def _drawn(model: PathModel, count: int, source: Noise) -> Squares:
    squares = _placed(model, draw_ways(model, count, source, ways=_WAYS), source)
    kinds = extent_classes(squares.starts, squares.columns, squares.rows).reshape(count, _WAYS)
    lengths = length_classes(np.diff(squares.starts)[::_WAYS] - 1, model.longest)
    weights = _weights(kinds, lengths, model.extents.kinds_of_lengths)
    taken = np.arange(count) * _WAYS + picked(weights, np.arange(count), source)
    sizes = np.diff(squares.starts)[taken]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    positions = np.arange(starts[-1]) + np.repeat(squares.starts[taken] - starts[:-1], sizes)
    return Squares(starts, squares.columns[positions], squares.rows[positions])


def _placed(model: PathModel, ways: Ways, source: Noise) -> Squares:
    """Give each way one place within its cells, so that it stands still where it stays."""
    row, column = np.divmod(ways.cells, model.system.side)
    sizes, widths = np.diff(ways.starts), np.full(ways.starts.size - 1, 1 << model.system.shift, dtype=np.int64)
    axes = ((cells << model.system.shift) + np.repeat(source.below(widths), sizes) for cells in (column, row))
    return Squares(ways.starts, *axes)


def _weights(kinds: Integers, lengths: Integers, wanted: Floats) -> Floats:
    """Return the weight of each way, (trajectories, ways), by its extent and length.

    `wanted` has the distribution of extents of each length, in columns.
    """
    weights, cells = np.ones(wanted.size), kinds * wanted.shape[1] + lengths[:, None]
    for _ in range(_ROUNDS):
        chances = weights[cells]
        chances /= chances.sum(axis=1, keepdims=True)
        taken = np.bincount(cells.ravel(), chances.ravel(), wanted.size)
        aims = (wanted * taken.reshape(wanted.shape).sum(axis=0)).ravel()
        weights *= np.where(taken > 0, aims / np.where(taken > 0, taken, 1.0), 1.0)
        weights = np.clip(weights, _LEAST, _MOST)
    return np.asarray(weights[cells])
