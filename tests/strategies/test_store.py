"""Strategies that ship or are kept: what they promise, and files that are not what they should be."""

from __future__ import annotations

import io
import itertools

import numpy as np
import pytest

from spatialdp.privacy.noise.laws import Law
from spatialdp.strategies import store as strategy_store
from spatialdp.strategies.axis_workload import ALL_RANGES, AxisWorkload
from spatialdp.strategies.objective import mean_variance
from spatialdp.strategies.windows import optimised_windows

LAWS = (Law.LAPLACE, Law.GAUSSIAN)


def test_the_gaussian_optimum_differs_and_is_better_for_gaussian_noise():
    for_laplace, for_gaussian = (strategy_store.stored_windows(64, ALL_RANGES, law) for law in LAWS)
    assert mean_variance(for_gaussian, ALL_RANGES, Law.GAUSSIAN) < 0.8 * mean_variance(
        for_laplace, ALL_RANGES, Law.GAUSSIAN
    )
    assert mean_variance(for_laplace, ALL_RANGES, Law.LAPLACE) < 0.8 * mean_variance(
        for_gaussian, ALL_RANGES, Law.LAPLACE
    )


def test_gaussian_windows_beat_gaussian_trees_by_far():
    windows = strategy_store.stored_windows(256, ALL_RANGES, Law.GAUSSIAN)
    assert mean_variance(windows, ALL_RANGES, Law.GAUSSIAN) ** 2 / 2 < 35.6  # trees: 69.7, flat: 3,698


def test_shipped_strategies_are_all_there_and_small():
    files = [strategy_store.SHIPPED / strategy_store.file_name(n, ALL_RANGES, law) for n in (32, 512) for law in LAWS]
    assert all(file.is_file() for file in files)
    assert sum(file.stat().st_size for file in strategy_store.SHIPPED.iterdir()) < 1_200_000
    for size, law in itertools.product(strategy_store.SHIPPED_SIZES, LAWS):
        path = strategy_store.SHIPPED / strategy_store.file_name(size, ALL_RANGES, law)
        assert strategy_store.load_axis(path, size, ALL_RANGES, law) is not None


@pytest.mark.parametrize(("size", "law"), [(64, Law.LAPLACE), (128, Law.LAPLACE), (32, Law.GAUSSIAN)])
def test_shipped_strategies_are_what_the_script_finds(size, law):
    path = strategy_store.SHIPPED / strategy_store.file_name(size, ALL_RANGES, law)
    shipped = strategy_store.load_axis(path, size, ALL_RANGES, law)
    again = optimised_windows(size, ALL_RANGES, law)
    assert shipped.windows.shape == again.windows.shape
    assert mean_variance(shipped, ALL_RANGES, law) == pytest.approx(mean_variance(again, ALL_RANGES, law), rel=1e-3)


def least_gaussian_variance(gram: np.ndarray) -> float:
    """Least mean variance of any strategy with Gaussian noise: (tr (V^½ G V^½)^½)² for any V of trace 1, by duality."""
    scale = np.full(len(gram), 1 / np.sqrt(len(gram)))
    for _ in range(40):
        powers, vectors = np.linalg.eigh(gram * np.outer(scale, scale))
        roots = (vectors * np.sqrt(np.maximum(powers, 0))) @ vectors.T
        bound = np.trace(roots) ** 2
        scale = np.sqrt(np.diag(roots) / np.trace(roots))
    return float(bound)


@pytest.mark.parametrize("size", [32, 64, 100, 128, 256])
def test_gaussian_strategies_are_close_to_the_best_of_any_form(size):
    found = mean_variance(strategy_store.stored_windows(size, ALL_RANGES, Law.GAUSSIAN), ALL_RANGES, Law.GAUSSIAN)
    least = least_gaussian_variance(ALL_RANGES.gram(size))
    assert least <= found * (1 + 1e-9)
    assert found <= 1.001 * least


@pytest.mark.parametrize(
    ("size", "law"), [(150, Law.GAUSSIAN), (150, Law.LAPLACE), (200, Law.LAPLACE), (250, Law.LAPLACE)]
)
def test_sizes_between_shipped_ones_come_close_without_a_search(size, law):
    path = strategy_store.SHIPPED / strategy_store.file_name(size, ALL_RANGES, law)
    best = mean_variance(strategy_store.load_axis(path, size, ALL_RANGES, law), ALL_RANGES, law)
    found = optimised_windows(size, ALL_RANGES, law, strategy_store._neighbours(size, law), search=False)
    assert mean_variance(found, ALL_RANGES, law) <= 1.005 * best


@pytest.fixture
def cached(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    strategy_store.stored_windows.cache_clear()
    strategy_store.stored_windows(40, ALL_RANGES, Law.LAPLACE)
    strategy_store.stored_windows.cache_clear()
    return strategy_store.cache_folder() / strategy_store.file_name(40, ALL_RANGES, Law.LAPLACE)


def test_strategies_are_found_once(cached, monkeypatch):
    assert cached.is_file()
    monkeypatch.setattr(strategy_store, "optimised_windows", None)
    assert len(strategy_store.stored_windows(40, ALL_RANGES, Law.DISCRETE_LAPLACE).windows)


def archive(**arrays) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def test_cached_files_that_are_not_what_they_should_be_are_ignored(cached):
    good, purpose = cached.read_bytes(), ["ranges", "laplace"]
    with np.load(cached) as stored:
        weights, digest = stored["weights"], stored["digest"]
    altered = weights.copy()
    altered[0, 0] += 1
    poor = np.vstack([np.ones(40), np.full((1, 40), 30_000)]).astype("<i2")
    others = [
        *(b"", b"nonsense", good[:-40], good[:200] + b"\xff" + good[201:]),
        archive(weights=altered, digest=digest),
        archive(weights=weights),
        archive(weights=weights[:, 1:], digest=digest),
        archive(weights=weights.astype(float), digest=digest),
        archive(weights=np.array([{}], dtype=object), digest=digest),
        archive(weights=-weights, digest=strategy_store._digest(-weights, purpose)),
        archive(weights=poor, digest=strategy_store._digest(poor, purpose)),
    ]
    for content in others:
        cached.write_bytes(content)
        assert strategy_store.load_axis(cached, 40, ALL_RANGES, Law.LAPLACE) is None
    strategy_store.stored_windows(40, ALL_RANGES, Law.LAPLACE)  # and are replaced
    assert strategy_store.load_axis(cached, 40, ALL_RANGES, Law.LAPLACE) is not None
    assert strategy_store.load_axis(cached, 40, AxisWorkload("prefixes"), Law.LAPLACE) is None


def test_a_cache_that_cannot_be_written_does_not_matter(tmp_path, monkeypatch):
    (tmp_path / "spatialdp").write_text("not a folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    strategy_store.stored_windows.cache_clear()
    assert strategy_store.stored_windows(41, ALL_RANGES, Law.LAPLACE).size == 41
