"""Is every question to a curator private? Replays, exact losses of all tiny pairs, laws, duties and planted bugs."""

from __future__ import annotations

import inspect
import zlib
from fractions import Fraction

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.curator.answers import Answers
from spatialdp.privacy.noise.source import SeededNoise
from tests.audit.curator import (
    LABELS,
    PRICES,
    losses,
    only_the_systems_noise_is_private,
    refused_questions_draw_nothing,
    worst_line_ratio,
)
from tests.audit.replay import replay
from tests.helpers.curator_cases import (
    ASKS,
    CURATOR_PERSON_SETTINGS,
    CURATOR_SETTINGS,
    DOMAIN,
    CuratorSetting,
)

every_setting = pytest.mark.parametrize("setting", CURATOR_SETTINGS, ids=str)
every_person = pytest.mark.parametrize("setting", CURATOR_PERSON_SETTINGS, ids=str)


def is_choice(setting):
    """Whether an answer is chosen, whose exact loss is below the bound for most that can come out."""
    return setting.case.split(",")[0] in ("choose", "above_threshold", "sample_and_aggregate")


@every_setting
def test_neighbours_can_only_be_told_apart_by_what_was_paid_for(setting):
    replay(setting, 30, zlib.crc32(str(setting).encode()))


@every_person
def test_whole_persons_can_only_be_told_apart_by_what_was_paid_for(setting):
    share = replay(setting, 12)  # pairs among which some use the promise up
    if setting.relation == "add-remove" and not is_choice(setting):
        assert share > 0.99, "a person gets more noise than is paid for"


@every_setting
def test_the_worst_pair_of_neighbours_loses_what_the_question_costs(setting):
    """And no pair more; replacing one record cannot change all levels of a tree at once."""
    worst = max(losses(setting))
    assert worst <= 1
    loose = is_choice(setting) or (setting.case, setting.relation) == ("release, quadtree", "replace")
    assert loose or worst == 1


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
@pytest.mark.parametrize("share", [Fraction(1, 2), Fraction(4, 5)])
def test_log_ratios_of_drawn_quantiles_are_within_epsilon(share, relation):
    assert 0.2 < worst_line_ratio(share, relation) <= 1 + 1e-9


# --- duties ------------------------------------------------------------------------------------------


def some_rows(seed=7, count=60):
    rng = np.random.default_rng(seed)
    beside = {name: [pool[i] for i in rng.integers(len(pool), size=count)] for name, pool in COLUMNS.items()}
    return rng.uniform(0, 8, (count, 2)), beside


COLUMNS = {"price": PRICES, "state": LABELS}


def published(setting, rows, seed=3):
    answers = setting.asked(setting.curator(rows, SeededNoise(seed)), Fraction(1))
    return [np.asarray(each.values if isinstance(each, Answers) else each.estimate.values).tolist() for each in answers]


@every_setting
def test_order_does_not_matter_and_strays_count_nowhere(setting):
    places, beside = some_rows()
    rows = sdp.Rows(places, **beside)
    backwards = sdp.Rows(places[::-1], **{name: values[::-1] for name, values in beside.items()})
    strays = [[np.nan, 1.0], [1.0, np.inf], [99.0, 1.0], [-1e-9, 1.0]]
    more = sdp.Rows(np.vstack([places, strays]), **{name: [*values, *values[:4]] for name, values in beside.items()})
    assert published(setting, rows) == published(setting, backwards) == published(setting, more)


@every_setting
def test_statements_say_what_was_spent(setting):
    curator = setting.curator(sdp.Rows(*[some_rows()[0]], **some_rows()[1]), SeededNoise(1))
    answers = setting.asked(curator, Fraction(1, 2))
    spent = curator._purse.spender.spent
    gaussian = "gaussian" in setting.case
    for each in answers:
        assert each.privacy.neighbours == setting.relation
        assert not each.privacy.private
        assert sum(each.privacy.budget.values()) == (spent.rho if gaussian else each.privacy.epsilon)
    assert gaussian or spent.epsilon == Fraction(1, 2)


def test_refused_questions_draw_nothing():
    refused_questions_draw_nothing()


def test_only_the_systems_noise_is_private():
    only_the_systems_noise_is_private()


# --- the list ----------------------------------------------------------------------------------------


def test_every_question_of_a_curator_is_in_the_list():
    methods = {
        name
        for name, member in inspect.getmembers(sdp.Curator)
        if not name.startswith("_") and name != "rehearsal" and callable(member)
    }
    assert methods == {case.split(",")[0] for case in ASKS}
    assert {each.case for each in CURATOR_SETTINGS} == set(ASKS)
    assert {each.person for each in CURATOR_PERSON_SETTINGS} == {sdp.Person(records=3)}


def test_a_setting_holds_what_its_question_needs():
    assert CuratorSetting("sum").needs_columns
    assert not CuratorSetting("count, box").needs_columns
    assert DOMAIN.bounds == (0, 0, 8, 8)
