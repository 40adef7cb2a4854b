"""The public frame on the command line: a domain or zones, and never both."""

from __future__ import annotations

import click
import geopandas
import pytest
import shapely

import spatialdp as sdp
from spatialdp.cli.options.frame import Names, Prefixes
from tests.helpers.commands import BOUNDS, run

ZONES = geopandas.GeoDataFrame(
    {"state": ["01", "01", "02"], "county": ["01001", "01002", "02001"]},
    geometry=[shapely.box(x, 0, x + 1 / 3, 1) for x in (0, 1 / 3, 2 / 3)],
    crs="EPSG:4326",
)


@pytest.fixture
def zones(tmp_path):
    ZONES.to_parquet(tmp_path / "zones.parquet")
    return tmp_path / "zones.parquet"


def test_lists_and_lengths_are_read_as_typed():
    assert Names().convert("state, county", None, None) == ("state", "county")
    assert Prefixes().convert("state=2, county=5", None, None) == {"state": 2, "county": 5}
    for kind, text in ((Names(), "state,,county"), (Names(), "a,a"), (Prefixes(), "state"), (Prefixes(), "state=two")):
        with pytest.raises(click.BadParameter, match=r"required, such as|are required"):
            kind.convert(text, None, None)


@pytest.mark.parametrize(
    "options",
    [("--levels=state,county",), ("--prefixes=state=2,county=5", "--code=county")],
    ids=["levels", "prefixes"],
)
def test_zones_take_the_place_of_bounds(zones, options):
    told = run("plan", "--zones", zones, *options, "--epsilon=1").stdout
    assert "method    zone-tree" in told
    assert "counts by county" in told


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), "exactly one must say how zones lie in each other"),
        (("--levels=state,county", "--prefixes=state=2,county=5", "--code=county"), "none or both"),
        (("--prefixes=state=2,county=5",), "give the column of the code with --code"),
        (("--levels=state,county", "--code=county"), "--code is for --prefixes"),
        (("--levels=state,county", BOUNDS), "zones have bounds of their own"),
        (("--levels=state,county", "--under=state"), "--under is for --also"),
        (("--levels=state,county", "--method=quadtree", "--height=3"), "counts in a domain, but zones were given"),
        (("--levels=state,nix",), "no column 'nix'"),
    ],
)
def test_zones_that_are_not_described_are_refused(zones, options, words):
    assert words in " ".join(run("plan", "--zones", zones, *options, "--epsilon=1", code=2).stderr.split())


def test_options_of_zones_need_zones():
    assert "--zones was not given" in run("plan", BOUNDS, "--levels=state", "--epsilon=1", code=2).stderr
    told = run("plan", BOUNDS, "--method=zone-tree", "--epsilon=1", code=2).stderr
    assert "counts in zones, but a domain was given; give --zones FILE" in told


HEXAGONS = ("--h3", "2,4", "--epsilon=1")


def test_hexagons_take_the_area_of_a_domain(tmp_path):
    area = shapely.box(10, 46, 16, 49)
    geopandas.GeoSeries([area], crs="EPSG:4326").to_file(tmp_path / "area.gpkg")
    zones = sdp.H3(area, resolutions=(2, 4))
    expected = f"{sdp.ZoneTree().plan(zones, epsilon=1)}\n"
    for given in (("--region", tmp_path / "area.gpkg"), ("--bounds=10,46,16,49",)):
        assert run("plan", *HEXAGONS, *given).stdout == expected
    table = run("plan", *HEXAGONS, "--bounds=10,46,16,49", "--categories=a,b").stdout
    assert "resolution 4 x categories" in table


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), "--h3 takes the cells whose centre lies in a public area"),
        (("--bounds=10,46,16,49", "--region-cells=centres"), "leave --region-cells out"),
        (("--bounds=4e6,2e6,5e6,3e6", "--crs=EPSG:3035"), "H3 divides the earth in longitude and latitude"),
        (("--zones=zones.parquet", "--levels=state"), "--zones and --h3 were given"),
        (("--bounds=10,46,16,49", "--levels=state"), "--levels is for zones, but --zones was not given"),
        (("--bounds=10,46,16,49", "--method=flat", "--shape=2,2"), "leave --zones and --h3 out"),
    ],
)
def test_hexagons_that_are_not_described_are_refused(options, words):
    assert words in " ".join(run("plan", *HEXAGONS, *options, code=2).stderr.split())


def test_resolutions_are_whole_numbers():
    assert "whole numbers with commas" in run("plan", "--h3=4,x", BOUNDS, "--epsilon=1", code=2).stderr


def test_areas_that_cut_zones_come_from_a_file_or_a_column(zones, tmp_path):
    given = ("plan", "--zones", zones, "--levels=state,county", "--epsilon=1")
    city = geopandas.GeoDataFrame({"city": ["X"]}, geometry=[shapely.box(0.2, 0, 0.5, 0.5)], crs="EPSG:4326")
    city.to_file(tmp_path / "city.gpkg")
    assert "zones" in run(*given, "--also", tmp_path / "city.gpkg").stdout
    ZONES.assign(city=["X", None, "X"]).to_parquet(zones)
    assert "zones" in run(*given, "--also", "city", "--under", "state").stdout
