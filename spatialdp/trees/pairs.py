"""Where do many queries that go down a tree together stand? At pairs of a query and a node, one list for each depth.

The walks know what queries and nodes are: boxes and polygons in `space.boxes.walk`, sets of zones in
`estimates.zones.sets`. The algebra of answers and of their noise (`trees.tree_noise`) needs only the covered shares.
"""

from __future__ import annotations

from dataclasses import dataclass

from spatialdp._support.arrays import Array, Booleans, Floats, Integers

__all__ = ["OpenedNodes", "Pairs"]


@dataclass(frozen=True, eq=False)
class Pairs:
    """The (box, node) pairs of one depth.

    Attributes
    ----------
    box, node : int arrays
        Number of the box, polygon or set of zones, and of the node.
    parent : int array
        Position of the pair of the same box and the node's parent among the divided pairs of the previous depth.
    coverage : float array
        Share of the node's area (or of its area in the region) that the box covers, from 0 to 1.
    divided : bool array
        Whether the pair is followed by pairs of the node's children at the next depth.
    """

    box: Array
    node: Array
    parent: Array
    coverage: Floats
    divided: Booleans

    @property
    def cut_leaves(self) -> Booleans:
        """Which pairs end at a node that is covered in part."""
        return ~self.divided & (self.coverage > 0) & (self.coverage < 1)


@dataclass(frozen=True, eq=False)
class OpenedNodes:
    """The nodes above the leaves that a walk opens: those that a box cuts, and covered ones that were not measured.

    Attributes
    ----------
    pairs : bool array
        Which pairs of the walk's last depth these nodes are.
    boxes : (m, 4) int array
        The part of the box that lies within each node.
    powers : (4, m) array
        Sums over each node's cells of the first to fourth power of the covered share.
    """

    pairs: Booleans
    boxes: Integers
    powers: Floats
