"""`compare` finds planted leaks, keeps private releases within their bounds, and refuses what it cannot compare."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import geopandas
import numpy as np
import pandas as pd
import pytest

import spatialdp as sdp
from spatialdp import contrast
from spatialdp.errors import ParameterError

DOMAIN = sdp.Domain((0, 0, 1, 1))


@pytest.fixture(scope="module")
def compared():
    rng = np.random.default_rng(1)
    points = rng.random((6000, 2)) * 1.1
    return contrast.compare(points, rng.integers(0, 12, 6000), DOMAIN, k=(5, 20), releases=4, epsilon=Fraction(1, 2))


def rows(compared, release):
    return [row for row in compared.attacks if row.release == release]


def test_more_releases_give_more_away(compared):
    small, large = rows(compared, "5-anonymous"), rows(compared, "20-anonymous")
    assert [row.number for row in small] == [1, 2, 3, 4]
    assert all(one.sure <= two.sure for one, two in pairwise(small))
    assert small[-1].sure > 0.3 > large[-1].sure
    assert all(row.alone <= row.sure for row in small)


def test_members_are_guessed_better_and_others_at_chance(compared):
    last = rows(compared, "5-anonymous")[-1]
    error = (1 / 12 * 11 / 12 / compared.members) ** 0.5
    assert abs(last.others - 1 / 12) < 5 * error
    assert last.advantage > 0.3


def test_private_releases_are_within_their_bounds(compared):
    for label, budget in (("ε = 1/2 in all", Fraction(1, 8)), ("ε = 1/2 each", Fraction(1, 2))):
        for row in rows(compared, label):
            assert row.budget == budget * row.number
            assert row.bound == contrast.bounds(budget, row.number).advantage
            assert (row.alone, row.sure) == (0.0, 0.0)
            error = (0.25 / compared.members) ** 0.5 * 2**0.5
            assert row.advantage < row.bound + 5 * error


@pytest.mark.parametrize(
    ("release", "recorded"),
    [("5-anonymous", 0.63), ("20-anonymous", 0.12), ("ε = 1/2 in all", 0.02), ("ε = 1/2 each", 0.17)],
)
def test_advantages_are_those_that_were_recorded(compared, release, recorded):
    error = (0.25 / compared.members) ** 0.5  # of a difference of two shares, at most this and a half
    assert abs(rows(compared, release)[-1].advantage - recorded) < 5 * error


def test_an_attack_without_noise_would_break_the_bound():
    """The test above can fail: with hardly any noise and cells of one record, members are all guessed."""
    rng = np.random.default_rng(2)
    points, kinds = rng.random((1500, 2)), rng.integers(0, 12, 1500)
    fine = sdp.Flat((256, 256))
    loud = contrast.compare(points, kinds, DOMAIN, releases=2, epsilon=50, mechanism=fine, box_mechanism=fine)
    limit = contrast.bounds(Fraction(1, 2), 2).advantage
    assert rows(loud, "ε = 50 each")[-1].advantage > limit + 0.3


def test_records_outside_are_left_out_and_said(compared):
    assert compared.records + compared.outside == 6000
    assert compared.outside > 500
    assert f"{compared.outside:,} more are outside" in compared.table()


def test_boxes_are_less_exact_for_larger_groups(compared):
    for row in compared.boxes:
        assert row.errors["k = 5"] < row.errors["k = 20"]
        assert row.widths["k = 5"] < row.widths["k = 20"]
    assert set(compared.boxes[0].errors) == {"k = 5", "k = 20", "ε = 1/2", "ε = 1/20"}


def test_true_counts_of_boxes_are_those_of_a_plain_count(compared):
    assert [row.share for row in compared.boxes] == [0.001, 0.01, 0.1]
    assert compared.boxes[-1].count == pytest.approx(0.1 * compared.records, rel=0.1)


def test_two_boxes_have_fewer_people_in_common(compared):
    for row, k in zip(compared.leaks, (5, 20), strict=True):
        assert row.in_both < row.in_group
        assert 0 < row.fewer_than_k < 1
        assert row.in_group >= k


def test_the_same_seed_gives_the_same_tables():
    points, kinds = np.random.default_rng(3).random((400, 2)), np.arange(400) % 4
    one, same, other = (contrast.compare(points, kinds, DOMAIN, releases=2, seed=seed).table() for seed in (1, 1, 2))
    assert one == same != other


def test_frames_and_geometries_are_taken():
    rng = np.random.default_rng(4)
    array, kinds = rng.random((200, 2)), pd.Series(rng.integers(0, 3, 200).astype(str))
    geometries = geopandas.GeoSeries(geopandas.points_from_xy(array[:, 0], array[:, 1]))
    tables = {contrast.compare(points, kinds, DOMAIN, k=2, releases=2).table() for points in (array, geometries)}
    assert len(tables) == 1


def test_regions_leave_records_out():
    from shapely.geometry import box

    domain = sdp.Domain((0, 0, 1, 1), region=box(0, 0, 0.5, 1))
    points = np.random.default_rng(5).random((400, 2))
    found = contrast.compare(points, np.arange(400) % 3, domain, k=2, releases=2)
    assert abs(found.records - (points[:, 0] < 0.5).sum()) < 5


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"domain": (0, 0, 1, 1)}, "domain is a tuple"),
        ({"sensitive": [1]}, "different lengths"),
        ({"overlap": 60}, "overlap is 60"),
        ({"releases": 1}, "releases is 1"),
        ({"k": 0}, "k is 0"),
        ({"sensitive": np.arange(100).astype(str), "points": None}, "two columns"),
    ],
)
def test_nonsense_is_refused(changes, complaint):
    points = np.random.default_rng(6).random((100, 2))
    given = {"points": points, "sensitive": np.arange(100) % 3, "domain": DOMAIN} | changes
    if given["points"] is None:
        given["points"] = {"x": points[:, 0]}
    with pytest.raises(ParameterError, match=complaint):
        contrast.compare(given.pop("points"), given.pop("sensitive"), given.pop("domain"), **given)
