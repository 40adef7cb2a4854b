"""The recipe: each group's noise follows from its cost and sensitivity, whatever is measured."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import shapely

import spatialdp as sdp
from spatialdp.errors import BudgetError, DomainError, ParameterError
from spatialdp.mechanisms.base import Terms
from spatialdp.mechanisms.recipe import design_of, with_cells
from spatialdp.privacy.neighbours import Neighbours
from spatialdp.privacy.noise.laws import Law
from spatialdp.structures.cells import CellCounts
from spatialdp.structures.tree_levels import BlockLevels
from tests.helpers.sources import RecordingNoise, ZeroNoise

UNIT = sdp.Domain((0, 0, 1, 1))


def levels(shape=(6, 4)):
    return sdp.Hierarchy(shape, levels=(1, 2), budget=(1, 1))._design(UNIT, Terms(sdp.Budget(1), Neighbours.ADD_REMOVE))


@pytest.mark.parametrize("relation", list(Neighbours))
def test_noise_is_sensitivity_over_cost(relation):
    structure = CellCounts(UNIT.grid((3, 2)))
    design = design_of(structure, [Fraction(1, 7)], Law.DISCRETE_LAPLACE, relation)
    noise = RecordingNoise(1)
    design.carry_out(structure.measure(np.zeros((2, 3), dtype=np.int64)), noise)
    assert noise.calls == [("laplace", 7 * structure.sensitivity(0, relation).l1, (6,))]
    assert design.last_deviation == pytest.approx(math.sqrt(design.laws[0].variance))


def test_a_group_without_a_cost_draws_nothing_and_one_that_is_needed_must_have_one():
    structure = levels().structure
    assert isinstance(structure, BlockLevels)
    needed = [structure.needs(group) for group in range(len(structure.groups))]
    assert any(needed)
    assert not all(needed)
    costs = [Fraction(int(each)) for each in needed]
    design, noise = design_of(structure, costs, Law.DISCRETE_LAPLACE, Neighbours.ADD_REMOVE), RecordingNoise(1)
    design.carry_out(structure.measure(np.zeros((4, 6), dtype=np.int64)), noise)
    assert len(noise.calls) == sum(needed)
    with pytest.raises(BudgetError, match="counts of cells"):
        design_of(structure, [1 - cost for cost in costs], Law.DISCRETE_LAPLACE, Neighbours.ADD_REMOVE)


def test_costs_must_be_one_for_each_group():
    with pytest.raises(ValueError, match="zip"):
        design_of(levels().structure, [Fraction(1)], Law.DISCRETE_LAPLACE, Neighbours.ADD_REMOVE)


def test_what_is_finished_is_published_and_nothing_else():
    class Doubled(sdp.Flat):
        def _finished(self, estimate):
            return type(estimate)(estimate.grid, 2 * estimate.values, estimate.noise, biased=True)

    release = Doubled((2, 1)).release([[0.1, 0.1]] * 3, UNIT, epsilon=1, noise=ZeroNoise())
    assert release.estimate.values.tolist() == [[6, 0]]
    assert release.estimate.biased


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({}, ParameterError),
        ({"shape": (2, 2), "cell_size": 0.5}, ParameterError),
        ({"shape": (2, 0)}, ParameterError),
        ({"shape": (2.5, 2)}, ParameterError),
        ({"cell_size": -1}, ParameterError),
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", [sdp.Flat, sdp.Hierarchy, sdp.Wavelet, sdp.Fourier, sdp.Tailored])
def test_grids_are_given_by_shape_or_by_size(kind, options, error):
    with pytest.raises(error):
        kind(**options)
    assert kind(cell_size=0.25).leaf_grid(UNIT).shape == kind((4, 4)).leaf_grid(UNIT).shape == (4, 4)


def test_a_region_with_far_too_few_cells_is_refused():
    """A file of so few cells and so large a grid could not be told from a forged one."""
    corner = sdp.Domain((0, 0, 1, 1), region=shapely.box(0, 0, 0.01, 0.01))
    with pytest.raises(DomainError, match="closer to the region"):
        sdp.Flat((4096, 4096)).check(corner, epsilon=1)
    sdp.Flat((2048, 2048)).check(corner, epsilon=1)  # of any grid of this size
    sdp.Flat((4096, 4096)).check(sdp.Domain((0, 0, 1, 1), region=shapely.box(0, 0, 0.1, 0.1)), epsilon=1)


def test_a_region_without_cells_is_refused():
    sliver = sdp.Domain((0, 0, 1, 1), region=shapely.box(0.01, 0.01, 0.02, 0.02), region_cells="centres")
    with pytest.raises(DomainError, match="no cell"):
        with_cells(sliver.grid((2, 2)))
    assert with_cells(UNIT.grid((2, 2))).n_cells == 4
    assert with_cells(replace(sliver, region_cells="touching").grid((2, 2))).n_cells == 1
