"""Rows and headers of estimates: what is forged is refused."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import spatialdp as sdp
from spatialdp.errors import FileFormatError
from tests.helpers.release_files import rewrite, set_to

XY = np.random.default_rng(3).uniform((0, 0), (8, 6), size=(500, 2))


def _row(name, value):
    """Another value in the second row of a column."""

    def change(table):
        values = table[name].to_numpy().copy()
        values[1] = value
        return table.set_column(table.column_names.index(name), name, pa.array(values))

    return change


@pytest.mark.parametrize(
    "changes",
    [
        {"table": _row("xlo", -1)},
        {"table": _row("xhi", 2**31 - 1)},
        {"table": _row("yhi", 0)},
        {"table": _row("depth", 2)},
        {"table": _row("children", 3)},
        {"header": set_to("estimate", "levels", "variance", value=[1.0])},
        {"header": set_to("estimate", "levels", "variance", value=[1.0, -1.0, 1.0])},
        {"header": set_to("estimate", "levels", "kurtosis", value=[1.0, None, 1.0])},
        {"header": set_to("estimate", "step", value=-1)},
        {"header": set_to("estimate", "step", value=None)},
        {"header": set_to("estimate", "consistent", value="yes")},
        {"header": set_to("estimate", "shape", value=[4, "4"])},
        {"header": set_to("estimate", "shape", value=[4, 0])},
        {"header": set_to("estimate", "shape", value=[10**6, 10**6])},
        {"header": set_to("estimate", "offsets", value=[0, 1])},
        {"header": set_to("estimate", "offsets", value=[0, 10**9])},
    ],
)
def test_forged_trees_are_refused(tmp_path, changes):
    """Though their digest is right: who forges a file must not be able to ask for memory, or get nonsense answered."""
    path = tmp_path / "tree.parquet"
    sdp.Quadtree(height=2).release(XY, sdp.Domain((0, 0, 8, 6)), epsilon=1).save(path)
    rewrite(path, sign=True)
    sdp.load(path)  # the forger's tools work
    rewrite(path, **changes, sign=True)
    with pytest.raises(FileFormatError):
        sdp.load(path)
