"""Complete files of lists come back bit by bit; what a forger alters is refused or behaves."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
import shapely

import spatialdp as sdp
from spatialdp.errors import FileFormatError
from tests.helpers.release_files import rewrite, set_to

REGION = shapely.Polygon([(0, 0), (8, 0), (8, 5), (3, 6), (0, 3)])
PLACES = np.array([[0.5, 0.5], [0.5, 0.6], [6.2, 3.3], [3.1, 4.9]])


def release_of(shape=(2**30, 2**30), region=REGION, **options):
    domain = sdp.Domain((0, 0, 8, 6), crs="EPSG:4326", region=region)
    return sdp.Sparse(shape, **options).release(np.repeat(PLACES, 300, axis=0), domain, epsilon=1)


@pytest.mark.parametrize("options", [{}, {"remeasure": 0}, {"shape": (8, 6)}, {"region": None}, {"shape": (1, 2**30)}])
def test_lists_come_back_bit_by_bit(options, tmp_path):
    release, path = release_of(**options), tmp_path / "list.parquet"
    release.save(path)
    again = sdp.load(path)
    assert again.estimate.n_cells > 1
    for name in ("columns", "rows", "values"):
        assert getattr(again.estimate, name).tobytes() == getattr(release.estimate, name).tobytes()
    for name in ("grid", "threshold", "false", "variance", "kurtosis", "step", "biased"):
        assert getattr(again.estimate, name) == getattr(release.estimate, name)
    assert again.privacy == release.privacy
    again.save(tmp_path / "again.parquet")
    assert (tmp_path / "again.parquet").read_bytes() == path.read_bytes()


def test_lists_of_no_cells_come_back(tmp_path):
    release = sdp.Sparse((2**30, 2**30), false=1e-9).release([], sdp.Domain((0, 0, 1, 1)), epsilon=1)
    release.save(tmp_path / "list.parquet")
    assert sdp.load(tmp_path / "list.parquet").estimate.n_cells == 0


HEADERS = {
    "shape too large": set_to("estimate", "shape", value=[2**31, 2**30]),
    "shape of nothing": set_to("estimate", "shape", value=[0, 4]),
    "shape with fewer columns": set_to("estimate", "shape", value=[4, 2**30]),
    "three sides": set_to("estimate", "shape", value=[4, 4, 4]),
    "negative threshold": set_to("estimate", "threshold", value=-1),
    "threshold in words": set_to("estimate", "threshold", value="55"),
    "endless false cells": set_to("estimate", "false", value=1e300),
    "no law has this noise": set_to("estimate", "noise", "variance", value=1e-300),
    "wide steps": set_to("estimate", "noise", "step", value=2.0),
    "neither biased nor not": set_to("estimate", "biased", value=1),
}


@pytest.mark.parametrize("name", HEADERS)
def test_forged_headers_are_refused(name, tmp_path):
    release_of().save(tmp_path / "list.parquet")
    rewrite(tmp_path / "list.parquet", header=HEADERS[name], sign=True)
    with pytest.raises(FileFormatError):
        sdp.load(tmp_path / "list.parquet")


def with_column(name, change):
    def changed(table):
        values = change(table[name].to_numpy().copy())
        return table.set_column(table.column_names.index(name), name, pa.array(values))

    return changed


def swapped(values):
    return values[::-1]


def repeated(values):
    values[1] = values[0]
    return values


def first(value):
    def change(values):
        values[0] = value
        return values

    return change


TABLES = {
    "not in order": with_column("row", swapped),
    "column beyond the last": with_column("column", lambda values: values.astype(np.int64) + 2**30),
    "negative column": with_column("column", first(-1)),
    "outside the region": with_column("row", lambda values: values + 2**30 - 1 - values.max()),
    "columns that are no whole numbers": with_column("column", lambda values: values.astype(float)),
    "estimate that is no number": with_column("estimate", first(np.nan)),
    "no columns": lambda table: table.drop(["column"]),
}


@pytest.mark.parametrize("name", TABLES)
def test_forged_rows_are_refused(name, tmp_path):
    release_of().save(tmp_path / "list.parquet")
    rewrite(tmp_path / "list.parquet", table=TABLES[name], sign=True)
    with pytest.raises(FileFormatError):
        sdp.load(tmp_path / "list.parquet")


def test_a_cell_that_is_listed_twice_is_refused(tmp_path):
    release_of().save(tmp_path / "list.parquet")
    for name in ("row", "column"):
        rewrite(tmp_path / "list.parquet", table=with_column(name, repeated), sign=True)
    with pytest.raises(FileFormatError):
        sdp.load(tmp_path / "list.parquet")


def over_map(path, places=PLACES, region=None):
    domain = sdp.Domain((0, 0, 8, 6), crs="EPSG:4326", region=region)
    mechanism = sdp.SparseMap((64, 64), blocks=(8, 4))
    release = mechanism.release(np.repeat(places, 300, axis=0), domain, epsilon=1)
    release.save(path)
    return release


@pytest.mark.parametrize("region", [None, REGION], ids=["whole", "region"])
def test_lists_over_maps_come_back_bit_by_bit(region, tmp_path):
    path = tmp_path / "both.parquet"
    release = over_map(path, region=region)
    again = sdp.load(path)
    assert again.estimate.listed.grid == release.estimate.listed.grid
    for name in ("columns", "rows", "values"):
        assert getattr(again.estimate.listed, name).tobytes() == getattr(release.estimate.listed, name).tobytes()
    assert again.estimate.map.values.tobytes() == release.estimate.map.values.tobytes()
    assert again.privacy == release.privacy
    again.save(tmp_path / "again.parquet")
    assert (tmp_path / "again.parquet").read_bytes() == path.read_bytes()


def test_a_cell_whose_block_is_outside_of_the_region_is_refused(tmp_path):
    """Its records count nowhere, so no release lists it."""
    corner = shapely.box(0, 0, 3.9, 2.9)
    over_map(tmp_path / "both.parquet", places=PLACES[:1], region=corner)
    there = {"xlo": 63, "ylo": 63, "xhi": 64, "yhi": 64}  # the last cell of all
    for name, line in there.items():
        moved = with_column(name, lambda values, line=line: np.append(values[:-1], line << 24).astype(np.int32))
        rewrite(tmp_path / "both.parquet", table=moved, sign=True)
    with pytest.raises(FileFormatError):
        sdp.load(tmp_path / "both.parquet")


OVER_MAP_HEADERS = {
    "cells that are in two blocks": set_to("estimate", "list", "shape", value=[60, 64]),
    "cells of another grid": set_to("estimate", "list", "shape", value=[128, 64]),
    "blocks without a grid": set_to("estimate", "map", "shape", value=None),
    "no law has this noise": set_to("estimate", "list", "noise", "variance", value=1e-300),
    "neither biased nor not": set_to("estimate", "map", "biased", value=1),
}
OVER_MAP_TABLES = {
    "all is listed": with_column("depth", lambda values: values * 0 - 1),
    "nothing is listed": with_column("depth", lambda values: np.maximum(values, 0)),
    "a listed cell outside": with_column("xlo", lambda values: np.append(values[:-1], -5).astype(np.int32)),
    "a listed box that is no cell": with_column("xhi", lambda values: np.append(values[:-1], 7).astype(np.int32)),
    "estimate that is no number": with_column("estimate", lambda values: np.append(values[:-1], np.nan)),
}


@pytest.mark.parametrize("name", OVER_MAP_HEADERS | OVER_MAP_TABLES)
def test_forged_lists_over_maps_are_refused(name, tmp_path):
    over_map(tmp_path / "both.parquet")
    header, table = OVER_MAP_HEADERS.get(name), OVER_MAP_TABLES.get(name)
    given = {"header": header} if table is None else {"table": table}
    rewrite(tmp_path / "both.parquet", **given, sign=True)
    with pytest.raises(FileFormatError):
        sdp.load(tmp_path / "both.parquet")
