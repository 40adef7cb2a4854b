"""Is every table private? Exact losses of all neighbours, replays, the duties of every mechanism, and planted bugs."""

from __future__ import annotations

import copy
import pickle
import zlib
from fractions import Fraction

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.mechanisms import ON_OTHER_FRAMES
from spatialdp.privacy.noise.source import SeededNoise, SystemNoise
from tests.audit import table_bugs
from tests.audit.contract import Imitation, Quiet, Turned
from tests.audit.mutants import planted
from tests.audit.replay import EPSILONS, granted, published, replay
from tests.audit.tables import (
    check_shares,
    odd_rows_count_nowhere,
)
from tests.helpers.table_cases import (
    TABLE_CASES,
    TABLE_FRAMES,
    TABLE_PERSON_SETTINGS,
    TABLE_PERSONS,
    TABLE_SETTINGS,
    TableSetting,
)

every_setting = pytest.mark.parametrize("setting", TABLE_SETTINGS, ids=str)
every_person = pytest.mark.parametrize("setting", TABLE_PERSON_SETTINGS, ids=str)


@every_setting
def test_every_row_costs_the_whole_budget_and_no_pair_more(setting):
    check_shares(setting)


@every_person
def test_no_person_costs_more_than_the_budget(setting):
    check_shares(setting)


@every_setting
def test_neighbours_can_only_be_told_apart_by_what_was_paid_for(setting):
    replay(setting, 2 * len(EPSILONS), zlib.crc32(str(setting).encode()))


@every_person
def test_whole_persons_can_only_be_told_apart_by_what_was_paid_for(setting):
    replay(setting, 2 * len(EPSILONS), zlib.crc32(str(setting).encode()))


@pytest.mark.parametrize("case", ["table", "table, weights", "table, gaussian"])
def test_promises_are_used_up(case):
    assert replay(TableSetting(case, "blocks, hours and kinds", "add-remove"), 20, 1) > 0.99


# --- duties ------------------------------------------------------------------------------------------


def released(setting, records, noise=None):
    return setting.mechanism.release(records, setting.domain, noise=noise, **setting.terms)


def some_records(setting):
    return setting.records(np.random.default_rng(7).integers(-4, setting.domain.n_cells, 60))


@every_setting
def test_plan_and_statement_agree_and_costs_add_up(setting):
    plan = setting.mechanism.plan(setting.domain, **setting.terms)
    release = released(setting, some_records(setting))
    assert release.privacy.budget == plan.budget
    assert sum(plan.budget.values()) == granted(release)
    assert all(isinstance(cost, Fraction) and cost > 0 for cost in plan.budget.values())
    assert release.privacy == sdp.Privacy.from_json(release.privacy.to_json())
    assert release.privacy.neighbours == setting.relation
    assert plan.cells == setting.domain.n_cells == release.estimate.n_cells
    assert plan.standard_deviation > 0
    assert plan.memory > 0
    assert set(plan.to_json()["errors"]) == set(plan.errors)


@every_setting
def test_without_noise_cells_have_their_counts(setting):
    cells = np.random.default_rng(3).integers(0, setting.domain.n_cells, 40)
    release = released(setting, setting.records(cells), Quiet(3))
    counts = np.bincount(cells, minlength=setting.domain.n_cells)
    assert release.estimate.values.ravel() == pytest.approx(counts, abs=1e-6)


@every_setting
def test_opposite_noise_gives_opposite_estimates(setting):
    one, other = (released(setting, setting.records([]), noise) for noise in (SeededNoise(4), Turned(4)))
    assert other.estimate.values == pytest.approx(-one.estimate.values, abs=1e-6)


@every_setting
def test_order_and_copies_do_not_matter(setting):
    cells = np.random.default_rng(7).integers(-4, setting.domain.n_cells, 60)
    one, other = (released(setting, setting.records(each), SeededNoise(6)) for each in (cells, cells[::-1]))
    assert published(one) == published(other)
    mechanism = setting.mechanism
    assert copy.deepcopy(mechanism) == mechanism == pickle.loads(pickle.dumps(mechanism))


@pytest.mark.parametrize("case", TABLE_CASES)
def test_only_the_systems_noise_is_private(case):
    setting = TableSetting(case, "zones and days", "add-remove")
    for noise, private in ((SystemNoise(), True), (Imitation(), False), (SeededNoise(1), False)):
        release = released(setting, setting.records([0]), noise)
        assert release.privacy.private is private
        assert ("NOT PRIVATE" in repr(release)) is not private


@pytest.mark.parametrize("frame", TABLE_FRAMES)
def test_rows_that_are_nowhere_change_nothing(frame):
    if frame != "one cell":
        odd_rows_count_nowhere("table", frame)()


@pytest.mark.parametrize("setting", TABLE_SETTINGS[::3], ids=str)
def test_files_come_back_byte_by_byte(setting, tmp_path):
    release = released(setting, some_records(setting), SeededNoise(8))
    paths = [tmp_path / name for name in ("one.parquet", "two.parquet")]
    release.save(paths[0])
    sdp.load(paths[0]).save(paths[1])
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_the_size_of_a_file_does_not_depend_on_the_rows(tmp_path):
    setting = TableSetting("table", "zones and days", "add-remove")
    sizes = set()
    for count in (0, 1, 500):
        path = tmp_path / f"{count}.parquet"
        cells = np.random.default_rng(count).integers(0, setting.domain.n_cells, count)
        released(setting, setting.records(cells), SeededNoise(count)).save(path)
        sizes.add(path.stat().st_size)
    assert len(sizes) == 1


# --- planted bugs ------------------------------------------------------------------------------------


@pytest.mark.parametrize("mutant", table_bugs.MUTANTS, ids=lambda mutant: mutant.bug)
def test_planted_bugs_are_caught(mutant):
    mutant.check()
    with planted(mutant), pytest.raises(AssertionError):
        mutant.check()


# --- the list ----------------------------------------------------------------------------------------


def test_every_mechanism_on_frames_is_in_the_list():
    on_frames = {mechanism for mechanism in ON_OTHER_FRAMES.values() if mechanism.frame is sdp.Frame}
    assert on_frames - {sdp.PrivBayes} == {type(mechanism) for mechanism in TABLE_CASES.values()} == {sdp.Table}
    assert {setting.person for setting in TABLE_PERSON_SETTINGS} == set(TABLE_PERSONS)
