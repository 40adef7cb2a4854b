"""Which linear system is a field the solution of? The same one on larger cells, and one without ties between cells.

A field has a matrix with three parts: a sum for each noisy count, over the cells of a block; a difference for each pair
of neighbouring cells; and a pull on each cell. `System` multiplies by it without writing it down. `System.joined` is
the system of fields that are constant within larger cells: it has the same three parts. `Smoother` solves a simpler
system exactly, in which a cell is not tied to its neighbours, but to what it was. `multigrid` puts the solution
together from these. Nothing here sees a record.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from spatialdp._support.arrays import Booleans, Floats, Integers
from spatialdp.trees.shape import TreeShape

__all__ = ["Joining", "Smoother", "System"]

Places = slice | Integers

HOLD = 1.15  # how strongly the smoother ties a cell to what it was, in units of its ties to its neighbours
LOOSER = 0.6  # ties between joined cells are so much weaker, because fields are not really constant within them


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
        return self.column_sums(self.row_sums(values))

    def row_sums(self, values: Floats) -> Floats:
        """The sums of rows that are joined."""
        total = values[self._rows[0][1]].copy()
        for joined, row in self._rows[1:]:
            total[joined] += values[row]
        return total

    def column_sums(self, values: Floats) -> Floats:
        """The sums of columns that are joined."""
        total = values[:, self._columns[0][1]].copy()
        for joined, column in self._columns[1:]:
            total[:, joined] += values[:, column]
        return total

    def add(self, values: Floats, to: Floats) -> None:
        """Add to each cell the value of the larger cell that it is in."""
        wide = np.empty((self.rows.size, self.shape[1]))
        for joined, column in self._columns:
            wide[:, column] = values[:, joined]
        for joined, row in self._rows:
            to[row] += wide[joined]

    @cached_property
    def number(self) -> Integers:
        """For each cell, the number of the larger cell that it is in, row by row."""
        row, column = (
            np.repeat(np.arange(starts.size), np.diff(starts, append=length))
            for starts, length in zip((self.rows, self.columns), self.shape, strict=True)
        )
        return np.asarray(row[:, None] * self.columns.size + column)

    @cached_property
    def _rows(self) -> list[tuple[Places, Places]]:
        return _by_turn(self.rows, self.shape[0])

    @cached_property
    def _columns(self) -> list[tuple[Places, Places]]:
        return _by_turn(self.columns, self.shape[1])


def _by_turn(starts: Integers, length: int) -> list[tuple[Places, Places]]:
    """The joined rows that have a first row, a second one and so on, and which rows these are; slices if possible."""
    sizes = np.diff(starts, append=length)
    most = int(sizes.max())
    if np.all(sizes == most):
        return [(slice(None), slice(turn, None, most)) for turn in range(most)]
    turns = [np.flatnonzero(sizes > turn) for turn in range(most)]
    return [(joined, starts[joined] + turn) for turn, joined in enumerate(turns)]


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
    along_x, along_y : (ny, nx) arrays
        How strongly a cell is tied to the next one in its row and in its column: the weights of squared differences. 0
        in the last column and the last row.
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
        result += (self.pull + self.ties) * density
        result -= self.neighbours(density)
        return result

    def node_sums(self, cells: Floats) -> Floats:
        """For each node, the sum over its cells."""
        tree = self.tree
        sums = np.bincount(self.node.ravel(), cells.ravel(), minlength=tree.n_nodes + 1)[:-1].astype(np.float64)
        for depth in reversed(range(tree.height)):
            sums[tree.level(depth)][tree.inner[depth]] += tree.inner_sums(depth, sums[tree.level(depth + 1)])
        return sums

    def at_cells(self, values: Floats) -> Floats:
        """For each cell, its size times the sum of the values of all nodes that contain it."""
        tree, sums = self.tree, np.append(values, 0.0)
        for depth in range(tree.height):
            sums[tree.level(depth + 1)] += tree.to_children(depth, sums[tree.level(depth)])
        return np.asarray(sums.take(self.node) * self.sizes)

    def neighbours(self, density: Floats, own: Floats | float = 0.0, out: Floats | None = None) -> Floats:
        """For each cell, the sum over its neighbours of their density times the tie, and its own times a factor."""
        result = np.empty(density.shape) if out is None else out
        np.multiply(density, own, out=result)
        cells, total, work, row = density.ravel(), result.ravel(), self._work, density.shape[1]
        for along, step in ((self.along_x, 1), (self.along_y, row)):
            tie = along.ravel()[:-step]
            total[step:] += np.multiply(tie, cells[:-step], out=work[step:])
            total[:-step] += np.multiply(tie, cells[step:], out=work[step:])
        return result

    @cached_property
    def _work(self) -> Floats:
        return np.empty(self.pull.size)

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
        last_row, last_column = (np.append(each[1:], 0) - 1 for each in (joining.rows, joining.columns))
        along_x = joining.row_sums(self.along_x[:, last_column])
        along_y = joining.column_sums(self.along_y[last_row])
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
        tree, number, part = system.tree, joining.number.ravel(), system.node.ravel()
        cell, inside = _places(tree, part, number)
        kept = ~inside
        kept[0] = True
        squares = system.weights[inside] * system.node_sums(system.sizes)[inside] ** 2
        new = _new_numbers(tree, kept)
        node = np.full(joining.joined_shape, new[-1])
        if system.sizes.all():
            of_cell = new.take(part)
        else:
            within = part < tree.n_nodes
            number, of_cell = number[within], new.take(part[within])
        node.ravel()[number] = of_cell
        # Blocks that are halved at the grid's lines never cut a larger cell. Of a cell that is cut all the same, the
        # counts are left out here: that makes the solution take longer, but not another one.
        node.ravel()[number[node.ravel()[number] != of_cell]] = new[-1]
        return cls(inside, cell[inside], squares, kept, _kept_tree(tree, kept), node)


def _places(tree: TreeShape, node: Integers, number: Integers) -> tuple[Integers, Booleans]:
    """For each node, the number of a larger cell that it has a part in, and whether this is the only one."""
    place = np.full(tree.n_nodes + 1, -1)
    place[node] = number
    elsewhere = np.zeros(tree.n_nodes + 1, dtype=bool)
    elsewhere[node[number != place[node]]] = True
    for depth in reversed(range(tree.height)):
        below = tree.level(depth + 1)
        parent = tree.parent[below]
        without = place[parent] < 0
        place[parent[without]] = place[below][without]
        elsewhere[parent[elsewhere[below] | (place[below] != place[parent])]] = True
    return np.maximum(place[:-1], 0), ~elsewhere[:-1]  # a node without any cell lies in the first one, and adds nothing


def _new_numbers(tree: TreeShape, kept: Booleans) -> Integers:
    """For each node, the new number of the lowest kept node at or above it; at the end, that of no node."""
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
    `HOLD` x D in place of all ties. What it has more than the system, `rest`, has only the ties.
    """

    def __init__(self, system: System) -> None:
        self.system = system
        diagonal = HOLD * system.ties + system.pull
        self._inverse = np.divide(1.0, diagonal, out=np.zeros(diagonal.shape), where=diagonal > 0)
        self._own = (HOLD - 1) * system.ties
        self._gain = system.sizes * self._inverse
        self._work = np.empty(diagonal.shape)
        # What a node can still give way, after its own count and those below it; and how much its count takes away.
        tree, slack = system.tree, system.sizes * self._gain
        slack = np.bincount(system.node.ravel(), slack.ravel(), minlength=system.tree.n_nodes + 1)[:-1].astype(float)
        self._left = np.empty(tree.n_nodes)
        for depth in reversed(range(tree.height + 1)):
            level = tree.level(depth)
            if depth < tree.height:
                below = tree.level(depth + 1)
                slack[level][tree.inner[depth]] += tree.inner_sums(depth, slack[below] * self._left[below])
            self._left[level] = 1 / (1 + system.weights[level] * slack[level])
        self._taken = -system.weights * self._left

    def solved(self, right: Floats, out: Floats) -> Floats:
        """Write the solution of the smoother's system into `out`.

        Without counts it would be the right side over the diagonal. On the way up, each node learns what it has in
        excess, after the nodes below it have taken away their part; on the way down, what all nodes above a cell take
        away from it.
        """
        system, tree, left = self.system, self.system.tree, self._left
        np.multiply(right, self._gain, out=self._work)
        sums = np.bincount(system.node.ravel(), self._work.ravel(), minlength=tree.n_nodes + 1)
        excess = np.asarray(sums, dtype=np.float64)
        for depth in reversed(range(tree.height)):
            below = tree.level(depth + 1)
            excess[tree.level(depth)][tree.inner[depth]] += tree.inner_sums(depth, excess[below] * left[below])
        excess[:-1] *= self._taken
        excess[-1] = 0
        for depth in range(tree.height):
            below = tree.level(depth + 1)
            excess[below] += left[below] * tree.to_children(depth, excess[tree.level(depth)])
        excess.take(system.node, out=out, mode="clip")
        out *= system.sizes
        out += right
        out *= self._inverse
        return out

    def rest(self, density: Floats, out: Floats) -> Floats:
        """Write the smoother's matrix less that of the system, times a density, into `out`."""
        return self.system.neighbours(density, self._own, out)
