"""What is released of trajectories: ends, lengths, extents, cells, moves, habits, and the chain that they make.

Cells are pruned down the quadtree: the noisy weights of the chosen system are added up to all coarser ones, and each
family of four is projected to values that are not negative and add up to their parent, root first
(`trees.adjust.project_families`). Cells that end at zero are pruned; moves are only counted from the others. Everything
here reads released numbers alone. See ``docs/design/trajectories.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np

from spatialdp._support.arrays import Booleans, Floats, Integers
from spatialdp.estimates.flows.counts import FlowCounts
from spatialdp.estimates.trajectories.tables import LengthTable
from spatialdp.space.boxes.quadtree import morton_order, quadtree
from spatialdp.space.domain import Domain
from spatialdp.space.paths.systems import TURNS, System, turns
from spatialdp.trees.adjust import project_families
from spatialdp.trees.shape import sums

__all__ = ["Chain", "PathModel", "pruned"]

_BETWEEN_KEPT, _ELSEWHERE = 1e-3, 1e-4  # weights of moves that were not seen, so that every cell can be reached
_MOST_GOING = 0.99  # share of the steps that leave a cell, at most
_TURNS_OF_A_KIND = np.array([1, 2, 2, 2, 1])  # of the eight directions


def pruned(noisy: Floats, system: System, inside: Booleans | None = None) -> Floats:
    """Return the weights of the cells without negative ones, family by family down the quadtree; zero where pruned.

    Parameters
    ----------
    noisy : (cells,) array
    system : System
    inside : (cells,) bool array, optional
        Which cells lie in the public region; weights of the others are zero.

    Examples
    --------
    >>> pruned(np.array([5.0, -1.0, -2.0, 1.0]), System(1)).tolist()
    [3.0, 0.0, 0.0, 0.0]
    """
    noisy = noisy if inside is None else np.where(inside, noisy, 0.0)
    tree, order = quadtree(system.level), morton_order(system.level)
    size = 4.0 ** (system.level - tree.depth)
    values = np.zeros(system.n_cells)
    values[order] = project_families(tree, np.asarray(sums(tree, noisy[order])), size)[tree.leaves]
    values = values if inside is None else np.where(inside, values, 0.0)
    return np.where(values > 1e-9 * max(values.sum(), 1.0), values, 0.0)


@dataclass(frozen=True, eq=False)
class Chain:
    """A Markov chain on the cells of a system.

    Attributes
    ----------
    following : (cells, 9) integer array
        The cell that each move leads to; in the last column the cell itself. Where a move would leave the domain, also
        the cell itself, with probability zero.
    chances : (cells, 9) float array
        The probability of each move, and of staying.
    turning : (9, 9) float array
        How much likelier a move is after another one: by the move before (8 if there was none), and the move.
    """

    following: Integers
    chances: Floats
    turning: Floats


@dataclass(frozen=True, eq=False)
class PathModel:
    """Released numbers about trajectories.

    Attributes
    ----------
    seconds : Fraction
        From one position to the next.
    blocks : System
        The system in which ends are counted.
    system : System
        The system in which ways are counted, which was chosen privately if there were several.
    longest : int
        The most steps of a trajectory.
    ends : FlowCounts
        Noisy counts of all pairs of blocks, of the origin and of the destination.
    threshold : int
        Trajectories are drawn between pairs of at least this noisy count.
    lengths, extents : LengthTable
        Noisy numbers of trajectories by the distance of their ends, or by their extent, and by their length.
    cells : (cells,) float array
        The weight of each cell, in trajectories; zero where it was pruned.
    moves : (kept cells, 8) float array
        The noisy weights of the moves from the cells that were kept.
    habits : (7,) float array
        The noisy weights of turns, of stays and of other steps.
    scale : float
        The scale of the noise in `moves`.
    """

    kind: ClassVar[str] = "trajectories"

    seconds: Fraction
    blocks: System
    system: System
    longest: int
    ends: FlowCounts
    threshold: int
    lengths: LengthTable
    extents: LengthTable
    cells: Floats
    moves: Floats
    habits: Floats
    scale: float

    @property
    def domain(self) -> Domain:
        """The public domain."""
        domain = self.ends.frame.domain
        assert domain is not None
        return domain

    @property
    def total(self) -> float:
        """Estimated number of trajectories."""
        return float(self.lengths.values.sum())

    @property
    def kept(self) -> Integers:
        """The cells that were kept, in order."""
        return np.flatnonzero(self.cells)

    @cached_property
    def inside(self) -> Booleans:
        """Which cells of the system lie in the region, and in blocks that do."""
        return np.asarray(self.system.inside(self.domain) & self.blocks.inside(self.domain)[self.block_of])

    @cached_property
    def block_of(self) -> Integers:
        """The block of ends that each cell lies in."""
        shift = self.system.level - self.blocks.level
        row, column = np.divmod(np.arange(self.system.n_cells), self.system.side)
        return np.asarray((row >> shift) * self.blocks.side + (column >> shift))

    @cached_property
    def listed(self) -> tuple[Integers, Integers, Floats]:
        """Origins and destinations of the pairs of blocks whose count reaches the threshold, and their counts."""
        pairs = np.flatnonzero(self.ends.values >= self.threshold)
        places = np.divmod(pairs, self.ends.places)
        origins, destinations = (self.ends.frame.space.cells[each] for each in places)
        return origins, destinations, self.ends.values[pairs]

    @cached_property
    def reachable(self) -> tuple[Integers, Integers, Integers, Floats]:
        """Origins, destinations, the least steps between them, and the flows of pairs that the longest way can join."""
        origins, destinations, flows = self.listed
        apart = self.blocks.distances(origins, destinations)
        width = 1 << self.system.level - self.blocks.level
        least = np.where(apart > 0, (apart - 1) * width + 1, 0)
        has_cells = np.bincount(self.block_of, self.inside, self.blocks.n_cells) > 0
        near = (least <= self.longest) & has_cells[origins] & has_cells[destinations]
        return origins[near], destinations[near], least[near], flows[near]

    @cached_property
    def chain(self) -> Chain:
        """The Markov chain: moves above twice the scale of their noise, of cells that were kept, and few others."""
        following = self.system.neighbours()
        inside, here = (following >= 0) & self.inside[following], np.arange(self.system.n_cells)[:, None]
        following = np.where(inside, following, here)
        kept = self.cells > 0
        seen = np.zeros((self.system.n_cells, 8))
        seen[self.kept] = np.where(self.moves >= max(2 * self.scale, 1e-12), self.moves, 0.0)
        seen *= inside & kept[following]
        leaving = seen.sum(axis=1)
        unseen = np.where(kept[:, None] & kept[following], _BETWEEN_KEPT, _ELSEWHERE) * inside
        moves = seen / np.maximum(leaving, 1e-12)[:, None] + unseen
        sums_of_moves = moves.sum(axis=1, keepdims=True)
        going = np.where(sums_of_moves[:, 0] > 0, self._going(leaving), 0.0)  # a cell may be alone in its region
        chances = moves / np.where(sums_of_moves > 0, sums_of_moves, 1.0) * going[:, None]
        return Chain(np.hstack([following, here]), np.column_stack([chances, 1 - going]), self._turning())

    def _going(self, leaving: Floats) -> Floats:
        """The probability with which a step leaves each cell: in proportion to its moves, and right on average."""
        stays, others = np.maximum(self.habits[TURNS:], 1e-9)
        scale = others / (stays + others) * self.cells.sum() / max(leaving.sum(), 1e-12)
        going = np.where(self.cells > 0, scale * leaving / np.maximum(self.cells, 1e-12), 0.5)
        return np.clip(going, 1 / (self.longest + 1), _MOST_GOING)

    def _turning(self) -> Floats:
        """How much likelier each move is after each other one than if the way had no memory."""
        weights = np.maximum(self.habits[:TURNS], 1e-3 * max(self.habits[:TURNS].sum(), 1.0)) / _TURNS_OF_A_KIND
        each = np.arange(8)
        table = np.ones((9, 9))
        table[:8, :8] = weights[turns(each[:, None], each)]
        table[:8, :8] /= table[:8, :8].mean(axis=1, keepdims=True)
        return table
