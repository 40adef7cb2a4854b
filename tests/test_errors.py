"""Errors: each has the common root, and is also what a plain Python caller would catch."""

from __future__ import annotations

import pytest

import spatialdp as sdp
from spatialdp import errors

NAMES = [name for name in errors.__all__ if name not in ("SpatialDPError", "OutsideDomainWarning")]


@pytest.mark.parametrize("name", NAMES)
def test_errors_are_caught_as_ours_and_as_pythons(name):
    kind = getattr(errors, name)
    assert issubclass(kind, sdp.SpatialDPError)
    assert issubclass(kind, RuntimeError if kind is errors.LedgerError else ValueError)
    assert kind.__doc__
    with pytest.raises(sdp.SpatialDPError, match="said"):
        raise kind("said")


def test_every_error_is_listed():
    defined = {
        name for name, value in vars(errors).items() if isinstance(value, type) and value.__module__ == errors.__name__
    }
    assert defined == set(errors.__all__)


def test_no_error_is_another_but_the_root():
    """So that `except BudgetError` catches budgets alone."""
    kinds = [getattr(errors, name) for name in NAMES]
    assert not [(one, other) for one in kinds for other in kinds if one is not other and issubclass(one, other)]
