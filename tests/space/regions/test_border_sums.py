"""What border cells change in the sums of boxes: prefix sums over pieces of cells equal the sum over listed cells."""

from __future__ import annotations

import numpy as np
import pytest
import shapely

from spatialdp.space.domain import Domain
from spatialdp.space.lattice import LATTICE
from spatialdp.space.regions import border_sums
from spatialdp.space.regions.border_sums import BorderSums
from spatialdp.space.regions.borders import Border

LAKE = shapely.Polygon(
    [(0.7, 0.4), (7.6, 0.2), (6.9, 3.7), (3.1, 3.9), (0.3, 2.2)], [[(3.2, 1.2), (4.7, 1.4), (4.1, 2.6)]]
)


def border_of(shape, region_cells="touching"):
    return Border.of(Domain((0.0, 0.0, 8.0, 4.0), region=LAKE, region_cells=region_cells).grid(shape))


def lattice_boxes(count, seed=0):
    ends = np.sort(np.random.default_rng(seed).integers(0, LATTICE + 1, (count, 2, 2)), axis=1)
    return ends.reshape(count, 4)


def listed(border, values, boxes):
    return border.summed(boxes, lambda cuts: cuts.change() * values.take(cuts.cell))[0]


@pytest.mark.parametrize("region_cells", ["touching", "centres"])
@pytest.mark.parametrize("shape", [(1, 1), (8, 4), (7, 13), (100, 60), (1500, 9)])
def test_equal_the_sums_over_listed_cells(shape, region_cells):
    border, boxes = border_of(shape, region_cells), lattice_boxes(200)
    if border is None:
        pytest.skip("no cell of this grid lies in the region in part")
    values = np.random.default_rng(1).normal(0, 100, border.grid.mask.shape)
    assert BorderSums(border, values).of(boxes) == pytest.approx(listed(border, values, boxes), abs=1e-6)


def test_wrong_values_are_noticed():
    border, boxes = border_of((8, 4)), lattice_boxes(200)
    values = np.random.default_rng(1).normal(0, 100, border.grid.mask.shape)
    assert not np.allclose(BorderSums(border, values + 1).of(boxes), listed(border, values, boxes), atol=1e-6)


def test_cells_are_listed_if_a_table_would_be_too_large(monkeypatch):
    border, boxes = border_of((9, 5)), lattice_boxes(50)
    values = np.arange(45.0).reshape(5, 9)
    by_table = BorderSums(border, values).of(boxes)
    monkeypatch.setattr(border_sums, "_LARGEST", 1000)
    border_sums._pieces_of.cache_clear()
    assert BorderSums(border, values).of(boxes) == pytest.approx(by_table, abs=1e-9)
    border_sums._pieces_of.cache_clear()


def test_whole_cells_change_nothing():
    border = border_of((8, 4))
    edges = np.sort(np.random.default_rng(2).integers(0, 5, (50, 2, 2)), axis=1).reshape(50, 4)
    sums = BorderSums(border, np.full((4, 8), 1e6)).of(border.grid.lattice_boxes(edges))
    assert np.abs(sums).max() < 1e-6
