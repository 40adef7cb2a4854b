"""Synthetic points: they follow the release, stay in their cells and in the region, and cost nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import shapely
from scipy.stats import chi2

import spatialdp as sdp
from spatialdp.errors import ParameterError, ReleaseError
from spatialdp.estimates.sampling import draw_in_rows
from spatialdp.records.counting import count_cells
from spatialdp.records.points import as_points
from tests.helpers.cases import SMALL, fits_any_domain, has_few_cells, in_turn, select, terms

BOUNDS = (10.0, 20.0, 17.0, 29.0)
REGION = shapely.Polygon([(10.5, 20.5), (16.8, 21), (15, 28.5), (11, 27)])
VARIANTS = select(SMALL, fits_any_domain, has_few_cells)
N = 20_000
SETTINGS = [pytest.param(each.values, marks=each.marks) for each in in_turn(VARIANTS, (None, REGION))]


@pytest.fixture(params=SETTINGS, ids=lambda pair: f"{pair[0]}-{'region' if pair[1] else 'whole'}")
def release(request):
    (name, region), rng = request.param, np.random.default_rng(5)
    domain, mechanism = sdp.Domain(BOUNDS, region=region), VARIANTS[name]
    xy = rng.normal((13, 25), 1.5, (3000, 2))
    return mechanism.release(xy, domain, noise=sdp.SeededNoise(3), **terms(mechanism, "add-remove"))


def counts_in(boxes, domain, points):
    x, y = (axis.positions(points[:, i])[:, None] for i, axis in enumerate(domain.axes))
    inside = (boxes[:, 0] <= x) & (x < boxes[:, 2]) & (boxes[:, 1] <= y) & (y < boxes[:, 3])
    assert (inside.sum(axis=1) == 1).all(), "every point is in exactly one cell"
    return inside.sum(axis=0)


def distance(counts, expected):
    """χ² over cells that expect at least 5, the others together; and its 1 - 1e-7 quantile."""
    large = expected >= 5
    parts = [np.append(values[large], values[~large].sum()) for values in (counts, expected)]
    kept = parts[1] > 0
    assert parts[0][~kept].sum() == 0
    statistic = ((parts[0] - parts[1])[kept] ** 2 / parts[1][kept]).sum()
    return statistic, chi2.isf(1e-7, kept.sum() - 1)


@pytest.mark.statistical
def test_points_follow_the_release_and_a_wrong_one_is_noticed(release):
    estimate = release.estimate
    if getattr(estimate, "consistent", True):
        estimate = release.non_negative().estimate
    weights = np.maximum(estimate.leaf_values(), 0)
    boxes = estimate.leaf_boxes()
    counts = counts_in(boxes, release.domain, release.sample(N, noise=sdp.SeededNoise(1)))
    statistic, limit = distance(counts, N * weights / weights.sum())
    assert statistic < limit
    wrong = weights * np.linspace(0.6, 1.4, weights.size)
    statistic, limit = distance(counts, N * wrong / wrong.sum())
    assert statistic > limit


@pytest.mark.statistical
def test_points_are_even_within_a_cell():
    release = sdp.Flat((1, 1)).release([[12, 22]] * 10, sdp.Domain(BOUNDS), epsilon=10)
    fine = sdp.Flat((8, 8)).release([], sdp.Domain(BOUNDS), epsilon=1).estimate.leaf_boxes()
    counts = counts_in(fine, release.domain, release.sample(N, noise=sdp.SeededNoise(2)))
    statistic, limit = distance(counts, np.full(64, N / 64))
    assert statistic < limit


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.audit if i % 2 else ()) for i, name in enumerate(VARIANTS)]
)
def test_points_stay_in_the_region(name):
    mechanism, domain = VARIANTS[name], sdp.Domain(BOUNDS, region=REGION)
    release = mechanism.release([[13, 25]] * 3000, domain, **terms(mechanism, "add-remove"))
    points = release.sample(N)
    assert count_cells(as_points(points, domain), domain.grid((1024, 1024))).sum() == N
    assert shapely.distance(REGION, shapely.points(points)).max() < 0.01  # the diagonal of a raster cell


@pytest.mark.statistical
def test_points_of_leaves_across_the_border_are_even_within_the_region():
    domain = sdp.Domain((0, 0, 1, 1), region=shapely.Polygon([(0, 0), (1, 0), (0, 1)]))
    release = sdp.KdTree(height=0).release([[0.1, 0.1]] * 1000, domain, epsilon=10)
    points = release.sample(N, noise=sdp.SeededNoise(4))
    assert (points.sum(axis=1) < 1.002).all()
    # A quarter of the triangle lies beyond x = 1/2; standard deviation 0.003.
    assert np.mean(points[:, 0] > 0.5) == pytest.approx(0.25, abs=0.02)


def test_by_default_as_many_points_are_drawn_as_the_release_estimates():
    domain = sdp.Domain(BOUNDS, crs="EPSG:4326")
    release = sdp.Quadtree(height=3).release([[12, 22]] * 500, domain, epsilon=1)
    assert release.sample().shape == (round(release.total), 2)
    frame = release.sample(7, as_geodataframe=True)
    assert len(frame) == 7
    assert frame.crs == "EPSG:4326"
    assert set(frame.geom_type) == {"Point"}
    assert release.sample(0).shape == (0, 2)
    same = [release.sample(9, noise=sdp.SeededNoise(1)).tolist() for _ in range(2)]
    assert same[0] == same[1]
    with pytest.raises(ParameterError, match="n is -1; it must be a whole number"):
        release.sample(-1)
    with pytest.raises(ParameterError, match=r"n is 1\.5"):
        release.sample(1.5)


def test_nothing_to_draw_from():
    release = sdp.Flat((1, 1)).release([], sdp.Domain(BOUNDS), epsilon=100)
    assert release.sample().shape == (0, 2)
    with pytest.raises(ReleaseError, match="no estimate of this release is above zero"):
        release.sample(5)


def test_points_snap_back_in_far_domains():
    domain = sdp.Domain((5e6, 6e6, 5e6 + 1000, 6e6 + 700))
    release = sdp.Flat((3, 7)).release([[5e6 + 10, 6e6 + 10]] * 100, domain, epsilon=100)
    points = release.sample(1000)
    assert counts_in(release.estimate.leaf_boxes(), domain, points)[0] == 1000


def test_nobody_draws_billions_by_default():
    """A forged total would otherwise ask for tens of gigabytes; who gives a number means it."""
    domain = sdp.Domain((0, 0, 1, 1))
    release = sdp.Flat((1, 1)).release([], domain, epsilon=1)
    large = replace(release, estimate=replace(release.estimate, values=np.full((1, 1), 1e12)))
    with pytest.raises(ReleaseError, match="Give n"):
        large.sample()
    assert large.sample(3).shape == (3, 2)


@pytest.mark.statistical
def test_columns_are_drawn_in_proportion_to_their_row():
    rows, numbers = np.array([[1.0, 0, 3], [5, 5, 0], [0, 0, 2]]), np.repeat([0, 1, 2, 0], 10_000)
    drawn = draw_in_rows(rows, numbers, sdp.SeededNoise(1))
    seen = np.zeros((3, 3))
    np.add.at(seen, (numbers, drawn), 1)
    np.testing.assert_allclose(
        seen / seen.sum(axis=1, keepdims=True), rows / rows.sum(axis=1, keepdims=True), atol=0.02
    )
    assert not seen[rows == 0].any()
