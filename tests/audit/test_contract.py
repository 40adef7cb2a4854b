"""Does every mechanism in the registry keep the contract? All clauses, for every variant in the list of cases.

The list must cover all mechanisms, laws and parameters: a variant that is not audited fails a test here.
"""

from __future__ import annotations

import inspect

import pytest

import spatialdp as sdp
from spatialdp.mechanisms import MECHANISMS
from tests.audit.contract import CLAUSES, file_sizes_are_public, files_come_back
from tests.helpers.cases import CASES, SETTINGS, by_turns

# Every variant in one of these settings, in turn; all of them in `make audit`.
PLACES = (("whole", "add-remove"), ("whole", "replace"), ("two corners", "replace"), ("five sides", "add-remove"))
COVERED = [setting for setting in SETTINGS if (setting.region, setting.relation) in PLACES]
DAILY = [each for each in COVERED if (each.case, (each.region, each.relation)) in by_turns(CASES, PLACES)]


@pytest.mark.parametrize(
    "setting",
    [pytest.param(each, marks=() if each in DAILY else pytest.mark.audit, id=str(each)) for each in COVERED],
)
def test_mechanism_keeps_the_contract(setting, tmp_path):
    for clause in CLAUSES:
        clause(setting)
    files_come_back(setting, tmp_path)
    file_sizes_are_public(setting, tmp_path)


@pytest.mark.parametrize("name", MECHANISMS)
def test_every_mechanism_is_tried_under_each_relation_and_in_each_region(name):
    tried = {(each.region, each.relation) for each in DAILY if each.mechanism.name == name}
    assert tried == set(PLACES)


def test_every_mechanism_is_in_the_list():
    assert {mechanism.name for mechanism in CASES.values()} == set(MECHANISMS)
    assert all(type(mechanism) is MECHANISMS[mechanism.name] for mechanism in CASES.values())


@pytest.mark.parametrize("name", MECHANISMS)
def test_every_law_and_every_parameter_is_in_the_list(name):
    """Nobody can add a variant without auditing it."""
    mechanism, variants = MECHANISMS[name], [each for each in CASES.values() if each.name == name]
    laws = {str(each.law) for each in variants}
    assert laws == {"discrete-laplace", "laplace"} | ({"gaussian"} if name != "kd-tree" else set())
    for parameter in inspect.signature(mechanism).parameters:
        if parameter in ("shape", "cell_size") and name != "flat":
            continue  # two ways to give a grid, which all mechanisms share
        assert len({repr(getattr(each, parameter)) for each in variants}) > 1, f"{parameter} never varies"


def test_true_medians_are_marked():
    for share, private in ((None, False), (0, True)):
        tree = sdp.KdTree(2, median="true", data_levels=share)
        assert tree.release([[0.5, 0.5]], sdp.Domain((0, 0, 1, 1)), epsilon=1).privacy.private is private
