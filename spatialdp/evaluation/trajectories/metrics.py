"""How far are synthetic trajectories from the true ones? Diameters, trips, visits, frequent patterns and lengths.

Distances between distributions are Jensen-Shannon divergences in bits, from 0 (equal) to 1 (nothing in common). Beside
them belongs what one half of the true trajectories says of the other half (`halves`): no synthesis can be expected to
do better. What this module returns is as private as the trajectories.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from spatialdp._support.arrays import Booleans, Floats, Integers
from spatialdp.privacy.noise.source import SeededNoise
from spatialdp.records.rows.tracks import Paths, Tracks, paths_of
from spatialdp.space.domain import Domain
from spatialdp.space.paths.systems import System
from spatialdp.trajectories.release import Positions

__all__ = ["METRICS", "compare", "divergence", "halves", "paths_of_positions", "true_paths"]

METRICS = ("diameters", "trips", "visits", "patterns", "lengths", "steps")
_TRIPS, _VISITS = System(3), System(5)  # 8 x 8 blocks and 32 x 32 cells
_PATTERNS = 100
_DIAMETERS = np.linspace(0, 0.5, 21)  # classes, as shares of the diagonal; the last one has no end
_ANGLES = np.linspace(0, np.pi, 16, endpoint=False)


@dataclass(frozen=True)
class _Told:
    """What a set of trajectories tells."""

    diameters: Integers
    trips: Integers
    visits: Integers
    patterns: frozenset[int]
    lengths: Integers
    steps: float


def compare(truth: Paths, synthetic: Paths) -> Mapping[str, float]:
    """Compare synthetic trajectories with the true ones.

    Returns
    -------
    dict of str to float
        ``diameters``, ``trips`` (pairs of 8 x 8 blocks), ``visits`` (positions in 32 x 32 cells), ``lengths``:
        divergences in bits; ``patterns``: the share of the 100 most frequent ways through three different cells in a
        row, of 32 x 32, that are among the synthetic 100; ``steps``: the mean number of steps of synthetic ones.

    Examples
    --------
    >>> paths = Paths(np.array([0, 2, 3]), np.array([0, 2**29, 5]), np.array([0, 0, 0]))
    >>> compare(paths, paths)["trips"]
    0.0
    """
    true, made = _told(truth), _told(synthetic)
    size = max(true.lengths.size, made.lengths.size)
    lengths = [np.pad(each.lengths, (0, size - each.lengths.size)) for each in (true, made)]
    return {
        "diameters": divergence(true.diameters, made.diameters),
        "trips": divergence(true.trips, made.trips),
        "visits": divergence(true.visits, made.visits),
        "patterns": len(true.patterns & made.patterns) / max(len(true.patterns), 1),
        "lengths": divergence(*lengths),
        "steps": made.steps,
    }


def halves(truth: Paths, seed: int) -> Mapping[str, float]:
    """Compare about one half of the true trajectories, taken at random, with the others.

    Examples
    --------
    >>> paths = Paths(np.arange(41), np.zeros(40, dtype=int), np.zeros(40, dtype=int))
    >>> halves(paths, 1)["visits"]
    0.0
    """
    chosen = SeededNoise(seed).below(np.full(truth.starts.size - 1, 2)) == 0
    return compare(_some(truth, chosen), _some(truth, ~chosen))


def true_paths(tracks: Tracks, domain: Domain, step: int, longest: int) -> Paths:
    """Return the positions of trajectories at steps of some seconds, as they are compared.

    Examples
    --------
    >>> import spatialdp as sdp
    >>> tracks = sdp.Tracks([[0.1, 0.1]], tid=[1], time=["2024-01-01"])
    >>> true_paths(tracks, sdp.Domain((0, 0, 1, 1)), 60, 60).sizes.tolist()
    [1]
    """
    return paths_of(tracks, domain, step * 10**6, longest)


def paths_of_positions(positions: Positions, domain: Domain) -> Paths:
    """Return synthetic trajectories as lattice squares, as they are compared.

    Examples
    --------
    >>> import spatialdp as sdp
    >>> positions = Positions(np.array([0, 1]), np.array([0.5]), np.array([0.0]))
    >>> paths_of_positions(positions, sdp.Domain((0, 0, 1, 1))).columns.tolist() == [2**29]
    True
    """
    x, y = (axis.positions(each) for axis, each in zip(domain.axes, (positions.x, positions.y), strict=True))
    return Paths(positions.starts, x, y)


def divergence(first: Integers, second: Integers) -> float:
    """Return the Jensen-Shannon divergence of two histograms, in bits.

    Examples
    --------
    >>> divergence(np.array([1, 0]), np.array([0, 7])), divergence(np.array([2, 2]), np.array([5, 5]))
    (1.0, 0.0)
    """
    p, q = (each / max(each.sum(), 1) for each in (first, second))
    middle = (p + q) / 2
    return float((_entropy(middle) - (_entropy(p) + _entropy(q)) / 2).clip(0.0))


def _entropy(p: Floats) -> Floats:
    return np.asarray(-np.sum(p * np.log2(np.where(p > 0, p, 1.0))))


def _told(paths: Paths) -> _Told:
    cells = _VISITS.of(paths.columns, paths.rows)
    blocks = _TRIPS.of(paths.columns, paths.rows)
    pairs = blocks[paths.starts[:-1]] * _TRIPS.n_cells + blocks[paths.starts[1:] - 1]
    diameters = np.digitize(_diameters(paths), _DIAMETERS[1:])
    return _Told(
        diameters=np.bincount(diameters, minlength=_DIAMETERS.size),
        trips=np.bincount(pairs, minlength=_TRIPS.n_cells**2),
        visits=np.bincount(cells, minlength=_VISITS.n_cells),
        patterns=_frequent(paths, cells),
        lengths=np.bincount(paths.sizes - 1),
        steps=float(np.mean(paths.sizes - 1)) if paths.sizes.size else 0.0,
    )


def _diameters(paths: Paths) -> Floats:
    """Return the largest extent of each trajectory in any of 16 directions, as a share of the diagonal."""
    x, y = (each / 2**30 for each in (paths.columns, paths.rows))
    widest = np.zeros(paths.sizes.size)
    if not widest.size:
        return widest
    for angle in _ANGLES:
        along = x * np.cos(angle) + y * np.sin(angle)
        low, high = (each.reduceat(along, paths.starts[:-1]) for each in (np.minimum, np.maximum))
        widest = np.maximum(widest, high - low)
    return np.asarray(widest / np.sqrt(2))


def _frequent(paths: Paths, cells: Integers) -> frozenset[int]:
    """Return the most frequent ways through three different cells in a row."""
    owners = paths.owners
    new = np.ones(cells.size, dtype=bool)
    new[1:] = (cells[1:] != cells[:-1]) | (owners[1:] != owners[:-1])
    cells, owners = cells[new], owners[new]
    ways = (cells[:-2] * _VISITS.n_cells + cells[1:-1]) * _VISITS.n_cells + cells[2:]
    found, counts = np.unique(ways[owners[2:] == owners[:-2]], return_counts=True)
    return frozenset(found[np.argsort(-counts, kind="stable")[:_PATTERNS]].tolist())


def _some(paths: Paths, chosen: Booleans) -> Paths:
    kept = np.repeat(chosen, paths.sizes)
    starts = np.concatenate([[0], np.cumsum(paths.sizes[chosen])])
    return Paths(starts, paths.columns[kept], paths.rows[kept])
