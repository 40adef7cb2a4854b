"""Frames come back from JSON; `tests/test_table_release.py` has whole files and forgeries."""

from __future__ import annotations

import json

import pytest

import spatialdp as sdp
from spatialdp.outputs.files.tables.complete import frame_from_json, frame_to_json
from tests.helpers.table_cases import TABLE_FRAMES


@pytest.mark.parametrize("name", TABLE_FRAMES)
def test_frames_come_back_with_the_same_cells(name):
    frame = TABLE_FRAMES[name]
    again = frame_from_json(json.loads(json.dumps(frame_to_json(frame))), frame.domain, frame.n_cells)
    assert repr(again) == repr(frame)
    for axis in frame.axes:
        assert again.axes[axis].labels() == frame.axes[axis].labels()
        assert again.axes[axis].names == frame.axes[axis].names


def test_a_grid_without_a_domain_and_two_axes_of_one_name_are_refused():
    data = frame_to_json(sdp.Frame(sdp.Domain((0, 0, 1, 1)).grid((2, 2)), kind=sdp.Categories(["a"])))
    with pytest.raises(ValueError, match="domain"):
        frame_from_json(data, None, 4)
    data["axes"] *= 2
    with pytest.raises(ValueError, match="one name"):
        frame_from_json(data, sdp.Domain((0, 0, 1, 1)), 4)


@pytest.mark.parametrize("change", [{"codes": [5]}, {"children": [9]}, {"offsets": [0, 1]}, {"levels": ["a", "a"]}])
def test_forged_zones_are_refused(change):
    data = frame_to_json(TABLE_FRAMES["zones and kinds"])
    data["space"] |= change
    with pytest.raises((ValueError, TypeError, KeyError)):
        frame_from_json(data, None, 24)
