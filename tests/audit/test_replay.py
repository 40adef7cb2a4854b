"""Do neighbours differ only in inputs that were paid for? Every mechanism is replayed on many pairs."""

from __future__ import annotations

import zlib
from collections import Counter

import pytest

from tests.audit.replay import replay
from tests.helpers.cases import SETTINGS, Setting

PAIRS = 300  # for every mechanism
NUMBER_OF = Counter(setting.mechanism.name for setting in SETTINGS)


def pairs_for(setting: Setting, whole: int = PAIRS) -> int:
    """Return the number of pairs for one setting, as its share of the mechanism's pairs."""
    return max(-(-whole // NUMBER_OF[setting.mechanism.name]), 5)


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_neighbours_can_only_be_told_apart_by_what_was_paid_for(setting, tmp_path):
    replay(setting, pairs_for(setting), seed=zlib.crc32(str(setting).encode()), folder=tmp_path)


@pytest.mark.parametrize("case", ["flat", "wavelet", "quadtree", "kd, midpoints, stop", "quadtree, stop", "hierarchy"])
def test_promises_are_used_up(case):
    assert replay(Setting(case, "whole", "add-remove"), 10) > 0.99
    # Replacing one record cannot change every group of coefficients by its maximum at once.
    assert replay(Setting(case, "whole", "replace"), 40) > 0.8


def test_every_mechanism_is_replayed_on_enough_pairs():
    replayed = Counter()
    for setting in SETTINGS:
        replayed[setting.mechanism.name] += pairs_for(setting)
    assert min(replayed.values()) >= PAIRS
