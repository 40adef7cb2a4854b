"""Which linear system is a field the solution of? And what is it on coarser cells, and without its counts?

A field has a matrix with three parts: a sum for each noisy count, over the cells of a block; a difference for each pair
of neighbouring cells; and a pull on each cell. `System` multiplies by it without writing it down. `System.joined` is
the system of fields that are constant within coarser cells: it has the same three parts. `Smoother` solves a simpler
system exactly, in which neighbours are not tied to each other, but each cell to what it was. `multigrid` builds the
solution out of these. Nothing here sees a record.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from spatialdp._support.arrays import Array, Booleans, Floats, Integers
from spatialdp.trees.shape import TreeShape

__all__ = ["Joining", "Smoother", "System"]

HOLD = 1.15  # how strongly the smoother ties a cell to what it was, in units of its ties to its neighbours
LOOSER = 0.6  # differences between joined cells count so much less, because fields are not really constant within them


@dataclass(frozen=True, eq=False)
class Joining:
    """Which cells of a grid are joined into larger ones: those between some of the grid's lines.

    Attributes
    ----------
    rows, columns : int arrays
        The first row and the first column of each row and column of larger cells.
    shape : (ny, nx)
        Of the grid.
    """

    rows: Integers
    columns: Integers
    shape: tuple[int, int]

    @property
    def joined_shape(self) -> tuple[int, int]:
        """Shape of the larger cells' grid."""
        return self.rows.size, self.columns.size

    def sums(self, values: Floats) -> Floats:
        """For each larger cell, the sum over its cells."""
        return _added(_added(values, self.rows, 0), self.columns, 1)

    def spread(self, values: Array) -> Array:
        """For each cell, the value of the larger cell that it is in."""
        return np.asarray(values.take(self._row, axis=0).take(self._column, axis=1))

    @cached_property
    def number(self) -> Integers:
        """For each cell, the number of the larger cell that it is in, row by row."""
        return np.asarray(self._row[:, None] * self.columns.size + self._column)

    @cached_property
    def _row(self) -> Integers:
        return _which(self.rows, self.shape[0])

    @cached_property
    def _column(self) -> Integers:
        return _which(self.columns, self.shape[1])


def _which(starts: Integers, length: int) -> Integers:
    return np.repeat(np.arange(starts.size), np.diff(starts, append=length))


def _added(values: Floats, starts: Integers, axis: int) -> Floats:
    """Sums of successive rows or columns, each sum beginning where `starts` says."""
    sizes = np.diff(starts, append=values.shape[axis])
    total = values.take(starts, axis=axis)
    for j in range(1, int(sizes.max())):
        more = np.flatnonzero(sizes > j)
        some = slice(None) if more.size == starts.size else more
        total[(some,) if axis == 0 else (slice(None), some)] += values.take(starts[more] + j, axis=axis)
    return total


@dataclass(frozen=True, eq=False)
class System:
    """The matrix of a field on the cells of a grid.

    Attributes
    ----------
    tree : TreeShape
        Nodes that were counted.
    weights : (nodes,) array
        One over the variance of each count.
    node : (ny, nx) int array
        The lowest node that each cell is part of; the number of nodes for cells outside the region.
    sizes : (ny, nx) array
        What a density of 1 in a cell adds to the counts of its nodes.
    along_x, along_y : (ny, nx - 1) and (ny - 1, nx) arrays
        How strongly neighbours are tied to each other: the weights of squared differences.
    pull : (ny, nx) array
        How strongly each cell is drawn to zero: the weights of squares; above 0 within the region.
    """

    tree: TreeShape
    weights: Floats
    node: Integers
    sizes: Floats
    along_x: Floats
    along_y: Floats
    pull: Floats

    def times(self, density: Floats) -> Floats:
        """The matrix times a density."""
        result = self.at_cells(self.node_sums(density * self.sizes) * self.weights)
        result += self.pull * density
        result += self.ties * density
        result -= self.neighbours(density)
        return result

    def node_sums(self, cells: Floats) -> Floats:
        """For each node, the sum over its cells."""
        tree = self.tree
        sums = np.bincount(self.node.ravel(), cells.ravel(), minlength=tree.n_nodes + 1)[:-1].astype(np.float64)
        for depth in reversed(range(tree.height)):
            sums[tree.level(depth)] += tree.family_sums(depth, sums[tree.level(depth + 1)])
        return sums

    def at_cells(self, values: Floats) -> Floats:
        """For each cell, its size times the sum of the values of all nodes that contain it."""
        tree, sums = self.tree, np.append(values, 0.0)
        for depth in range(tree.height):
            sums[tree.level(depth + 1)] += tree.to_children(depth, sums[tree.level(depth)])
        return np.asarray(sums.take(self.node) * self.sizes)

    def neighbours(self, density: Floats) -> Floats:
        """For each cell, the sum over its neighbours of their density times the strength of the tie."""
        result, work = np.empty(density.shape), np.empty(density.shape)
        result[:, :1] = 0
        np.multiply(self.along_x, density[:, :-1], out=result[:, 1:])
        result[:, :-1] += np.multiply(self.along_x, density[:, 1:], out=work[:, 1:])
        result[1:] += np.multiply(self.along_y, density[:-1], out=work[1:])
        result[:-1] += np.multiply(self.along_y, density[1:], out=work[1:])
        return result

    @cached_property
    def ties(self) -> Floats:
        """For each cell, the sum of the strengths of its ties to its neighbours."""
        return self.neighbours(np.ones(self.pull.shape))

    def joined(self, joining: Joining) -> System:
        """The matrix for densities that are the same within larger cells.

        A node within one larger cell says how large this cell's square is, and adds to its pull. Only nodes of several
        larger cells are kept.
        """
        nodes = _Within.of(self, joining)
        pull = joining.sums(self.pull)
        pull += np.bincount(nodes.cell, nodes.squares, minlength=pull.size).reshape(pull.shape)
        along_x = _added(self.along_x[:, joining.columns[1:] - 1], joining.rows, 0)
        along_y = _added(self.along_y[joining.rows[1:] - 1], joining.columns, 1)
        along_x *= LOOSER if joining.columns.size < joining.shape[1] else 1.0
        along_y *= LOOSER if joining.rows.size < joining.shape[0] else 1.0
        weights = np.where(nodes.inside, 0.0, self.weights)[nodes.kept]
        return System(nodes.tree, weights, nodes.node, joining.sums(self.sizes), along_x, along_y, pull)


@dataclass(frozen=True, eq=False)
class _Within:
    """Which nodes lie within one larger cell, and the tree of the others.

    Attributes
    ----------
    inside : (nodes,) bool array
    cell, squares : arrays
        For each node within a larger cell, this cell's number, and what the node adds to the cell's pull.
    kept : (nodes,) bool array
        The nodes of the new tree: those that lie in several larger cells, and the root.
    tree : TreeShape
    node : int array
        For each larger cell, the lowest node of the new tree that it is part of.
    """

    inside: Booleans
    cell: Integers
    squares: Floats
    kept: Booleans
    tree: TreeShape
    node: Integers

    @classmethod
    def of(cls, system: System, joining: Joining) -> _Within:
        tree, number = system.tree, joining.number.ravel()
        cell, inside = _places(tree, system.node.ravel(), number)
        kept = ~inside
        kept[0] = True
        squares = (system.weights * system.node_sums(system.sizes) ** 2)[inside]
        new = _new_numbers(tree, kept)
        node = np.full(joining.joined_shape, new[-1])
        part = system.node.ravel() < tree.n_nodes
        of_cell = new.take(system.node.ravel()[part])
        node.ravel()[number[part]] = of_cell
        # Blocks that are halved at the grid's lines never cut a larger cell. Of a cell that is cut all the same, the
        # counts are left out here: that makes the solution take longer, but not another one.
        node.ravel()[number[part][node.ravel()[number[part]] != of_cell]] = new[-1]
        return cls(inside, cell[inside], squares, kept, _kept_tree(tree, kept), node)


def _places(tree: TreeShape, node: Integers, number: Integers) -> tuple[Integers, Booleans]:
    """For each node, the number of a larger cell that it has a part in, and whether this is the only one."""
    place = np.full(tree.n_nodes + 1, -1)
    place[node] = number
    elsewhere = np.bincount(node[number != place[node]], minlength=tree.n_nodes + 1) > 0
    for depth in reversed(range(tree.height)):
        level, below = tree.level(depth), tree.level(depth + 1)
        parent = tree.parent[below]
        without = place[parent] < 0
        place[parent[without]] = place[below][without]
        apart = elsewhere[below] | (place[below] != place[parent])
        elsewhere[level] |= tree.family_sums(depth, apart.astype(np.int64)) > 0
    return place[:-1], ~elsewhere[:-1]


def _new_numbers(tree: TreeShape, kept: Booleans) -> Integers:
    """For each node, the new number of the lowest node above it that is kept, or of itself; at the end, that of none."""
    new = np.append(np.cumsum(kept) - 1, np.count_nonzero(kept))
    for depth in range(tree.height):
        below = tree.level(depth + 1)
        np.copyto(new[below], tree.to_children(depth, new[tree.level(depth)]), where=~kept[below])
    return new


def _kept_tree(tree: TreeShape, kept: Booleans) -> TreeShape:
    sizes = np.add.reduceat(kept.astype(np.int64), tree.offsets[:-1])
    n_children = np.bincount(tree.parent[1:][kept[1:]], minlength=tree.n_nodes)[kept]
    return TreeShape(np.append(0, np.cumsum(sizes[sizes > 0])), n_children.astype(np.int32))


class Smoother:
    """Solves, exactly, the system in which each cell is tied to what it was, and not to its neighbours.

    With D for the sums of each cell's ties to its neighbours, the matrix of the smoother is that of the system, with
    `HOLD` x D in place of all ties. What is left of the system, `rest`, has only the ties.
    """

    def __init__(self, system: System) -> None:
        self.system = system
        diagonal = HOLD * system.ties + system.pull
        self._inverse = np.divide(1.0, diagonal, out=np.zeros(diagonal.shape), where=diagonal > 0)
        self._middle = (HOLD - 1) * system.ties
        self._gain = system.sizes * self._inverse
        tree, weights = system.tree, system.weights
        spread = np.bincount(
            system.node.ravel(), (system.sizes * self._gain).ravel(), minlength=tree.n_nodes + 1
        )[:-1].astype(np.float64)
        self._kept = np.empty(tree.n_nodes)
        for depth in reversed(range(tree.height + 1)):
            level = tree.level(depth)
            if depth < tree.height:
                below = tree.level(depth + 1)
                spread[level] += tree.family_sums(depth, spread[below] * self._kept[below])
            self._kept[level] = 1 / (1 + weights[level] * spread[level])
        self._answer = -weights * self._kept

    def solved(self, right: Floats) -> Floats:
        """The solution of the smoother's system.

        Notes
        -----
        Without counts it would be right / diagonal. On the way up, m is what a node then has too much, after the nodes
        below it have taken away their part; on the way down, u is by how much all nodes above a cell lower it.
        """
        system, tree, kept = self.system, self.system.tree, self._kept
        excess = np.bincount(system.node.ravel(), (right * self._gain).ravel(), minlength=tree.n_nodes + 1)
        for depth in reversed(range(tree.height)):
            below = tree.level(depth + 1)
            excess[tree.level(depth)] += tree.family_sums(depth, excess[below] * kept[below])
        excess[:-1] *= self._answer
        excess[-1] = 0
        for depth in range(tree.height):
            below = tree.level(depth + 1)
            excess[below] += kept[below] * tree.to_children(depth, excess[tree.level(depth)])
        result = excess.take(system.node)
        result *= system.sizes
        result += right
        result *= self._inverse
        return result

    def rest(self, density: Floats) -> Floats:
        """The smoother's matrix less that of the system, times a density."""
        result = self.system.neighbours(density)
        result += self._middle * density
        return result
