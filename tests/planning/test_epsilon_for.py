"""The least ε for an accuracy, before a record is read."""

from __future__ import annotations

import contextlib
import math

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.errors import BudgetError, ParameterError
from spatialdp.planning.epsilon_for import _least, _place, _value
from spatialdp.planning.queries import all_boxes
from spatialdp.planning.typical_map import typical_error
from tests.helpers.cases import LARGE, terms

DOMAIN = sdp.Domain((-10, 40, 10, 60))


@pytest.mark.parametrize("name", ["flat", "quadtree", "wavelet", "flat, gaussian"])
def test_epsilon_for_an_accuracy(name):
    mechanism, boxes = LARGE[name], all_boxes(DOMAIN)
    delta = terms(mechanism, "add-remove")["delta"]
    epsilon = sdp.epsilon_for(mechanism, DOMAIN, error=40, delta=delta)
    assert mechanism.expected_error(DOMAIN, boxes, epsilon=epsilon, delta=delta) <= 40
    assert mechanism.expected_error(DOMAIN, boxes, epsilon=round(epsilon * 0.98, 6), delta=delta) > 40


def test_accuracies_that_cannot_be_had_are_refused():
    for error in (0, -1, math.nan):
        with pytest.raises(ParameterError, match="positive"):
            sdp.epsilon_for(sdp.Flat((4, 4)), DOMAIN, error=error)
    with pytest.raises(ParameterError, match="no epsilon"):
        sdp.epsilon_for(sdp.Wavelet((64, 64)), DOMAIN, error=1e-12)


def test_a_delta_that_does_not_fit_the_law_is_named_and_not_mistaken_for_a_large_error():
    with pytest.raises(BudgetError, match="purely epsilon-private"):
        sdp.epsilon_for(sdp.Flat((4, 4)), DOMAIN, error=10, delta=1e-6)
    with pytest.raises(BudgetError, match="needs a positive delta"):
        sdp.epsilon_for(sdp.Flat((4, 4), law="gaussian"), DOMAIN, error=10)


def test_an_accuracy_can_be_any_real_number_but_no_truth_value():
    found = {sdp.epsilon_for(sdp.Flat((4, 4)), DOMAIN, error=error) for error in (3, np.int64(3), np.float32(3))}
    assert len(found) == 1
    with pytest.raises(ParameterError, match="positive number"):
        sdp.epsilon_for(sdp.Flat((4, 4)), DOMAIN, error=True)


def test_what_cannot_be_foreseen_is_refused():
    assert sdp.epsilon_for(sdp.Tailored((32, 32), law="laplace"), DOMAIN, error=1e6) < 0.01
    for mechanism, error in ((sdp.Flat, 1), (sdp.Flat((4, 4)), "a"), (sdp.Flat((4, 4)), math.inf)):
        with pytest.raises(ParameterError):
            sdp.epsilon_for(mechanism, DOMAIN, error=error)


# --- with a guess of the number of records ----------------------------------------------------------


@pytest.mark.parametrize("mechanism", [sdp.Adaptive(), sdp.Adaptive((64, 64), estimate="unbiased"), sdp.Flat((64, 64))])
def test_epsilon_for_a_number_of_records(mechanism):
    epsilon = sdp.epsilon_for(mechanism, DOMAIN, error=400, records=50_000)
    given = {"delta": 0, "neighbours": "add-remove"}
    assert typical_error(mechanism, DOMAIN, all_boxes(DOMAIN), 50_000, epsilon=epsilon, **given) <= 400
    assert typical_error(mechanism, DOMAIN, all_boxes(DOMAIN), 50_000, epsilon=round(epsilon * 0.98, 6), **given) > 400


def test_more_noise_needs_a_larger_epsilon():
    tree = sdp.Adaptive((256, 256))
    plain = sdp.epsilon_for(tree, DOMAIN, error=200, records=1e5)
    assert plain < sdp.epsilon_for(tree, DOMAIN, error=200, records=1e5, neighbours="replace")
    assert plain < sdp.epsilon_for(tree, DOMAIN, error=100, records=1e5)
    assert plain < sdp.epsilon_for(tree, DOMAIN, error=200, records=3e5)


def test_adaptive_trees_need_a_guess():
    with pytest.raises(ParameterError, match="give a public guess of it, such as records=100000"):
        sdp.epsilon_for(sdp.Adaptive(), DOMAIN, error=100)


def test_coarse_cells_do_not_reach_small_errors_at_any_epsilon():
    with pytest.raises(ParameterError, match="Use other cells"):
        sdp.epsilon_for(sdp.Flat((4, 4)), DOMAIN, error=10, records=1e6)


@pytest.mark.parametrize("mechanism", [sdp.Uniform(), sdp.Fourier((8, 8), block=(8, 8))])
def test_mechanisms_without_a_law_are_named(mechanism):
    with pytest.raises(ParameterError, match="are known for adaptive, flat"):
        sdp.epsilon_for(mechanism, DOMAIN, error=10, records=1e6)


@pytest.mark.parametrize("mechanism", [sdp.Flat((16, 16)), sdp.Adaptive((64, 64))], ids=["flat", "adaptive"])
def test_persons_need_as_much_more_as_their_bound_is(mechanism):
    domain = sdp.Domain((0, 0, 1, 1))
    given = {"error": 200, "records": 50_000 if isinstance(mechanism, sdp.Adaptive) else None}
    one = sdp.epsilon_for(mechanism, domain, **given)
    for person in (sdp.Person(records=8), sdp.Person(cells=8)):
        assert sdp.epsilon_for(mechanism, domain, person=person, **given) == pytest.approx(8 * one, rel=0.03)
    assert sdp.epsilon_for(mechanism, domain, person=sdp.Person(shares=True), **given) == pytest.approx(one, rel=0.03)


def _refused_below(epsilon):
    if epsilon < 0.3:
        raise BudgetError("this ε needs more noise than can be drawn")
    return 11 / epsilon


LAWS = {
    "proportional": (lambda epsilon: 11 / epsilon, 7),
    "falls faster": (lambda epsilon: 40 * math.exp(-epsilon / 2) / epsilon, 20),
    "in steps": (lambda epsilon: 2.0 ** -math.floor(math.log2(epsilon)), 20),
    "refused below 0.3": (_refused_below, 20),
}


@pytest.mark.parametrize("bound", [900, 40.3, 3, 0.3])
@pytest.mark.parametrize("law", LAWS)
def test_the_least_number_of_three_digits_is_found_with_few_errors(law, bound):
    error, most = LAWS[law]
    asked = []
    found = _least(lambda epsilon: asked.append(epsilon) or error(epsilon), bound)
    assert error(_value(found)) <= bound
    with contextlib.suppress(BudgetError):
        assert error(_value(found - 1)) > bound
    assert len(asked) <= most


def test_places_are_those_of_numbers_of_three_digits():
    assert [_value(place) for place in (-1, 0, 1, 899, 900)] == [0.999, 1.0, 1.01, 9.99, 10.0]
    for place in range(-4600, 2500, 7):
        assert _place(_value(place)) == place
        assert _place(_value(place) * 1.0001) == place + 1
