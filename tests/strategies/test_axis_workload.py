"""Workloads of an axis: means over their queries, and what makes no sense."""

from __future__ import annotations

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.errors import ParameterError
from spatialdp.strategies.axis_workload import ALL_RANGES, AxisWorkload


def all_ranges(size: int) -> np.ndarray:
    low, high = np.triu_indices(size + 1, 1)
    cells = np.arange(size)
    return ((low[:, None] <= cells) & (cells < high[:, None])).astype(float)


@pytest.mark.parametrize("size", [1, 2, 7])
def test_grams_are_means_over_queries(size):
    ranges = all_ranges(size)
    queries = {
        "ranges": ranges,
        "prefixes": ranges[ranges[:, 0] == 1],
        "cells": np.eye(size),
        "total": np.ones((1, size)),
        "marginal": np.vstack([np.eye(size), np.ones((size, size))]),
    }
    for name, rows in queries.items():
        np.testing.assert_allclose(AxisWorkload(name).gram(size), rows.T @ rows / len(rows), err_msg=name)


def test_gram_of_a_list_counts_repeated_ranges():
    rows = np.array([[1, 1, 0, 0], [0, 1, 1, 1], [0, 1, 1, 1]])
    np.testing.assert_allclose(AxisWorkload([(0, 2), (1, 4), (1, 4)]).gram(4), rows.T @ rows / 3)
    pairs = tuple(zip(*np.triu_indices(6, 1), strict=True))
    np.testing.assert_allclose(AxisWorkload(pairs).gram(5), ALL_RANGES.gram(5))


@pytest.mark.parametrize("queries", ["boxes", [], 3, [(2, 2)], [(-1, 2)], [(0, 1.5)], [(0, 1, 2)]])
def test_workloads_that_make_no_sense_are_refused(queries):
    with pytest.raises(ParameterError):
        AxisWorkload(queries)
    with pytest.raises(ParameterError):
        sdp.Tailored((4, 4), workload=(queries, "ranges"))
