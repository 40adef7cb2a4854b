"""What all commands that make releases do: no noise of a seed by mistake, and nothing read that could not be paid."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

import spatialdp as sdp
from spatialdp.cli.options.account import Payer
from spatialdp.cli.options.output import Target
from spatialdp.cli.releasing import NoiseChoice, Steps, make_release
from spatialdp.errors import BudgetError, LedgerError

TRUE_MEDIANS = sdp.KdTree(height=2, median="true")
NOBODY = Payer(None, None, None)


@pytest.mark.parametrize(
    ("noise", "mechanism", "paid", "words"),
    [
        (NoiseChoice(1, not_private=False), sdp.Flat((2, 2)), False, "--seed makes .* add --not-private"),
        (NoiseChoice(1, not_private=False), sdp.Flat((2, 2)), True, "no account pays for it.* leave --ledger out"),
        (NoiseChoice(1, not_private=True), sdp.Flat((2, 2)), True, "no account pays for it"),
        (NoiseChoice(None, not_private=False), TRUE_MEDIANS, False, "this kd-tree uses true medians"),
    ],
)
def test_a_release_that_is_not_private_is_refused_unless_it_is_allowed_and_unpaid(noise, mechanism, paid, words):
    with pytest.raises(click.UsageError, match=words):
        noise.check(mechanism, paid=paid)


def test_what_is_private_or_allowed_passes():
    NoiseChoice(None, not_private=False).check(sdp.Flat((2, 2)), paid=True)
    NoiseChoice(1, not_private=True).check(TRUE_MEDIANS, paid=False)


def test_only_a_seed_gives_seeded_noise():
    assert isinstance(NoiseChoice(None, not_private=True).source(), sdp.SystemNoise)
    assert isinstance(NoiseChoice(1, not_private=True).source(), sdp.SeededNoise)


def made(payer, *, epsilon=1, quiet=False, write=lambda release: None):
    """Make a release of no points; return what was done, in order."""
    done = []
    prepared = sdp.Flat((2, 2)).prepare(sdp.Domain((0, 0, 1, 1)), epsilon=epsilon)
    steps = Steps(
        "opening", "counting", lambda: done.append("read") or [], write, lambda release: ["total    as published"]
    )
    target = Target((Path("map.parquet"),), force=False)
    make_release(prepared, steps, payer, NoiseChoice(None, not_private=False), target, quiet=quiet)
    return done


def test_steps_are_named_and_nothing_is_said_if_quiet(capsys):
    made(NOBODY)
    lines = capsys.readouterr().err.splitlines()
    assert lines[:4] == ["1/3 opening", "2/3 counting", "3/3 writing map.parquet", "total    as published"]
    assert lines[4].startswith("ledger   none")
    made(NOBODY, quiet=True)
    assert not any(capsys.readouterr())


def test_nothing_is_read_that_the_account_cannot_pay(tmp_path, capsys):
    ledger = tmp_path / "privacy.ledger"
    sdp.Ledger(ledger).open("visits", epsilon=2)
    payer = Payer(str(ledger), "visits", None)
    assert made(payer) == ["read"]
    assert "ledger   visits" in capsys.readouterr().err
    with pytest.raises(BudgetError):
        made(payer, epsilon=3)
    assert "1/3" not in capsys.readouterr().err


def test_an_error_of_the_ledger_after_writing_is_no_mistake_of_the_input():
    def fail(_):
        raise LedgerError("the disk is full")

    with pytest.raises(click.ClickException, match="the disk is full") as error:
        made(NOBODY, quiet=True, write=fail)
    assert error.value.exit_code != click.UsageError.exit_code
