"""What is the most likely density, if neighbouring cells are about as dense as each other? A Gaussian field.

The field balances two wishes: to agree with every noisy count, as far as its noise allows, and to be smooth, relative
to the local density. Where counts are large against their noise it interpolates within leaves; where they are small it
averages neighbours. It is solved by conjugate gradients, without a matrix. ``docs/design/adaptive.md`` has the formulas
and the measurements. Nothing here sees a record.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from spatialdp._support.arrays import Floats, Integers
from spatialdp.estimates.fields.raster import LeafRaster, window_sums
from spatialdp.space.boxes.tree import Tree

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

    @cached_property
    def node_of_cell(self) -> Integers:
        """The tree's node that is the leaf of each cell, (ny, nx); the number of nodes where there is none."""
        return np.append(np.flatnonzero(self.tree.leaves), self.tree.n_nodes).take(self.raster.leaf)


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

    def times(self, density: Floats, result: Floats) -> None:
        """Write the matrix times a density into `result`; work arrays are kept, because new ones take longer to get."""
        work = self._work
        np.multiply(density, self.counts.raster.sizes, out=work)
        values = self._node_sums(work)
        values /= self.counts.variances
        self._down(values, result)
        result += np.multiply(self.pull, density, out=work)
        for edges, ahead, behind in (
            (self.along_x, np.s_[:, 1:], np.s_[:, :-1]),
            (self.along_y, np.s_[1:], np.s_[:-1]),
        ):
            difference = np.subtract(density[ahead], density[behind], out=work[behind])
            difference *= edges
            result[ahead] += difference
            result[behind] -= difference

    @cached_property
    def _work(self) -> Floats:
        return np.empty(self.pull.shape)

    @property
    def right_side(self) -> Floats:
        return self._down(self.counts.measured / self.counts.variances, np.empty(self.pull.shape))

    @property
    def diagonal(self) -> Floats:
        result = self._down(1 / self.counts.variances, np.empty(self.pull.shape)) * self.counts.raster.sizes
        result += self.pull
        result[:, 1:] += self.along_x
        result[:, :-1] += self.along_x
        result[1:] += self.along_y
        result[:-1] += self.along_y
        return result

    def _node_sums(self, cells: Floats) -> Floats:
        """For each node, the sum over its cells."""
        tree, node = self.counts.tree, self.counts.node_of_cell
        sums = np.bincount(node.ravel(), cells.ravel(), minlength=tree.n_nodes + 1)[:-1].astype(np.float64, copy=False)
        for depth in reversed(range(tree.height)):
            sums[tree.level(depth)] += tree.family_sums(depth, sums[tree.level(depth + 1)])
        return sums

    def _down(self, values: Floats, result: Floats) -> Floats:
        """Write into `result`, for each cell, its size times the sum of the values of all nodes that contain it."""
        tree, sums = self.counts.tree, np.append(values, 0.0)
        for depth in range(tree.height):
            sums[tree.level(depth + 1)] += tree.to_children(depth, sums[tree.level(depth)])
        sums.take(self.counts.node_of_cell, out=result, mode="clip")
        result *= self.counts.raster.sizes
        return result


def _conjugate_gradients(system: _System, start: Floats) -> Floats:
    """Solve the system from a first solution, with the diagonal as preconditioner."""
    solution, inverse = start.copy(), 1 / system.diagonal
    image, improved = np.empty(start.shape), np.empty(start.shape)
    system.times(solution, image)
    residual = system.right_side - image
    step = inverse * residual
    size = first_size = _product(residual, step)
    for _ in range(ITERATIONS):
        if size <= ACCURACY**2 * first_size:
            break
        system.times(step, image)
        length = size / _product(step, image)
        solution += np.multiply(length, step, out=improved)
        residual -= np.multiply(length, image, out=improved)
        np.multiply(inverse, residual, out=improved)
        size, before = _product(residual, improved), size
        step *= size / before
        step += improved
    return solution


def _product(first: Floats, second: Floats) -> float:
    """The scalar product, summed in one order on every machine; BLAS has another for each processor and thread count.

    Conjugate gradients that end early would make a difference that can be seen of one in the last digit.
    """
    return float(np.einsum("ij,ij->", first, second))
