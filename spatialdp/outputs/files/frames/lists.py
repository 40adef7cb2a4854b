"""How does a list of cells get into a file and back? One row for each listed cell, and a header with all else.

Files come from anywhere: the cells must be cells of the grid and its region, in order and each once, and the noise must
be that of some law. Nothing takes memory by the size of the grid.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from spatialdp._support.arrays import Array
from spatialdp._support.json_values import amount, flag, whole
from spatialdp.estimates.sparse.listed import ListedCells
from spatialdp.outputs.files.limits import WIDEST_STEP, check_moments
from spatialdp.space.domain import Domain
from spatialdp.space.fine_grid import FineGrid
from spatialdp.space.lattice import LATTICE

__all__ = ["list_columns", "list_header", "listed_cells"]

_LARGEST_THRESHOLD = 1e45
_MOST_FALSE = 2e8


def list_header(estimate: ListedCells) -> dict[str, Any]:
    """Return the header of a list: everything but its rows."""
    return {
        "kind": estimate.kind,
        "shape": list(estimate.grid.shape),
        "threshold": estimate.threshold,
        "false": estimate.false,
        "noise": {"variance": estimate.variance, "kurtosis": estimate.kurtosis, "step": estimate.step},
        "biased": estimate.biased,
    }


def list_columns(estimate: ListedCells) -> dict[str, Array]:
    """Return the rows of a list."""
    places = {"column": estimate.columns.astype(np.int32), "row": estimate.rows.astype(np.int32)}
    return places | {"estimate": estimate.values}


def listed_cells(
    header: dict[str, Any], columns: dict[str, Array], domain: Domain, blocks: tuple[int, int] | None = None
) -> ListedCells:
    """Rebuild a list from its rows and header; raise ValueError, KeyError or TypeError if they are not valid."""
    nx, ny = (whole(size, 1, LATTICE) for size in header["shape"])
    grid = FineGrid(domain, (nx, ny), blocks)
    column, row = _places(columns["column"], nx), _places(columns["row"], ny)
    numbers = grid.numbers(column, row)
    if not np.all(np.diff(numbers) > 0) or not np.all(grid.inside(numbers)):
        raise ValueError("the rows are not cells of the region, in order and each once")
    variance, kurtosis = (amount(header["noise"][name]) for name in ("variance", "kurtosis"))
    check_moments(np.array(variance), np.array(kurtosis))
    return ListedCells(
        grid,
        column,
        row,
        columns["estimate"],
        amount(header["threshold"], _LARGEST_THRESHOLD),
        amount(header["false"], _MOST_FALSE),
        variance,
        kurtosis,
        amount(header["noise"]["step"], WIDEST_STEP),
        flag(header["biased"]),
    )


def _places(values: Array, count: int) -> Array:
    if values.dtype.kind != "i" or not np.all((values >= 0) & (values < count)):
        raise ValueError("a column or row is not one of the grid")
    return values.astype(np.int64)
