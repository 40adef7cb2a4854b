"""Sums over the nodes at which walks end: those over all leaves by covered shares, in chunks and by families."""

from __future__ import annotations

import numpy as np
import pytest
import shapely

from spatialdp.space.boxes import walker as walker_module
from spatialdp.space.boxes.leaf_families import Families
from spatialdp.space.boxes.quadtree import morton_order, quadtree
from spatialdp.space.boxes.walker import Walker
from spatialdp.space.domain import Domain
from spatialdp.space.lattice import LATTICE
from spatialdp.space.polygons import read_polygons
from spatialdp.space.regions.borders import RegionArea
from spatialdp.trees.shape import sums
from spatialdp.trees.tree_noise import TreeNoise
from tests.helpers.boxes import coverage, coverage_in_region

UNIT = Domain((0, 0, 1, 1))
REGION = Domain((0, 0, 1, 1), region=shapely.Polygon([(0, 0), (1, 0), (1, 0.6), (0.3, 1), (0, 0.5)]))
HEIGHT = 3
TREE = quadtree(HEIGHT)
RNG = np.random.default_rng(2)
LEAVES = RNG.integers(0, 50, TREE.n_leaves).astype(np.float64)
NODES = sums(TREE, LEAVES)
BOXES = np.sort(RNG.integers(0, LATTICE + 1, (50, 2, 2)), axis=1).reshape(-1, 4)
UNMEASURED = np.arange(TREE.n_nodes) < 5
NOISE = TreeNoise(TREE, np.arange(1.0, HEIGHT + 2), np.full(HEIGHT + 1, 2.0))


def walker(unmeasured=None, by_families=False):
    families = Families.of(TREE, UNIT.grid((8, 8)), np.ones((8, 8), dtype=bool)) if by_families else None
    return Walker(TREE, UNIT, None, families, unmeasured)


@pytest.fixture
def small_chunks(monkeypatch):
    """Seven queries at a time."""

    def chunks(_tree, queries):
        return [slice(start, start + 7) for start in range(0, len(queries), 7)]

    monkeypatch.setattr(walker_module, "chunks", chunks)


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("unmeasured", [None, UNMEASURED], ids=["all measured", "some unmeasured"])
def test_sums_are_those_over_leaves_by_covered_shares(unmeasured):
    shares, made = coverage(TREE.boxes[TREE.leaves], BOXES), walker(unmeasured)
    expected = np.stack([shares @ LEAVES, shares @ (2 * LEAVES)])
    assert made.summed_values(BOXES, NODES, 2 * NODES) == pytest.approx(expected, abs=1e-5)
    weighed = made.summed(BOXES, lambda p: p.coverage * NODES[p.node], lambda p: 2 * p.coverage * NODES[p.node])
    assert weighed == pytest.approx(expected, abs=1e-5)


@pytest.mark.usefixtures("small_chunks")
def test_in_a_region_shares_are_of_the_area_in_it():
    tree = quadtree(HEIGHT, mask=REGION.grid((8, 8)).mask)
    made = Walker(tree, REGION, RegionArea.of(REGION), None, ~tree.leaves)
    shares = coverage_in_region(tree.boxes[tree.leaves].astype(np.int64), BOXES, REGION)
    values = np.where(tree.leaves, np.arange(float(tree.n_nodes)), 0.0)
    assert made.summed_values(BOXES, values)[0] == pytest.approx(shares @ values[tree.leaves], abs=1e-5)


@pytest.mark.usefixtures("small_chunks")
def test_no_sum_takes_an_unmeasured_node():
    met = walker(unmeasured=UNMEASURED).summed(BOXES, lambda pairs: UNMEASURED[pairs.node] * pairs.coverage)
    assert not met.any()


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("unmeasured", [None, UNMEASURED], ids=["all measured", "some unmeasured"])
def test_sums_by_families_are_those_of_every_leaf(unmeasured):
    cells = np.empty(TREE.n_leaves)
    cells[morton_order(HEIGHT)] = LEAVES
    by_place = cells.reshape(8, 8)

    def leaves_within(opened):
        x = UNIT.grid((8, 8)).x_lines
        places = np.array([(x[i], x[j], x[i + 1], x[j + 1]) for j in range(8) for i in range(8)])
        return coverage(places, opened.boxes) @ by_place.ravel()

    made = walker(unmeasured=unmeasured, by_families=True)
    expected = coverage(TREE.boxes[TREE.leaves], BOXES) @ LEAVES
    assert made.summed_families(BOXES, NODES.take, leaves_within) == pytest.approx(expected, abs=1e-5)


@pytest.mark.usefixtures("small_chunks")
def test_cumulants_by_families_are_those_of_every_leaf():
    by_families = walker(by_families=True).fitted_cumulants(BOXES, NOISE)
    assert np.array(by_families) == pytest.approx(np.array(walker().fitted_cumulants(BOXES, NOISE)), rel=1e-9)


@pytest.mark.usefixtures("small_chunks")
def test_boxes_as_polygons_go_the_same_way():
    polygons = read_polygons(shapely.box(*(BOXES / LATTICE).T), UNIT)
    made = walker()
    assert np.array(made.fitted_cumulants(polygons, NOISE)) == pytest.approx(
        np.array(made.fitted_cumulants(BOXES, NOISE)), rel=1e-6
    )
    for (chunk, boxes), (part, shapes) in zip(made.walks(BOXES), made.walks(polygons), strict=True):
        assert chunk == part
        assert [pairs.node.tolist() for pairs in boxes] == [pairs.node.tolist() for pairs in shapes]
