"""Places of flows on a map."""

from __future__ import annotations

import pytest
import shapely

import spatialdp as sdp
from spatialdp.errors import ReleaseError
from spatialdp.estimates.flows.places import has_middles, middles
from tests.flows.test_release import released


def test_middles_lie_in_their_places():
    for frame in ("zones", "region"):
        estimate = released(frame=frame).estimate
        space, points = estimate.frame.space, middles(estimate)
        assert points.shape == (space.size, 2)
        if frame == "zones":
            areas = space.zones.geometry[space.leaf_of_place]
            assert shapely.intersects_xy(areas, *points.T).all()
        else:
            names = [f"{int(x)},{int(y)}" for x, y in points]  # cells are one unit wide
            assert names == space.labels()


def test_zones_of_codes_alone_have_no_lines():
    zones = sdp.Zones.from_codes(["a", "b"], None, {"code": 1})
    release = sdp.Flows().release(sdp.Trips(sdp.Codes(["a"]), sdp.Codes(["b"])), zones, epsilon=1)
    assert not has_middles(release.estimate)
    with pytest.raises(ReleaseError, match="codes alone, and lines need their areas"):
        release.to_geodataframe()
    with pytest.raises(ReleaseError, match="codes alone"):
        release.plot()
