"""How far may cut leaves be from even, judged by what a query covers whole? By hand, and where nothing is known."""

from __future__ import annotations

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.estimates.unevenness.contrast import contrast_variance
from spatialdp.trees.pairs import Pairs

FIRSTS = np.array([160.0, 100.0, 40.0, 20.0])  # a root with three children
AREAS = np.array([10.0, 1.0, 2.0, 7.0])


def levels(shares):
    """The pairs of one query that covers these shares of the children."""
    one, three = np.zeros(1, dtype=np.int64), np.zeros(3, dtype=np.int64)
    root = Pairs(one, one, one, np.array([0.5]), np.array([True]))
    return [root, Pairs(three, np.arange(1, 4), three, np.array(shares), np.zeros(3, dtype=bool))]


def contrast(shares, shift=0.0, firsts=FIRSTS):
    return contrast_variance(levels(shares), np.array([shift]), firsts, AREAS)[0]


def test_cut_leaves_hold_at_most_their_records_at_the_density_of_whole_ones():
    # The first child has 100 records on an area of 1. At that density 0.1 of the second has 20 records instead of 4,
    # and half of the third would have 350, but it has no more than 20, instead of 10.
    assert contrast([1.0, 0.1, 0.5]) == pytest.approx((16 + 10) ** 2 / 3)


def test_what_the_answer_is_changed_by_already_counts_once():
    assert contrast([1.0, 0.1, 0.5], shift=6.0) == pytest.approx(20**2 / 3)
    assert contrast([1.0, 0.1, 0.5], shift=30.0) == 0


def test_nothing_is_added_where_nothing_is_known_or_cut_leaves_are_denser():
    assert contrast([0.5, 0.1, 0.0]) == 0  # covers no node whole
    assert contrast([0.5, 0.0, 1.0]) == 0  # the cut leaf is denser
    assert contrast([1.0, 1.0, 0.0]) == 0  # cuts no leaf


def test_evenly_spread_records_have_no_contrast():
    assert contrast([1.0, 0.3, 0.2], firsts=16 * AREAS) == pytest.approx(0)


def test_only_trees_of_unequal_leaves_have_it():
    xy = np.random.default_rng(3).random((2000, 2)) ** 4
    for mechanism, unequal in ((sdp.KdTree(3), True), (sdp.Quadtree(4, prune=20), False)):
        estimate = mechanism.release(xy, sdp.Domain((0, 0, 1, 1)), epsilon=1, noise=sdp.SeededNoise(2)).estimate
        assert (estimate.unevenness.lines is None) == unequal


def test_areas_are_shares_of_the_domain():
    xy = np.random.default_rng(3).random((2000, 2)) ** 4
    tree = sdp.KdTree(3).release(xy, sdp.Domain((0, 0, 1, 1)), epsilon=1, noise=sdp.SeededNoise(2)).estimate
    area = tree.unevenness.nodes.area
    assert area[tree.tree.leaves].sum() == pytest.approx(1)
    sides = np.diff(tree.tree.boxes.astype(float).reshape(-1, 2, 2), axis=1)[:, 0] / 2.0**20
    assert area == pytest.approx(sides.prod(axis=1) / sides[0].prod())
