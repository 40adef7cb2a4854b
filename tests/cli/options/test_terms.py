"""Options of what the curator grants."""

from __future__ import annotations

from fractions import Fraction

import pytest

import spatialdp as sdp
from spatialdp.cli.options.terms import TermsOptions
from spatialdp.errors import BudgetError
from tests.helpers.commands import BOUNDS, run


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
    assert terms.options == {"epsilon": Fraction(1, 2), "delta": 0, "neighbours": "replace"}
    for epsilon, delta in ((0, 0), (-1, 0), (1, 1), (1, -1)):
        with pytest.raises(BudgetError):
            TermsOptions(Fraction(epsilon), Fraction(delta), "replace")
