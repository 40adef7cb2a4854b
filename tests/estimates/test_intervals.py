"""Half-widths of intervals: they cover as they say, and are not wasteful."""

from __future__ import annotations

import math

import numpy as np
import pytest
import shapely

import spatialdp as sdp
from spatialdp.estimates.intervals import half_width
from spatialdp.privacy.noise.laws import Law
from tests.helpers.sources import ZeroNoise


def exact_coverage(epsilon: float, cells: int, width: float) -> float:
    """P(|sum of `cells` discrete Laplace variables| <= width), by convolution."""
    a = math.exp(-epsilon)
    reach = int(min(60 / epsilon * max(1, math.sqrt(cells)), 60_000)) + 5
    k = np.arange(-reach, reach + 1)
    size = 1 << math.ceil(math.log2(4 * reach))
    pmf = np.zeros(size)
    pmf[k % size] = (1 - a) / (1 + a) * a ** np.abs(k)
    total = np.fft.irfft(np.fft.rfft(pmf) ** cells, size)
    return float(total[0] + 2 * total[1 : math.floor(width + 1e-9) + 1].sum())


@pytest.mark.parametrize("level", [0.5, 0.8, 0.9, 0.95, 0.99, 0.999])
def test_intervals_of_whole_cells_cover_and_are_not_wasteful(level):
    for epsilon in np.geomspace(0.02, 12, 15):
        law = sdp.Flat((1, 1), law=Law.DISCRETE_LAPLACE)
        release = law.release([], sdp.Domain((0, 0, 1, 1)), epsilon=float(f"{epsilon:.6g}"), noise=ZeroNoise())
        variance, kurtosis, step = (
            release.estimate.noise.variance,
            release.estimate.noise.kurtosis,
            release.estimate.step,
        )
        for cells in (1, 2, 3, 5, 9, 25, 120, 1000):
            (width,) = half_width(np.array([variance * cells]), np.array([kurtosis / cells]), step, level)
            assert exact_coverage(epsilon, cells, width) >= level - 1e-6
            narrower = 0.97 * width - 2  # would not do
            assert narrower < 0 or exact_coverage(epsilon, cells, narrower) < level


@pytest.mark.statistical
@pytest.mark.parametrize("level", [0.3, 0.5, 0.8, 0.9, 0.95, 0.99, 0.999])
def test_intervals_cover_one_large_part_among_many_small_ones(level):
    """One whole cell and a row of slightly covered ones: the shape least like a sum of equal parts."""
    region = shapely.union(shapely.box(0, 0, 1, 1), shapely.box(0, 1, 150, 2))
    domain, box = sdp.Domain((0, 0, 150, 2), region=region, region_cells="centres"), (0, 0, 150, 1.05)
    release = sdp.Flat((150, 2), law="laplace").release([], domain, epsilon=1, noise=ZeroNoise())
    half = release.interval(box, level, about="noise")[1]
    rng = np.random.default_rng(5)
    sums = rng.laplace(size=200_000) + 0.05 * rng.laplace(size=(150, 200_000)).sum(axis=0)
    covered_share = np.mean(np.abs(sums) <= half)
    assert covered_share > level - 4 * math.sqrt(level * (1 - level) / 200_000)
    assert covered_share < level + 0.05


def test_normal_and_laplace_are_the_two_ends():
    one = half_width(np.array([2.0]), np.array([3.0]), 0.0, 0.95)
    many = half_width(np.array([1.0]), np.array([0.0]), 0.0, 0.95)
    assert one[0] == pytest.approx(math.log(20), rel=1e-4)
    assert many[0] == pytest.approx(1.959964, rel=1e-6)
