"""Private kd-trees: path costs, variants, options."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import shapely

import spatialdp as sdp
from spatialdp.errors import BudgetError, DomainError, ParameterError
from spatialdp.privacy.noise.source import SeededNoise
from tests.helpers.cases import SMALL, is_complete, is_kd_tree, select

UNIT = sdp.Domain((0, 0, 1, 1))
RNG = np.random.default_rng(4)
XY = np.clip(np.concatenate([RNG.normal(0.3, 0.03, (600, 2)), RNG.random((200, 2))]), 0, 1)
VARIANTS = select(SMALL, is_kd_tree, is_complete)


@pytest.mark.parametrize("epsilon", [1, 0.1, Fraction(1, 7)])
@pytest.mark.parametrize("variant", VARIANTS)
def test_every_path_costs_epsilon_exactly(variant, epsilon):
    release = replace(VARIANTS[variant], height=4).release(XY, UNIT, epsilon=epsilon)
    spent = release.privacy.budget
    assert sum(spent.values()) == release.privacy.epsilon
    assert set(release.estimate.tree.depth[release.estimate.tree.leaves].tolist()) == {4}
    lines = sum((cost for step, cost in spent.items() if "lines" in step), Fraction(0))
    expected = 0 if VARIANTS[variant].data_levels == 0 else Fraction(3, 10) * release.privacy.epsilon
    assert lines == expected


def test_true_medians_are_marked_not_private():
    release = sdp.KdTree(2, median="true").release(XY, UNIT, epsilon=1)
    assert release.privacy.private is False
    assert "NOT PRIVATE" in repr(release)
    assert sum(release.privacy.budget.values()) == 1
    assert sdp.KdTree(2, median="true", data_levels=0).release(XY, UNIT, epsilon=1).privacy.private is True
    counts = sdp.KdTree(2, median="true", consistent=False).release(XY, UNIT, epsilon=1000).estimate
    leaves = counts.values[counts.tree.leaves]
    assert leaves.max() - leaves.min() <= 8  # medians divide evenly, up to ties


def test_neighbours_give_the_same_shape_when_noise_is_frozen():
    for variant in ("kd", "kd, hybrid", "kd, midpoints", "kd, cell, unstopped", "kd, noisy mean"):
        shapes = []
        for xy in (XY, XY[1:], np.vstack([XY, [[0.9, 0.1]]])):
            release = replace(VARIANTS[variant], height=3).release(xy, UNIT, epsilon=1, noise=SeededNoise(9))
            shapes.append(
                (release.estimate.tree.offsets.tolist(), release.privacy, release.estimate.variances.tolist())
            )
        assert shapes[0] == shapes[1] == shapes[2]


@pytest.mark.parametrize(
    "options",
    [
        {"height": -1},
        {"height": 3, "median": "mode"},
        {"height": 3, "median_share": 0},
        {"height": 3, "median_share": 1},
        {"height": 3, "data_levels": 4},
        {"height": 3, "data_levels": -1},
        {"height": 3, "data_levels": True},
        {"height": 3, "median": "cell", "cells": 1},
        {"height": 3, "sampling": 0},
        {"height": 3, "sampling": 2},
        {"height": 3, "sampling": 1e-7},
        {"height": 3, "sampling": 0.5, "median": "cell"},
        {"height": 3, "cells": 16},
        {"height": 3, "law": "gaussian"},
        {"height": 3, "prune": 1, "consistent": False},
    ],
)
def test_bad_parameters_are_refused_when_they_are_given(options):
    with pytest.raises(ParameterError):
        sdp.KdTree(**options)


def test_bad_terms_are_refused():
    with pytest.raises(BudgetError, match="median_share is 'x'"):
        sdp.KdTree(3, median_share="x")
    with pytest.raises(ParameterError, match="add-remove"):
        sdp.KdTree(3, sampling=0.5).release(XY, UNIT, epsilon=1, neighbours="replace")
    with pytest.raises(BudgetError, match="delta"):
        sdp.KdTree(3).release(XY, UNIT, epsilon=1, delta=1e-6)
    with pytest.raises(BudgetError, match="noisy means"):
        sdp.KdTree(8, median="noisy-mean").release(None, UNIT, epsilon=1e-6)
    with pytest.raises(BudgetError, match="below 1e-15 for the split lines"):
        sdp.KdTree(1, median_share=1e-20, stop=100).release(None, UNIT, epsilon=1)
    with pytest.raises(BudgetError, match="discrete-laplace noise"):  # of a level that few would get to
        sdp.KdTree(2, budget=(1, Fraction(1, 10**40), 1), stop=100, data_levels=0).check(UNIT, epsilon=1)
    thin = sdp.Domain((0, 0, 1, 1), region=shapely.box(0.50001, 0.1, 0.50002, 0.9), region_cells="centres")
    with pytest.raises(DomainError, match="thinner"):
        sdp.KdTree(2).release(None, thin, epsilon=1)
    touching = replace(thin, region_cells="touching")
    assert sdp.KdTree(2).release([[0.500015, 0.5]], touching, epsilon=1000).total == pytest.approx(1, abs=0.5)


def test_plan_is_what_the_release_records():
    for mechanism in (sdp.KdTree(3), sdp.KdTree(3, median="cell"), sdp.KdTree(3, data_levels=0), sdp.Quadtree(3)):
        plan = mechanism.plan(UNIT, epsilon=0.3)
        assert plan.budget == mechanism.release(XY, UNIT, epsilon=0.3).privacy.budget
