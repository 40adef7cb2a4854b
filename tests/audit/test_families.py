"""Does the long run walk everything? The one list of families, and every new combination in a small size."""

from __future__ import annotations

import contextlib
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from unittest import mock

import pytest

import spatialdp as sdp
from spatialdp.curator import asks
from spatialdp.mechanisms import LISTS, MECHANISMS, ON_OTHER_FRAMES, Mechanism
from spatialdp.privacy.noise.laws import calibrate
from tests.audit import __main__ as long_run
from tests.audit.black_box import FALSE_ALARM, OTHER_COPIES, Combination, family_combinations, other_combinations
from tests.audit.families import FAMILIES, OTHER_FAMILIES, name_of
from tests.audit.mutants import Mutant, calibrated, planted
from tests.audit.report import Replayed, Run, report

every_family = pytest.mark.parametrize("family", OTHER_FAMILIES, ids=lambda family: family.name)
FAMILY_COMBINATIONS, COPIED = list(family_combinations()), list(other_combinations())
ALPHA = FALSE_ALARM / 1000


def mechanisms():
    """All mechanisms that publish, at any depth; peers that the evaluator compares with do not."""
    found, left = set(), [Mechanism]
    while left:
        left += (below := left.pop().__subclasses__())
        found |= set(below)
    return {each.name for each in found if each.__module__.startswith("spatialdp.mechanisms.") and "name" in vars(each)}


# --- the list ----------------------------------------------------------------------------------------


def test_every_mechanism_is_in_a_family():
    listed = {name_of(setting) for family in FAMILIES for setting in family.settings}
    assert listed == mechanisms() | {sdp.Running.name, "curator"}
    assert listed > set(MECHANISMS) | set(LISTS) | set(ON_OTHER_FRAMES)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_every_case_is_replayed_under_both_relations(family):
    assert {each.case for each in family.settings} == set(family.cases)
    assert {each.relation for each in family.settings} == {"add-remove", "replace"}


def test_the_long_run_replays_every_setting_of_every_family():
    options = long_run.options_of(["--pairs", "100", "--others", "10"])
    wanted = [setting for family in FAMILIES for setting in family.settings]
    replays = long_run.replays(options)
    assert [long_run.REPLAYED[number][1] for number in {task[0]: None for task in replays}] == wanted
    assert min(pairs for _, pairs, _ in replays) >= 1


@every_family
def test_the_black_box_takes_every_case_frame_and_bound(family):
    for trait in ("case", "frame", "region", "person"):
        assert {getattr(each, trait, None) for each in family.few} == {
            getattr(each, trait, None) for each in family.settings
        }


def test_the_long_run_takes_every_combination_once():
    named = Counter(map(str, long_run.COMBINATIONS))
    assert max(named.values()) == 1
    assert {str(each) for each in [*FAMILY_COMBINATIONS, *COPIED]} < set(named)
    assert {each.family for each in long_run.COMBINATIONS} == {family.name for family in FAMILIES}


# --- every combination in a small size -----------------------------------------------------------------


@pytest.mark.statistical
@every_family
def test_nothing_above_epsilon_is_certified_release_by_release(family):
    for each in (each for each in FAMILY_COMBINATIONS if each.family == family.name):
        certified_bound = each.certify(40, ALPHA)
        assert certified_bound <= each.epsilon, f"{each}: ε is at least {certified_bound}"


@pytest.mark.statistical
@pytest.mark.parametrize("name", OTHER_COPIES)
def test_nothing_above_epsilon_is_certified_of_copies(name):
    for each in (each for each in COPIED if each.mechanism == name):
        certified_bound = each.certify(8_000, ALPHA)
        assert certified_bound <= each.epsilon, f"{each}: ε is at least {certified_bound}"


# --- a wrong scale is noticed --------------------------------------------------------------------------


@contextlib.contextmanager
def with_less_noise(factor):
    """Plant noise of a smaller scale everywhere; the parameter of Gaussian noise is its variance."""

    def smaller(law):
        return replace(law, parameter=law.parameter * (factor**2 if str(law.law) == "gaussian" else factor))

    with (
        planted(Mutant("", "", lambda: calibrated(smaller), lambda: None)),
        mock.patch.object(asks, "_calibrated", lambda *terms: smaller(calibrate(*terms))),  # it keeps what it has made
    ):
        yield


def the_one(combinations, mechanism, pair, epsilon=None) -> Combination:
    """The combination of a mechanism, a pair and an ε, if there are several."""
    (one,) = [each for each in combinations if (each.mechanism, each.pair) == (mechanism, pair)
              and epsilon in (None, each.epsilon)]  # fmt: skip
    return one


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("mechanism", "pair"),
    [
        ("zones, raw", "empty and one"),
        ("zones", "empty and one"),
        ("table, cells", "empty and one"),
        ("table, cells", "moved"),
        ("sparse, slides", "a crowd and one more"),
        ("flows, slides", "a crowd and one more"),
    ],
)
def test_four_fifths_of_the_noise_are_noticed_in_copies(mechanism, pair):
    each = the_one(COPIED, mechanism, pair, 4)
    with with_less_noise(Fraction(4, 5)):
        assert each.certify(100_000, ALPHA) > each.epsilon


@pytest.mark.statistical
@pytest.mark.parametrize(
    "mechanism", ["zones, gaussian", "table, gaussian", "table", "sparse", "flows, listed", "running"]
)
def test_a_fifth_of_the_noise_is_noticed_in_copies(mechanism):
    """Bounds are not tight for Gaussian noise, nor where the budget pays for much that one event cannot use."""
    each = the_one(COPIED, mechanism, "empty and one", 4)
    with with_less_noise(Fraction(1, 5)):
        assert each.certify(20_000, ALPHA) > each.epsilon


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("start", "pair"),
    [
        ("zones, regular", "empty and one"),
        ("sparse, slides, whole", "moved"),
        ("list over map, whole", "empty and one"),
        ("table, zones alone", "empty and one"),
        ("privbayes, one cell", "empty and one"),
        ("running, one month", "empty and one"),
        ("flows, slides", "empty and one"),
        ("trajectories", "empty and one"),
        ("count", "empty and one"),
        ("sum, one side", "empty and one"),
        ("release, flat", "empty and one"),
    ],
)
def test_a_tenth_of_the_noise_is_noticed_release_by_release(start, pair):
    """A few hundred releases cannot tell less."""
    each = next(one for one in FAMILY_COMBINATIONS if one.mechanism.startswith(start) and one.pair == pair)
    with with_less_noise(Fraction(1, 10)):
        assert each.certify(600, ALPHA) > each.epsilon


# --- the report ----------------------------------------------------------------------------------------


def test_the_report_is_a_function_of_the_run():
    options = long_run.options_of([])
    certified = dict.fromkeys(long_run.COMBINATIONS, 0.5)
    replayed = {(family.name, "some"): Replayed({"one"}, 7, 1.0) for family in FAMILIES}
    page = report(Run(options, "abc1234", 60.0, certified, replayed))
    assert page == report(Run(options, "abc1234", 60.0, certified, replayed))
    assert "commit abc1234" in page
    assert "reduced run" not in page
    assert all(f"Certified lower bounds on ε for {family.name}" in page for family in FAMILIES)
    reduced = Run(long_run.options_of(["--releases", "5000"]), "abc1234", 60.0, certified, replayed)
    assert "reduced run" in report(reduced)
