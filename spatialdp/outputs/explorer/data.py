"""Which numbers does the explorer's page need to answer boxes in a browser? The arrays of the release, packed as JSON.

The page answers boxes by the same algebra as the library: prefix sums on grids, walks on trees. Results of linear
algebra and special functions (least-squares weights of an axis, quantiles) are computed here and stored in the page as
numbers. Everything comes from the release, which is public. A new kind of estimate or noise needs a case here and in
``assets/``; tests/browser/test_explorer.py compares the page's answers with the library's.
"""

from __future__ import annotations

import base64
import zlib
from dataclasses import asdict
from functools import singledispatch
from typing import Any

import numpy as np
import numpy.typing as npt

from spatialdp._support.arrays import Integers32
from spatialdp.errors import ReleaseError
from spatialdp.estimates.base import Estimate
from spatialdp.estimates.decomposition import Decomposition
from spatialdp.estimates.fields.field import Field
from spatialdp.estimates.grid_noise import NoiseModel, SeparableNoise
from spatialdp.estimates.histogram import Histogram
from spatialdp.estimates.sparse.listed import ListedCells
from spatialdp.estimates.sparse.over_map import ListOverMap
from spatialdp.estimates.unevenness.grid import GridUnevenness
from spatialdp.estimates.unevenness.leaf_lines import LeafLines
from spatialdp.space.regions.borders import RegionArea
from spatialdp.transforms.axis import AxisWeights
from spatialdp.transforms.matrices import DenseAxis, WindowAxis
from spatialdp.transforms.spectral import SpectralAxis
from spatialdp.wording import either

__all__ = ["estimate_data", "packed"]

Json = dict[str, Any]

# Most cells or nodes of a page. Larger pages open slowly; and up to here products of cells and lattice lines are exact.
LARGEST_PAGE = 2**22

_KINDS = {"f8": "<f8", "i4": "<i4", "u1": "u1"}


def packed(values: npt.ArrayLike, kind: str) -> Json:
    """Pack an array for the page: deflated little-endian numbers in base64; `unpack.mjs` reads them."""
    data = np.ascontiguousarray(values, dtype=_KINDS[kind]).tobytes()
    return {"kind": kind, "data": base64.b64encode(zlib.compress(data, 6)).decode()}


@singledispatch
def estimate_data(estimate: Estimate) -> Json:
    """Return everything that the page needs to answer boxes from an estimate."""
    raise ReleaseError(f"the explorer cannot show a release of kind {estimate.kind!r}; save it as a file instead.")


def _check_size(count: int, what: str) -> None:
    if count > LARGEST_PAGE:
        raise ReleaseError(
            f"the release has {count} {what}; a page holds at most {LARGEST_PAGE}. Draw the release with "
            f"{either('plot()', '-o map.png')}, or make one with fewer and larger cells."
        )


# --- grids -----------------------------------------------------------------------------------------


@estimate_data.register
def _grid(estimate: Histogram) -> Json:
    _check_size(estimate.values.size, "cells")
    nx, ny = estimate.grid.shape
    mask = estimate.grid.mask
    return {
        "nx": nx,
        "ny": ny,
        "values": packed(estimate.values, "f8"),
        "mask": None if mask.all() else packed(mask, "u1"),
        "region": None if estimate.border is None else _region(estimate.border.area),
        "noise": None if estimate.biased else _noise(estimate.noise),
        "step": estimate.step,
        "wholeSteps": estimate.leaf_steps,
        "uneven": None if estimate.biased or estimate.noise.by_total else _grid_tables(estimate.unevenness),
        "noiseOfTotal": estimate.noise_of_total if estimate.noise.by_total else None,
    }


def _region(area: RegionArea) -> Json:
    """Return the region as it is drawn on a raster, for shares of cells on its border."""
    return packed(area.raster.mask, "u1")


def _grid_tables(unevenness: GridUnevenness) -> Json:
    """Return what `uneven.mjs` needs to know of the unevenness within cells; it computes expected squares itself."""
    return {
        "within": unevenness.within,
        "growth": [table.tolist() for table in unevenness.edges],
        "scales": [asdict(scale) for scale in unevenness.scales],
    }


@singledispatch
def _noise(noise: NoiseModel) -> Json:
    """Return a noise model as in a file, but with least-squares weights already solved for."""
    return noise.to_json()


@_noise.register
def _(noise: SeparableNoise) -> Json:
    x, y = noise.x.to_json(), noise.y.to_json()
    alike = x == y and noise.x.size == noise.y.size
    return {**noise.to_json(), "x": _axis(noise.x), "y": None if alike else _axis(noise.y)}


@singledispatch
def _axis(axis: AxisWeights) -> Json:
    """Return how boxes enter the measurements of an axis: a name if the page knows the transform, else its weights."""
    return axis.to_json()


@_axis.register
def _(axis: WindowAxis) -> Json:
    return {
        "kind": "windows",
        "diagonal": packed(axis.diagonal, "f8"),
        "windows": packed(axis.windows, "i4"),
        "gains": packed(axis.gains, "f8"),
    }


@_axis.register(DenseAxis)
@_axis.register(SpectralAxis)
def _(axis: DenseAxis | SpectralAxis) -> Json:
    edges = [0, *(group.stop for group in axis.groups)]
    return {"kind": "prefixes", "edges": edges, "prefixes": packed(axis.prefixes, "f8")}


# --- lists -----------------------------------------------------------------------------------------


@estimate_data.register
def _list(estimate: ListedCells) -> Json:
    _check_size(estimate.n_cells, "listed cells")
    return {
        "boxes": packed(estimate.leaf_boxes().T, "i4"),
        "places": [packed(each, "i4") for each in (estimate.columns, estimate.rows)],
        "values": packed(estimate.values, "f8"),
        "variance": None if estimate.biased else estimate.variance,
        "kurtosis": None if estimate.biased else estimate.kurtosis,
        "step": estimate.step,
    }


@estimate_data.register
def _list_over_map(estimate: ListOverMap) -> Json:
    parts = {"map": estimate_data(estimate.map), "list": estimate_data(estimate.listed)}
    return parts | {"blocks": packed(estimate.blocks.T, "i4")}


# --- trees -----------------------------------------------------------------------------------------


@estimate_data.register
def _tree(estimate: Decomposition) -> Json:
    _check_size(estimate.tree.n_nodes, "nodes")
    tree = estimate.tree
    # If parents are the sums of their children, the page needs the leaves only. If they are not, the page must know
    # which nodes were measured, even where there are no intervals.
    values = estimate.leaf_values() if estimate.consistent else estimate.values
    measured = not (estimate.biased and estimate.consistent)
    closed_form = estimate.closed_form() if measured else None
    return {
        "children": packed(tree.n_children, "i4"),
        "boxes": packed(_differences(estimate), "i4"),
        "region": None if estimate.area is None else _region(estimate.area),
        "values": packed(values, "f8"),
        "consistent": estimate.consistent,
        "step": estimate.step,
        "variances": packed(estimate.noise.variances, "f8") if measured else None,
        "kurtosis": packed(estimate.kurtosis, "f8") if measured else None,
        "ownWeights": packed(estimate.own_weights, "f8") if measured and estimate.own_weights is not None else None,
        "shares": packed(estimate.noise.family_share, "f8") if measured and estimate.own_weights is not None else None,
        "extrapolates": estimate.extrapolates,
        "closed": closed_form,
        "wholeSteps": estimate.leaf_steps,
        "uneven": None if estimate.biased else _tree_tables(estimate),
    }


def _tree_tables(estimate: Decomposition) -> Json:
    """Return what `uneven.mjs` needs to know of the unevenness within leaves: cells of a grid, or of any size."""
    fit, leaves = estimate.fit, estimate.leaf_shape is not None
    # The page has the estimates of a consistent tree already.
    values = None if estimate.consistent else packed(fit.leaf_values() if leaves else fit.values, "f8")
    if leaves:
        return {"shape": estimate.leaf_shape, "values": values, **_grid_tables(estimate.leaf_unevenness)}
    unevenness = estimate.unevenness
    return {
        "shape": None,
        "values": values,
        "variances": packed(fit.noise.fitted_variances(), "f8"),
        "families": unevenness.nodes.four.tolist(),
        "half": unevenness.nodes.half.tolist(),
        "within": unevenness.within[estimate.tree.offsets[:-1]].tolist(),
        "growth": unevenness.growth.tolist(),
        "lines": _line_tables(unevenness.lines),
    }


def _line_tables(lines: LeafLines | None) -> Json:
    """Return what lines along the axes add to edges through leaves of each size, by the halvings of their sides."""
    if lines is None:
        return {}
    return {f"{x},{y}": table.tolist() for (x, y), table in zip(lines.halvings.tolist(), lines.tables, strict=True)}


@estimate_data.register
def _field(estimate: Field) -> Json:
    _check_size(estimate.values.size, "cells")
    return {"cells": estimate_data(estimate.finest), "tree": estimate_data(estimate.basis)}


def _differences(estimate: Decomposition) -> Integers32:
    """Return boxes minus their parents' boxes, (4, nodes): regular trees repeat these numbers, so they pack well."""
    boxes = estimate.tree.boxes
    parents = np.array(boxes[estimate.tree.parent])
    parents[0] = 0
    return (boxes - parents).T
