"""Complete files of zones come back bit by bit; what a forger alters is refused or behaves."""

from __future__ import annotations

import geopandas
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import shapely

import spatialdp as sdp
from spatialdp.errors import FileFormatError
from tests.helpers.release_files import rewrite, set_to
from tests.helpers.zone_releases import release_of, zones_of

VARIANTS = {
    "plain": {},
    "raw": {"consistent": False},
    "unmeasured": {"unmeasured": (1,)},
    "known": {"known": (1,)},
}


@pytest.mark.parametrize("geometry", [True, False])
@pytest.mark.parametrize("variant", VARIANTS)
def test_releases_come_back_bit_by_bit(variant, geometry, tmp_path):
    release, path = release_of(zones_of(geometry=geometry), **VARIANTS[variant]), tmp_path / "zones.parquet"
    release.save(path)
    again = sdp.load(path)
    assert isinstance(again, sdp.ZoneRelease)
    for name in ("values", "variances", "kurtosis"):
        assert getattr(again.estimate, name).tobytes() == getattr(release.estimate, name).tobytes()
    for name in ("step", "consistent", "biased"):
        assert getattr(again.estimate, name) == getattr(release.estimate, name)
    assert again.privacy == release.privacy
    zones = release.zones
    assert again.zones.digest == zones.digest
    assert again.zones.levels == zones.levels
    assert again.zones.codes.tolist() == zones.codes.tolist()
    assert again.zones.domain == zones.domain
    assert again.answer(zones.codes[1:]).tolist() == release.answer(zones.codes[1:]).tolist()
    again.save(tmp_path / "again.parquet")
    assert (tmp_path / "again.parquet").read_bytes() == path.read_bytes()


def test_biased_releases_stay_biased(tmp_path):
    release = release_of(zones_of()).non_negative().rounded()
    release.save(tmp_path / "zones.parquet")
    again = sdp.load(tmp_path / "zones.parquet")
    assert again.estimate.biased
    assert again.level("tract")["estimate"].tolist() == release.level("tract")["estimate"].tolist()


def test_others_read_the_file_as_a_map_and_as_a_table(tmp_path):
    release = release_of(zones_of())
    release.save(tmp_path / "zones.parquet")
    frame = geopandas.read_parquet(tmp_path / "zones.parquet")
    assert frame.crs == "EPSG:4326"
    leaves = frame[frame["children"] == 0]
    assert shapely.area(leaves.geometry.to_numpy()).sum() == pytest.approx(22.0)
    assert leaves.set_index("zone")["estimate"].to_dict() == dict(
        zip(leaves["zone"], release.answer(leaves["zone"]), strict=True)
    )
    release_of(zones_of(geometry=False)).save(tmp_path / "codes.parquet")
    table = pd.read_parquet(tmp_path / "codes.parquet")
    assert table["zone"].tolist() == release_of(zones_of(geometry=False)).zones.codes.tolist()


def replaced(name, change):
    """A table with the values of a column changed."""

    def alter(table):
        values = table[name].to_pylist()
        index = table.column_names.index(name)
        return table.set_column(index, name, pa.array(change(values), table.schema.field(name).type))

    return alter


def first(value):
    return lambda values: [value, *values[1:]]


def last(value):
    return lambda values: [*values[:-1], value]


SQUARE = shapely.to_wkb(shapely.box(0, 0, 1, 1), byte_order=1)
ROW_FORGERIES = {
    "a code moved": replaced("zone", lambda codes: [codes[0], codes[2], codes[1], *codes[3:]]),
    "a code that moves the cursor": replaced("zone", last("\x1b[2J")),
    "a long code": replaced("zone", last("9" * 10_000)),
    "a missing code": replaced("zone", last(None)),
    "another parent": replaced("parent", last("A")),
    "another level": replaced("level", last("state")),
    "an estimate that does not add up": replaced("estimate", last(1e6)),
    "an estimate that is none": replaced("estimate", last(float("nan"))),
    "children of nobody": replaced("children", last(3)),
    "a negative variance": replaced("variance", last(-1.0)),
    "a leaf that was not measured": replaced("variance", last(float("inf"))),
    "a kurtosis that is none": replaced("kurtosis", last(float("nan"))),
    "one area with two estimates": replaced("estimate", lambda v: [v[0], v[1], v[2], v[3] + 1, *v[4:]]),
    "a polygon of a divided zone": replaced("geometry", first(SQUARE)),
    "a leaf without a polygon": replaced("geometry", last(None)),
    "a polygon elsewhere": replaced("geometry", last(shapely.to_wkb(shapely.box(90, 90, 91, 91), byte_order=1))),
    "a point for a polygon": replaced("geometry", last(shapely.to_wkb(shapely.Point(1, 1), byte_order=1))),
    "bytes for a polygon": replaced("geometry", last(b"\x01\x06\x00\x00\x00\xff\xff\xff\xff")),
    "a polygon without area": replaced("geometry", last(shapely.to_wkb(shapely.Polygon(), byte_order=1))),
    "fewer rows": lambda table: table.slice(0, len(table) - 1),
    "no polygons": lambda table: table.drop_columns(["geometry"]),
    "no codes": lambda table: table.drop_columns(["zone"]),
}
HEADER_FORGERIES = {
    "another digest": set_to("zones", "digest", value="0" * 64),
    "another name": set_to("zones", "name", value="\x1b[2J"),
    "levels that are none": set_to("zones", "levels", value=["a", "b"]),
    "levels of numbers": set_to("zones", "levels", value=[1, 2, 3, 4]),
    "bounds of nothing": set_to("zones", "bounds", value=[0, 0, 0, 0]),
    "other bounds": set_to("zones", "bounds", value=[0, 0, 1e6, 1e6]),
    "no bounds": set_to("zones", "bounds", value=None),
    "a CRS that is none": set_to("zones", "crs", value="\x1b[2J"),
    "huge offsets": set_to("zones", "offsets", value=[0, 1, 2**60]),
    "many offsets": set_to("zones", "offsets", value=list(range(10_000))),
    "a step above one": set_to("estimate", "step", value=7),
    "neither true nor false": set_to("estimate", "consistent", value=1),
    "no kind": set_to("estimate", "kind", value="zone"),
    "a kind that is a list": set_to("estimate", "kind", value=["zones"]),
}


def forged(tmp_path, *, table=None, header=None):
    path = tmp_path / "forged.parquet"
    release_of(zones_of(), seed=2).save(path)
    rewrite(path, table=table, header=header, sign=True)
    return path


@pytest.mark.parametrize("forgery", ROW_FORGERIES)
def test_forged_rows_are_refused(forgery, tmp_path):
    with pytest.raises(FileFormatError):
        sdp.load(forged(tmp_path, table=ROW_FORGERIES[forgery]))


@pytest.mark.parametrize("forgery", HEADER_FORGERIES)
def test_forged_headers_are_refused(forgery, tmp_path):
    with pytest.raises(FileFormatError):
        sdp.load(forged(tmp_path, header=HEADER_FORGERIES[forgery]))


def test_the_untouched_file_is_no_forgery(tmp_path):
    assert sdp.load(forged(tmp_path)).zones.n_leaves == 7


def test_the_digest_tells_texts_of_neighbouring_rows_apart(tmp_path):
    path = tmp_path / "zones.parquet"
    release_of(zones_of(geometry=False)).save(path)
    rewrite(path, table=replaced("zone", lambda codes: [codes[0] + codes[1], "", *codes[2:]]))
    with pytest.raises(FileFormatError, match="altered"):
        sdp.load(path)


def test_a_file_that_claims_to_be_far_larger_than_it_is_is_refused(tmp_path):
    path = tmp_path / "zones.parquet"
    release_of(zones_of()).save(path)
    big = shapely.to_wkb(shapely.Point(0, 0).buffer(1, quad_segs=2**16), byte_order=1)
    rewrite(path, table=replaced("geometry", last(b"\0" * len(big) * 20)), sign=True)
    with pytest.raises(FileFormatError):
        sdp.load(path)


def test_numbers_of_rows_are_those_of_zones():
    assert np.isfinite(release_of(zones_of()).estimate.values).all()
