"""Every publisher knows every kind of estimate, or refuses it in words.

Publishers are found by what they do for a release, not by a list of classes: saving, loading and exporting, maps, the
explorer's page, the certificate, sampling, rows of a table. A new kind of estimate enters `estimates.base.KINDS` and
`EXAMPLES` here, and every publisher is asked about it.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path

import geopandas
import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
import shapely

import spatialdp as sdp
from spatialdp.errors import SpatialDPError
from spatialdp.estimates.base import KINDS, Estimate
from spatialdp.outputs.certificate.numbers import contents, exactness
from spatialdp.outputs.explorer.data import estimate_data
from spatialdp.outputs.explorer.page import size_in_words
from spatialdp.outputs.files.formats import FORMATS
from spatialdp.outputs.files.layouts import lay_out
from spatialdp.outputs.files.rows import cell_numbers
from spatialdp.outputs.maps.cells import map_cells

matplotlib.use("Agg")

DOMAIN = sdp.Domain((0, 0, 1, 1), crs="EPSG:4326")
POINTS = np.random.default_rng(3).random((200, 2))
QUARTERS = geopandas.GeoDataFrame(
    {"side": ["west", "west", "east", "east"], "quarter": ["sw", "nw", "se", "ne"]},
    geometry=[shapely.box(x, y, x + 0.5, y + 0.5) for x in (0, 0.5) for y in (0, 0.5)],
    crs=DOMAIN.crs,
)
EXAMPLES = {"grid": sdp.Flat((8, 6)), "tree": sdp.KdTree(3), "field": sdp.Adaptive((8, 6)), "zones": sdp.ZoneTree()}
EXAMPLES |= {"listed-map": sdp.SparseMap((8, 6), blocks=(4, 3))}
EXAMPLES |= {"table": sdp.Table(), "listed": sdp.Sparse((8, 6)), "flows": sdp.Flows(), "network": sdp.PrivBayes()}
FRAMES = {"zones": sdp.Zones(QUARTERS, levels=["side", "quarter"]), "table": sdp.Frame(DOMAIN.grid((8, 6)))}
FRAMES["flows"] = DOMAIN.grid((4, 3))
FRAMES["network"] = FRAMES["table"]
RECORDS = {"flows": sdp.Trips(POINTS, POINTS[::-1])}
# Tables and flows answer by names.
ASKED = {"table": {"box": (0.1, 0.2, 0.7, 0.9)}, "flows": {"origin": (0.1, 0.2, 0.7, 0.9)}}
ASKED["network"] = ASKED["table"]

BOX = (0.1, 0.2, 0.7, 0.9)

PUBLISHERS = {
    "rows of a table": lambda release, _: release.to_geodataframe(),
    "a map": lambda release, _: release.plot(),
    "a map of uncertainty": lambda release, _: release.plot(view="uncertainty"),
    "a page": lambda release, folder: release.explore(folder / "page.html"),
    "a certificate": lambda release, folder: private(release).certificate(folder / "page.html"),
    "synthetic points": lambda release, _: release.sample(10),
    "no negative numbers": lambda release, _: release.non_negative(),
    "whole numbers": lambda release, _: release.rounded(),
    **{
        f"a file {suffix}": lambda release, folder, suffix=suffix: release.save(folder / f"release{suffix}")
        for suffix in FORMATS
    },
}
DISPATCHERS = {
    "lay_out": lambda estimate: lay_out(estimate, DOMAIN),
    "map_cells": map_cells,
    "estimate_data": estimate_data,
    "size_in_words": size_in_words,
    "cell_numbers": cell_numbers,
    "contents": contents,
    "exactness": lambda estimate: exactness(estimate, DOMAIN),
}


def private(release):
    """The release, as if its noise could not be reproduced: of one that is not private a certificate says nothing."""
    return replace(release, privacy=replace(release.privacy, private=True))


class Unknown:
    """An estimate of a kind that no publisher knows."""

    kind = "unheard-of"


def release_of(kind):
    records, frame = RECORDS.get(kind, POINTS), FRAMES.get(kind, DOMAIN)
    return EXAMPLES[kind].release(records, frame, epsilon=1, noise=sdp.SeededNoise(1))


def test_there_is_an_example_of_every_kind():
    assert set(EXAMPLES) == set(KINDS)
    assert {kind: release_of(kind).estimate.kind for kind in KINDS} == {kind: kind for kind in KINDS}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_all_that_the_protocol_names(kind):
    estimate = release_of(kind).estimate
    names = [name for name in (*vars(Estimate), *Estimate.__annotations__) if not name.startswith("_")]
    assert len(names) > 12
    assert not [name for name in names if not hasattr(estimate, name)]


@pytest.mark.parametrize("publisher", PUBLISHERS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_publisher_knows_every_kind_or_refuses_it_in_words(kind, publisher, tmp_path):
    release, refusal = release_of(kind), None
    try:
        PUBLISHERS[publisher](release, tmp_path)
    except SpatialDPError as error:
        refusal = str(error)
    finally:
        plt.close("all")
    assert refusal is None or len(refusal.split()) > 8
    assert refusal is None or not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", KINDS)
def test_a_complete_file_brings_the_same_kind_back(kind, tmp_path):
    release = release_of(kind)
    release.save(tmp_path / "release.parquet")
    again = sdp.load(tmp_path / "release.parquet")
    assert again.estimate.kind == kind
    answers = [each.answer(**ASKED[kind]) if kind in ASKED else each.answer(BOX) for each in (again, release)]
    assert answers[0] == answers[1]


@pytest.mark.parametrize("publisher", PUBLISHERS)
def test_zones_that_are_codes_alone_are_published_or_refused_in_words(publisher, tmp_path):
    zones = sdp.Zones.from_codes(["a1", "a2", "b1"], None, {"letter": 1, "code": 2})
    release, refusal = sdp.ZoneTree().release(sdp.Codes(["a1", "b1"]), zones, epsilon=1), None
    try:
        PUBLISHERS[publisher](release, tmp_path)
    except SpatialDPError as error:
        refusal = str(error)
    finally:
        plt.close("all")
    assert refusal is None or len(refusal.split()) > 8
    assert refusal is None or not list(tmp_path.iterdir())
    assert "codes alone" in release._repr_html_()
    released = {path.suffix for path in tmp_path.iterdir()} - {".json"}
    written = {"a file .parquet": {".parquet"}, "a file .csv": {".csv"}, "a certificate": {".html"}}
    assert released == written.get(publisher, set())


@pytest.mark.parametrize("dispatcher", DISPATCHERS)
def test_an_unknown_kind_is_refused_in_words(dispatcher):
    with pytest.raises(SpatialDPError, match="unheard-of"):
        DISPATCHERS[dispatcher](Unknown())


def test_nobody_asks_for_the_class_of_an_estimate():
    """Branching on kinds happens in the dispatchers: no row of `isinstance` tests in what publishes."""
    package = Path(sdp.__file__).parent
    asked = [
        f"{path.name}:{node.lineno}"
        for folder in ("outputs", "cli")
        for path in (package / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) == "isinstance"
        and {"Histogram", "Decomposition", "Field", "KdTree", "ListedCells", "ListOverMap", "ZoneCounts", "ZoneRelease"}
        & {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    ]
    assert not asked


@pytest.mark.parametrize("publisher", PUBLISHERS)
@pytest.mark.parametrize("space", ["cells", "blocks", "zones"])
def test_every_publisher_knows_the_maps_of_tables(space, publisher, tmp_path):
    """What a table refuses, because it has many maps, each of its maps can do."""
    places = FRAMES["zones"] if space == "zones" else DOMAIN.grid((8, 6))
    kinds = sdp.Categories(["a", "b"])
    frame = sdp.Frame(places, blocks=(2,) if space == "blocks" else (), kind=kinds)
    mechanism = sdp.Table(budget={"box": (1, 2)}) if space == "blocks" else sdp.Table()
    release = mechanism.release(sdp.Rows(POINTS, kind=["a", "b"] * 100), frame, epsilon=1).at(kind="b")
    refusal = ""
    try:
        PUBLISHERS[publisher](release, tmp_path)
    except SpatialDPError as error:
        refusal = str(error)
    finally:
        plt.close("all")
    assert ("equal pixels" in refusal) == (space == "zones" and publisher in ("a file .tif", "a file .tiff"))
    assert ("equal pixels" in refusal) == bool(refusal)


@pytest.mark.parametrize("publisher", PUBLISHERS)
@pytest.mark.parametrize("records", [[], [[0.3, 0.7]] * 99], ids=["nothing listed", "one cell"])
def test_lists_of_a_grid_that_nobody_lays_out_are_published_or_refused_in_words(publisher, records, tmp_path):
    release, refusal = sdp.Sparse((2**30, 2**30), false=1e-6).release(records, DOMAIN, epsilon=1), None
    try:
        PUBLISHERS[publisher](release, tmp_path)
    except SpatialDPError as error:
        refusal = str(error)
    finally:
        plt.close("all")
    refused = {"a file .tif", "a file .tiff"} | (set() if records else {"synthetic points"})
    assert (refusal is not None) == (publisher in refused)
    assert refusal is None or not list(tmp_path.iterdir())
