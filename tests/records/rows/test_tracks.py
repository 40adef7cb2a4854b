"""Trajectories: positions at equal steps of time, as a slow and plain reading of the rule gives them."""

from __future__ import annotations

import geopandas
import numpy as np
import pandas as pd
import pytest

import spatialdp as sdp
from spatialdp.errors import PointsError
from spatialdp.records.rows.tracks import as_tracks, paths_of

DOMAIN = sdp.Domain((0, 0, 1, 1))
MINUTE = 60_000_000


def plain_paths(frame, step, longest, most=None):
    """The positions of each trajectory, by loops."""
    inside = frame[(frame.x >= 0) & (frame.x <= 1) & (frame.y >= 0) & (frame.y <= 1)].dropna()
    found = []
    for key, fixes in inside.sort_values(["time", "x", "y"], kind="stable").groupby(["uid", "tid"]):
        start = fixes.time.iloc[0]
        steps = min(int((fixes.time.iloc[-1] - start) / pd.Timedelta(step, "s")), longest)
        seen = [fixes[fixes.time <= start + pd.Timedelta(step * i, "s")].iloc[-1] for i in range(steps + 1)]
        found.append((key[0], start, [(each.x, each.y) for each in seen]))
    if most is not None:
        found.sort(key=lambda each: (each[0], each[1]))
        firsts = [0] * 0
        for place, each in enumerate(found):
            if sum(other[0] == each[0] for other in found[:place]) < most:
                firsts.append(each)
        found = firsts
    return sorted(each[2] for each in found)


def some_frame(seed, count=300):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "uid": rng.choice(["ann", "bob", "eve"], count),
            "tid": rng.integers(0, 9, count),
            "time": pd.Timestamp("2024-03-01") + pd.to_timedelta(rng.permutation(2000)[:count] * 7, unit="s"),
            "x": (rng.integers(-20, 1040, count) / 1024),
            "y": rng.integers(0, 1024, count) / 1024,
        }
    )


def as_lists(paths):
    xy = np.stack([paths.columns / 2**30, paths.rows / 2**30], axis=1)
    return sorted([tuple(each) for each in part.tolist()] for part in np.split(xy, paths.starts[1:-1]))


@pytest.mark.parametrize("most", [None, 1, 4])
@pytest.mark.parametrize(("step", "longest"), [(60, 10), (7, 2000), (3600, 3)])
def test_positions_are_those_of_the_rule(step, longest, most):
    frame = some_frame(step)
    tracks = sdp.Tracks.from_frame(frame, person="uid")
    bound = None if most is None else sdp.Person(records=most)
    paths = paths_of(tracks, DOMAIN, step * 10**6, longest, bound)
    assert as_lists(paths) == plain_paths(frame, step, longest, most)
    assert paths.sizes.min() >= 1
    assert paths.sizes.max() <= longest + 1


def test_what_is_kept_of_a_person_depends_on_this_person_alone():
    frame = some_frame(5)
    everyone, ann = (
        paths_of(sdp.Tracks.from_frame(each, person="uid"), DOMAIN, MINUTE, 60, sdp.Person(records=2))
        for each in (frame, frame[frame.uid == "ann"])
    )
    assert all(each in as_lists(everyone) for each in as_lists(ann))


def test_fixes_that_are_nowhere_count_nowhere():
    frame = some_frame(6, 60)
    strays = pd.DataFrame(
        {
            "uid": ["ann", None, "bob", "new"],
            "tid": [1, 2, None, 70],
            "time": [pd.NaT, *[pd.Timestamp("2024-03-01")] * 3],
            "x": [0.5, 0.5, 0.5, 9.0],
            "y": 0.5,
        }
    )
    both = (
        paths_of(sdp.Tracks.from_frame(each, person="uid"), DOMAIN, MINUTE, 60, sdp.Person(records=9))
        for each in (frame, pd.concat([strays, frame]))
    )
    one, other = map(as_lists, both)
    assert one == other


def test_frames_are_taken_as_they_are():
    frame = some_frame(7, 40).drop(columns="uid")
    points = geopandas.GeoDataFrame(frame, geometry=geopandas.points_from_xy(frame.x, frame.y))
    named = frame.rename(columns={"time": "datetime", "x": "lng", "y": "lat"})
    wanted = as_lists(paths_of(as_tracks(frame, DOMAIN), DOMAIN, MINUTE, 60))
    assert as_lists(paths_of(as_tracks(points, DOMAIN), DOMAIN, MINUTE, 60)) == wanted
    skmob = sdp.Tracks.from_frame(named, time="datetime", x="lng", y="lat")
    assert as_lists(paths_of(skmob, DOMAIN, MINUTE, 60)) == wanted
    text = sdp.Tracks(frame[["x", "y"]], tid=[f"{each}" for each in frame.tid], time=frame.time.astype(str).tolist())
    assert as_lists(paths_of(text, DOMAIN, MINUTE, 60)) == wanted


@pytest.mark.parametrize(("step", "longest"), [(MINUTE, 60), (10**15, 10_000), (1, 1)])
def test_times_that_are_very_far_apart_stay_in_their_own_trajectory(step, longest):
    frame = some_frame(8, 60)
    calm = sdp.Tracks(frame[["x", "y"]], tid=frame.tid, time=frame.time)
    ends = np.array([-(2**63) + 1, 2**63 - 1, 0]).astype("datetime64[us]")
    times = np.concatenate([ends, frame.time.to_numpy().astype("datetime64[us]")])
    xy = np.concatenate([[[0.5, 0.5]] * 3, frame[["x", "y"]]])
    wild = sdp.Tracks(xy, tid=np.concatenate([[4, 4, 99], frame.tid + 100]), time=times)
    one, other = (as_lists(paths_of(each, DOMAIN, step, longest)) for each in (calm, wild))
    assert len(other) == len(one) + 2
    assert all(each in other for each in one)
    assert max(map(len, other)) <= longest + 1


def test_no_fixes_are_no_trajectories():
    paths = paths_of(sdp.Tracks([], tid=[], time=[]), DOMAIN, MINUTE, 60, None)
    assert paths.starts.tolist() == [0]


def test_wrong_forms_are_refused():
    with pytest.raises(PointsError, match="different lengths"):
        sdp.Tracks([[0, 0]], tid=[1, 2], time=["2024-01-01"])
    with pytest.raises(PointsError, match="no column of the trajectories"):
        sdp.Tracks.from_frame(pd.DataFrame({"tid": [1]}))
    with pytest.raises(PointsError, match="need a time and an identifier"):
        as_tracks([[0, 0]], DOMAIN)
    with pytest.raises(PointsError, match="name their persons themselves"):
        sdp.Tracks(sdp.Points([[0, 0]], person=[1]), tid=[1], time=["2024-01-01"], person=[1])
    with pytest.raises(PointsError, match="not bounded"):
        as_tracks(sdp.Tracks([[0, 0]], tid=[1], time=["2024-01-01"], person=[1]), DOMAIN)
    with pytest.raises(PointsError, match="do not say who"):
        as_tracks(sdp.Tracks([[0, 0]], tid=[1], time=["2024-01-01"]), DOMAIN, sdp.Person(records=1))


def test_points_of_files_are_refused(tmp_path):
    path = tmp_path / "points.csv"
    path.write_text("x,y\n0,0\n")
    with pytest.raises(PointsError, match="stay in a file"):
        sdp.Tracks(sdp.read_points(path, DOMAIN, x="x", y="y"), tid=[1], time=["2024-01-01"])
