"""Options of what the curator grants."""

from __future__ import annotations

from fractions import Fraction

import pytest

import spatialdp as sdp
from spatialdp.cli.options.terms import TermsOptions, typed_bound
from spatialdp.errors import BudgetError
from tests.helpers.commands import BOUNDS, run

PLAN = ("plan", BOUNDS, "--method=flat", "--shape=8,8", "--epsilon=1")


def test_terms_reach_the_release(folder, tmp_path):
    out = tmp_path / "out.parquet"
    given = ("--method", "flat", "--shape", "8,4", "--law", "gaussian", "--epsilon", "1/3", "--delta", "1e-6")
    run("release", folder / "plain.parquet", "--x=lon", "--y=lat", BOUNDS, *given, "--neighbours=replace", "-o", out)
    privacy = sdp.load(out).privacy
    assert (privacy.epsilon, privacy.delta, privacy.neighbours) == (Fraction(1, 3), Fraction(1, 10**6), "replace")
    assert privacy.private
    assert privacy.parameters["shape"] == (8, 4)


def test_terms_are_checked_when_they_are_given():
    terms = TermsOptions(Fraction(1, 2), Fraction(0), "replace")
    assert terms.options == {"epsilon": Fraction(1, 2), "delta": 0, "neighbours": "replace", "person": None}
    for epsilon, delta in ((0, 0), (-1, 0), (1, 1), (1, -1)):
        with pytest.raises(BudgetError):
            TermsOptions(Fraction(epsilon), Fraction(delta), "replace")


@pytest.mark.parametrize(
    "person",
    [
        sdp.Person(records=10),
        sdp.Person(cells=50),
        sdp.Person(shares=True),
        sdp.Person(cells=sdp.Chosen()),
        sdp.Person(records=sdp.Chosen()),
    ],
    ids=str,
)
def test_bounds_on_persons_reach_the_plan_as_they_are_typed(person):
    assert person.in_words().replace("was counted", "is counted") in run(*PLAN, "--person", typed_bound(person)).stdout
    terms = TermsOptions(Fraction(1), Fraction(0), "add-remove", person)
    assert terms.options["person"] == person
    assert terms.typed("discrete-laplace") == f"--epsilon 1 --person {typed_bound(person)}"


@pytest.mark.parametrize(
    "bound",
    [
        "10",
        "records",
        "records=",
        "records=x",
        "records=Chosen()",
        "shares=chosen",
        "cells=2.5",
        "shares=3",
        "houses=3",
        "",
    ],
)
def test_other_bounds_on_persons_are_refused(bound):
    told = run(*PLAN, f"--person={bound}", code=2).stderr
    assert "records=L|cells=L|shares" in told
    assert "such as cells=50" in told
    assert "with the word chosen" in told


def test_numbers_of_bounds_are_checked():
    assert "records is 0" in run(*PLAN, "--person=records=0", code=2).stderr
    assert "cells is -3" in run(*PLAN, "--person=cells=-3", code=2).stderr
