"""Which nodes of a tree a box or polygon covers, cuts or misses, for many boxes or polygons at once.

All (box, node) pairs of a level are handled together, level by level from the root. A pair ends if the node lies wholly
inside or outside the box, or is a leaf; only nodes that the boundary of a box cuts are divided further, so the work is
proportional to the length of the boundary. Polygons are clipped by the nodes that they cut. See
``docs/design/boxes.md`` and ``docs/design/tree-noise.md``. Nothing here sees a record.
"""

from __future__ import annotations

from math import isqrt

import numpy as np

from spatialdp._support.arrays import Array, Booleans, Floats, Integers
from spatialdp.space.boxes.tree import Tree
from spatialdp.space.domain import Domain
from spatialdp.space.polygons import CRUMB, Polygons, areas_only
from spatialdp.space.regions.borders import RegionArea
from spatialdp.trees.pairs import Pairs
from spatialdp.trees.shape import TreeShape

__all__ = ["area_shares", "children", "chunks", "family_shares", "walk", "walk_polygons"]

# Boxes walked together: enough to be worth a numpy call, few enough for their pairs to stay few. The edge of a box
# cuts about as many nodes of a level as there are along a side of the domain.
_MOST_BOXES, _FEWEST_BOXES, _CUT_NODES = 2**12, 2**6, 2**18
_POLYGONS = 64  # polygons walked together: fewer, because each has many pieces


def chunks(tree: TreeShape, queries: Array) -> list[slice]:
    """Cut a long list of boxes (m, 4), or polygons (m,), into slices that are walked together."""
    boxes = min(max(_CUT_NODES // isqrt(tree.n_leaves), _FEWEST_BOXES), _MOST_BOXES)
    size = boxes if queries.ndim == 2 else _POLYGONS
    return [slice(start, start + size) for start in range(0, queries.shape[0], size)]


def walk(tree: Tree, boxes: Integers, descend: Booleans | None = None, area: RegionArea | None = None) -> list[Pairs]:
    """Go down a tree with lattice boxes (m, 4), and return the pairs of each depth.

    Parameters
    ----------
    tree : Tree
    boxes : (m, 4) int array
    descend : bool array, optional
        Nodes to divide even if they lie wholly inside a box, because they were not measured.
    area : RegionArea, optional
        The region, if coverage is to be the share of a node's area in the region.
    """
    levels, cuts = [], []
    query = np.ascontiguousarray(boxes.T)
    box = np.arange(boxes.shape[0])
    node = np.zeros(box.size, dtype=np.int64)
    parent = np.zeros(box.size, dtype=np.int64)
    while box.size:
        coverage, cut = _coverage(tree, node, query, box)
        goes_on = cut if descend is None else cut | (descend[node] & (coverage == 1))
        divided = goes_on & (tree.n_children[node] > 0)
        levels.append(Pairs(box, node, parent, coverage, divided))
        cuts.append(cut)
        box, node, parent = children(tree, box[divided], node[divided])
    if area is not None and levels:
        # All depths together: which nodes a box cuts does not depend on the region.
        box = np.concatenate([pairs.box[cut] for pairs, cut in zip(levels, cuts, strict=True)])
        node = np.concatenate([pairs.node[cut] for pairs, cut in zip(levels, cuts, strict=True)])
        shares = area.shares(boxes[box], tree.boxes[node].astype(np.int64))
        ends = np.cumsum([np.count_nonzero(cut) for cut in cuts])[:-1]
        for pairs, cut, part in zip(levels, cuts, np.split(shares, ends), strict=True):
            pairs.coverage[cut] = part
    return levels


def _coverage(tree: Tree, node: Integers, query: Integers, box: Integers) -> tuple[Floats, Booleans]:
    """Return the covered share of each pair's node, and whether the box's boundary cuts the node."""
    shares = []
    inside = np.ones(node.size, dtype=bool)
    for low, high in ((0, 2), (1, 3)):
        from_, to = tree.boxes[:, low].take(node), tree.boxes[:, high].take(node)
        least, most = query[low].take(box), query[high].take(box)
        shares.append(np.maximum(np.minimum(to, most) - np.maximum(from_, least), 0) / (to - from_))
        inside &= (least <= from_) & (to <= most)
    coverage = shares[0] * shares[1]
    return coverage, ~inside & (coverage > 0)


def children(tree: TreeShape, box: Integers, node: Integers) -> tuple[Integers, Integers, Integers]:
    """Return box, node and parent of one pair for each child of each pair's node."""
    counts = tree.n_children[node]
    parent = np.repeat(np.arange(node.size), counts)
    place = np.arange(parent.size) - np.repeat(np.cumsum(counts) - counts, counts)
    return box[parent], tree.first_child[node][parent] + place, parent


def walk_polygons(
    tree: Tree,
    domain: Domain,
    polygons: Polygons,
    descend: Booleans | None = None,
    area: RegionArea | None = None,
) -> list[Pairs]:
    """Go down a tree with polygons, as `walk` does with boxes, and return the pairs of each depth."""
    levels = []
    piece, box = polygons, np.arange(polygons.size)
    inside = None if area is None else area.clip(polygons)
    node = parent = np.zeros(box.size, dtype=np.int64)
    while box.size:
        sides = _sides(tree, domain, node)
        piece, coverage = _clipped(piece, sides)
        cut = (coverage > 0) & (coverage < 1)
        if area is not None and inside is not None:
            inside, in_region = _clipped(inside, sides)
            coverage[cut] = area.relative(in_region, tree.boxes[node].astype(np.int64))[cut]
        if descend is not None:
            cut |= descend[node] & (coverage == 1)
        divided = cut & (tree.n_children[node] > 0)
        levels.append(Pairs(box, node, parent, coverage, divided))
        box, node, parent = children(tree, box[divided], node[divided])
        piece = piece[divided][parent]
        inside = None if inside is None else inside[divided][parent]
    return levels


def _sides(tree: Tree, domain: Domain, node: Integers) -> Floats:
    return np.stack([axis.coordinates(tree.boxes[node, i]) for i, axis in enumerate(domain.axes * 2)])


def _clipped(pieces: Polygons, sides: Floats) -> tuple[Polygons, Floats]:
    """Clip pieces of polygons by rectangles; return the clipped pieces, and the share of each rectangle they cover."""
    import shapely

    xmin, ymin, xmax, ymax = shapely.bounds(pieces).T
    meets = (xmin < sides[2]) & (sides[0] < xmax) & (ymin < sides[3]) & (sides[1] < ymax)
    inside = (sides[0] <= xmin) & (xmax <= sides[2]) & (sides[1] <= ymin) & (ymax <= sides[3])
    cut = meets & ~inside
    clipped = pieces.copy()
    clipped[cut] = areas_only(shapely.intersection(pieces[cut], shapely.box(*sides[:, cut])))
    area = np.where(meets, shapely.area(clipped), 0.0)
    share = area / ((sides[2] - sides[0]) * (sides[3] - sides[1]))
    share[share < CRUMB] = 0.0
    share[share > 1 - CRUMB] = 1.0
    return clipped, share


def area_shares(tree: Tree, area: RegionArea | None) -> Floats:
    """Share of each node in the area (in the region) of its parent; 1 for the root."""
    boxes, parent = tree.boxes, np.maximum(tree.parent, 0)
    if area is not None:
        return area.shares(boxes.astype(np.int64), boxes[parent].astype(np.int64))
    areas = (boxes[:, 2] - boxes[:, 0]).astype(np.float64) * (boxes[:, 3] - boxes[:, 1])
    return np.asarray(areas / areas.take(parent))


def family_shares(tree: Tree, area: RegionArea | None) -> Floats:
    """Share of each node in the area (in the region) of its family; 1 for the root."""
    shares = area_shares(tree, area)
    for depth in range(tree.height):
        children = tree.level(depth + 1)
        shares[children] /= tree.to_children(depth, tree.family_sums(depth, shares[children]))
    return shares
