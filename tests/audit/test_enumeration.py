"""True log-ratios on tiny domains: never above ε, and close to it where a mechanism claims to be tight."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest

import spatialdp as sdp
from spatialdp.privacy.medians import Median
from tests.audit.enumeration import (
    exponential_law,
    line_law,
    log_ratio,
    permute_and_flip_law,
    worst_level_ratio,
    worst_line_ratio,
)
from tests.audit.trees import all_pairs, choice_loss, kd_loss, stop_loss
from tests.test_selection import exponential_law as formula

ONE = Fraction(1)
CRUMBS = 1e-9

# The share of ε that four lines and three records reach.
REACHED = {
    (Median.EXPONENTIAL, Fraction(1)): 0.8,
    (Median.EXPONENTIAL, Fraction(3)): 0.9,
    (Median.SMOOTH, Fraction(1)): 0.9,
    (Median.SMOOTH, Fraction(3)): 0.9,
    (Median.NOISY_MEAN, Fraction(1)): 0.4,  # a range of four lines is too short for a mean
}


@pytest.mark.parametrize(("method", "epsilon"), REACHED, ids=str)
def test_lines_cost_no_more_than_epsilon(method, epsilon):
    added = worst_line_ratio(method, epsilon, "add-remove")
    assert REACHED[method, epsilon] * epsilon <= added <= epsilon + CRUMBS
    assert worst_line_ratio(method, epsilon, "replace") <= epsilon + CRUMBS
    assert worst_level_ratio(method, epsilon) <= epsilon + CRUMBS


def test_laws_that_are_read_off_the_sampler_are_those_of_the_formula():
    for values in ((), (2,), (0, 0, 3), (1, 2, 4)):
        law = line_law(values, 5, Median.EXPONENTIAL, Fraction(1, 2), "add-remove")
        assert law == pytest.approx(formula(values, 0, 5, 0.5), abs=1e-15)


def worst_choice(law, moves, monotone):
    worst = 0.0
    for scores in itertools.product((0, 1, 9), repeat=3):
        for move in itertools.product(moves, repeat=3):
            moved = tuple(a + b for a, b in zip(scores, move, strict=True))
            worst = max(worst, log_ratio(law(scores, ONE, ONE, monotone), law(moved, ONE, ONE, monotone)))
    return worst


@pytest.mark.parametrize("law", [exponential_law, permute_and_flip_law])
def test_choices_cost_no_more_than_epsilon(law):
    assert 0.9 <= worst_choice(law, (-1, 1), False) <= 1 + CRUMBS
    assert 0.9 <= worst_choice(law, (0, 1), True) <= 1 + CRUMBS
    assert worst_choice(law, (-1, 1), True) > 1.1  # told that scores move one way when they do not


@pytest.mark.parametrize(("relation", "most", "reached"), [("add-remove", 2, 0.85), ("replace", 1, 0.35)])
def test_kd_trees_cost_no_more_than_epsilon(relation, most, reached):
    worst = max(kd_loss(sdp.KdTree(1), *pair, relation) for pair in all_pairs(most, relation))
    assert reached <= worst <= 1 + CRUMBS


@pytest.mark.parametrize(("relation", "reached"), [("add-remove", 0.999), ("replace", 0.5)])
def test_trees_that_stop_cost_no_more_than_epsilon(relation, reached):
    worst = max(stop_loss(sdp.Quadtree(1, stop=2), *pair, relation) for pair in all_pairs(3, relation))
    assert reached <= worst <= 1 + CRUMBS


@pytest.mark.parametrize("basis", ["dct", "walsh"])
@pytest.mark.parametrize(("relation", "reached"), [("add-remove", 0.8), ("replace", 0.6)])
def test_chosen_blocks_cost_no_more_than_epsilon(basis, relation, reached):
    mechanism = sdp.Fourier((2, 2), basis=basis)
    worst = max(choice_loss(mechanism, *pair, relation) for pair in all_pairs(2, relation))
    assert reached <= worst <= 1 + CRUMBS
