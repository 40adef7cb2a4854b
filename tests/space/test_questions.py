"""What lies outside the domain has no answer, and is never answered with 0 ± 0."""

from __future__ import annotations

import numpy as np
import pytest
import shapely

import spatialdp as sdp
from spatialdp.errors import OutsideDomainWarning, ParameterError
from spatialdp.space.questions import outside_boxes, outside_polygons, require_inside

DOMAIN = sdp.Domain((0, 0, 8, 6))
INSIDE, CUT, FAR, BESIDE = (1, 1, 2, 2), (-5, -5, 1, 1), (20, 20, 30, 30), (8, 0, 9, 6)
RELEASES = {
    "grid": sdp.Flat((8, 6)).release([[1.5, 1.5]] * 9, DOMAIN, epsilon=1),
    "tree": sdp.KdTree(2).release([[1.5, 1.5]] * 9, DOMAIN, epsilon=1),
}


def test_boxes_outside_share_no_area_with_the_domain():
    boxes = [INSIDE, CUT, FAR, BESIDE, (-3, 0, 0, 6), (0, 6, 8, 7), (-9, -9, 99, 99), (-np.inf, 0, np.inf, 1)]
    assert outside_boxes(boxes, DOMAIN).tolist() == [False, False, True, True, True, True, False, False]
    empty = [(1, 1, 1, 1), (0, 0, 0, 0), (8, 6, 8, 6), (9, 1, 9, 1), (2, 1, 3, 1), (2, 9, 3, 9)]
    assert outside_boxes(empty, DOMAIN).tolist() == [False, False, False, True, False, True]


def test_polygons_outside_share_no_area_with_the_domain():
    around = shapely.box(-9, -9, 20, 20) - shapely.box(-1, -1, 9, 9)  # its bounds hold the domain
    shapes = [shapely.box(*box) for box in (INSIDE, CUT, FAR, BESIDE)] + [around, shapely.Polygon()]
    assert outside_polygons(np.array(shapes), DOMAIN).tolist() == [False, False, True, True, True, False]


@pytest.mark.parametrize("name", RELEASES)
def test_one_question_outside_is_an_error(name):
    release = RELEASES[name]
    for ask in (release.answer, release.interval, release.uniformity):
        with pytest.raises(ParameterError, match="the box lies outside the domain"):
            ask(FAR)
        assert np.isfinite(ask(CUT)).all()
    for ask in (release.answer_polygons, release.interval_polygons):
        with pytest.raises(ParameterError, match="the polygon lies outside the domain"):
            ask(shapely.box(*FAR))
        assert np.isfinite(ask(shapely.box(*CUT))).all()


@pytest.mark.parametrize("name", RELEASES)
def test_many_questions_are_answered_and_those_outside_with_nan(name):
    release = RELEASES[name]
    boxes = np.array([INSIDE, FAR, CUT], dtype=float)
    shapes = shapely.box(*boxes.T)
    asked = [(ask, boxes) for ask in (release.answer, release.interval, release.uniformity)]
    asked += [(ask, shapes) for ask in (release.answer_polygons, release.interval_polygons)]
    for ask, questions in asked:
        with pytest.warns(OutsideDomainWarning, match="1 of 3 questions lie outside the domain"):
            values = ask(questions)
        assert np.isnan(values[1]).all()
        assert np.array_equal(values[[0, 2]], ask(questions[[0, 2]]))


def test_boxes_are_refused_where_errors_are_foreseen():
    require_inside([INSIDE, CUT], DOMAIN, "boxes")
    with pytest.raises(ParameterError, match="has 1 of 2 boxes outside"):
        require_inside([INSIDE, FAR], DOMAIN, "boxes")
    with pytest.raises(ParameterError, match="outside"):
        sdp.Flat((4, 4)).expected_error(DOMAIN, [FAR], epsilon=1)
    with pytest.raises(ParameterError, match="the workload has 1 of 1"):
        sdp.recommend(DOMAIN, 1, [FAR])
    with pytest.raises(ParameterError, match="workload 'far'"):
        sdp.evaluate(sdp.Flat((4, 4)), [[1, 1]], DOMAIN, sdp.Workload("far", [FAR]), 1, 1)
