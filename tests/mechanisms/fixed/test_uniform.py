"""Uniform: one noisy total, spread evenly."""

from __future__ import annotations

import math

import numpy as np
import pytest
import shapely

import spatialdp as sdp
from spatialdp.errors import DomainError, ParameterError
from spatialdp.mechanisms import MECHANISMS
from tests.helpers.sources import RecordingNoise, ZeroNoise

DOMAIN = sdp.Domain((0, 0, 4, 4))
TRIANGLE = sdp.Domain((0, 0, 4, 4), region=shapely.Polygon([(0, 0), (4, 0), (0, 4)]))


def total(points, domain, **terms):
    return sdp.Uniform((8, 8)).release(points, domain, epsilon=1, noise=ZeroNoise(), **terms).total


@pytest.mark.parametrize("domain", [DOMAIN, TRIANGLE], ids=["rectangle", "region"])
def test_one_record_moves_the_total_by_at_most_one(domain):
    places = [[x, y] for x in (-1, 0, 0.7, 2.2, 4) for y in (0, 1.3, 3.9)] + [[math.nan, 1]]
    base = [[1, 1], [0.2, 3]]
    for place in places:
        assert total([*base, place], domain) - total(base, domain) in (0, 1)  # add or remove
        for other in places:  # replace
            assert abs(total([*base, place], domain) - total([*base, other], domain)) <= 1


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_all_of_epsilon_goes_into_one_draw_of_scale_one_over_epsilon(neighbours):
    noise = RecordingNoise(1)
    release = sdp.Uniform().release([[1, 1]], DOMAIN, epsilon=0.25, neighbours=neighbours, noise=noise)
    assert noise.calls == [("laplace", 4, (1,))]
    assert sum(release.privacy.budget.values()) == release.privacy.epsilon


def test_answers_are_shares_of_the_area():
    release = sdp.Uniform().release([[1, 1]] * 16, DOMAIN, epsilon=1, noise=ZeroNoise())
    assert release.answer([(0, 0, 1, 1), (0, 0, 4, 2), (2, 2, 2, 3)]).tolist() == [1, 8, 0]
    assert release.answer_polygons(shapely.Polygon([(0, 0), (4, 0), (0, 4)])) == pytest.approx(8)


def test_nothing_is_spread_outside_the_region():
    release = sdp.Uniform((64, 64)).release([[1, 1]] * 10, TRIANGLE, epsilon=1, noise=ZeroNoise())
    assert release.answer((3, 3, 4, 4)) == 0
    assert release.total == pytest.approx(10)
    assert release.answer((0, 0, 1, 1)) == pytest.approx(10 / 8, rel=0.05)


@pytest.mark.statistical
@pytest.mark.parametrize("law", ["discrete-laplace", "laplace", "gaussian"])
def test_variance_of_boxes_is_as_stated(law):
    """2,000 seeded releases; a tenth too much or too little would be seen."""
    delta = 1e-6 if law == "gaussian" else 0
    mechanism, boxes = sdp.Uniform((4, 4), law=law), [(0, 0, 4, 4), (0.5, 0, 2, 3)]
    prepared = mechanism.prepare(TRIANGLE, epsilon=0.5, delta=delta)
    releases = [prepared.release([], noise=sdp.SeededNoise((5, trial))) for trial in range(2000)]
    stated, _ = releases[0].estimate.moments(TRIANGLE.boxes(boxes))
    assert np.var([release.total for release in releases]) == pytest.approx(stated[0], rel=0.1)
    share = math.sqrt(stated[1] / stated[0])
    for release in releases[:20]:
        assert release.answer(boxes) == pytest.approx([release.total, share * release.total])
    expected = mechanism.expected_error(TRIANGLE, boxes, epsilon=0.5, delta=delta)
    assert expected == pytest.approx(math.sqrt(stated.mean()))
    ends = np.array([release.interval_polygons(TRIANGLE.region, about="noise") for release in releases[:100]])
    assert np.mean((ends[:, 0] <= 0) & (ends[:, 1] >= 0)) >= 0.9
    assert np.mean(ends[:, 1] - ends[:, 0]) < 5.2 * math.sqrt(stated[0])  # 2 x 2.12, and a step on either side


def test_files_keep_answers_and_intervals(tmp_path):
    release = sdp.Uniform((8, 8)).release([[1, 1]] * 9, TRIANGLE, epsilon=1)
    release.save(tmp_path / "uniform.parquet")
    again = sdp.load(tmp_path / "uniform.parquet")
    boxes = [(0, 0, 1, 1), (0.3, 0, 4, 4)]
    assert np.array_equal(again.answer(boxes), release.answer(boxes))
    assert np.array_equal(again.interval(boxes), release.interval(boxes))


def test_it_is_registered_and_refuses_nonsense():
    assert MECHANISMS["uniform"] is sdp.Uniform
    with pytest.raises(ParameterError, match="shape"):
        sdp.Uniform((0, 4))
    sliver = sdp.Domain((0, 0, 4, 4), region=shapely.box(0.1, 0.1, 0.2, 0.2), region_cells="centres")
    with pytest.raises(DomainError, match="no cell"):
        sdp.Uniform((2, 2)).release([], sliver, epsilon=1)
