"""Workloads of boxes and of products: told apart, checked, and turned into queries of each axis."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.errors import ParameterError
from spatialdp.planning.queries import all_boxes
from spatialdp.strategies.products import BoxQueries, box_queries, parse_workload
from tests.helpers.workloads import DOMAIN, ROUND, SHAPE, WORKLOADS


def dense(boxes: np.ndarray, grid: sdp.Grid) -> np.ndarray:
    """(boxes, rows, columns) covered shares, cell by cell."""
    x, y = grid.x_edges, grid.y_edges
    west, south, east, north = boxes.T[:, :, None]
    along = np.clip(np.minimum(east, x[1:]) - np.maximum(west, x[:-1]), 0, None) / np.diff(x)
    across = np.clip(np.minimum(north, y[1:]) - np.maximum(south, y[:-1]), 0, None) / np.diff(y)
    return across[:, :, None] * along[:, None, :]


@pytest.mark.parametrize("name", WORKLOADS)
def test_gram_of_boxes_is_that_of_their_covered_shares(name):
    grid, boxes = DOMAIN.grid(SHAPE), WORKLOADS[name]
    queries = box_queries(BoxQueries(boxes), grid)
    order = np.unique(DOMAIN.boxes(boxes), axis=0, return_index=True)[1]
    shares = dense(boxes[order], grid)
    for axis, along in ((queries.x, shares.max(axis=1)), (queries.y, shares.max(axis=2))):
        # The largest share along the other axis is 1 wherever a box covers a whole cell; else divide it out.
        along = along / along.max(axis=1, keepdims=True) * np.minimum(1, axis.coverage.parts.max(axis=0))[:, None]
        weights = np.random.default_rng(3).random(len(order))
        expected = np.einsum("b,bi,bj->ij", weights, along, along)
        np.testing.assert_allclose(axis.gram(weights), expected, atol=1e-6 * weights.sum())


def test_repeated_boxes_count_twice_and_order_does_not_matter():
    grid = DOMAIN.grid(SHAPE)
    few = WORKLOADS["small"][:3]
    twice = box_queries(BoxQueries(few[[0, 1, 1, 2]]), grid)
    assert sorted(twice.weights) == [0.25, 0.25, 0.5]
    assert twice == box_queries(BoxQueries(few[[1, 2, 0, 1]]), grid)
    assert twice != box_queries(BoxQueries(few), grid)
    assert hash(twice) != hash(box_queries(BoxQueries(few), grid))


def test_boxes_are_equal_by_value():
    boxes = WORKLOADS["small"]
    mechanism = sdp.Tailored(SHAPE, workload=boxes)
    assert mechanism == sdp.Tailored(SHAPE, workload=boxes.tolist())
    assert hash(mechanism) == hash(sdp.Tailored(SHAPE, workload=boxes.copy()))
    assert mechanism != sdp.Tailored(SHAPE, workload=boxes[:-1])
    assert BoxQueries([(0.0, 0, 1, 1)]) == BoxQueries([(-0.0, 0, 1, 1)])
    boxes = boxes.copy()
    other = sdp.Tailored(SHAPE, workload=boxes)
    boxes[:] = 0
    assert other == mechanism  # what is given is copied


@pytest.mark.parametrize("workload", ["marginals", ("ranges", [(0, 2)]), [("cells", "total", 2), ([(0, 3)], "cells")]])
def test_workloads_survive_a_copy(workload):
    mechanism = sdp.Tailored(SHAPE, workload=workload)
    assert replace(mechanism, law="gaussian").workload == mechanism.workload
    assert pickle.loads(pickle.dumps(mechanism)) == mechanism


def test_forms_of_workloads_are_told_apart():
    both = [("cells", "total"), ("total", "cells")]
    assert parse_workload(both) == (("cells", "total", 1.0), ("total", "cells", 1.0))
    assert parse_workload([("cells", "total", 3), ("ranges", [(0, 2), (1, 4)])])[1] == ("ranges", ((0, 2), (1, 4)), 1.0)
    assert parse_workload(("ranges", "cells")) == (("ranges", "cells", 1.0),)
    assert parse_workload(([(0, 2), (1, 3)], [(0, 1), (2, 4)])) == ((((0, 2), (1, 3)), ((0, 1), (2, 4)), 1.0),)
    assert parse_workload([("ranges", "cells")]) == parse_workload(("ranges", "cells"))
    assert parse_workload("Boxes") == "boxes"
    assert isinstance(parse_workload((0, 0, 1, 1)), BoxQueries)
    assert isinstance(parse_workload([(0, 0, 1, 1), (0, 0, 2, 2)]), BoxQueries)


@pytest.mark.parametrize(
    ("workload", "says"),
    [
        ([], "no boxes|shape"),
        (np.zeros((0, 4)), "no boxes"),
        (np.zeros((3, 3)), r"\(3, 3\)"),
        ([(0, 0, 1, float("nan"))], "NaN"),
        ([(1, 0, 0, 1)], "xmin must not exceed"),
        ([("cells", "total", -1)], "-1"),
        ([("cells", "total", 0)], "positive"),
        ([("cells", "total", float("nan"))], "positive"),
        ([("cells", "total", True)], "positive"),
        ([("cells", "total"), "cells"], "workload"),
        ([("cells", "nonsense"), ("total", "cells")], "nonsense"),
        ({"cells": "total"}, "workload"),
        ([([(0, 1), (2,)], "cells"), ("cells", "total")], "workload"),
        ([("cells", [(0, 3), (5, 2)]), ("cells", "total")], "empty"),
    ],
)
def test_workloads_that_make_no_sense_are_refused(workload, says):
    with pytest.raises(ParameterError, match=says):
        sdp.Tailored(SHAPE, workload=workload)


@pytest.mark.parametrize("mechanism", [sdp.Tailored, sdp.Hierarchy])
@pytest.mark.parametrize("box", [(100, 100, 101, 101), (0, 45, 0, 55), (-9.9, 40.1, -9.5, 40.5)])
def test_boxes_without_area_in_the_domain_are_refused_before_records_are_read(mechanism, box):
    queries = np.vstack([WORKLOADS["one"], [box]])
    with pytest.raises(ParameterError, match=r"box 1 .* no area"):
        mechanism(SHAPE, workload=queries).plan(ROUND, epsilon=1)


def test_statement_is_short_whatever_the_number_of_boxes():
    many = all_boxes(DOMAIN, 5000)
    statement = sdp.Hierarchy(SHAPE, workload=many).release(np.empty((0, 2)), DOMAIN, epsilon=1).privacy
    assert statement.parameters["workload"] == f"5000 boxes, sha256 {BoxQueries(many).digest}"
    assert len(json.dumps(statement.to_json())) < 2000
