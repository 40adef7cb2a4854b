"""Laws of errors on typical maps: what they are made of, and that they hold on the data sets that ship."""

from __future__ import annotations

import math

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.datasets import DATASETS
from spatialdp.planning.queries import all_boxes
from spatialdp.planning.typical_map import assumption, covered_powers, mean_covered_powers, typical_error
from spatialdp.records.points import lattice_points
from spatialdp.records.truth import Counter

TERMS = {"delta": 0, "neighbours": "add-remove"}
UNIT = sdp.Domain((0, 0, 1, 1))
BOXES = all_boxes(UNIT)


@pytest.mark.parametrize("power", [1, 1.7, 2])
def test_covered_shares_are_those_of_cells(power):
    random = np.random.default_rng(1)
    low, high = np.sort(random.uniform(0, 8, (2, 50)), axis=0)
    edges = np.arange(8)
    shares = np.clip(np.minimum(high[:, None], edges + 1) - np.maximum(low[:, None], edges), 0, 1)
    assert covered_powers(low, high, power) == pytest.approx((shares**power).sum(axis=1))


@pytest.mark.parametrize("power", [1, 1.7, 2])
@pytest.mark.parametrize("length", [0.2, 1.0, 3.4])
def test_mean_shares_are_those_of_all_places(power, length):
    low = (np.arange(4000) + 0.5) / 4000
    mean = covered_powers(low, low + length, power).mean()
    assert mean_covered_powers(np.array([length]), power)[0] == pytest.approx(mean, rel=1e-4)


def test_boxes_of_whole_cells_have_the_error_of_noise_alone():
    flat, quarter = sdp.Flat((4, 4)), np.array([[0, 0, 0.5, 0.5]])
    total = typical_error(flat, UNIT, quarter, 1e6, epsilon=1, **TERMS)
    assert total == pytest.approx(flat.expected_error(UNIT, quarter, epsilon=1))


@pytest.mark.parametrize("mechanism", [sdp.Flat((32, 32)), sdp.Adaptive(), sdp.Adaptive((32, 32))])
def test_errors_fall_with_epsilon_and_rise_with_records(mechanism):
    def error(records, epsilon):
        return typical_error(mechanism, UNIT, BOXES, records, epsilon=epsilon, **TERMS)

    assert error(1e4, 1) < error(1e4, 0.1) < error(1e4, 0.01)
    assert error(1e3, 1) < error(1e4, 1) < error(1e5, 1)
    assert error(1e4, 500) > 0


def test_an_adaptive_tree_on_coarse_cells_is_no_better_than_these_cells():
    trees = sdp.Adaptive((8, 8)), sdp.Adaptive()
    coarse, fine = (typical_error(tree, UNIT, BOXES, 1e6, epsilon=1, **TERMS) for tree in trees)
    assert coarse > 5 * fine


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("mechanism", "epsilon"),
    [(sdp.Adaptive((128, 128)), 0.1), (sdp.Adaptive((256, 256)), 1), (sdp.Flat((32, 32)), 500)],
)
def test_laws_hold_on_the_data_sets_that_ship_within_a_factor_of_two(mechanism, epsilon):
    """In the mean within 40 %: the laws are those of no single map."""
    ratios = []
    for seed, dataset in enumerate(DATASETS.values()):
        lattice = lattice_points(dataset.points(), dataset.domain)
        boxes = all_boxes(dataset.domain, 500)
        release = mechanism.release(dataset.points(), dataset.domain, epsilon=epsilon, noise=sdp.SeededNoise(seed))
        truth = Counter(*lattice).count(dataset.domain.boxes(boxes))
        error = math.sqrt(np.mean((release.answer(boxes) - truth) ** 2))
        records = lattice[0].size
        ratios.append(error / typical_error(mechanism, dataset.domain, boxes, records, epsilon=epsilon, **TERMS))
    assert 0.6 < math.exp(np.mean(np.log(ratios))) < 1.4
    assert all(0.5 < ratio < 2 for ratio in ratios)


def test_what_is_assumed_names_what_is_counted():
    persons = (None, sdp.Person(records=3), sdp.Person(cells=3), sdp.Person(shares=True))
    nouns = [assumption(5000, person).split(",")[1].split()[1] for person in persons]
    assert nouns == ["records", "records", "presences", "persons"]


def test_noise_is_that_of_the_bound():
    """On boxes of whole cells the error is that of the noise, which the bound multiplies."""
    flat, quarter = sdp.Flat((4, 4)), np.array([[0, 0, 0.5, 0.5]])
    one = typical_error(flat, UNIT, quarter, 1000, epsilon=0.1, **TERMS)
    five = typical_error(flat, UNIT, quarter, 1000, epsilon=0.1, person=sdp.Person(records=5), **TERMS)
    assert five == pytest.approx(5 * one, rel=0.01)
