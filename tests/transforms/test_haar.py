"""The Haar wavelet along one axis: what PyWavelets says, and dyadic nodes."""

from __future__ import annotations

import numpy as np
import pytest
import pywt

from spatialdp.structures.axis_pairs import forward
from spatialdp.transforms.haar import HaarAxis
from spatialdp.transforms.quad_haar import QuadHaar

RNG = np.random.default_rng(4)


@pytest.mark.parametrize("side", [2, 16, 64])
def test_coefficients_are_those_of_pywavelets(side):
    counts = RNG.integers(0, 50, (side, side))
    levels = side.bit_length() - 1
    theirs = pywt.fswavedecn(counts.astype(float), "haar", levels=levels).coeffs
    ours = forward(counts, (HaarAxis(side), HaarAxis(side)))
    # Theirs are divided by the root of the node's length.
    norms = np.concatenate([[side], *([2.0 ** (levels - j)] * 2**j for j in range(levels))]) ** -0.5
    assert ours * np.outer(norms, norms) == pytest.approx(theirs, abs=1e-9)

    total, *details = pywt.wavedec2(counts.astype(float), "haar", level=levels)
    groups = QuadHaar(side, side).forward(counts)
    assert groups[0] / side == pytest.approx(total)
    for j, (along_y, along_x, both) in enumerate(details):
        length = 2 ** (levels - j)
        for mine, their in zip(groups[1 + 3 * j : 4 + 3 * j], (along_x, along_y, both), strict=True):
            assert mine / length == pytest.approx(their, abs=1e-9)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 8, 9, 100])
def test_coefficients_are_halves_of_dyadic_nodes(size):
    axis, counts = HaarAxis(size), RNG.integers(0, 50, size)
    padded = np.pad(counts, (0, 2**axis.levels - size))
    found = axis.forward(counts)
    assert found[0] == counts.sum()
    for scale, part in enumerate(axis.groups[1:]):
        left, right = padded.reshape(2**scale, 2, -1).sum(axis=2).T
        assert np.array_equal(found[part], left - right)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 8, 9])
def test_a_record_changes_one_coefficient_of_each_scale_by_one(size):
    axis = HaarAxis(size)
    for unit in np.eye(size, dtype=np.int64):
        assert [np.abs(axis.forward(unit)[part]).sum() for part in axis.groups] == [1] * axis.n_groups
    assert axis.n_groups == 1 + int(np.ceil(np.log2(size)))
