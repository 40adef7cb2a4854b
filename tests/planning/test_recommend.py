"""What is said beforehand is what comes, and the best comes first."""

from __future__ import annotations

import math

import numpy as np
import pytest
import shapely

import spatialdp as sdp
from spatialdp.datasets import DATASETS
from spatialdp.errors import ParameterError
from spatialdp.planning.queries import all_boxes
from spatialdp.planning.recommend import plain_mechanisms
from spatialdp.privacy.noise.laws import Law
from spatialdp.privacy.noise.source import SeededNoise
from spatialdp.records.points import lattice_points
from spatialdp.records.truth import Counter
from tests.helpers.cases import LARGE, has_several_counts, in_turn, is_foreseeable, select, terms
from tests.helpers.sources import ZeroNoise

DOMAIN = sdp.Domain((-10, 40, 10, 60))
REGION = sdp.Domain((-10, 40, 10, 60), region=shapely.box(-10, 40, 5, 55))
XY = np.random.default_rng(1).uniform((-10, 40), (10, 60), (500, 2))

# Of one number alone, 60 releases tell too little about the error.
FORESEEABLE = select(LARGE, is_foreseeable, has_several_counts)


@pytest.mark.statistical
@pytest.mark.parametrize(("name", "domain"), in_turn(FORESEEABLE, (DOMAIN, REGION)))
def test_expected_error_is_the_error_of_releases(name, domain):
    mechanism, boxes = FORESEEABLE[name], all_boxes(domain, 200)
    given = terms(mechanism, "add-remove", 0.5)
    expected = mechanism.expected_error(domain, boxes, **given)
    prepared = mechanism.prepare(domain, **given)
    truth = prepared.release(XY, noise=ZeroNoise()).answer(boxes)
    squares = [np.mean((prepared.release(XY, noise=SeededNoise(s)).answer(boxes) - truth) ** 2) for s in range(60)]
    # Boxes of one release share noise, so the spread is taken between releases: five standard errors, fixed seeds.
    tolerance = 5 * np.std(squares) / math.sqrt(len(squares))
    assert np.mean(squares) == pytest.approx(expected**2, abs=tolerance)
    assert tolerance < expected**2  # and so an error of twice the size would be seen


@pytest.mark.parametrize("name", FORESEEABLE)
def test_plan_tells_errors_of_small_large_and_whole_boxes(name):
    mechanism = FORESEEABLE[name]
    errors = mechanism.plan(DOMAIN, **terms(mechanism, "add-remove")).errors
    assert list(errors) == ["1 %", "10 %", "whole"]
    assert all(0 < error < math.inf for error in errors.values())
    halved = mechanism.plan(DOMAIN, **terms(mechanism, "add-remove", 2)).errors
    assert all(halved[size] < errors[size] for size in errors)


def test_what_depends_on_records_is_not_told():
    for mechanism in (sdp.KdTree(3), sdp.Quadtree(3, stop=10), sdp.Quadtree(3, prune=10)):
        assert mechanism.plan(DOMAIN, epsilon=1).errors == {}
        with pytest.raises(ParameterError, match="depends on the records"):
            mechanism.expected_error(DOMAIN, all_boxes(DOMAIN), epsilon=1)


def test_recommendation_depends_on_the_queries():
    ranked = sdp.recommend(DOMAIN, 1, shape=(256, 256))
    assert [r.error for r in ranked] == sorted(r.error for r in ranked)
    edges = np.linspace(-10, 10, 65)
    cells = np.stack([edges[:-1], np.full(64, 40), edges[1:], np.full(64, 40 + 20 / 64)], axis=1)
    assert sdp.recommend(DOMAIN, 1, cells, shape=(64, 64))[0].mechanism == sdp.Flat((64, 64))
    assert isinstance(ranked[0].mechanism, sdp.Tailored)
    with_delta = sdp.recommend(DOMAIN, 1, shape=(256, 256), delta=1e-9)
    assert len(with_delta) > len(ranked)


def test_odd_wishes_are_refused_or_met():
    for bad in ({"shape": (4, 4, 4)}, {"shape": 5}, {"workload": np.zeros((0, 4))}, {"workload": "boxes"}):
        with pytest.raises(ParameterError):
            sdp.recommend(DOMAIN, 1, **bad)
    with pytest.raises(ParameterError, match="Domain"):
        sdp.recommend((0, 0, 1, 1), 1)
    assert sdp.recommend(DOMAIN, 1, shape=np.array([8, 8]))
    assert sdp.recommend(DOMAIN, 1, shape=(8192, 4))


@pytest.mark.parametrize(
    "mechanism", [sdp.Tailored((64, 64)), sdp.Wavelet((64, 64)), sdp.Hierarchy((64, 64)), sdp.Flat((64, 64))]
)
def test_what_is_known_to_be_empty_is_answered_with_nothing(mechanism):
    half = sdp.Domain((0, 0, 1, 1), region=shapely.box(0, 0, 0.5, 1), region_cells="centres")
    release = mechanism.release([[0.2, 0.2]], half, epsilon=1)
    assert release.answer((0.6, 0.1, 0.9, 0.9)) == pytest.approx(0, abs=1e-9)
    assert release.interval((0.6, 0.1, 0.9, 0.9)) == pytest.approx([0, 0], abs=1e-9)
    assert release.answer((0, 0, 1, 1)) == pytest.approx(release.answer((0, 0, 0.5, 1)))
    whole, around = ([(0, 0, 1, 1)], [(0, 0, 0.5, 1)])
    assert mechanism.expected_error(half, whole, epsilon=1) == pytest.approx(
        mechanism.expected_error(half, around, epsilon=1)
    )


# --- with a guess of the number of records ----------------------------------------------------------


def test_a_guess_brings_the_adaptive_tree_and_says_what_is_assumed():
    ranked = sdp.recommend(DOMAIN, 0.1, records=100_000)
    assert [each.error for each in ranked] == sorted(each.error for each in ranked)
    assert {each.mechanism.name for each in ranked} >= {"adaptive", "flat", "hierarchy", "tailored", "quadtree"}
    assert {each.assumed for each in ranked} == {
        "100,000 records, spread as unevenly as those of the data sets that come with spatialdp"
    }
    without = sdp.recommend(DOMAIN, 0.1)
    assert "adaptive" not in {each.mechanism.name for each in without}
    assert {each.assumed for each in without} == {"nothing about the records: the error is that of the noise alone"}


def test_more_records_get_finer_cells():
    few, many = (sdp.recommend(DOMAIN, 1, records=records) for records in (1e3, 1e6))
    few, many = ({each.mechanism.name: each.mechanism.leaf_grid(DOMAIN).shape for each in some} for some in (few, many))
    for name in ("flat", "hierarchy", "tailored", "quadtree"):
        assert few[name] < many[name]


def test_a_given_shape_is_that_of_all_mechanisms():
    ranked = sdp.recommend(DOMAIN, 1, shape=(64, 32), records=5e4)
    assert {each.mechanism.leaf_grid(DOMAIN).shape for each in ranked} == {(64, 32)}


def test_cells_of_a_given_grid_are_best_counted_one_by_one():
    """Boxes along the lines of a grid have no error of uneven spread on that grid."""
    edges = np.linspace(-10, 10, 17)
    cells = np.stack([edges[:-1], np.full(16, 40), edges[1:], np.full(16, 40 + 20 / 16)], axis=1)
    assert sdp.recommend(DOMAIN, 1, cells, records=1e5)[0].mechanism == sdp.Flat((16, 16))


def test_gaussian_noise_and_regions_are_considered():
    ranked = sdp.recommend(REGION, 0.1, records=3e4, delta=1e-9)
    assert {str(each.mechanism.law) for each in ranked if each.mechanism.name == "adaptive"} == {
        "discrete-laplace",
        "gaussian",
    }
    assert all(0 < each.error < 3e4 for each in ranked)


def test_sizes_without_a_cell_in_the_region_are_left_out():
    speck = sdp.Domain((0, 0, 1, 1), region=shapely.box(0.1, 0.1, 0.12, 0.12), region_cells="centres")
    ranked = sdp.recommend(speck, 0.001, records=10, shape=None)
    assert "adaptive" in {each.mechanism.name for each in ranked}


@pytest.mark.parametrize("records", [0, -5, math.nan, math.inf, True, "many"])
def test_impossible_guesses_are_refused(records):
    with pytest.raises(ParameterError, match="it must be a positive number: a public guess, such as 100000"):
        sdp.recommend(DOMAIN, 1, records=records)


# --- in hindsight ----------------------------------------------------------------------------------


def ratio_to_the_best(dataset, epsilon, trials):
    """The error of following `recommend` over the least error of mechanisms and sizes, chosen with the truth.

    That of grids is exact: noise is known, and uneven spread is measured at an enormous ε.
    """
    points, domain = dataset.points(), dataset.domain
    lattice = lattice_points(points, domain)
    boxes = all_boxes(domain, 500)
    truth = Counter(*lattice).count(domain.boxes(boxes))

    def square(mechanism, epsilon, seed):
        noise = SeededNoise(seed)
        return np.mean((mechanism.release(points, domain, epsilon=epsilon, noise=noise).answer(boxes) - truth) ** 2)

    def error(mechanism):
        if mechanism.name in ("adaptive", "kd-tree"):
            return math.sqrt(np.mean([square(mechanism, epsilon, seed) for seed in range(trials)]))
        noise = mechanism.expected_error(domain, boxes, epsilon=epsilon)
        return math.hypot(noise, math.sqrt(square(sdp.Flat(mechanism.leaf_grid(domain).shape), 500, 0)))

    guess = float(f"{lattice[0].size:.0e}")
    best = sdp.recommend(domain, epsilon, records=guess)[0].mechanism
    grids = [each for k in range(2, 9) for _, each in plain_mechanisms((2**k, 2**k), Law.DISCRETE_LAPLACE)]
    others = [sdp.Adaptive((256, 256)), sdp.Adaptive((256, 256), estimate="unbiased"), sdp.KdTree(6)]
    return error(best) / min(map(error, [best, *grids, *others]))


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("names", "trials"),
    [
        (("chattanooga", "auckland"), 3),
        pytest.param(tuple(DATASETS), 10, marks=pytest.mark.audit),
    ],
)
def test_following_recommend_is_nearly_as_good_as_the_best_in_hindsight(names, trials):
    ratios = [ratio_to_the_best(DATASETS[name], epsilon, trials) for name in names for epsilon in (0.01, 0.1, 1)]
    assert math.exp(np.mean(np.log(ratios))) < 1.15


@pytest.mark.parametrize("person", [sdp.Person(records=5), sdp.Person(cells=5), sdp.Person(shares=True)], ids=str)
def test_errors_with_persons_are_those_of_their_noise(person):
    ranked = sdp.recommend(DOMAIN, 1, shape=(16, 16), person=person)
    plain = {each.mechanism: each.error for each in sdp.recommend(DOMAIN, 1, shape=(16, 16))}
    for each in ranked:
        assert each.error == each.mechanism.expected_error(DOMAIN, all_boxes(DOMAIN), epsilon=1, person=person)
        assert each.error == pytest.approx(person.most * plain[each.mechanism], rel=0.05)


def test_gaussian_noise_gains_from_a_bound_on_cells():
    flat = sdp.Flat((16, 16), law="gaussian")
    given = {"epsilon": 1, "delta": 1e-6}
    one, records, cells = (
        flat.expected_error(DOMAIN, all_boxes(DOMAIN, 50), person=person, **given)
        for person in (None, sdp.Person(records=9), sdp.Person(cells=9))
    )
    assert records == pytest.approx(9 * one, rel=1e-6)
    assert cells == pytest.approx(3 * one, rel=1e-6)


def test_adaptive_trees_are_foreseen_with_the_noise_of_persons():
    """A person with ten records is as one record at a tenth of ε, whatever the law of typical maps is."""
    for records in (10_000, 200_000):
        with_persons = sdp.recommend(DOMAIN, 1, shape=(64, 64), records=records, person=sdp.Person(records=10))[0]
        alike = sdp.recommend(DOMAIN, 0.1, shape=(64, 64), records=records)[0]
        assert with_persons.mechanism == alike.mechanism
        assert with_persons.error == pytest.approx(alike.error, rel=0.01)
        assert with_persons.assumed.startswith(f"{records:,} records, spread as unevenly as the records of")
