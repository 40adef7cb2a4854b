"""Rows and lines of flows."""

from __future__ import annotations

import numpy as np

import spatialdp as sdp
from spatialdp.estimates.flows.places import middles
from spatialdp.outputs.files.flows.rows import lines, pair_rows
from tests.flows.test_release import released


def test_lines_go_from_origin_to_destination_and_those_that_stay_have_none():
    estimate = released(frame="region").estimate
    points = dict(zip(estimate.frame.space.labels(), middles(estimate).tolist(), strict=True))
    frame = lines(estimate)
    assert len(frame) == len(pair_rows(estimate)) - estimate.places
    for row in frame.iloc[::17].itertuples():
        assert np.array(row.geometry.coords).tolist() == [points[row.origin], points[row.destination]]


def test_an_empty_list_has_no_lines():
    release = sdp.Flows("listed", false=1e-9).release(
        sdp.Trips(np.zeros((0, 2)), np.zeros((0, 2))), sdp.Domain((0, 0, 1, 1)).grid((2, 2)), epsilon=1
    )
    assert len(release.to_geodataframe()) == len(release.to_frame()) == 0
    assert release.plot().get_title() == "Flows"
