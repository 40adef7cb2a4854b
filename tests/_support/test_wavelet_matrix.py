"""Sums over boxes agree with brute force, with and without weights."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spatialdp._support import wavelet_matrix
from spatialdp._support.wavelet_matrix import WaveletMatrix


@given(st.integers(0, 200), st.integers(0, 2**31), st.booleans())
def test_sums_are_those_of_brute_force(count, seed, weighted):
    random = np.random.default_rng(seed)
    x, y = random.integers(0, 20, (2, count))
    weights = random.integers(-9, 9, count).astype(float) if weighted else np.ones(count)
    boxes = np.sort(random.integers(0, 21, (30, 2, 2)), axis=1).reshape(-1, 4)
    held = [weights[(x >= x0) & (x < x1) & (y >= y0) & (y < y1)].sum() for x0, y0, x1, y1 in boxes]
    assert WaveletMatrix(x, y, weights if weighted else None).count(boxes).tolist() == held


@pytest.mark.parametrize("weights", [None, np.empty(0)])
def test_no_places_and_no_boxes(weights):
    nothing = WaveletMatrix(np.empty(0, dtype=int), np.empty(0, dtype=int), weights)
    assert nothing.n_places == 0
    assert nothing.count(np.array([[0, 0, 9, 9]])).tolist() == [0]
    assert WaveletMatrix(np.array([1]), np.array([1])).count(np.empty((0, 4), dtype=int)).size == 0


def test_many_boxes_are_asked_a_few_at_a_time(monkeypatch):
    random = np.random.default_rng(1)
    x, y = random.integers(0, 2**30, (2, 500))
    boxes = np.sort(random.integers(0, 2**30, (100, 2, 2)), axis=1).reshape(-1, 4)
    whole = WaveletMatrix(x, y).count(boxes)
    monkeypatch.setattr(wavelet_matrix, "_BLOCK", 7)
    assert np.array_equal(WaveletMatrix(x, y).count(boxes), whole)
