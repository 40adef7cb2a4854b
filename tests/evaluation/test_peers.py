"""Published adaptive methods: their formulas, their costs, and that they say when they are not private."""

from __future__ import annotations

import math

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.errors import ParameterError
from spatialdp.estimates.decomposition import Decomposition
from spatialdp.evaluation.peers import AdaptiveGrid, PrivTree, UniformGrid, _divided

UNIT = sdp.Domain((0, 0, 1, 1))
RNG = np.random.default_rng(0)
TOWN = np.clip(RNG.normal((0.3, 0.6), 0.05, (20_000, 2)), 0, 1)
SHAPE = (128, 128)
PEERS = [UniformGrid(SHAPE), AdaptiveGrid(SHAPE), PrivTree(SHAPE)]


def released(mechanism, epsilon=1.0, seed=1, xy=TOWN):
    return mechanism.release(xy, UNIT, epsilon=epsilon, noise=sdp.SeededNoise(seed))


def test_a_uniform_grid_has_n_epsilon_over_ten_cells():
    estimate = released(UniformGrid(SHAPE, records="public")).estimate
    assert estimate.n_cells == round(math.sqrt(20_000 / 10)) ** 2
    paid = released(UniformGrid(SHAPE)).estimate
    assert paid.n_cells == pytest.approx(estimate.n_cells, rel=0.05)


def test_an_adaptive_grid_divides_cells_by_their_counts():
    estimate = released(AdaptiveGrid(SHAPE, records="public")).estimate
    tree = estimate.tree
    side = max(10, math.ceil(math.ceil(math.sqrt(2000)) / 4))
    assert tree.n_children[0] == side**2
    first = np.arange(tree.n_nodes)[tree.level(1)]
    counts = estimate.values[first]  # fitted ones, close to the noisy counts that decided
    wanted = np.minimum(np.ceil(np.sqrt(np.maximum(counts, 0) * 0.5 / 5)), 128 // side)  # cells that a block has
    children = np.sqrt(tree.n_children[first])
    assert np.abs(children - np.maximum(wanted, 1)).max() <= 2
    assert children.max() > 5


def test_privtree_is_deep_where_records_are():
    estimate = released(PrivTree(SHAPE)).estimate
    boxes = estimate.leaf_boxes()
    sizes = (boxes[:, 2] - boxes[:, 0]) / 2**30
    near = np.hypot(*(((boxes[:, :2] + boxes[:, 2:]) / 2**31) - (0.3, 0.6)).T) < 0.05
    assert sizes[near].max() < 0.1
    assert sizes.max() >= 0.25


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.name)
def test_leaves_cover_the_grid_once_and_large_budgets_are_exact(peer):
    release = released(peer, epsilon=1000)
    boxes = release.estimate.leaf_boxes()
    area = ((boxes[:, 2:] - boxes[:, :2]) / 2**30).prod(axis=1)
    assert area.sum() == pytest.approx(1)
    assert release.total == pytest.approx(len(TOWN), abs=2)


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.name)
def test_answers_are_those_of_a_walk_through_the_blocks(peer):
    """Counts are spread evenly within blocks; no correction is made."""
    estimate = released(peer, epsilon=0.3).estimate
    boxes = UNIT.boxes(sdp.workload.random_boxes(UNIT, 200).boxes)
    assert estimate.answer(boxes) == pytest.approx(Decomposition.answer(estimate, boxes), abs=1e-6)
    assert not estimate.extrapolates


@pytest.mark.statistical
@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.name)
def test_noise_has_the_variance_that_its_part_of_the_budget_gives(peer):
    """Fixed seeds; 200 releases, so that a standard deviation is known to 5 %."""
    totals = [released(peer, 0.5, seed, np.empty((0, 2))).total for seed in range(200)]
    stated = np.mean(
        [
            released(peer, 0.5, seed, np.empty((0, 2))).estimate.moments(UNIT.boxes([UNIT.bounds]))[0][0]
            for seed in range(20)
        ]
    )
    assert np.var(totals) == pytest.approx(stated, rel=0.5)


def test_a_public_number_of_records_is_not_private():
    for kind in (UniformGrid, AdaptiveGrid):
        assert not kind(SHAPE, records="public").release(TOWN, UNIT, epsilon=1).privacy.private
        assert kind(SHAPE).release(TOWN, UNIT, epsilon=1).privacy.private


def test_they_run_beside_ours_in_the_evaluator():
    queries = sdp.workload.random_boxes(UNIT, 50)
    results = sdp.evaluate([sdp.Adaptive(SHAPE), *PEERS], TOWN, UNIT, queries, [1], 2)
    assert len(results) > 0
    assert not {"uniform grid", "adaptive grid", "privtree"} & set(sdp.mechanisms.MECHANISMS)


def test_blocks_are_divided_along_cells_and_into_no_more_than_there_are():
    parts, owner = _divided(np.array([[0, 0, 7, 4], [7, 0, 8, 1]]), np.array([3, 5]))
    assert np.bincount(owner).tolist() == [9, 1]
    cover = np.zeros((4, 8), dtype=int)
    for x0, y0, x1, y1 in parts:
        cover[y0:y1, x0:x1] += 1
    assert np.all(cover[:, :7] == 1)
    assert cover.max() == 1


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.name)
def test_persons_are_refused_in_words(peer):
    with pytest.raises(ParameterError, match="is here as published, for single records; leave person out"):
        peer.check(UNIT, epsilon=1, person=sdp.Person(records=3))
