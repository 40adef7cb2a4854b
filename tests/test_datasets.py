"""The data that ship lie where they say."""

from __future__ import annotations

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.records.truth import Counter
from spatialdp.space.lattice import LATTICE


@pytest.mark.parametrize("name", sorted(sdp.datasets.DATASETS))
def test_data_sets_lie_in_their_public_boxes(name):
    data = sdp.datasets.DATASETS[name]
    everywhere = np.array([[0, 0, LATTICE, LATTICE]])
    assert 5000 < Counter.of(data.points(), data.domain).count(everywhere)[0] < 100_000
    assert all(round(bound, 1) == bound for bound in data.bounds)  # rounded, not the records' own
