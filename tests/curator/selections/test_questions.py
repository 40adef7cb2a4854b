"""What is refused before a choice, a threshold or a function of blocks is paid for."""

from __future__ import annotations

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.curator.selections import questions
from spatialdp.errors import BudgetError, ParameterError, SpatialDPError

DOMAIN = sdp.Domain((0, 0, 8, 8))


@pytest.fixture
def curator():
    return sdp.Curator.rehearsal([[1, 1]], DOMAIN, epsilon=1)


def test_too_many_regions_are_refused(curator, monkeypatch):
    monkeypatch.setattr(questions, "_MOST_REGIONS", 2)
    with pytest.raises(ParameterError, match="at most 2"):
        curator.choose([(0, 0, 1, 1)] * 3, epsilon=1)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ({"blocks": 0}, "blocks is 0"),
        ({"bounds": (1, 0)}, "the lower one first"),
        ({"bounds": 5}, "the lower one first"),
        ({"bounds": (0, float("inf"))}, "finite"),
        ({"aggregate": "sum"}, "aggregate is"),
        ({"seconds": 0}, "seconds is 0"),
        ({"seconds": 1e30}, "at most 1,000,000"),
        ({"columns": ["price"]}, "no column"),
        ({"function": lambda table: 1}, "cannot be loaded in a new process"),
        ({"epsilon": 0}, "epsilon is 0"),
    ],
)
def test_wrong_terms_of_blocks_are_refused_before_anything_is_spent(curator, words, complaint):
    terms = {"function": np.max, "blocks": 3, "bounds": (0, 1), "epsilon": 1} | words
    with pytest.raises(SpatialDPError, match=complaint):
        curator.sample_and_aggregate(terms.pop("function"), **terms)
    curator.count(epsilon=1)  # all of ε is still there


def test_wrong_terms_of_thresholds_are_refused_before_anything_is_spent(curator):
    for words in ({"limit": 0}, {"limit": 1.5}, {"threshold": "many"}):
        with pytest.raises((ParameterError, BudgetError)):
            curator.above_threshold(**{"threshold": 5, "epsilon": 1} | words)
    curator.count(epsilon=1)
