"""What every kind of estimate can do."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spatialdp.estimates.base import KINDS, Estimate, moments_of
from spatialdp.estimates.decomposition import Decomposition
from spatialdp.estimates.fields.field import Field
from spatialdp.estimates.flows.counts import FlowCounts
from spatialdp.estimates.histogram import Histogram
from spatialdp.estimates.networks.counts import NetworkCounts
from spatialdp.estimates.sparse.listed import ListedCells
from spatialdp.estimates.sparse.over_map import ListOverMap
from spatialdp.estimates.tables.counts import TableCounts
from spatialdp.estimates.zones.counts import ZoneCounts
from tests.helpers.cases import LARGE
from tests.helpers.releases import REGION, release_of


@pytest.mark.parametrize("region", [None, REGION], ids=["everywhere", "region"])
@pytest.mark.parametrize("name", LARGE)
def test_moments_of_all_leaves_are_those_of_their_boxes(name, region):
    estimate = release_of(name, region).estimate
    chosen = np.arange(estimate.n_cells)[:: max(1, estimate.n_cells // 300)]
    wanted = estimate.moments(estimate.leaf_boxes(chosen))
    for found, each in zip(estimate.leaf_moments(), wanted, strict=True):
        np.testing.assert_allclose(found[chosen], each, rtol=1e-9, atol=1e-12)


@given(
    st.lists(st.one_of(st.just(0.0), st.floats(1e-70, 1e6)), min_size=1, max_size=10),
    st.one_of(st.just(0.0), st.floats(0.01, 100)),
)
def test_moments_of_cumulants_undo_the_definition_and_no_noise_has_no_kurtosis(variances, kurtosis):
    second = np.array(variances)
    variance, found = moments_of(second, kurtosis * second**2)
    assert np.array_equal(variance, second)
    np.testing.assert_allclose(found, np.where(second > 0, kurtosis, 0.0), rtol=1e-9)


CLASSES = (Histogram, Decomposition, Field, ZoneCounts, TableCounts)
CLASSES += (ListedCells, ListOverMap, FlowCounts, NetworkCounts)


def test_every_class_of_estimates_is_listed_by_its_kind():
    assert {kind.kind for kind in CLASSES} == set(KINDS)
    assert len(KINDS) == len(set(KINDS)) == len(CLASSES)


@pytest.mark.parametrize("kind", CLASSES)
def test_every_class_of_estimates_has_what_the_protocol_asks_for(kind):
    asked = {name for name in vars(Estimate) if not name.startswith("_")} | set(Estimate.__annotations__)
    fields = {field.name for field in dataclasses.fields(kind)}
    assert {"answer", "moments", "kind"} < asked
    assert not {name for name in asked if not hasattr(kind, name)} - fields
