"""Do flows keep their promise? Replays, sensitivities by brute force, enumerated lists, and planted bugs."""

from __future__ import annotations

import pickle
import zlib
from fractions import Fraction

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.mechanisms.adaptive.flows import Flows
from spatialdp.privacy.noise.source import SeededNoise, SystemNoise
from tests.audit.flow_bugs import MUTANTS, strays_in_the_first_place
from tests.audit.flows import (
    declared_is_the_maximum,
    groups_of,
    lists_are_within_their_budget,
    lists_have_their_law,
)
from tests.audit.mutants import planted
from tests.audit.replay import EPSILONS, granted, published, replay
from tests.helpers.flow_cases import FLOW_CASES, FLOW_FRAMES, FLOW_PERSON_SETTINGS, FLOW_SETTINGS, STRAYS, FlowSetting
from tests.helpers.laws import FALSE_ALARM

every_setting = pytest.mark.parametrize("setting", FLOW_SETTINGS, ids=str)
every_person = pytest.mark.parametrize("setting", FLOW_PERSON_SETTINGS, ids=str)


def test_every_mechanism_of_trips_is_audited():
    assert {type(mechanism) for mechanism in FLOW_CASES.values()} == {Flows}


@every_setting
def test_neighbours_can_only_be_told_apart_by_what_was_paid_for(setting):
    replay(setting, 3 * len(EPSILONS), zlib.crc32(str(setting).encode()))


@every_person
def test_whole_persons_can_only_be_told_apart_by_what_was_paid_for(setting):
    replay(setting, 3 * len(EPSILONS), zlib.crc32(str(setting).encode()))


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
@pytest.mark.parametrize("case", ["flows", "flows, slides"])
def test_promises_are_used_up(case, relation):
    """A trip costs all three groups; a listed one with fresh counts costs a fourth, which others do not pay."""
    assert replay(FlowSetting(case, "zones", relation), 30, 1) == 1


@every_setting
def test_no_trip_moves_a_group_by_more_than_declared(setting):
    declared_is_the_maximum(setting)


@every_person
def test_no_person_moves_a_group_by_more_than_the_bound(setting):
    """All trips of one person more, from and to places of all kinds."""
    rng, pairs = np.random.default_rng(3), setting.places.space.size**2
    most = setting.person.most * setting.person.steps
    for _ in range(60):
        crowd = rng.integers(-STRAYS, pairs, 9)
        mine = rng.integers(-STRAYS, pairs, int(rng.integers(1, 12)))
        mine[: rng.integers(0, 5)] = mine[0]
        without = groups_of(setting, crowd, list(range(9)))
        with_all = groups_of(setting, [*crowd, *mine], [*range(9), *[77] * mine.size])
        assert all(0 <= (b - a).sum() == np.abs(b - a).sum() <= most for a, b in zip(without, with_all, strict=True))


FEW = FlowSetting("flows, slides", "few", "add-remove")
FLOW_FRAMES["few"] = sdp.Zones.from_codes(["a", "b", "c"], None, {"code": 1})


@pytest.mark.parametrize("case", ["flows, slides", "flows, listed", "flows, many false"])
@pytest.mark.parametrize("counts", [(0,) * 9, (0, 3, 0, 0, 1, 0, 9, 0, 2)])
def test_lists_of_few_pairs_tell_no_more_than_they_pay_for(case, counts):
    """All 512 lists of nine pairs, for all neighbours: exact ratios; and a list exists that tells nearly all."""
    assert lists_are_within_their_budget(FlowSetting(case, "few", "add-remove"), counts) > 0.6


@pytest.mark.statistical
@pytest.mark.parametrize("counts", [(0,) * 9, (0, 3, 0, 0, 1, 0, 9, 0, 2)])
def test_lists_of_releases_have_the_law_that_is_enumerated(counts):
    assert lists_have_their_law(FEW, counts) > FALSE_ALARM
    other = np.roll(counts, 1) if any(counts) else np.full(9, 1)
    prepared = FEW.mechanism.prepare(FEW.domain, **FEW.terms)
    assert not np.allclose(prepared.design.filter.chance_of(0), prepared.design.filter.chance_of(int(other.max())))


@every_setting
def test_plan_and_statement_agree_and_costs_add_up(setting):
    plan = setting.mechanism.plan(setting.domain, **setting.terms)
    release = setting.mechanism.release(setting.records([0, -1]), setting.domain, **setting.terms)
    assert release.privacy.budget == plan.budget
    assert sum(plan.budget.values()) == granted(release)
    assert all(isinstance(cost, Fraction) and cost > 0 for cost in plan.budget.values())
    assert plan.cells == setting.places.space.size**2
    assert plan.standard_deviation > 0
    assert release.privacy == sdp.Privacy.from_json(release.privacy.to_json())


@every_setting
def test_order_does_not_matter_and_strays_count_nowhere(setting):
    pairs = np.random.default_rng(7).integers(-STRAYS, setting.places.space.size**2, 60)
    releases = [
        setting.mechanism.release(setting.records(each), setting.domain, noise=SeededNoise(6), **setting.terms)
        for each in (pairs, pairs[::-1], pairs[pairs >= 0])
    ]
    assert len({repr(published(each)) for each in releases}) == 1
    assert pickle.loads(pickle.dumps(setting.mechanism)) == setting.mechanism


@pytest.mark.parametrize("case", FLOW_CASES)
def test_only_the_systems_noise_is_private(case):
    setting = FlowSetting(case, "zones", "add-remove")
    for noise, private in ((SystemNoise(), True), (SeededNoise(1), False)):
        release = setting.mechanism.release(setting.records([0]), setting.domain, noise=noise, **setting.terms)
        assert release.privacy.private is private
        assert ("NOT PRIVATE" in repr(release)) is not private


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.bug)
def test_bug_is_caught(mutant):
    mutant.check()
    with planted(mutant), pytest.raises(AssertionError):
        mutant.check()


def test_strays_that_count_are_noticed():
    setting = FlowSetting("flows", "region", "add-remove")
    with strays_in_the_first_place(), pytest.raises(AssertionError):
        test_order_does_not_matter_and_strays_count_nowhere(setting)
