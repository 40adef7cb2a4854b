"""The cells of a region are the leaves of a tree of blocks; boxes cover them in part."""

from __future__ import annotations

import numpy as np
import pytest
import shapely

import spatialdp as sdp
from spatialdp.errors import ParameterError
from spatialdp.space.frames.cells import Cells

GRID = sdp.Domain((0, 0, 6, 4)).grid((6, 4))
CORNER = sdp.Domain((0, 0, 6, 4), region=shapely.box(0, 0, 3, 4), region_cells="centres").grid((6, 4))


@pytest.mark.parametrize("grid", [GRID, CORNER])
@pytest.mark.parametrize("blocks", [(), (2,), (4, 2), 3])
def test_every_cell_of_the_region_is_one_leaf_of_its_block(grid, blocks):
    cells = Cells(grid, blocks)
    assert sorted(cells.cells.tolist()) == np.flatnonzero(grid.mask).tolist()
    assert np.array_equal(cells.leaf_of_cell[cells.cells], np.arange(cells.size))
    outside = np.flatnonzero(~np.append(grid.mask.ravel(), False))
    assert (cells.leaf_of_cell[outside] == cells.size).all()
    assert cells.shape.n_leaves == cells.size
    for depth, side in enumerate(cells.blocks, start=1):
        row, column = np.divmod(cells.cells, 6)
        block = column // side + 100 * (row // side)
        assert cells.shape.level(depth).stop - cells.shape.level(depth).start == len(set(block.tolist()))
        assert len(cells.part_labels(f"blocks of {side}")) == len(set(block.tolist()))
    assert cells.part_labels("cells") == cells.labels()


def test_boxes_cover_shares_of_cells():
    cells, shares = Cells(GRID).pick((0, 0, 1.5, 0.5))
    assert dict(zip(cells.tolist(), shares.tolist(), strict=True)) == pytest.approx({0: 0.5, 1: 0.25})
    cells, shares = Cells(GRID).pick((0, 0, 60, 40))
    assert cells.size == 24
    assert (shares == 1).all()


@pytest.mark.parametrize("query", [(0, 0, 1), (10, 10, 11, 11), [[0, 0, 1, 1]]])
def test_what_is_no_box_of_the_domain_is_refused(query):
    with pytest.raises(ParameterError):
        Cells(GRID).pick(query)


@pytest.mark.parametrize("blocks", [(2, 4), (3, 2), (2, 2), (1,), (2.5,)])
def test_blocks_that_do_not_nest_are_refused(blocks):
    with pytest.raises(ParameterError, match="blocks"):
        Cells(GRID, blocks)
