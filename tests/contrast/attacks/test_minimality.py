"""The minimality attack, world by world."""

from __future__ import annotations

from fractions import Fraction

import pytest

from spatialdp import contrast
from spatialdp.errors import ParameterError


def test_one_world_of_21_is_generalised_and_gives_everything_away():
    attack = contrast.minimality()
    assert (attack.worlds, attack.generalised) == (21, 1)
    assert (attack.naive, attack.true) == (Fraction(2, 7), 1)


def test_larger_groups_give_less_away():
    attack = contrast.minimality(first=4, second=6, sick=3)
    assert attack.worlds == 120
    # Three of the four, and no other way, are more than half of four; none of the ways is more than half of six.
    assert (attack.generalised, attack.true) == (4, Fraction(3, 4))


def test_rules_that_never_bite_are_refused():
    with pytest.raises(ParameterError, match="never generalised"):
        contrast.minimality(first=4, second=6, sick=2)
    with pytest.raises(ParameterError, match="l is 4"):
        contrast.minimality(l=4)
