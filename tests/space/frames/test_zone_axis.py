"""Zones as an axis: leaves in the order of the merged tree, and from there back to the leaves of the zones."""

from __future__ import annotations

import numpy as np
import pytest

from spatialdp.errors import ParameterError
from spatialdp.space.frames.selection import of_nodes
from spatialdp.space.frames.zone_axis import ZoneAxis
from tests.helpers.zone_cases import FRAMES


@pytest.mark.parametrize("frame", FRAMES)
def test_places_and_leaves_are_one_to_one(frame):
    zones = FRAMES[frame]
    axis = ZoneAxis(zones)
    assert sorted(axis.place_of_leaf[:-1].tolist()) == list(range(zones.n_leaves))
    assert np.array_equal(axis.place_of_leaf[axis.leaf_of_place], np.arange(axis.size))
    assert axis.place_of_leaf[-1] == axis.size
    assert axis.labels() == zones.codes[zones.leaf_nodes][axis.leaf_of_place].tolist()


@pytest.mark.parametrize("frame", FRAMES)
def test_every_zone_has_the_leaves_that_it_has(frame):
    zones = FRAMES[frame]
    axis = ZoneAxis(zones)
    for depth, level in enumerate(zones.levels):
        nodes, labels = axis.parts(level), axis.part_labels(level)
        selection = of_nodes(axis.shape, nodes)
        assert sorted(selection.cells.tolist()) == list(range(axis.size))  # a level holds every leaf once
        for place, code in enumerate(labels):
            if code in zones.codes[zones.shape.level(depth)]:
                own = selection.rows(place, place + 1)[0].nonzero()[0]
                wanted = zones.leaves_of(zones.nodes_of([code], level))
                assert own.tolist() == sorted(axis.place_of_leaf[wanted].tolist())


@pytest.mark.parametrize("query", [5, (), ("A1", 5), ("nowhere",)])
def test_what_is_no_zone_is_refused(query):
    with pytest.raises(ParameterError, match="zone"):
        ZoneAxis(FRAMES["lopsided"]).pick(query)
