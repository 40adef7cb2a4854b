"""How does an estimate become a table, and a table an estimate? By `lay_out` and `rebuild`.

Every kind of estimate has one row for each cell or node, a polygon for each row, and a header with everything that the
rows do not hold. `rebuild` reads files of unknown origin, so it must check every number that it uses and must not let a
forged header ask for memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any

import numpy as np

from spatialdp._support.arrays import Array, Booleans, Floats
from spatialdp._support.json_values import amount, flag
from spatialdp.errors import ReleaseError
from spatialdp.estimates.base import Estimate
from spatialdp.estimates.decomposition import Decomposition
from spatialdp.estimates.histogram import Histogram
from spatialdp.outputs.files.noise_models import noise_from_json
from spatialdp.outputs.files.rows import cell_numbers, edges
from spatialdp.space.domain import Domain
from spatialdp.space.lattice import LATTICE
from spatialdp.trees.tree import Tree

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
    boxes : (n, 4) float array
        Coordinates of each row's polygon.
    """

    header: dict[str, Any]
    columns: dict[str, Array]
    boxes: Floats


@singledispatch
def lay_out(estimate: Estimate, domain: Domain) -> Layout:
    """Turn an estimate into rows and a header."""
    raise ReleaseError(
        f"a release of kind {estimate.kind!r} on {domain} cannot be saved as rows of a file; draw it with plot()."
    )


def rebuild(header: dict[str, Any], columns: dict[str, Array], domain: Domain) -> Estimate:
    """Rebuild an estimate from its rows and header; raise ValueError, KeyError or TypeError if they are not valid."""
    if columns["estimate"].dtype != np.float64 or not np.all(np.isfinite(columns["estimate"])):
        raise ValueError("an estimate is not a finite number")
    kinds: dict[str, Callable[[dict[str, Any], dict[str, Array], Domain], Estimate]] = {"grid": _grid, "tree": _tree}
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
    nx, ny = header["shape"]
    rows = columns["estimate"].size
    if nx * ny > max(2**22, 4096 * rows):  # a forged shape must not be able to ask for memory
        raise ValueError("the grid is far larger than the rows that fill it")
    grid = domain.grid((nx, ny))
    values = np.zeros((ny, nx))
    estimate = Histogram(grid, values, noise_from_json(header["noise"], grid), flag(header["biased"]))
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
    boxes = edges(tree.boxes, domain, cell_numbers(estimate))
    return Layout(header, columns if by_level else columns | noise, boxes)


def _finite(values: Floats) -> list[float | None]:
    """Replace infinities by None: JSON has no infinity."""
    return [value if np.isfinite(value) else None for value in values.tolist()]


_SIDES = ("xlo", "ylo", "xhi", "yhi")


def _tree(header: dict[str, Any], columns: dict[str, Array], domain: Domain) -> Decomposition:
    boxes = np.stack([columns[name] for name in _SIDES], axis=1)
    if not (np.all(boxes >= 0) and np.all(boxes <= LATTICE) and np.all(boxes[:, :2] < boxes[:, 2:])):
        raise ValueError("a box is empty or outside the domain")
    tree = Tree(np.array(header["offsets"], dtype=np.int64), columns["children"], boxes)
    if not np.array_equal(tree.depth, columns["depth"]):
        raise ValueError("the depths do not agree with the levels")
    noise = header["levels"] or columns
    variances, kurtosis = (np.array(noise[name], dtype=np.float64) for name in ("variance", "kurtosis"))
    variances[np.isnan(variances)] = np.inf  # null in the file: this level was not measured
    sizes = {tree.height + 1} if header["levels"] else {tree.n_nodes}
    if {variances.size, kurtosis.size} != sizes or not (np.all(variances >= 0) and np.all(np.isfinite(kurtosis))):
        raise ValueError("the noise is not that of a tree")
    return Decomposition(
        domain,
        tree,
        columns["estimate"],
        variances,
        kurtosis,
        amount(header["step"]),
        flag(header["consistent"]),
        flag(header["biased"]),
        _shape(header.get("shape"), tree),
    )


def _shape(value: Any, tree: Tree) -> tuple[int, int] | None:
    """Read the shape of the grid of leaves; a forged shape must not be able to ask for memory."""
    if value is None:
        return None
    nx, ny = value
    if not (isinstance(nx, int) and isinstance(ny, int) and min(nx, ny) > 0):
        raise ValueError("the shape of the grid is not two whole numbers")
    if nx * ny > max(2**22, 4096 * tree.n_leaves):
        raise ValueError("the grid is far larger than the leaves that fill it")
    return nx, ny
