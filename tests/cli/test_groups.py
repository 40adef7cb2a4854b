"""Groups of commands: nested ones turn errors into the words of the command that ran."""

from __future__ import annotations

import errno

import pytest

from spatialdp.cli.groups import LazyGroup
from tests.helpers.commands import refused


def test_commands_are_loaded_when_they_are_asked_for():
    group = LazyGroup("spatialdp", homes={"open": "ledger.open", "gone": "no.such.module"})
    assert group.list_commands(None) == ["open", "gone"]
    assert group.get_command(None, "open").name == "open"
    assert group.get_command(None, "show") is None


def test_errors_name_the_options_of_the_nested_command(place):
    told = refused(["ledger", "open", "privacy.ledger", "--account= ", "--epsilon=2"])
    assert "--account is ' '" in told


@pytest.mark.parametrize(("number", "code"), [(errno.ENOENT, 2), (errno.ENOSPC, 1)])
def test_failures_of_the_system_have_exit_codes_of_their_own(place, monkeypatch, number, code):
    def fail(*_, **__):
        raise OSError(number, "the system says no", "privacy.ledger")

    monkeypatch.setattr("spatialdp.privacy.ledger.ledger.Ledger.__init__", fail)
    told = refused(["ledger", "open", "privacy.ledger", "--account=crashes", "--epsilon=2"], code=code)
    assert "the system says no: privacy.ledger." in told
