"""A frame has space and named axes; what is no axis is refused before anything is counted."""

from __future__ import annotations

import pytest

import spatialdp as sdp
from spatialdp.errors import ParameterError
from spatialdp.space.frames.frame import LARGEST_TABLE
from tests.helpers.zone_cases import FRAMES

GRID = sdp.Domain((0, 0, 1, 1)).grid((4, 4))
KINDS = sdp.Categories(["a", "b", "c"])


def test_space_is_last_in_arrays_and_first_in_words():
    frame = sdp.Frame(GRID, kind=KINDS, sex=sdp.Categories(["f", "m"]))
    assert (frame.shape, frame.n_cells, frame.names) == ((3, 2, 16), 96, ("box", "kind", "sex"))
    zones = sdp.Frame(FRAMES["regular"], kind=KINDS)
    assert zones.names == ("zone", "kind")
    assert zones.domain == FRAMES["regular"].domain


@pytest.mark.parametrize(
    "make",
    [
        lambda: sdp.Frame(GRID.domain),
        lambda: sdp.Frame(None),
        lambda: sdp.Frame(GRID, level=KINDS),
        lambda: sdp.Frame(GRID, Kind=KINDS),
        lambda: sdp.Frame(GRID, kind=["a", "b"]),
        lambda: sdp.Frame(FRAMES["regular"], blocks=2),
        lambda: sdp.Frame(GRID, **dict.fromkeys("abcdefgh", KINDS)),
        lambda: sdp.Frame(sdp.Domain((0, 0, 1, 1)).grid((2**14, 2**13)), kind=KINDS),
    ],
)
def test_frames_that_are_none_are_refused(make):
    with pytest.raises(ParameterError):
        make()
    assert LARGEST_TABLE == 2**28


def test_queries_speak_of_the_axes_there_are():
    with pytest.raises(ParameterError, match="no axis"):
        sdp.Frame(GRID, kind=KINDS).select({"time": "noon"})
