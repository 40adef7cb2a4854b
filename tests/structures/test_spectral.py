"""Measured spectra: no record moves them by more than declared, and the way back is exact."""

from __future__ import annotations

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.privacy.neighbours import Neighbours
from spatialdp.privacy.noise.laws import Law
from spatialdp.structures import spectral
from spatialdp.transforms.frequency_blocks import (
    largest_count,
)
from spatialdp.transforms.spectral import Basis, functions, padded
from tests.helpers.sources import ZeroNoise
from tests.helpers.waves import designed, measurement, neighbours_of, orthonormal, points_of, sizes_of

SIZES = (1, 2, 3, 5, 17, 64, 100, 257)
BASES = list(Basis)
DOMAIN = sdp.Domain((0, 0, 1, 1))
ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE


@pytest.mark.parametrize("basis", BASES)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("other", [1, 6])
def test_perfect_reconstruction_without_noise(basis, size, other):
    for shape in ((size, other), (other, size)):
        counts = np.random.default_rng(size).poisson(4, shape[::-1])
        back = spectral._inverse(orthonormal(counts.astype(float), basis), basis, shape)
        assert back.dtype == np.float64
        assert np.allclose(back, counts, atol=1e-11)
        mechanism = sdp.Fourier(shape, basis=basis, block=sizes_of(basis, shape))
        release = mechanism.release(points_of(counts), DOMAIN, epsilon=1, noise=ZeroNoise())
        assert np.abs(release.estimate.values - counts).max() < 1e-5
        assert not release.estimate.biased


@pytest.mark.parametrize("basis", BASES)
def test_the_last_record_of_a_full_cell_moves_as_much_as_the_first(basis):
    """Sums are exact up to the public limit, beyond which records count nowhere."""
    shape, block = (7, 6), (3, 4)
    measured, most = measurement(basis, shape, block), largest_count(basis, shape)
    levels = [np.full((6, 7), level) for level in (0, most - 1, most, most + 5)]
    for cell in range(42):
        moved = []
        for counts in levels:
            more = counts.copy()
            more.flat[cell] += 1
            (a,), (b,) = (measured.measure(data) for data in (counts, more))
            moved.append(b.exact() - a.exact())
        assert np.array_equal(moved[0], moved[1])
        assert moved[0].any()
        assert not moved[2].any()
        assert not moved[3].any()


@pytest.mark.parametrize("law", [Law.DISCRETE_LAPLACE, Law.GAUSSIAN])
@pytest.mark.parametrize("basis", BASES)
def test_replacing_moves_no_more_than_declared(basis, law):
    shape = (6, 5)
    waves = orthonormal(np.eye(30).reshape(30, 5, 6), basis).reshape(30, -1)
    moves = np.concatenate([waves, (waves[:, None] - waves[None]).reshape(900, -1)])
    for block in [(1, 1), (3, 3), (6, 5), ("hyperbolic", 2), "marginals", (4, 4)]:
        measured = measurement(basis, shape, block, REPLACE, law)
        mask = np.zeros(sizes_of(basis, shape)[::-1], dtype=bool)
        mask[: measured.block.y[-1], : measured.block.x[-1]] = measured.block.mask
        moved = np.abs(moves[:, mask.ravel()]) / measured.width
        once, sensitivity = (measured.sensitivity(0, relation) for relation in (ADD, REPLACE))
        assert moved.sum(axis=1).max() <= sensitivity.l1 * (1 + 1e-7)
        assert (moved**2).sum(axis=1).max() <= sensitivity.l2_squared * (1 + 1e-7)
        assert sensitivity.l1 <= 2 * once.l1
        if basis is Basis.WALSH and block == (4, 4):  # dyadic: two cells differ in half of the functions, by 2
            assert sensitivity.l1 == round(moved.sum(axis=1).max(), 9) == 16


@pytest.mark.parametrize("basis", BASES)
@pytest.mark.parametrize("shape", [(8, 8), (7, 5), (13, 1)])
def test_coefficients_never_move_by_more_than_declared(basis, shape):
    rng = np.random.default_rng(3)
    for block in ((1, 1), (2, 1), sizes_of(basis, shape), ("hyperbolic", 2), "marginals"):
        measured, worst = measurement(basis, shape, block), 0.0
        for trial in range(60):
            largest = (3, 1000, largest_count(basis, shape) - 1)[trial % 3]
            counts = rng.integers(0, largest, size=shape[::-1])
            counts.flat[0] += 1
            for relation, other in neighbours_of(counts, rng):
                (a,), (b,) = (measured.measure(data) for data in (counts, other))
                moved, declared = np.abs(a.exact() - b.exact()), measured.sensitivity(0, relation)
                assert moved.sum() <= declared.l1
                assert (moved**2).sum() <= declared.l2_squared
                worst = max(worst, moved.sum() / declared.l1)
        assert worst > 0.4


@pytest.mark.parametrize("basis", BASES)
@pytest.mark.parametrize("block", [(5, 3), ("hyperbolic", 3), "marginals", (12, 10)])
def test_box_variance_is_that_of_the_linear_algebra(basis, block):
    shape = (12, 10)
    design = designed(basis, shape, block)
    (law,), measured = design.laws, design.structure
    rng = np.random.default_rng(2)
    corners = np.sort(rng.uniform(size=(40, 2, 2)), axis=1)
    boxes = DOMAIN.boxes(corners.reshape(-1, 4))
    estimate = design.blank()
    x, y = estimate.coverages(boxes)
    covers = []
    for coverage, size in ((x, 12), (y, 10)):
        cells = np.arange(size)
        covers.append(
            np.clip(np.minimum(cells + 1, coverage.stop[:, None]) - np.maximum(cells, coverage.start[:, None]), 0, 1)
        )
    weights_x, weights_y = (
        cover @ functions(basis, size, padded(basis, size)).T for cover, size in zip(covers, shape, strict=True)
    )
    sigma = law.variance * measured.width**2
    low = (weights_y[:, : measured.block.y[-1], None] * weights_x[:, None, : measured.block.x[-1]])[
        :, measured.block.mask
    ]
    variance, kurtosis = estimate.moments(boxes)
    assert np.allclose(variance, sigma * (low**2).sum(axis=1))
    assert np.allclose(kurtosis, law.kurtosis * (low**4).sum(axis=1) / (low**2).sum(axis=1) ** 2)


def test_walsh_sensitivity_is_barak_et_als():
    design = designed(Basis.WALSH, (16, 8), "marginals")
    measured = design.structure
    assert measured.sensitivity(0, ADD).l1 == 16 + 8 - 1
    assert measured.sensitivity(0, ADD).l1 * measured.width == pytest.approx(23 * 2 ** (-7 / 2))
    assert design.laws[0].parameter == 23
