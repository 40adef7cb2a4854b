"""Released trajectories: what is drawn stays in the domain, repeats with a seed, and can be saved and certified."""

from __future__ import annotations

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.errors import ReleaseError
from tests.helpers.trajectory_cases import tracks_of

WALKS = [[0, 1, 2, 10], [63, 62], [9]] * 200


@pytest.fixture
def release():
    domain = sdp.Domain((-100.5, 3, -99, 7.25), crs="EPSG:4326")
    rng = np.random.default_rng(1)
    x, y = rng.uniform(-101, -99, 3000), rng.uniform(2.5, 7.5, 3000)
    times = np.datetime64("2024-01-01") + rng.integers(0, 3600, 3000).astype("timedelta64[s]")
    tracks = sdp.Tracks(sdp.Points(x, y), tid=rng.integers(0, 400, 3000), time=times)
    return sdp.Trajectories(longest=64).release(tracks, domain, epsilon=20, noise=sdp.SeededNoise(1))


def test_nothing_leaves_the_domain(release):
    for seed in range(3):
        drawn = release.positions(500, noise=sdp.SeededNoise(seed))
        assert ((drawn.x >= -100.5) & (drawn.x <= -99)).all()
        assert ((drawn.y >= 3) & (drawn.y <= 7.25)).all()


def test_samples_repeat_with_a_seed_and_follow_the_total(release):
    one, other = (release.sample(noise=sdp.SeededNoise(5)) for _ in range(2))
    assert one.equals(other)
    assert one.tid.nunique() == round(release.total)
    assert one.crs == "EPSG:4326"
    assert one.attrs["privacy"]["mechanism"] == "trajectories"
    assert (one.time.min(), one.time.dt.second.max()) == (np.datetime64("1970-01-01"), 0)
    assert (one.groupby("tid").time.diff().dropna() == np.timedelta64(60, "s")).all()


def test_a_trajectory_that_stays_in_a_cell_stands_still():
    domain = sdp.Domain((0, 0, 8, 8))
    release = sdp.Trajectories().release(tracks_of([[9] * 5] * 300), domain, epsilon=1000, noise=sdp.SeededNoise(1))
    drawn = release.sample(100, noise=sdp.SeededNoise(2))
    assert (drawn.groupby("tid").x.nunique() == 1).mean() > 0.9


def test_no_trajectories_can_be_asked_for(release):
    assert release.sample(0).empty
    with pytest.raises(sdp.SpatialDPError, match="n is"):
        release.sample(-1)


def test_an_empty_release_says_so_in_words():
    domain = sdp.Domain((0, 0, 8, 8))
    for seed in range(9):
        release = sdp.Trajectories().release(tracks_of([]), domain, epsilon=1, noise=sdp.SeededNoise(seed))
        if not release.estimate.pairs.size:
            with pytest.raises(ReleaseError, match="no pair of ends"):
                release.sample(3)
            return
    raise AssertionError("every list had a pair without trajectories")


def test_a_release_is_certified_and_shows_no_number(release, tmp_path):
    private = sdp.Trajectories().release(tracks_of(WALKS), sdp.Domain((0, 0, 8, 8)), epsilon=1)
    private.certificate(tmp_path / "certificate.md")
    page = (tmp_path / "certificate.md").read_text(encoding="utf-8")
    assert "whole trajectories" in page
    assert repr(release).startswith("<TrajectoryRelease in ")
    assert "600" not in repr(release)
