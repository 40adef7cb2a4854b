"""What is the most likely density, if neighbouring cells are about as dense as each other? A Gaussian field.

The field balances two wishes: to agree with every noisy count, as far as its noise allows, and to be smooth, relative
to the local density. Where counts are large against their noise it interpolates within leaves; where they are small it
averages neighbours. `multigrid` solves it.

Where there are few records, all cells lean to zero, and sums over large boxes are too low. A second field, which leans
more strongly, shows where and by how much; the answer goes a share of that difference the other way.
``docs/design/adaptive.md`` has the formulas and the measurements, and ``scripts/field_share.py`` fits the share.
Nothing here sees a record.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from spatialdp._support.arrays import Floats
from spatialdp.estimates.fields.halvings import coarser_lines
from spatialdp.estimates.fields.multigrid import Multigrid
from spatialdp.estimates.fields.raster import LeafRaster, Windows
from spatialdp.estimates.fields.system import System
from spatialdp.space.boxes.tree import Tree

__all__ = ["Counts", "away_from_zero", "gaussian_field", "pilot"]

ROUGHNESS = 4.0  # T: how far neighbours may differ, relative to the local density
PULL, STRONG_PULL = 0.002, 0.01  # κ: how strongly cells lean to zero, in both fields
FLOOR = 0.3  # the least local density, in standard deviations of a leaf's estimate
SHARE = 0.5  # of the difference of both fields that is added, where there are few records
FEW, MANY = 1e4, 1e5  # records over the noise of a count: up to here all of the share, and from there on nothing
_SMALLEST = 1e-9  # the least local density, relative to the greatest


@dataclass(frozen=True, eq=False)
class Counts:
    """Noisy counts of a tree whose leaves are blocks of cells, and their least-squares fit.

    Attributes
    ----------
    tree : Tree
    raster : LeafRaster
        The tree's leaves, in the tree's order.
    measured, variances : (nodes,) arrays
        Noisy counts and the variances of their noise.
    fitted, fitted_variances : (leaves,) arrays
        Least-squares estimates of the leaves, and the variances of their noise.
    """

    tree: Tree
    raster: LeafRaster
    measured: Floats
    variances: Floats
    fitted: Floats
    fitted_variances: Floats

    def system(self, along_x: Floats, along_y: Floats, pull: Floats) -> System:
        """The system of a field that agrees with these counts, given the strengths of ties and of the pull."""
        leaves = np.append(np.flatnonzero(self.tree.leaves), self.tree.n_nodes)
        weights, node = 1 / self.variances, leaves.take(self.raster.leaf)
        return System(self.tree, weights, node, self.raster.sizes, along_x, along_y, pull)


def pilot(counts: Counts) -> Floats:
    """A first density: leaves spread evenly, then smoothed over windows of each leaf's own size.

    Each leaf keeps its count. Leaves whose count is not positive stay even.
    """
    raster, fitted = counts.raster, counts.fitted
    even = raster.even(fitted)
    width, height = raster.sides
    density = even
    windows = [Windows(np.maximum(width // part, 1), np.maximum(height // part, 1)) for part in (1, 2)]
    sizes = [np.maximum(each.sums(raster.sizes), 1e-300) for each in windows]
    for _ in range(2):
        for window, size in zip(windows, sizes, strict=True):
            density = window.sums(density * raster.sizes) / size
        density = np.where(raster.inside, np.maximum(density, 0.0), 0.0)
        sums = raster.sums(density)
        kept = (fitted > 0) & (sums > 0)
        scale = np.where(kept, fitted / np.where(kept, sums, 1.0), 0.0)
        density = np.where(raster.at_cells(kept) > 0, density * raster.at_cells(scale), even)
    return density


def away_from_zero(records: float, noise: float) -> float:
    """Which share of the difference of both fields is added, given released numbers.

    Parameters
    ----------
    records : float
        Estimated number of records.
    noise : float
        Standard deviation of the most exact count.

    Examples
    --------
    >>> [round(away_from_zero(records, 2**0.5), 3) for records in (0.0, 1e4, 3e4, 1e5, 1e6)]
    [0.5, 0.5, 0.13, 0.0, 0.0]
    """
    strength = max(records * math.sqrt(2) / noise, FEW)
    return SHARE * max((MANY / strength - 1) / (MANY / FEW - 1), 0.0)


def gaussian_field(counts: Counts, density: Floats, share: float = 0.0) -> Floats:
    """Return the field: the density of each cell.

    Parameters
    ----------
    counts : Counts
    density : (ny, nx) array
        The pilot, which sets the scale of the field's smoothness; the solution starts from it.
    share : float
        How much of the difference from a field that leans to zero more strongly is added.

    Notes
    -----
    With x for the densities of cells and a for their sizes, the field minimises Σ_v (y_v - Σ_{i in v} a_i x_i)² / s_v
    + Σ_{i ~ j} (x_i - x_j)² / (T r_ij²) + κ Σ_i x_i² / (T r_i²). Cells i ~ j are neighbours, r is the pilot, but at
    least a part of a standard deviation of the leaf's density, and r_ij is the mean of r_i and r_j.
    """
    raster = counts.raster
    deviation = raster.even(np.sqrt(counts.fitted_variances))
    scale = np.maximum(density, FLOOR * deviation)
    scale = np.maximum(scale, max(_SMALLEST * float(scale.max()), 1e-300))
    grids = coarser_lines(raster.widths, raster.heights)

    def solved(pull: float, start: Floats) -> Floats:
        system = counts.system(*_ties(scale, raster), np.where(raster.inside, pull / (ROUGHNESS * scale**2), 0.0))
        right = system.at_cells(counts.measured / counts.variances)
        return np.where(raster.inside, Multigrid(system, grids).solution(right, start), 0.0)

    field = solved(PULL, density)
    return field + share * (field - solved(STRONG_PULL, field)) if share > 0 else field


def _ties(scale: Floats, raster: LeafRaster) -> tuple[Floats, Floats]:
    """The weights of squared differences between cells and the next ones along x and y; 0 at the edge of the region."""
    inside, widths, heights = raster.inside, raster.widths, raster.heights
    along_x, along_y = np.zeros((2, *scale.shape))
    # Of cells of different sizes, neighbours that are far apart may differ more, and long sides count more.
    by_x = 2 * heights[:, None] / (widths[1:] + widths[:-1])
    by_y = 2 * widths / (heights[1:] + heights[:-1])[:, None]
    np.copyto(along_x[:, :-1], _tie(by_x, scale[:, 1:] + scale[:, :-1]), where=inside[:, 1:] & inside[:, :-1])
    np.copyto(along_y[:-1], _tie(by_y, scale[1:] + scale[:-1]), where=inside[1:] & inside[:-1])
    return along_x, along_y


def _tie(strength: Floats, both_scales: Floats) -> Floats:
    return strength / (ROUGHNESS * (both_scales / 2) ** 2)
