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


# --- maps ----------------------------------------------------------------------------------------------

BOXES = np.array([[0, 0, 1, 1], [1, 0, 2, 1], [0, 0, 2, 1]])


@pytest.mark.parametrize("months", [{}, {"first": 2, "last": 2}, {"last": 1}])
@pytest.mark.parametrize("query", [{}, {"kind": "fraud"}])
def test_maps_answer_as_the_months_do(months, query):
    release = release_of()
    single = release.at(**months, **query)
    asked = {**months, **query, "box": BOXES.tolist()}
    np.testing.assert_allclose(single.answer(BOXES), np.ravel(release.answer(**asked)))
    ends = release.interval(**asked).reshape(-1, 2)
    # Grids end intervals on the lattice of the noise.
    np.testing.assert_allclose(single.interval(BOXES, about="noise"), ends, atol=release.step)
    assert single.privacy == release.privacy


def test_maps_of_months_are_saved_drawn_and_explored(tmp_path):
    single = release_of().at(last=2, kind="theft")
    single.save(tmp_path / "month.parquet")
    loaded = sdp.load(tmp_path / "month.parquet")
    np.testing.assert_array_equal(loaded.answer(BOXES), single.answer(BOXES))
    np.testing.assert_array_equal(loaded.interval(BOXES), single.interval(BOXES))
    assert single.plot().figure.axes
    single.explore(tmp_path / "month.html")
    assert (tmp_path / "month.html").stat().st_size > 10_000


def test_months_of_zones_have_maps_whose_levels_add_up():
    zones = sdp.Zones.from_codes(["a1", "a2", "b1"], None, {"letter": 1, "code": 2})
    series = sdp.Running(6).start(sdp.Frame(zones), epsilon=1, delta=1e-6)
    release = series.add(sdp.Codes(["a1", "b1", "b1"]), noise=sdp.SeededNoise(1))
    single = release.at()
    assert single.answer("a") == pytest.approx(single.answer("a1") + single.answer("a2"))
    for code in ("a", "a1", "b1"):
        assert single.answer(code) == pytest.approx(release.answer(zone=code))
        np.testing.assert_allclose(single.interval(code, about="noise"), release.interval(zone=code))


def test_maps_refuse_lists_and_space():
    with pytest.raises(ParameterError, match="is a list"):
        release_of().at(kind=["theft", "fraud"])
    with pytest.raises(ParameterError, match="shows all of space"):
        release_of().at(box=(0, 0, 1, 1))
    with pytest.raises(ParameterError):
        release_of().at(last=7)
