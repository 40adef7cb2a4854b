"""Shares of leaf zones that boxes and polygons cover: by area, whole where nothing thicker than a square is missing."""

from __future__ import annotations

import numpy as np
import pytest
import shapely

from spatialdp.estimates.zones.shares import LeafAreas
from spatialdp.space.domain import Domain

DOMAIN = Domain((0, 0, 8, 6))
RNG = np.random.default_rng(4)


def voronoi(count=40):
    """Leaves of many shapes that fill the domain."""
    sites = shapely.MultiPoint(RNG.uniform((0, 0), (8, 6), (count, 2)))
    cells = shapely.get_parts(shapely.voronoi_polygons(sites, extend_to=shapely.box(0, 0, 8, 6)))
    return shapely.intersection(cells, shapely.box(0, 0, 8, 6))


LEAVES = voronoi()
AREAS = LeafAreas(LEAVES, DOMAIN)


def dense(sets):
    shares = np.zeros((sets.count, len(LEAVES)))
    shares[sets.owner, sets.node] = sets.share
    return shares


def expected(polygons):
    return shapely.area(shapely.intersection(np.asarray(polygons)[:, None], LEAVES[None, :])) / shapely.area(LEAVES)


def test_shares_are_those_of_areas():
    ends = np.sort(RNG.uniform((-1, -1), (9, 7), (30, 2, 2)), axis=1).reshape(30, 4)
    boxes = DOMAIN.boxes(ends)
    assert dense(AREAS.of(AREAS.boxes(boxes))) == pytest.approx(
        expected(shapely.box(*np.clip(ends, 0, (8, 6, 8, 6)).T)), abs=1e-6
    )
    discs = shapely.buffer(shapely.points(RNG.uniform((0, 0), (8, 6), (20, 2))), RNG.uniform(0.1, 3, 20))
    assert dense(AREAS.of(discs)) == pytest.approx(expected(discs), abs=1e-6)
    assert AREAS.of(discs).owner.tolist() == sorted(AREAS.of(discs).owner)


def test_unions_of_leaves_are_sets_of_whole_leaves():
    chosen = [RNG.choice(len(LEAVES), size, replace=False) for size in (1, 3, 10, 40)]
    unions = np.array([shapely.union_all(LEAVES[numbers]) for numbers in chosen])
    sets = AREAS.of(unions)
    assert not sets.cut.any()
    assert [sorted(sets.node[sets.owner == i]) for i in range(4)] == [sorted(numbers) for numbers in chosen]


def test_less_than_a_lattice_square_is_nothing():
    square = 8 / 2**30
    leaf = LEAVES[5]
    for width, cut in ((0.4 * square, False), (0.01, True)):
        (grown,) = np.array([shapely.buffer(leaf, width)])
        (shrunk,) = np.array([shapely.buffer(leaf, -width)])
        assert AREAS.of(np.array([grown, shrunk])).cut.tolist() == [cut, cut]


def test_areas_without_area_and_places_outside_touch_nothing():
    nothing = AREAS.boxes(DOMAIN.boxes([(1, 1, 1, 3), (2, 2, 2, 2)]))
    outside = np.array([shapely.box(20, 20, 30, 30), shapely.Polygon()])
    for polygons in (nothing, outside):
        sets = AREAS.of(polygons)
        assert (sets.count, sets.node.size) == (2, 0)
    assert AREAS.of(np.zeros(0, dtype=object)).count == 0


def test_lattice_boxes_hold_the_leaves():
    boxes = AREAS.lattice_boxes
    bounds = DOMAIN.boxes(shapely.bounds(LEAVES))
    assert np.array_equal(boxes, bounds)
    thin = LeafAreas(np.array([shapely.box(1, 1, 1 + 1e-12, 2)]), DOMAIN)
    assert np.all(thin.lattice_boxes[:, :2] < thin.lattice_boxes[:, 2:])


def test_the_whole_domain_covers_every_leaf():
    sets = AREAS.of(np.array([shapely.box(-1, -1, 9, 9)]))
    assert sorted(sets.node) == list(range(len(LEAVES)))
    assert sets.share.tolist() == [1.0] * len(LEAVES)
