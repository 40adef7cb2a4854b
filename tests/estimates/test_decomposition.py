"""Answers, variances and intervals from trees."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import shapely

import spatialdp as sdp
from spatialdp.errors import ParameterError, ReleaseError
from spatialdp.estimates.decomposition import Decomposition
from spatialdp.estimates.unevenness.grid import GridUnevenness
from spatialdp.estimates.unevenness.tree import TreeUnevenness
from spatialdp.privacy.noise.laws import Law, NoiseLaw
from spatialdp.privacy.noise.source import SeededNoise
from spatialdp.space.boxes.quadtree import quadtree
from spatialdp.space.boxes.tree import Tree
from spatialdp.space.coverage import block_powers
from spatialdp.space.lattice import LATTICE
from spatialdp.trees.least_squares import two_pass
from spatialdp.trees.shape import sums
from tests.helpers.boxes import coverage, coverage_in_region
from tests.helpers.cases import LARGE, SMALL, has_least_squares, in_turn, is_consistent, is_tree, select, terms
from tests.helpers.sources import ZeroNoise
from tests.reference.dense_trees import box_moments, closed_form_variance, complete_up_variances

UNIT = sdp.Domain((0, 0, 1, 1))
REGION = shapely.Polygon([(0, 0), (1, 0), (1, 0.6), (0.3, 1), (0, 0.5)])
RNG = np.random.default_rng(4)
XY = np.concatenate([RNG.normal(0.3, 0.05, (300, 2)), RNG.random((200, 2))])


def random_boxes(count, seed=1):
    corners = np.random.default_rng(seed).random((count, 2, 2))
    return np.sort(corners, axis=1).reshape(-1, 4)


TREES = select(SMALL, is_tree, is_consistent)
FITTED = select(TREES, has_least_squares)
QUADTREE = sdp.Quadtree(4)


def make(mechanism, region=None, noise=None, epsilon=1, xy=XY):
    domain = sdp.Domain((0, 0, 1, 1), region=region)
    return mechanism.release(xy, domain, noise=noise or SeededNoise(3), **terms(mechanism, "add-remove", epsilon))


@pytest.mark.parametrize("region", [None, REGION], ids=["whole", "region"])
@pytest.mark.parametrize("name", TREES)
def test_answers_equal_the_sum_over_leaves(name, region):
    release = make(TREES[name], region)
    estimate, boxes = release.estimate, random_boxes(60)
    shares = coverage_in_region(estimate.leaf_boxes(), release.domain.boxes(boxes), release.domain)
    assert release.answer(boxes, extrapolate=False) == pytest.approx(
        shares @ estimate.values[estimate.tree.leaves], abs=1e-6
    )
    assert release.total == pytest.approx(estimate.values[estimate.tree.leaves].sum(), abs=1e-6)
    cut = np.where((shares > 0) & (shares < 1), np.maximum(shares, 1 - shares), 0)
    bound = cut @ np.maximum(estimate.values[estimate.tree.leaves], 0)
    assert release.uniformity(boxes) == pytest.approx(bound, abs=1e-6)


@pytest.mark.parametrize("region", [None, REGION], ids=["whole", "region"])
@pytest.mark.parametrize("name", FITTED)
def test_moments_equal_dense_algebra(name, region):
    release = make(TREES[name], region)
    estimate = release.estimate
    lattice = release.domain.boxes(random_boxes(40))
    shares = coverage_in_region(estimate.leaf_boxes(), lattice, release.domain)
    variance, kurtosis = box_moments(estimate.tree, estimate.noise.subtree, shares, estimate.kurtosis)
    ours, ours_kurtosis = estimate.moments(lattice)
    assert ours == pytest.approx(variance, rel=1e-9)
    assert ours_kurtosis == pytest.approx(kurtosis, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize(
    "mechanism", [sdp.Quadtree(7), sdp.Quadtree(7, budget="uniform"), sdp.Quadtree(7, budget="leaves")]
)
def test_closed_form_equals_the_walk(mechanism):
    estimate = mechanism.release([], UNIT, epsilon=1).estimate
    lattice = UNIT.boxes(random_boxes(50))
    assert estimate._is_complete
    second, fourth = estimate._walker.fitted_cumulants(lattice, estimate.noise)
    variance, kurtosis = estimate.moments(lattice)
    assert variance == pytest.approx(second, rel=1e-9)
    assert (kurtosis >= fourth / second**2 - 1e-9).all()  # an upper bound ...
    assert np.median(kurtosis) < 0.2  # ... that is of no consequence for most boxes


@pytest.mark.parametrize("name", TREES)
def test_parents_are_the_sums_of_their_children(name):
    estimate = make(TREES[name]).estimate
    tree = estimate.tree
    for depth in range(tree.height):
        inner = tree.n_children[tree.level(depth)] > 0
        children = tree.family_sums(depth, estimate.values[tree.level(depth + 1)])
        assert estimate.values[tree.level(depth)][inner] == pytest.approx(children[inner], abs=1e-6)


def test_a_tree_with_midpoints_along_one_axis_only_is_no_grid():
    half, other = LATTICE // 2, LATTICE // 3
    boxes = [(0, 0, LATTICE, LATTICE)]
    boxes += [
        (0, 0, half, other),
        (half, 0, LATTICE, other),
        (0, other, half, LATTICE),
        (half, other, LATTICE, LATTICE),
    ]
    tree = Tree([0, 1, 5], [4, 0, 0, 0, 0], boxes)
    values = np.array([10.0, 1, 2, 3, 4])
    estimate = Decomposition(UNIT, tree, values, np.ones(2), np.zeros(2), 0.0, consistent=True)
    asked = np.array(boxes[1:])
    assert estimate.answer(asked) == pytest.approx(values[1:])
    transposed = [boxes[0], *(boxes[i] for i in (1, 3, 2, 4))]
    estimate = Decomposition(
        UNIT, Tree([0, 1, 5], [4, 0, 0, 0, 0], transposed), values, np.ones(2), np.zeros(2), 0.0, True
    )
    assert estimate.answer(np.array(transposed[1:])) == pytest.approx(values[1:])


@pytest.mark.parametrize("mechanism", [sdp.Quadtree(2), sdp.Quadtree(7), sdp.KdTree(2), sdp.Quadtree(3, prune=5)])
def test_intervals_without_noise_to_speak_of(mechanism):
    ends = mechanism.release(XY, UNIT, epsilon=1000).interval(random_boxes(10), about="noise")
    assert np.isfinite(ends).all()
    assert (ends[:, 1] - ends[:, 0] < 1).all()


@pytest.mark.parametrize(
    "mechanism", [sdp.Quadtree(4, consistent=False), sdp.KdTree(3, consistent=False), sdp.KdTree(3)]
)
def test_published_polygons_are_the_nodes(mechanism):
    """In awkward bounds too a leaf's own polygon is answered with the leaf, and cuts nothing."""
    domain = sdp.Domain((-124.7, 24.5, -66.9, 49.4), crs="EPSG:4326")
    xy = np.random.default_rng(2).uniform((-124, 25), (-67, 49), (500, 2))
    release = mechanism.release(xy, domain, epsilon=1, noise=SeededNoise(1))
    frame = release.to_geodataframe()
    boxes = frame.geometry.bounds.to_numpy()
    assert release.answer(boxes) == pytest.approx(frame["estimate"].to_numpy(), abs=1e-6)
    assert not release.uniformity(boxes).any()


def test_it_does_not_matter_which_cover_is_taken():
    release = make(QUADTREE)
    walked = Decomposition(
        release.domain, release.estimate.tree, release.estimate.values, release.estimate.variances,
        release.estimate.kurtosis, 0.0, consistent=True,
    )  # fmt: skip
    walked.__dict__["leaf_grid"] = None
    boxes = random_boxes(100)
    assert release.answer(boxes) == pytest.approx(walked.answer(UNIT.boxes(boxes)), abs=1e-6)


class TestRaw:
    """Without the fit the fewest, largest nodes answer."""

    mechanism = sdp.Quadtree(3, budget="uniform", consistent=False)

    def test_aligned_boxes_use_single_nodes(self):
        release = self.mechanism.release(XY, UNIT, epsilon=1, noise=SeededNoise(1))
        values, offsets = release.estimate.values, release.estimate.tree.offsets
        assert release.answer((0, 0, 1, 1)) == values[0]
        assert release.answer((0, 0, 0.5, 0.5)) == values[1]
        assert release.answer((0.5, 0, 1, 0.5)) == values[2]
        assert release.answer((0, 0, 0.125, 0.125)) == values[offsets[3]]
        variance, kurtosis = release.estimate.moments(UNIT.boxes([(0, 0, 0.5, 0.5), (0, 0, 1, 0.5)]))
        assert variance[1] == pytest.approx(2 * variance[0])
        assert kurtosis[1] == pytest.approx(kurtosis[0] / 2)

    def test_unmeasured_levels_are_passed_over(self):
        mechanism = sdp.Quadtree(2, budget=(0, 0, 1), consistent=False)
        release = mechanism.release(XY, UNIT, epsilon=1, noise=SeededNoise(1))
        leaves = release.estimate.values[release.estimate.tree.leaves]
        assert release.answer((0, 0, 0.5, 0.5)) == leaves[:4].sum()
        assert release.total == leaves.sum()

    def test_adjusting_needs_consistent_estimates(self):
        release = self.mechanism.release(XY, UNIT, epsilon=1, noise=SeededNoise(1))
        for step in (release.non_negative, release.rounded):
            with pytest.raises(ReleaseError, match="consistent=True"):
                step()


# --- simulation --------------------------------------------------------------------------------------


@pytest.mark.statistical
@pytest.mark.parametrize("law", [Law.DISCRETE_LAPLACE, Law.GAUSSIAN])
def test_variance_and_coverage_of_20000_simulated_releases(law):
    tree, boxes = quadtree(3), random_boxes(50, seed=8)
    laws = [NoiseLaw(law, Fraction(scale)) for scale in (9, 7, 5, 4)]
    variances = np.array([one.variance for one in laws])
    fits = np.array([two_pass(tree, unit, variances).estimates for unit in np.eye(tree.n_nodes)])
    shares = coverage(tree.boxes[tree.leaves], UNIT.boxes(boxes))
    weights = fits[:, tree.leaves] @ shares.T  # of every measurement in every answer
    source = SeededNoise(6)
    noise = np.concatenate(
        [one.add_to(np.zeros((20_000, 4**d), dtype=np.int64), source) for d, one in enumerate(laws)], axis=1
    )
    errors = noise @ weights
    estimate = Decomposition(
        UNIT, tree, np.zeros(tree.n_nodes), variances, np.array([one.kurtosis for one in laws]), 0.0, consistent=True
    )
    variance, _ = estimate.moments(UNIT.boxes(boxes))
    # Standard error of a variance from 20,000 draws: about 1 % (kurtosis below 1); fixed seed.
    assert errors.var(axis=0) == pytest.approx(variance, rel=0.05)
    assert np.median(errors.var(axis=0) / variance) == pytest.approx(1, abs=0.005)
    release = sdp.Release(UNIT, make(QUADTREE).privacy, estimate)
    ends = release.interval(boxes, 0.95, about="noise")
    covered = ((errors >= ends[:, 0]) & (errors <= ends[:, 1])).mean(axis=0)
    assert 0.945 < covered.mean() < 0.965
    assert covered.min() > 0.945
    half = ((errors >= 0.9 * ends[:, 0]) & (errors <= 0.9 * ends[:, 1])).mean()
    assert half < 0.94  # an interval a tenth too narrow would be seen


def mean_box_variance(release):
    """Over all boxes of cells, exactly: squared coverages are products over the axes."""
    estimate, side = release.estimate, 2**release.estimate.tree.height
    low, high = np.triu_indices(side + 1, 1) / np.float64(side)
    squares = [block_powers(low * 2**d, high * 2**d, 2).mean() ** 2 for d in range(estimate.tree.height + 1)]
    return float(closed_form_variance(complete_up_variances(estimate.variances, 4), squares, 4))


@pytest.mark.parametrize(("budget", "expected"), [("uniform", 21_046), ("geometric", 6_652)])
def test_mean_box_variance_on_256_cells_a_side(budget, expected):
    release = sdp.Quadtree(8, budget=budget, law="laplace").release([], UNIT, epsilon=1)
    assert mean_box_variance(release) == pytest.approx(expected, rel=0.01)
    discrete = sdp.Quadtree(8, budget=budget).release([], UNIT, epsilon=1)
    assert mean_box_variance(discrete) < expected


# --- after the fact ----------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["families", "least-squares"])
@pytest.mark.parametrize("name", ["quadtree", "quadtree, stop", "kd", "kd, stop"])
def test_non_negative_and_whole_releases_still_add_up(name, method):
    release = make(LARGE[name], epsilon=0.2)
    assert (release.estimate.values < 0).any()
    for adjusted in (release.non_negative(method), release.non_negative(method).rounded()):
        values, tree = adjusted.estimate.values, adjusted.estimate.tree
        assert values.min() >= 0
        assert values == pytest.approx(sums(tree, values[tree.leaves]), abs=1e-6)
        assert adjusted.estimate.biased
        with pytest.raises(ReleaseError, match="non-negative"):
            adjusted.interval((0, 0, 1, 1))
    whole = release.rounded().estimate.values
    assert np.array_equal(whole, np.round(whole))
    assert np.abs(whole - release.estimate.values).max() <= 1
    assert release.estimate.biased == ("stop" in name)


def test_projection_keeps_the_total_and_beats_the_fit_there():
    release = make(QUADTREE, epsilon=0.2)
    families, fit = (release.non_negative(method).total for method in ("families", "least-squares"))
    assert families == pytest.approx(max(release.total, 0))
    assert fit > families


def test_pruning_drops_what_is_below_the_threshold_and_keeps_the_rest():
    release, pruned = make(QUADTREE), sdp.Quadtree(4, prune=20).release(XY, UNIT, epsilon=1, noise=SeededNoise(3))
    tree, values = pruned.estimate.tree, pruned.estimate.values
    assert tree.n_leaves < release.estimate.tree.n_leaves
    inner = ~tree.leaves
    assert (values[inner] >= 20).all()
    assert (values[tree.leaves & (tree.depth < 4)] < 20).all()
    for box in ((0, 0, 1, 1), (0, 0, 0.5, 0.5)):
        assert pruned.answer(box) == pytest.approx(release.answer(box), abs=1e-6)
    whole = UNIT.boxes([(0, 0, 1, 1), (0, 0, 0.5, 0.5)])
    assert pruned.estimate.moments(whole)[0] == pytest.approx(release.estimate.moments(whole)[0])


# --- odd cases ---------------------------------------------------------------------------------------


ODD = {
    "nothing": np.empty((0, 2)),
    "one": [[0.3, 0.4]],
    "one place": np.full((500, 2), 0.123),
    "outside": [[np.nan, 2.0], [9.0, 9.0]],
}


@pytest.mark.parametrize(("name", "data"), in_turn(TREES, list(ODD)))
def test_odd_data_give_a_release_like_any_other(name, data, tmp_path):
    release = make(TREES[name], xy=ODD[data])
    assert np.isfinite(release.answer(random_boxes(20))).all()
    with pytest.raises(ParameterError, match="outside"):
        release.answer((3, 3, 4, 4))
    assert release.answer(np.empty((0, 4))).shape == (0,)
    if not release.estimate.biased:
        assert np.isfinite(release.interval(random_boxes(20))).all()
        assert release.interval(np.empty((0, 4))).shape == (0, 2)
    release.save(tmp_path / "release.parquet")
    assert sdp.load(tmp_path / "release.parquet").total == release.total


@pytest.mark.parametrize("region", [None, REGION], ids=["whole", "region"])
@pytest.mark.parametrize("mechanism", [QUADTREE, sdp.KdTree(3)], ids=["quadtree", "kd-tree"])
def test_boxes_that_cut_no_leaf_have_no_allowance_and_ask_for_none(mechanism, region, monkeypatch):
    estimate = make(mechanism, region).estimate
    whole = estimate.tree.boxes[:20].astype(np.int64)
    cut = whole + np.array([1, 0, 0, 0])
    learnt = estimate.allowance(np.concatenate([whole, cut]))
    assert not learnt.variance[:20].any()
    assert not np.broadcast_to(learnt.shift, 40)[:20].any()
    assert learnt.variance[20:].any()
    fresh = make(mechanism, region).estimate
    for unevenness in (GridUnevenness, TreeUnevenness):
        monkeypatch.setattr(unevenness, "of", None)
    assert not fresh.allowance(whole).variance.any()
    with pytest.raises(TypeError):
        fresh.allowance(cut)


@pytest.mark.parametrize("region", [None, REGION], ids=["whole", "region"])
@pytest.mark.parametrize("name", TREES)
def test_loaded_trees_answer_as_the_saved_ones(name, region, tmp_path):
    release = make(TREES[name], region)
    release.save(tmp_path / "release.parquet")
    loaded = sdp.load(tmp_path / "release.parquet")
    boxes = random_boxes(30)
    assert np.array_equal(loaded.answer(boxes), release.answer(boxes))
    for ours, theirs in zip(*(r.estimate.moments(UNIT.boxes(boxes)) for r in (loaded, release)), strict=True):
        assert np.array_equal(ours, theirs)
    assert loaded.estimate.biased == release.estimate.biased
    assert loaded.privacy == release.privacy
    assert len(loaded.to_geodataframe()) == release.estimate.n_cells
    assert loaded.to_geodataframe().estimate.sum() == pytest.approx(release.total, abs=1e-6)


def test_trees_can_be_drawn():
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    mpl.use("Agg")
    release = make(TREES["kd"], REGION)
    for options in ({}, {"level": 2}, {"log": True, "limits": (0, 50)}):
        ax = release.plot(**options)
        ax.figure.canvas.draw()
    with pytest.raises(ParameterError, match="level is 9"):
        release.plot(level=9)
    with pytest.raises(ParameterError, match="no levels"):
        sdp.Flat((2, 2)).release([], UNIT, epsilon=1).plot(level=1)
    plt.close("all")


def test_zero_noise_trees_answer_aligned_boxes_exactly():
    release = sdp.Quadtree(3).release(XY, UNIT, epsilon=1, noise=ZeroNoise())
    inside = ((XY >= 0) & (XY < 0.5)).all(axis=1).sum()
    assert release.answer((0, 0, 0.5, 0.5)) == pytest.approx(inside)
    assert math.isclose(release.total, ((XY >= 0) & (XY <= 1)).all(axis=1).sum())
