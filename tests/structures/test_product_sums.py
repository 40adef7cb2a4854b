"""Products of sums agree with dense Kronecker algebra; no record or person moves a group by more than declared."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.privacy.neighbours import Neighbours
from spatialdp.privacy.noise.laws import Law, laws_for
from spatialdp.space.zones.frame import Zones
from spatialdp.structures.axis_pairs import AxisPairs
from spatialdp.structures.product_sums import ProductSums
from spatialdp.transforms.axis import IdentityAxis
from spatialdp.transforms.tree_axis import TreeAxis
from spatialdp.trees.shape import TreeShape
from tests.helpers.tables import dense_fit, measured_matrix, random_shares

GRID = sdp.Domain((0, 0, 4, 2)).grid((4, 2))
WEEK = sdp.Time("2024-01-06", "2024-01-10", step="1 d", levels=("week",))  # Saturday and Sunday, Monday and Tuesday
KINDS = sdp.Categories({"theft": ["burglary", "shoplifting"], "assault": []})
ZONES = Zones.from_codes(["A1", "A2", "A3", "B1", "C"], None, {"state": 1, "county": 2})
FRAMES = {
    "cells": sdp.Frame(GRID),
    "blocks and kinds": sdp.Frame(GRID, blocks=(2,), kind=KINDS),
    "zones and days": sdp.Frame(ZONES, time=WEEK),
    "zones, days and kinds": sdp.Frame(ZONES, time=WEEK, kind=KINDS),
}


def structure_of(name, seed=0, power=2):
    frame, rng = FRAMES[name], np.random.default_rng(seed)
    axes = [
        TreeAxis(axis.shape, random_shares(rng, len(axis.names)), power, getattr(axis, "spans", None))
        for axis in frame.axes.values()
    ]
    return ProductSums(frame, tuple(axes))


def group_matrices(structure):
    """The matrix of each group, (measurements, cells), by unit vectors through `measure`."""
    cells = structure.frame.n_cells
    units = np.eye(cells, dtype=np.int64).reshape(cells, *structure.frame.shape)
    columns = [[part.ravel() for part in structure.measure(unit)] for unit in units]
    return [np.stack(group, axis=1) for group in zip(*columns, strict=True)]


def structure_part(structure, group):
    """Where the measurements of a group are in the array of all."""
    return tuple(axis.groups[g] for axis, g in zip(structure.axes, group, strict=True))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", FRAMES)
def test_the_fit_is_dense_kronecker_least_squares(name, seed):
    structure = structure_of(name, seed)
    rng = np.random.default_rng(seed)
    sizes = [axis.n_coefficients for axis in structure.axes]
    noisy = rng.normal(size=sizes) * 10
    parts = [noisy[structure_part(structure, group)] for group in structure.group_numbers]
    fitted = structure.fit(iter([part.copy() for part in parts]), [])
    dense = dense_fit(list(structure.axes)) @ noisy.ravel()
    assert fitted.ravel() == pytest.approx(dense, abs=1e-9)


@pytest.mark.parametrize("name", FRAMES)
def test_measurements_are_products_of_the_axes_measurements(name):
    structure = structure_of(name, 1)
    for group, matrix in zip(structure.group_numbers, group_matrices(structure), strict=True):
        factors = [measured_matrix(axis)[axis.groups[g]] for axis, g in zip(structure.axes, group, strict=True)]
        dense = factors[0]
        for factor in factors[1:]:
            dense = np.kron(dense, factor)
        assert np.array_equal(matrix, dense)


@pytest.mark.parametrize("relation", list(Neighbours))
@pytest.mark.parametrize("name", FRAMES)
def test_one_record_moves_groups_as_declared_and_no_pair_of_cells_costs_more_than_the_whole(name, relation):
    structure = structure_of(name, 2)
    matrices = group_matrices(structure)
    declared = [structure.sensitivity(group, relation) for group in range(len(matrices))]
    cells = range(structure.frame.n_cells)
    changes = [(cell, None) for cell in cells]
    if relation is Neighbours.REPLACE:
        changes += list(itertools.combinations(cells, 2))
    worst = Fraction(0)
    most = [0] * len(matrices)
    for one, other in changes:
        loss = Fraction(0)
        for group, (matrix, share) in enumerate(zip(matrices, structure.shares, strict=True)):
            change = matrix[:, one] - (0 if other is None else matrix[:, other])
            l1, l2_squared = int(np.abs(change).sum()), int((change**2).sum())
            assert l1 <= declared[group].l1
            assert l2_squared <= declared[group].l2_squared
            most[group] = max(most[group], l1)
            loss += share * Fraction(l1, declared[group].l1)
        worst = max(worst, loss)
    assert worst <= 1
    if relation is Neighbours.ADD_REMOVE:
        assert worst == 1
        assert most == [each.l1 for each in declared]


@pytest.mark.parametrize("relation", list(Neighbours))
@pytest.mark.parametrize("person", [sdp.Person(records=2), sdp.Person(cells=2), sdp.Person(cells=5)], ids=str)
@pytest.mark.parametrize("name", ["cells", "zones and days"])
def test_no_person_costs_more_than_the_whole_in_either_norm(name, person, relation):
    structure = structure_of(name, 3)
    matrices = group_matrices(structure)
    declared = [structure.person_sensitivity(group, relation, person) for group in range(len(matrices))]
    rng = np.random.default_rng(1)
    cells, worst = structure.frame.n_cells, [0.0, 0.0]
    for trial in range(400):
        counts = [_someone(rng, cells, person, trial + turn) for turn in range(2)]
        change = counts[0] - (counts[1] if relation is Neighbours.REPLACE else 0)
        moved = [matrix @ change for matrix in matrices]
        groups = list(zip(moved, structure.shares, declared, strict=True))
        losses = [
            sum(share * np.abs(each).sum() / law.l1 for each, share, law in groups),
            sum(share * (each**2).sum() / law.l2_squared for each, share, law in groups),
        ]
        worst = [max(pair) for pair in zip(worst, map(float, losses), strict=True)]
    assert max(worst) <= 1 + 1e-12
    if relation is Neighbours.ADD_REMOVE:
        assert worst[0] == pytest.approx(1)


def _someone(rng, cells, person, trial):
    """Counts of one person within the bound: scattered, or all in cells beside each other."""
    counts = np.zeros(cells, dtype=np.int64)
    first = int(rng.integers(cells))
    places = (first + np.arange(person.most)) % cells if trial % 2 else rng.integers(cells, size=person.most)
    np.add.at(counts, places, 1)
    return np.minimum(counts, 1) if person.cells is not None else counts


def test_shares_of_a_person_are_counted_in_steps():
    structure = structure_of("blocks and kinds")
    one = structure.sensitivity(0, Neighbours.ADD_REMOVE)
    person = structure.person_sensitivity(0, Neighbours.ADD_REMOVE, sdp.Person(shares=True))
    assert (person.l1, person.steps) == (one.l1 * 2**20, 2**20)


@pytest.mark.parametrize("name", FRAMES)
def test_steps_of_the_statement_add_up_to_the_whole(name):
    structure = structure_of(name, 5)
    steps = structure.steps(Fraction(3, 10))
    assert sum(steps.values()) == Fraction(3, 10)
    assert all(steps.values())
    assert len(set(structure.groups)) == len(structure.groups)


def test_without_trees_it_measures_as_axis_pairs_do():
    frame = sdp.Frame(sdp.Domain((0, 0, 1, 1)).grid((5, 1)), kind=sdp.Categories(["a", "b", "c"]))
    whole = (Fraction(0), Fraction(1))
    table = ProductSums(frame, tuple(TreeAxis(axis.shape, whole, 2) for axis in frame.axes.values()))
    pairs = AxisPairs(sdp.Domain((0, 0, 1, 1)).grid((5, 3)), IdentityAxis(5), IdentityAxis(3))
    counts = np.random.default_rng(1).integers(0, 9, (3, 5))
    for relation in Neighbours:
        assert table.sensitivity(0, relation) == pairs.sensitivity(0, relation)
        laws = laws_for(Law.DISCRETE_LAPLACE, [Fraction(1)], [table.sensitivity(0, relation)])
        ours, theirs = table.estimate(counts, laws), pairs.estimate(counts, laws)
        variance, kurtosis = ours.moments_of_sums(ours.every())
        box = np.array([[0, 0, 2**30, 2**30]])
        assert (variance.item(), kurtosis.item()) == pytest.approx([each.item() for each in theirs.moments(box)])
    (one,), (other,) = table.measure(counts), pairs.measure(counts)
    assert np.array_equal(one, other)


def test_a_single_count_that_is_not_the_total_counts_twice_under_replace():
    """A zone that is its parent's only part spends for two levels; a record that leaves it pays where it arrives."""
    zones = Zones.from_codes(["A1", "B1", "B2"], None, {"state": 1, "county": 2})
    frame = sdp.Frame(zones)
    axis = frame.space
    thirds = (Fraction(1, 3),) * 3
    structure = ProductSums(frame, (TreeAxis(axis.shape, thirds, 2, axis.spans),))
    sensitivities = {
        name: structure.sensitivity(group, Neighbours.REPLACE).l1 for group, name in enumerate(structure.groups)
    }
    assert sensitivities["counts of all zones"] == 1
    assert sensitivities["counts of state to county, one part"] == 2


def test_memory_counts_all_measurements():
    structure = structure_of("cells")
    assert structure.memory >= 8 * structure.frame.n_cells
    assert isinstance(structure.axes[0].shape, TreeShape)
