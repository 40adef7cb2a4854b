"""Non-negative and whole estimates that still add up: against dense solvers and the conditions of an optimum."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls

from spatialdp.errors import ParameterError
from spatialdp.space.boxes.quadtree import quadtree
from spatialdp.space.boxes.tree import Tree
from spatialdp.trees import adjust
from spatialdp.trees.adjust import non_negative, project_families, project_rows, round_consistent
from spatialdp.trees.least_squares import Fit, two_pass
from spatialdp.trees.shape import TreeShape, sums
from tests.helpers.fits import FAN_OUTS, per_node, random_fit, random_variances, seeds
from tests.helpers.trees import complete_tree, dense_membership, random_tree

# --- non-negative, by least squares ---


def dense_non_negative(tree: Tree, measured: np.ndarray, variances: np.ndarray) -> np.ndarray:
    """Estimates of all nodes by scipy's solver, from the raw measurements."""
    members, measurable = dense_membership(tree), np.isfinite(variances)
    root_weight = 1 / np.sqrt(variances[measurable])
    leaves, _ = nnls(root_weight[:, None] * members[measurable], root_weight * measured[measurable], maxiter=10_000)
    return members @ leaves


def objective(values: np.ndarray, target: np.ndarray, variances: np.ndarray) -> float:
    """Σ (x - y)² / s."""
    return float(np.sum((values - target) ** 2 / variances))


def leaf_gradient(tree: Tree, values: np.ndarray, estimates: np.ndarray, variances: np.ndarray) -> np.ndarray:
    """Half the derivative of the objective by each leaf."""
    gradient = (values - estimates) / variances
    for d in range(tree.height):
        gradient[tree.level(d + 1)] += tree.to_children(d, gradient[tree.level(d)])
    return gradient[tree.leaves]


def assert_optimal(tree: Tree, values: np.ndarray, estimates: np.ndarray, variances: np.ndarray) -> None:
    """Feasible, and the conditions of Karush, Kuhn and Tucker."""
    assert values.min() >= 0
    np.testing.assert_array_equal(values, sums(tree, values[tree.leaves]))
    gradient = leaf_gradient(tree, values, estimates, variances)
    scale = leaf_gradient(tree, np.abs(values), -np.abs(estimates), variances)
    assert np.all(gradient >= -1e-12 * scale)
    positive = values[tree.leaves] > 0
    assert np.all(np.abs(gradient[positive]) <= 1e-12 * scale[positive])


def family_by_family(tree: Tree, fit: Fit) -> np.ndarray:
    """The top-down projection: each family as close to its estimates as its parent's value allows."""
    values = np.maximum(fit.estimates, 0)
    for node in np.flatnonzero(tree.n_children):
        family = tree.first_child[node] + np.arange(tree.n_children[node])
        free = np.ones(family.size, dtype=bool)
        while True:
            members = family[free]
            excess = values[node] - fit.estimates[members].sum()
            trial = fit.estimates[members] + excess * fit.shares[members] / fit.shares[members].sum()
            if trial.min() >= -1e-12:
                break
            free[free] = trial >= 0
        values[family] = 0
        values[members] = np.maximum(trial, 0)
    return values


def clustered(tree: Tree, rng: np.random.Generator, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Most leaves empty, a few full; noise of two-sided geometric type. Returns measurements and variances."""
    counts = np.where(rng.random(tree.n_leaves) < 0.05, rng.geometric(0.01, tree.n_leaves), 0)
    ratio = np.exp(-shares / shares.sum())[tree.depth]
    noise = rng.geometric(1 - ratio) - rng.geometric(1 - ratio)
    return sums(tree, counts) + noise, 2 * ratio / (1 - ratio) ** 2


@given(seeds, st.sampled_from([-3.0, 0.0, 3.0]))
@settings(max_examples=150, deadline=None)
def test_non_negative_equals_dense_solver_on_irregular_trees(seed, mean):
    """Leaves at any depth, single children, unmeasured inner nodes; the oracle sees the raw measurements only."""
    rng = np.random.default_rng(seed)
    tree = random_tree(rng)
    measured, variances = rng.normal(mean, 10, tree.n_nodes), random_variances(rng, tree)
    estimates = two_pass(tree, measured, variances).estimates
    found = non_negative(tree, estimates, variances)
    np.testing.assert_allclose(found, dense_non_negative(tree, measured, variances), atol=1e-9)
    assert_optimal(tree, found, estimates, variances)


@pytest.mark.parametrize(("fan_out", "height"), FAN_OUTS)
@pytest.mark.parametrize("unmeasured", [[], [0], [1]])
def test_non_negative_equals_dense_solver_on_complete_trees(fan_out, height, unmeasured):
    rng = np.random.default_rng(fan_out)
    tree = complete_tree(fan_out, height)
    for _ in range(10):
        variances = np.exp(rng.uniform(-2, 3, height + 1))
        variances[unmeasured] = np.inf
        measured = rng.normal(0, 10, tree.n_nodes)
        found = non_negative(tree, two_pass(tree, measured, variances).estimates, variances)
        np.testing.assert_allclose(found, dense_non_negative(tree, measured, per_node(tree, variances)), atol=1e-10)


def test_wrong_variants_are_not_the_non_negative_fit():
    """The oracle can tell: leaves cut off at zero, one round only, other variances, spread for variances."""
    rng = np.random.default_rng(8)
    tree = quadtree(3)
    variances = per_node(tree, np.geomspace(1, 50, 4))
    truth = sums(tree, rng.integers(0, 20, 64) * (rng.random(64) < 0.4))
    measured = rng.normal(truth, np.sqrt(variances))
    fit = two_pass(tree, measured, variances)
    dense = dense_non_negative(tree, measured, variances)
    fixed = tree.leaves & (fit.estimates < 0)
    once = two_pass(tree, np.where(fixed, 0, fit.estimates), np.where(fixed, 0, variances)).estimates
    wrong = {
        "cut off": sums(tree, np.maximum(fit.estimates[tree.leaves], 0)),
        "one round": sums(tree, np.maximum(once[tree.leaves], 0)),
        "deviations": non_negative(tree, fit.estimates, np.sqrt(variances)),
        "spread": non_negative(tree, fit.estimates, fit.shares),
        "leaves only": non_negative(tree, fit.estimates, np.where(tree.leaves, variances, np.inf)),
        "family by family": family_by_family(tree, fit),
    }
    np.testing.assert_allclose(non_negative(tree, fit.estimates, variances), dense, atol=1e-10)
    for name, values in wrong.items():
        assert np.abs(values - dense).max() > 0.05, name
        assert objective(values, measured, variances) > objective(dense, measured, variances) + 1e-4, name
        with pytest.raises(AssertionError):
            assert_optimal(tree, sums(tree, values[tree.leaves]), fit.estimates, variances)


@given(seeds)
@settings(max_examples=60, deadline=None)
def test_no_other_consistent_values_are_closer(seed):
    """Neither the family-by-family projection nor random neighbours."""
    rng, tree, measured, fit = random_fit(seed)
    found = non_negative(tree, fit.estimates, fit.variances)
    least = objective(found, measured, fit.variances)
    assert objective(family_by_family(tree, fit), measured, fit.variances) >= least * (1 - 1e-12)
    for scale in (1e-3, 1.0):
        leaves = np.maximum(found[tree.leaves] + rng.normal(0, scale, tree.n_leaves), 0)
        assert objective(sums(tree, leaves), measured, fit.variances) >= least * (1 - 1e-12)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("unmeasured", [[], [0, 3, 6]])
def test_non_negative_is_optimal_on_larger_trees(masked, unmeasured, monkeypatch):
    rng = np.random.default_rng(6)
    tree = quadtree(7, mask=rng.random((128, 128)) < 0.7 if masked else None)
    measured, variances = clustered(tree, rng, 2 ** (np.arange(8) / 3))
    variances[np.isin(tree.depth, unmeasured)] = np.inf
    estimates = two_pass(tree, measured, variances).estimates
    rounds = count_rounds(monkeypatch)
    found = non_negative(tree, estimates, variances)
    assert 2 <= len(rounds) <= 12
    assert np.mean(found[tree.leaves] == 0) > 0.5
    assert_optimal(tree, found, estimates, variances)


def count_rounds(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A list that gets an entry with every round of `non_negative`."""
    rounds = []
    monkeypatch.setattr(adjust, "two_pass", lambda *args: rounds.append(1) or two_pass(*args))
    return rounds


def test_one_leaf_fixed_in_each_round(monkeypatch):
    """The slowest case: each round leaves one leaf just negative. All but two of them go, one by one."""
    n = 9
    leaves, shifts = [-1.0], [0.0]
    while len(leaves) < n - 2:
        shifts.append(sum(leaves) / (n - len(leaves)))
        leaves.append(-(shifts[-2] + 3 * shifts[-1]) / 4)
    estimates = np.array([*leaves, 3.0, 4.0])
    tree = complete_tree(n, 1)
    rounds = count_rounds(monkeypatch)
    found = non_negative(tree, sums(tree, estimates), [0.0, 1.0])
    assert len(rounds) == n - 2
    expected = np.zeros(n)
    expected[-2:] = np.array([3, 4]) + sum(leaves) / 2
    np.testing.assert_allclose(found, sums(tree, expected), atol=1e-12)


@given(seeds)
@settings(max_examples=40, deadline=None)
def test_non_negative_keeps_what_is_fine_and_is_idempotent(seed):
    rng, tree, _, fit = random_fit(seed)
    good = sums(tree, rng.integers(0, 3, tree.n_leaves) * 1.7)
    np.testing.assert_array_equal(non_negative(tree, good, fit.variances), good)
    found = non_negative(tree, fit.estimates, fit.variances)
    np.testing.assert_array_equal(non_negative(tree, found, fit.variances), found)
    blurred = good * (1 + rng.uniform(-1e-14, 1e-14, tree.n_nodes))
    np.testing.assert_array_equal(non_negative(tree, blurred, fit.variances)[tree.leaves], blurred[tree.leaves])


@given(seeds)
@settings(max_examples=40, deadline=None)
def test_non_negative_scales_with_its_input(seed):
    """No absolute tolerance: powers of two change no digit."""
    _, tree, _, fit = random_fit(seed)
    found = non_negative(tree, fit.estimates, fit.variances)
    for scale in (2.0**-60, 2.0**60):
        scaled = non_negative(tree, fit.estimates * scale, fit.variances * scale**2)
        np.testing.assert_array_equal(scaled, found * scale)


@given(seeds)
@settings(max_examples=60, deadline=None)
def test_non_negative_keeps_exactly_known_counts(seed):
    """The limit of small variances."""
    rng = np.random.default_rng(seed)
    tree = random_tree(rng)
    truth = sums(tree, rng.integers(0, 4, tree.n_leaves) * (rng.random(tree.n_leaves) < 0.5) * 1.3)
    known = rng.random(tree.n_nodes) < 0.2
    variances = np.where(known, 0.0, random_variances(rng, tree))
    measured = np.where(known, truth, truth + rng.normal(0, 3, tree.n_nodes))
    estimates = two_pass(tree, measured, variances).estimates
    found = non_negative(tree, estimates, variances)
    assert found.min() >= 0
    np.testing.assert_array_equal(found, sums(tree, found[tree.leaves]))
    np.testing.assert_allclose(found[known], truth[known], atol=1e-9)
    limit = dense_non_negative(tree, estimates, np.where(known, 1e-9, variances))
    np.testing.assert_allclose(found, limit, atol=1e-5)


@given(seeds)
@settings(max_examples=60, deadline=None)
def test_non_negative_with_unmeasured_leaves(seed):
    """The limit of large variances, in proportion to the areas."""
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, height=3)
    variances = random_variances(rng, tree)
    unmeasured = tree.leaves & (rng.random(tree.n_nodes) < 0.4)
    variances[unmeasured] = np.inf
    variances[0] = 2.0
    measured = rng.normal(0, 10, tree.n_nodes)
    estimates = two_pass(tree, measured, variances).estimates
    found = non_negative(tree, estimates, variances)
    assert_optimal(tree, found, estimates, variances)
    xlo, ylo, xhi, yhi = tree.boxes.T.astype(float)
    area = (xhi - xlo) * (yhi - ylo)
    limit = non_negative(tree, estimates, np.where(unmeasured, 1e10 * area / area.min(), variances))
    np.testing.assert_allclose(found, limit, atol=1e-6)


def test_a_known_total_is_shared_by_what_remains_positive():
    tree = quadtree(1)
    found = non_negative(tree, [8.0, -2, 1, 3, 6], [0, 1, 1, 1, 10])
    np.testing.assert_allclose(found, [8, 0, 1 - 1 / 6, 3 - 1 / 6, 6 - 10 / 6])
    np.testing.assert_allclose(non_negative(tree, [5.0, 4, -2, 2, 1], [0, 0, 1, 1, 1]), [5, 4, 0, 1, 0], atol=1e-12)
    np.testing.assert_allclose(non_negative(tree, [4.0, 4, -2, 2, 0], [0, 0, 1, 1, 1]), [4, 4, 0, 0, 0], atol=1e-12)
    assert not non_negative(tree, [0.0, 1, -2, 2, -1], [0.0, 1.0]).round(12).any()


def test_contradictory_known_counts_are_an_error():
    tree = quadtree(1)
    for estimates, variances in (
        ([3.0, 4, -1, 0, 0], [0, 0, 1, 1, 1]),
        ([3.0, -1, 4, 0, 0], [1, 0, 1, 1, 1]),
        ([-1.0, -1, 0, 0, 0], [0.0, 1.0]),
    ):
        with pytest.raises(ParameterError, match="known exactly"):
            non_negative(tree, estimates, variances)
    np.testing.assert_allclose(non_negative(tree, [3.0, 4, -1, 0, 0], [1, 0, 1, 1, 1]), [4, 4, 0, 0, 0], atol=1e-12)


def test_negative_everywhere_gives_zeros():
    tree = quadtree(2)
    estimates = sums(tree, -np.random.default_rng(0).random(16))
    assert not non_negative(tree, estimates, [1.0, 2.0, 3.0]).any()


def test_rounding_errors_do_not_matter():
    """Leaves of -1e-17, and a negative parent of zeros, become zero."""
    tree = quadtree(2)
    estimates = sums(tree, np.arange(16.0))
    estimates[5] = -1e-17
    found = non_negative(tree, estimates, [1.0, 1.0, 1.0])
    np.testing.assert_allclose(found, estimates, atol=1e-15)
    assert found.min() == 0
    estimates = np.zeros(21)
    estimates[[1, 20]] = -1e-17, 1.0
    estimates[[0, 4]] = 1.0
    np.testing.assert_array_equal(non_negative(tree, estimates, [1.0, 1.0, 1.0]), np.maximum(estimates, 0))


def test_estimates_that_cancelled_add_up():
    """Large measurements, estimates of zero: what is left are rounding errors, not a contradiction."""
    tree = Tree([0, 1, 2], [1, 0], [[0, 0, 2, 2]] * 2)
    assert non_negative(tree, [0.0, 4e-16], [0.0, 3.0]).tolist() == [4e-16, 4e-16]
    assert non_negative(tree, [0.0, -4e-16], [0.0, 3.0]).tolist() == [0.0, 0.0]


def test_non_negative_refuses_wrong_numbers():
    tree = quadtree(1)
    with pytest.raises(ParameterError, match="finite"):
        non_negative(tree, [np.nan] * 5, [1.0, 1.0])
    with pytest.raises(ParameterError, match="add up: node 0"):
        non_negative(tree, [5.0, 1, 1, 1, 1], [1.0, 1.0])
    for bad in ([1.0, -1.0], [1.0, np.nan], [1.0, 1.0, 1.0]):
        with pytest.raises(ParameterError, match="variances"):
            non_negative(tree, [4.0, 1, 1, 1, 1], bad)
    with pytest.raises(ParameterError, match="neither is any node above"):
        non_negative(tree, [2.0, -1, 1, 1, 1], [np.inf, 1, 1, 1, np.inf])


# --- non-negative, family by family ---


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 2**32 - 1))
def test_projection_is_closest_in_every_family(seed):
    rng = np.random.default_rng(seed)
    tree = quadtree(1)
    values = np.concatenate([[0], rng.normal(0, 3, 4)])
    values[0] = values[1:].sum()
    spread = rng.uniform(0.1, 2, 5)
    projected = project_families(tree, values, spread)
    assert projected.min() >= 0
    assert projected[1:].sum() == pytest.approx(max(values[0], 0), abs=1e-9)
    cost = ((projected - values)[1:] ** 2 / spread[1:]).sum()
    for _ in range(20):
        other = rng.dirichlet(np.ones(4)) * max(values[0], 0)
        assert ((other - values[1:]) ** 2 / spread[1:]).sum() >= cost - 1e-9


# --- whole numbers ---


@given(seeds, st.sampled_from([0.3, 3.0, 1e6]))
@settings(max_examples=80, deadline=None)
def test_rounding_adds_up_and_stays_within_one(seed, scale):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng)
    leaves = rng.normal(0, scale, tree.n_leaves)
    whole = rng.random(tree.n_leaves) < 0.3
    estimates = sums(tree, np.where(whole, np.rint(leaves), leaves))
    found = round_consistent(tree, estimates)
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found, sums(tree, found[tree.leaves]))
    assert np.abs(found - estimates).max() < 1 + 1e-6
    assert found[0] == np.rint(estimates[0])
    already = sums(tree, np.rint(leaves))
    np.testing.assert_array_equal(round_consistent(tree, already), already)


@given(seeds)
@settings(max_examples=60, deadline=None)
def test_rounding_a_non_negative_fit_is_non_negative(seed):
    _, tree, _, fit = random_fit(seed)
    found = round_consistent(tree, non_negative(tree, fit.estimates, fit.variances))
    assert found.min() >= 0
    np.testing.assert_array_equal(found, sums(tree, found[tree.leaves]))


def test_rounding_on_quadtree_and_on_irregular_tree_agree():
    """Both ways of ranking siblings: a full quadtree, and the same with one family cut off."""
    tree = quadtree(3)
    estimates = sums(tree, np.random.default_rng(4).normal(2, 2, 64))
    pruned, index = tree.prune(np.arange(tree.n_nodes) != 20)
    np.testing.assert_array_equal(round_consistent(pruned, estimates[index]), round_consistent(tree, estimates)[index])


def test_rounding_gives_to_the_largest_remainders_first_among_equals():
    tree = quadtree(1)
    assert round_consistent(tree, [3.0, 0.9, 0.8, 0.7, 0.6]).tolist() == [3, 1, 1, 1, 0]
    assert round_consistent(tree, [2.0, 0.5, 0.5, 0.5, 0.5]).tolist() == [2, 1, 1, 0, 0]
    assert round_consistent(tree, [-2.0, -0.5, -0.5, -0.5, -0.5]).tolist() == [-2, 0, 0, -1, -1]


@given(seeds)
@settings(max_examples=60, deadline=None)
def test_rounding_errors_of_a_fit_do_not_move_whole_estimates(seed):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng)
    whole = sums(tree, rng.integers(-3, 4, tree.n_leaves))
    blurred = whole + rng.uniform(-1e-9, 1e-9, tree.n_nodes)
    np.testing.assert_array_equal(round_consistent(tree, blurred), whole)


def test_rounding_of_inconsistent_estimates_adds_up():
    found = round_consistent(quadtree(1), [10.0, 0.2, 0.2, 0.2, 0.2])
    assert found.tolist() == [10, 3, 3, 2, 2]
    with pytest.raises(ParameterError, match="2\\^53"):
        round_consistent(quadtree(1), [np.nan] * 5)


# --- rows over one tree ------------------------------------------------------------------------------


@given(st.integers(0, 2**32 - 1), st.integers(1, 4))
def test_rows_share_the_total_and_keep_what_their_nodes_add_up_to(seed, count):
    """Trees with leaves at several depths; the first level of the projection is the rows."""
    rng = np.random.default_rng(seed)
    tree = TreeShape(np.array([0, 1, 4, 8]), np.array([3, 2, 0, 2, 0, 0, 0, 0], dtype=np.int32))
    rows = rng.normal(3, 3, (count, 5))
    projected = project_rows(tree, rows)
    assert projected.min() >= 0
    assert projected.sum() == pytest.approx(max(rows.sum(), 0.0), abs=1e-9)
    if np.all(rows.sum(axis=1) >= 0):
        np.testing.assert_allclose(projected.sum(axis=1), rows.sum(axis=1), atol=1e-9)
    if rows.min() >= 0:
        np.testing.assert_allclose(projected, rows)


def test_rows_of_one_leaf_are_projected_as_one_family():
    tree = TreeShape(np.array([0, 1, 2]), np.array([1, 0], dtype=np.int32))
    assert project_rows(tree, [[5.0], [-2.0], [1.0]]).ravel().round(9).tolist() == [4.0, 0.0, 0.0]
