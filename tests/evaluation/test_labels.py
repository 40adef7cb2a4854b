"""Labels: the name of a mechanism, with what differs from the defaults where names repeat; and baselines."""

from __future__ import annotations

import pytest

import spatialdp as sdp
from spatialdp.errors import ParameterError
from spatialdp.evaluation.labels import labelled, with_baselines

UNIT = sdp.Domain((0, 0, 1, 1))


def mine(points, domain, epsilon, noise):
    """Never called."""


def test_names_are_labels_until_they_repeat():
    assert list(labelled(sdp.Flat((8, 8)))) == ["flat"]
    assert list(labelled([sdp.Quadtree(4), sdp.Quadtree(4, budget="uniform"), mine])) == [
        "quadtree(height=4)",
        "quadtree(height=4, budget=uniform)",
        "mine",
    ]
    assert list(labelled(mine)) == ["mine"]
    assert list(labelled({"a": mine, 2: sdp.Uniform()})) == ["a", "2"]


def test_the_same_twice_is_refused():
    for twice in ([mine, mine], [sdp.Flat((4, 4))] * 2):
        with pytest.raises(ParameterError, match="given twice"):
            labelled(twice)


def test_baselines_are_added_if_they_are_missing():
    assert list(with_baselines(labelled(mine), UNIT)) == ["mine", "uniform", "flat"]
    assert with_baselines(labelled(mine), UNIT)["flat"].shape == (256, 256)
    assert with_baselines(labelled([mine, sdp.Quadtree(3)]), UNIT)["flat"].shape == (8, 8)
    assert list(with_baselines(labelled([sdp.Flat((2, 2)), sdp.Uniform()]), UNIT)) == ["flat", "uniform"]
    with pytest.raises(ParameterError, match="the label of a baseline"):
        with_baselines(labelled({"uniform": mine}), UNIT)
