"""Boxes are cut to the rectangle around the region, and get the region's shares of the cells on its border."""

from __future__ import annotations

import numpy as np
import pytest
import shapely

from spatialdp.space.domain import Domain
from spatialdp.space.lattice import LATTICE
from spatialdp.space.regions.borders import Border
from spatialdp.space.regions.extent import CellSums, Extent

UNIT = Domain((0, 0, 1, 1))
TRIANGLE = Domain((0, 0, 8, 8), region=shapely.Polygon([(0, 0), (8, 0), (0, 8)]))


class TestExtent:
    domain = Domain((0, 0, 8, 8), region=shapely.box(2, 3, 5, 4), region_cells="centres")
    grid = domain.grid((8, 8))

    def test_cells_are_the_rectangle_around_the_region(self):
        assert Extent(self.grid).cells == ((2, 3), (5, 4))

    def test_boxes_are_cut_to_it_and_those_beside_it_hold_nothing(self):
        boxes = self.domain.boxes([(0, 0, 3, 8), (0, 0, 8, 2), (2, 3, 4, 4)])
        inside, held = Extent(self.grid).within(boxes)
        assert held.tolist() == [True, False, True]
        assert inside[[0, 2]].tolist() == self.domain.boxes([(2, 3, 3, 4), (2, 3, 4, 4)]).tolist()

    def test_a_box_around_the_region_is_the_whole_grid(self):
        inside, held = Extent(self.grid).within(self.domain.boxes([(1, 1, 7, 7), (2, 3, 5, 4)]))
        assert inside.tolist() == [[0, 0, LATTICE, LATTICE]] * 2
        assert held.all()

    def test_without_a_region_boxes_stay_as_they_are(self):
        boxes = UNIT.boxes([(0.1, 0.1, 0.2, 0.2), (0.3, 0.3, 0.3, 0.3)])
        inside, held = Extent(UNIT.grid((4, 4))).within(boxes)
        assert inside is boxes
        assert held.all()


def test_a_box_that_covers_the_region_is_the_whole_grid_though_it_leaves_out_parts_of_cells():
    """No cell lies outside a region that touches all, and boxes that are given stay as they are."""
    grid = Domain((0, 0, 8, 8), region=shapely.box(0.25, 0.25, 7.75, 7.75)).grid((8, 8))
    boxes = grid.domain.boxes([(0.2, 0.2, 7.8, 7.8), (0.2, 0.2, 4, 4), (0, 0, 0.2, 8)])
    given = boxes.copy()
    inside, held = Extent(grid, Border.of(grid)).within(boxes)
    assert inside.tolist() == [[0, 0, LATTICE, LATTICE], *given[1:].tolist()]
    assert held.tolist() == [True, True, False]
    assert boxes.tolist() == given.tolist()


def test_border_cells_count_by_their_share_of_the_region():
    grid = TRIANGLE.grid((2, 2))
    boxes = TRIANGLE.boxes([(0, 0, 8, 2), (4, 0, 6, 4), (0, 0, 8, 8)])
    values = np.array([[5.0, 8.0], [8.0, 0.0]])
    area = 1 - 0.5**2  # of the lower right triangle, south of half of its height
    found = CellSums(grid, values, Border.of(grid)).of(boxes)
    assert found == pytest.approx([0.5 * 5 + area * 8, area * 8, 21.0], rel=0.01)
    plain = CellSums(grid, values, None).of(boxes)
    assert plain == pytest.approx([6.5, 4.0, 21.0])
    assert Extent(grid, Border.of(grid)).covered(boxes)[:2] == pytest.approx([0.5 + area, area], rel=0.01)
