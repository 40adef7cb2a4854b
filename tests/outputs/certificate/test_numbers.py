"""What a release holds, in words, and how exact it is: the errors of the plan, and those that are measured."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.errors import ReleaseError
from spatialdp.outputs.certificate.numbers import contents, disjoint, exactness, numbers_of
from tests.helpers.certificates import DOMAIN, FRAME, KNOWN, OWNED, REGION, RELEASES, XY, ZONES, running_release

FORESEEABLE = {
    "flat": (sdp.Flat((8, 6)), DOMAIN, XY, {}),
    "gaussian": (sdp.Flat((8, 6), law="gaussian"), DOMAIN, XY, {"delta": 1e-7}),
    "region": (sdp.Flat((8, 6)), REGION, XY, {}),
    "quadtree": (sdp.Quadtree(3), REGION, XY, {"neighbours": "replace"}),
    "hierarchy": (sdp.Hierarchy((8, 6)), DOMAIN, XY, {}),
    "wavelet": (sdp.Wavelet((8, 8)), DOMAIN, XY, {}),
    "persons": (sdp.Flat((8, 6)), DOMAIN, OWNED, {"person": sdp.Person(cells=3)}),
    "zones": (sdp.ZoneTree(), ZONES, XY, {}),
    "known": (sdp.ZoneTree(known=KNOWN), ZONES, XY, {}),
    "not consistent": (sdp.ZoneTree(consistent=False), ZONES, XY, {}),
    "table": (sdp.Table(), FRAME, sdp.Rows(XY, kind=["theft"] * len(XY)), {}),
}


@pytest.mark.parametrize("name", FORESEEABLE)
def test_errors_are_those_of_the_plan_where_the_plan_knows_them(name):
    mechanism, frame, records, terms = FORESEEABLE[name]
    release = mechanism.release(records, frame, epsilon=1, **terms)
    plan = mechanism.plan(frame, epsilon=1, **terms)
    found = exactness(release.estimate, release.domain).errors
    assert [error for _, error in found] == pytest.approx(list(plan.errors.values()), rel=1e-12)


@pytest.mark.statistical
def test_errors_of_running_tables_are_those_that_are_measured():
    """5 % of the deviation are five standard errors of it; a wrong scale would be off by more."""
    frame = sdp.Frame(DOMAIN.grid((70, 70)))
    series = sdp.Running(horizon=12).start(frame, epsilon=1, delta=1e-6)
    release = [series.add([]) for _ in range(3)][-1]
    errors = dict(exactness(release, DOMAIN).errors)
    month = release.answer(first=3, box=[tuple(box) for box in boxes_of(frame)])
    total = release.answer(box=[tuple(box) for box in boxes_of(frame)])
    assert np.std(month) == pytest.approx(errors["month 3 alone"], rel=0.05)
    assert np.std(total) == pytest.approx(errors["the total of months 1 to 3"], rel=0.05)


def boxes_of(frame):
    nx, ny = frame.space.grid.shape
    return [(x / nx, y / ny, (x + 1) / nx, (y + 1) / ny) for y in range(ny) for x in range(nx)]


def test_errors_of_adaptive_releases_follow_from_the_release():
    release = RELEASES["kd-tree"]()
    (_, small), _, (_, whole) = exactness(release.estimate, DOMAIN).errors
    assert whole**2 == pytest.approx(float(release.estimate.moments(DOMAIN.boxes([DOMAIN.bounds]))[0][0]))
    assert 0 < small < whole


@pytest.mark.parametrize("name", ["stopped", "rounded", "rounded zones", "rounded table"])
def test_biased_releases_state_no_errors(name):
    of = {"rounded": "grid", "rounded zones": "zones", "rounded table": "table"}.get(name, name)
    release = RELEASES[of]()
    release = release.rounded() if name.startswith("rounded") else release
    assert release.estimate.biased
    assert exactness(release.estimate, release.domain).errors == ()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("grid", "in the 48 cells of a grid of 8 × 6"),
        ("centres", "cells in the region of a grid of 8 × 6"),
        ("tree", "in the 48 leaves of a tree of 1 level, and"),
        ("kd-tree", "leaves of a tree of 3 levels, and in larger areas"),
        ("field", "blocks of a grid of 16 × 16 cells"),
        ("zones", "in the zones of a public list (1 of level all zones, 2 of level side, 4 of level quarter)"),
        ("table", "in the 8 cells, 4 (box) × 2 (kind), of a table"),
    ],
)
def test_contents_say_what_there_is(name, words):
    assert words in contents(RELEASES[name]().estimate)


def test_contents_of_running_tables_say_which_months():
    release = running_release(months=3)
    assert contents(release).endswith("4 cells of a table, for single months and running totals up to month 3 of 12")


def test_numbers_of_a_running_release_are_its_own():
    running, grid = running_release(), RELEASES["grid"]()
    assert numbers_of(running) is running
    assert numbers_of(grid) is grid.estimate


def test_tables_say_why_they_cost_once():
    assert disjoint(RELEASES["grid"]().estimate) == ""
    assert "one cell of this table at most (box, kind)" in disjoint(RELEASES["table"]().estimate)
    assert "all 12 months together cost ε once" in disjoint(running_release())


def test_what_is_not_measured_is_said():
    assert "Only the total was measured" in exactness(RELEASES["total"]().estimate, DOMAIN).notes[0]
    assert "smoothed" in exactness(RELEASES["field"]().estimate, DOMAIN).notes[0]
    assert "guaranteed" in exactness(RELEASES["zones"]().estimate, None).notes[0]
    assert "evenly spread" in exactness(RELEASES["table"]().estimate, None).notes[0]


def test_unknown_kinds_are_refused_in_words():
    class Unknown:
        kind = "unheard-of"

    for ask in (contents, lambda numbers: exactness(numbers, DOMAIN)):
        with pytest.raises(ReleaseError, match="unheard-of"):
            ask(Unknown())


def test_statements_change_nothing_about_the_numbers():
    release = RELEASES["grid"]()
    other = replace(release, privacy=replace(release.privacy, mechanism="other"))
    assert exactness(release.estimate, DOMAIN) == exactness(other.estimate, DOMAIN)


def test_lists_say_what_is_missing_and_how_noisy_a_listed_cell_is():
    for share, biased in ((0.25, False), (0, True)):
        release = sdp.Sparse((2**30, 2**30), remeasure=share).release([[0.3, 0.7]] * 300, DOMAIN, epsilon=1)
        assert "out of 1,152,921,504,606,846,976 cells of a grid" in contents(release.estimate)
        found = exactness(release.estimate, DOMAIN)
        assert bool(found.errors) != biased
        assert biased or dict(found.errors)["one listed cell"] == pytest.approx(release.estimate.variance**0.5)
        assert "empty cells are expected" in found.notes[0]


def test_listed_zones_are_not_called_a_public_list():
    listed = sdp.Sparse().release(XY, ZONES, epsilon=1)
    assert "whose noisy count passed a threshold" in contents(listed.estimate)
    assert "public list" in contents(sdp.ZoneTree().release(XY, ZONES, epsilon=1).estimate)
