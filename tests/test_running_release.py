"""What a release of months answers; `tests/mechanisms/running` has the noise."""

from __future__ import annotations

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.errors import ParameterError

FRAME = sdp.Frame(sdp.Domain((0, 0, 2, 1)).grid((2, 1)), kind=sdp.Categories(["theft", "fraud"]))


def release_of(months=3):
    series = sdp.Running(6).start(FRAME, epsilon=1, delta=1e-6)
    for month in range(months):
        release = series.add(sdp.Rows([], kind=[]), noise=sdp.SeededNoise((1, month)))
    return release


def test_months_add_up_to_the_running_total():
    release = release_of()
    alone = [release.answer(first=month, last=month, kind="theft") for month in (1, 2, 3)]
    assert sum(alone) == pytest.approx(release.answer(kind="theft"))
    assert release.answer(kind=["theft", "fraud"]).sum() == pytest.approx(release.answer())


def test_earlier_totals_do_not_change_when_months_come():
    series = sdp.Running(6).start(FRAME, epsilon=1, delta=1e-6)
    first = series.add(sdp.Rows([], kind=[]))
    second = series.add(sdp.Rows([], kind=[]))
    assert second.answer(last=1) == first.answer()


def test_lists_give_dimensions():
    ends = release_of().interval(kind=["theft", "fraud"], box=[(0, 0, 1, 1)])
    assert ends.shape == (1, 2, 2)


@pytest.mark.parametrize("months", [{"first": 0}, {"last": 4}, {"first": 3, "last": 2}])
def test_months_that_are_not_there_are_refused(months):
    with pytest.raises(ParameterError):
        release_of().answer(**months)


def test_the_release_is_read_only_and_says_how_far_it_is():
    release = release_of()
    assert not release.measured.flags.writeable
    assert repr(release).startswith("<RunningRelease of month 3 of 6: NOT PRIVATE")
    assert np.isfinite(release.to_frame().drop(columns="month").to_numpy()).all()
