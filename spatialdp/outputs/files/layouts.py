"""How does an estimate become a table, and a table an estimate? By `lay_out` and `rebuild`.

Every kind of estimate has one row for each cell, node or zone, polygons of the rows, and a header with everything that
the rows do not hold. `rebuild` reads files of unknown origin, so it must check every number that it uses and must not
let a forged header ask for memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any

import numpy as np

from spatialdp._support.arrays import Array, Booleans, Floats, Objects
from spatialdp._support.json_values import amount, flag, whole
from spatialdp.errors import ReleaseError
from spatialdp.estimates.base import Estimate
from spatialdp.estimates.decomposition import Decomposition
from spatialdp.estimates.fields.field import LARGEST_FIELD, Field
from spatialdp.estimates.flows.counts import FlowCounts
from spatialdp.estimates.flows.places import has_middles, middles
from spatialdp.estimates.histogram import Histogram
from spatialdp.estimates.networks.counts import NetworkCounts
from spatialdp.estimates.sparse.listed import ListedCells
from spatialdp.estimates.sparse.over_map import ListOverMap
from spatialdp.estimates.tables.counts import TableCounts
from spatialdp.estimates.trajectories.model import PathModel
from spatialdp.estimates.zones.counts import ZoneCounts
from spatialdp.outputs.files.flows.complete import flow_columns, flow_header
from spatialdp.outputs.files.flows.rows import pair_lines
from spatialdp.outputs.files.frames.domains import domain_to_json
from spatialdp.outputs.files.frames.lists import list_columns, list_header, listed_cells
from spatialdp.outputs.files.frames.zones import zone_columns, zone_header, zone_polygons, zones_to_json
from spatialdp.outputs.files.limits import (
    HIGHEST_TREE,
    WIDEST_STEP,
    check_estimates,
    check_moments,
    check_ratios,
    check_tree,
    check_weights,
)
from spatialdp.outputs.files.networks.complete import network_columns, network_header
from spatialdp.outputs.files.noise_models import most_axis_weights, noise_from_json
from spatialdp.outputs.files.rows import cell_numbers, edges
from spatialdp.outputs.files.tables.complete import areas_of, table_header
from spatialdp.outputs.files.trajectories.complete import path_columns, path_header
from spatialdp.space.boxes.subdivision import block_sums, summed_areas
from spatialdp.space.boxes.tree import Tree
from spatialdp.space.domain import LARGEST_GRID, Domain, most_cells
from spatialdp.space.lattice import LATTICE, cells_of
from spatialdp.transforms.spectral import most_weights
from spatialdp.trees.tree_noise import TreeNoise

__all__ = ["Layout", "lay_out", "rebuild"]


@dataclass(frozen=True, eq=False)
class Layout:
    """The rows and the header that an estimate becomes in a file.

    Attributes
    ----------
    header : dict
        JSON values.
    columns : dict of str to array
        Each array has one entry for each row. The column ``estimate`` is always there.
    boxes : (n, 4) float array, optional
        Coordinates of each row's polygon, if these are boxes.
    shapes : (n,) array of geometries, optional
        The rows' polygons, if these are not boxes; None for a row without one. Rows may also have no place at all.
    frame : dict, optional
        Members of the file's header that say what the public frame is, if it is not a domain.
    lines : bool
        Whether the shapes are lines.
    areas : array of geometries, optional
        Public polygons that travel in the first rows and are not the rows' places: the zones of a table.
    """

    header: dict[str, Any]
    columns: dict[str, Array]
    boxes: Floats | None = None
    shapes: Objects | None = None
    frame: dict[str, Any] | None = None
    lines: bool = False
    areas: Objects | None = None

    @property
    def polygons(self) -> Objects | None:
        """The rows' polygons; None if the rows have no place."""
        import shapely

        return self.shapes if self.boxes is None else np.asarray(shapely.box(*self.boxes.T), dtype=object)

    @property
    def bounds(self) -> list[float] | None:
        """The smallest box around all polygons, if these are not boxes of the domain."""
        import shapely

        return None if self.shapes is None else [float(side) for side in shapely.total_bounds(self.shapes)]

    @property
    def geometry_types(self) -> list[str]:
        """The types of the polygons, as GeoParquet names them."""
        if self.lines:
            return ["LineString"]
        return ["Polygon"] if self.boxes is not None else ["Polygon", "MultiPolygon"]


@singledispatch
def lay_out(estimate: Estimate, domain: Domain) -> Layout:
    """Turn an estimate into rows and a header."""
    raise ReleaseError(
        f"a release of kind {estimate.kind!r} on {domain} cannot be saved as rows of a file; draw it with plot()."
    )


def rebuild(header: dict[str, Any], columns: dict[str, Array], domain: Domain) -> Estimate:
    """Rebuild an estimate from its rows and header; raise ValueError, KeyError or TypeError if they are not valid."""
    check_estimates(columns["estimate"])
    kinds: dict[str, Callable[[dict[str, Any], dict[str, Array], Domain], Estimate]] = {
        "grid": _grid,
        "tree": _tree,
        "field": _field,
        "listed": listed_cells,
        "listed-map": _list_over_map,
    }
    return kinds[header["kind"]](header, columns, domain)


@lay_out.register
def _lay_out_grid(estimate: Histogram, domain: Domain) -> Layout:  # noqa: ARG001 - a grid knows its domain
    grid = estimate.grid
    rows, columns = np.nonzero(_cells_with_rows(estimate))
    x, y = grid.x_edges, grid.y_edges
    return Layout(
        {
            "kind": estimate.kind,
            "shape": list(grid.shape),
            "noise": estimate.noise.to_json(),
            "biased": estimate.biased,
        },
        {
            "column": columns.astype(np.int32),
            "row": rows.astype(np.int32),
            "inside": grid.mask[rows, columns],
            "estimate": estimate.values[rows, columns],
        },
        np.stack([x[columns], y[rows], x[columns + 1], y[rows + 1]], axis=1),
    )


def _grid(header: dict[str, Any], columns: dict[str, Array], domain: Domain) -> Histogram:
    rows = columns["estimate"].size
    grid = domain.grid(_shape(header["shape"], rows))
    if not grid.n_cells:
        raise ValueError("no cell lies in the region")
    values = np.zeros(grid.mask.shape)
    noise, biased = noise_from_json(header["noise"], grid), flag(header["biased"])
    if not biased and most_axis_weights(noise) > most_weights(values.size):  # for intervals, which others do not have
        raise ValueError("an axis has far more weights than the grid has cells")
    estimate = Histogram(grid, values, noise, biased)
    with_row = _cells_with_rows(estimate)
    if with_row.sum() != rows or not np.array_equal(
        np.stack([columns["row"], columns["column"]]), np.stack(np.nonzero(with_row))
    ):
        raise ValueError("the rows of the file are not the cells of its grid")
    values[with_row] = columns["estimate"]
    return replace(estimate, values=values)


def _cells_with_rows(estimate: Histogram) -> Booleans:
    """Cells that have a row: those of the region, or all cells if estimates outside the region sharpen box answers."""
    mask = estimate.grid.mask
    return np.ones_like(mask) if estimate.noise.uses_outside else mask


@lay_out.register
def _lay_out_list(estimate: ListedCells, domain: Domain) -> Layout:  # noqa: ARG001 - the grid knows its domain
    boxes = estimate.grid.boxes(estimate.columns, estimate.rows)
    return Layout(list_header(estimate), list_columns(estimate), boxes)


@lay_out.register
def _lay_out_list_over_map(estimate: ListOverMap, domain: Domain) -> Layout:
    """The rows are the nodes of the map, and then the listed cells, at the depth -1."""
    blocks, listed = lay_out(estimate.map, domain), estimate.listed
    sides = dict(zip(_SIDES, listed.leaf_boxes().T.astype(np.int32), strict=True))
    rows = {"depth": np.full(listed.n_cells, -1), "children": np.zeros(listed.n_cells), "estimate": listed.values}
    rows |= sides
    columns = {name: np.concatenate([of, rows[name].astype(of.dtype)]) for name, of in blocks.columns.items()}
    header = {"kind": estimate.kind, "map": blocks.header, "list": list_header(listed)}
    assert blocks.boxes is not None
    cells = listed.grid.boxes(listed.columns, listed.rows)
    return Layout(header, columns, np.concatenate([blocks.boxes, cells]))


def _list_over_map(header: dict[str, Any], columns: dict[str, Array], domain: Domain) -> ListOverMap:
    is_listed = columns["depth"] < 0
    of_map, of_list = ({name: of[some] for name, of in columns.items()} for some in (~is_listed, is_listed))
    blocks = _tree(header["map"], of_map, domain)
    fine = [whole(size, 1, LATTICE) for size in header["list"]["shape"]]
    boxes = np.stack([_integers(of_list[name]) for name in _SIDES], axis=1)
    if not np.all((boxes >= 0) & (boxes <= LATTICE)):
        raise ValueError("a listed cell lies outside the domain")
    shape = blocks.leaf_shape
    if shape is None or blocks.shape is None or any(cells % of for cells, of in zip(fine, shape, strict=True)):
        raise ValueError("a listed cell does not lie in one block")
    places = {
        name: cells_of(boxes[:, axis].astype(np.int64), fine[axis]) for axis, name in enumerate(("column", "row"))
    }
    listed = listed_cells(header["list"], places | {"estimate": of_list["estimate"]}, domain, shape)
    if not np.array_equal(listed.leaf_boxes(), boxes):
        raise ValueError("a listed box is no cell of the grid")
    return ListOverMap(blocks, listed)


@lay_out.register
def _lay_out_zones(estimate: ZoneCounts, domain: Domain) -> Layout:  # noqa: ARG001 - zones know where they are
    return Layout(
        zone_header(estimate),
        zone_columns(estimate),
        shapes=zone_polygons(estimate.zones),
        frame={"zones": zones_to_json(estimate.zones)},
    )


@lay_out.register
def _lay_out_table(estimate: TableCounts, domain: Domain | None) -> Layout:
    """The rows are the cells of the table, in the order of its frame, and have no place of their own."""
    frame = {"domain": None if domain is None else domain_to_json(domain)}
    values = {"estimate": np.ascontiguousarray(estimate.values).ravel()}
    return Layout(table_header(estimate), values, frame=frame, areas=areas_of(estimate))


_MOST_LINES = 10**6  # more lines would only fill files


@lay_out.register
def _lay_out_network(estimate: NetworkCounts, domain: Domain | None) -> Layout:
    """The rows are the counts of all tables, and have no place of their own."""
    frame = {"domain": None if domain is None else domain_to_json(domain)}
    return Layout(network_header(estimate), network_columns(estimate), frame=frame)


@lay_out.register
def _lay_out_paths(estimate: PathModel, domain: Domain) -> Layout:  # type: ignore[misc]  # no estimate of a map
    """The rows are numbers of all groups, and have no place of their own."""
    return Layout(path_header(estimate), path_columns(estimate), frame={"domain": domain_to_json(domain)})


@lay_out.register
def _lay_out_flows(estimate: FlowCounts, domain: Domain | None) -> Layout:
    """The rows are the published pairs, and their places are lines."""
    frame = {"domain": None if domain is None else domain_to_json(domain)}
    drawn = has_middles(estimate) and estimate.n_cells <= _MOST_LINES
    shapes = pair_lines(estimate, middles(estimate)) if drawn else None
    if shapes is not None and not np.any(shapes != np.array(None)):
        shapes = None  # nothing goes from one place to another
    return Layout(flow_header(estimate), flow_columns(estimate), shapes=shapes, frame=frame, lines=True)


@lay_out.register
def _lay_out_tree(estimate: Decomposition, domain: Domain) -> Layout:
    tree = estimate.tree
    by_level = estimate.variances.size == tree.height + 1
    noise = {"variance": estimate.variances, "kurtosis": estimate.kurtosis}
    header = {
        "kind": estimate.kind,
        "offsets": tree.offsets.tolist(),
        "levels": {name: _finite(values) for name, values in noise.items()} if by_level else None,
        "step": estimate.step,
        "consistent": estimate.consistent,
        "biased": estimate.biased,
        "shape": None if estimate.shape is None else list(estimate.shape),
    }
    columns: dict[str, Array] = {
        "depth": tree.depth.astype(np.int16),
        "children": tree.n_children.astype(np.int32),
        **{name: tree.boxes[:, index] for index, name in enumerate(_SIDES)},
        "estimate": estimate.values,
    }
    weights = {"own_weight": estimate.own_weights, "share": estimate.shares, "noise_ratio": estimate.noise_ratios}
    columns |= {name: values for name, values in weights.items() if values is not None}
    boxes = edges(tree.boxes, domain, cell_numbers(estimate))
    return Layout(header, columns if by_level else columns | noise, boxes)


@lay_out.register
def _lay_out_field(estimate: Field, domain: Domain) -> Layout:
    """The rows are those of the tree; the field follows from them."""
    layout = lay_out(estimate.basis, domain)
    header = {
        "kind": estimate.kind,
        "cells": list(estimate.grid.shape),
        "clipped": estimate.clipped,
        "whole": estimate.whole,
    }
    return replace(layout, header=layout.header | header, columns=layout.columns | {"measured": estimate.measured})


def _field(header: dict[str, Any], columns: dict[str, Array], domain: Domain) -> Field:
    basis, measured = _tree(header, columns, domain), columns["measured"]
    check_estimates(measured)
    if basis.own_weights is None or not basis.consistent or basis.variances.size != basis.tree.n_nodes:
        raise ValueError("a field needs a tree with a weight and noise for each of its counts")
    nx, ny = (whole(size, 1, LARGEST_FIELD) for size in header["cells"])
    if nx * ny > LARGEST_FIELD:
        raise ValueError("the grid of the field is too large")
    grid = domain.grid((nx, ny))
    lines = (grid.x_lines, grid.y_lines) * 2
    for side in range(4):
        if not np.all(np.isin(basis.tree.boxes[:, side], lines[side])):
            raise ValueError("a node of the tree is no block of the grid's cells")
    blocks = np.stack([np.searchsorted(lines[side], basis.tree.boxes[:, side]) for side in range(4)], axis=1)
    cells = block_sums(summed_areas(grid.mask), blocks)
    # Siblings do not overlap, so leaves with all of the region's cells hold each of them once.
    if not np.all(cells > 0) or cells[basis.tree.leaves].sum() != grid.n_cells:
        raise ValueError("the leaves do not divide the region")
    return Field(grid, basis, measured, flag(header["clipped"]), flag(header["whole"]))


def _finite(values: Floats) -> list[float | None]:
    """Replace infinities by None: JSON has no infinity."""
    return [value if np.isfinite(value) else None for value in values.tolist()]


_SIDES = ("xlo", "ylo", "xhi", "yhi")


def _tree(header: dict[str, Any], columns: dict[str, Array], domain: Domain) -> Decomposition:
    boxes = np.stack([_integers(columns[name]) for name in _SIDES], axis=1)
    if not (np.all(boxes >= 0) and np.all(boxes <= LATTICE) and np.all(boxes[:, :2] < boxes[:, 2:])):
        raise ValueError("a box is empty or outside the domain")
    offsets = [whole(offset, 0, boxes.shape[0]) for offset in header["offsets"][: HIGHEST_TREE + 3]]
    whole(len(offsets), 2, HIGHEST_TREE + 2)
    tree = Tree(np.array(offsets, dtype=np.int64), _integers(columns["children"]), boxes)
    if not np.array_equal(tree.depth, columns["depth"]):
        raise ValueError("the depths do not agree with the levels")
    variances, kurtosis = _tree_noise(header, columns, tree)
    consistent = flag(header["consistent"])
    check_tree(tree, columns["estimate"], variances, consistent=consistent)
    return Decomposition(
        domain,
        tree,
        columns["estimate"],
        variances,
        kurtosis,
        amount(header["step"], WIDEST_STEP),
        consistent,
        flag(header["biased"]),
        None if header.get("shape") is None else _shape(header["shape"], tree.n_leaves),
        *_given_weights(columns, tree, variances),
    )


def _given_weights(columns: dict[str, Array], tree: Tree, variances: Floats) -> tuple[Floats | None, ...]:
    """Read the weights, shares and ratios of noise of a fit that is not by least squares, if there are any."""
    own, shares, ratios = (columns.get(name) for name in ("own_weight", "share", "noise_ratio"))
    if own is not None:
        of_nodes = TreeNoise(tree, variances, variances).at(variances, np.arange(tree.n_nodes))
        check_weights(tree, own, shares, ~np.isinf(of_nodes))
    elif shares is not None or ratios is not None:
        raise ValueError("shares or ratios of noise without weights")
    if ratios is not None:
        check_ratios(ratios)
    return own, shares, ratios


def _integers(values: Array) -> Array:
    if values.dtype.kind != "i":
        raise TypeError("not whole numbers")
    return values


def _tree_noise(header: dict[str, Any], columns: dict[str, Array], tree: Tree) -> tuple[Floats, Floats]:
    """Read variance and kurtosis of all levels from the header, or of all nodes from the columns."""
    noise = columns if header["levels"] is None else header["levels"]
    variances, kurtosis = (np.array(noise[name], dtype=np.float64) for name in ("variance", "kurtosis"))
    size = tree.n_nodes if header["levels"] is None else tree.height + 1
    if not variances.shape == kurtosis.shape == (size,):
        raise ValueError("the noise is not that of a tree")
    variances[np.isnan(variances)] = np.inf  # null in the file: this level was not measured
    check_moments(np.where(np.isinf(variances), 0.0, variances), kurtosis)
    return variances, kurtosis


def _shape(value: Any, filled: int) -> tuple[int, int]:
    """Read the shape of a grid of which so many cells are filled; a forged shape must not be able to ask for memory."""
    nx, ny = (whole(size, 1, LARGEST_GRID) for size in value)
    if nx * ny > most_cells(filled):
        raise ValueError("the grid is far larger than the cells that fill it")
    return nx, ny
