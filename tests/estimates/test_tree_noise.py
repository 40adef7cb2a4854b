"""The noise of every cell and node at once is what the noise of boxes says of each."""

from __future__ import annotations

import numpy as np
import pytest

from spatialdp.estimates.histogram import Histogram
from tests.browser.test_explorer import MECHANISMS, REGION, release_of


@pytest.mark.parametrize("region", [None, REGION], ids=["everywhere", "region"])
@pytest.mark.parametrize("name", MECHANISMS)
def test_moments_of_all_leaves_are_those_of_their_boxes(name, region):
    estimate = release_of(name, region).estimate
    chosen = np.arange(estimate.n_cells)[:: max(1, estimate.n_cells // 300)]
    wanted = estimate.moments(estimate.leaf_boxes(chosen))
    for found, each in zip(estimate.leaf_moments(), wanted, strict=True):
        np.testing.assert_allclose(found[chosen], each, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("region", [None, REGION], ids=["everywhere", "region"])
@pytest.mark.parametrize("name", MECHANISMS)
def test_moments_of_inner_nodes_are_those_of_their_boxes(name, region):
    estimate = release_of(name, region).estimate
    if isinstance(estimate, Histogram):
        return
    nodes = np.arange(estimate.tree.n_nodes)[:: max(1, estimate.tree.n_nodes // 300)]
    wanted = estimate.moments(estimate.tree.boxes[nodes].astype(np.int64))
    for found, each in zip(estimate.node_moments(nodes), wanted, strict=True):
        np.testing.assert_allclose(found, each, rtol=1e-9, atol=1e-12)
