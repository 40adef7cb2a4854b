"""Answers of k-anonymous maps: certain bounds hold, estimates lie between, and the tutorial's query."""

from __future__ import annotations

import numpy as np
import pytest

from spatialdp import contrast
from spatialdp.errors import ParameterError


@pytest.fixture(scope="module")
def groups():
    return contrast.Mondrian(6).group(np.random.default_rng(1).random((700, 2)), np.arange(700) % 3)


def boxes_around(count, seed):
    ends = np.sort(np.random.default_rng(seed).random((count, 2, 2)), axis=1)
    return np.hstack([ends[:, 0], ends[:, 1]])


def test_true_counts_lie_within_the_certain_bounds(groups):
    boxes = boxes_around(300, 2)
    x, y = groups.records.values
    truth = [((x >= a) & (y >= b) & (x <= c) & (y <= d)).sum() for a, b, c, d in boxes]
    bounds, estimates = groups.bounds(boxes), groups.estimate(boxes)
    assert (bounds[:, 0] <= truth).all()
    assert (truth <= bounds[:, 1]).all()
    assert (bounds[:, 0] - 1e-9 <= estimates).all()
    assert (estimates <= bounds[:, 1] + 1e-9).all()
    assert (bounds[:, 1] > bounds[:, 0]).any()


def test_everything_is_known_exactly(groups):
    assert groups.bounds((-1, -1, 2, 2)).tolist() == [700, 700]
    assert groups.estimate((-1, -1, 2, 2)) == 700.0


def test_answers_are_those_of_one_group_after_the_other(groups):
    boxes = boxes_around(20, 3)
    for box, bounds, estimate in zip(boxes, groups.bounds(boxes), groups.estimate(boxes), strict=True):
        inside = touching = 0
        spread = 0.0
        for low, high, size in zip(groups.lower, groups.upper, groups.sizes, strict=True):
            inside += size * (low >= box[:2]).all() * (high <= box[2:]).all()
            common = np.minimum(high, box[2:]) - np.maximum(low, box[:2])
            touching += size * (common >= 0).all()
            spread += size * np.prod(np.clip(common / (high - low), 0, 1)) * (common >= 0).all()
        assert bounds.tolist() == [inside, touching]
        assert estimate == pytest.approx(spread)


def test_ranges_with_a_single_value_are_covers_of_a_group_of_six():
    """The tutorial's table with years of birth in one group of six; ranges are covers: bounds [0, 6], estimate 6/11."""
    groups = contrast.Mondrian(6).group({"born": [1976, 1986, 1976, 1976, 1986, 1976]}, list("abcdef"))
    assert groups.bounds((1976, 1976)).tolist() == [0, 6]
    assert groups.estimate((1976, 1976)) == pytest.approx(6 / 11)


def test_an_edge_without_width_is_inside_or_outside():
    groups = contrast.Mondrian(2).group([[1.0, 0.0], [1.0, 4.0]], ["a", "b"])
    assert groups.estimate([(0, 0, 2, 2), (1, 0, 1, 4), (1.1, 0, 2, 4)]).tolist() == [1.0, 2.0, 0.0]


def test_sizes_and_counts_add_up(groups):
    assert groups.sizes.sum() == 700
    assert groups.counts.sum(axis=1).tolist() == groups.sizes.tolist()
    order, starts = groups.members()
    assert (np.diff(groups.group[order]) >= 0).all()
    assert starts.tolist() == [0, *np.cumsum(groups.sizes)[:-1].tolist()]


def test_frames_are_marked(groups):
    frame = groups.to_frame()
    assert len(frame) == 700
    assert set(frame["note"]) == {contrast.NOTE}
    assert (frame["x_low"] <= frame["x_high"]).all()


def test_overlapping_groups_are_all_candidates():
    boxes = contrast.BoxLocator(np.array([[0.0, -np.inf], [5.0, 1.0]]), np.array([[9.0, np.inf], [7.0, 1.0]]))
    people = contrast.QuasiIdentifiers.of({"age": [6, 6, 20], "male": [1, 0, 1]})
    assert [each.tolist() for each in boxes.candidates(people)] == [[0, 0, 1], [0, 1, 0]]


@pytest.mark.parametrize("boxes", [(0, 0, 1), np.zeros((1, 1, 4)), (0, 0, np.nan, 1)])
def test_boxes_of_another_form_are_refused(groups, boxes):
    with pytest.raises(ParameterError, match="give 4 numbers for each box"):
        groups.bounds(boxes)
