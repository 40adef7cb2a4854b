"""Boxes to ask for, and what they cover, by the definition."""

from __future__ import annotations

import numpy as np

from spatialdp.space.domain import RASTER_SIDE
from spatialdp.space.lattice import edge_lines
from spatialdp.space.regions.borders import RegionArea


def cell_boxes(shape, count, seed=0):
    """Random boxes of whole cells, every box equally likely."""
    rng = np.random.default_rng(seed)
    ends = [np.sort([rng.choice(n + 1, 2, replace=False) for _ in range(count)], axis=1) for n in shape]
    (xlo, xhi), (ylo, yhi) = (edge_lines(n)[end].T for n, end in zip(shape, ends, strict=True))
    return np.stack([xlo, ylo, xhi, yhi], axis=1)


def coverage(leaves, lattice):
    """Covered share of every leaf by every box, by the definition."""
    q, b = lattice[:, None, :].astype(float), leaves[None, :, :].astype(float)
    width = np.clip(np.minimum(q[..., 2], b[..., 2]) - np.maximum(q[..., 0], b[..., 0]), 0, None)
    height = np.clip(np.minimum(q[..., 3], b[..., 3]) - np.maximum(q[..., 1], b[..., 1]), 0, None)
    return width * height / ((b[..., 2] - b[..., 0]) * (b[..., 3] - b[..., 1]))


def coverage_in_region(leaves, lattice, domain):
    """Covered share of every leaf's area in the region by every box, from the raster on which the region is drawn."""
    area = RegionArea.of(domain)
    if area is None:
        return coverage(leaves, lattice)
    shares = np.zeros((len(lattice), len(leaves)))
    lines = edge_lines(RASTER_SIDE)
    for number, leaf in enumerate(leaves):
        cut = np.concatenate([np.maximum(lattice[:, :2], leaf[:2]), np.minimum(lattice[:, 2:], leaf[2:])], axis=1)
        first, last = np.searchsorted(lines, leaf[:2], side="right") - 1, np.searchsorted(lines, leaf[2:])
        raster = area.raster.mask[first[1] : last[1], first[0] : last[0]]
        x, y = (lines[low : high + 1] for low, high in zip(first, last, strict=True))
        boxes = np.concatenate([cut, leaf[None]])
        areas = ((_lengths(y, boxes[:, 1], boxes[:, 3]) @ raster) * _lengths(x, boxes[:, 0], boxes[:, 2])).sum(axis=1)
        shares[:, number] = areas[:-1] / areas[-1]
    return shares


def _lengths(lines, low, high):
    """How much of each interval between two lines lies between `low` and `high`, (boxes, intervals)."""
    return np.clip(np.minimum(high[:, None], lines[1:]) - np.maximum(low[:, None], lines[:-1]), 0, None).astype(float)


def every_cell(grid):
    """Lattice boxes of all cells of a grid, row by row, whether in its region or not."""
    x, y = grid.x_lines, grid.y_lines
    rows, columns = np.divmod(np.arange(grid.mask.size), grid.shape[0])
    return np.stack([x[columns], y[rows], x[columns + 1], y[rows + 1]], axis=1)
