"""Releases: answers, intervals, totals, and what they refuse."""

from __future__ import annotations

import dataclasses
import json
import math

import numpy as np
import pytest
import shapely
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import spatialdp as sdp
from spatialdp.errors import ParameterError, ReleaseError
from spatialdp.estimates.grid_noise import IndependentNoise
from spatialdp.estimates.histogram import Histogram
from spatialdp.privacy.noise.source import SeededNoise
from spatialdp.records.counting import count_cells
from spatialdp.space.questions import outside_boxes
from tests.helpers.boxes import coverage_in_region, every_cell
from tests.helpers.sources import ZeroNoise

REGION = shapely.Polygon([(0, 0), (8, 0), (8, 5), (3, 6), (0, 3)])
RNG = np.random.default_rng(3)
XY = RNG.uniform((0, 0), (8, 6), size=(500, 2))


def exact_release(shape, region=None):
    domain = sdp.Domain((0, 0, 8, 6), region=region)
    return sdp.Flat(shape).release(XY, domain, epsilon=1, noise=ZeroNoise())


def brute_force(release, box, power=1, values=None):
    """The sum over cells of value x covered share, of the cell's area in the region, by the definition."""
    grid = release.estimate.grid
    values = release.estimate.values if values is None else values
    inside = grid.mask.ravel()
    shares = coverage_in_region(every_cell(grid)[inside], release.domain.boxes(box), release.domain)[0]
    return float(shares**power @ values.ravel()[inside])


edge = st.one_of(st.floats(-2, 10), st.sampled_from([0.0, 8.0, 6.0, 4.0, 2.0, -math.inf, math.inf]))


@settings(deadline=None)
@given(st.tuples(edge, edge, edge, edge), st.sampled_from([(1, 1), (8, 6), (5, 7), (16, 3)]), st.booleans())
def test_answers_equal_the_sum_over_cells(corners, shape, masked):
    x0, y0, x1, y1 = corners
    box = min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1)
    release = exact_release(shape, REGION if masked else None)
    assume(not outside_boxes(box, release.domain)[0])
    assert release.answer(box) == pytest.approx(brute_force(release, box), abs=1e-9)
    variance, kurtosis = release.estimate.moments(release.domain.boxes(box))
    mask = release.estimate.grid.mask
    squares = brute_force(release, box, 2, mask)
    assert variance[0] == pytest.approx(release.estimate.noise.variance * squares, abs=1e-9)
    if squares > 1e-12:
        fourths = brute_force(release, box, 4, mask)
        assert kurtosis[0] == pytest.approx(release.estimate.noise.kurtosis * fourths / squares**2, rel=1e-6)


def test_boxes_of_whole_cells_count_the_records_in_them():
    release = exact_release((8, 6))
    for box in ((0, 0, 8, 6), (1, 2, 5, 6), (7, 5, 8, 6), (3, 0, 4, 1)):
        x0, y0, x1, y1 = box
        inside = (XY[:, 0] >= x0) & (XY[:, 0] < x1) & (XY[:, 1] >= y0) & (XY[:, 1] < y1)
        assert release.answer(box) == inside.sum()
    assert release.total == len(XY)


def test_one_box_is_a_number_and_many_are_an_array():
    release = exact_release((4, 4))
    assert isinstance(release.answer((0, 0, 1, 1)), float)
    assert release.answer(np.zeros((0, 4))).shape == (0,)
    assert release.answer([(0, 0, 8, 6)] * 3).shape == (3,)
    assert release.interval((0, 0, 1, 1)).shape == (2,)
    assert release.interval([(0, 0, 1, 1)]).shape == (1, 2)


def test_boxes_that_cover_nothing():
    release = sdp.Flat((4, 4)).release(XY, sdp.Domain((0, 0, 8, 6)), epsilon=1)
    for box in ((0, 0, 0, 0), (1, 1, 1, 5), (2, 3, 2, 3)):
        assert release.answer(box) == 0
        assert release.interval(box).tolist() == [0, 0]


def test_release_is_frozen():
    release = exact_release((4, 4))
    for thing, name in ((release, "domain"), (release.privacy, "epsilon"), (release.estimate, "values")):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(thing, name, None)
    with pytest.raises(ValueError, match="read-only"):
        release.estimate.values[0, 0] = 1
    with pytest.raises(TypeError):
        release.privacy.budget["counts"] = 0


def test_estimates_are_copied_so_that_nobody_can_change_them_later():
    grid = sdp.Domain((0, 0, 1, 1)).grid((2, 2))
    values = np.ones((2, 2))
    histogram = Histogram(grid, values, IndependentNoise(grid, 1.0, 0.0, 0.0))
    values[:] = 7
    assert histogram.total == 4


@pytest.mark.parametrize("level", [0, 1, -0.5, 1.5, 0.9999, math.nan, "0.95"])
def test_levels_outside_zero_and_one_are_refused(level):
    with pytest.raises(ParameterError, match="level"):
        exact_release((4, 4)).interval((0, 0, 1, 1), level)


def test_truncated_releases_offer_no_interval():
    release = sdp.Flat((4, 4), truncate=10).release(XY, sdp.Domain((0, 0, 8, 6)), epsilon=1)
    assert release.estimate.biased
    with pytest.raises(ReleaseError, match="truncated, rounded"):
        release.interval((0, 0, 8, 6))


def test_repr_shows_the_promise_and_not_the_total():
    release = exact_release((4, 4))
    assert repr(release) == repr(sdp.Flat((4, 4)).release([], release.domain, epsilon=1, noise=ZeroNoise()))
    assert "NOT PRIVATE" in repr(release)


@pytest.mark.statistical
@pytest.mark.parametrize(("law", "delta"), [("discrete-laplace", 0), ("laplace", 0), ("gaussian", 1e-6)])
def test_intervals_cover_as_often_as_they_say(law, delta):
    domain = sdp.Domain((0, 0, 8, 6), region=REGION)
    truth = exact_release((16, 12), REGION)
    corners = np.sort(RNG.uniform((0, 0), (8, 6), size=(300, 2, 2)), axis=1).reshape(-1, 4)
    prepared, hits = sdp.Flat((16, 12), law=law).prepare(domain, epsilon=0.5, delta=delta), []
    for seed in range(60):
        release = prepared.release(XY, noise=SeededNoise(seed))
        ends = release.interval(corners, level=0.9, about="noise")
        answers = truth.answer(corners)
        hits.append((ends[:, 0] <= answers) & (answers <= ends[:, 1]))
    # 18,000 answers from 60 independent releases; fixed seeds. Too narrow or too wide by a tenth both fail.
    assert 0.89 < np.mean(hits) < 0.925


def test_total_is_noisy():
    domain = sdp.Domain((0, 0, 8, 6))
    totals = {sdp.Flat((8, 6)).release(XY, domain, epsilon=0.1, noise=SeededNoise(s)).total for s in range(5)}
    assert len(totals) == 5
    assert count_cells(sdp.Points(XY), domain.grid((8, 6))).sum() == len(XY)


def test_frames_carry_the_whole_privacy_statement(tmp_path):
    """And so does a Parquet file that pandas or geopandas writes of them."""
    domain = sdp.Domain((0, 0, 8, 6))
    for noise in (None, SeededNoise(1)):
        release = sdp.Flat((4, 4)).release(XY, domain, epsilon=1, noise=noise)
        for frame in (release.to_geodataframe(), release.sample(3, as_geodataframe=True)):
            statement = dict(frame.attrs["privacy"])
            assert statement.pop("summary") == str(release.privacy)
            assert sdp.Privacy.from_json(statement) == release.privacy
            assert ("NOT PRIVATE" in str(frame.attrs)) is (noise is not None)
            assert frame.head(2).attrs == frame.attrs
            json.dumps(frame.attrs)


def test_notebooks_show_a_release_as_a_table():
    domain = sdp.Domain((0, 0, 1, 1), crs="EPSG:4326", region=shapely.box(0, 0, 1, 0.6))
    release = sdp.Flat((4, 4)).release([], domain, epsilon=1)
    text = release._repr_html_()
    for words in ("EPSG:4326", "a part of the bounds", str(release.privacy), f"{release.estimate.n_cells:,}"):
        assert words in text
    assert "NOT PRIVATE" not in text
    seeded = sdp.Flat((4, 4)).release([], domain, epsilon=1, noise=sdp.SeededNoise(1)).non_negative()
    assert "NOT PRIVATE" in seeded._repr_html_()
    assert "none: the estimates are biased" in seeded._repr_html_()
