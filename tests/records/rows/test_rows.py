"""Rows are counted in one cell of the table at most: exactly, silently, and person by person."""

from __future__ import annotations

import warnings

import geopandas
import numpy as np
import pandas as pd
import pytest
import shapely

import spatialdp as sdp
from spatialdp.errors import PointsError
from spatialdp.records.rows.rows import as_rows, count_rows
from spatialdp.space.zones.frame import Zones

GRID = sdp.Domain((0, 0, 4, 2), crs="EPSG:4326").grid((4, 2))
HOURS = sdp.Time("2024-01-01", "2024-02-01", zone="Europe/Vienna", fold="hour of day")
KINDS = sdp.Categories({"theft": ["burglary", "shoplifting"], "assault": []})
FRAME = sdp.Frame(GRID, blocks=2, time=HOURS, kind=KINDS)
N = 500


def some_rows(seed=1, person=False):
    rng = np.random.default_rng(seed)
    xy = rng.uniform((-0.5, -0.5), (4.5, 2.5), (N, 2))
    times = np.datetime64("2023-12-31") + rng.integers(0, 33 * 86400, N).astype("timedelta64[s]")
    kinds = rng.choice(["burglary", "shoplifting", "assault", "theft", "unheard of", None], N)
    return xy, times, kinds, (rng.integers(0, 40, N) if person else None)


def slow_counts(frame, xy, times, kinds):
    """Counts by a loop over records, in Python."""
    counts = np.zeros(frame.shape, dtype=np.int64)
    labels, cells = KINDS.labels(), frame.space.labels()
    for (x, y), time, kind in zip(xy, times, kinds, strict=True):
        inside = 0 <= x <= 4 and 0 <= y <= 2 and np.datetime64("2024-01-01") <= time < np.datetime64("2024-02-01")
        if inside and kind in labels:
            hour = (time - time.astype("datetime64[D]")) // np.timedelta64(1, "h")
            place = cells.index(f"{min(int(x), 3)},{min(int(y), 1)}")
            counts[hour, labels.index(kind), place] += 1
    return counts


def test_counts_are_those_of_a_loop_over_records():
    xy, times, kinds, _ = some_rows()
    counts = count_rows(sdp.Rows(xy, time=times, kind=kinds), FRAME)
    assert np.array_equal(counts, slow_counts(FRAME, xy, times, kinds))
    assert 0 < counts.sum() < N


def test_frames_arrays_and_columns_by_name_count_alike():
    xy, times, kinds, _ = some_rows()
    expected = count_rows(sdp.Rows(xy, time=times, kind=kinds), FRAME)
    table = pd.DataFrame({"x": xy[:, 0], "y": xy[:, 1], "when": times, "what": kinds})
    named = sdp.Rows(table, time="when", kind="what")
    points = geopandas.GeoDataFrame(table[["when", "what"]], geometry=shapely.points(xy), crs="EPSG:4326")
    for rows in (named, sdp.Rows(points, time="when", kind="what"), sdp.Rows(sdp.Points(xy), time=times, kind=kinds)):
        assert np.array_equal(count_rows(rows, FRAME), expected)


def test_blocks_of_records_do_not_matter():
    xy, times, kinds, _ = some_rows()
    many = [np.concatenate([each] * 600) for each in (xy, times, kinds)]
    counts = count_rows(sdp.Rows(many[0], time=many[1], kind=many[2]), FRAME)
    assert np.array_equal(counts, 600 * count_rows(sdp.Rows(xy, time=times, kind=kinds), FRAME))


def test_rows_in_zones_are_counted_by_place_and_by_code():
    boxes = [shapely.box(i, 0, i + 1, 2) for i in range(4)]
    areas = geopandas.GeoDataFrame({"state": list("AABC"), "county": ["A1", "A2", "B1", "C1"]}, geometry=boxes)
    zones = Zones(areas, ["state", "county"])
    frame = sdp.Frame(zones, kind=KINDS)
    xy, _, kinds, _ = some_rows()
    xy = np.clip(xy, 0.001, (3.999, 1.999))
    codes = [["A1", "A2", "B1", "C1"][int(x)] for x in xy[:, 0]]
    by_place, by_code = (count_rows(sdp.Rows(each, kind=kinds), frame) for each in (xy, sdp.Codes(codes)))
    assert np.array_equal(by_place, by_code)
    listed = [(code, kind) for code, kind in zip(codes, kinds, strict=True) if kind in KINDS.labels()]
    for place, code in enumerate(frame.space.labels()):
        for number, kind in enumerate(KINDS.labels()):
            assert by_code[number, place] == listed.count((code, kind))


def test_unknown_codes_count_nowhere():
    frame = sdp.Frame(Zones.from_codes(["A1", "A2"], None, {"state": 1, "county": 2}), kind=KINDS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rows = sdp.Rows(sdp.Codes(["A1", "A", "Z9", None]), kind=["assault"] * 4)
        assert count_rows(rows, frame).sum() == 1


@pytest.mark.parametrize("bound", [sdp.Person(records=3), sdp.Person(cells=2), sdp.Person(shares=True)], ids=str)
def test_what_is_kept_of_a_person_is_within_the_bound_over_the_whole_table(bound):
    xy, times, kinds, who = some_rows(person=True)
    total = np.zeros(FRAME.shape)
    for person in range(40):
        own = who == person
        rows = sdp.Rows(xy[own], time=times[own], kind=kinds[own], person=who[own])
        kept = count_rows(rows, FRAME, bound) / bound.steps
        assert kept.sum() <= bound.most + 1e-9
        assert bound.cells is None or kept.max(initial=0) <= 1
        total += kept
    together = count_rows(sdp.Rows(xy, time=times, kind=kinds, person=who), FRAME, bound) / bound.steps
    assert together == pytest.approx(total)  # the company of others changes nothing


ODD_ROWS = {
    "no time": ([[0.5, 0.5]], [None], ["assault"]),
    "no kind": ([[0.5, 0.5]], ["2024-01-05"], [None]),
    "unlisted kind": ([[0.5, 0.5]], ["2024-01-05"], ["murder"]),
    "a group instead of a kind": ([[0.5, 0.5]], ["2024-01-05"], ["theft"]),
    "odd kind": ([[0.5, 0.5]], ["2024-01-05"], [[1, 2]]),
    "nowhere": ([[np.nan, 0.5]], ["2024-01-05"], ["assault"]),
    "before": ([[0.5, 0.5]], ["2023-12-31 23:59:59"], ["assault"]),
    "at the stop": ([[0.5, 0.5]], ["2024-02-01"], ["assault"]),
}


@pytest.mark.parametrize("odd", ODD_ROWS)
def test_rows_that_are_not_on_all_axes_count_nowhere_silently(odd):
    xy, times, kinds = ODD_ROWS[odd]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not count_rows(sdp.Rows(xy, time=times, kind=kinds), FRAME).any()


def test_forms_are_refused_and_never_values():
    xy, times, kinds, _ = some_rows()
    with pytest.raises(PointsError, match="do not have these values"):
        as_rows(sdp.Rows(xy, time=times), FRAME)
    with pytest.raises(PointsError, match="different lengths"):
        as_rows(sdp.Rows(xy, time=times[:-1], kind=kinds), FRAME)
    with pytest.raises(PointsError, match="no column"):
        sdp.Rows(xy, time="when", kind=kinds)
    with pytest.raises(PointsError, match="themselves"):
        sdp.Rows(sdp.Points(xy), time=times, kind=kinds, person=[1])
    with pytest.raises(PointsError, match="codes of zones"):
        as_rows(sdp.Rows(sdp.Codes(["A"]), time=times[:1], kind=kinds[:1]), FRAME)
    with pytest.raises(PointsError, match="must be whole numbers, text"):
        as_rows(sdp.Rows(xy, time=times, kind=np.ones(N)), FRAME)


def test_points_alone_will_do_without_further_axes():
    frame = sdp.Frame(GRID)
    assert count_rows(as_rows([[0.5, 0.5]], frame), frame).sum() == 1


def test_persons_need_a_bound_and_a_bound_needs_persons():
    frame = sdp.Frame(GRID)
    with pytest.raises(PointsError, match="bound"):
        as_rows(sdp.Rows([[0.5, 0.5]], person=["ann"]), frame)
    with pytest.raises(PointsError, match="persons"):
        as_rows([[0.5, 0.5]], frame, sdp.Person(records=1))


def test_rows_show_nothing():
    assert repr(sdp.Rows([[0.5, 0.5]] * 7, kind=["a"] * 7)) == "Rows(<private>, kind=<private>)"
