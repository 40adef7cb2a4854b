"""Are months that are released as they come private? All months of neighbours are replayed."""

from __future__ import annotations

import zlib

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.mechanisms.running import series
from tests.audit import running  # noqa: F401 - says which neighbours months have
from tests.audit.replay import replay
from tests.helpers.running_cases import RUNNING_CASES, RUNNING_SETTINGS, RunningSetting

PAIRS = 6


@pytest.mark.parametrize("setting", RUNNING_SETTINGS, ids=str)
def test_neighbours_can_only_be_told_apart_by_what_was_paid_for(setting):
    replay(setting, PAIRS, zlib.crc32(str(setting).encode()))


@pytest.mark.parametrize("case", RUNNING_CASES)
def test_promises_are_used_up(case):
    """By a record of the first month, which is in the measurements of all months."""
    assert replay(RunningSetting(case, "zones and kinds", "add-remove"), 12) > 0.99


def test_noise_that_forgets_the_last_month_is_noticed(monkeypatch):
    real = series._law
    monkeypatch.setattr(
        series, "_law", lambda root, *terms: real(type(root)(root.horizon - 1), *terms)
    )  # the norm of one entry less
    with pytest.raises(AssertionError, match="times the promise"):
        replay(RunningSetting("running", "one cell", "add-remove"), 3)


def test_records_that_are_nowhere_count_in_no_month():
    setting, measured = RunningSetting("running", "zones and kinds", "add-remove"), []
    for months in ([[0], [], [1], []], [[0, -1], [-2], [-3, 1], [-4]]):
        noise, started = sdp.SeededNoise(3), setting.mechanism.start(setting.domain, **setting.terms)
        measured.append([started.add(month, noise=noise) for month in setting.records(months)][-1].measured)
    assert np.array_equal(*measured)


def test_every_mechanism_of_months_is_in_the_list():
    assert {type(mechanism) for mechanism in RUNNING_CASES.values()} == {sdp.Running}
