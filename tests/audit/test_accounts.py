"""Do entries of a ledger tell neighbours apart? All mechanisms are replayed with an account that pays."""

from __future__ import annotations

import zlib

import pytest

from tests.audit.accounts import entries_are_public
from tests.audit.replay import EPSILONS
from tests.helpers.cases import CASES, PERSON_SETTINGS, SETTINGS
from tests.helpers.table_cases import TABLE_PERSON_SETTINGS, TABLE_SETTINGS
from tests.helpers.zone_cases import ZONE_PERSON_SETTINGS, ZONE_SETTINGS

# Of the settings of each case one, in turn; an account pays for no totals that are published exactly.
OF_CASE = [[each for each in SETTINGS if each.case == case] for case in CASES]
OTHERS = [each for each in [*ZONE_SETTINGS, *TABLE_SETTINGS] if not getattr(each.mechanism, "invariants", None)]
PERSONS = [*PERSON_SETTINGS[::3], *ZONE_PERSON_SETTINGS[::3], *TABLE_PERSON_SETTINGS[::3]]
PAID = [*(settings[turn % len(settings)] for turn, settings in enumerate(OF_CASE)), *OTHERS[::3], *PERSONS]


@pytest.mark.parametrize("setting", PAID, ids=str)
def test_entries_do_not_depend_on_records(setting):
    entries_are_public(setting, len(EPSILONS), zlib.crc32(str(setting).encode()))


def test_every_mechanism_is_replayed():
    assert {each.mechanism.name for each in PAID} == {
        each.mechanism.name for each in [*SETTINGS, *ZONE_SETTINGS, *TABLE_SETTINGS]
    }
