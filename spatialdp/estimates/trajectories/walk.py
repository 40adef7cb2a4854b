"""How are trajectories drawn from a model? Ends and a length first; then a way that arrives there in time.

A way of n steps from a cell to a block is drawn from the Markov chain **given** that it arrives: each step has the
chance of the chain, times the chance to arrive from the next cell in the steps that are left. These chances come from
one backward pass over the cells for each destination. A step is also weighted by how often trajectories turn like this.
Sampling reads released numbers alone: it is post-processing and costs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spatialdp._support.arrays import Floats, Integers
from spatialdp.errors import ReleaseError
from spatialdp.estimates.trajectories.model import PathModel
from spatialdp.privacy.noise.source import Noise
from spatialdp.space.paths.systems import CLASSES, STAY, length_edges
from spatialdp.wording import either

__all__ = ["Ways", "draw_ways", "picked"]

_MOST_CHANCES = 2**24  # numbers of a backward pass that are held at a time
_AT_ONCE = 2**22  # weights of cells that starts are drawn from at a time
_NONE_YET = 8  # in the place of the move before, at the start


@dataclass(frozen=True, eq=False)
class Ways:
    """Drawn trajectories: where the positions of each begin, and the cell of each position."""

    starts: Integers
    cells: Integers


def draw_ways(model: PathModel, count: int, source: Noise, *, ways: int = 1) -> Ways:
    """Draw a number of trajectories as cells of the model's system, with some ways for each, one after the other.

    Raises
    ------
    ReleaseError
        If no pair of ends that a way can join is likely to have a trajectory.
    """
    if not count:
        return Ways(np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int64))
    origins, destinations, least, flows = model.reachable
    if not flows.size:
        raise ReleaseError(
            "no pair of ends is likely to have a trajectory, so none can be drawn; ask for "
            f"{either('n=0', '-n 0')} trajectories, or release with a larger ε or larger blocks of ends."
        )
    pair = picked(np.broadcast_to(flows, (1, flows.size)), np.zeros(count, dtype=np.int64), source)
    lengths = np.maximum(_lengths(model, origins[pair], destinations[pair], source), least[pair])
    pair, lengths = np.repeat(pair, ways), np.repeat(lengths, ways)
    starts = np.concatenate([[0], np.cumsum(lengths + 1)])
    cells = np.zeros(starts[-1], dtype=np.int64)
    targets = np.unique(destinations[pair])
    at_once = max(1, _MOST_CHANCES // ((model.longest + 1) * model.system.n_cells))
    for low in range(0, targets.size, at_once):
        group = targets[low : low + at_once]
        arriving = _arriving(model, group)
        drawn = np.flatnonzero((destinations[pair] >= group[0]) & (destinations[pair] <= group[-1]))
        place = np.searchsorted(group, destinations[pair[drawn]])
        first = _starts(model, origins[pair[drawn]], place, lengths[drawn], arriving, source)
        _walk(model, _Group(starts[drawn], lengths[drawn], place, arriving), first, cells, source)
    return Ways(starts, cells)


@dataclass(frozen=True, eq=False)
class _Group:
    """Trajectories to few destinations: where they are written, their lengths, destinations and chances to arrive."""

    starts: Integers
    lengths: Integers
    place: Integers
    arriving: Floats  # (steps left, destinations, cells)


def _lengths(model: PathModel, origins: Integers, destinations: Integers, source: Noise) -> Integers:
    """Draw the steps of each trajectory, given how far apart its ends are."""
    edges = length_edges(model.longest)
    distances = np.minimum(model.blocks.distances(origins, destinations), CLASSES - 1)
    kind = picked(model.lengths.lengths_of_kinds, distances, source)
    return edges[kind] + source.below((edges[1:] - edges[:-1])[kind])


def _arriving(model: PathModel, targets: Integers) -> Floats:
    """Return the relative chance to be in a destination after k steps, from each cell, (k, destinations, cells)."""
    chain = model.chain
    arriving = np.empty((model.longest + 1, targets.size, model.system.n_cells))
    arriving[0] = np.where(model.block_of == targets[:, None], model.attraction, 0.0)
    for left in range(1, model.longest + 1):
        before, now = arriving[left - 1], arriving[left]
        now[:] = 0.0
        for move in range(chain.chances.shape[1]):
            now += before[:, chain.following[:, move]] * chain.chances[:, move]
        now /= np.maximum(now.max(axis=1, keepdims=True), 1e-300)  # nothing leads to a part of the region by itself
    return arriving


def _starts(
    model: PathModel, origins: Integers, place: Integers, lengths: Integers, arriving: Floats, source: Noise
) -> Integers:
    """Draw the first cell of each trajectory, within its block and given that it arrives."""
    block, weights = model.block_of, model.attraction
    members = np.argsort(block, kind="stable").reshape(model.blocks.n_cells, -1)  # (blocks, cells in each)
    first = np.empty(origins.size, dtype=np.int64)
    at_once = max(1, _AT_ONCE // members.shape[1])
    for low in range(0, origins.size, at_once):
        part = slice(low, low + at_once)
        cells = members[origins[part]]
        chances = weights[cells] * arriving[lengths[part, None], place[part, None], cells]
        lost = chances.sum(axis=1) <= 0
        chances[lost] = weights[cells[lost]]  # too unlikely for a double, or in another part of the region
        first[part] = np.take_along_axis(
            cells, picked(chances, np.arange(cells.shape[0]), source)[:, None], axis=1
        ).ravel()
    return first


def _walk(model: PathModel, group: _Group, first: Integers, cells: Integers, source: Noise) -> None:
    """Write the cells of all positions of a group of trajectories, step by step for all of them together."""
    chain, now, last = model.chain, first.copy(), np.full(first.size, _NONE_YET)
    cells[group.starts] = now
    for step in range(int(group.lengths.max(initial=0))):
        going = np.flatnonzero(group.lengths > step)
        here = now[going]
        left = group.lengths[going] - step - 1
        following, chances = chain.following[here], chain.chances[here]
        weights = chances * group.arriving[left[:, None], group.place[going, None], following]
        lost = weights.sum(axis=1) <= 0
        weights[lost] = chances[lost]  # the destination is too unlikely for a double: go on without it
        moving = weights[:, :STAY].sum(axis=1)
        weights[:, :STAY] *= chain.turning[last[going], :STAY]
        turned = weights[:, :STAY].sum(axis=1)
        weights[:, :STAY] *= (moving / np.where(turned > 0, turned, 1.0))[:, None]  # turns do not change stays
        move = picked(weights, np.arange(going.size), source)
        now[going] = following[np.arange(going.size), move]
        last[going] = np.where(move == STAY, last[going], move)
        cells[group.starts[going] + step + 1] = now[going]


def picked(weights: Floats, rows: Integers, source: Noise) -> Integers:
    """Draw a column for each of some rows, in proportion to that row's weights.

    Examples
    --------
    >>> from spatialdp.privacy.noise.source import SeededNoise
    >>> picked(np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([1, 0, 0]), SeededNoise(1)).tolist()
    [0, 1, 1]
    """
    ends = np.cumsum(weights, axis=1)
    uniform = (source.uniform_words(rows.size) >> np.uint64(11)).astype(np.float64) * 2.0**-53
    if weights.shape[0] == 1:
        place = np.searchsorted(ends[0], uniform * ends[0, -1], side="right")
    else:
        place = (ends[rows] <= (uniform * ends[rows, -1])[:, None]).sum(axis=1)
    return np.asarray(np.minimum(place, weights.shape[1] - 1))  # a product may be rounded up to the last end
