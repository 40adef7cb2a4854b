"""Growing trees: what is counted, which noise it gets, where nodes end."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import shapely

import spatialdp as sdp
from spatialdp.privacy.noise.source import SeededNoise
from spatialdp.records.points import lattice_points
from tests.helpers.cases import SMALL, is_complete, is_kd_tree, select
from tests.helpers.sources import RecordingNoise

UNIT = sdp.Domain((0, 0, 1, 1))
REGION = shapely.Polygon([(0, 0), (1, 0), (1, 0.4), (0.4, 1), (0, 1)])
RNG = np.random.default_rng(4)
XY = np.clip(np.concatenate([RNG.normal(0.3, 0.03, (600, 2)), RNG.random((200, 2))]), 0, 1)
VARIANTS = select(SMALL, is_kd_tree, is_complete)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_counts_are_drawn_once_for_each_level_with_the_right_scale(neighbours):
    source = RecordingNoise(1)
    release = sdp.KdTree(3).release(XY, UNIT, epsilon=1, neighbours=neighbours, noise=source)
    costs = [cost for step, cost in release.privacy.budget.items() if step.startswith("counts")]
    factor = 1 if neighbours == "add-remove" else 2
    scales = [1 / costs[0], *(factor / cost for cost in costs[1:])]
    assert source.calls == [("laplace", scale, (4**d,)) for d, scale in enumerate(scales)]


def test_stopped_nodes_spend_the_rest_of_their_path_lines_included():
    source = RecordingNoise(2)
    release = sdp.KdTree(3, stop=1e9, data_levels=2).release(XY, UNIT, epsilon=1, noise=source)
    root = release.privacy.budget["counts at depth 0"]
    assert [call[1] for call in source.calls] == [1 / root, 1 / (1 - root)]
    assert release.estimate.n_cells == 1


def test_stop_threshold_uses_released_counts():
    release = sdp.KdTree(5, stop=30).release(XY, UNIT, epsilon=2, noise=SeededNoise(1))
    tree = release.estimate.tree
    assert 1 < tree.n_leaves < 4**5
    assert len(set(tree.depth[tree.leaves].tolist())) > 1


@pytest.mark.parametrize("region", [None, REGION], ids=["whole", "region"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_children_partition_their_parent(variant, region):
    domain = sdp.Domain((0, 0, 1, 1), region=region)
    tree = replace(VARIANTS[variant], height=3).release(XY, domain, epsilon=1, noise=SeededNoise(5)).estimate.tree
    areas = np.prod((tree.boxes[:, 2:] - tree.boxes[:, :2]).astype(float), axis=1)
    assert (areas > 0).all()
    for depth in range(tree.height):
        children = tree.family_sums(depth, areas[tree.level(depth + 1)])
        parents = areas[tree.level(depth)]
        if region is None:
            assert children == pytest.approx(parents, rel=1e-12)
        else:
            assert (children <= parents * (1 + 1e-12)).all()
        inside = tree.boxes[tree.level(depth + 1)]
        outer = tree.boxes[tree.parent[tree.level(depth + 1)]]
        assert (inside[:, :2] >= outer[:, :2]).all()
        assert (inside[:, 2:] <= outer[:, 2:]).all()


def test_region_drops_nodes_and_records_outside():
    domain = sdp.Domain((0, 0, 1, 1), region=REGION)
    release = sdp.KdTree(4, data_levels=0).release(XY, domain, epsilon=1000)
    raster = domain.region_raster
    x, y = lattice_points(sdp.Points(XY), domain)
    assert raster[y >> 20, x >> 20].all()
    assert release.total == pytest.approx(x.size, abs=1)
    assert release.estimate.n_cells < 4**4


def test_counts_of_all_nodes_are_those_of_their_boxes():
    release = sdp.KdTree(4, consistent=False).release(XY, UNIT, epsilon=1000, noise=SeededNoise(3))
    x, y = lattice_points(sdp.Points(XY), UNIT)
    boxes, values = release.estimate.tree.boxes, release.estimate.values
    for (x0, y0, x1, y1), value in zip(boxes.tolist(), values.tolist(), strict=True):
        assert round(value) == ((x >= x0) & (x < x1) & (y >= y0) & (y < y1)).sum()


@pytest.mark.parametrize("height", [0, 1, 8])
def test_kd_trees_have_the_given_height(height):
    xy = XY[:50]
    release = sdp.KdTree(height).release(xy, UNIT, epsilon=1)
    assert release.estimate.tree.height == height


def test_records_in_one_lattice_square_cannot_be_split_for_ever():
    release = sdp.KdTree(8, median="true").release(np.full((100, 2), 0.7), UNIT, epsilon=100)
    assert release.total == pytest.approx(100, abs=5)
