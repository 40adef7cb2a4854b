"""Intervals of zones, sets of zones and polygons cover as often as they say, for both laws and every level.

The weights with which measurements enter an answer come from the dense map; the law of the answer follows by drawing
the measurements' noise many times. Seeds are fixed.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np
import pytest

from spatialdp.estimates.answers import Answers
from spatialdp.estimates.intervals import half_width
from spatialdp.estimates.unevenness.allowance import Allowance, Bracket, Sums
from spatialdp.privacy.neighbours import Sensitivity
from spatialdp.privacy.noise.laws import Law, calibrate
from spatialdp.space.zones.chains import merged
from tests.contract.test_coverage import DRAWS, LEVELS, MANY_DRAWS, drawn
from tests.helpers.zone_trees import Strip, counts_on, random_shape
from tests.reference.dense_zones import answer_map, coverage_of, membership

LAWS = {"discrete-laplace": Law.DISCRETE_LAPLACE, "gaussian": Law.GAUSSIAN}
VARIANTS = ("even", "unmeasured level", "known level", "leaves")
EPSILONS = (0.25, 1, 4)


@lru_cache(maxsize=4)
def release_noise(variant, law, epsilon):
    """An estimate of zeros with the noise of a release, the law of each merged node, and the map to the leaves."""
    rng = np.random.default_rng(len(variant))
    zones = Strip(random_shape(rng, height=3))
    chains = merged(zones.shape)
    levels = zones.shape.height + 1
    shares = np.full(levels, Fraction(1, levels), dtype=object)
    if variant != "even":
        unpaid = slice(None, -1) if variant == "leaves" else slice(1, 2)
        shares[unpaid] = Fraction(0)
        shares[-1] = Fraction(1) - shares[:-1].sum()
    costs = [sum(shares[f : last + 1]) * Fraction(epsilon) for f, last in zip(chains.first, chains.last, strict=True)]
    if law == "gaussian":
        costs = [cost / 20 for cost in costs]
    laws = [calibrate(LAWS[law], cost, Sensitivity(1, 1)) if cost else None for cost in costs]
    variances = np.array([np.inf if each is None else each.variance for each in laws])
    kurtosis = np.array([0.0 if each is None else each.kurtosis for each in laws])
    if variant == "known level":
        known = chains.shape.depth == 1
        variances[known] = kurtosis[known] = 0.0
        laws = [None if exact else each for exact, each in zip(known, laws, strict=True)]
    counts = counts_on(zones, np.zeros(chains.shape.n_nodes), variances, kurtosis)
    return counts, laws, answer_map(chains.shape, variances)


def noise_of(laws, draws, seed):
    """Noise of all merged nodes, (nodes, draws); 0 where nothing is measured."""
    rng = np.random.default_rng(seed)
    return np.array([np.zeros(draws) if law is None else drawn(law, draws, rng) for law in laws], dtype=float)


def queries(counts):
    """Sums that the estimate states and the coverage of merged leaves, for single zones, sets and shares of leaves."""
    rng = np.random.default_rng(5)
    shape, place = counts.zones.shape, counts.chains.place
    sets = [np.array([node]) for node in rng.choice(shape.n_nodes, 12, replace=False)]
    sets += [rng.integers(0, shape.n_nodes, size) for size in (2, 3, 5, 8)]
    whole = np.array([coverage_of(counts.shape, place[members]) for members in sets])
    ends = np.sort(rng.uniform(0, counts.n_cells, (8, 2)), axis=1)
    left = np.arange(counts.n_cells)
    overlap = np.clip(np.minimum(ends[:, 1:], left + 1) - np.maximum(ends[:, :1], left), 0, 1)
    order = np.searchsorted(np.flatnonzero(counts.shape.leaves), place[np.flatnonzero(shape.leaves)])
    cut = np.zeros((8, counts.n_cells))
    cut[:, order] = overlap
    boxes = counts.zones.domain.boxes(np.column_stack([ends[:, 0], np.zeros(8), ends[:, 1], np.ones(8)]))
    sums, moments = counts.of_sets(sets), counts.moments(boxes)
    return (
        np.concatenate([sums.variance, moments[0]]),
        np.concatenate([sums.kurtosis, moments[1]]),
        np.concatenate([whole, cut]),
    )


def covered(weights, laws, half, draws, seed):
    """How often each answer's error is within its half-width."""
    errors = np.abs(weights @ noise_of(laws, draws, seed))
    return (errors <= half[:, None] + 1e-9).mean(axis=1)


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_intervals_of_zones_sets_and_polygons_cover(variant, law, epsilon):
    counts, laws, leaf_map = release_noise(variant, law, epsilon)
    variance, kurtosis, coverage = queries(counts)
    weights = coverage @ leaf_map
    for level in LEVELS:
        half = half_width(variance, kurtosis, 1.0, level)
        hits = covered(weights, laws, half, DRAWS, 1)
        if hits.min() < level - 0.005:
            seeds = range(2, 2 + MANY_DRAWS // DRAWS)
            hits = np.mean([covered(weights, laws, half, DRAWS, seed) for seed in seeds], axis=0)
        assert hits.min() >= level - 0.005, (level, hits.min())


@pytest.mark.statistical
@pytest.mark.parametrize("law", LAWS)
def test_a_wrong_scale_is_refused(law):
    counts, laws, leaf_map = release_noise("even", law, 0.25)
    variance, kurtosis, coverage = queries(counts)
    noisy = variance > 0
    for level in LEVELS:
        half = half_width(0.8 * variance, kurtosis, 1.0, level)
        assert covered(coverage @ leaf_map, laws, half, DRAWS, 1)[noisy].min() < level - 0.005
    exact = np.array([(coverage @ leaf_map) ** 2 @ np.where(np.isfinite(counts.variances), counts.variances, 0.0)])
    assert variance == pytest.approx(exact[0], rel=1e-6)


@pytest.mark.statistical
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("where", ["none", "even", "all"])
def test_the_truth_of_polygons_that_cut_zones_is_covered(where, law):
    """Records of cut zones lie all outside of the polygon, evenly, or all inside: whatever they do, it covers."""
    counts, laws, leaf_map = release_noise("even", law, 1)
    boxes = counts.zones.domain.boxes([(0.5, 0, 3.25, 1), (1.2, 0, 1.7, 1), (2.0, 0, counts.n_cells - 0.3, 1)])
    rng = np.random.default_rng(8)
    records = rng.integers(0, 60, counts.shape.n_leaves).astype(float)  # of merged leaves
    sets = counts.covered(boxes)
    leaf = np.searchsorted(np.flatnonzero(counts.shape.leaves), sets.node)
    moved = {"none": np.floor(sets.share), "even": sets.share, "all": np.ceil(sets.share)}[where]
    truth = np.bincount(sets.owner, moved * records[leaf], minlength=3)
    node_noise = noise_of(laws, DRAWS, 3)
    values = leaf_map @ node_noise + records[:, None]  # of merged leaves, (leaves, draws)
    bracket = counts.allowance(boxes).bracket
    for query in range(3):
        mine = sets.owner == query
        sums = []
        for stated, share in ((bracket.inside, np.floor(sets.share)), (bracket.touched, np.ceil(sets.share))):
            drawn_values = share[mine] @ values[leaf[mine]]
            sums.append(
                Sums(drawn_values, np.full(DRAWS, stated.variance[query]), np.full(DRAWS, stated.kurtosis[query]))
            )
        allowance = Allowance(np.zeros(DRAWS), bracket=Bracket(*sums, np.ones(DRAWS, dtype=bool)))
        answers = Answers(
            sums[0].values, sums[0].variance, sums[0].kurtosis, 1.0, np.zeros(DRAWS, dtype=bool), allowance
        )
        for level in LEVELS:
            low, high = answers.ends(level).T
            assert np.all(low <= high)
            hits = np.mean((low <= truth[query] + 1e-9) & (truth[query] <= high + 1e-9))
            assert hits >= level - 0.005, (query, level, hits)


def test_both_ends_of_a_bracket_share_the_error():
    sums = [Sums(np.array([value]), np.array([4.0]), np.array([0.0])) for value in (10.0, 30.0)]
    allowance = Allowance(np.zeros(1), bracket=Bracket(*sums, np.array([True])))
    answers = Answers(np.array([20.0]), np.array([4.0]), np.array([0.0]), 0.0, np.array([False]), allowance)
    half = float(half_width(np.array([4.0]), np.array([0.0]), 0.0, 0.9)[0])
    assert answers.ends(0.9)[0] == pytest.approx([10 - half, 30 + half])
    assert math.isclose(half, 2 * 1.6448536, rel_tol=1e-6)


def test_the_dense_map_reproduces_sums():
    counts, _, leaf_map = release_noise("even", "gaussian", 1)
    assert membership(counts.shape).T.shape == leaf_map.shape
    assert leaf_map @ membership(counts.shape) == pytest.approx(np.eye(counts.shape.n_leaves), abs=1e-8)
