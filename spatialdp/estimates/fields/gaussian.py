"""What is the most likely density, if neighbouring cells are about as dense as each other? A Gaussian field.

The field balances two wishes: to agree with every noisy count, as far as its noise allows, and to be smooth, relative
to the local density. Where counts are large against their noise it interpolates within leaves; where they are small it
averages neighbours. It is solved by conjugate gradients, without a matrix. ``docs/design/adaptive.md`` has the formulas
and the measurements. Nothing here sees a record.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spatialdp._support.arrays import Floats
from spatialdp.estimates.fields.raster import LeafRaster, window_sums
from spatialdp.trees.tree import Tree
from spatialdp.trees.tree import sums as node_sums

__all__ = ["Counts", "gaussian_field", "pilot"]

ROUGHNESS = 6.0  # T: how far neighbours may differ, relative to the local density
PULL = 0.002  # κ: how strongly cells lean to zero
FLOOR = 0.5  # the least local density, in standard deviations of a leaf's estimate
ITERATIONS = 100
ACCURACY = 1e-3  # of the residual, relative to that of the pilot
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


def pilot(counts: Counts) -> Floats:
    """A first density: leaves spread evenly, then smoothed over windows of each leaf's own size.

    Each leaf keeps its count. Leaves whose count is not positive stay even.
    """
    raster, fitted = counts.raster, counts.fitted
    even = raster.even(fitted)
    width, height = raster.sides
    density = even
    for _ in range(2):
        for part in (1, 2):
            window = np.maximum(width // part, 1), np.maximum(height // part, 1)
            size = window_sums(raster.sizes, *window)
            density = window_sums(density * raster.sizes, *window) / np.maximum(size, 1e-300)
        density = np.where(raster.inside, np.maximum(density, 0.0), 0.0)
        sums = raster.sums(density)
        kept = (fitted > 0) & (sums > 0)
        scale = np.where(kept, fitted / np.where(kept, sums, 1.0), 0.0)
        density = np.where(raster.at_cells(kept) > 0, density * raster.at_cells(scale), even)
    return density


def gaussian_field(counts: Counts, density: Floats) -> Floats:
    """Return the field: the density of each cell.

    Parameters
    ----------
    counts : Counts
    density : (ny, nx) array
        The pilot, which sets the scale of the field's smoothness; the solution starts from it.

    Notes
    -----
    With x for the densities of cells and a for their sizes, the field minimises Σ_v (y_v - Σ_{i in v} a_i x_i)² / s_v
    + Σ_{i ~ j} (x_i - x_j)² / (T r_ij²) + κ Σ_i x_i² / (T r_i²). Cells i ~ j are neighbours, r is the pilot, but at
    least half a standard deviation of the leaf's density, and r_ij is the mean of r_i and r_j.
    """
    raster = counts.raster
    deviation = raster.even(np.sqrt(counts.fitted_variances))
    scale = np.maximum(density, FLOOR * deviation)
    scale = np.maximum(scale, max(_SMALLEST * float(scale.max()), 1e-300))
    system = _System(counts, *_edges(scale, raster), np.where(raster.inside, PULL / (ROUGHNESS * scale**2), 1.0))
    return np.where(raster.inside, _conjugate_gradients(system, density), 0.0)


def _edges(scale: Floats, raster: LeafRaster) -> tuple[Floats, Floats]:
    """The weights of squared differences between neighbours, along x and along y; 0 at the edge of the region."""
    inside, widths, heights = raster.inside, raster.widths, raster.heights
    along_x = (scale[:, 1:] + scale[:, :-1]) / 2
    along_y = (scale[1:] + scale[:-1]) / 2
    # Of cells of different sizes, neighbours that are far apart may differ more, and long sides count more.
    by_x = 2 * heights[:, None] / (widths[1:] + widths[:-1])
    by_y = 2 * widths / (heights[1:] + heights[:-1])[:, None]
    return (
        np.where(inside[:, 1:] & inside[:, :-1], by_x / (ROUGHNESS * along_x**2), 0.0),
        np.where(inside[1:] & inside[:-1], by_y / (ROUGHNESS * along_y**2), 0.0),
    )


@dataclass(frozen=True, eq=False)
class _System:
    """The linear system whose solution is the field."""

    counts: Counts
    along_x: Floats
    along_y: Floats
    pull: Floats

    def times(self, density: Floats) -> Floats:
        """Return the matrix times a density."""
        counts = self.counts
        result = self._down(node_sums(counts.tree, counts.raster.sums(density)) / counts.variances)
        result += self.pull * density
        difference = self.along_x * (density[:, 1:] - density[:, :-1])
        result[:, 1:] += difference
        result[:, :-1] -= difference
        difference = self.along_y * (density[1:] - density[:-1])
        result[1:] += difference
        result[:-1] -= difference
        return result

    @property
    def right_side(self) -> Floats:
        return self._down(self.counts.measured / self.counts.variances)

    @property
    def diagonal(self) -> Floats:
        result = self._down(1 / self.counts.variances) * self.counts.raster.sizes
        result += self.pull
        result[:, 1:] += self.along_x
        result[:, :-1] += self.along_x
        result[1:] += self.along_y
        result[:-1] += self.along_y
        return result

    def _down(self, values: Floats) -> Floats:
        """For each cell, its size times the sum of the values of all nodes that contain it."""
        counts, sums = self.counts, values.copy()
        for depth in range(counts.tree.height):
            sums[counts.tree.level(depth + 1)] += counts.tree.to_children(depth, sums[counts.tree.level(depth)])
        return counts.raster.at_cells(sums[counts.tree.leaves]) * counts.raster.sizes


def _conjugate_gradients(system: _System, start: Floats) -> Floats:
    """Solve the system from a first solution, with the diagonal as preconditioner."""
    solution, inverse = start.copy(), 1 / system.diagonal
    residual = system.right_side - system.times(solution)
    step = inverse * residual
    size = first_size = float(np.vdot(residual, step))
    for _ in range(ITERATIONS):
        if size <= ACCURACY**2 * first_size:
            break
        image = system.times(step)
        length = size / float(np.vdot(step, image))
        solution += length * step
        residual -= length * image
        improved = inverse * residual
        size, before = float(np.vdot(residual, improved)), size
        step *= size / before
        step += improved
    return solution
