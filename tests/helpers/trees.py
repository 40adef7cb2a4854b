"""Small random trees and their dense descriptions, for tests."""

from __future__ import annotations

import numpy as np

from spatialdp.space.boxes.tree import Tree
from spatialdp.space.lattice import LATTICE
from spatialdp.trees.shape import TreeShape


def random_tree(rng: np.random.Generator, *, height: int = 4, most: int = 5) -> Tree:
    """Leaves at any depth, 1 to `most` children, boxes cut at random places along alternating axes."""
    levels, boxes = [], [np.array([[0, 0, LATTICE, LATTICE]])]
    for depth in range(height + 1):
        n = len(boxes[-1])
        stop = depth == height or (depth > 0 and n > 20)
        children = np.zeros(n, dtype=int) if stop else rng.integers(0, most + 1, n)
        if depth == 0 and not stop:
            children[0] = max(children[0], 1)
        levels.append(children)
        if not children.any():
            break
        boxes.append(np.concatenate([cut(rng, box, k, depth % 2) for box, k in zip(boxes[-1], children, strict=True)]))
    offsets = np.concatenate([[0], np.cumsum([len(level) for level in boxes])])
    return Tree(offsets, np.concatenate(levels), np.concatenate(boxes))


def cut(rng: np.random.Generator, box: np.ndarray, parts: int, axis: int) -> np.ndarray:
    """Slices of one box."""
    low, high = int(box[axis]), int(box[axis + 2])
    edges = np.sort(rng.choice(np.arange(1, 1000), max(parts - 1, 0), replace=False)) * ((high - low) // 1000) + low
    pieces = np.repeat(box[None, :], parts, axis=0)
    if parts:
        pieces[1:, axis] = edges
        pieces[:-1, axis + 2] = edges
    return pieces


def complete_tree(fan_out: int, height: int) -> Tree:
    """A complete tree; its boxes mean nothing."""
    offsets = np.concatenate([[0], np.cumsum(fan_out ** np.arange(height + 1))])
    n_children = np.where(np.arange(offsets[-1]) < offsets[-2], fan_out, 0)
    return Tree(offsets, n_children, np.tile([0, 0, 1, 1], (offsets[-1], 1)))


def dense_membership(tree: TreeShape, *, nodes: bool = False) -> np.ndarray:
    """(n_nodes, n_leaves) matrix: is the leaf at or below the node; with `nodes`, for all nodes."""
    below = np.eye(tree.n_nodes)
    for node in range(tree.n_nodes - 1, 0, -1):
        below[tree.parent[node]] += below[node]
    return below if nodes else below[:, tree.leaves]
