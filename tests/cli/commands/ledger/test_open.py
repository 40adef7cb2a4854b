"""`spatialdp ledger open`: a new account, with the terms that were typed."""

from __future__ import annotations

import os
from fractions import Fraction

import pytest

import spatialdp as sdp
from tests.helpers.commands import refused, run

OPEN = ("ledger", "open", "privacy.ledger", "--account=crashes")


def test_an_account_is_opened_on_the_terms_that_were_typed(place):
    told = run(*OPEN, "--epsilon=1/3", "--neighbours=replace", "--about=police records").stdout
    assert told == "crashes: ε: 0 spent, 1/3 left, limit 1/3; replace one record\n"
    account = sdp.Ledger("privacy.ledger").account("crashes")
    assert account.limit.epsilon == Fraction(1, 3)
    assert account.entries[0].facts["terms"]["about"] == "police records"


def test_a_pot_for_gaussian_noise_and_persons(place):
    told = run(*OPEN, "--epsilon=2", "--delta=1e-9", "--pure=1", "--unit=person", "--records=20").stdout
    assert "ρ: 0 spent" in told
    assert "at most 20 records (declared, not enforced)" in told


def test_a_witness_is_made(place):
    run(*OPEN, "--epsilon=2", "--witness=witness")
    assert (place / "witness").exists()


def test_an_account_is_opened_once(account):
    assert "2 left" in run(*OPEN, "--epsilon=2").stdout
    assert "exists and has --epsilon 2, not '3'; give" in refused([*OPEN, "--epsilon=3"])
    assert len(account.entries) == 1


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--epsilon=0"], "--epsilon"),
        (["--epsilon=2", "--delta=1e-9"], "--pure"),
        (["--epsilon=2", "--records=3"], "--unit person"),
        (["--epsilon=2", "--about=\x1b"], "--about"),
    ],
)
def test_wrong_terms_make_no_ledger(place, words, told):
    assert told in refused([*OPEN, *words])
    assert "privacy.ledger" not in os.listdir()
