"""Lines of records along the axes are found in trees whose leaves are cells of grids, and widen boxes only."""

from __future__ import annotations

import numpy as np
import pytest
import shapely

import spatialdp as sdp
from spatialdp.estimates.unevenness import lines
from spatialdp.estimates.unevenness.leaf_lines import LeafLines, edge_length
from spatialdp.records.truth import Counter
from spatialdp.space.boxes.quadtree import quadtree

UNIT = sdp.Domain((0, 0, 1, 1))
TREES = {
    "pruned quadtree": sdp.Quadtree(7, prune=16),
    "adaptive": sdp.Adaptive((128, 128), estimate="unbiased"),
}


def streets(pitch):
    """Records at random places of streets in both directions, denser in one quarter."""
    rng = np.random.default_rng(5)
    across = (rng.integers(0, int(1 / pitch), 60_000) + rng.random()) * pitch
    places = np.stack([across, rng.random(across.size)], axis=1)
    places[::2] = places[::2, ::-1]
    inside = ((places >= 0) & (places < 1)).all(axis=1)
    return places[inside & ((places < 0.5).all(axis=1) | (rng.random(across.size) < 0.3))]


def thin_boxes(places):
    """Boxes of 15 x 0.2 cells of a 64 x 64 grid in both directions, half of them on a record."""
    rng = np.random.default_rng(6)
    size = np.tile([15 / 64, 0.2 / 64], (400, 1))
    size[::4], size[1::4] = size[::4, ::-1], size[1::4, ::-1]
    centre = rng.random((400, 2))
    centre[::2] = places[rng.integers(len(places), size=200)] + (rng.random((200, 2)) - 0.5) * size[::2]
    low = np.clip(centre - size / 2, 0, 1 - size)
    return np.concatenate([low, low + size], axis=1)


def covered(release, places):
    boxes = thin_boxes(places)
    low, high = release.interval(boxes).T
    truth = Counter.of(sdp.Points(places), UNIT).count(UNIT.boxes(boxes))
    return np.mean((low <= truth) & (truth <= high))


def released(mechanism, places):
    return mechanism.prepare(UNIT, epsilon=10).release(sdp.Points(places), noise=sdp.SeededNoise(3))


@pytest.mark.parametrize("name", TREES)
def test_thin_boxes_in_a_city_of_streets_are_covered(name, monkeypatch):
    places = streets(0.011)
    assert covered(released(TREES[name], places), places) > 0.9
    monkeypatch.setattr(lines, "_WITHIN", 0.0)
    monkeypatch.setattr(lines, "_HIDDEN", 0.0)
    assert covered(released(TREES[name], places), places) < 0.8


@pytest.mark.parametrize("name", TREES)
def test_polygons_do_not_allow_for_lines(name):
    places = streets(0.011)
    release, boxes = released(TREES[name], places), thin_boxes(places)
    with_lines = np.ptp(release.interval(boxes), axis=1)
    without = np.ptp(release.interval_polygons(shapely.box(*boxes.T)), axis=1)
    assert np.mean(with_lines > 1.05 * without) > 0.5
    assert np.all(with_lines > 0.999 * without)


def test_leaves_of_kd_trees_are_no_cells():
    assert released(sdp.KdTree(5), streets(0.011)).estimate.unevenness.lines is None


@pytest.mark.parametrize("sides", [(15.0, 0.2), (0.2, 15.0), (8.0, 8.0), (20.0, 5.0), (3.0, 3.0)])
def test_lengths_of_edges_are_those_of_boxes_on_a_grid(sides):
    """From what boxes at random places miss and cover; edges of both lengths count by their length."""
    low = np.random.default_rng(1).random((2000, 2)) + 5
    shares = []
    for axis, side in enumerate(sides):
        cells = np.arange(30)
        start = low[:, axis, None]
        shares.append(np.clip(np.minimum(start + side, cells + 1) - np.maximum(start, cells), 0, 1))
    share = shares[0][:, :, None] * shares[1][:, None, :]
    found = edge_length(np.where(share > 0, 1 - share, 0).sum(axis=(1, 2)), share.sum(axis=(1, 2)))
    expected = sum(side**2 for side in sides) / sum(sides)
    assert found.mean() == pytest.approx(expected, rel=0.12)


def leaf_lines(values, height):
    tree = quadtree(height)
    every = np.zeros(tree.n_nodes)
    low = tree.boxes[tree.leaves, :2].astype(np.int64) >> (30 - height)
    every[tree.leaves] = values[low[:, 1], low[:, 0]]
    return LeafLines.of(tree, every, np.ones(tree.n_nodes), lambda boxes: np.zeros(len(boxes)))


def test_rows_of_leaves_with_one_line_more_or_less_are_found():
    columns = np.repeat(np.random.default_rng(2).integers(1, 3, 64)[None] * 1000, 64, axis=0)
    found = leaf_lines(columns, 6)
    assert found.halvings.tolist() == [[6, 6]]
    assert found.tables[0][:2].tolist() == [0, 0]  # as short as that, a row of records is no line
    assert found.tables[0][-1] > 4  # of 16 leaves
    assert leaf_lines(columns.T, 6).tables[0].tolist() == found.tables[0].tolist()
    assert leaf_lines(np.full((64, 64), 1000), 6).tables[0].max() < 0.01


def test_lines_widen_edges_by_the_share_of_leaves_of_each_size():
    found = LeafLines(np.zeros(1), np.zeros((2, 2)), (np.zeros(1), np.array([0.0, 0.0, 4.0])))
    cuts, squares = np.array([[2.0, 2.0], [0.0, 4.0], [0.0, 0.0]]), np.array([[7.0, 3.0], [0.0, 3.0], [0.0, 0.0]])
    assert found.added(np.full(3, 4.0), cuts, squares).tolist() == [0.0, 12.0, 0.0]
