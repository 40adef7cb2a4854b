"""Every estimate: what the protocol's methods promise to each other, for every mechanism on every domain."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import shapely

import spatialdp as sdp
from tests.helpers.cases import CASES, DOMAINS, in_turn, possible, terms

every_estimate = pytest.mark.parametrize(
    ("case", "region"),
    [each for each in in_turn(CASES, list(DOMAINS)) if possible(*each.values, "add-remove")],
    ids=lambda value: value.replace(" ", "-"),
)


@cache
def release_of(case, region):
    domain = DOMAINS[region]
    xmin, ymin, xmax, ymax = domain.bounds
    points = np.random.default_rng(5).uniform((xmin, ymin), (xmax, ymax), (150, 2))
    return CASES[case].release(points, domain, noise=sdp.SeededNoise(2), **terms(CASES[case], "add-remove"))


def tiles(domain, columns=5, rows=3):
    """Boxes that partition a domain, across the cells of every grid in the list."""
    xmin, ymin, xmax, ymax = domain.bounds
    x, y = np.linspace(xmin, xmax, columns + 1), np.linspace(ymin, ymax, rows + 1)
    return np.array([(x[i], y[j], x[i + 1], y[j + 1]) for i in range(columns) for j in range(rows)])


@every_estimate
def test_answers_of_a_partition_add_up_to_the_total(case, region):
    release = release_of(case, region)
    if release.estimate.consistent and release.estimate.kind == "tree":
        assert release.answer(tiles(release.domain), extrapolate=False).sum() == pytest.approx(release.total, abs=1e-6)
    # The total of a field is that of its unbiased reading.
    total = release.estimate.values.sum() if release.estimate.kind == "field" else release.total
    assert release.answer(release.domain.bounds) == pytest.approx(total, abs=1e-6)


@every_estimate
def test_leaves_are_answered_with_their_own_values(case, region):
    estimate = release_of(case, region).estimate
    boxes, values = estimate.leaf_boxes(), estimate.leaf_values()
    assert len(boxes) == len(values) == estimate.n_cells
    if estimate.n_cells > 1:  # a box around all cells of a region is answered as the whole grid
        assert estimate.answer(boxes) == pytest.approx(values, abs=1e-6)
    assert np.array_equal(estimate.leaf_boxes(np.array([0, len(boxes) - 1])), boxes[[0, -1]])


@every_estimate
def test_moments_of_all_leaves_are_those_of_their_boxes(case, region):
    estimate = release_of(case, region).estimate
    if estimate.n_cells == 1:
        pytest.skip("the only cell is answered as the whole grid")
    for at_once, one_by_one in zip(estimate.leaf_moments(), estimate.moments(estimate.leaf_boxes()), strict=True):
        assert at_once == pytest.approx(one_by_one, rel=1e-6, abs=1e-9)


@every_estimate
def test_noise_has_no_negative_variance_and_none_where_nothing_lies(case, region):
    release = release_of(case, region)
    variance, kurtosis = release.estimate.moments(release.domain.boxes(tiles(release.domain)))
    assert np.all(variance >= 0)
    assert np.all(np.isfinite(kurtosis))
    xmin, ymin, _, _ = release.domain.bounds
    nothing = release.domain.boxes((xmin, ymin, xmin, ymin))
    assert release.estimate.answer(nothing) == pytest.approx([0], abs=1e-9)
    assert release.estimate.moments(nothing)[0] == pytest.approx([0], abs=1e-9)


@every_estimate
def test_whole_leaves_have_no_error_of_uneven_spread(case, region):
    estimate = release_of(case, region).estimate
    assert not np.any(estimate.uniformity(estimate.leaf_boxes()) > 1e-6)
    assert np.all(estimate.uniformity(estimate.leaf_boxes() // 2) >= -1e-9)  # differences of prefix sums


@every_estimate
def test_a_polygon_that_is_a_box_is_answered_as_the_box(case, region):
    release = release_of(case, region)
    boxes = tiles(release.domain)
    polygons = shapely.box(*boxes.T)
    assert release.answer_polygons(polygons) == pytest.approx(release.answer(boxes), rel=1e-5, abs=1e-4)


@every_estimate
def test_adjusted_estimates_are_biased_and_say_so(case, region):
    estimate = release_of(case, region).estimate
    if not estimate.consistent:
        with pytest.raises(sdp.SpatialDPError, match="not consistent"):
            estimate.rounded()
        return
    whole = estimate.rounded()
    assert whole.biased
    assert np.array_equal(whole.values, np.rint(whole.values))
