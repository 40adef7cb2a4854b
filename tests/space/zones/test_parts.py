import geopandas
import numpy as np
import pandas as pd
import pytest
import shapely

import spatialdp as sdp
from spatialdp.errors import ParameterError


def tracts():
    """Two counties of four square tracts each, side by side."""
    areas = [shapely.box(x, y, x + 1, y + 1) for x in range(4) for y in range(2)]
    codes = [f"{x // 2}{x % 2}{y}" for x in range(4) for y in range(2)]
    return geopandas.GeoDataFrame({"county": [code[0] for code in codes], "tract": codes}, geometry=areas)


def city(*areas):
    return geopandas.GeoDataFrame({"city": [f"C{i}" for i in range(len(areas))]}, geometry=list(areas))


def codes_of(zones, nodes):
    return sorted(zones.codes[nodes].tolist())


def test_a_city_that_cuts_counties_is_the_parts_of_its_counties():
    zones = sdp.Zones(tracts(), ["county", "tract"], also=city(shapely.box(1, 0, 3, 2)))
    assert zones.levels == ("all zones", "county", "county and city", "tract")
    assert codes_of(zones, zones.areas_of("C0", "city")) == ["0/C0", "1/C0"]
    assert zones.n_leaves == 8  # whole tracts: none is cut
    assert codes_of(zones, zones.areas_of("010")) == ["010"]
    assert codes_of(zones, zones.areas_of("0", "county")) == ["0"]


def test_a_tract_that_is_cut_is_a_set_of_leaves():
    zones = sdp.Zones(tracts(), ["county", "tract"], also=city(shapely.box(0.5, 0, 2, 1)))
    assert zones.n_leaves == 9
    assert codes_of(zones, zones.areas_of("000", "tract")) == ["000/-", "000/C0"]
    assert codes_of(zones, zones.areas_of("C0")) == ["0/C0"]
    with pytest.raises(ParameterError, match="areas_of"):
        zones.nodes_of("000")
    assert shapely.area(zones.geometry).sum() == pytest.approx(8)
    inside = zones.leaves_of(zones.areas_of("C0"))
    assert shapely.union_all(zones.geometry[inside]).equals(shapely.box(0.5, 0, 2, 1))


def test_two_cities_and_slivers_that_stay_with_their_tract():
    cities = city(shapely.box(0.5, 0, 1, 1), shapely.box(1e-8 + 2, 0, 4, 2))
    zones = sdp.Zones(tracts(), ["county", "tract"], also=cities)
    assert codes_of(zones, zones.areas_of("C1")) == ["1"]  # the whole county, but for a sliver
    assert codes_of(zones, zones.areas_of("C0")) == ["0/C0"]


def test_every_area_is_its_leaves():
    generator = np.random.default_rng(4)
    for _ in range(5):
        low = generator.uniform(0, 2, 2)
        area = shapely.box(low[0], low[1] / 2, low[0] + 1.7, low[1] / 2 + 0.9)
        zones = sdp.Zones(tracts(), ["county", "tract"], also=city(area))
        leaves = zones.leaves_of(zones.areas_of("C0"))
        assert shapely.area(zones.geometry[leaves]).sum() == pytest.approx(
            area.intersection(shapely.box(0, 0, 4, 2)).area
        )


def test_a_column_of_codes_says_in_which_area_a_leaf_lies():
    frame = pd.DataFrame(
        {
            "county": ["1", "1", "1", "2"],
            "tract": ["1a", "1a", "1b", "2a"],
            "block": ["1a1", "1a2", "1b1", "2a1"],
            "city": ["C", None, None, "C"],
        }
    )
    zones = sdp.Zones(frame, ["county", "tract", "block"], also="city", under="county")
    assert zones.levels == ("all zones", "county", "county and city", "tract", "block")
    assert codes_of(zones, zones.areas_of("C", "city")) == ["1/C", "2"]
    assert codes_of(zones, zones.areas_of("1a", "tract")) == ["1/C", "1a/-"]
    assert codes_of(zones, zones.areas_of("1b")) == ["1b"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"also": "nothing"}, "no column 'nothing'"),
        ({"also": 5}, "also is a int"),
        ({"also": city(shapely.box(0, 0, 1, 1)).assign(size="2")}, "one column of codes"),
        ({"also": city(shapely.box(0, 0, 1, 1)).assign(city="-")}, "codes of also"),
        ({"also": city(shapely.box(0, 0, 1, 1)), "under": "tract"}, "under is 'tract'"),
        ({"also": None, "under": "county"}, "under is given without"),
        ({"also": city(shapely.box(0, 0, 1, 1)).rename(columns={"city": "tract"})}, "named like the level"),
        ({"also": city(shapely.box(0, 0, 1, 1)).set_crs(4326)}, "CRS"),
        ({"also": city(shapely.box(0, 0, 2, 1), shapely.box(1, 0, 3, 1))}, "in common"),
    ],
)
def test_areas_that_part_zones_are_checked(change, words):
    with pytest.raises(sdp.SpatialDPError, match=words):
        sdp.Zones(tracts(), ["county", "tract"], **change)


def test_polygons_need_geometries_to_cut():
    with pytest.raises(ParameterError, match="no geometries"):
        sdp.Zones(
            pd.DataFrame(tracts().drop(columns="geometry")), ["county", "tract"], also=city(shapely.box(0, 0, 1, 1))
        )
