"""Is every question in the list, with ε that must be named, and is no answer kept to be given again?"""

from __future__ import annotations

import inspect

import pytest

import spatialdp as sdp
from tests.helpers.curators import DOMAIN, opened, rehearsing

ASKS = ("count", "counts", "sum", "mean", "median", "quantile", "histogram")


@pytest.mark.parametrize("name", [*ASKS, "prepaid", "release"])
def test_epsilon_has_no_default_and_is_named(name):
    epsilon = inspect.signature(getattr(sdp.Curator, name)).parameters["epsilon"]
    assert epsilon.default is inspect.Parameter.empty
    assert epsilon.kind is inspect.Parameter.KEYWORD_ONLY


def test_the_same_question_costs_again_and_gets_other_noise(tmp_path):
    account = opened(tmp_path)
    curator = sdp.Curator([[1, 1]], DOMAIN, account)
    values = {curator.count(epsilon=0.01).values for _ in range(10)}
    assert len(values) > 1
    assert account.spent.epsilon == sdp.Budget(0.1).epsilon


def test_a_median_is_the_quantile_of_one_half():
    records = [[i / 10, 1] for i in range(80)]
    answers = [rehearsing(records, 4).median("x", epsilon=1), rehearsing(records, 4).quantile(0.5, "x", epsilon=1)]
    assert answers[0].values == answers[1].values
    assert answers[0].privacy == answers[1].privacy
