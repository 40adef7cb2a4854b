"""Whole-number waves: right to half a unit, exactly even or odd, and spectra that agree with integers of any size."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
import scipy.fft

from spatialdp.transforms import integer_waves as waves
from spatialdp.transforms.frequency_blocks import step_width
from spatialdp.transforms.integer_waves import Spectrum, constant_gain, spectrum, wave_bits, wave_error, whole_waves
from spatialdp.transforms.spectral import Basis, functions, padded, walsh_sums
from tests.helpers.waves import whole_spectrum

WAVES = [Basis.DCT, Basis.DFT]
SIZES = (1, 2, 3, 5, 17, 64, 100, 130, 257)
LARGE = 2**40


def exact_cosines(size):
    """cos(pi m / (2 size)) for all m of a turn, to 40 digits and scaled by 2^120, as integers."""
    pi = Decimal("3.14159265358979323846264338327950288419716939937510582097494459")
    with localcontext() as context:
        context.prec = 60
        angle = pi / (2 * size)
        first, term = Decimal(0), Decimal(1)
        for k in range(1, 60):
            first += term
            term *= -angle * angle / ((2 * k - 1) * (2 * k))
        cosines = [Decimal(1), first]
        for _ in range(4 * size - 2):
            cosines.append(2 * first * cosines[-1] - cosines[-2])
        return [int((value * 2**120).to_integral_value()) for value in cosines]


def exact_waves(basis, size):
    """2^120 times the functions, written from their definitions."""
    cosines, flat, tall = exact_cosines(size), math.isqrt(2**240 // size), math.isqrt(2**241 // size)
    rows = []
    for order in range(size):
        frequency, sine = (order + 1) // 2, order > 0 and order % 2 == 0
        amplitude = flat if order == 0 or (basis is Basis.DFT and 2 * frequency == size) else tall
        for cell in range(size):
            angle = order * (2 * cell + 1) if basis is Basis.DCT else 4 * frequency * cell - size * sine
            rows.append(amplitude * cosines[angle % (4 * size)] >> 120)
    return np.array(rows, dtype=object).reshape(size, size)


def integers(basis, size):
    return whole_waves(basis, size, slice(None)).astype(np.int64).astype(object)


def exact_product(counts, basis):
    """By counts and by Bx, in Python's integers."""
    ny, nx = counts.shape
    return integers(basis, ny).dot(counts.astype(object)).dot(integers(basis, nx).T)


def total(found: Spectrum):
    return sum(part.astype(np.int64).astype(object) * 2 ** (19 * j) for j, part in enumerate(found.parts))


@pytest.mark.parametrize("basis", WAVES)
@pytest.mark.parametrize("size", SIZES)
def test_waves_are_the_nearest_whole_numbers(basis, size):
    bits, found = wave_bits(size), integers(basis, size)
    error = np.abs(found * 2 ** (120 - bits) - exact_waves(basis, size)).max()
    assert Fraction(int(error), 2 ** (120 - bits)) <= Fraction(1, 2) + Fraction(1, 2**60)
    assert np.array_equal(found[1:, : size // 2], whole_waves(basis, size, slice(1, None), slice(size // 2)))


@pytest.mark.parametrize("basis", WAVES)
@pytest.mark.parametrize("size", SIZES)
def test_waves_are_exactly_even_or_odd(basis, size):
    found = integers(basis, size)
    mirrored = found[:, ::-1] if basis is Basis.DCT else np.roll(found[:, ::-1], 1, axis=1)
    odd = np.arange(size) % 2 == 1 if basis is Basis.DCT else (np.arange(size) % 2 == 0) & (np.arange(size) > 0)
    assert np.array_equal(np.where(odd[:, None], -found, found), mirrored)


@pytest.mark.parametrize("size", [1, 2, 3, 8, 100, 1000, 1024, 4096, 65536, 10**6])
def test_sums_of_digits_stay_below_what_doubles_hold(size):
    """Σ|function| is at most what `wave_bits` counts with, and the bits are the most there can be."""
    bits = wave_bits(size)
    assert (2**19 - 1) * waves._reach(size, bits) <= 2**52 < (2**19 - 1) * waves._reach(size, bits + 1)
    if size <= 1024:
        for basis in WAVES:
            sums = np.abs(integers(basis, size)).sum(axis=1)
            assert max(sums) <= waves._reach(size, bits)
            assert max(sums) > 0.9 * waves._reach(size, bits)


def adversarial(shape, rng):
    """Counts at which digits, carries and signs are at their worst."""
    yield np.zeros(shape, dtype=np.int64)
    for count in (1, 2**19 - 1, 2**19, 2**38 - 1, 2**38, LARGE):
        yield np.full(shape, count)
    signs = whole_waves(Basis.DCT, shape[1], slice(None))[shape[1] // 2] > 0
    yield np.tile(np.where(signs, LARGE, 0), (shape[0], 1))
    yield rng.integers(0, 5, shape)
    yield rng.integers(0, LARGE, shape) * rng.integers(0, 2, shape)
    yield rng.integers(2**19 - 2, 2**19 + 2, shape)


@pytest.mark.parametrize("basis", WAVES)
@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (5, 4), (64, 65), (128, 130), (3, 257)])
def test_spectra_are_exact(basis, shape):
    for counts in adversarial(shape, np.random.default_rng(1)):
        found, exact = spectrum(counts, basis, shape[::-1]), exact_product(counts, basis)
        assert np.array_equal(total(found), exact)
        assert found.bits == sum(map(wave_bits, shape))
        assert np.array_equal(found.whole().exact(), exact)
        assert np.abs(exact).max() <= int(counts.max()) * math.prod(waves._reach(n, wave_bits(n)) for n in shape)
        assert max(np.abs(part).max() for part in found.parts) < 2**53
        low = spectrum(counts, basis, (min(3, shape[1]), min(2, shape[0])))
        assert np.array_equal(total(low), exact[:2, :3])
        assert np.array_equal(low.whole(slice(1), slice(2)).exact(), exact[:1, :2])


@pytest.mark.parametrize("basis", WAVES)
def test_large_matrices_are_multiplied_in_parts(monkeypatch, basis):
    counts = np.random.default_rng(3).integers(0, 2**21, (70, 90))
    whole = total(spectrum(counts, basis, (90, 70)))
    monkeypatch.setattr(waves, "_LARGEST_MATRIX", 90 * 13)
    assert np.array_equal(total(spectrum(counts, basis, (90, 70))), whole)


@pytest.mark.parametrize("basis", WAVES)
@pytest.mark.parametrize("size", SIZES)
def test_rounding_moves_a_cells_functions_by_no_more_than_its_bound(basis, size):
    off = whole_waves(basis, size, slice(None)) / 2.0 ** wave_bits(size) - functions(basis, size, size)
    longest = float(np.linalg.norm(off, axis=0).max())
    assert longest <= float(wave_error((size, 1))) + 1e-14
    assert constant_gain(basis, size) == pytest.approx(1, abs=2.0**-20)


def signs_of(size):
    """Walsh functions in Paley's order, digit by digit."""
    bits = (size - 1).bit_length()
    reverse = [int(f"{cell:0{bits}b}"[::-1], 2) if bits else 0 for cell in range(2**bits)]
    return np.array([[1 - 2 * ((k & r).bit_count() % 2) for r in reverse] for k in range(2**bits)])


@pytest.mark.parametrize("size", [1, 2, 3, 8, 31, 64, 100])
def test_walsh_sums_are_exact(size):
    counts = np.random.default_rng(size).integers(0, 2**53 // (8 * padded(Basis.WALSH, size)), (size, 5))
    wanted = signs_of(size)[:, :size] @ counts
    assert np.array_equal(walsh_sums(counts.astype(float), 0), wanted)
    assert np.array_equal(walsh_sums(counts.T.astype(float), 1), wanted.T)
    assert np.array_equal(spectrum(counts, Basis.WALSH, (8, 1)).whole().exact(), (wanted @ signs_of(5)[:, :5].T)[:1])


@pytest.mark.parametrize("size", SIZES)
def test_agreement_with_scipy(size):
    counts = np.random.default_rng(size).poisson(5, (size, 12))
    dct, dft = (
        whole_spectrum(counts, basis).whole().floats() * step_width(basis, (12, size))
        for basis in (Basis.DCT, Basis.DFT)
    )
    assert np.allclose(dct, scipy.fft.dctn(counts, norm="ortho"), atol=1e-6)
    fourier = scipy.fft.rfft(counts, axis=0, norm="ortho")
    real, middle = dft @ functions(Basis.DFT, 12, 12), (size - 1) // 2
    assert np.allclose(real[0], fourier[0].real, atol=1e-6)
    assert np.allclose(real[1 : 2 * middle : 2], math.sqrt(2) * fourier[1 : middle + 1].real, atol=1e-6)
    assert np.allclose(real[2 : 2 * middle + 1 : 2], -math.sqrt(2) * fourier[1 : middle + 1].imag, atol=1e-6)
    if size % 2 == 0:
        assert np.allclose(real[-1], fourier[-1].real, atol=1e-6)
