"""Candidates for parents: all largest sets that fit, by brute force."""

from __future__ import annotations

import itertools

import pytest

from spatialdp.estimates.networks.model import Family
from spatialdp.mechanisms.adaptive.networks.parents import candidates, level_sizes
from tests.estimates.networks.test_model import FRAME

SIZES = {"box": [1, 4, 16, 64], "kind": [1, 2, 5], "day": [1, 7], "hour": [1, 24]}


@pytest.mark.parametrize("cells", [0, 6, 20, 100, 700, 10**6])
@pytest.mark.parametrize("most", [0, 1, 2, 3])
def test_candidates_are_the_maximal_sets_that_fit(cells, most):
    known, child = ["box", "kind", "day"], "hour"
    fitting = {(0, 0, 0)}
    for levels in itertools.product(range(4), range(3), range(2)):
        size = SIZES[child][-1]
        for name, level in zip(known, levels, strict=True):
            size *= SIZES[name][level]
        if size <= cells and sum(map(bool, levels)) <= most:
            fitting.add(levels)
    maximal = [
        one for one in fitting
        if not any(one != other and all(a <= b for a, b in zip(one, other, strict=True)) for other in fitting)
    ]  # fmt: skip
    expected = {
        Family(child, tuple((name, level) for name, level in zip(known, each, strict=True) if level))
        for each in maximal
    }
    found = candidates(SIZES, known, [child], cells, most)
    assert len(found) == len(set(found))
    assert set(found) == expected


def test_every_attribute_that_is_left_has_candidates():
    found = candidates(SIZES, ["box"], ["kind", "day"], 0, 3)
    assert found == [Family("kind"), Family("day")]
    assert candidates(SIZES, [], ["kind"], 100, 3) == [Family("kind")]


def test_sizes_of_levels_are_those_of_the_frame():
    assert level_sizes(FRAME) == {"kind": [1, 2, 3], "day": [1, 2], "box": [1, 2, 8]}
