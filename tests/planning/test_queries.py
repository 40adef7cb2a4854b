"""Boxes that stand for any box, and guesses of the number of records."""

from __future__ import annotations

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.errors import ParameterError
from spatialdp.planning.queries import all_boxes, boxes_of, guessed_records, positive_number

DOMAIN = sdp.Domain((-10, 40, 10, 60))


def test_boxes_are_spread_over_the_domain():
    boxes = all_boxes(DOMAIN, 10_000)
    assert (boxes[:, :2] <= boxes[:, 2:]).all()
    assert boxes[:, 0].min() >= -10
    assert boxes[:, 3].max() <= 60
    shares = np.prod(boxes[:, 2:] - boxes[:, :2], axis=1) / 400
    assert shares.mean() == pytest.approx(1 / 9, rel=0.03)


def test_boxes_of_a_workload_are_its_own():
    assert boxes_of(DOMAIN, [0, 50, 1, 51]).tolist() == [[0, 50, 1, 51]]
    assert np.array_equal(boxes_of(DOMAIN, None), all_boxes(DOMAIN))


def test_a_guess_is_any_positive_real_number_or_none():
    assert guessed_records(None) is None
    assert {guessed_records(value) for value in (1000, 1e3, np.int64(1000), np.float32(1000))} == {1000.0}
    with pytest.raises(ParameterError, match="x is 'a'; it must be a positive thing"):
        positive_number("a", "x", "thing")
