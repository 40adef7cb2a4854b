"""Maps: drawn from every kind of release, quietly, from released values only."""

from __future__ import annotations

import io
import math

import geopandas
import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
import shapely

import spatialdp as sdp
from spatialdp.errors import CRSMismatchError, FileFormatError, ParameterError, ReleaseError
from spatialdp.mechanisms import MECHANISMS as REGISTRY
from spatialdp.outputs.maps.cells import map_cells
from spatialdp.outputs.maps.colours import Classes
from spatialdp.outputs.maps.decorations import NoiseMarks, metres_per_unit
from spatialdp.outputs.maps.drawing import draw_cells
from spatialdp.outputs.maps.save import save_figure
from spatialdp.outputs.maps.values import box_raster
from tests.audit.tape import Tape
from tests.browser.test_explorer import MECHANISMS, release_of
from tests.browser.test_explorer import REGION as PENTAGON
from tests.helpers.sources import ZeroNoise

mpl.use("Agg")

REGION = shapely.MultiPolygon([shapely.box(0, 0, 4, 6), shapely.Polygon([(5, 0), (8, 0), (8, 5)])])


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def pixels(ax):
    ax.figure.canvas.draw()
    return np.asarray(ax.figure.canvas.buffer_rgba()).copy()


@pytest.mark.parametrize("crs", [None, "EPSG:4326", "EPSG:3857"])
@pytest.mark.parametrize("log", [False, True])
def test_every_release_can_be_drawn(crs, log):
    domain = sdp.Domain((0, 0, 8, 6), crs=crs, region=REGION)
    release = sdp.Flat((16, 12)).release([[1, 1]], domain, epsilon=0.5)
    ax = release.plot(log=log)
    assert pixels(ax).std() > 0
    assert "ε = 0.5" in ax.get_xlabel()


def test_north_is_up_and_empty_outside():
    domain = sdp.Domain((0, 0, 2, 2))
    release = sdp.Flat((2, 2)).release([[1.5, 1.5]] * 9, domain, epsilon=1, noise=ZeroNoise())
    (image,) = release.plot(limits=(0, 9), caption=False).get_images()
    assert image.origin == "lower"
    assert image.get_array()[1, 1] == 9
    assert image.get_extent() == [0, 2, 0, 2]


def test_own_axes_and_public_limits():
    release = sdp.Flat((2, 2)).release([], sdp.Domain((0, 0, 2, 2)), epsilon=1)
    ax = plt.figure().add_subplot()
    assert release.plot(ax, limits=(0, 5)) is ax
    with pytest.raises(ParameterError, match="limits"):
        release.plot(limits=(5, 5))


def test_same_released_values_same_picture():
    domain = sdp.Domain((0, 0, 2, 2))
    one = sdp.Flat((2, 2)).release([[0.1, 0.1]], domain, epsilon=1, noise=ZeroNoise())
    two = sdp.Flat((2, 2)).release([[0.2, 0.7], [9, 9]], domain, epsilon=1, noise=ZeroNoise())
    assert np.array_equal(pixels(one.plot()), pixels(two.plot()))


def test_classes_put_every_value_in_one_class():
    classes = Classes((0.5, 1.5))
    grid = sdp.Domain((0, 0, 3, 1)).grid((3, 1))
    image = draw_cells(plt.figure().add_subplot(), grid, np.array([[-100.0, 1.0, 1e9]]), classes=classes)
    colours = image.to_rgba(image.get_array())[0]
    assert len({tuple(colour) for colour in colours}) == 3


# --- every mechanism -------------------------------------------------------------------------------

SMALL = {
    "flat": sdp.Flat((8, 8)),
    "quadtree": sdp.Quadtree(3),
    "kd-tree": sdp.KdTree(3),
    "hierarchy": sdp.Hierarchy((12, 8)),
    "wavelet": sdp.Wavelet((8, 5)),
    "fourier": sdp.Fourier((8, 12)),
    "tailored": sdp.Tailored((32, 12)),
    "uniform": sdp.Uniform((8, 8)),
}


def marks_of(ax):
    return [artist for artist in ax.get_children() if isinstance(artist, NoiseMarks)]


def test_no_mechanism_is_forgotten():
    assert set(SMALL) == set(REGISTRY) == {mechanism.name for mechanism in SMALL.values()}
    assert set(REGISTRY) - {"uniform"} == {mechanism.name for mechanism in MECHANISMS.values()} - {"uniform"}


@pytest.mark.parametrize("name", MECHANISMS)
def test_every_mechanism_can_be_drawn_in_every_view(name):
    release = release_of(name, PENTAGON)
    for view in ("estimate", "uncertainty", "half-width"):
        if release.estimate.biased and view != "estimate":
            with pytest.raises(ReleaseError, match="no intervals to draw"):
                release.plot(view=view)
            continue
        ax = release.plot(view=view)
        assert pixels(ax).std() > 0
        marked = view == "uncertainty" or (view == "estimate" and not release.estimate.biased)
        assert len(marks_of(ax)) == marked
        assert "NOT PRIVATE" in ax.get_xlabel()
        assert ("can not be marked" in ax.get_xlabel()) == release.estimate.biased
        plt.close("all")


@pytest.mark.no_cover
@pytest.mark.parametrize("name", SMALL)
def test_neighbours_with_the_same_outcomes_give_the_same_pixels(name):
    """Nothing but the paid-for numbers decides what is drawn, the colour scale included."""
    rng = np.random.default_rng(4)
    records = rng.uniform(0, 1, (60, 2))
    crowd = np.vstack([records, np.tile([[0.1, 0.1]], (500, 1))])
    for first, second in ((records, records[:-1]), (crowd, crowd[:-1]), ([[0.5, 0.5]], np.empty((0, 2)))):
        domain = sdp.Domain((0, 0, 1, 1), crs="EPSG:3857")
        with Tape() as tape:
            one = SMALL[name].release(first, domain, epsilon=1, noise=tape.record(3))
            two = SMALL[name].release(second, domain, epsilon=1, noise=tape.play())
            tape.finish()
        for options in ({"log": True}, {"limits": (0, 5)}, {"view": "uncertainty"}):
            if one.estimate.biased and "view" in options:
                continue
            assert np.array_equal(pixels(one.plot(**options)), pixels(two.plot(**options)))
            plt.close("all")


def test_on_a_public_scale_a_record_changes_its_cell_and_nothing_else():
    domain = sdp.Domain((0, 0, 2, 2))
    pictures = []
    for records in (30, 31):
        release = sdp.Flat((2, 2)).release([[1.5, 1.5]] * records, domain, epsilon=1, noise=ZeroNoise())
        ax = release.plot(limits=(25, 35))
        pictures.append(pixels(ax))
    box = ax.get_window_extent()
    middle = ((box.x0 + box.x1) / 2, pictures[0].shape[0] - (box.y0 + box.y1) / 2)
    rows, columns = np.nonzero((pictures[0] != pictures[1]).any(axis=2))
    assert rows.size
    assert rows.max() <= middle[1] + 1
    assert columns.min() >= middle[0] - 1
    assert columns.max() <= box.x1


# --- what is only noise ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["flat", "tailored", "kd-tree", "pruned quadtree", "raw quadtree", "hierarchy"])
def test_marked_cells_are_those_whose_interval_reaches_zero(name):
    release = release_of(name, PENTAGON)
    cells = map_cells(release.estimate)
    x, y, x1, y1 = (axis.coordinates(cells.boxes[:, i]) for i, axis in enumerate(release.domain.axes * 2))
    intervals = release.interval(np.stack([x, y, x1, y1], axis=1))
    reaches_zero = intervals[:, 0] < 0
    assert 0 < reaches_zero.sum() < reaches_zero.size
    assert np.array_equal(cells.drowned, reaches_zero)
    (marks,) = marks_of(release.plot())
    rows, columns = marks.marked.shape
    centre = np.array([(x + x1) / 2 / 8 * columns, (y + y1) / 2 / 6 * rows]).astype(int)
    large = (x1 - x > 0.02) & (y1 - y > 0.02)  # at least a few pixels
    assert np.array_equal(marks.marked[centre[1], centre[0]][large], reaches_zero[large])


@pytest.mark.statistical
def test_one_empty_cell_in_forty_escapes_the_marks():
    release = sdp.Flat((200, 200)).release([], sdp.Domain((0, 0, 1, 1)), epsilon=0.1, noise=sdp.SeededNoise(2))
    escaped = 1 - map_cells(release.estimate).drowned.mean()
    assert 0.02 < escaped < 0.03  # the standard error is 0.0008


def test_marks_fade_and_hatch_their_cells_only():
    domain = sdp.Domain((0, 0, 2, 1))
    release = sdp.Flat((2, 1)).release([[1.5, 0.5]] * 90, domain, epsilon=1, noise=ZeroNoise())
    with_, without = (pixels(release.plot(limits=(-10, 100), mark_noise=marked)) for marked in (True, False))
    ax = plt.gcf().axes[0]
    box, height = ax.get_window_extent(), with_.shape[0]
    rows = slice(int(height - box.y1) + 9, int(height - box.y0) - 9)
    west, east = (
        slice(int(box.x0 + share * box.width) + 9, int(box.x0 + (share + 0.5) * box.width) - 9) for share in (0, 0.5)
    )
    assert np.array_equal(with_[rows, east], without[rows, east])
    assert len(np.unique(without[rows, west].reshape(-1, 4), axis=0)) == 1
    hatched = with_[rows, west].reshape(-1, 4)
    assert len(np.unique(hatched, axis=0)) > 3
    assert np.median(hatched[:, :3].astype(float).sum(axis=1)) > without[rows, west].reshape(-1, 4)[0, :3].sum()


def test_relative_uncertainty_is_half_width_over_estimate():
    release = release_of("tailored")
    (image,) = release.plot(view="uncertainty").get_images()
    nx, ny = release.estimate.grid.shape
    low, high = release.interval((0, 0, 8 / nx, 6 / ny))
    assert image.get_array()[0, 0] == pytest.approx((high - low) / 2 / abs((high + low) / 2))
    (image,) = release.plot(view="half-width").get_images()
    assert image.get_array()[0, 0] == pytest.approx((high - low) / 2)
    assert image.get_array().shape == (ny, nx)


# --- trees -----------------------------------------------------------------------------------------


def test_boxes_are_painted_where_they_are():
    estimate = release_of("kd-tree").estimate
    boxes = estimate.leaf_boxes()
    painted = box_raster(boxes, (160, 120))
    x, y = ((np.arange(count) + 0.5) / count * 2**30 for count in (160, 120))
    for number, (x0, y0, x1, y1) in enumerate(boxes):
        inside = ((y >= y0) & (y < y1))[:, None] & ((x >= x0) & (x < x1))
        assert np.array_equal(painted == number, inside)


@pytest.mark.parametrize("name", ["quadtree", "pruned quadtree", "hierarchy"])
def test_trees_on_a_grid_are_drawn_as_an_image_of_its_cells(name):
    release = release_of(name)
    (image,) = release.plot().get_images()
    nx, ny = map_cells(release.estimate).shape
    assert image.get_array().shape == (ny, nx)
    cells = map_cells(release.estimate)
    place = (cells.boxes[0, :2] / 2**30 * (nx, ny)).round().astype(int)
    assert image.get_array()[place[1], place[0]] == cells.values[0]


def test_levels_have_lines_of_their_own():
    release = release_of("quadtree")
    assert len(release.plot().collections) == 5
    plt.close("all")
    lines = release.plot(lines=3).collections
    assert [len(each.get_paths()) for each in lines] == [4, 16, 64]
    widths = [each.get_linewidth()[0] for each in lines]
    assert widths == sorted(widths, reverse=True)
    assert len(release.plot(lines=0).collections) == 0
    assert release.plot(level=2).get_images()[0].get_array().compressed().size == 32**2
    with pytest.raises(ParameterError, match="lines is 6"):
        release.plot(lines=6)


def test_many_leaves_that_follow_no_grid_become_pixels(monkeypatch):
    release = release_of("kd-tree")
    assert not release.plot().get_images()
    monkeypatch.setattr("spatialdp.outputs.maps.plot._MOST_POLYGONS", 10)
    (image,) = release.plot().get_images()
    assert max(image.get_array().shape) == 1536


# --- outlines, scale, words ------------------------------------------------------------------------


def test_boundaries_are_reprojected(tmp_path):
    domain = sdp.Domain((0, 0, 8, 6), crs="EPSG:4326")
    release = sdp.Flat((4, 4)).release([], domain, epsilon=1)
    square = geopandas.GeoDataFrame(geometry=[shapely.box(1, 1, 2, 2), None], crs="EPSG:4326")
    square.to_crs("EPSG:3857").to_file(tmp_path / "square.gpkg")
    for given in (square, square.geometry, square.geometry[0], square.to_crs(3857), tmp_path / "square.gpkg"):
        (lines,) = release.plot(boundaries=given).collections
        (path,) = lines.get_paths()
        assert path.get_extents().extents == pytest.approx((1, 1, 2, 2), abs=1e-6)


def test_boundaries_that_do_not_fit_are_refused(tmp_path):
    release = sdp.Flat((4, 4)).release([], sdp.Domain((0, 0, 8, 6), crs="EPSG:4326"), epsilon=1)
    plain = sdp.Flat((4, 4)).release([], sdp.Domain((0, 0, 8, 6)), epsilon=1)
    square = geopandas.GeoSeries([shapely.box(1, 1, 2, 2)])
    with pytest.raises(CRSMismatchError, match="boundaries have none"):
        release.plot(boundaries=square)
    with pytest.raises(CRSMismatchError, match="but the domain has none"):
        plain.plot(boundaries=square.set_crs(4326))
    for wrong in (shapely.Point(1, 1), [], "polygon", 5):
        with pytest.raises((ParameterError, FileFormatError), match=r"polygons or lines|can not be"):
            release.plot(boundaries=wrong)


@pytest.mark.parametrize(
    ("crs", "bounds", "metres"),
    [
        ("EPSG:4326", (10, 59, 14, 61), 111_320 * math.cos(math.radians(60))),
        ("EPSG:32633", (300_000, 5_000_000, 700_000, 5_200_000), 1.0),
        ("EPSG:2274", (2_100_000, 200_000, 2_300_000, 400_000), 0.3048),  # US feet
        ("EPSG:3857", (1_000_000, 8_300_000, 1_100_000, 8_450_000), math.cos(math.radians(60))),  # stretched metres
    ],
)
def test_scale_bar_is_as_long_as_it_says(crs, bounds, metres):
    from mpl_toolkits.axes_grid1.anchored_artists import AnchoredSizeBar

    domain = sdp.Domain(bounds, crs=crs)
    if crs == "EPSG:3857":  # the latitude in the middle, on a sphere
        north = (bounds[1] + bounds[3]) / 2 / 6_378_137
        metres = 1 / math.cosh(north)
    assert metres_per_unit(domain) == pytest.approx(metres, rel=0.01)
    ax = sdp.Flat((4, 4)).release([], domain, epsilon=1).plot()
    ax.figure.canvas.draw()
    (bar,) = (artist for artist in ax.get_children() if isinstance(artist, AnchoredSizeBar))
    (line,) = bar.size_bar.get_children()
    number, unit = bar.txt_label.get_text().replace(",", "").split()[:2]
    said = float(number) * {"m": 1, "km": 1000}[unit]
    assert line.get_width() * metres == pytest.approx(said, rel=0.01)
    assert 0.09 < line.get_width() / domain.size[0] <= 0.25
    shown = line.get_window_extent().width / ax.get_window_extent().width * domain.size[0]
    assert shown * metres == pytest.approx(said, rel=0.03)  # to the pixel


def test_no_scale_bar_where_lengths_are_not_known():
    release = sdp.Flat((4, 4)).release([], sdp.Domain((0, 0, 8, 6)), epsilon=1)
    before = len(release.plot(scale_bar=False).get_children())
    assert len(release.plot(scale_bar=True).get_children()) == before


def test_the_promise_is_written_in_words():
    release = sdp.Flat((4, 4)).release([], sdp.Domain((0, 0, 8, 6)), epsilon=0.5)
    told = release.plot().get_xlabel().replace("\n", " ")
    assert "ε = 0.5 (add-remove one record), flat" in told
    assert "at most e^ε = 1.649" in told
    assert release.plot(caption=False).get_xlabel() == ""


# --- options and files -----------------------------------------------------------------------------


def test_nonsense_is_refused():
    grid, tree = release_of("flat"), release_of("quadtree")
    for release, options, told in (
        (grid, {"view": "doubt"}, "View is 'doubt'"),
        (grid, {"lines": 2}, "lines is 2"),
        (grid, {"level": 2}, "level is 2"),
        (tree, {"level": 17}, "level is 17"),
        (grid, {"view": "uncertainty", "limits": (0, 1)}, "classes of relative uncertainty are fixed"),
        (grid, {"view": "uncertainty", "log": True}, "classes of relative uncertainty are fixed"),
    ):
        with pytest.raises(ParameterError, match=told):
            release.plot(**options)
    assert not plt.get_fignums()


@pytest.mark.parametrize("name", ["flat", "kd-tree"])
@pytest.mark.parametrize("suffix", [".svg", ".png"])
def test_files_are_the_same_for_the_same_release(name, suffix, tmp_path):
    release = release_of(name, PENTAGON)
    for copy in ("a", "b"):
        save_figure(release.plot().figure, tmp_path / f"{copy}{suffix}", dpi=60)
    held = (tmp_path / f"a{suffix}").read_bytes()
    assert held == (tmp_path / f"b{suffix}").read_bytes()
    assert held.startswith(b"<?xml" if suffix == ".svg" else b"\x89PNG")


def test_pictures_have_the_size_that_was_asked_for(tmp_path):
    from PIL import Image

    figure = release_of("flat").plot().figure
    figure.get_layout_engine().execute(figure)
    figure.set_layout_engine("none")  # places are settled
    for dpi in (37, 100, 210):
        save_figure(figure, tmp_path / "map.png", dpi=dpi)
        plain = io.BytesIO()
        figure.savefig(plain, dpi=dpi)
        one, two = Image.open(tmp_path / "map.png").convert("RGB"), Image.open(plain).convert("RGB")
        assert one.size == two.size
        assert np.abs(np.asarray(one).astype(int) - np.asarray(two)).max() < 24  # of 255: a palette's rounding
