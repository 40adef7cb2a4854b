"""What the page knows of zones: the library's numbers, and polygons that a screen can draw."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
import shapely

import spatialdp as sdp
from spatialdp.errors import ReleaseError
from spatialdp.outputs.explorer import page, zones
from tests.helpers.zone_releases import release_of, zones_of

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node, which runs the page's code, is missing")
ASSETS = Path(page.__file__).parent / "assets"

SCRIPT = """
const { Release } = await import("ASSETS/answers.mjs");
const { unpackAll } = await import("ASSETS/unpack.mjs");
const { readFileSync } = await import("node:fs");
const { data, codes, places } = JSON.parse(readFileSync(0, "utf8"));
const release = new Release(await unpackAll(data));
const estimate = release.estimate;
const asked = codes.map(([level, code]) => {
  estimate.level = level;
  const node = estimate.find(code);
  return node === undefined ? null : { ...release.askCell(estimate.zone(node)), name: estimate.nameOf(node),
    above: estimate.above(node), edges: estimate.outlineOf(node).length };
});
const found = places.map(([level, x, y]) => {
  estimate.level = level;
  return estimate.at([x, y])?.name ?? null;
});
process.stdout.write(JSON.stringify({ asked, found }));
"""


def run(release, codes=(), places=(), level=0.9):
    """What the page's own code says of zones and places."""
    data = json.loads(page._json(page._data(release, level)))
    given = json.dumps({"data": data, "codes": list(codes), "places": list(places)})
    command = ["node", "--input-type=module", "-e", SCRIPT.replace("ASSETS", ASSETS.as_uri())]
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@needs_node
@pytest.mark.parametrize("consistent", [True, False])
def test_page_answers_zones_as_the_library(consistent):
    release = release_of(zones_of(), consistent=consistent)
    names = list(zip(release.zones.shape.depth.tolist(), release.zones.codes.tolist(), strict=True))
    asked = run(release, names)["asked"]
    codes = [code for _, code in names]
    ends = release.interval(codes, 0.9)
    assert [each["estimate"] for each in asked] == pytest.approx(release.answer(codes))
    assert [each["low"] for each in asked] == pytest.approx(ends[:, 0])
    assert [each["high"] for each in asked] == pytest.approx(ends[:, 1])
    tract = asked[codes.index("A1a")]
    assert (tract["name"], tract["above"]) == ("tract A1a", ["county A1", "state A"])
    assert asked[0]["name"] == "all zones"


@needs_node
def test_codes_are_found_on_the_chosen_level_or_on_another():
    release = release_of(zones_of())
    asked = run(release, [(1, "A1a"), (3, "C"), (3, "nowhere")])["asked"]
    assert asked[0]["name"] == "tract A1a"
    assert asked[1]["name"] == "state C"
    assert asked[2] is None


@needs_node
@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_pointing_at_a_place_finds_the_zone_of_the_level(level):
    release = release_of(zones_of())
    frame = release.zones
    centres = shapely.get_coordinates(shapely.centroid(frame.geometry))
    x, y = ((centres[:, i] - frame.domain.bounds[i]) / frame.domain.size[i] * 2**30 for i in (0, 1))
    found = run(release, (), [(level, *place) for place in zip(x, y, strict=True)])["found"]
    for leaf, name in enumerate(found):
        node = frame.leaf_nodes[leaf]
        while frame.shape.depth[node] > level:
            node = frame.shape.parent[node]
        assert name.split()[-1] == frame.codes[node].split()[-1]
    assert run(release, (), [(level, -5, 5)])["found"] == [None]


@needs_node
def test_the_outline_of_a_zone_has_no_borders_within_it():
    release = release_of(zones_of())
    asked = run(release, [(0, "all zones"), (3, "C")])["asked"]
    assert asked[1]["edges"] == 4
    assert asked[0]["edges"] < 4 * 7  # seven boxes side by side have six borders, two edges each, that go


def test_units_and_scales_belong_to_levels():
    release = release_of(zones_of())
    view = zones.zone_view(release.estimate, "persons")
    assert len(view["units"]) == len(view["scales"]) == 4
    assert all(unit == "Estimated persons per km²" for unit in view["units"])
    assert all(0 < scale["soft"] < scale["high"] for scale in view["scales"])
    assert view["example"] in release.zones.codes


def test_too_many_zones_are_drawn_on_a_higher_level(monkeypatch):
    release = release_of(zones_of())
    assert zones.drawn_depth(release.estimate) == 3
    monkeypatch.setattr(zones, "MOST_ZONES", 5)
    assert zones.drawn_depth(release.estimate) == 2
    data = page._data(release, 0.9)
    assert data["estimate"]["levels"] == ["all zones", "state", "county"]
    monkeypatch.setattr(zones, "MOST_ZONES", 2)
    with pytest.raises(ReleaseError, match="a page draws at most 2"):
        zones.drawn_depth(release.estimate)


def test_polygons_become_simpler_until_a_page_can_hold_them(monkeypatch):
    release = release_of(zones_of())
    round_zone = np.array([shapely.Point(2, 1).buffer(1, quad_segs=1000)], dtype=object)
    fine = zones._simplified(round_zone, release.domain)
    monkeypatch.setattr(zones, "MOST_VERTICES", 20)
    coarse = zones._simplified(round_zone, release.domain)
    assert shapely.get_num_coordinates(coarse[0]) < shapely.get_num_coordinates(fine[0]) < 4000


def test_the_whole_page_holds_zones_and_nothing_from_elsewhere():
    text = page.page_text(release_of(zones_of()), title="Tracts")
    assert "state: 3; county: 3; tract: 6" in text
    assert "default-src 'none'" in text
    assert 'data-hint="Tap the map to read a zone."' in text
    assert "add up" in text
    biased = page.page_text(release_of(zones_of()).non_negative())
    assert 'value="uncertainty" disabled' in biased


def test_codes_without_polygons_have_no_page():
    with pytest.raises(ReleaseError, match="codes without polygons"):
        page.page_text(release_of(zones_of(geometry=False)))


def test_equal_releases_give_equal_pages(tmp_path):
    release = release_of(zones_of())
    release.save(tmp_path / "release.parquet")
    assert page.page_text(sdp.load(tmp_path / "release.parquet")) == page.page_text(release)
