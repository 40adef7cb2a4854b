"""`spatialdp plan`: cost, size and error before a record is read."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest

import spatialdp as sdp
from tests.helpers.commands import BOUNDS, QUADTREE, run


def test_plan_tells_cost_size_and_error():
    told = run("plan", BOUNDS, *QUADTREE).stdout
    assert "cells     64" in told
    assert "cost      ε = 1\n" in told
    assert "counts at depth 3" in told
    assert "the whole domain" in told
    assert "depends on the records" in run("plan", BOUNDS, "--method=kd-tree", "--height=2", "--epsilon=1").stdout


@pytest.mark.parametrize(
    ("words", "mechanism", "terms"),
    [
        (["flat", "--shape=8,4"], sdp.Flat((8, 4)), {"epsilon": 1}),
        (["quadtree", "--height=3", "--neighbours=replace"], sdp.Quadtree(3), {"epsilon": 1, "neighbours": "replace"}),
        (
            ["flat", "--shape=8,4", "--law=gaussian", "--delta=1e-6"],
            sdp.Flat((8, 4), law="gaussian"),
            {"epsilon": 1, "delta": 1e-6},
        ),
        (["kd-tree", "--height=2"], sdp.KdTree(2), {"epsilon": 1}),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else None,
)
def test_plan_is_that_of_the_library(words, mechanism, terms):
    told = json.loads(run("plan", BOUNDS, "--epsilon=1", "--json", "--method", *words).stdout)
    plan = mechanism.plan(sdp.Domain((0, 0, 1, 1)), **terms)
    assert told == plan.to_json()
    assert told["budget"] == {step: float(cost) for step, cost in plan.budget.items()}
    assert sum(map(Fraction, told["budget_exact"].values())) == Fraction(told["cost_exact"])


def test_plan_prints_what_the_library_prints():
    told = run("plan", BOUNDS, *QUADTREE).stdout
    assert told == f"{sdp.Quadtree(3).plan(sdp.Domain((0, 0, 1, 1)), epsilon=1)}\n"


def test_plan_takes_no_points(tmp_path):
    assert "unexpected extra argument" in run("plan", tmp_path, BOUNDS, *QUADTREE, code=2).stderr


def test_a_delta_alone_means_gaussian_noise_as_for_publish():
    told = run("plan", BOUNDS, "--epsilon=1", "--delta=1e-6", "--shape=8,8").stdout
    assert "ρ (zCDP)" in told
    for words in (("--method=adaptive",), ("--law=laplace",)):
        refused = run("plan", BOUNDS, "--epsilon=1", "--delta=1e-6", "--shape=8,8", *words, code=2).stderr
        assert "Leave --delta out" in refused


def test_a_plan_of_persons_is_that_of_the_library():
    words = ("plan", "--bounds=0,0,1,1", "--method=flat", "--shape=8,8", "--epsilon=1", "--person=shares")
    plan = sdp.Flat((8, 8)).plan(sdp.Domain((0, 0, 1, 1)), epsilon=1, person=sdp.Person(shares=True))
    assert run(*words).stdout.strip() == str(plan)
    assert json.loads(run(*words, "--json").stdout)["person"] == {"shares": True}
