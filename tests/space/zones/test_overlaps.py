import geopandas
import numpy as np
import pytest
import shapely

import spatialdp as sdp
from spatialdp.errors import ParameterError
from tests.helpers.zones import squares, tiling


def zones_of(*areas):
    return sdp.Zones(geopandas.GeoDataFrame({"zone": list("abcdefgh")[: len(areas)]}, geometry=list(areas)), ["zone"])


def test_zones_that_fit_together():
    for seed in range(3):
        check = sdp.Zones(tiling(seed), ["state", "county"]).check()
        assert check.overlaps == []
        assert check.repaired.size == 0


@pytest.mark.parametrize("by", [0.02, 0.5, 1.0])
def test_gross_overlaps_are_refused_by_name(by):
    with pytest.raises(ParameterError, match="zones 'a' and 'b' have"):
        zones_of(shapely.box(0, 0, 1, 1), shapely.box(1 - by, 0, 2 - by, 1))


def test_a_zone_within_another_one_is_refused():
    with pytest.raises(ParameterError, match="100%"):
        zones_of(shapely.box(0, 0, 4, 4), shapely.box(1, 1, 2, 2))


def test_two_whole_tilings_are_refused():
    one, two = tiling(1), tiling(2)
    two["county"] = "x" + two.county
    with pytest.raises(ParameterError, match="in common"):
        sdp.Zones(geopandas.pd.concat([one, two]), ["state", "county"])


def test_small_overlaps_gaps_and_slivers_are_reported():
    ring = shapely.Polygon(shapely.box(0, 0, 4, 4).exterior, [shapely.box(1, 1, 2, 2).exterior])
    check = zones_of(ring, shapely.box(3.999, 0, 8, 4)).check()
    ((one, two, area),) = check.overlaps
    assert (one, two) == ("a", "b")
    assert area == pytest.approx(0.004)
    assert shapely.area(check.gaps).tolist() == [1.0]
    assert len(check.slivers) == 1
    assert "| overlaps          | 1      |" in str(check)


def test_pairs_are_those_of_all_pairs():
    generator = np.random.default_rng(3)
    areas = [shapely.box(x, y, x + 1, y + 1) for x in range(5) for y in range(5)]
    areas = [shapely.affinity.translate(area, *generator.choice([0, 0.004, -0.004], 2)) for area in areas]
    frame = geopandas.GeoDataFrame({"zone": [f"{i:02}" for i in range(25)]}, geometry=areas)
    found = {(one, two) for one, two, _ in sdp.Zones(frame, ["zone"]).check().overlaps}
    want = {(f"{i:02}", f"{j:02}") for i in range(25) for j in range(i) if areas[i].intersection(areas[j]).area > 1e-9}
    assert found == {(j, i) for i, j in want}


def test_repaired_polygons_are_told():
    bow = shapely.Polygon([(0, 0), (2, 2), (2, 0), (0, 2)])
    check = sdp.Zones(
        geopandas.GeoDataFrame({"zone": ["bow", "box"]}, geometry=[bow, shapely.box(3, 0, 4, 1)]), ["zone"]
    )
    assert check.check().repaired.tolist() == ["bow"]


def test_zones_without_geometries_have_nothing_to_check():
    with pytest.raises(ParameterError, match="no geometries"):
        sdp.Zones(squares("a", "b").drop(columns="geometry"), ["zone"]).check()
