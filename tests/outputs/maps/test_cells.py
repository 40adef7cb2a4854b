"""The cells that a map shows, and those that are marked as noise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.errors import ParameterError, ReleaseError
from spatialdp.outputs.maps.cells import Per, map_cells
from spatialdp.outputs.maps.ground import square_kilometres
from spatialdp.records.counting import count_cells
from spatialdp.space.lattice import LATTICE
from tests.helpers.cases import LARGE, is_tree, is_unbiased, select
from tests.helpers.pictures import marks_of
from tests.helpers.releases import REGION as PENTAGON
from tests.helpers.releases import release_of


@pytest.mark.parametrize("name", ["flat", "tailored", "kd", "quadtree, pruned", "quadtree, raw", "hierarchy"])
def test_marked_cells_are_those_whose_interval_reaches_zero(name):
    release = release_of(name, PENTAGON)
    cells = map_cells(release.estimate)
    x, y, x1, y1 = (axis.coordinates(cells.boxes[:, i]) for i, axis in enumerate(release.domain.axes * 2))
    intervals = release.interval(np.stack([x, y, x1, y1], axis=1), about="noise")
    reaches_zero = intervals[:, 0] < 0
    assert 0 < reaches_zero.sum() < reaches_zero.size
    assert np.array_equal(cells.within_noise, reaches_zero)
    (marks,) = marks_of(release.plot())
    rows, columns = marks.marked.shape
    centre = np.array([(x + x1) / 2 / 8 * columns, (y + y1) / 2 / 6 * rows]).astype(int)
    large = (x1 - x > 0.02) & (y1 - y > 0.02)  # at least a few pixels
    assert np.array_equal(marks.marked[centre[1], centre[0]][large], reaches_zero[large])


@pytest.mark.statistical
def test_one_empty_cell_in_forty_is_not_marked():
    release = sdp.Flat((200, 200)).release([], sdp.Domain((0, 0, 1, 1)), epsilon=0.1, noise=sdp.SeededNoise(2))
    unmarked = 1 - map_cells(release.estimate).within_noise.mean()
    assert 0.02 < unmarked < 0.03  # the standard error is 0.0008


def towns_in_the_west():
    """Return 40 towns of 750 homes, all in the western half of the unit square, and that square."""
    generator = np.random.default_rng(5)
    centres = np.repeat(generator.random((40, 2)) * (0.45, 0.98) + 0.01, 750, axis=0)
    homes = np.clip(centres + 0.004 * generator.normal(size=centres.shape), 0, (0.5, 1))
    return sdp.Points(homes), sdp.Domain((0, 0, 1, 1))


def unmarked(points, domain, epsilon):
    """Return which share is not marked in ten adaptive trees: empty cells, cells in empty blocks, empty blocks."""
    shares = []
    for seed in range(10):
        noise = sdp.SeededNoise((11, seed))
        field = sdp.Adaptive((256, 256)).release(points, domain, epsilon=epsilon, noise=noise).estimate
        truth, block = count_cells(points, field.grid)[field.grid.mask], field.leaf_of_cell[field.grid.mask]
        empty = np.bincount(block, truth) == 0
        cells, blocks = ~map_cells(field).within_noise, ~map_cells(field.basis).within_noise
        shares.append([cells[truth == 0].mean(), cells[empty[block]].mean(), blocks[empty].mean()])
    return np.mean(shares, axis=0)


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", [0.1, 1])
@pytest.mark.parametrize("name", ["towns in the west", "highways-us"])
def test_words_about_marks_hold_for_fields(name, epsilon):
    public = sdp.datasets.DATASETS["highways-us"]
    points, domain = towns_in_the_west() if name == "towns in the west" else (public.points(), public.domain)
    _, in_empty_blocks, empty_blocks = unmarked(points, domain, epsilon)
    assert 0 < in_empty_blocks < 1 / 40
    assert 1 / 80 < empty_blocks < 1 / 33  # the blocks of an unbiased tree: about 1 in 40


@pytest.mark.statistical
def test_empty_cells_beside_full_ones_are_often_unmarked_in_a_field():
    # So the words of other maps, "of the empty cells, about 1 in 40 is not marked", would be false.
    public = sdp.datasets.DATASETS["highways-us"]
    assert unmarked(public.points(), public.domain, 0.1)[0] > 3 / 40


def test_maps_say_what_their_marks_mean():
    domain = sdp.Domain((0, 0, 1, 1))
    field, tree, grid = (
        mechanism.release([], domain, epsilon=1, noise=sdp.SeededNoise(1))
        for mechanism in (sdp.Adaptive((64, 64)), sdp.Adaptive((64, 64), estimate="unbiased"), sdp.Flat((8, 8)))
    )
    for release, words in (
        (field, "in blocks without records, at most about 1 cell in 40 is not marked"),
        (tree, "of the empty cells, about 1 in 40 is not marked"),
        (grid, "of the empty cells, about 1 in 40 is not marked"),
    ):
        ax = release.plot()
        ax.figure.canvas.draw()
        assert words in " ".join(ax.get_legend().get_texts()[0].get_text().split())
    assert map_cells(field.estimate, 1).marks == map_cells(tree.estimate).marks


@pytest.mark.parametrize("name", ["quadtree", "quadtree, pruned", "hierarchy"])
def test_trees_on_a_grid_are_drawn_as_an_image_of_its_cells(name):
    release = release_of(name)
    (image,) = release.plot(per="map").get_images()
    nx, ny = map_cells(release.estimate).shape
    assert image.get_array().shape == (ny, nx)
    cells = map_cells(release.estimate)
    place = (cells.boxes[0, :2] / 2**30 * (nx, ny)).round().astype(int)
    assert image.get_array()[place[1], place[0]] == cells.values[0]


@pytest.mark.parametrize("name", LARGE)
def test_values_are_estimates_per_area(name):
    release = release_of(name, PENTAGON)
    cells = map_cells(release.estimate)
    assert cells.values * cells.areas == pytest.approx(release.estimate.finest.leaf_values())
    assert np.array_equal(cells.boxes, release.estimate.finest.leaf_boxes())
    sides = (cells.boxes[:, 2:] - cells.boxes[:, :2]) / LATTICE
    assert cells.finest == pytest.approx(sides.min(), rel=1e-6)
    if is_unbiased(LARGE[name]):
        assert (cells.half_widths >= 0).all()
        assert np.array_equal(cells.within_noise, cells.values < cells.half_widths)
    else:
        with pytest.raises(ReleaseError, match="no intervals"):
            _ = cells.half_widths


@pytest.mark.parametrize("name", ["flat", "quadtree", "kd"])
def test_units_are_those_that_were_asked_for(name):
    release = release_of(name, PENTAGON)
    counts, boxes = release.estimate.leaf_values(), release.estimate.leaf_boxes()
    sides = (boxes[:, 2:] - boxes[:, :2]).astype(float)
    for per, areas in (
        ("cell", 1.0),
        ("km2", square_kilometres(release.domain, boxes)),
        ("map", 1000 * (sides[:, 0] * sides[:, 1]) / LATTICE**2),
    ):
        cells = replace(map_cells(release.estimate), per=Per(per))
        assert cells.values * areas == pytest.approx(counts, rel=1e-6), per
        assert np.array_equal(cells.within_noise, map_cells(release.estimate).within_noise)


@pytest.mark.parametrize(
    ("name", "unit"), [("flat", "cell"), ("quadtree", "cell"), ("hierarchy", "cell"), ("kd", "km²")]
)
def test_numbers_can_be_compared_between_cells_by_default(name, unit):
    release = release_of(name)
    ax = release.plot()
    assert ax.figure.axes[1].get_ylabel().replace("\n", " ") == f"estimated records per {unit}"
    assert map_cells(release.estimate).alike == (unit == "cell")


def test_without_a_crs_leaves_of_different_sizes_are_shown_per_share_of_the_map():
    release = sdp.KdTree(2).release([], sdp.Domain((0, 0, 1, 1)), epsilon=1)
    assert "1/1000 of the map's area" in release.plot().figure.axes[1].get_ylabel().replace("\n", " ")
    with pytest.raises(ParameterError, match="per='km2' was given, but the domain has no CRS"):
        release.plot(per="km2")


@pytest.mark.parametrize("name", LARGE)
def test_rasters_show_every_cell_in_its_place(name):
    release = release_of(name, PENTAGON)
    cells = map_cells(release.estimate)
    painted = cells.raster(np.arange(len(cells.boxes)), release.domain)
    rows, columns = painted.shape
    centres = (cells.boxes[:, :2] + cells.boxes[:, 2:]) / 2 / LATTICE * (columns, rows)
    large = ((cells.boxes[:, 2:] - cells.boxes[:, :2]) / LATTICE * (columns, rows) > 0.99).all(axis=1)
    x, y = np.floor(centres[large]).astype(int).T
    assert large.any()
    assert not np.ma.getmaskarray(painted)[y, x].any()
    if cells.shape is not None:
        assert np.array_equal(painted[y, x], np.flatnonzero(large))


@pytest.mark.parametrize("name", select(LARGE, is_tree))
def test_a_level_is_its_nodes_and_the_leaves_above(name):
    estimate = release_of(name).estimate
    for level in range(estimate.tree.height + 1):
        boxes = map_cells(estimate, level).boxes
        sides = (boxes[:, 2:] - boxes[:, :2]).astype(float) / LATTICE
        assert sides.prod(axis=1).sum() == pytest.approx(1)  # without a region they cover the domain, once
    assert np.array_equal(map_cells(estimate, estimate.tree.height).boxes, map_cells(estimate).boxes)
    with pytest.raises(ParameterError, match="level is"):
        map_cells(estimate, estimate.tree.height + 1)
