"""Every structure: how far a record moves each group, the way there and back, and what the recipe makes of it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import shapely

import spatialdp as sdp
from spatialdp.errors import BudgetError, ParameterError
from spatialdp.mechanisms.base import Terms
from spatialdp.mechanisms.fixed.fourier import BlockDesigns
from spatialdp.mechanisms.recipe import StructuredMechanism, design_of
from spatialdp.privacy.neighbours import Neighbours
from spatialdp.privacy.noise.laws import Law
from spatialdp.structures.axis_pairs import AxisPairs
from spatialdp.structures.tree_levels import TreeLevels
from spatialdp.transforms.axis import IdentityAxis
from spatialdp.transforms.matrices import DenseAxis
from spatialdp.transforms.spectral import Basis
from tests.audit.tape import integers
from tests.helpers.cases import SMALL, fits_any_shape, is_foreseeable, is_pure, of_shape, select
from tests.helpers.sources import RecordingNoise, ZeroNoise

UNIT = sdp.Domain((0, 0, 1, 1))
REGION = sdp.Domain((0, 0, 1, 1), region=shapely.Polygon([(0, 0), (1, 0), (1, 0.6), (0.3, 1), (0, 0.5)]))
ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE
SHAPES = [(1, 1), (1, 9), (5, 3), (8, 8), (17, 4)]
RNG = np.random.default_rng(8)


def structures(shape):
    """Names of public structures on a grid; those that are the same there have one name."""
    found = {}
    for name, variant in select(SMALL, is_foreseeable, is_pure, fits_any_shape).items():
        found.setdefault(of_shape(variant, shape), name)
    return [name for mechanism, name in found.items() if mechanism is not None]


every_structure = pytest.mark.parametrize(
    ("name", "shape"), [(name, shape) for shape in SHAPES for name in structures(shape)]
)
both_relations = pytest.mark.parametrize("neighbours", [ADD, REPLACE])


def design(name, shape, neighbours=ADD, domain=UNIT):
    made = of_shape(SMALL[name], shape)._design(domain, Terms(sdp.Budget(1), neighbours))
    return made.first if isinstance(made, BlockDesigns) else made


def images_of(structure, cells):
    """Measurements of each unit vector, (units, measurements), group by group."""
    found = [list(structure.measure(unit(structure.grid.shape, cell))) for cell in cells]
    return [np.array([integers(part).ravel() for part in group]) for group in zip(*found, strict=True)]


def unit(shape, cell):
    counts = np.zeros(shape[0] * shape[1], dtype=np.int64)
    counts[cell] = 1
    return counts.reshape(shape[::-1])


def moves(image, neighbours):
    """Largest L1 norm and squared L2 norm of what a record can do: enter, or be replaced, which may be to leave."""
    changes = image
    if neighbours is REPLACE:
        everyone = np.concatenate([image, 0 * image[:1]])
        changes = (everyone[:, None, :] - everyone[None, :, :]).reshape(-1, image.shape[1])
    return np.abs(changes).sum(axis=1).max(), (changes**2).sum(axis=1).max()


def is_a_bound(mechanism, neighbours):
    """Whether no two cells need to reach what is declared: waves, and windows that they share, which move by less."""
    waves = isinstance(mechanism, sdp.Fourier) and mechanism.basis is not Basis.WALSH
    return neighbours is REPLACE and (waves or isinstance(mechanism, sdp.Tailored))


# --- sensitivity -------------------------------------------------------------------------------------


@both_relations
@every_structure
def test_unit_vectors_reach_the_declared_sensitivity_of_every_group(name, shape, neighbours):
    structure = design(name, shape, neighbours).structure
    images = images_of(structure, range(shape[0] * shape[1]))
    assert len(images) == len(structure.groups) == len(set(structure.groups))
    for group, image in enumerate(images):
        declared = structure.sensitivity(group, neighbours)
        l1, l2_squared = moves(image, neighbours)
        if is_a_bound(of_shape(SMALL[name], shape), neighbours):
            assert l1 <= declared.l1
            assert l2_squared <= declared.l2_squared
        else:
            assert (l1, l2_squared) == (declared.l1, declared.l2_squared)


@both_relations
@every_structure
def test_no_record_of_a_region_moves_a_group_by_more(name, shape, neighbours):
    if shape == (1, 9):
        return  # a column of cells, most of them outside
    structure = design(name, shape, neighbours, REGION).structure
    images = images_of(structure, np.flatnonzero(structure.grid.mask))
    for group, image in enumerate(images):
        declared = structure.sensitivity(group, neighbours)
        l1, l2_squared = moves(image, neighbours)
        assert l1 <= declared.l1
        assert l2_squared <= declared.l2_squared
        if name == "flat" or isinstance(structure, TreeLevels) or neighbours is ADD:
            assert (l1, l2_squared) == (declared.l1, declared.l2_squared)


@pytest.mark.parametrize("name", ["wavelet", "wavelet, quadtree"])
@pytest.mark.parametrize("shape", [(64, 64), (33, 64), (64, 5)])
def test_sensitivity_of_every_unit_vector_on_large_grids(name, shape):
    structure = design(name, shape).structure
    corner = list(structure.measure(unit(shape, 0)))
    largest, moved = np.zeros((2, len(structure.groups), 2))
    for cell in range(shape[0] * shape[1]):
        image = list(structure.measure(unit(shape, cell)))
        norms = np.array([(np.abs(part).sum(), (part**2).sum()) for part in image])
        apart = np.array([(np.abs(a - b).sum(), ((a - b) ** 2).sum()) for a, b in zip(image, corner, strict=True)])
        largest, moved = np.maximum(largest, norms), np.maximum(moved, apart)
    moved[0] = 1  # the total moves if the record leaves
    for found, neighbours in ((largest, ADD), (moved, REPLACE)):
        declared = [structure.sensitivity(group, neighbours) for group in range(len(structure.groups))]
        assert np.array_equal(found, [(each.l1, each.l2_squared) for each in declared])


def test_entries_of_both_signs_are_paid_for():
    structure = AxisPairs(UNIT.grid((3, 2)), DenseAxis(np.array([[3, -3, 0], [1, 1, 1]])), IdentityAxis(2))
    (image,) = images_of(structure, range(6))
    l1, l2_squared = moves(image, REPLACE)
    assert (l1, l2_squared) == (8, 36)  # more than twice what a record by itself moves
    declared = structure.sensitivity(0, REPLACE)
    assert l1 <= declared.l1
    assert l2_squared <= declared.l2_squared


# --- there and back ----------------------------------------------------------------------------------


def cells_of(estimate, grid):
    """Answers for all cells, (ny, nx)."""
    boxes = estimate.leaf_boxes()
    values = np.zeros(grid.shape[::-1])
    columns, rows = (np.searchsorted(lines, boxes[:, i]) for i, lines in ((0, grid.x_lines), (1, grid.y_lines)))
    values[rows, columns] = estimate.answer(boxes)
    return values


@pytest.mark.parametrize("domain", [UNIT, REGION], ids=["whole", "region"])
@every_structure
def test_measurements_without_noise_give_the_counts(name, shape, domain):
    if domain is REGION and shape == (1, 9):
        return
    made = design(name, shape, domain=domain)
    grid = made.structure.grid
    counts = RNG.integers(0, 1000, shape[::-1]) * grid.mask
    estimate = made.carry_out(made.structure.measure(counts), ZeroNoise())
    expected = grid.mask * counts.sum() / grid.n_cells if name == "uniform" else counts
    assert cells_of(estimate, grid) == pytest.approx(expected, abs=1e-4 if name.startswith("fourier") else 1e-7)
    assert estimate.answer(UNIT.boxes([(0, 0, 1, 1)])) == pytest.approx(counts.sum(), abs=1e-3)


@every_structure
def test_what_is_said_beforehand_is_the_noise_of_the_release(name, shape):
    mechanism = of_shape(SMALL[name], shape)
    release = mechanism.release([[0.5, 0.5]], UNIT, epsilon=1, noise=ZeroNoise())
    boxes = UNIT.boxes([(0, 0, 1, 1), (0.1, 0.2, 0.3, 0.9), (0, 0, 0.01, 0.01)])
    assert np.array_equal(design(name, shape).blank().moments(boxes), release.estimate.moments(boxes))
    plan = mechanism.plan(UNIT, epsilon=1)
    variances = release.estimate.moments(release.estimate.leaf_boxes())[0]  # fewer than 400 cells: all of them
    assert plan.standard_deviation == pytest.approx(np.sqrt(variances.mean()))
    assert plan.cells == release.estimate.n_cells == shape[0] * shape[1]


def test_the_deviation_of_large_grids_is_that_of_a_spread_of_cells():
    for mechanism in (sdp.Wavelet((60, 45)), sdp.Hierarchy((64, 30), levels=(1, 4)), sdp.Quadtree(5)):
        for domain in (UNIT, REGION):
            estimate = mechanism._blank(mechanism._design(domain, Terms(sdp.Budget(1), ADD)))
            variances = estimate.moments(estimate.leaf_boxes())[0]
            plan = mechanism.plan(domain, epsilon=1)
            assert plan.standard_deviation == pytest.approx(np.sqrt(variances.mean()), rel=0.02)


def test_the_deviation_is_after_the_fit_where_that_is_known():
    fit, raw, pruned = (sdp.Quadtree(4, **options) for options in ({}, {"consistent": False}, {"prune": 3}))
    fitted, leaf, unknown = (each.plan(UNIT, epsilon=1).standard_deviation for each in (fit, raw, pruned))
    assert fitted < 0.95 * leaf
    assert unknown == pytest.approx(leaf)


# --- the recipe --------------------------------------------------------------------------------------


@both_relations
@every_structure
def test_every_group_pays_for_itself_and_draws_its_noise_once(name, shape, neighbours):
    made, source = design(name, shape, neighbours), RecordingNoise(1)
    privacy = of_shape(SMALL[name], shape).release([], UNIT, epsilon=1, neighbours=neighbours, noise=source).privacy
    assert sum(made.costs) == sum(privacy.budget.values()) == 1
    paid = [group for group, cost in enumerate(made.costs) if cost]
    assert {made.structure.groups[g]: made.costs[g] for g in paid} == {k: v for k, v in privacy.budget.items() if v}
    sizes = [part.shape for part in made.structure.measure(np.zeros(shape[::-1], dtype=np.int64))]
    assert source.calls == [
        ("laplace", made.structure.sensitivity(g, neighbours).l1 / made.costs[g], sizes[g]) for g in paid
    ]


def test_all_mechanisms_with_a_public_structure_follow_the_recipe():
    others = [kind for kind in sdp.mechanisms.MECHANISMS.values() if not issubclass(kind, StructuredMechanism)]
    assert others == [sdp.Adaptive, sdp.KdTree]


def test_groups_without_budget_are_not_read():
    structure = design("quadtree", (4, 4)).structure
    made = design_of(structure, [Fraction(0), Fraction(0), Fraction(1)], Law.DISCRETE_LAPLACE, ADD)
    assert [law is None for law in made.laws] == [True, True, False]
    counts = RNG.integers(0, 9, (4, 4))
    true = list(structure.measure(counts))
    false = [part + 1000 for part in true[:2]] + true[2:]
    one, two = (made.carry_out(parts, ZeroNoise()).values for parts in (true, false))
    assert np.array_equal(one, two)


def test_what_the_fit_needs_must_be_paid_for():
    pairs, levels = (design(name, (4, 4)).structure for name in ("wavelet", "hierarchy, as Hay's"))
    assert isinstance(pairs, AxisPairs)
    costs = [Fraction(1), *[Fraction(0)] * (len(pairs.groups) - 1)]
    with pytest.raises(BudgetError, match="x group 0, y group 1"):
        design_of(pairs, costs, Law.DISCRETE_LAPLACE, ADD)
    with pytest.raises(BudgetError, match="counts of cells"):
        design_of(levels, [Fraction(1), Fraction(0), Fraction(0)], Law.DISCRETE_LAPLACE, ADD)


def test_a_workload_that_nothing_is_optimised_for_is_refused():
    for options in ({"levels": "uniform", "branching": 2}, {"levels": (1, 2), "budget": (1, 1)}):
        sdp.Hierarchy((8, 8), **options)
        for workload in ("cells", (2, 2)):
            with pytest.raises(ParameterError, match="nothing is optimised"):
                sdp.Hierarchy((8, 8), workload=workload, **options)
    assert sdp.Hierarchy((8, 8), levels=(1, 4), workload="cells") is not None


def test_every_group_has_a_cost_before_a_record_is_read():
    class Generous(sdp.Flat):
        def _costs(self, structure, whole):
            return whole / 2, whole / 2

    with pytest.raises(ValueError, match="longer"):
        Generous((2, 2)).check(UNIT, epsilon=1)
