"""`spatialdp ledger`: its commands, and their help."""

from __future__ import annotations

import pytest

from spatialdp.cli import main
from tests.helpers.commands import refused, run

COMMANDS = main.get_command(None, "ledger").list_commands(None)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_an_example(name):
    shown = run("ledger", name, "--help").stdout
    assert f"\n    spatialdp ledger {name} " in shown
    assert "\\b" not in shown


def test_the_help_lists_all_commands():
    listed = run("ledger", "--help").stdout.partition("Commands:")[2]
    assert [line.split()[0] for line in listed.splitlines() if line.strip()] == COMMANDS
    assert "..." not in listed  # each says in a few words what it does


def test_similar_commands_are_suggested(place):
    assert "Did you mean 'open'?" in refused(["ledger", "opne", "privacy.ledger"])


def test_defects_are_reported_without_what_they_held(account, monkeypatch):
    def fail(*_):
        raise KeyError("secret 73519284")

    monkeypatch.setattr("spatialdp.privacy.ledger.export.lines", fail)
    told = refused(["ledger", "show", "privacy.ledger"], code=1)
    assert "unexpected KeyError at show.py" in told
    assert "secret" not in told
