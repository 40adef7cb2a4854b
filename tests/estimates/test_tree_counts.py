"""Counts on trees are adjusted by one rule, whether the nodes are boxes or zones."""

from __future__ import annotations

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.errors import ReleaseError
from spatialdp.estimates.tree_counts import TreeCounts
from spatialdp.trees.adjust import NonNegative
from spatialdp.trees.shape import sums

CODES = [f"{state}{county}" for state in "ab" for county in range(8)]


def of_boxes(consistent=True):
    mechanism = sdp.Quadtree(2, consistent=consistent)
    return mechanism.release([], sdp.Domain((0, 0, 1, 1)), epsilon=0.5, noise=sdp.SeededNoise(3)).estimate


def of_zones(consistent=True):
    zones = sdp.Zones.from_codes(CODES, None, {"state": 1, "county": 2})
    mechanism = sdp.ZoneTree(consistent=consistent)
    return mechanism.release(sdp.Codes(["a1"]), zones, epsilon=0.5, noise=sdp.SeededNoise(3)).estimate


@pytest.mark.parametrize("make", [of_boxes, of_zones])
@pytest.mark.parametrize("method", list(NonNegative))
def test_adjusted_counts_add_up_and_are_what_they_are_said_to_be(make, method):
    estimate = make()
    assert isinstance(estimate, TreeCounts)
    assert estimate.values.min() < 0
    adjusted = estimate.non_negative(method)
    whole = estimate.rounded()
    assert type(adjusted) is type(whole) is type(estimate)
    assert adjusted.biased
    assert whole.biased
    assert adjusted.values.min() >= 0
    assert np.array_equal(whole.values, np.rint(whole.values))
    for each in (adjusted, whole):
        leaves = each.values[each.nodes.leaves]
        np.testing.assert_allclose(sums(each.nodes, leaves), each.values, atol=1e-9)


@pytest.mark.parametrize("make", [of_boxes, of_zones])
def test_counts_that_do_not_add_up_are_not_adjusted(make):
    with pytest.raises(ReleaseError, match="not consistent"):
        make(consistent=False).rounded()
    with pytest.raises(ReleaseError, match="not consistent"):
        make(consistent=False).non_negative(NonNegative.FAMILIES)
