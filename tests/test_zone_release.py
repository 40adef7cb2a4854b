"""Questions to a release of zones: by code, by sets of codes, by place, and by level."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
import shapely
from click.testing import CliRunner

import spatialdp as sdp
from spatialdp.cli import main
from spatialdp.errors import ParameterError, ReleaseError
from tests.helpers.zone_cities import zones_with_cities
from tests.helpers.zone_releases import release_of, zones_of

RELEASE = release_of(zones_of())


def test_a_code_has_a_number_and_a_list_of_codes_an_array():
    one, many = RELEASE.answer("A1"), RELEASE.answer(["A1", "B", "all zones"])
    assert isinstance(one, float)
    assert many.shape == (3,)
    assert many[0] == one
    assert many[2] == RELEASE.total
    assert RELEASE.answer(np.array(["A1", "B"])).tolist() == many[:2].tolist()
    assert RELEASE.interval("A1").shape == (2,)
    assert RELEASE.interval(["A1", "B"]).shape == (2, 2)


def test_all_leaves_of_a_county_have_the_countys_answer_and_interval():
    for county, tracts in {"A1": ["A1a", "A1b", "A1c"], "A": ["A1", "A2"], "B": ["B1a", "B1b"]}.items():
        assert RELEASE.answer_set(tracts) == RELEASE.answer(county)
        assert RELEASE.interval_set(tracts) == pytest.approx(RELEASE.interval(county), rel=1e-12)
    assert RELEASE.answer_set(["A1", "A1a", "A2a", "A1"]) == RELEASE.answer("A")


def test_zones_that_are_one_area_have_one_answer():
    assert RELEASE.answer("A2") == RELEASE.answer("A2a")
    assert RELEASE.answer("B") == RELEASE.answer("B1")


def test_sets_may_be_one_or_many():
    assert isinstance(RELEASE.answer_set(["A1", "B"]), float)
    many = RELEASE.answer_set([["A1", "B"], ["C"], []])
    assert many.tolist() == [RELEASE.answer_set(["A1", "B"]), RELEASE.answer("C"), 0.0]
    assert RELEASE.answer_set([]) == 0.0
    assert RELEASE.interval_set([["A1"], ["C", "B"]]).shape == (2, 2)


def test_unknown_codes_and_levels_are_refused():
    with pytest.raises(ParameterError, match="Z9"):
        RELEASE.answer("Z9")
    with pytest.raises(ParameterError, match="parish"):
        RELEASE.level("parish")


@pytest.mark.parametrize("level", ["all zones", "state", "county", "tract"])
def test_each_level_adds_up_to_the_total(level):
    frame = RELEASE.level(level)
    assert frame["estimate"].sum() == pytest.approx(RELEASE.total)
    assert {"zone", "parent", "estimate", "lower", "upper", "sd"} <= set(frame.columns)
    assert frame["estimate"].tolist() == RELEASE.answer(frame["zone"]).tolist()
    assert frame[["lower", "upper"]].to_numpy() == pytest.approx(RELEASE.interval(frame["zone"].to_numpy()))
    assert shapely.area(frame.geometry.to_numpy()).sum() == pytest.approx(22.0)
    assert frame.attrs["privacy"]["epsilon"] == 1.0


def test_a_leaf_above_a_level_stands_for_itself():
    assert "C" in RELEASE.level("tract")["zone"].tolist()
    assert RELEASE.level("county").set_index("zone").loc["C", "parent"] == "all zones"


def test_places_are_answered_by_whole_zones_and_shares_of_areas():
    one, two = RELEASE.answer(["A1a", "A1b"])
    assert RELEASE.answer((0, 0, 1, 2)) == pytest.approx(one)
    assert RELEASE.answer((0, 0, 2, 2)) == pytest.approx(one + two / 2, rel=1e-6)
    assert RELEASE.answer_polygons(shapely.box(0, 0, 2, 1)) == pytest.approx(one / 2 + two / 4, rel=1e-6)
    whole = RELEASE.zones.geometry
    assert RELEASE.answer_polygons(list(whole)).tolist() == RELEASE.estimate.leaf_values().tolist()
    assert RELEASE.interval_polygons(list(whole)) == pytest.approx(
        RELEASE.interval(RELEASE.zones.codes[RELEASE.zones.shape.leaves])
    )


def test_an_interval_about_the_truth_of_a_cut_zone_holds_all_that_may_lie_in_it():
    cut = RELEASE.interval((0, 0, 2, 2), 0.9)
    inside, touched = RELEASE.interval("A1a", 0.9), RELEASE.interval_set(["A1a", "A1b"], 0.9)
    assert cut == pytest.approx([inside[0], touched[1]])
    noise = RELEASE.interval((0, 0, 2, 2), 0.9, about="noise")
    assert noise.mean() == pytest.approx(RELEASE.answer((0, 0, 2, 2)))
    assert noise[1] - noise[0] < cut[1] - cut[0]


def test_places_outside_are_told_as_for_every_release():
    with pytest.raises(ParameterError, match="outside the domain"):
        RELEASE.answer((50, 50, 60, 60))


def test_zones_of_codes_alone_answer_codes_and_refuse_places():
    bare = release_of(zones_of(geometry=False))
    assert bare.answer("A1") == pytest.approx(RELEASE.answer("A1"))
    assert "geometry" not in bare.level("county")
    triangle = shapely.Polygon([(0, 0), (1, 0), (0, 1)])
    for ask in (
        lambda: bare.answer((0, 0, 1, 1)),
        lambda: bare.interval((0, 0, 1, 1)),
        lambda: bare.uniformity((0, 0, 1, 1)),
        lambda: bare.answer_polygons(triangle),
        lambda: bare.interval_polygons(triangle),
    ):
        with pytest.raises(ReleaseError, match="codes"):
            ask()


def test_whole_tables_add_up_and_have_no_intervals():
    table = RELEASE.non_negative().rounded()
    assert isinstance(table, sdp.ZoneRelease)
    frames = [table.level(level) for level in table.zones.levels]
    assert {float(frame["estimate"].sum()) for frame in frames} == {table.total}
    assert all((frame["estimate"] >= 0).all() and (frame["estimate"] % 1 == 0).all() for frame in frames)
    assert not {"lower", "upper", "sd"} & set(frames[0].columns)
    with pytest.raises(ReleaseError, match="unbiased"):
        table.interval("A1")


def test_known_totals_have_no_noise():
    release = release_of(zones_of(), known=(1,))
    frame = release.level("state")
    assert not frame["sd"].any()
    assert (frame["upper"] - frame["lower"]).tolist() == [0.0, 0.0, 0.0]
    assert release.level("tract")["sd"].max() > 0


def test_its_words_name_the_levels():
    assert repr(RELEASE).startswith("<ZoneRelease of 7 zones")
    assert "state, county, tract" in repr(RELEASE)


@pytest.mark.parametrize("geometry", [True, False])
def test_areas_that_cut_the_zones_are_sets_of_their_parts(geometry, tmp_path):
    zones = zones_with_cities(geometry=geometry)
    release = release_of(zones)
    leaves = np.flatnonzero(zones.shape.leaves)
    for city in ("X", "Y"):
        parts = release.estimate.of_sets([leaves[zones.sets["city"] == city]])
        assert release.answer(city) == release.answer(city, at="city") == parts.values[0]
        assert release.interval(city, at="city").mean() == pytest.approx(parts.values[0])
    assert release.answer(["A1", "A2"]).sum() == pytest.approx(release.answer("A"))
    assert release.answer_set(["A1", "A2"]) == pytest.approx(release.answer("A"))
    assert release.answer_set(["X", "Y"], at="city") == pytest.approx(release.answer(["X", "Y"]).sum())
    frame = release.level("city")
    assert frame["zone"].tolist() == ["X", "Y"]
    assert frame["estimate"].tolist() == release.answer(["X", "Y"], at="city").tolist()
    assert frame[["lower", "upper"]].to_numpy() == pytest.approx(release.interval(["X", "Y"], at="city"))
    assert sorted(release.level("tract")["zone"]) == ["A1", "A2", "B1", "B2"]
    assert release.level("county")["estimate"].sum() == pytest.approx(release.total)
    release.save(tmp_path / "cities.parquet")
    again = sdp.load(tmp_path / "cities.parquet")
    assert (
        again.level("city")
        .drop(columns="geometry", errors="ignore")
        .equals(frame.drop(columns="geometry", errors="ignore"))
    )
    if geometry:
        assert shapely.area(frame.geometry.to_numpy()).tolist() == pytest.approx([1.5, 0.5])


def test_a_code_that_is_an_area_of_two_kinds_must_be_told_apart():
    columns = {"county": ["A", "A", "B"], "tract": ["A1", "A2", "B1"], "city": ["B", None, None]}
    release = release_of(sdp.Zones(pd.DataFrame(columns), ["county", "tract"], also="city"))
    with pytest.raises(ParameterError, match="which one"):
        release.answer("B")
    assert release.answer("B", at="city") == release.answer("A1")


def test_what_is_neither_a_code_nor_a_box_is_refused_in_words():
    for wrong in (37063, [37063, 37135], None):
        with pytest.raises(ParameterError, match="codes as text"):
            RELEASE.answer(wrong)
    for wrong in ("A1", 37063):
        with pytest.raises(ParameterError, match="list of codes"):
            RELEASE.answer_set(wrong)
    with pytest.raises(ParameterError, match="no zone"):
        RELEASE.answer_set([3, 4])
    assert RELEASE.answer([]).shape == (0,)
    assert RELEASE.interval([]).shape == (0, 2)
    assert RELEASE.answer_set(pd.Series(["A1", "B"])) == RELEASE.answer_set(("A1", "B"))


def test_a_release_can_be_sent_to_another_process():
    again = pickle.loads(pickle.dumps(RELEASE))
    assert again.answer(["A1", "C"]).tolist() == RELEASE.answer(["A1", "C"]).tolist()
    assert again.answer((0, 0, 2, 2)) == RELEASE.answer((0, 0, 2, 2))


def test_the_command_line_refuses_places_of_zones_that_are_codes_alone(tmp_path):
    path = tmp_path / "codes.parquet"
    release_of(zones_of(geometry=False)).save(path)
    refused = CliRunner().invoke(main, ["query", str(path), "--bbox=0,0,1,1"])
    assert refused.exit_code == 2
    assert "codes" in refused.stderr
