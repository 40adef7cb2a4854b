import h3.api.basic_int as library
import numpy as np
import pandas as pd
import pytest
import shapely

import spatialdp as sdp
from spatialdp.errors import DomainError, ParameterError
from spatialdp.records.points import squares
from spatialdp.space.zones import h3
from spatialdp.space.zones.h3 import cells_in, cells_of, drawn, parents, texts

WORLD = shapely.box(-180, -90, 180, 90)
LONDON = shapely.box(-0.6, 51.2, 0.4, 51.8)


def places(count=2000, seed=1):
    generator = np.random.default_rng(seed)
    return generator.uniform(-180, 180, count), np.degrees(np.arcsin(generator.uniform(-1, 1, count)))


@pytest.mark.parametrize("resolution", [0, 5, 15])
def test_cells_are_those_of_h3(resolution):
    longitude, latitude = places()
    want = [library.latlng_to_cell(y, x, resolution) for x, y in zip(longitude, latitude, strict=True)]
    assert cells_of(longitude, latitude, resolution).tolist() == want


def test_parents_by_bits_are_those_of_h3():
    cells = cells_of(*places(), 15)
    for resolution in range(16):
        want = [library.cell_to_parent(cell, resolution) for cell in cells.tolist()]
        assert parents(cells, resolution).tolist() == want


@pytest.mark.parametrize("resolution", [0, 1, 2])
def test_the_world_has_all_cells_and_twelve_pentagons(resolution):
    cells = cells_in(WORLD, resolution)
    assert cells.size == library.get_num_cells(resolution)
    assert sum(map(library.is_pentagon, cells.tolist())) == 12


def test_pentagons_have_six_children():
    zones = sdp.H3(WORLD, (0, 1))
    fans = zones.shape.n_children[zones.shape.level(1)]
    assert sorted(set(fans.tolist())) == [6, 7]
    assert (fans == 6).sum() == 12


@pytest.mark.parametrize(
    "region",
    [
        LONDON,
        shapely.box(-180, 60, 180, 90),
        shapely.MultiPolygon([shapely.box(177, -20, 180, -15), shapely.box(-180, -20, -178, -15)]),
        shapely.Polygon(shapely.box(0, 0, 40, 40).exterior, [shapely.box(10, 10, 30, 30).exterior]),
        shapely.box(-170, -50, 170, 50),
    ],
)
def test_a_region_has_the_cells_whose_centre_it_contains(region):
    every = np.array(sorted(cell for base in library.get_res0_cells() for cell in library.cell_to_children(base, 3)))
    centres = np.array([library.cell_to_latlng(cell) for cell in every])
    want = every[shapely.contains_xy(region, centres[:, 1], centres[:, 0])]
    if want.size:
        assert cells_in(region, 3).tolist() == want.tolist()
    else:
        with pytest.raises(ParameterError, match="centre of no cell"):
            cells_in(region, 3)


def test_records_are_in_the_cell_of_the_centre_of_their_square():
    zones = sdp.H3(LONDON, (5, 7))
    generator = np.random.default_rng(2)
    x, y = generator.uniform(-0.7, 0.5, 500), generator.uniform(51.1, 51.9, 500)
    columns, rows = squares(x, y, zones.domain)
    leaves = zones.locator.leaves(columns, rows)
    codes = np.append(zones.codes[zones.leaf_nodes], None)[leaves]
    inside = columns >= 0
    assert (codes[~inside] == None).all()  # noqa: E711 - of each element
    want = texts(cells_of(x[inside], y[inside], 7))
    known = np.isin(want, zones.codes)
    assert (codes[inside] == np.where(known, want, None)).mean() > 0.99  # but for those beside an edge of a cell


def test_parents_in_the_tree_are_parents_by_index():
    zones = sdp.H3(LONDON, (4, 6, 7))
    assert zones.levels == ("all zones", "resolution 4", "resolution 6", "resolution 7")
    for level, resolution in ((2, 4), (3, 6)):
        nodes = np.arange(zones.shape.n_nodes)[zones.shape.level(level)]
        above = zones.codes[zones.shape.parent[nodes]]
        want = [
            library.int_to_str(library.cell_to_parent(library.str_to_int(code), resolution))
            for code in zones.codes[nodes]
        ]
        assert above.tolist() == want


def test_cells_are_drawn_within_180_degrees_and_up_to_the_poles():
    cells = cells_in(WORLD, 1)
    shapes = drawn(cells)
    west, south, east, north = shapely.total_bounds(shapes)
    assert (west, south, east, north) == (-180.0, -90.0, 180.0, 90.0)
    assert shapely.is_valid(shapes).all()
    assert shapely.area(shapes).sum() == pytest.approx(360 * 180, rel=2e-3)  # edges are straight in degrees here
    centres = np.array([library.cell_to_latlng(cell) for cell in cells.tolist()])
    assert shapely.intersects_xy(shapes, centres[:, 1], centres[:, 0]).mean() > 0.98


def test_geometry_is_in_the_order_of_the_leaves():
    zones = sdp.H3(LONDON, (5, 7))
    shape = zones.geometry[3]
    corners = library.cell_to_boundary(library.str_to_int(zones.codes[zones.leaf_nodes[3]]))
    assert shape.equals(shapely.Polygon(np.array(corners)[:, ::-1]))
    assert zones.leaf_areas.shape == (zones.n_leaves,)


@pytest.mark.parametrize("resolutions", [(), (8, 4), (4, 4), (-1,), (16,), (1.5,), ("4",)])
def test_resolutions_are_checked(resolutions):
    with pytest.raises(ParameterError, match="resolutions"):
        sdp.H3(LONDON, resolutions)


def test_too_many_cells_are_refused_before_they_are_listed():
    with pytest.raises(ParameterError, match="cells of resolution 8"):
        sdp.H3(WORLD, (8,))


def test_another_crs_is_refused():
    geopandas = pytest.importorskip("geopandas")
    with pytest.raises(DomainError, match="to_crs"):
        sdp.H3(geopandas.GeoSeries([shapely.box(0, 0, 1e5, 1e5)], crs="EPSG:3857"), (5,))
    assert sdp.H3(geopandas.GeoSeries([LONDON], crs="EPSG:4326"), (5,)).n_leaves > 1


def test_without_the_package_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "h3.api", None)
    with pytest.raises(ParameterError, match=r"spatialdp\[h3\]"):
        h3.H3(LONDON, (5,))


def test_codes_of_cells_are_text():
    zones = sdp.H3(LONDON, (5,))
    assert pd.Index(zones.codes).inferred_type == "string"
