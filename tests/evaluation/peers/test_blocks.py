"""Counts of blocks: they cover the grid once, and answers are those of a walk through them."""

from __future__ import annotations

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.estimates.decomposition import Decomposition
from spatialdp.evaluation.peers.blocks import divided
from tests.helpers.peers import TOWN, TREES, UNIT, released


@pytest.mark.parametrize("peer", TREES, ids=lambda peer: peer.name)
def test_leaves_cover_the_grid_once_and_large_budgets_are_exact(peer):
    release = released(peer, epsilon=1000)
    boxes = release.estimate.leaf_boxes()
    area = ((boxes[:, 2:] - boxes[:, :2]) / 2**30).prod(axis=1)
    assert area.sum() == pytest.approx(1)
    assert release.total == pytest.approx(len(TOWN), abs=2)


@pytest.mark.parametrize("peer", TREES, ids=lambda peer: peer.name)
def test_answers_are_those_of_a_walk_through_the_blocks(peer):
    """Counts are spread evenly within blocks; no correction is made."""
    estimate = released(peer, epsilon=0.3).estimate
    boxes = UNIT.boxes(sdp.workload.random_boxes(UNIT, 200).boxes)
    assert estimate.answer(boxes) == pytest.approx(Decomposition.answer(estimate, boxes), abs=1e-6)
    assert not estimate.extrapolates


@pytest.mark.statistical
@pytest.mark.parametrize("peer", TREES, ids=lambda peer: peer.name)
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


def test_blocks_are_divided_along_cells_and_into_no_more_than_there_are():
    parts, owner = divided(np.array([[0, 0, 7, 4], [7, 0, 8, 1]]), np.array([3, 5]))
    assert np.bincount(owner).tolist() == [9, 1]
    cover = np.zeros((4, 8), dtype=int)
    for x0, y0, x1, y1 in parts:
        cover[y0:y1, x0:x1] += 1
    assert np.all(cover[:, :7] == 1)
    assert cover.max() == 1
