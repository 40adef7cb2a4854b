"""Is every mechanism on zones private? Exact losses of all neighbours, replays, and the duties of every mechanism."""

from __future__ import annotations

import copy
import inspect
import pickle
import zlib
from fractions import Fraction

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.mechanisms import ON_OTHER_FRAMES
from spatialdp.privacy.noise.source import SeededNoise, SystemNoise
from tests.audit.contract import Imitation, Quiet, Turned, seeded_releases_are_marked, terms_are_not_mixed_up
from tests.audit.replay import EPSILONS, granted, published, replay
from tests.audit.zones import check_shares, strays_count_nowhere
from tests.helpers.cases import RELATIONS
from tests.helpers.zone_cases import (
    FRAMES,
    ZONE_CASES,
    ZONE_PERSON_SETTINGS,
    ZONE_PERSONS,
    ZONE_SETTINGS,
    ZoneSetting,
)

# By day every third setting with persons; `make audit` takes all of them.
OF_PERSONS = [
    pytest.param(each, marks=() if i % 3 == 0 else pytest.mark.audit, id=str(each))
    for i, each in enumerate(ZONE_PERSON_SETTINGS)
]
every_setting = pytest.mark.parametrize("setting", ZONE_SETTINGS, ids=str)


# --- losses ---------------------------------------------------------------------------------------------


@every_setting
def test_every_record_costs_the_whole_budget_and_no_pair_more(setting):
    check_shares(setting)


@pytest.mark.parametrize("setting", OF_PERSONS)
def test_no_person_costs_more_than_the_budget(setting):
    check_shares(setting)


@every_setting
def test_neighbours_can_only_be_told_apart_by_what_was_paid_for(setting, tmp_path):
    replay(setting, 2 * len(EPSILONS), zlib.crc32(str(setting).encode()), tmp_path, every=6, maps=False)


@pytest.mark.parametrize("setting", OF_PERSONS)
def test_whole_persons_can_only_be_told_apart_by_what_was_paid_for(setting, tmp_path):
    replay(setting, len(EPSILONS), zlib.crc32(str(setting).encode()), tmp_path, every=3, maps=False)


# --- duties ---------------------------------------------------------------------------------------------


def some_records(setting):
    return setting.records(np.random.default_rng(7).integers(-3, setting.domain.n_leaves, 60))


def released(setting, records, noise):
    return setting.mechanism.release(records, setting.domain, noise=noise, **setting.terms)


@every_setting
def test_plan_and_statement_agree_and_costs_add_up(setting):
    plan = setting.mechanism.plan(setting.domain, **setting.terms)
    release = released(setting, some_records(setting), None)
    assert release.privacy.budget == plan.budget
    assert sum(plan.budget.values()) == granted(release)
    assert all(isinstance(cost, Fraction) and cost >= 0 for cost in plan.budget.values())
    assert release.privacy.neighbours == ("replace" if setting.mechanism.invariants else setting.relation)
    assert release.privacy.invariants == plan.invariants == tuple(setting.mechanism.invariants or ())
    assert release.privacy == sdp.Privacy.from_json(release.privacy.to_json())
    assert set(plan.errors) == set(setting.domain.levels)
    assert plan.standard_deviation > 0
    assert plan.memory > 0


@every_setting
def test_without_noise_zones_have_their_counts(setting):
    leaves = np.random.default_rng(3).integers(0, setting.domain.n_leaves, 40)
    if setting.mechanism.known is not None:
        return
    release = released(setting, setting.records(leaves), Quiet(3))
    counts = np.bincount(leaves, minlength=setting.domain.n_leaves)
    for node, code in enumerate(setting.domain.codes):
        below = setting.domain.leaves_of([node])
        depth = setting.domain.levels[setting.domain.shape.depth[node]]
        assert release.answer(code, at=depth) == pytest.approx(counts[below].sum(), abs=1e-6)


@every_setting
def test_opposite_noise_gives_opposite_estimates(setting):
    if setting.mechanism.known is None:
        one, other = (released(setting, setting.records([]), noise) for noise in (SeededNoise(4), Turned(4)))
        assert other.estimate.values == pytest.approx(-one.estimate.values, abs=1e-6)


@every_setting
def test_order_blocks_and_copies_do_not_matter(setting):
    leaves = np.random.default_rng(7).integers(-3, setting.domain.n_leaves, 60)
    one, other = (released(setting, setting.records(each), SeededNoise(6)) for each in (leaves, leaves[::-1]))
    assert published(one) == published(other)
    mechanism = setting.mechanism
    assert copy.deepcopy(mechanism) == mechanism == pickle.loads(pickle.dumps(mechanism))


@every_setting
def test_terms_are_not_mixed_up(setting):
    terms_are_not_mixed_up(setting)


@pytest.mark.parametrize("case", ZONE_CASES)
def test_only_the_systems_noise_is_private(case):
    setting = ZoneSetting(case, "lopsided", "add-remove")
    seeded_releases_are_marked(setting)
    for noise, private in ((SystemNoise(), True), (Imitation(), False)):
        assert released(setting, setting.records([0]), noise).privacy.private is private


@pytest.mark.parametrize("frame", FRAMES)
def test_records_that_are_nowhere_change_nothing(frame):
    strays_count_nowhere("zones", frame)()


@pytest.mark.parametrize("case", ZONE_CASES)
def test_files_come_back(case, tmp_path):
    setting = ZoneSetting(case, "lopsided", "add-remove")
    release = released(setting, some_records(setting), SeededNoise(8))
    paths = [tmp_path / name for name in ("one.parquet", "two.parquet")]
    release.save(paths[0])
    loaded = sdp.load(paths[0])
    loaded.save(paths[1])
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert loaded.privacy == release.privacy
    codes = list(setting.domain.codes[setting.domain.leaf_nodes])
    assert np.array_equal(loaded.answer(codes), release.answer(codes))


# --- the list -------------------------------------------------------------------------------------------


def test_every_mechanism_on_zones_is_in_the_list():
    on_zones = {mechanism for mechanism in ON_OTHER_FRAMES.values() if mechanism.frame is sdp.Zones}
    assert {type(mechanism) for mechanism in ZONE_CASES.values()} == on_zones
    assert {(each.frame, each.relation) for each in ZONE_SETTINGS} == {(f, r) for f in FRAMES for r in RELATIONS}
    assert {each.person for each in ZONE_PERSON_SETTINGS} == set(ZONE_PERSONS)


def test_every_law_and_every_parameter_is_in_the_list():
    assert {str(each.law) for each in ZONE_CASES.values()} == {"discrete-laplace", "laplace", "gaussian"}
    for parameter in inspect.signature(sdp.ZoneTree).parameters:
        assert len({repr(getattr(each, parameter)) for each in ZONE_CASES.values()}) > 1, f"{parameter} never varies"
