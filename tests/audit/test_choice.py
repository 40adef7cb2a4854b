"""Does a choice among regions cost what it says? Exact ratios over all neighbours, for both draws and relations."""

from __future__ import annotations

import pytest

from tests.audit.choices import CRUMBS, LAWS, WEIGHTS, worst_choice


@pytest.mark.parametrize("selection", LAWS)
@pytest.mark.parametrize("relation", ["add-remove", "replace"])
@pytest.mark.parametrize("weights", WEIGHTS)
def test_choices_cost_no_more_than_epsilon(weights, relation, selection):
    worst = worst_choice(weights, relation, selection)
    assert 0.2 < worst <= 1 + CRUMBS


def test_the_monotone_rule_is_used_and_needed():
    """Half the noise, where it is allowed, loses more than half of what the general rule would."""
    assert worst_choice("prices", "add-remove", "permute-and-flip") > 0.6
    assert worst_choice("signed", "add-remove", "permute-and-flip") > 0.6
