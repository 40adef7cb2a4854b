"""Every mechanism with every bound on persons: releases, files, answers and statements; intervals of each law."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.errors import FileFormatError, PointsError
from spatialdp.evaluation.truth import TrueCounts
from spatialdp.privacy.unit import Person
from tests.helpers.cases import CASES, DOMAINS, PERSONS, by_turns, possible, terms
from tests.helpers.release_files import rewrite, set_to

UNIT = DOMAINS["whole"]
RNG = np.random.default_rng(5)
PERSONS_OF = RNG.integers(0, 25, 300).tolist()
PERSONS_OF[:5] = [None] * 5
XY = RNG.random((300, 2))
POINTS = sdp.Points(XY, person=PERSONS_OF)
EVERY = [each for each in by_turns(CASES, PERSONS) if possible(each[0], "whole", "add-remove", each[1])]
BOXES = [(0, 0, 1, 1), (0.1, 0.2, 0.7, 0.6)]


@pytest.mark.parametrize(("name", "person"), EVERY, ids=str)
def test_releases_of_persons_come_back_from_files(name, person, tmp_path):
    mechanism = CASES[name]
    given = terms(mechanism, "add-remove") | {"person": person}
    release = mechanism.release(POINTS, UNIT, noise=sdp.SeededNoise(1), **given)
    told = release.privacy.person
    assert told == (person if person.choice is None else person.at(told.most))
    assert release.privacy.unit == "person"
    assert mechanism.plan(UNIT, **given).person == person
    path = tmp_path / "release.parquet"
    release.save(path)
    loaded = sdp.load(path)
    assert loaded.privacy == release.privacy
    assert np.array_equal(loaded.answer(BOXES), release.answer(BOXES))
    if not release.estimate.biased:
        assert np.array_equal(loaded.interval(BOXES), release.interval(BOXES))
        low, high = release.interval(BOXES[0], 0.999)
        kept = TrueCounts.kept(POINTS, UNIT, told, mechanism).total
        assert low <= kept <= high


@pytest.mark.parametrize("name", ["flat", "quadtree", "kd", "adaptive"])
def test_points_and_bounds_belong_together(name):
    given = terms(CASES[name], "add-remove")
    with pytest.raises(PointsError, match="do not say who they are about"):
        CASES[name].release(XY, UNIT, person=PERSONS[0], **given)
    with pytest.raises(PointsError, match="not bounded"):
        CASES[name].release(POINTS, UNIT, **given)


FORGERIES = {
    "no bound": ({"unit": "person"}, ["person"]),
    "no person": ({"unit": "record"}, []),
    "another unit": ({"unit": "household"}, []),
    "two bounds": ({"person": {"cells": 3, "records": 3}}, []),
    "no number": ({"person": {"cells": "many"}}, []),
    "zero": ({"person": {"records": 0}}, []),
    "an unknown bound": ({"person": {"houses": 3}}, []),
    "a list": ({"person": [3]}, []),
    "nothing": ({"person": None}, []),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_forged_bounds_are_refused(forgery, tmp_path):
    path, (changes, removed) = tmp_path / "release.parquet", FORGERIES[forgery]
    CASES["flat"].release(POINTS, UNIT, epsilon=1, person=Person(cells=3)).save(path)

    def forge(header):
        for name, value in changes.items():
            set_to("privacy", name, value=value)(header)
        for name in removed:
            del header["privacy"][name]

    rewrite(path, header=forge, sign=True)
    with pytest.raises(FileFormatError, match="privacy statement"):
        sdp.load(path)


# --- intervals --------------------------------------------------------------------------------------

LAWS = {
    "discrete-laplace": (sdp.Flat((4, 4)), Person(records=3), 0),
    "laplace": (sdp.Quadtree(2, law="laplace"), Person(shares=True), 0),
    "gaussian": (sdp.Flat((4, 4), law="gaussian"), Person(cells=3), 1e-6),
}
RELEASES = 200
LEVEL = 0.9


def coverage(law):
    """How often the interval of a cell and of a block contain what the bound keeps, in releases with fixed seeds."""
    mechanism, person, delta = LAWS[law]
    boxes = np.array([(0, 0, 0.25, 0.25), (0.25, 0.5, 1, 1)])
    kept = TrueCounts.kept(POINTS, UNIT, person, mechanism).counter.count(UNIT.boxes(boxes))
    prepared = mechanism.prepare(UNIT, epsilon=1, delta=delta, person=person)
    ends = [
        prepared.release(POINTS, noise=sdp.SeededNoise((7, seed))).interval(boxes, LEVEL, about="noise")
        for seed in range(RELEASES)
    ]
    return [
        np.mean([low - 1e-9 <= count <= high + 1e-9 for low, high in each])
        for each, count in zip(np.swapaxes(ends, 0, 1), kept, strict=True)
    ]


@pytest.mark.statistical
@pytest.mark.parametrize("law", LAWS)
def test_intervals_cover_what_the_bound_keeps(law):
    """Of 200 intervals at 90 %, 4.7 standard errors below are 0.8; laws with few values may cover more."""
    assert min(coverage(law)) > 0.8


@pytest.mark.statistical
def test_intervals_for_one_record_would_not_cover():
    """The same check with noise three times as large as the intervals know."""
    real = sdp.SeededNoise.laplace
    with mock.patch.object(sdp.SeededNoise, "laplace", lambda self, scale, size: real(self, 3 * scale, size)):
        assert max(coverage("discrete-laplace")) < 0.7
