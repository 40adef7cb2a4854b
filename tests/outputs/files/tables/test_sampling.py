"""Synthetic records lie in the cells that they were drawn for, and follow the estimates."""

from __future__ import annotations

import numpy as np
import pytest
import shapely

import spatialdp as sdp
from spatialdp.errors import ReleaseError

REGION = shapely.box(0, 0, 1.5, 2)
GRID = sdp.Domain((0, 0, 2, 2), region=REGION).grid((2, 2))
HOURS = sdp.Time("2024-03-31", "2024-04-01", zone="Europe/Vienna")


def test_places_are_in_the_region_and_times_within_their_tick():
    rows = sdp.Rows([[0.5, 0.5]] * 40 + [[1.2, 1.2]] * 40, time=["2024-03-31 01:30"] * 40 + ["2024-03-31 03:30"] * 40)
    release = sdp.Table().release(rows, sdp.Frame(GRID, time=HOURS), epsilon=1000)
    drawn = release.sample(noise=sdp.SeededNoise(1))
    assert len(drawn) == 80
    assert (drawn["x"] < 1.51).all()
    left = drawn["x"] < 1
    assert left.sum() == pytest.approx(40, abs=25)
    assert set(drawn["time"][left].dt.hour) == {1}
    assert set(drawn["time"][~left].dt.hour) == {3}
    assert drawn.attrs["privacy"]["epsilon"] == 1000


def test_a_table_without_anything_above_zero_has_no_records_to_draw():
    frame = sdp.Frame(sdp.Domain((0, 0, 1, 1)).grid((1, 1)))
    release = sdp.Table().release([], frame, epsilon=1000)
    assert len(release.sample(0)) == 0
    with pytest.raises(ReleaseError, match="above zero"):
        release.sample(3)
    assert np.isfinite(release.total)
