"""Hierarchies of blocks: budgets, the fit, releases, options."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import shapely

import spatialdp as sdp
from spatialdp.errors import BudgetError, DomainError, ParameterError
from spatialdp.mechanisms.fixed.hierarchy import published_branching
from spatialdp.privacy.noise.source import SeededNoise
from spatialdp.trees.shape import sums
from tests.helpers.boxes import coverage, coverage_in_region
from tests.helpers.cases import SMALL, in_turn, is_hierarchy, select, terms
from tests.helpers.sources import RecordingNoise, ZeroNoise
from tests.helpers.trees import dense_membership
from tests.reference.dense_trees import box_moments

UNIT = sdp.Domain((0, 0, 1, 1))
REGION = shapely.Polygon([(0, 0), (1, 0), (1, 0.6), (0.3, 1), (0, 0.5)])
RNG = np.random.default_rng(4)
XY = np.concatenate([RNG.normal(0.3, 0.05, (300, 2)), RNG.random((200, 2))])
BOXES = np.sort(RNG.random((60, 2, 2)), axis=1).reshape(-1, 4)
HIERARCHIES = select(SMALL, is_hierarchy)


def make(name, region=None, noise=None, consistent=True, epsilon=1):
    mechanism = replace(HIERARCHIES[name], consistent=consistent)
    domain = sdp.Domain((0, 0, 1, 1), region=region if min(mechanism.shape) > 1 else None)
    return mechanism.release(XY, domain, noise=noise or SeededNoise(3), **terms(mechanism, "add-remove", epsilon))


@pytest.mark.parametrize("name", HIERARCHIES)
def test_levels_cost_the_whole_exactly(name):
    privacy = make(name, epsilon=Fraction(1, 3)).privacy
    assert sum(privacy.budget.values()) == (privacy._granted() if privacy.delta else Fraction(1, 3))
    assert all(cost > 0 for cost in privacy.budget.values())


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_every_measured_level_draws_noise_of_its_scale_once(neighbours):
    source = RecordingNoise(1)
    mechanism = sdp.Hierarchy((10, 10), levels=(1, 2, 4), budget=(3, 0, 2), root=False)
    release = mechanism.release(XY, UNIT, epsilon=1, neighbours=neighbours, noise=source)
    factor = 1 if neighbours == "add-remove" else 2
    assert release.privacy.budget == {"counts of cells": Fraction(3, 5), "counts of 4 x 4 cells": Fraction(2, 5)}
    assert source.calls == [("laplace", factor * Fraction(5, 2), (9,)), ("laplace", factor * Fraction(5, 3), (100,))]
    source = RecordingNoise(1)
    sdp.Hierarchy((4, 4), levels=(1,), budget=(1, 1), root=True).release(
        [], UNIT, epsilon=1, neighbours=neighbours, noise=source
    )
    assert source.calls == [("laplace", Fraction(2), (1,)), ("laplace", factor * Fraction(2), (16,))]


def test_regions_draw_no_noise_outside():
    domain, source = (
        sdp.Domain((0, 0, 1, 1), region=shapely.box(0, 0, 0.5, 0.25), region_cells="centres"),
        RecordingNoise(1),
    )
    mechanism = sdp.Hierarchy((16, 16), levels=(1, 4), budget=(1, 1))
    release = mechanism.release(XY, domain, epsilon=1, noise=source)
    assert [call[2] for call in source.calls] == [(2,), (32,)]
    assert release.answer((0.6, 0.6, 1, 1)) == 0
    whole = mechanism.release([], UNIT, epsilon=1).estimate
    lattice = UNIT.boxes(BOXES)
    assert (release.estimate.moments(lattice)[0] <= whole.moments(lattice)[0] * (1 + 1e-9)).all()


@pytest.mark.parametrize("region", [None, REGION], ids=["whole", "region"])
@pytest.mark.parametrize("name", HIERARCHIES)
def test_estimates_and_variances_equal_dense_least_squares(name, region):
    release, raw = make(name, region), make(name, region, consistent=False)
    estimate, tree = release.estimate, release.estimate.tree
    variances = estimate.variances[tree.depth]
    measured = np.isfinite(variances)
    design = dense_membership(tree)[measured]
    weighted = design.T / variances[measured]
    covariance = np.linalg.inv(weighted @ design)
    assert estimate.values[tree.leaves] == pytest.approx(
        covariance @ weighted @ raw.estimate.values[measured], abs=1e-7
    )
    lattice = UNIT.boxes(np.concatenate([BOXES, [(0, 0, 1, 1), (0.2, 0.3, 0.2, 0.3)]]))
    shares = coverage_in_region(estimate.leaf_boxes(), lattice, release.domain)
    variance, kurtosis = estimate.moments(lattice)
    assert variance == pytest.approx(np.einsum("ij,jk,ik->i", shares, covariance, shares), rel=1e-8, abs=1e-10)
    assert kurtosis == pytest.approx(
        box_moments(tree, estimate.noise.subtree, shares, estimate.kurtosis)[1], rel=1e-6, abs=1e-9
    )
    assert release.answer(BOXES) == pytest.approx(shares[: len(BOXES)] @ estimate.values[tree.leaves], abs=1e-7)
    cut = np.where((shares > 0) & (shares < 1), np.maximum(shares, 1 - shares), 0)
    bound = cut @ np.maximum(estimate.values[tree.leaves], 0)
    assert estimate.uniformity(lattice) == pytest.approx(bound, abs=1e-6)


@pytest.mark.parametrize("region", [None, REGION], ids=["whole", "region"])
@pytest.mark.parametrize("name", HIERARCHIES)
def test_raw_answers_take_the_largest_nodes(name, region):
    estimate, lattice = make(name, region, consistent=False).estimate, UNIT.boxes([*BOXES, (0, 0, 1, 1)])
    weights = largest_nodes(estimate, lattice)
    variances = estimate.variances[estimate.tree.depth]
    held = np.where(np.isfinite(variances), variances, 0)
    assert estimate.answer(lattice) == pytest.approx(weights @ estimate.values, abs=1e-7)
    variance, kurtosis = estimate.moments(lattice)
    assert variance == pytest.approx(weights**2 @ held, rel=1e-9, abs=1e-12)
    fourth = weights**4 @ (held**2 * estimate.kurtosis[estimate.tree.depth])
    assert kurtosis * variance**2 == pytest.approx(fourth, rel=1e-7, abs=1e-9)


def largest_nodes(estimate, lattice):
    """Weight of every node in every answer: measured nodes wholly inside, shares of cut leaves, nothing twice."""
    tree = estimate.tree
    shares = coverage(tree.boxes, lattice)
    usable = tree.leaves | ((shares == 1) & np.isfinite(estimate.variances[tree.depth]))
    covered = np.zeros_like(usable)
    for node in range(1, tree.n_nodes):
        parent = tree.parent[node]
        covered[:, node] = covered[:, parent] | usable[:, parent]
    shares[:, tree.leaves] = coverage_in_region(tree.boxes[tree.leaves].astype(np.int64), lattice, estimate.domain)
    return np.where(usable & ~covered, shares, 0.0)


def test_closed_form_equals_the_walk():
    mechanism = sdp.Hierarchy((160, 120), levels=(1, 4, 20), root=True)
    estimate, lattice = mechanism.release([], UNIT, epsilon=1).estimate, UNIT.boxes(BOXES)
    assert estimate._is_complete
    second, fourth = estimate._walker.fitted_cumulants(lattice, estimate.noise)
    variance, kurtosis = estimate.moments(lattice)
    assert variance == pytest.approx(second, rel=1e-8)
    assert (kurtosis >= fourth / second**2 - 1e-9).all()
    ragged = sdp.Hierarchy((160, 121), levels=(1, 4, 20)).release([], UNIT, epsilon=1).estimate
    assert not ragged._is_complete
    masked = sdp.Domain((0, 0, 1, 1), region=REGION)
    assert not mechanism.release([], masked, epsilon=1).estimate._is_complete


@pytest.mark.statistical
def test_variance_and_coverage_of_simulated_releases():
    prepared, boxes = sdp.Hierarchy((11, 9), levels=(1, 3)).prepare(UNIT, epsilon=1), BOXES[:20]
    noise = SeededNoise(5)
    releases = [prepared.release([], noise=noise) for _ in range(2000)]
    answers = np.array([release.answer(boxes) for release in releases])
    variance = releases[0].estimate.moments(UNIT.boxes(boxes))[0]
    assert np.median(answers.var(axis=0) / variance) == pytest.approx(1, abs=0.03)
    assert answers.var(axis=0) == pytest.approx(variance, rel=0.25)  # 5 standard errors, fixed seed
    half = np.diff(releases[0].interval(boxes, about="noise"), axis=1)[:, 0] / 2
    assert 0.94 < (np.abs(answers) <= half).mean() < 0.965


@pytest.mark.parametrize("one_row", [False, True])
def test_published_branching_is_the_least_of_its_rule(one_row):
    def height(b, n):
        h, reach = 0, 1
        while reach < n:
            h, reach = h + 1, reach * b
        return h

    def error(b, n):
        h = height(b, n)
        return 3 * (b - 1) * h**3 - 2 * (b + 1) * h**2 if one_row else b * (n - 1) * h**2

    for n in (2, 3, 16, 64, 100, 243, 256, 1000, 1024):
        found = published_branching((n, 1 if one_row else n))
        assert error(found, n) == min(error(b, n) for b in range(2, n + 1))
    assert published_branching((256, 256)) == 7
    budget = sdp.Hierarchy((256, 256), branching=4, levels="uniform").plan(UNIT, epsilon=1).budget
    assert list(budget.values()) == [Fraction(1, 4)] * 4  # four levels, not the five of a rounded logarithm


@pytest.mark.parametrize(
    ("name", "setting"), in_turn(HIERARCHIES, [(None, True), (REGION, False), (None, False), (REGION, True)])
)
def test_loaded_releases_answer_as_the_saved_ones(name, setting, tmp_path):
    region, consistent = setting
    release = make(name, region, consistent=consistent)
    release.save(tmp_path / "release.parquet")
    loaded = sdp.load(tmp_path / "release.parquet")
    assert np.array_equal(loaded.answer(BOXES), release.answer(BOXES))
    assert np.array_equal(loaded.interval(BOXES), release.interval(BOXES))
    assert loaded.privacy == release.privacy
    assert loaded.estimate.shape == release.estimate.shape
    assert len(loaded.to_geodataframe()) == release.estimate.n_cells


def test_files_hold_many_children(tmp_path):
    release = sdp.Hierarchy((300, 200), branching=299, levels="uniform").release(XY, UNIT, epsilon=1)
    assert release.estimate.tree.n_children.max() > 2**15
    release.save(tmp_path / "release.parquet")
    assert sdp.load(tmp_path / "release.parquet").total == release.total


def test_zero_noise_gives_the_counts():
    release = sdp.Hierarchy((50, 30)).release(XY, UNIT, epsilon=1, noise=ZeroNoise())
    inside = ((XY >= 0) & (XY < (0.5, 0.3))).all(axis=1).sum()
    assert release.answer((0, 0, 0.5, 0.3)) == pytest.approx(inside)


def test_adjusted_releases_add_up():
    release = make("hierarchy, odd", epsilon=0.1)
    for adjusted in (release.non_negative(), release.non_negative("least-squares"), release.rounded()):
        values, tree = adjusted.estimate.values, adjusted.estimate.tree
        assert values == pytest.approx(sums(tree, values[tree.leaves]), abs=1e-6)


def test_cell_sizes_and_plans():
    plan = sdp.Hierarchy(cell_size=0.125).plan(sdp.Domain((0, 0, 1, 2)), epsilon=1)
    assert plan.cells == 128
    assert plan.currency == "epsilon"
    assert sum(plan.budget.values()) == 1
    assert sdp.Hierarchy((9, 9), law="gaussian").plan(UNIT, epsilon=1, delta=1e-6).currency == "rho"


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"shape": (4, 4), "cell_size": 0.1},
        {"shape": (4, 0)},
        {"shape": (4, 4), "branching": 1},
        {"shape": (4, 4), "branching": "h"},
        {"shape": (4, 4), "levels": "uniform"},
        {"shape": (4, 4), "levels": "best"},
        {"shape": (4, 4), "levels": ()},
        {"shape": (4, 4), "levels": (2, 4)},
        {"shape": (9, 9), "levels": (1, 2, 3)},
        {"shape": (9, 9), "levels": (1, 2, 2)},
        {"shape": (9, 9), "levels": (1, 2), "branching": 2},
        {"shape": (9, 9), "budget": (1, 2)},
        {"shape": (9, 9), "levels": (1, 2), "budget": (1,)},
        {"shape": (9, 9), "levels": (1, 2), "budget": (0, 1)},
        {"shape": (9, 9), "levels": (1, 2), "budget": (1, 1), "root": True},
        {"shape": (9, 9), "workload": "ranges"},
        {"shape": (9, 9), "workload": (3,)},
        {"shape": (9, 9), "workload": [(0, 0, 1, 1), (0, 0)]},
        {"shape": (9, 9), "root": "no"},
        {"shape": (9, 9), "consistent": "no"},
        {"shape": (9, 9), "law": "cauchy"},
    ],
)
def test_bad_parameters_are_refused_when_they_are_given(options):
    with pytest.raises(ParameterError):
        sdp.Hierarchy(**options)


def test_bad_parameters_are_refused_before_records_are_read():
    with pytest.raises(ParameterError, match="smaller than"):
        sdp.Hierarchy((8, 8), levels=(1, 8)).plan(UNIT, epsilon=1)
    with pytest.raises(BudgetError, match="negative"):
        sdp.Hierarchy((8, 8), levels=(1, 4), budget=(1, -1)).plan(UNIT, epsilon=1)
    corner = sdp.Domain((0, 0, 1, 1), region=shapely.box(0, 0, 0.1, 0.1), region_cells="centres")
    with pytest.raises(DomainError, match="no cell"):
        sdp.Hierarchy((2, 2)).plan(corner, epsilon=1)
