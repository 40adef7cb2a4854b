"""Records in the nodes of a growing tree: after any splits every node holds its records, sorted both ways."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spatialdp.records.nodes import Nodes, one_by_one
from spatialdp.space.lattice import LATTICE

seeds = st.integers(0, 2**32 - 1)


def records(rng, count):
    """Lattice columns and rows, many of them tied."""
    wide = rng.integers(0, LATTICE, (2, count))
    return np.where(rng.random((2, count)) < 0.5, wide, rng.choice([0, 7, LATTICE // 2, LATTICE - 1], (2, count)))


def held_by(box, x, y):
    """Records in a half-open box, sorted."""
    inside = (x >= box[0]) & (x < box[2]) & (y >= box[1]) & (y < box[3])
    return sorted(zip(x[inside].tolist(), y[inside].tolist(), strict=True))


def assert_right(nodes, x, y):
    """Each node has the records in its box, in both orders, and each order is sorted within the node."""
    for i, box in enumerate(nodes.boxes.tolist()):
        part = slice(nodes.starts[i], nodes.starts[i + 1])
        for axis, order in enumerate(nodes.orders):
            found = list(zip(order[0][part].tolist(), order[1][part].tolist(), strict=True))
            assert sorted(found) == held_by(box, x, y)
            assert (np.diff(order[axis][part]) >= 0).all()
    assert nodes.counts.tolist() == [len(held_by(box, x, y)) for box in nodes.boxes.tolist()]


def lines_within(nodes, axis, rng):
    low, high = nodes.range(axis)
    line = rng.integers(low, high, endpoint=True)  # at an end too, which leaves a half without width
    return np.where(rng.random(line.size) < 0.5, np.clip(LATTICE // 2, low, high), line)


@given(seeds, st.integers(0, 60), st.lists(st.integers(0, 1), min_size=1, max_size=5))
@settings(max_examples=60)
def test_splitting_along_any_axes_leaves_every_record_in_its_node(seed, count, axes):
    rng = np.random.default_rng(seed)
    x, y = records(rng, count).astype(np.int32)
    nodes = Nodes.root(x, y)
    for axis in axes:
        before = nodes
        nodes, parent = nodes.split(lines_within(nodes, axis, rng), axis)
        assert_right(nodes, x, y)
        assert nodes.counts.sum() == count
        assert (nodes.boxes[:, axis] < nodes.boxes[:, axis + 2]).all()
        for child, of in zip(nodes.boxes, before.boxes[parent], strict=True):
            assert (child[:2] >= of[:2]).all()
            assert (child[2:] <= of[2:]).all()
        assert np.array_equal(nodes.sorted(axis), nodes.orders[axis][axis])


@given(seeds, st.integers(0, 40))
@settings(max_examples=40)
def test_only_the_nodes_that_are_kept_keep_their_records(seed, count):
    rng = np.random.default_rng(seed)
    x, y = records(rng, count).astype(np.int32)
    nodes = Nodes.root(x, y)
    for axis in (0, 1):
        nodes, _ = nodes.split(lines_within(nodes, axis, rng), axis)
    wanted = rng.random(len(nodes.boxes)) < 0.5
    kept = nodes.keep(wanted)
    assert np.array_equal(kept.boxes, nodes.boxes[wanted])
    assert_right(kept, x, y)


@pytest.mark.parametrize("axis", [0, 1])
def test_a_record_on_the_line_belongs_to_the_upper_half(axis):
    x = y = np.array([4, 5, 6], dtype=np.int32)
    halves, parent = Nodes.root(x, y).split(np.array([5]), axis)
    assert halves.counts.tolist() == [1, 2]
    assert parent.tolist() == [0, 0]


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


@given(seeds, st.integers(0, 40))
@settings(max_examples=40)
def test_weights_go_with_their_records(seed, count):
    rng = np.random.default_rng(seed)
    x, y = records(rng, count).astype(np.int32)
    weights = rng.integers(1, 9, count)
    weighted, single = Nodes.root(x, y, weights), Nodes.root(*one_by_one((x, y, weights)))
    for axis in (0, 1, 0):
        lines = lines_within(weighted, axis, rng)
        (weighted, _), (single, _) = weighted.split(lines, axis), single.split(lines, axis)
        kept = rng.random(len(weighted.boxes)) < 0.8
        weighted, single = weighted.keep(kept), single.keep(kept)
        assert np.array_equal(weighted.boxes, single.boxes)
        assert np.array_equal(weighted.counts, single.counts)
        assert np.array_equal(np.repeat(weighted.sorted(axis), weighted.weights(axis)), single.sorted(axis))
    assert single.weights(0) is None
    assert one_by_one((x, y)) == (x, y)
