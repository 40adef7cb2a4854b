"""Does a curator hold the records of the domain, and of each person at most so many, whatever the order?"""

from __future__ import annotations

import copy
import itertools
import pickle

import numpy as np
import pandas as pd
import pytest
import shapely

import spatialdp as sdp
from spatialdp.errors import PointsError
from spatialdp.records.rows.held import hold

DOMAIN = sdp.Domain((0, 0, 8, 8))


def contents(held, name="price"):
    """What is held, as a sorted list of places and values."""
    return sorted(zip(held.columns.tolist(), held.rows.tolist(), held.numbers(name).tolist(), strict=True))


def test_records_outside_the_domain_or_its_region_are_not_held_and_columns_stay_beside_their_points():
    records = [[1, 1], [9, 9], [np.nan, 1], [5, 5], [1, 5]]
    rows = sdp.Rows(records, price=[1, 2, 3, 4, 5])
    assert hold(rows, DOMAIN).numbers("price").tolist() == [1, 4, 5]
    region = sdp.Domain((0, 0, 8, 8), region=shapely.box(4, 4, 8, 8), region_cells="centres")
    assert hold(rows, region).numbers("price").tolist() == [4]


def test_it_shows_nothing_and_cannot_be_copied():
    held = hold([[1, 1]] * 7, DOMAIN)
    assert repr(held) == "HeldRecords(<private>)"
    for refused in (pickle.dumps, copy.deepcopy):
        with pytest.raises(TypeError, match="cannot be copied"):
            refused(held)


def test_what_is_held_of_a_person_follows_from_this_persons_records_alone():
    """Whatever the order of all records, and whoever else is there."""
    rng = np.random.default_rng(1)
    xy = rng.integers(0, 4, (60, 2)) + 0.5  # several records in a place
    price, kind = rng.integers(0, 3, 60).astype(float), rng.choice(["a", "b"], 60)
    price[:5] = np.nan
    who = rng.choice(["ann", "bob", "eve"], 60)

    def held(chosen, most=5):
        points = sdp.Points(xy[chosen], person=who[chosen])
        return hold(sdp.Rows(points, price=price[chosen], kind=kind[chosen]), DOMAIN, sdp.Person(records=most))

    def by_person(found):
        found = zip(found.persons.to_pylist(), contents_of(found), strict=True)
        return sorted(found, key=str)

    def contents_of(found):
        return zip(
            found.columns, found.rows, found.numbers("price").astype(str), found.labels("kind", ["a", "b"]), strict=True
        )

    everyone = by_person(held(np.arange(60)))
    assert len(everyone) == 15
    for _ in range(20):
        assert by_person(held(rng.permutation(60))) == everyone
    for person in ("ann", "bob", "eve"):
        without = by_person(held(np.flatnonzero(who != person)))
        assert without == [each for each in everyone if each[0] != person]


@pytest.mark.parametrize("as_column", [list, np.array, pd.Series])
@pytest.mark.parametrize("values", [["a\0", "a"], ["\0", "", "\0\0"], [0.5, 0.25], [1.5, 2, 0.5]])
def test_what_differs_in_the_last_byte_or_in_a_fraction_is_kept_whoever_else_is_there(as_column, values):
    """Ann's records are in one place and differ in the column alone; of it, one is held."""

    def held_of_ann(own, others):
        said = as_column([*others, *own])
        if getattr(said, "dtype", None) is not None and said.dtype.kind == "U":
            said = said.astype(object)  # numpy drops NUL at the end of fixed-width text
        who = ["bob"] * len(others) + ["ann"] * len(own)
        rows = sdp.Rows(sdp.Points([[1.5, 1.5]] * len(who), person=who), said=said)
        held = hold(rows, DOMAIN, sdp.Person(records=1))
        (place,) = held._places[np.array(held.persons.to_pylist()) == "ann"]
        return said[place]

    everywhere = {
        held_of_ann(list(own), list(others)[:count])
        for own in itertools.permutations(values)
        for others in itertools.permutations(values)
        for count in range(len(values) + 1)
    }
    assert len(everywhere) == 1


def test_a_record_without_a_person_is_not_held_and_strays_do_not_count_against_the_bound():
    points = sdp.Points([[1, 1], [9, 9], [2, 2], [3, 3]], person=["ann", "ann", None, "ann"])
    assert hold(points, DOMAIN, sdp.Person(records=2)).columns.size == 2


def test_labels_are_texts_of_whole_numbers_too():
    held = hold(sdp.Rows([[1, 1]] * 4, year=pd.Series([2023, 2024, 2024, 1999])), DOMAIN)
    assert held.labels("year", ["2024", "2023"]).tolist() == [1, 0, 0, -1]


def test_parts_and_places():
    held = hold(sdp.Rows([[1, 1], [5, 5], [7, 7]], price=[1, 2, 3]), DOMAIN)
    parts = held.divided(np.array([1, -1, 1]), 2)
    assert [part.numbers("price").tolist() for part in parts] == [[], [1, 3]]
    lines = np.array([[0, 0, 4, 4], [0, 0, 8, 8]]) * 2**27
    assert held.first_box(lines).tolist() == [0, 1, 1]
    assert held.first_box(lines[:1]).tolist() == [0, -1, -1]
    assert held.first_polygon(np.array([shapely.box(6, 6, 8, 8), shapely.box(4, 4, 8, 8)])).tolist() == [-1, 1, 0]


def test_points_of_files_are_read(tmp_path):
    pd.DataFrame({"x": [1.0, 9.0, 2.0], "y": [1.0, 9.0, 2.0]}).to_csv(tmp_path / "points.csv", index=False)
    held = hold(sdp.read_points(tmp_path / "points.csv", DOMAIN, x="x", y="y"), DOMAIN)
    assert held.columns.size == 2
    assert held.names == ()


def test_what_is_not_in_memory_or_has_no_place_is_refused(tmp_path):
    pd.DataFrame({"x": [1.0], "y": [1.0], "kind": ["a"]}).to_csv(tmp_path / "rows.csv", index=False)
    frame = sdp.Frame(DOMAIN.grid((2, 2)), kind=sdp.Categories(["a"]))
    with pytest.raises(PointsError, match="stay in their file"):
        hold(sdp.read_rows(tmp_path / "rows.csv", frame, x="x", y="y", kind="kind"), DOMAIN)
    with pytest.raises(PointsError, match="codes of zones"):
        hold(sdp.Codes(["a"]), DOMAIN)

    class Elsewhere(sdp.Points):
        _has_positions = False

    with pytest.raises(PointsError, match="do not leave its engine"):
        hold(Elsewhere([[1, 1]]), DOMAIN)


def test_columns_have_as_many_values_as_there_are_points():
    for values in ([1, 2], 7):
        with pytest.raises(PointsError, match="different lengths"):
            hold(sdp.Rows([[1, 1]], price=values), DOMAIN)


def test_values_that_are_no_numbers_cause_no_error():
    held = hold(sdp.Rows([[1, 1]] * 5, price=["1", "x", None, object(), 2.5]), DOMAIN)
    assert held.numbers("price").tolist()[0] == 1
    assert np.isnan(held.numbers("price")[1:4]).all()
