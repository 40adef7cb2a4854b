"""Lists of cells: thresholds, budgets, regions, persons, and what is refused before anything is spent."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
import shapely
from scipy import stats

import spatialdp as sdp
from spatialdp.errors import BudgetError, DomainError, ParameterError, PointsError
from spatialdp.mechanisms.adaptive.sparse import Sparse
from spatialdp.records.counting import occupied_cells
from spatialdp.space.fine_grid import FineGrid
from tests.helpers.sources import ZeroNoise

DOMAIN = sdp.Domain((0, 0, 1, 1))
WHOLE = (2**30, 2**30)


class Still(ZeroNoise):
    """No noise, and no empty cell passes."""

    def random_bytes(self, count):
        return bytes(count)


def design_of(mechanism, domain=DOMAIN, epsilon=1, **terms):
    return mechanism.prepare(domain, epsilon=epsilon, **terms).design


def test_thresholds_are_those_of_the_brief():
    thresholds = {
        share: design_of(Sparse(WHOLE, remeasure=share)).threshold
        for share in (0, Fraction(1, 4), Fraction(1, 3), Fraction(1, 2))
    }
    assert thresholds == {0: 42, Fraction(1, 4): 55, Fraction(1, 3): 62, Fraction(1, 2): 83}
    assert design_of(Sparse(WHOLE, false=10**5, remeasure=0), epsilon=0.1).threshold == 295


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
@pytest.mark.parametrize("share", [0, Fraction(1, 4), Fraction(2, 3)])
def test_steps_cost_the_budget_and_have_the_noise_that_they_pay_for(relation, share):
    design = design_of(Sparse((8, 8), remeasure=share), epsilon=Fraction(1, 3), neighbours=relation)
    moved = 1 if relation == "add-remove" else 2
    assert sum(design.costs.values()) == Fraction(1, 3)
    assert design.filter.scale == moved / (Fraction(1, 3) * (1 - share))
    assert (design.fresh is None) == (share == 0)
    assert share == 0 or design.fresh.parameter == moved / (Fraction(1, 3) * share)


def test_one_cell_is_moved_once_by_a_replaced_record():
    assert design_of(Sparse((1, 1)), neighbours="replace").choosing.parameter == Fraction(4, 3)


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
@pytest.mark.parametrize("person", [None, sdp.Person(records=2), sdp.Person(cells=2), sdp.Person(shares=True)], ids=str)
def test_sensitivity_is_the_largest_change_of_all_counts(relation, person):
    """By brute force over everything that one person with at most three records can hold on 2 x 2 cells."""
    grid = FineGrid(DOMAIN, (2, 2))
    places = [[0.1, 0.1], [0.9, 0.1], [0.1, 0.9], [0.9, 0.9]]
    most = 1 if person is None else 3
    sets = [list(held) for n in range(most + 1) for held in itertools.combinations_with_replacement(places, n)]

    def vector(held):
        owner = None if person is None else [7] * len(held)
        points = sdp.Points(np.array(held).reshape(-1, 2), person=owner)
        counts = np.zeros(4, dtype=np.int64)
        occupied, exact = occupied_cells(points, grid, person)
        counts[occupied] = exact
        return counts

    vectors = [vector(held) for held in sets]
    pairs = itertools.combinations(vectors, 2) if relation == "replace" else ((0 * each, each) for each in vectors)
    worst = max(int(np.abs(one - other).sum()) for one, other in pairs)
    declared = design_of(Sparse((2, 2)), neighbours=relation, person=person).choosing.parameter * Fraction(3, 4)
    assert worst <= declared
    assert worst >= declared * 0.99  # shares are rounded down to whole steps


def test_person_in_more_cells_than_there_are_moves_each_once():
    few = design_of(Sparse((2, 2)), person=sdp.Person(cells=1000))
    assert few.choosing.parameter == design_of(Sparse((2, 2)), person=sdp.Person(cells=4)).choosing.parameter


def test_counts_of_listed_cells_are_exact_without_noise():
    records = np.repeat([[0.3, 0.7], [0.9, 0.2], [0.5, 0.5]], [500, 90, 3], axis=0)
    for mechanism in (Sparse(WHOLE), Sparse(WHOLE, remeasure=0)):
        estimate = mechanism.release(records, DOMAIN, epsilon=1, noise=Still()).estimate
        assert estimate.values.tolist() == [90, 500]  # row by row
        assert estimate.biased == (mechanism.remeasure == 0)
    assert Sparse(WHOLE).release([], DOMAIN, epsilon=1, noise=Still()).estimate.n_cells == 0


def test_all_hot_spots_and_about_as_many_empty_cells_as_expected_are_listed():
    random = np.random.default_rng(1)
    spots = random.random((200, 2))
    records = np.concatenate([np.repeat(spots, 120, axis=0), random.random((5000, 2))])
    release = Sparse(WHOLE, false=300).release(records, DOMAIN, epsilon=1, noise=sdp.SeededNoise(1))
    grid = release.estimate.grid
    lattice = DOMAIN.boxes(np.hstack([spots, spots]))[:, :2]
    hot = grid.of_squares(*lattice.T)
    listed = grid.numbers(release.estimate.columns, release.estimate.rows)
    assert np.isin(hot, listed).all()
    others = listed.size - np.unique(hot).size
    assert stats.poisson.sf(others, release.estimate.false) > 1e-6
    assert stats.poisson.cdf(others, release.estimate.false) > 1e-6


def test_nothing_is_listed_outside_the_region():
    domain = sdp.Domain((0, 0, 1, 1), region=shapely.Polygon([(0, 0), (1, 0), (0, 1)]))
    for shape in ((64, 64), (2**22, 2**21)):
        mechanism = Sparse(shape, false=200)
        release = mechanism.release([[0.9, 0.9]] * 999, domain, epsilon=1, noise=sdp.SeededNoise(3))
        grid = release.estimate.grid
        assert grid.inside(grid.numbers(release.estimate.columns, release.estimate.rows)).all()
        expected = release.estimate.false
        assert abs(release.estimate.n_cells - expected) < 6 * math.sqrt(expected)
        assert release.answer((0.8, 0.8, 1, 1)) == 0


def test_threshold_is_that_of_the_cells_of_the_region():
    half = sdp.Domain((0, 0, 1, 1), region=shapely.box(0, 0, 1, 2**-10))
    design, whole = design_of(Sparse(WHOLE), half), design_of(Sparse(WHOLE))
    assert design.threshold < whole.threshold
    assert 0.25 < design.false <= 1


@pytest.mark.parametrize(
    "person", [sdp.Person(records=3), sdp.Person(cells=2), sdp.Person(shares=True)], ids=lambda person: person.bound
)
def test_persons_count_as_their_bound_says(person):
    owners = np.repeat(np.arange(800), 4)
    records = np.tile([[0.3, 0.3], [0.3, 0.3], [0.3, 0.3], [0.7, 0.7]], (800, 1))
    points = sdp.Points(records, person=owners)
    estimate = Sparse(WHOLE).release(points, DOMAIN, epsilon=1, person=person, noise=Still()).estimate
    expected = {"records": 2400, "cells": 1600, "shares": 800}[str(person.bound)]
    assert estimate.total == expected
    assert person.bound == "records" or sorted(estimate.values.tolist()) == (
        [800, 800] if person.bound == "cells" else [200, 600]
    )


def test_cells_by_size_are_those_by_number():
    one, other = (
        mechanism.release([[0.3, 0.7]] * 99, DOMAIN, epsilon=1, noise=sdp.SeededNoise(4)).estimate
        for mechanism in (Sparse(cell_size=0.125), Sparse((8, 8)))
    )
    assert one.grid == other.grid
    assert np.array_equal(one.values, other.values)


def test_plan_tells_threshold_chances_and_memory():
    plan = Sparse(WHOLE).plan(DOMAIN, epsilon=1)
    assert plan.listing.threshold == 55
    assert plan.listing.false == pytest.approx(0.95, abs=0.01)
    assert list(plan.listing.chances) == [55, 61, 83]
    assert plan.listing.chances[61] == pytest.approx(1 - math.exp(-0.75 * 7) / (1 + math.exp(-0.75)))
    assert plan.listing.memory_for(10**6) < 200e6
    assert plan.cells == 2**60
    assert "threshold 55 records" in str(plan)
    assert plan.to_json()["listing"]["threshold"] == 55
    assert "presences" in str(Sparse((9, 9)).plan(DOMAIN, epsilon=1, person=sdp.Person(cells=3)))
    assert not plan.errors


def test_grid_is_laid_out_only_if_it_is_small():
    assert Sparse((8, 6)).leaf_grid(DOMAIN).shape == (8, 6)
    assert Sparse((2**14, 2**13)).leaf_grid(DOMAIN) is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"shape": (4, 4), "cell_size": 0.25}, "both"),
        ({"shape": (2**31, 4)}, "shape"),
        ({"shape": (4, 4), "false": 0}, "between 1e-12"),
        ({"shape": (4, 4), "false": 10**9}, "between 1e-12"),
        ({"shape": (4, 4), "remeasure": 1}, "not including, 1"),
        ({"shape": (4, 4), "remeasure": -0.1}, "not including, 1"),
    ],
)
def test_parameters_are_checked(options, message):
    with pytest.raises(ParameterError, match=message):
        Sparse(**options)


def test_what_cannot_be_listed_is_refused_before_records_are_read():
    with pytest.raises(ParameterError, match="chosen privately"):
        Sparse((4, 4)).check(DOMAIN, epsilon=1, person=sdp.Person(cells=sdp.Chosen()))
    with pytest.raises(BudgetError, match="purely epsilon-private"):
        Sparse((4, 4)).check(DOMAIN, epsilon=1, delta=1e-9)
    thin = sdp.Domain((0, 0, 1, 1), region=shapely.box(0.1, 0.1, 0.11, 0.11), region_cells="centres")
    with pytest.raises(DomainError, match="no cell"):
        Sparse((4, 4)).check(thin, epsilon=1)
    sliver = sdp.Domain((0, 0, 1, 1), region=shapely.box(0, 0, 2**-10, 2**-10))
    with pytest.raises(ParameterError, match="at most 100,000,000"):
        Sparse(WHOLE, false=10**6).check(sliver, epsilon=1)
    with pytest.raises(BudgetError, match="scale"):
        Sparse(WHOLE, false=10**6).check(DOMAIN, epsilon=1e-9, person=sdp.Person(records=10**9))


def test_table_that_keeps_its_records_is_counted_in_plain_grids_alone():
    ibis = pytest.importorskip("ibis")
    database = ibis.duckdb.connect()
    rows = pa.table({"x": np.repeat([0.3, 0.8], [90, 3]), "y": np.repeat([0.7, 0.1], [90, 3])})
    points = sdp.read_table(database.create_table("homes", rows), DOMAIN, x="x", y="y")
    mechanism = Sparse((64, 64), false=1e-6)
    mine, other = (
        mechanism.release(each, DOMAIN, epsilon=1, noise=sdp.SeededNoise(1)).estimate
        for each in (points, sdp.Points(rows["x"].to_numpy(), rows["y"].to_numpy()))
    )
    assert np.array_equal(mine.values, other.values)
    with pytest.raises(PointsError, match="2\\^28"):
        Sparse(WHOLE).release(points, DOMAIN, epsilon=1)
