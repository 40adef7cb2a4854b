"""Do neighbours differ only in inputs that were paid for? Every mechanism is replayed on many pairs."""

from __future__ import annotations

import zlib
from collections import Counter

import pytest

from spatialdp.mechanisms import MECHANISMS
from tests.audit.replay import EPSILONS, replay
from tests.helpers.cases import CASES, PERSON_SETTINGS, PERSONS, SETTINGS, Setting

PAIRS = 60  # for every mechanism; `python -m tests.audit` replays 20,000, with maps in all settings
# One setting of every third variant is also drawn; in turn, each region under each relation.
OF_VARIANT = {case: [each for each in SETTINGS if each.case == case] for case in list(CASES)[::3]}
DRAWN = {settings[turn % len(settings)] for turn, settings in enumerate(OF_VARIANT.values())}
NUMBER_OF = Counter(setting.mechanism.name for setting in SETTINGS)


def pairs_for(setting: Setting, whole: int = PAIRS) -> int:
    """Return the number of pairs for one setting, as its share of the mechanism's pairs."""
    return max(-(-whole // NUMBER_OF[setting.mechanism.name]), len(EPSILONS))


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_neighbours_can_only_be_told_apart_by_what_was_paid_for(setting, tmp_path):
    seed = zlib.crc32(str(setting).encode())
    replay(setting, pairs_for(setting), seed, tmp_path, maps=setting in DRAWN)


@pytest.mark.parametrize(
    "case", ["flat", "wavelet", "quadtree", "kd, midpoints, stop", "quadtree, stop", "hierarchy", "adaptive"]
)
def test_promises_are_used_up(case):
    assert replay(Setting(case, "whole", "add-remove"), 10) > 0.99
    # Replacing one record cannot change every group of coefficients by its maximum at once.
    assert replay(Setting(case, "whole", "replace"), 40) > 0.8


def test_every_mechanism_is_replayed_on_enough_pairs():
    replayed = Counter()
    for setting in SETTINGS:
        replayed[setting.mechanism.name] += pairs_for(setting)
    assert min(replayed.values()) >= PAIRS


def test_every_mechanism_region_and_relation_is_drawn():
    assert {each.mechanism.name for each in DRAWN} == set(MECHANISMS)
    places = {(each.region, each.relation) for each in SETTINGS}
    assert {(each.region, each.relation) for each in DRAWN} == places


@pytest.mark.parametrize("setting", PERSON_SETTINGS, ids=str)
def test_whole_persons_can_only_be_told_apart_by_what_was_paid_for(setting, tmp_path):
    replay(setting, len(EPSILONS), zlib.crc32(str(setting).encode()), tmp_path, every=3, maps=False)


@pytest.mark.parametrize("person", [each for each in PERSONS if each.choice is None], ids=str)
@pytest.mark.parametrize("case", ["flat", "quadtree", "kd, midpoints, stop", "quadtree, stop", "adaptive"])
def test_promises_to_persons_are_used_up(case, person):
    assert replay(Setting(case, "whole", "add-remove", person), 12) > 0.99


@pytest.mark.parametrize("person", [each for each in PERSONS if each.choice is not None], ids=str)
@pytest.mark.parametrize("case", ["flat", "quadtree", "flat, gaussian"])
def test_promises_are_used_up_where_the_bound_is_chosen(case, person):
    """The half of the budget that pays for the choice is rarely used up: few persons are near a threshold."""
    assert replay(Setting(case, "whole", "add-remove", person), 42) > 0.5


@pytest.mark.parametrize("case", ["flat, gaussian", "quadtree, gaussian"])
def test_promises_of_gaussian_noise_to_persons_in_cells_are_used_up(case):
    """Three cells of one block of four fill the leaves and the nodes above them at once."""
    assert replay(Setting(case, "whole", "add-remove", PERSONS[1]), 60) > 0.99


def test_every_mechanism_bound_region_and_relation_is_replayed_with_persons():
    assert {(each.mechanism.name, each.person) for each in PERSON_SETTINGS} == {
        (name, person) for name in MECHANISMS for person in PERSONS
    }
    for name in ("region", "relation"):
        assert {getattr(each, name) for each in PERSON_SETTINGS} == {getattr(each, name) for each in SETTINGS}
