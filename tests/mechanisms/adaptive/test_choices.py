"""The rules of the descent: how uneven siblings are, how far blocks are divided, what is forecast."""

from __future__ import annotations

import numpy as np
import pytest

from spatialdp.mechanisms.adaptive.choices import (
    COUNTS_A_LEAF,
    FAR,
    MANY,
    MANY_SPLITS,
    SPLITS,
    UNEVEN,
    choose,
    first_part,
    first_parts,
    forecast_variance,
    heterogeneity,
)

ALIKE = np.ones(16, dtype=int)
FIRST = np.zeros(16, dtype=int)


def drawn(scatter, noise, seed=0, families=1, size=16):
    rng = np.random.default_rng(seed)
    counts = 1000 * (1 + scatter * rng.normal(size=families * size))
    return counts + rng.normal(0, noise, counts.size), np.repeat(np.arange(families), size)


def test_heterogeneity_is_the_spread_without_the_noise():
    values, _ = drawn(0.5, 0.0)
    assert heterogeneity(values, FIRST, ALIKE, np.zeros(1), first=True) == pytest.approx(
        np.std(values, ddof=1) / values.mean()
    )
    found = [
        heterogeneity(drawn(0.3, 200, seed)[0], FIRST, ALIKE, np.array([200.0**2]), first=True)[0]
        for seed in range(300)
    ]
    assert np.sqrt(np.mean(np.square(found))) == pytest.approx(0.3, abs=0.03)


def test_nothing_is_known_of_empty_or_single_blocks():
    nothing = np.zeros(16)
    assert heterogeneity(nothing, FIRST, ALIKE, np.array([9.0]), first=True) == UNEVEN
    assert heterogeneity(np.array([50.0]), np.zeros(1, dtype=int), np.ones(1), np.array([9.0]), first=True) == UNEVEN
    assert heterogeneity(nothing, FIRST, ALIKE, np.array([9.0]), first=False) == pytest.approx(UNEVEN)


def test_densities_count_and_not_sizes():
    cells = np.arange(1, 17)
    assert heterogeneity(10.0 * cells, FIRST, cells, np.zeros(1), first=True) == pytest.approx(0, abs=1e-6)


def test_families_of_a_stage_lean_on_each_other():
    values, family = drawn(0.5, 0, families=20)
    values[:16] = 1000.0  # one even family among uneven ones
    found = heterogeneity(values, family, np.ones(values.size), np.zeros(20), first=False)
    assert 0.1 < found[0] < np.median(found[1:])


@pytest.mark.parametrize("path", [990_000, 495_000, 7])
def test_first_blocks_cost_less_where_there_are_many_records(path):
    few, many = first_parts(path)
    assert many <= few < path
    assert first_part(path, 0.0) == first_part(path, MANY) == few
    assert first_part(path, np.nextafter(MANY, np.inf)) == many


@pytest.mark.parametrize("stage", [0, 1, 2, 7])
def test_blocks_are_divided_until_each_part_has_its_counts(stage):
    wanted = COUNTS_A_LEAF[min(stage, 2)]
    for halvings in range(SPLITS + 1):
        strength = np.array([wanted * 2.0**halvings])
        assert choose(strength, np.array([UNEVEN]), np.array([20]), np.array([100]), stage=stage)[0] == halvings


def test_all_that_is_left_is_spent_on_final_blocks_and_a_part_on_others():
    strength = np.array([0.0, 8.0, 400.0, 1e9])
    halvings, units = choose(strength, np.full(4, 1.5), np.full(4, 20), np.full(4, 1000), stage=2)
    assert halvings.tolist() == [0, 2, 4, 4]
    assert units.tolist() == [1000, 1000, 300, 200]


def test_alike_siblings_are_divided_further_at_once():
    strength, possible, left = np.array([70.0]), np.array([20]), np.array([1000])
    assert choose(strength, np.array([0.9]), possible, left, stage=1)[1] == 1000
    assert choose(strength, np.array([1.1]), possible, left, stage=1)[1] == 300
    assert MANY_SPLITS > SPLITS
    assert FAR > MANY_SPLITS


def test_blocks_end_at_single_cells():
    halvings, units = choose(np.full(3, 1e12), np.full(3, 1.5), np.array([0, 1, 4]), np.full(3, 50), stage=1)
    assert halvings.tolist() == [0, 1, 4]
    assert units.tolist() == [50, 50, 50]


def test_forecast_grows_with_the_number_of_leaves_and_is_that_of_one_count_at_least():
    strength = lambda units: np.asarray(units) / 1000  # noqa: E731
    left = np.full(50, 700)
    found = forecast_variance(np.geomspace(1e-3, 1e9, 50), left, strength)
    assert found[0] == pytest.approx(2 / 0.7**2)
    assert np.all(np.diff(found[:20]) >= 0)
    assert found.max() < 16 / (0.21**2 / 2)  # blocks on the way bound it
