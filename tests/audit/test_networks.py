"""Do networks of attributes keep their promise? Sensitivities of n·R, enumerated choices, replays, and planted bugs."""

from __future__ import annotations

import pickle
import zlib
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import spatialdp as sdp
from spatialdp.mechanisms.adaptive.networks.association import SENSITIVITY, association
from spatialdp.mechanisms.adaptive.networks.privbayes import PrivBayes
from spatialdp.privacy.noise.source import SeededNoise, SystemNoise
from tests.audit.mutants import planted
from tests.audit.network_bugs import MUTANTS, choices_cost
from tests.audit.networks import (
    choices_are_within_their_budget,
    declared_is_the_maximum,
    moves_of_scores,
    small_tables,
)
from tests.audit.replay import EPSILONS, granted, published, replay
from tests.helpers.network_cases import (
    NETWORK_CASES,
    NETWORK_PERSON_SETTINGS,
    NETWORK_SETTINGS,
    NetworkSetting,
)

every_setting = pytest.mark.parametrize("setting", NETWORK_SETTINGS, ids=str)
every_person = pytest.mark.parametrize("setting", NETWORK_PERSON_SETTINGS, ids=str)
WIDE = NetworkSetting("privbayes, many parents", "three attributes", "add-remove")


def test_every_mechanism_of_networks_is_audited():
    assert {type(mechanism) for mechanism in NETWORK_CASES.values()} == {PrivBayes}


# --- sensitivity of the score ------------------------------------------------------------------------


@pytest.mark.parametrize(("shape", "most"), [((2, 2), 5), ((2, 3), 2), ((3, 3), 1)])
def test_no_record_moves_a_score_by_two(shape, most):
    """All tables with small counts, and all records; replacing one takes two steps."""
    assert 0 < moves_of_scores(small_tables(shape, most), "add-remove") < SENSITIVITY
    assert 0 < moves_of_scores(small_tables(shape, most), "replace") < 2 * SENSITIVITY


def test_the_sensitivity_is_tight():
    """Large counts in one corner of a table, and a record in the opposite one."""
    table = np.array([[4000, 0], [0, 0]])
    assert Fraction(1999, 1000) < moves_of_scores([table], "add-remove") < SENSITIVITY


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(0, 10**12), min_size=6, max_size=6), st.integers(0, 5))
def test_no_record_moves_a_score_of_large_counts_by_two(counts, cell):
    table = np.array(counts, dtype=np.int64).reshape(2, 3)
    more = table.copy()
    more.ravel()[cell] += 1
    assert abs(association(more) - association(table)) < SENSITIVITY


# --- the law of choices, and replays -----------------------------------------------------------------


@pytest.mark.parametrize("frame", ["three attributes", "four attributes"])
def test_choices_tell_no_more_than_they_pay_for(frame):
    """Exact ratios of the probabilities of all candidates, for many data and every record more."""
    assert choices_are_within_their_budget(NetworkSetting("privbayes", frame, "add-remove")) > 0.7


@every_setting
def test_no_row_moves_a_measurement_by_more_than_declared(setting):
    declared_is_the_maximum(setting)
    if len(setting.domain.axes) > 1:
        choices_cost(setting)


@every_setting
def test_neighbours_can_only_be_told_apart_by_what_was_paid_for(setting):
    replay(setting, 2 * len(EPSILONS), zlib.crc32(str(setting).encode()))


@every_person
def test_whole_persons_can_only_be_told_apart_by_what_was_paid_for(setting):
    replay(setting, 2 * len(EPSILONS), zlib.crc32(str(setting).encode()))


def test_promises_are_nearly_used_up():
    """Counts cost their share in full, and choices what scores move."""
    assert replay(NetworkSetting("privbayes", "four attributes", "add-remove"), 60, 1) > 0.7
    assert replay(NetworkSetting("privbayes", "zones alone", "add-remove"), 20, 1) == 1


# --- duties ------------------------------------------------------------------------------------------


@every_setting
def test_plan_and_statement_agree_and_costs_add_up(setting):
    plan = setting.mechanism.plan(setting.domain, **setting.terms)
    release = setting.mechanism.release(setting.records([0, -1]), setting.domain, **setting.terms)
    assert release.privacy.budget == plan.budget
    assert sum(plan.budget.values()) == granted(release)
    assert all(isinstance(cost, Fraction) and cost > 0 for cost in plan.budget.values())
    assert plan.standard_deviation > 0
    assert not plan.errors
    assert release.privacy == sdp.Privacy.from_json(release.privacy.to_json())


@every_setting
def test_order_does_not_matter_and_strays_count_nowhere(setting):
    cells = np.random.default_rng(7).integers(-4, setting.domain.n_cells, 60)
    releases = [
        setting.mechanism.release(setting.records(each), setting.domain, noise=SeededNoise(6), **setting.terms)
        for each in (cells, cells[::-1], cells[cells >= 0])
    ]
    assert len({repr(published(each)) for each in releases}) == 1
    assert pickle.loads(pickle.dumps(setting.mechanism)) == setting.mechanism


@pytest.mark.parametrize("case", NETWORK_CASES)
def test_only_the_systems_noise_is_private(case):
    setting = NetworkSetting(case, "three attributes", "add-remove")
    for noise, private in ((SystemNoise(), True), (SeededNoise(1), False)):
        release = setting.mechanism.release(setting.records([0]), setting.domain, noise=noise, **setting.terms)
        assert release.privacy.private is private
        assert ("NOT PRIVATE" in repr(release)) is not private


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.bug)
def test_bug_is_caught(mutant):
    mutant.check()
    with planted(mutant), pytest.raises(AssertionError):
        mutant.check()
