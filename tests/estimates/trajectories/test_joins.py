"""Pairs of ends: the chain's arrivals agree with powers of its matrix, and likely flows are nearer than noisy ones."""

from __future__ import annotations

import numpy as np
import pytest

from spatialdp.estimates.trajectories import joins
from spatialdp.estimates.trajectories.joins import arrivals, likely_flows


def some_chain(rng, cells=30):
    following = np.column_stack([rng.integers(0, cells, (cells, 8)), np.arange(cells)])
    chances = rng.dirichlet(np.ones(9), cells)
    return following, chances


def test_arrivals_are_powers_of_the_chain(monkeypatch):
    rng = np.random.default_rng(1)
    following, chances = some_chain(rng)
    attraction, place_of = rng.random(30) * (np.arange(30) != 4), np.repeat(np.arange(5), 6)
    lengths = np.array([0.25, 0.0, 0.25, 0.5, 0.0])
    matrix = np.zeros((30, 30))
    np.add.at(matrix, (np.repeat(np.arange(30), 9), following.ravel()), chances.ravel())
    walked = sum(share * np.linalg.matrix_power(matrix, steps) for steps, share in enumerate(lengths))
    begin = np.where(place_of == np.arange(5)[:, None], attraction, 0.0)
    begin /= begin.sum(axis=1, keepdims=True)
    expected = begin @ walked @ np.eye(5)[place_of]
    assert arrivals(following, chances, attraction, place_of, 5, lengths) == pytest.approx(expected)
    monkeypatch.setattr(joins, "_AT_ONCE", 60)
    assert arrivals(following, chances, attraction, place_of, 5, lengths) == pytest.approx(expected)
    assert expected.sum(axis=1) == pytest.approx(1)


def test_a_place_without_cells_and_no_lengths_give_numbers():
    following, chances = some_chain(np.random.default_rng(2))
    found = arrivals(following, chances, np.zeros(30), np.zeros(30, dtype=int), 2, np.zeros(4))
    assert not found.any()


def test_likely_flows_are_nearer_than_noisy_ones_and_exact_without_noise():
    rng = np.random.default_rng(3)
    weights = rng.gamma(1, 1, 40)
    joined = rng.dirichlet(np.full(40, 0.3), 40)
    flows = rng.poisson(3000 * (weights / weights.sum())[:, None] * joined).astype(float)
    noisy = flows + rng.laplace(0, 4, flows.shape)
    found = likely_flows(noisy, 32.0, flows.sum(), weights, joined)
    listed = np.where(noisy >= 30, noisy, 0.0)
    assert np.abs(found - flows).sum() < 0.6 * np.abs(listed - flows).sum()
    assert np.abs(likely_flows(flows, 1e-8, flows.sum(), weights, joined) - flows).max() < 0.01


@pytest.mark.parametrize(("total", "weight"), [(0.0, 1.0), (-4.0, 1.0), (9.0, 0.0)])
def test_without_trajectories_or_places_there_are_no_flows(total, weight):
    assert not likely_flows(np.ones((2, 2)), 1.0, total, np.full(2, weight), np.eye(2)).any()
