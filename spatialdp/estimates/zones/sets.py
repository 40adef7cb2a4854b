"""Which part of a tree determines the noise of a set of nodes? The families along the paths from the set to the root.

A set is a list of nodes anywhere in the tree, and shares of leaves; a node stands for all leaves below it. `NodeSets`
holds many sets at once. `visited` goes up from the nodes of each set: a node whose children are all whole is whole
itself, whatever lies below a whole node is dropped, and a node with something but not all of it below is divided. Then
it goes down again from the root through divided nodes and gives all their children, which is what
`trees.tree_noise.TreeNoise.fitted_walk` needs. So equal areas get equal walks, however they were named, and the
work is the sum of the families along the paths up, not the size of the tree.

Nothing here sees a record.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from spatialdp._support.arrays import Array, Booleans, Floats, Integers
from spatialdp.space.boxes.walk import children
from spatialdp.trees.pairs import Pairs
from spatialdp.trees.shape import TreeShape

__all__ = ["NodeSets", "visited"]

_TOGETHER = 2**18  # members of sets that are walked together


@dataclass(frozen=True, eq=False)
class NodeSets:
    """Sets of nodes and of shares of leaves.

    Attributes
    ----------
    count : int
        Number of sets; some may be empty.
    owner, node : int arrays
        The set that each member belongs to, in rising order, and the member's node.
    share : float array
        How much of the node belongs to the set: 1, or less of a leaf.
    """

    count: int
    owner: Integers
    node: Integers
    share: Floats

    @classmethod
    def of(cls, sets: Sequence[Array]) -> NodeSets:
        """Make sets of whole nodes.

        Examples
        --------
        >>> NodeSets.of([np.array([3, 4]), np.array([1])]).owner.tolist()
        [0, 0, 1]
        """
        sizes = np.array([len(members) for members in sets], dtype=np.int64)
        nodes = np.concatenate([np.zeros(0, dtype=np.int64), *(np.asarray(m, dtype=np.int64) for m in sets)])
        return cls(len(sizes), np.repeat(np.arange(len(sizes)), sizes), nodes, np.ones(nodes.size))

    @property
    def inside(self) -> NodeSets:
        """The sets without the leaves that belong to them in part."""
        return self._only(self.share >= 1)

    @property
    def touched(self) -> NodeSets:
        """The sets with all of each leaf that belongs to them in part."""
        return NodeSets(self.count, self.owner, self.node, np.ones(self.node.size))

    @property
    def cut(self) -> Booleans:
        """Whether any leaf belongs to the set in part, (count,)."""
        return np.asarray(np.bincount(self.owner, self.share < 1, minlength=self.count) > 0)

    def chunks(self) -> Iterator[tuple[slice, NodeSets]]:
        """Yield the sets a few at a time, so that the walks stay small."""
        starts = np.searchsorted(self.owner, np.arange(self.count + 1))
        group = starts[:-1] // _TOGETHER
        edges = [*np.flatnonzero(np.diff(group, prepend=-1)).tolist(), self.count]
        for first, last in pairwise(edges):
            part = slice(int(starts[first]), int(starts[last]))
            yield (
                slice(first, last),
                NodeSets(last - first, self.owner[part] - first, self.node[part], self.share[part]),
            )

    def _only(self, keep: Booleans) -> NodeSets:
        return NodeSets(self.count, self.owner[keep], self.node[keep], self.share[keep])


def visited(shape: TreeShape, sets: NodeSets) -> list[Pairs]:
    """Return the pairs of a set and a node at each depth, root first, that tell the noise of each set.

    Parameters
    ----------
    shape : TreeShape
    sets : NodeSets

    Returns
    -------
    list of Pairs
        Numbers of boxes are those of sets. A pair is divided if its node belongs to the set in part and has children;
        then all its children have pairs.

    Examples
    --------
    >>> shape = TreeShape(np.array([0, 1, 3, 7]), np.array([2, 2, 2, 0, 0, 0, 0]))
    >>> [pairs.node.tolist() for pairs in visited(shape, NodeSets.of([[3, 4, 5]]))]  # 3 and 4 are all of node 1
    [[0], [1, 2], [5, 6]]
    >>> [pairs.coverage.tolist() for pairs in visited(shape, NodeSets.of([[3, 4, 5]]))]
    [[0.0], [1.0, 0.0], [1.0, 0.0]]
    """
    marks = _marks_from_below(shape, sets)
    box = np.arange(sets.count)
    node = parent = np.zeros(box.size, dtype=np.int64)
    result = []
    for mark in marks:
        coverage, divided = mark.at(box * shape.n_nodes + node)
        result.append(Pairs(box, node, parent, coverage, divided))
        if not divided.any():
            break
        box, node, parent = children(shape, box[divided], node[divided])
    return result


@dataclass(frozen=True, eq=False)
class _Marks:
    """What is known of the pairs of one depth, by their keys (set x nodes + node), which are sorted and distinct."""

    keys: Integers
    share: Floats
    divided: Booleans

    def at(self, keys: Integers) -> tuple[Floats, Booleans]:
        """Share of each pair's node, and whether the pair is divided; a pair without a mark has nothing."""
        if not self.keys.size:
            return np.zeros(keys.size), np.zeros(keys.size, dtype=bool)
        place = np.minimum(np.searchsorted(self.keys, keys), self.keys.size - 1)
        known = self.keys[place] == keys
        return np.where(known, self.share[place], 0.0), known & self.divided[place]


def _marks_from_below(shape: TreeShape, sets: NodeSets) -> list[_Marks]:
    """Go up from the members of the sets and mark each pair that is met: whole, a share of a leaf, or divided."""
    depth = shape.depth.take(sets.node)
    whole_above, divided_above = (np.zeros(0, dtype=np.int64) for _ in range(2))
    marks = []
    for d in reversed(range(shape.height + 1)):
        members = depth == d
        keys, shares = _strongest(sets.owner[members] * shape.n_nodes + sets.node[members], sets.share[members])
        keys = np.concatenate([keys, whole_above, divided_above])
        shares = np.concatenate([shares, np.ones(whole_above.size), np.zeros(divided_above.size)])
        keys, shares = _strongest(keys, shares)
        marks.append(_Marks(keys, shares, shares == 0))
        if d:
            whole_above, divided_above = _parents(shape, keys, shares)
    return marks[::-1]


def _strongest(keys: Integers, shares: Floats) -> tuple[Integers, Floats]:
    """Distinct keys in rising order, each with its largest share."""
    order = np.lexsort((-shares, keys))
    keys, shares = keys[order], shares[order]
    first = np.flatnonzero(np.diff(keys, prepend=-1))
    return keys[first], shares[first]


def _parents(shape: TreeShape, keys: Integers, shares: Floats) -> tuple[Integers, Integers]:
    """Keys of the parents of one depth's marked pairs: those that are whole, and those that are divided."""
    owner, node = np.divmod(keys, shape.n_nodes)
    parent = shape.parent.take(node).astype(np.int64)
    above, place = np.unique(owner * shape.n_nodes + parent, return_inverse=True)
    whole_children = np.bincount(place, shares >= 1, minlength=above.size)
    whole = whole_children == shape.n_children.take(above % shape.n_nodes)
    return above[whole], above[~whole]
