"""Released trajectories: what is drawn stays in the domain, repeats with a seed, and can be saved and certified."""

from __future__ import annotations

import numpy as np
import pytest
import shapely

import spatialdp as sdp
from spatialdp.errors import ReleaseError
from tests.helpers.trajectory_cases import REGION, tracks_of

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
        if release.total <= 0:
            with pytest.raises(ReleaseError, match="no pair of ends"):
                release.sample(3)
            return
    raise AssertionError("every total came out above zero")


@pytest.mark.parametrize("epsilon", [0.5, 100])
@pytest.mark.parametrize("systems", [(3,), (2, 3), (5,)])
def test_nothing_leaves_the_region_not_even_to_an_island(systems, epsilon):
    mechanism = sdp.Trajectories(longest=12, ends=2, systems=systems)
    walks = [[0, 1, 9, 8], [0, 63, 63], [63, 63], [63, 0], [0, 7, 56, 1]] * 200
    release = mechanism.release(tracks_of(walks), REGION, epsilon=epsilon, noise=sdp.SeededNoise(1))
    for seed in range(3):
        drawn = release.positions(400, noise=sdp.SeededNoise(seed))
        away = shapely.distance(shapely.points(drawn.x, drawn.y), REGION.region)
        assert away.max() < 1e-9
    assert ((drawn.x > 7) == (drawn.y > 7)).all()


def test_fixes_outside_of_the_region_count_nowhere():
    """Cells 7 and 56 do not touch the region; cell 3 does, although its centre is outside."""
    mechanism = sdp.Trajectories(longest=12, ends=2, systems=(3,))
    releases = [
        mechanism.release(tracks_of(walks), REGION, epsilon=1, noise=sdp.SeededNoise(1))
        for walks in ([[0, 1], [3]] * 50, [[0, 1], [3], [7], [56, 56]] * 50, [[0, 1], [3, 8]] * 50)
    ]
    totals = [each.estimate.ends.values.tolist() for each in releases]
    assert totals[0] == totals[1] != totals[2]
    assert mechanism.plan(REGION, epsilon=1).missed == 0


@pytest.mark.statistical
def test_intervals_cover_the_truth_as_often_as_they_say():
    """Pairs of ends, sums of them, lengths, extents and the total, in 150 releases of 400 trajectories."""
    tracks, domain = tracks_of(WALKS[:400]), sdp.Domain((0, 0, 8, 8))
    prepared = sdp.Trajectories(longest=9, ends=1, systems=(2,)).prepare(domain, epsilon=1)
    exact = sdp.Trajectories(longest=9, ends=1, systems=(2,)).release(tracks, domain, epsilon=1000)
    covered = []
    for seed in range(150):
        release = prepared.release(tracks, noise=sdp.SeededNoise(seed))
        tables = [(each.low, each.high) for each in (release.lengths(), release.extents(), release.flows.to_frame())]
        truths = [exact.lengths().trajectories, exact.extents().trajectories, exact.flows.to_frame().flow]
        tables.append(tuple(release.flows.interval(origin=(0, 0, 4, 4))[:, None]))
        tables.append(tuple(release.interval()[:, None]))
        truths += [np.array([exact.flows.answer(origin=(0, 0, 4, 4))]), np.array([exact.total])]
        covered.append([np.mean((low <= of) & (of <= high)) for (low, high), of in zip(tables, truths, strict=True)])
    shares = np.mean(covered, axis=0)
    assert (shares > 0.9).all()
    assert (shares[:3] < 0.99).all()


def test_lengths_extents_and_ends_are_those_of_the_trajectories():
    exact = sdp.Trajectories(longest=9, ends=1, systems=(2,)).release(
        tracks_of(WALKS), sdp.Domain((0, 0, 8, 8)), epsilon=1000
    )
    assert exact.lengths().trajectories.round().tolist()[:4] == [200, 200, 0, 200]
    wide = exact.extents().round(3)
    assert wide[wide.trajectories > 0][["from", "to", "trajectories"]].values.tolist() == [
        [0.0, 0.008, 200.0],
        [0.125, 0.167, 200.0],
        [0.25, 0.5, 200.0],
    ]
    assert exact.flows.answer(origin=(0, 0, 4, 4)) == pytest.approx(400)
    assert exact.flows.places()["begin"].round().tolist() == [400, 0, 0, 200]
    assert exact.lengths().attrs["privacy"]["mechanism"] == "trajectories"


def test_a_release_is_certified_and_shows_no_number(release, tmp_path):
    private = sdp.Trajectories().release(tracks_of(WALKS), sdp.Domain((0, 0, 8, 8)), epsilon=1)
    private.certificate(tmp_path / "certificate.md")
    page = (tmp_path / "certificate.md").read_text(encoding="utf-8")
    assert "whole trajectories" in page
    assert repr(release).startswith("<TrajectoryRelease in ")
    assert "600" not in repr(release)
