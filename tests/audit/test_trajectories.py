"""Do trajectories keep their promise? Replays, sensitivities by brute force, enumerated choices, and planted bugs."""

from __future__ import annotations

import pickle
import zlib
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import spatialdp as sdp
from spatialdp.errors import DomainError, ParameterError
from spatialdp.mechanisms.adaptive.trajectories import Trajectories
from spatialdp.privacy.noise.source import SeededNoise, SystemNoise
from spatialdp.space.paths.systems import WHOLE
from tests.audit.mutants import planted
from tests.audit.replay import EPSILONS, content_of, granted, replay
from tests.audit.trajectories import (
    choices_are_within_their_budget,
    declared_is_the_maximum,
    drawn_from,
    groups_of,
    some_trajectory,
)
from tests.audit.trajectory_bugs import MUTANTS
from tests.helpers.trajectory_cases import (
    TRAJECTORY_CASES,
    TRAJECTORY_PERSON_SETTINGS,
    TRAJECTORY_SETTINGS,
    TrajectorySetting,
)

every_setting = pytest.mark.parametrize("setting", TRAJECTORY_SETTINGS, ids=str)
every_person = pytest.mark.parametrize("setting", TRAJECTORY_PERSON_SETTINGS, ids=str)
walks = st.lists(st.integers(-1, 63), min_size=1, max_size=40)


def test_every_mechanism_of_trajectories_is_audited():
    assert {type(mechanism) for mechanism in TRAJECTORY_CASES.values()} == {Trajectories}


@every_setting
def test_neighbours_can_only_be_told_apart_by_what_was_paid_for(setting):
    replay(setting, 3 * len(EPSILONS), zlib.crc32(str(setting).encode()))


@every_person
def test_whole_persons_can_only_be_told_apart_by_what_was_paid_for(setting):
    replay(setting, 3 * len(EPSILONS), zlib.crc32(str(setting).encode()))


@every_setting
def test_no_trajectory_moves_a_group_by_more_than_declared(setting):
    declared_is_the_maximum(setting)


@given(walks, st.sampled_from(sorted(TRAJECTORY_CASES)))
def test_a_trajectory_of_any_length_adds_one_unit_at_most(walk, case):
    setting = TrajectorySetting(case, "add-remove")
    for name, law in setting.design.laws.items():
        added = groups_of(setting, [walk])[name]
        assert added.min() >= 0
        assert added.sum() <= law.counted
        assert law.counted in (1, WHOLE)


@every_person
def test_no_person_moves_a_group_by_more_than_the_bound(setting):
    rng, laws = np.random.default_rng(3), setting.design.laws
    for _ in range(12):
        crowd = [some_trajectory(rng) for _ in range(4)]
        mine = [some_trajectory(rng) for _ in range(int(rng.integers(1, 6)))]
        without = groups_of(setting, crowd, range(4))
        with_all = groups_of(setting, crowd + mine, [*range(4), *[77] * len(mine)])
        for name, law in laws.items():
            change = with_all[name] - without[name]
            assert 0 <= change.sum() == np.abs(change).sum() <= setting.person.most * law.counted


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
@pytest.mark.parametrize("case", ["trajectories", "trajectories, one block", "trajectories, half minutes"])
def test_choices_of_systems_tell_no_more_than_they_pay_for(case, relation):
    """Exact ratios of the probabilities of all systems, for crowds and one of all short trajectories more."""
    assert choices_are_within_their_budget(TrajectorySetting(case, relation)) > 0.1


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
def test_noisy_ends_of_four_pairs_tell_no_more_than_they_pay_for(relation):
    """The exact law of the noise in each pair of ends; a trajectory more changes one count, and a replaced one two."""
    design = TrajectorySetting("trajectories, one block", relation).design
    assert design.frame.space.size == 1
    design = TrajectorySetting("trajectories", relation).design
    assert design.frame.space.size == 4
    law = design.laws["trajectories of each pair of ends"]
    moved = 1 if relation == "add-remove" else 2
    decay = 1 / law.parameter  # by how much the logarithm of a chance falls from one noisy count to the next
    assert moved * decay == design.costs["trajectories of each pair of ends"]


@every_setting
def test_plan_and_statement_agree_and_costs_add_up(setting):
    plan = setting.mechanism.plan(setting.domain, **setting.terms)
    release = setting.mechanism.release(setting.records([[0, -1]]), setting.domain, **setting.terms)
    assert release.privacy.budget == plan.budget
    assert sum(plan.budget.values()) == granted(release)
    assert all(isinstance(cost, Fraction) and cost > 0 for cost in plan.budget.values())
    assert plan.standard_deviation > 0
    assert release.privacy == sdp.Privacy.from_json(release.privacy.to_json())


@every_setting
def test_order_does_not_matter_and_strays_count_nowhere(setting):
    rng = np.random.default_rng(7)
    walks = [some_trajectory(rng) for _ in range(30)]
    strays = [[-1, -2], [-5]]
    releases = [
        setting.mechanism.release(setting.records(each), setting.domain, noise=SeededNoise(6), **setting.terms)
        for each in (walks, walks[::-1], strays + walks)
    ]
    assert len({repr((content_of(each.estimate), drawn_from(each))) for each in releases}) == 1
    assert pickle.loads(pickle.dumps(setting.mechanism)) == setting.mechanism


@pytest.mark.parametrize("case", TRAJECTORY_CASES)
def test_only_the_systems_noise_is_private(case):
    setting = TrajectorySetting(case, "add-remove")
    for noise, private in ((SystemNoise(), True), (SeededNoise(1), False)):
        release = setting.mechanism.release(setting.records([[0]]), setting.domain, noise=noise, **setting.terms)
        assert release.privacy.private is private
        assert ("NOT PRIVATE" in repr(release)) is not private


def test_an_account_pays_once_and_before_anything_is_drawn(tmp_path):
    account = sdp.Ledger(tmp_path / "privacy.ledger").open("taxis", epsilon=1)
    setting = TrajectorySetting("trajectories", "add-remove")
    release = setting.mechanism.release(setting.records([[0, 1]]), setting.domain, epsilon=1, account=account)
    assert account.spent.epsilon == 1
    assert release.privacy.ledger is not None
    with pytest.raises(sdp.SpatialDPError, match="left"):
        setting.mechanism.release(setting.records([[0, 1]]), setting.domain, epsilon=1, account=account)


def test_what_cannot_be_promised_is_refused_first():
    import shapely

    region = sdp.Domain((0, 0, 1, 1), region=shapely.box(0, 0, 0.5, 0.5), region_cells="centres")
    with pytest.raises(DomainError, match="cells that touch it"):
        sdp.Trajectories().prepare(region, epsilon=1)
    with pytest.raises(ParameterError, match="whole trajectories"):
        sdp.Trajectories().prepare(sdp.Domain((0, 0, 1, 1)), epsilon=1, person=sdp.Person(cells=3))
    with pytest.raises(ParameterError, match="their product may be at most"):
        sdp.Trajectories(longest=5000, systems=(8,))


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.bug)
def test_bug_is_caught(mutant):
    mutant.check()
    with planted(mutant), pytest.raises(AssertionError):
        mutant.check()
