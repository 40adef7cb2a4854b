"""Which boxes of the lattice are the nodes of a tree? The shape of `trees.shape`, with a box for each node.

Sums over families, levels and parents need no boxes and lie with the shape; walks, areas and pruning need them. See
``docs/design/tree-noise.md``.

A `Tree` is public: it is made before the records are seen, or from released numbers, and must hold no count.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from spatialdp._support.arrays import Floats, Integers, Integers32
from spatialdp._support.override import override
from spatialdp.errors import ParameterError
from spatialdp.trees.shape import TreeShape

__all__ = ["LatticeBoxes", "Tree"]

LatticeBoxes = Integers32  # (n, 4): xlo, ylo, xhi, yhi


@dataclass(frozen=True, eq=False)
class Tree(TreeShape):
    """A rooted tree of boxes in level order.

    Attributes
    ----------
    offsets : int64 array
        Depth d, the root being depth 0, holds the nodes ``offsets[d]:offsets[d + 1]``.
    n_children : int32 array
        Number of children of each node; 0 for a leaf. Leaves may occur at any depth.
    boxes : (n, 4) int32 array
        Half-open lattice boxes (xlo, ylo, xhi, yhi). Children partition their parent's box, except
        for parts outside the public region, which are known to be empty.

    Raises
    ------
    ParameterError
        If the arrays do not describe one tree.

    Notes
    -----
    The arrays are read-only views of the arguments, not copies: the largest trees have tens of millions of nodes.

    Examples
    --------
    >>> from spatialdp.space.boxes.quadtree import quadtree
    >>> tree = quadtree(2)
    >>> tree.n_nodes, tree.n_leaves, tree.height
    (21, 16, 2)
    >>> tree.parent[:6].tolist()
    [-1, 0, 0, 0, 0, 1]
    """

    _arrays: ClassVar[dict[str, type]] = {**TreeShape._arrays, "boxes": np.int32}

    boxes: LatticeBoxes

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.boxes.shape != (self.n_nodes, 4):
            raise ParameterError(
                f"boxes have shape {self.boxes.shape}; offsets announce {self.n_nodes} nodes, so give "
                f"({self.n_nodes}, 4)."
            )

    @override
    def leaf_sizes(self, leaves: Integers) -> Floats:
        """Return the lattice areas of some leaves, by which they share what no measurement divides among them."""
        xlo, ylo, xhi, yhi = self.boxes[leaves].T.astype(np.float64)
        return np.asarray((xhi - xlo) * (yhi - ylo))

    def prune(self, keep: npt.ArrayLike) -> tuple[Tree, Integers]:
        """Drop all descendants of some nodes, which become leaves.

        Parameters
        ----------
        keep : bool array
            Which nodes may keep their children.

        Returns
        -------
        tree : Tree
        index : int64 array
            The old number of each surviving node.

        Examples
        --------
        >>> from spatialdp.space.boxes.quadtree import quadtree
        >>> tree, index = quadtree(2).prune(np.arange(21) < 2)
        >>> tree.n_nodes, index[-1].item()
        (9, 8)
        """
        keep = self.node_values(keep, "keep").astype(bool)
        alive = np.ones(self.n_nodes, dtype=bool)
        for d in range(self.height):
            alive[self.level(d + 1)] = self.to_children(d, alive[self.level(d)] & keep[self.level(d)])
        index = np.flatnonzero(alive)
        offsets = np.unique(np.searchsorted(index, self.offsets))
        return Tree(offsets, np.where(keep[index], self.n_children[index], 0), self.boxes[index]), index
