"""Rows and headers of estimates: what is forged is refused."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
import shapely

import spatialdp as sdp
from spatialdp.errors import FileFormatError
from spatialdp.outputs.files.layouts import lay_out, rebuild
from tests.helpers.cases import SMALL, terms
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


DOMAIN = sdp.Domain((0, 0, 8, 6), region=shapely.Polygon([(0, 0), (8, 0), (8, 5), (3, 6), (0, 3)]))


@pytest.mark.parametrize("name", SMALL)
def test_rows_and_header_are_all_of_an_estimate(name):
    mechanism = SMALL[name]
    estimate = mechanism.release(XY, DOMAIN, noise=sdp.SeededNoise(1), **terms(mechanism, "add-remove")).estimate
    layout = lay_out(estimate, DOMAIN)
    assert {len(column) for column in layout.columns.values()} == {len(layout.boxes)}
    again = rebuild(json.loads(json.dumps(layout.header)), layout.columns, DOMAIN)
    assert again.kind == estimate.kind == layout.header["kind"]
    assert np.array_equal(again.leaf_boxes(), estimate.leaf_boxes())
    assert np.array_equal(again.leaf_values(), estimate.leaf_values())
    boxes = DOMAIN.boxes([(0, 0, 8, 6), (1, 2, 3.3, 4.4), (5, 0.1, 7.7, 5.9)])
    assert np.array_equal(again.answer(boxes), estimate.answer(boxes))
    assert np.array_equal(again.moments(boxes), estimate.moments(boxes))
    assert again.biased == estimate.biased


def test_boxes_are_where_the_cells_are():
    estimate = sdp.Flat((4, 3)).release([], DOMAIN, epsilon=1).estimate
    layout = lay_out(estimate, DOMAIN)
    width, height = 8 / 4, 6 / 3
    for (xmin, ymin, xmax, ymax), column, row in zip(
        layout.boxes, layout.columns["column"], layout.columns["row"], strict=True
    ):
        assert (xmin, ymin) == pytest.approx((column * width, row * height))
        assert (xmax, ymax) == pytest.approx(((column + 1) * width, (row + 1) * height))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_estimates_that_are_no_numbers_are_refused(value):
    layout = lay_out(sdp.Flat((4, 3)).release([], DOMAIN, epsilon=1).estimate, DOMAIN)
    values = layout.columns["estimate"].copy()
    values[0] = value
    with pytest.raises(ValueError, match="finite"):
        rebuild(layout.header, layout.columns | {"estimate": values}, DOMAIN)
    with pytest.raises(KeyError):
        rebuild(layout.header | {"kind": "other"}, layout.columns, DOMAIN)


def adaptive():
    tree = sdp.Adaptive((8, 6), estimate="unbiased")
    return tree.release(XY, DOMAIN, epsilon=1, noise=sdp.SeededNoise(1)).estimate


@pytest.mark.parametrize("value", [np.nan, -0.1, 100.0])
def test_ratios_that_noise_cannot_have_are_refused(value):
    layout = lay_out(adaptive(), DOMAIN)
    ratios = layout.columns["noise_ratio"].copy()
    assert np.any(ratios != 1)
    ratios[1] = value
    with pytest.raises(ValueError, match="ratio"):
        rebuild(layout.header, layout.columns | {"noise_ratio": ratios}, DOMAIN)


def test_ratios_belong_to_weights():
    layout = lay_out(adaptive(), DOMAIN)
    without = {name: values for name, values in layout.columns.items() if name not in ("own_weight", "share")}
    with pytest.raises(ValueError, match="without weights"):
        rebuild(layout.header, without, DOMAIN)


def test_files_from_before_there_were_ratios_keep_the_variances_of_the_measurements():
    estimate = adaptive()
    layout = lay_out(estimate, DOMAIN)
    columns = {name: values for name, values in layout.columns.items() if name != "noise_ratio"}
    again, boxes = rebuild(layout.header, columns, DOMAIN), DOMAIN.boxes([(0, 0, 8, 6), (1, 2, 3.3, 4.4)])
    assert np.array_equal(again.answer(boxes), estimate.answer(boxes))
    assert np.array_equal(again.noise.variances, estimate.variances)
    assert not np.array_equal(again.moments(boxes)[0], estimate.moments(boxes)[0])
