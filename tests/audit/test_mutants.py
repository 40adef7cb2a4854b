"""Does the audit catch bugs? Each planted bug must fail its check, and the check must pass without the bug."""

from __future__ import annotations

import pytest

from tests.audit.mutants import MUTANTS, planted


def ident(mutant):
    return f"{mutant.bug} ({mutant.caught_by})"


@pytest.mark.real_bits  # the mutant of copied generators needs real bits; all others are seeded
@pytest.mark.parametrize("mutant", MUTANTS, ids=ident)
def test_bug_is_caught(mutant):
    with planted(mutant), pytest.raises(AssertionError):
        mutant.check()


@pytest.mark.real_bits
@pytest.mark.parametrize("mutant", {id(mutant.check): mutant for mutant in MUTANTS}.values(), ids=ident)
def test_check_finds_nothing_without_the_bug(mutant):
    mutant.check()


def test_there_are_enough_bugs():
    assert len({mutant.bug for mutant in MUTANTS}) >= 25
