"""Is any true log-ratio on tiny domains above ε? None may be; tight mechanisms must come close to ε.

Medians, choices and whole mechanisms are enumerated. Cases that take long are marked `audit`; `make audit` runs them.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.mechanisms import Mechanism
from spatialdp.privacy.neighbours import Neighbours
from spatialdp.privacy.noise.medians import Median
from spatialdp.privacy.unit import Bound
from spatialdp.space.lattice import LATTICE
from tests.audit.adaptive_bugs import one_path_under_replace, repeated_counts_are_free
from tests.audit.enumeration import (
    exponential_law,
    line_law,
    log_ratio,
    multisets,
    neighbours,
    permute_and_flip_law,
    worst_level_ratio,
    worst_line_ratio,
)
from tests.audit.mutants import Mutant, lines_twice_their_budget, planted, small_scale
from tests.audit.person_bugs import score_by_records, share_not_subtracted
from tests.audit.person_noise_bugs import lines_for_one_record, noise_for_one_record
from tests.audit.persons import worst_choice_of_a_bound
from tests.audit.trees import (
    CORNERS,
    INNER,
    KINDS,
    adaptive_outcomes,
    cell_outcomes,
    choice_outcomes,
    count_outcomes,
    five_stretches,
    kd_outcomes,
    log_weights,
    plain_outcomes,
    stop_outcomes,
    worst_loss,
    worst_person_loss,
)
from tests.reference.median_laws import exponential_law as formula

ONE = Fraction(1)
CRUMBS = 1e-9

TIGHT = 0.9  # the share of ε that a mechanism must reach if it claims to be tight


# --- lines ---------------------------------------------------------------------------------------------


def most_of_four_lines(epsilon: Fraction, lines: int = 4) -> float:
    """Return the largest loss of the exponential median on `lines` lines.

    In the worst case, the record lies on one side of a single line and on the other side of all other lines: the score
    of that line falls by 1/2, and the other scores rise by 1/2. Only many other lines raise the sum of the weights by
    nearly the full factor exp(ε/2).
    """
    half = float(epsilon) / 2
    return half + math.log((math.exp(-half) + (lines - 1) * math.exp(half)) / lines)


# The share of ε that four lines and three records must reach. The exponential median claims to be tight on many lines
# (below), the smooth median on four lines. The noisy mean claims nothing, because its line shows only the quotient of
# the two numbers that are paid for.
REACHED = {
    (Median.EXPONENTIAL, Fraction(1)): most_of_four_lines(Fraction(1)) - CRUMBS,
    (Median.EXPONENTIAL, Fraction(3)): TIGHT,
    (Median.SMOOTH, Fraction(1)): TIGHT,
    (Median.SMOOTH, Fraction(3)): TIGHT,
    (Median.NOISY_MEAN, Fraction(1)): 0.4,
}


@pytest.mark.parametrize(
    ("method", "epsilon"),
    [
        pytest.param(*each, marks=() if each[1] == 1 else pytest.mark.audit, id=f"{each[0]}-{each[1]}")
        for each in REACHED
    ],
)
def test_lines_cost_no_more_than_epsilon(method, epsilon):
    added = worst_line_ratio(method, epsilon, "add-remove")
    assert REACHED[method, epsilon] * epsilon <= added <= epsilon + CRUMBS
    assert worst_line_ratio(method, epsilon, "replace") <= epsilon + CRUMBS
    assert worst_level_ratio(method, epsilon) <= epsilon + CRUMBS


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), ONE, Fraction(3)])
def test_exponential_medians_are_tight_on_many_lines(epsilon):
    """With all lines of the lattice, few lines lie outside of the records."""
    places = (2**10, LATTICE - 2**10)
    laws = {data: dict(_starts_of_runs(data, places, epsilon)) for data in multisets(places, 3)}
    pairs = [(one, other) for one in multisets(places, 2) for other in neighbours(one, places, "add-remove")]
    assert 0.999 * epsilon <= max(_largest(laws[one], laws[other]) for one, other in pairs) <= epsilon + CRUMBS


def _starts_of_runs(data, places, epsilon):
    call = {"values": np.array(data, dtype=np.int64), "starts": [0, len(data)], "low": [0], "high": [LATTICE]}
    call |= {"method": Median.EXPONENTIAL, "epsilon": epsilon, "neighbours": Neighbours.ADD_REMOVE}
    runs = log_weights(call, 0)
    for line in (1, *(place + 1 for place in places)):
        yield line, next(log_p for first, last, log_p in runs if first <= line <= last)


def _largest(one, other):
    return max(abs(one[line] - other[line]) for line in one)


def test_laws_that_are_read_off_the_sampler_are_those_of_the_formula():
    for values in ((), (2,), (0, 0, 3), (1, 2, 4)):
        law = line_law(values, 5, Median.EXPONENTIAL, Fraction(1, 2), "add-remove")
        assert law == pytest.approx(formula(values, 0, 5, 0.5), abs=1e-15)


# --- choices -------------------------------------------------------------------------------------------


def worst_choice(law, moves, monotone, places=(0, 9)):
    worst = 0.0
    for scores in itertools.product(places, repeat=3):
        for move in itertools.product(moves, repeat=3):
            moved = tuple(a + b for a, b in zip(scores, move, strict=True))
            worst = max(worst, log_ratio(law(scores, ONE, ONE, monotone), law(moved, ONE, ONE, monotone)))
    return worst


@pytest.mark.parametrize("law", [exponential_law, permute_and_flip_law])
def test_choices_cost_no_more_than_epsilon(law):
    assert 0.9 <= worst_choice(law, (-1, 1), False) <= 1 + CRUMBS
    assert 0.9 <= worst_choice(law, (0, 1), True) <= 1 + CRUMBS
    assert worst_choice(law, (-1, 1), True) > 1.1  # scores move both ways although `monotone` promises one way


@pytest.mark.audit
@pytest.mark.parametrize("law", [exponential_law, permute_and_flip_law])
def test_choices_among_more_scores_cost_no_more_than_epsilon(law):
    assert 0.9 <= worst_choice(law, (-1, 1), False, (0, 1, 9)) <= 1 + CRUMBS
    assert 0.9 <= worst_choice(law, (0, 1), True, (0, 1, 9)) <= 1 + CRUMBS


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
@pytest.mark.parametrize("bound", [Bound.CELLS, Bound.RECORDS])
@pytest.mark.parametrize("goals", [(1, 1), (2, 0), (9, 9)])
def test_choices_of_bounds_cost_no_more_than_epsilon(bound, relation, goals):
    worst = worst_choice_of_a_bound(bound, relation, goals)
    assert (0.1 if goals == (9, 9) else 0.5) <= worst <= 1 + CRUMBS


# --- whole mechanisms ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Claim:
    """A mechanism, its enumeration, and the share of ε that neighbours of up to three records must reach.

    Attributes
    ----------
    added, replaced : float
        Share of ε under each relation: at least `TIGHT` if the mechanism claims to be tight, else a share that shows
        that the enumeration works, with the reason in `but`.
    but : str
        Reason why the rest of ε is not reached.
    long : tuple of str
        Relations that only the long run tests.
    most : int
        Number of records in the short run; the long run has three.
    """

    mechanism: Mechanism
    outcomes: Any
    added: float
    replaced: float | None
    but: str = ""
    places: Any = CORNERS
    long: tuple[str, ...] = ()
    most: int = 3
    person: sdp.Person | None = None


SHORT_RANGE = "medians are not tight on four lines"
TWO_HALVES = (
    "a replaced record does not change the root's count, or lies in one half only; lines are paid for both halves"
)
FEW_PERSONS = "among few candidates, the sum of the weights moves with the weight of the chosen one"
ALIKE = "scores are norms of nested tails, which a record moves the same way; a choice pays for opposite ways"

FEW = sdp.Chosen(share=0.5, candidates=(1, 2, 4), area=1)
FOUR_LINES = kd_outcomes(five_stretches)
UNBIASED = partial(sdp.Adaptive, estimate="unbiased")
CLAIMS = {
    "kd": Claim(sdp.KdTree(1), kd_outcomes(log_weights), 0.999, 0.6, TWO_HALVES),
    "kd, four lines": Claim(sdp.KdTree(1), FOUR_LINES, 0.85, 0.55, SHORT_RANGE, INNER, long=("add-remove", "replace")),
    "kd, smooth, four lines": Claim(
        sdp.KdTree(1, median="smooth"), FOUR_LINES, TIGHT, 0.6, TWO_HALVES, INNER, long=("replace",), most=2
    ),
    "kd, noisy mean, four lines": Claim(
        sdp.KdTree(1, median="noisy-mean"), FOUR_LINES, 0.75, 0.5, SHORT_RANGE, INNER, long=("replace",), most=2
    ),
    "kd, sampled, four lines": Claim(sdp.KdTree(1, sampling=0.5), FOUR_LINES, 0.8, None, SHORT_RANGE, INNER),
    "kd, cell": Claim(sdp.KdTree(1, median="cell", cells=2), cell_outcomes, 0.999, 0.69, TWO_HALVES, most=1),
    "quadtree, stop": Claim(sdp.Quadtree(1, stop=2), stop_outcomes, 0.999, 0.999),
    "quadtree, stop, two levels": Claim(sdp.Quadtree(2, stop=2), stop_outcomes, 0.999, 0.999, most=2),
    "adaptive, one stage": Claim(UNBIASED((8, 4)), adaptive_outcomes(1), 0.999, 0.98, most=1),
    "adaptive, two stages": Claim(UNBIASED((32, 16)), adaptive_outcomes(2), 0.999, 0.98, long=("replace",), most=1),
    "flat, two cells of a person": Claim(
        sdp.Flat((2, 2)), count_outcomes, 0.999, 0.999, places=KINDS, most=2, person=sdp.Person(cells=2)
    ),
    "flat, chosen cells of a person": Claim(
        sdp.Flat((2, 2)), choice_outcomes, 0.8, 0.8, FEW_PERSONS, KINDS, most=2, person=sdp.Person(cells=FEW)
    ),
    "flat, chosen records of a person": Claim(
        sdp.Flat((2, 2)), choice_outcomes, 0.8, 0.8, FEW_PERSONS, KINDS, most=2, person=sdp.Person(records=FEW)
    ),
    "quadtree, chosen cells of a person": Claim(
        sdp.Quadtree(1), choice_outcomes, 0.8, 0.7, FEW_PERSONS, KINDS, most=2, person=sdp.Person(cells=FEW)
    ),
    "fourier, chosen": Claim(sdp.Fourier((2, 2)), choice_outcomes, 0.8, 0.6, ALIKE),
    "fourier, walsh, chosen": Claim(sdp.Fourier((2, 2), basis="walsh"), choice_outcomes, 0.8, 0.6, ALIKE),
}
ALL = [(name, relation) for name in CLAIMS for relation in ("add-remove", "replace")]
ALL = [(name, relation) for name, relation in ALL if relation == "add-remove" or CLAIMS[name].replaced is not None]
SHORT = [(name, relation) for name, relation in ALL if relation not in CLAIMS[name].long]
LONG = [(name, relation) for name, relation in ALL if relation in CLAIMS[name].long or CLAIMS[name].most < 3]


def loss_is_as_claimed(name: str, relation: str, most: int) -> None:
    claim = CLAIMS[name]
    worst = worst_loss(claim.mechanism, relation, claim.outcomes, most=most, places=claim.places, person=claim.person)
    assert (claim.added if relation == "add-remove" else claim.replaced) <= worst <= 1 + CRUMBS


@pytest.mark.parametrize(("name", "relation"), SHORT)
def test_mechanisms_cost_no_more_than_epsilon(name, relation):
    loss_is_as_claimed(name, relation, CLAIMS[name].most)


@pytest.mark.audit
@pytest.mark.parametrize(("name", "relation"), LONG)
def test_mechanisms_cost_no_more_than_epsilon_in_the_long_run(name, relation):
    loss_is_as_claimed(name, relation, 3)


def test_claims_that_are_not_tight_say_why():
    assert all(claim.but for claim in CLAIMS.values() if min(claim.added, claim.replaced or 1) < TIGHT)


@pytest.mark.parametrize(
    ("name", "relation", "bug", "most"),
    [
        ("kd", "add-remove", lines_twice_their_budget, 2),
        ("kd", "add-remove", small_scale, 2),
        ("adaptive, one stage", "add-remove", repeated_counts_are_free, 1),
        ("adaptive, one stage", "replace", one_path_under_replace, 1),
        ("flat, chosen cells of a person", "add-remove", share_not_subtracted, 2),
        ("flat, chosen records of a person", "add-remove", score_by_records, 2),
        ("flat, chosen records of a person", "replace", score_by_records, 2),
    ],
)
def test_enumeration_notices_planted_bugs(name, relation, bug, most):
    claim = CLAIMS[name]
    with planted(Mutant("", "", bug, lambda: None)):
        worst = worst_loss(
            claim.mechanism, relation, claim.outcomes, most=most, places=claim.places, person=claim.person
        )
    assert worst > 1.1


# --- persons -------------------------------------------------------------------------------------------

TWO = (sdp.Person(records=2), sdp.Person(cells=2), sdp.Person(shares=True))
# A mechanism, its enumeration, and the share of ε that a whole person must reach who is added: with a bound on records
# and with shares, and with a bound on cells, of which a person has one on each side of most lines.
PERSON_CLAIMS = {
    "flat": (sdp.Flat((2, 2)), plain_outcomes, 0.999, 0.999),
    "quadtree": (sdp.Quadtree(1), plain_outcomes, 0.999, 0.999),
    "quadtree, stop": (sdp.Quadtree(1, stop=2), stop_outcomes, 0.999, 0.999),
    "kd": (sdp.KdTree(1), kd_outcomes(log_weights), 0.98, 0.84),
    "adaptive": (UNBIASED((8, 4)), adaptive_outcomes(1), 0.999, 0.999),
}
# Of the two places no person has all that a replaced person could have, so less of ε is reached then.
REPLACED = 0.3
PERSON_ALL = [
    (name, relation, each) for name in PERSON_CLAIMS for relation in ("add-remove", "replace") for each in TWO
]
PERSON_SHORT = [each for i, each in enumerate(PERSON_ALL) if i % 6 in (i // 6 % 3, 3 + i // 6 % 3)]


@pytest.mark.parametrize(
    ("name", "relation", "person"),
    [pytest.param(*each, marks=() if each in PERSON_SHORT else pytest.mark.audit) for each in PERSON_ALL],
)
def test_whole_persons_cost_no_more_than_epsilon(name, relation, person):
    mechanism, outcomes, by_records, by_cells = PERSON_CLAIMS[name]
    worst = worst_person_loss(mechanism, relation, person, outcomes, beside=name == "kd")
    reached = REPLACED if relation == "replace" else by_cells if person.bound == "cells" else by_records
    assert reached <= worst <= 1 + CRUMBS


@pytest.mark.parametrize(("name", "bug"), [("flat", noise_for_one_record), ("kd", lines_for_one_record)])
def test_enumeration_of_persons_notices(name, bug):
    mechanism, outcomes, *_ = PERSON_CLAIMS[name]
    with planted(Mutant("", "", bug, lambda: None)):
        assert worst_person_loss(mechanism, "add-remove", sdp.Person(records=2), outcomes) > 1.1
