"""The Gaussian field: equal to a dense solution, and to least squares where nothing is smoothed."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
import shapely

import spatialdp as sdp
from spatialdp.estimates.fields import gaussian
from spatialdp.estimates.fields.gaussian import away_from_zero, gaussian_field, pilot
from tests.helpers.trees import dense_membership


def counts_of(shape=(12, 10), epsilon=0.5, seed=1, region=None, n=3000):
    rng = np.random.default_rng(seed)
    xy = np.clip(np.concatenate([rng.normal((0.3, 0.6), 0.05, (n, 2)), rng.random((n // 4, 2))]), 0, 1)
    domain = sdp.Domain((0, 0, 1, 1), region=region)
    release = sdp.Adaptive(shape).release(xy, domain, epsilon=epsilon, noise=sdp.SeededNoise(seed))
    lines = np.arange(shape[0] + 1), np.arange(shape[1] + 1)
    return release.estimate._nodes.counts(release.estimate.grid.mask.astype(float), lines)


def dense(counts, density, pull=gaussian.PULL):
    """The minimiser of the field's objective, written out."""
    raster = counts.raster
    inside = np.flatnonzero(raster.inside)
    cells, (ny, nx) = np.full(raster.leaf.size, -1), raster.leaf.shape
    cells[inside] = np.arange(inside.size)
    members = dense_membership(counts.tree)[:, raster.leaf.ravel()[inside]] * raster.sizes.ravel()[inside]
    scale = np.maximum(density, gaussian.FLOOR * raster.even(np.sqrt(counts.fitted_variances)))
    scale = np.maximum(scale, 1e-9 * scale.max()).ravel()
    matrix = members.T @ (members / counts.variances[:, None])
    matrix += np.diag(pull / (gaussian.ROUGHNESS * scale[inside] ** 2))
    for i in range(nx * ny):
        for j in ([i + 1] if i % nx < nx - 1 else []) + ([i + nx] if i < nx * (ny - 1) else []):
            a, b = cells[i], cells[j]
            if a >= 0 and b >= 0:
                weight = 1 / (gaussian.ROUGHNESS * ((scale[i] + scale[j]) / 2) ** 2)
                matrix[[a, b, a, b], [a, b, b, a]] += weight * np.array([1, 1, -1, -1])
    field = np.zeros(nx * ny)
    field[inside] = np.linalg.solve(matrix, members.T @ (counts.measured / counts.variances))
    return field.reshape(ny, nx)


@pytest.mark.parametrize("region", [None, shapely.Point(0.4, 0.5).buffer(0.3)], ids=["whole", "region"])
@pytest.mark.parametrize("epsilon", [0.05, 0.5, 5])
def test_the_field_is_the_dense_solution(epsilon, region):
    counts = counts_of(epsilon=epsilon, region=region)
    density = pilot(counts)
    expected = dense(counts, density)
    assert gaussian_field(counts, density) == pytest.approx(expected, abs=1e-8 * np.abs(expected).max())


@pytest.mark.parametrize("region", [None, shapely.Point(0.4, 0.5).buffer(0.3)], ids=["whole", "region"])
def test_a_share_of_the_difference_from_a_stronger_pull_is_added(region):
    counts = counts_of(epsilon=0.05, region=region)
    density = pilot(counts)
    weak, strong = (dense(counts, density, pull) for pull in (gaussian.PULL, gaussian.STRONG_PULL))
    expected = weak + 0.5 * (weak - strong)
    change = np.abs(expected - weak).max()
    assert gaussian_field(counts, density) == pytest.approx(weak, abs=1e-4 * change)
    assert gaussian_field(counts, density, share=0.5) == pytest.approx(expected, abs=1e-4 * change)


def test_fewer_records_are_drawn_further_away_from_zero():
    shares = [away_from_zero(records, noise=10.0) for records in (-1e9, 0.0, *np.geomspace(10, 1e9, 200))]
    assert shares == sorted(shares, reverse=True)
    assert (shares[0], shares[-1]) == (gaussian.SHARE, 0.0)
    assert np.abs(np.diff(shares)).max() < 0.1  # without jumps
    assert away_from_zero(3e5, noise=10.0) == pytest.approx(away_from_zero(3e4, noise=1.0))


def test_a_release_of_few_records_has_more_in_its_field_than_one_without_the_second_field():
    counts = counts_of(epsilon=0.05)
    density = pilot(counts)
    assert gaussian_field(counts, density, share=0.5).sum() > gaussian_field(counts, density).sum()


def test_without_smoothness_leaves_are_those_of_least_squares(monkeypatch):
    monkeypatch.setattr(gaussian, "ROUGHNESS", 1e9)
    monkeypatch.setattr(gaussian, "PULL", 1e-6)
    counts = counts_of()
    field = gaussian_field(counts, pilot(counts))
    assert counts.raster.sums(field) == pytest.approx(counts.fitted, abs=0.02 * np.abs(counts.fitted).max())


def test_the_pilot_keeps_the_count_of_each_leaf():
    counts = counts_of(shape=(40, 30))
    density = pilot(counts)
    assert density.min() >= min(0.0, counts.raster.even(counts.fitted).min())
    positive = counts.fitted > 0
    assert counts.raster.sums(density)[positive] == pytest.approx(counts.fitted[positive])


RELEASED = """
import hashlib
import spatialdp as sdp
points = [[0.3 + i % 37 / 100, 0.6 + i % 41 / 200] for i in range(3000)]
release = sdp.Adaptive((96, 80)).release(points, sdp.Domain((0, 0, 1, 1)), epsilon=0.1, noise=sdp.SeededNoise(1))
print(hashlib.sha256(release.estimate.values.tobytes()).hexdigest())
"""


def test_the_field_is_the_same_on_every_processor():
    """OpenBLAS adds up in another order on each kind of processor and for each number of threads; it plays no part."""
    kinds = [{"OPENBLAS_CORETYPE": kind} for kind in ("Nehalem", "Haswell")] + [{"OPENBLAS_NUM_THREADS": "1"}]
    kinds.append({"NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4"})  # numpy's arithmetic of an older processor
    words = [sys.executable, "-W", "ignore", "-c", RELEASED]
    printed = [subprocess.run(words, env=os.environ | kind, capture_output=True, text=True) for kind in kinds]
    assert len({each.stdout for each in printed}) == 1, [each.stderr for each in printed]
    assert printed[0].stdout
