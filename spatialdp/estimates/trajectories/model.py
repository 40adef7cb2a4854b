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
from spatialdp.estimates.trajectories.joins import arrivals, likely_flows
from spatialdp.estimates.trajectories.tables import LengthTable
from spatialdp.estimates.trajectories.turning import likely_moves, turn_factors
from spatialdp.space.boxes.quadtree import morton_order, quadtree
from spatialdp.space.domain import Domain
from spatialdp.space.paths.systems import TURNS, System, turns
from spatialdp.trees.adjust import project_families
from spatialdp.trees.shape import sums

__all__ = ["Chain", "PathModel", "pruned"]

_BETWEEN_KEPT, _ELSEWHERE = 1e-3, 1e-4  # weights of moves that were not seen, so that every cell can be reached
_MOST_GOING = 0.99  # share of the steps that leave a cell, at most


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
    def attraction(self) -> Floats:
        """How much each cell attracts ends within its block; nothing outside of the region."""
        return np.asarray(self.inside * (self.cells + 1e-6 * max(self.cells.sum(), 1.0) / self.cells.size))

    @cached_property
    def reachable(self) -> tuple[Integers, Integers, Integers, Floats]:
        """Origins, destinations, the least steps between them, and the likely flows of pairs that a way can join."""
        blocks = self.ends.frame.space.cells
        origins, destinations = np.repeat(blocks, blocks.size), np.tile(blocks, blocks.size)
        flows = self._flows().ravel()
        apart = self.blocks.distances(origins, destinations)
        width = 1 << self.system.level - self.blocks.level
        least = np.where(apart > 0, (apart - 1) * width + 1, 0)
        has_cells = np.bincount(self.block_of, self.inside, self.blocks.n_cells) > 0
        near = (least <= self.longest) & has_cells[origins] & has_cells[destinations] & (flows > 0)
        return origins[near], destinations[near], least[near], flows[near]

    def _flows(self) -> Floats:
        """The likely flows between the blocks of ends."""
        places, chain = self.ends.places, self.chain
        place_of = np.zeros(self.blocks.n_cells, dtype=np.int64)
        place_of[self.ends.frame.space.cells] = np.arange(places)  # in other blocks, no cell attracts
        place_of = place_of[self.block_of]
        joined = arrivals(
            chain.following, chain.chances, self.attraction, place_of, places, self.lengths.steps(self.longest)
        )
        weights = np.bincount(place_of, self.attraction, places).astype(np.float64)
        noisy = self.ends.values.reshape(places, places)
        return likely_flows(noisy, self.ends.pair.variance, self.total, weights, joined)

    @cached_property
    def chain(self) -> Chain:
        """The Markov chain: likely moves between cells that were kept, and few others."""
        following = self.system.neighbours()
        inside, here = (following >= 0) & self.inside[following], np.arange(self.system.n_cells)[:, None]
        following = np.where(inside, following, here)
        kept = self.cells > 0
        between = inside & kept[:, None] & kept[following]
        seen = np.zeros((self.system.n_cells, 8))
        seen[self.kept] = self.moves
        seen = likely_moves(self.cells, seen, max(self.scale, 1e-12), following, between)
        leaving = seen.sum(axis=1)
        moves = seen / np.maximum(leaving, 1e-12)[:, None] + np.where(between, _BETWEEN_KEPT, _ELSEWHERE) * inside
        sums_of_moves = moves.sum(axis=1, keepdims=True)
        going = np.where(sums_of_moves[:, 0] > 0, self._going(leaving), 0.0)  # a cell may be alone in its region
        chances = moves / np.where(sums_of_moves > 0, sums_of_moves, 1.0) * going[:, None]
        turning = _turning(turn_factors(seen, following, self.habits[:TURNS]))
        return Chain(np.hstack([following, here]), np.column_stack([chances, 1 - going]), turning)

    def _going(self, leaving: Floats) -> Floats:
        """The probability with which a step leaves each cell: in proportion to its moves, and right on average."""
        stays, others = np.maximum(self.habits[TURNS:], 1e-9)
        scale = others / (stays + others) * self.cells.sum() / max(leaving.sum(), 1e-12)
        going = np.where(self.cells > 0, scale * leaving / np.maximum(self.cells, 1e-12), 0.5)
        return np.clip(going, 1 / (self.longest + 1), _MOST_GOING)


def _turning(factors: Floats) -> Floats:
    """Return how much likelier each move is after each other one than if the way had no memory, (9, 9)."""
    each = np.arange(8)
    table = np.ones((9, 9))
    table[:8, :8] = factors[turns(each[:, None], each)]
    table[:8, :8] /= table[:8, :8].mean(axis=1, keepdims=True)
    return table
