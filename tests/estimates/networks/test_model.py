"""The model of a network: products of conditional shares, computed by hand."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.estimates.networks.model import Family, joint, owners, table_shape
from spatialdp.space.frames.frame import Frame

FRAME = Frame(
    sdp.Domain((0, 0, 4, 2)).grid((4, 2)),
    blocks=2,
    kind=sdp.Categories({"theft": ["burglary", "shoplifting"], "assault": []}),
    day=sdp.Categories(["workday", "weekend"]),
)
FAMILIES = [Family("box"), Family("day", (("box", 1),)), Family("kind", (("day", 1), ("box", 1)))]


def test_cells_belong_to_the_parts_that_are_named():
    for axis in FRAME.axes.values():
        for level in range(1, len(axis.names)):
            numbers = owners(axis, level)
            assert set(numbers.tolist()) == set(range(len(axis.part_labels(axis.names[level]))))
    assert owners(FRAME.axes["kind"], 2).tolist() == [0, 1, 2]
    assert owners(FRAME.space, 1).tolist() == [0, 0, 0, 0, 1, 1, 1, 1]


def test_the_joint_share_is_the_product_of_conditional_ones():
    rng = np.random.default_rng(1)
    tables = [rng.integers(1, 9, table_shape(FRAME, family)).astype(float) for family in FAMILIES]
    shares = joint(FRAME, FAMILIES, tables)
    block = owners(FRAME.space, 1)
    for kind, day, box in itertools.product(range(3), range(2), range(8)):
        expected = tables[0][box] / tables[0].sum()
        expected *= tables[1][day, block[box]] / tables[1][:, block[box]].sum()
        expected *= tables[2][kind, day, block[box]] / tables[2][:, day, block[box]].sum()
        assert shares[kind, day, box] == pytest.approx(expected)
    assert shares.sum() == pytest.approx(1)


def test_negative_counts_are_taken_from_others_and_empty_parents_get_the_shares_of_all():
    tables = [np.array([5.0, -3, 2, 0, 0, 0, 0, 0]), np.array([[3.0, -4], [9, -1]]), np.ones((3, 2, 2))]
    shares = joint(FRAME, FAMILIES, tables)
    assert shares.sum() == pytest.approx(1)
    assert shares.min() == 0
    assert shares.sum(axis=(0, 1)).tolist() == [0.875, 0, 0.125, 0, 0, 0, 0, 0]  # 5 - 1.5 and 2 - 1.5, of 4 records
    assert shares[:, :, 2].sum(axis=0) == pytest.approx(0.125 * np.array([0.5, 6.5]) / 7)
    nothing = joint(FRAME, FAMILIES, [np.full_like(table, -1.0) for table in tables])
    assert np.allclose(nothing, 1 / FRAME.n_cells)
