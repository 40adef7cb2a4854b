"""Selections add up the cells that they name, in any order and more than once."""

from __future__ import annotations

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.errors import ParameterError
from spatialdp.space.frames.selection import Selection, as_asked, depth_first, everything, of_nodes, parts_of, select
from tests.helpers.tables import random_shape

KINDS = sdp.Categories({"theft": ["burglary", "shoplifting"], "assault": []})


def test_sums_are_those_of_dense_rows_also_with_empty_sets():
    rng = np.random.default_rng(1)
    starts, cells = np.array([0, 3, 3, 5]), rng.integers(0, 9, 8)
    for shares in (None, rng.random(8)):
        selection = Selection(9, starts, cells, shares)
        values = rng.random((2, 9))
        dense = np.zeros((4, 9))
        np.add.at(dense, (np.repeat(np.arange(4), selection.sizes), cells), 1.0 if shares is None else shares)
        assert selection.sums(values) == pytest.approx(values @ dense.T)


@pytest.mark.parametrize("seed", range(8))
def test_nodes_hold_the_leaves_below_them(seed):
    shape = random_shape(np.random.default_rng(seed))
    selection = of_nodes(shape, np.arange(shape.n_nodes))
    dense = selection.rows(0, shape.n_nodes)
    for place, node in enumerate(np.flatnonzero(shape.leaves)):
        above = set()
        while node >= 0:
            above.add(int(node))
            node = int(shape.parent[node])
        assert set(np.flatnonzero(dense[:, place]).tolist()) == above
    first, count, cells = depth_first(shape)
    assert sorted(cells.tolist()) == list(range(shape.n_leaves))
    assert count[0] == shape.n_leaves
    assert first[0] == 0


def test_queries_are_all_one_or_many():
    assert select(KINDS, None).cells.tolist() == everything(KINDS).cells.tolist() == [0, 1, 2]
    assert select(KINDS, "theft").single
    many = select(KINDS, ["theft", ("assault", "burglary")])
    assert (many.count, many.sizes.tolist(), many.single) == (2, [2, 2], False)
    assert select(KINDS, []).count == 0
    assert parts_of(KINDS, "categories").is_every_cell
    with pytest.raises(ParameterError, match="no level"):
        parts_of(KINDS, "nonsense")


def test_answers_have_one_dimension_for_each_list_space_first():
    values = np.arange(6.0).reshape(3, 2)
    lists = [select(KINDS, ["theft", "assault", "burglary"]), select(KINDS, ["theft", "assault"])]
    assert as_asked(values, lists).shape == (2, 3)
    assert as_asked(np.ones((1, 1)), [select(KINDS, "theft"), select(KINDS, None)]) == 1.0


def test_sets_without_and_with_the_cells_that_they_cut():
    """Also sets that lose all their cells, and sets of whole cells among others."""
    cells, shares = np.array([0, 1, 2, 3, 1]), np.array([0.5, 1.0, 0.25, 0.75, 1.0])
    selection = Selection(4, np.array([0, 2, 4]), cells, shares)
    values = np.array([1.0, 2, 4, 8])
    assert selection.cut.tolist() == [True, True, False]
    assert selection.inside.sums(values).tolist() == [2, 0, 2]
    assert selection.touched.sums(values).tolist() == [3, 12, 2]
    whole = Selection(4, np.array([0]), np.array([1, 2]))
    assert whole.inside is whole.touched is whole
    assert whole.cut.tolist() == [False]
