"""Private kd-trees: path costs, split lines, growth."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

import spatialdp as sdp
from spatialdp.errors import BudgetError, DomainError, ParameterError
from spatialdp.mechanisms.adaptive.lines import CellLines, TrueLines
from spatialdp.privacy.noise import medians as medians_module
from spatialdp.privacy.noise.source import SeededNoise
from spatialdp.records.counting import count_cells
from spatialdp.records.nodes import Nodes
from spatialdp.records.points import lattice_points
from spatialdp.space.lattice import LATTICE
from tests.helpers.sources import RecordingNoise

UNIT = sdp.Domain((0, 0, 1, 1))
REGION = shapely.Polygon([(0, 0), (1, 0), (1, 0.4), (0.4, 1), (0, 1)])
RNG = np.random.default_rng(4)
XY = np.clip(np.concatenate([RNG.normal(0.3, 0.03, (600, 2)), RNG.random((200, 2))]), 0, 1)

VARIANTS = {
    "standard": {},
    "hybrid": {"data_levels": 2},
    "midpoints": {"data_levels": 0},
    "smooth": {"median": "smooth"},
    "noisy-mean": {"median": "noisy-mean"},
    "cell": {"median": "cell", "cells": 16},
    "cell, hybrid": {"median": "cell", "cells": 16, "data_levels": 1},
    "sampled": {"sampling": 0.25},
    "laplace": {"law": "laplace"},
}


@pytest.mark.parametrize("epsilon", [1, 0.1, Fraction(1, 7)])
@pytest.mark.parametrize("variant", VARIANTS)
def test_every_path_costs_epsilon_exactly(variant, epsilon):
    release = sdp.KdTree(4, **VARIANTS[variant]).release(XY, UNIT, epsilon=epsilon)
    spent = release.privacy.budget
    assert sum(spent.values()) == release.privacy.epsilon
    assert set(release.estimate.tree.depth[release.estimate.tree.leaves].tolist()) == {4}
    lines = sum((cost for step, cost in spent.items() if "lines" in step), Fraction(0))
    expected = 0 if variant == "midpoints" else Fraction(3, 10) * release.privacy.epsilon
    assert lines == expected


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


def test_noisy_mean_and_cell_lines_cost_what_they_say():
    """Both are functions of noisy counts: the worst log-ratio of those over thousands of neighbours, exactly."""
    rng, epsilon = np.random.default_rng(5), Fraction(1)
    grid = UNIT.grid((8, 8))
    worst = {"mean": Fraction(0), "cell": Fraction(0)}
    for _ in range(3000):
        low = int(rng.integers(0, 50))
        high = low + int(rng.integers(2, 2000))
        values = np.sort(rng.integers(low, high, int(rng.integers(0, 20))))
        more = np.sort(np.append(values, rng.choice([low, high - 1, int(rng.integers(low, high))])))
        sums, counts = zip(*(_mean_statistics(v, low, high) for v in (values, more)), strict=True)
        sum_scale, count_scale = 2 * (medians_module._STEPS - 1) / epsilon, 2 / epsilon
        worst["mean"] = max(
            worst["mean"], abs(sums[1] - sums[0]) / sum_scale + abs(counts[1] - counts[0]) / count_scale
        )
        xy = rng.random((5, 2))
        cells = [count_cells(sdp.Points(p), grid) for p in (xy, np.vstack([xy, rng.uniform(-0.1, 1.1, (1, 2))]))]
        worst["cell"] = max(worst["cell"], Fraction(int(np.abs(cells[1] - cells[0]).sum())) * epsilon)
    for found in worst.values():
        assert Fraction(9, 10) * epsilon < found <= epsilon


def _mean_statistics(values, low, high):
    nodes = medians_module._Nodes(values, np.array([0, values.size]), np.array([low]), np.array([high]))
    return int(medians_module._centred_sums(nodes)[0]), values.size


def test_stop_threshold_uses_released_counts():
    release = sdp.KdTree(5, stop=30).release(XY, UNIT, epsilon=2, noise=SeededNoise(1))
    tree = release.estimate.tree
    assert 1 < tree.n_leaves < 4**5
    assert len(set(tree.depth[tree.leaves].tolist())) > 1


def test_true_medians_are_marked_not_private():
    release = sdp.KdTree(2, median="true").release(XY, UNIT, epsilon=1)
    assert release.privacy.private is False
    assert "NOT PRIVATE" in repr(release)
    assert sum(release.privacy.budget.values()) == 1
    assert sdp.KdTree(2, median="true", data_levels=0).release(XY, UNIT, epsilon=1).privacy.private is True
    counts = sdp.KdTree(2, median="true", consistent=False).release(XY, UNIT, epsilon=1000).estimate
    leaves = counts.values[counts.tree.leaves]
    assert leaves.max() - leaves.min() <= 8  # medians divide evenly, up to ties


def test_split_lines_do_not_copy_a_coordinate():
    """All records in one place: lines fall around it, differently each time, and boxes always partition the domain."""
    xy = np.full((400, 2), 0.3)
    place = int(0.3 * LATTICE)
    lines = set()
    for seed in range(20):
        tree = sdp.KdTree(1).release(xy, UNIT, epsilon=1, noise=SeededNoise(seed)).estimate.tree
        lines |= set(tree.boxes[1:, [0, 2]].ravel().tolist()) - {0, LATTICE}
    assert len(lines) >= 20
    assert place not in lines


@pytest.mark.parametrize("region", [None, REGION], ids=["whole", "region"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_children_partition_their_parent(variant, region):
    domain = sdp.Domain((0, 0, 1, 1), region=region)
    tree = sdp.KdTree(3, **VARIANTS[variant]).release(XY, domain, epsilon=1, noise=SeededNoise(5)).estimate.tree
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


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=60), st.data())
def test_splitting_keeps_every_record_and_both_orders(records, data):
    x, y = (np.array([r[i] for r in records], dtype=np.int32) for i in range(2))
    nodes = Nodes.root(x, y)
    for axis in (0, 1, 1, 0):
        low, high = nodes.range(axis)
        # Sometimes in the midst of the records, sometimes far from them, sometimes not at all.
        lines = np.array(
            [data.draw(st.sampled_from([a + 1, min(20, b), min(b, 33), b])) for a, b in zip(low, high, strict=True)]
        )
        lines = np.clip(lines, low + 1, high)
        before = nodes
        nodes, parent = nodes.split(lines, axis)
        assert nodes.starts[-1] == len(records)
        assert np.array_equal(np.bincount(parent, nodes.counts, minlength=len(before.boxes)), before.counts)
        for order in (0, 1):
            for box, start, stop in zip(nodes.boxes, nodes.starts[:-1], nodes.starts[1:], strict=True):
                xs, ys = (values[start:stop] for values in nodes.orders[order])
                assert ((xs >= box[0]) & (xs < box[2]) & (ys >= box[1]) & (ys < box[3])).all()
                assert (np.diff((xs, ys)[order]) >= 0).all()
        both = [sorted(zip(*(v.tolist() for v in order), strict=True)) for order in nodes.orders]
        assert both[0] == both[1] == sorted(records)


def test_true_lines_halve_and_cell_lines_halve_the_grid():
    x, y = lattice_points(sdp.Points(XY), UNIT)
    nodes = Nodes.root(x, y)
    (line,) = TrueLines().choose(nodes, 0)
    assert abs((x < line).mean() - 0.5) < 0.01
    grid = UNIT.grid((4, 4))
    lines = CellLines(grid, np.array([[0, 0, 0, 8.0]] * 4)).choose(nodes, 0)
    assert lines[0] == pytest.approx(LATTICE * 7 / 8, abs=2)
    empty = CellLines(grid, np.full((4, 4), -3.0)).choose(nodes, 1)
    assert empty[0] == LATTICE // 2


@pytest.mark.parametrize("height", [0, 1, 8])
def test_heights_from_none_to_many(height):
    xy = XY[:50]
    release = sdp.KdTree(height).release(xy, UNIT, epsilon=1)
    assert release.estimate.tree.height == height


def test_records_in_one_lattice_square_can_not_be_split_for_ever():
    release = sdp.KdTree(8, median="true").release(np.full((100, 2), 0.7), UNIT, epsilon=100)
    assert release.total == pytest.approx(100, abs=5)


def test_neighbours_give_the_same_shape_when_noise_is_frozen():
    for variant in ("standard", "hybrid", "midpoints", "cell", "noisy-mean"):
        shapes = []
        for xy in (XY, XY[1:], np.vstack([XY, [[0.9, 0.1]]])):
            release = sdp.KdTree(3, **VARIANTS[variant]).release(xy, UNIT, epsilon=1, noise=SeededNoise(9))
            shapes.append(
                (release.estimate.tree.offsets.tolist(), release.privacy, release.estimate.variances.tolist())
            )
        assert shapes[0] == shapes[1] == shapes[2]


@pytest.mark.parametrize(
    "options",
    [
        {"height": -1},
        {"height": 3, "median": "mode"},
        {"height": 3, "median_share": 0},
        {"height": 3, "median_share": 1},
        {"height": 3, "data_levels": 4},
        {"height": 3, "data_levels": -1},
        {"height": 3, "data_levels": True},
        {"height": 3, "median": "cell", "cells": 1},
        {"height": 3, "sampling": 0},
        {"height": 3, "sampling": 2},
        {"height": 3, "sampling": 1e-7},
        {"height": 3, "sampling": 0.5, "median": "cell"},
        {"height": 3, "cells": 16},
        {"height": 3, "law": "gaussian"},
        {"height": 3, "prune": 1, "consistent": False},
    ],
)
def test_bad_parameters_are_refused_when_they_are_given(options):
    with pytest.raises(ParameterError):
        sdp.KdTree(**options)


def test_bad_terms_are_refused():
    with pytest.raises(BudgetError, match="median_share is 'x'"):
        sdp.KdTree(3, median_share="x")
    with pytest.raises(ParameterError, match="add-remove"):
        sdp.KdTree(3, sampling=0.5).release(XY, UNIT, epsilon=1, neighbours="replace")
    with pytest.raises(BudgetError, match="delta"):
        sdp.KdTree(3).release(XY, UNIT, epsilon=1, delta=1e-6)
    with pytest.raises(BudgetError, match="noisy means"):
        sdp.KdTree(8, median="noisy-mean").release(None, UNIT, epsilon=1e-6)
    with pytest.raises(BudgetError, match="below 1e-15 for the split lines"):
        sdp.KdTree(1, median_share=1e-20, stop=100).release(None, UNIT, epsilon=1)
    with pytest.raises(BudgetError, match="discrete-laplace noise"):  # of a level that few would get to
        sdp.KdTree(2, budget=(1, Fraction(1, 10**40), 1), stop=100, data_levels=0).check(UNIT, epsilon=1)
    thin = sdp.Domain((0, 0, 1, 1), region=shapely.box(0.50001, 0.1, 0.50002, 0.9))
    with pytest.raises(DomainError, match="thinner"):
        sdp.KdTree(2).release(None, thin, epsilon=1)


def test_plan_is_what_the_release_records():
    for mechanism in (sdp.KdTree(3), sdp.KdTree(3, median="cell"), sdp.KdTree(3, data_levels=0), sdp.Quadtree(3)):
        plan = mechanism.plan(UNIT, epsilon=0.3)
        assert plan.budget == mechanism.release(XY, UNIT, epsilon=0.3).privacy.budget
