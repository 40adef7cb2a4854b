"""Metrics of trajectories: zero for equals, and as slow loops compute them."""

from __future__ import annotations

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.evaluation.trajectories.metrics import (
    METRICS,
    _diameters,
    _frequent,
    compare,
    divergence,
    halves,
    paths_of_positions,
    true_paths,
)
from spatialdp.records.rows.tracks import Paths
from tests.helpers.trajectory_cases import DOMAIN, tracks_of


def some_paths(seed, count=200):
    rng = np.random.default_rng(seed)
    starts = np.concatenate([[0], np.cumsum(rng.integers(1, 20, count))])
    return Paths(starts, *rng.integers(0, 2**30, (2, starts[-1])))


def test_equals_are_equal_and_others_are_not():
    same, other = compare(some_paths(1), some_paths(1)), compare(some_paths(1), some_paths(2))
    assert set(same) == set(METRICS)
    assert [same[name] for name in METRICS[:5]] == [0, 0, 0, 1, 0]
    assert other["visits"] > 0.1
    assert other["patterns"] < 0.1


def test_divergence_is_that_of_the_textbook():
    p, q = np.array([0.1, 0.4, 0.5]), np.array([0.3, 0.0, 0.7])
    middle = (p + q) / 2
    parts = [np.sum(each[each > 0] * np.log2(each[each > 0] / middle[each > 0])) for each in (p, q)]
    assert divergence(p * 10, q * 10) == pytest.approx(sum(parts) / 2)


def test_diameters_are_nearly_those_of_all_pairs():
    paths = some_paths(3, 50)
    for owner, told in enumerate(_diameters(paths)):
        part = slice(paths.starts[owner], paths.starts[owner + 1])
        x, y = paths.columns[part] / 2**30, paths.rows[part] / 2**30
        true = np.hypot(x[:, None] - x, y[:, None] - y).max() / np.sqrt(2)
        assert true * np.cos(np.pi / 32) - 1e-9 <= told <= true + 1e-9


def test_frequent_ways_go_through_three_different_cells_of_one_trajectory():
    paths = Paths(np.array([0, 5, 7]), np.array([0, 0, 1, 1, 2, 3, 4]) << 25, np.zeros(7, dtype=int))
    assert _frequent(paths, paths.columns >> 25) == {(0 * 1024 + 1) * 1024 + 2}


def test_true_and_drawn_trajectories_are_compared_on_one_lattice():
    tracks = tracks_of([[0, 1, 2, 10], [63, 62], [9]] * 100)
    paths = true_paths(tracks, DOMAIN, 60, 60)
    release = sdp.Trajectories(ends=2, systems=(3,)).release(tracks, DOMAIN, epsilon=1000, noise=sdp.SeededNoise(1))
    told = compare(paths, paths_of_positions(release.positions(300, noise=sdp.SeededNoise(2)), DOMAIN))
    assert told["trips"] < 0.5
    assert told["lengths"] < 0.05
    assert halves(paths, 1)["trips"] < 0.05


def test_no_trajectories_differ_in_nothing():
    empty = Paths(np.zeros(1, dtype=int), np.zeros(0, dtype=int), np.zeros(0, dtype=int))
    assert set(compare(empty, empty).values()) == {0.0}
