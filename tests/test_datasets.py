"""The data that ship lie where they say."""

from __future__ import annotations

import pytest

import spatialdp as sdp
from spatialdp.records.truth import Counter


@pytest.mark.parametrize("name", sorted(sdp.datasets.DATASETS))
def test_data_sets_lie_in_their_public_boxes(name):
    data = sdp.datasets.DATASETS[name]
    counter = Counter.of(data.points(), data.domain)
    assert 5000 < counter.n_records < 100_000
    assert all(round(bound, 1) == bound for bound in data.bounds)  # rounded, not the records' own
