import geopandas
import numpy as np
import pytest
import shapely

import spatialdp as sdp
from spatialdp.errors import ParameterError
from spatialdp.space.zones.outlines import polygons_alone

WORLD = "EPSG:4326"
ROME = shapely.box(12, 41, 13, 42)
LIMA = shapely.box(-78, -13, -76, -11)


def zones_of(*areas, crs=WORLD):
    frame = geopandas.GeoDataFrame({"zone": list("abcdefgh")[: len(areas)]}, geometry=list(areas), crs=crs)
    return sdp.Zones(frame, ["zone"])


def test_a_zone_that_is_cut_at_180_degrees_stays_as_it_is():
    fiji = shapely.MultiPolygon([shapely.box(177, -19, 180, -16), shapely.box(-180, -19, -178, -16)])
    zones = zones_of(fiji, ROME)
    assert zones.geometry[0].equals(fiji)
    assert zones.domain.bounds == (-180.0, -19.0, 180.0, 42.0)


@pytest.mark.parametrize("low", [177, -183])
def test_a_zone_beyond_180_degrees_is_cut(low):
    zones = zones_of(shapely.box(low, -19, low + 5, -16), LIMA)
    assert sorted(part.bounds[::2] for part in zones.geometry[0].geoms) == [(-180.0, -178.0), (177.0, 180.0)]


def test_longitudes_from_0_to_360_stay_as_they_are():
    zones = zones_of(shapely.box(177, -19, 182, -16), ROME)
    assert zones.domain.bounds == (12.0, -19.0, 182.0, 42.0)


def test_an_edge_around_half_the_world_is_refused_by_name():
    chukotka = shapely.Polygon([(170, 65), (-170, 65), (-170, 70), (170, 70)])
    with pytest.raises(ParameterError, match="zone 'b' has an edge of more than 180 degrees"):
        zones_of(ROME, chukotka)
    assert zones_of(chukotka, crs=None).n_leaves == 1  # without a CRS, numbers are numbers


def test_antarctica_may_run_along_the_pole():
    antarctica = shapely.Polygon([(-180, -90), (180, -90), (180, -80), (90, -70), (0, -75), (-90, -70), (-180, -80)])
    assert zones_of(antarctica, ROME).n_leaves == 2


@pytest.mark.parametrize(
    ("area", "words"),
    [
        (None, "zone 'b' is not a polygon"),
        (shapely.Point(0, 0), "zone 'b' is not a polygon"),
        (shapely.LineString([(0, 0), (1, 1)]), "zone 'b' is not a polygon"),
        (shapely.Polygon(), "zone 'b' is empty"),
        (shapely.Polygon([(0, 0), (1, 1), (0, 0)]), "zone 'b' is empty"),
        (shapely.Polygon([(0, 0), (1, np.inf), (1, 0)]), "zone 'b' has a corner that is not finite"),
    ],
)
def test_what_has_no_area_is_refused_by_name(area, words):
    with pytest.raises(ParameterError, match=words):
        zones_of(ROME, area)


def test_heights_are_left_out():
    assert not shapely.has_z(zones_of(shapely.force_3d(ROME, 5.0)).geometry).any()


def test_neighbours_have_the_same_snapped_edge():
    zones = zones_of(
        shapely.Polygon([(0, 0), (1 / 3, 0), (0.7, 1), (0, 1)]), shapely.Polygon([(1 / 3, 0), (1, 0), (1, 1), (0.7, 1)])
    )
    one, two = (set(map(tuple, shapely.get_coordinates(area).tolist())) for area in zones.outlines)
    assert len(one & two) == 2


def test_polygons_of_collections():
    inner = shapely.MultiPolygon([shapely.box(0, 0, 1, 1), shapely.box(2, 0, 3, 1)])
    mixed = np.array([shapely.GeometryCollection([inner, shapely.Point(9, 9)]), shapely.GeometryCollection()], object)
    whole, nothing = polygons_alone(mixed)
    assert whole.equals(inner)
    assert nothing.is_empty
