"""Every mechanism in the registry keeps the contract, in every variant of the one list."""

from __future__ import annotations

import inspect

import pytest

import spatialdp as sdp
from spatialdp.mechanisms import MECHANISMS
from tests.audit.contract import CLAUSES, file_sizes_are_public, files_come_back
from tests.helpers.cases import CASES, RELATIONS, SETTINGS

# Both relations on the whole domain, and each region under one of them.
CHOSEN = {("whole", relation) for relation in RELATIONS} | {("two corners", "replace"), ("five sides", "add-remove")}
AUDITED = [setting for setting in SETTINGS if (setting.region, setting.relation) in CHOSEN]


@pytest.mark.parametrize("setting", AUDITED, ids=str)
def test_mechanism_keeps_the_contract(setting, tmp_path):
    for clause in CLAUSES:
        clause(setting)
    files_come_back(setting, tmp_path)
    file_sizes_are_public(setting, tmp_path)


def test_every_mechanism_is_in_the_list():
    assert {mechanism.name for mechanism in CASES.values()} == set(MECHANISMS)
    assert all(type(mechanism) is MECHANISMS[mechanism.name] for mechanism in CASES.values())


@pytest.mark.parametrize("name", MECHANISMS)
def test_every_law_and_every_parameter_is_in_the_list(name):
    """A variant that is not audited can not be added unnoticed."""
    mechanism, variants = MECHANISMS[name], [each for each in CASES.values() if each.name == name]
    laws = {str(each.law) for each in variants}
    assert laws == {"discrete-laplace", "laplace"} | ({"gaussian"} if name != "kd-tree" else set())
    for parameter in inspect.signature(mechanism).parameters:
        if parameter in ("shape", "cell_size") and name != "flat":
            continue  # one way to say what a grid is, shared by all
        assert len({repr(getattr(each, parameter)) for each in variants}) > 1, f"{parameter} never varies"


def test_true_medians_are_marked():
    for share, private in ((None, False), (0, True)):
        tree = sdp.KdTree(2, median="true", data_levels=share)
        assert tree.release([[0.5, 0.5]], sdp.Domain((0, 0, 1, 1)), epsilon=1).privacy.private is private
