"""Every structure: how far a whole person moves each group, by brute force over all that a person may contribute."""

from __future__ import annotations

from itertools import combinations, combinations_with_replacement

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.mechanisms.base import Terms
from spatialdp.mechanisms.fixed.fourier import BlockDesigns
from spatialdp.privacy.unit import SHARE_STEPS
from spatialdp.structures.base import Structure
from spatialdp.structures.tree_levels import TreeLevels
from tests.contract.test_structures import ADD, REGION, REPLACE, UNIT, images_of, structures
from tests.helpers.cases import SMALL, of_shape

SHAPE = (4, 4)
NAMES = structures(SHAPE)
both_relations = pytest.mark.parametrize("neighbours", [ADD, REPLACE])
ROUNDING = 1 + 1e-12  # images of waves are large, and their squares are added up as doubles


def designed(name, neighbours, domain=UNIT, person=None):
    made = of_shape(SMALL[name], SHAPE)._design(domain, Terms(sdp.Budget(1), neighbours, person))
    return made.first if isinstance(made, BlockDesigns) else made


def contributions(bound, most, cells):
    """All counts that one person can have in some cells, (contributions, cells); the first one is nothing."""
    choose = combinations_with_replacement if bound == "records" else combinations
    chosen = [each for size in range(most + 1) for each in choose(range(cells), size)]
    counts = np.zeros((len(chosen), cells))
    for row, each in zip(counts, chosen, strict=True):
        np.add.at(row, list(each), 1)
    return counts


def moves(image, counts, neighbours):
    """Largest L1 norm and squared L2 norm of what a person can do: join, or be replaced by any other one, or none."""
    moved = counts @ image.astype(np.float64)  # (contributions, measurements)
    if neighbours is ADD:
        return np.abs(moved).sum(axis=1).max(), (moved**2).sum(axis=1).max()
    l1 = max(np.abs(moved - other).sum(axis=1).max() for other in moved)
    squares = (moved**2).sum(axis=1)
    return l1, (squares[:, None] + squares - 2 * moved @ moved.T).max()


@both_relations
@pytest.mark.parametrize("most", [1, 2, 3])
@pytest.mark.parametrize("name", NAMES)
def test_records_of_a_person_move_every_group_by_the_declared_amount(name, most, neighbours):
    structure = designed(name, neighbours).structure
    counts = contributions("records", most, 16)
    for group, image in enumerate(images_of(structure, range(16))):
        declared = structure.person_sensitivity(group, neighbours, sdp.Person(records=most))
        one = structure.sensitivity(group, neighbours)
        assert (declared.l1, declared.l2_squared) == (most * one.l1, most**2 * one.l2_squared)
        l1, l2_squared = moves(image, counts, neighbours)
        assert l1 <= declared.l1 * ROUNDING
        assert l2_squared <= declared.l2_squared * ROUNDING
        if neighbours is ADD:
            assert l1 == pytest.approx(declared.l1, rel=1e-9)


@both_relations
@pytest.mark.parametrize("most", [1, 2, 3, 5])
@pytest.mark.parametrize("name", NAMES)
def test_cells_of_a_person_move_no_group_by_more_than_declared(name, most, neighbours):
    if most == 5 and neighbours is REPLACE:
        return  # 7,000 contributions, and all pairs of them
    structure = designed(name, neighbours).structure
    counts = contributions("cells", most, 16)
    for group, image in enumerate(images_of(structure, range(16))):
        declared = structure.person_sensitivity(group, neighbours, sdp.Person(cells=most))
        l1, l2_squared = moves(image, counts, neighbours)
        assert l1 <= declared.l1 * ROUNDING
        assert l2_squared <= declared.l2_squared * ROUNDING
        plain = name.startswith(("flat", "uniform", "quadtree", "hierarchy", "wavelet"))
        if plain and neighbours is ADD:
            assert l2_squared == declared.l2_squared


@both_relations
@pytest.mark.parametrize("name", NAMES)
def test_cells_of_a_person_in_a_region(name, neighbours):
    structure = designed(name, neighbours, REGION).structure
    inside = np.flatnonzero(structure.grid.mask)
    counts = contributions("cells", 2, inside.size)
    for group, image in enumerate(images_of(structure, inside)):
        declared = structure.person_sensitivity(group, neighbours, sdp.Person(cells=2))
        l1, l2_squared = moves(image, counts, neighbours)
        assert l1 <= declared.l1 * ROUNDING
        assert l2_squared <= declared.l2_squared * ROUNDING
        if isinstance(structure, TreeLevels) and neighbours is ADD:
            assert l2_squared == declared.l2_squared


@both_relations
@pytest.mark.parametrize("name", NAMES)
def test_shares_of_a_person_move_as_much_as_one_record(name, neighbours):
    """Random shares of at most one whole step count stay within the bound of one record, in steps."""
    structure, rng = designed(name, neighbours).structure, np.random.default_rng(3)
    counts = np.floor(rng.dirichlet(np.full(16, 0.2), 60) * SHARE_STEPS)
    counts[0] = 0
    counts[1:17] = SHARE_STEPS * np.eye(16)
    for group, image in enumerate(images_of(structure, range(16))):
        one = structure.sensitivity(group, neighbours)
        declared = structure.person_sensitivity(group, neighbours, sdp.Person(shares=True))
        assert (declared.l1, declared.steps) == (SHARE_STEPS * one.l1, SHARE_STEPS)
        l1, l2_squared = moves(image, counts, neighbours)
        assert l1 <= declared.l1 * ROUNDING
        assert l2_squared <= declared.l2_squared * (1 + 1e-9)


def test_more_cells_than_there_are_move_no_more():
    structure = designed("flat", ADD).structure
    assert structure.person_sensitivity(0, ADD, sdp.Person(cells=500)).l1 == 16
    assert structure.person_sensitivity(0, REPLACE, sdp.Person(cells=500)).l2_squared == 16


@both_relations
@pytest.mark.parametrize("person", [sdp.Person(records=4), sdp.Person(cells=4)])
@pytest.mark.parametrize("law", ["discrete-laplace", "gaussian"])
def test_a_path_of_a_tree_that_stops_costs_the_whole_budget_whichever_nodes_stop(law, person, neighbours):
    """Costs of all nodes of random pruned trees, for random persons: Σ ε k / Δ₁, or Σ ρ k² / Δ₂²."""
    mechanism = sdp.Quadtree(3, stop=4, law=law)
    delta = 1e-6 if law == "gaussian" else 0
    made = mechanism._design(UNIT, Terms(sdp.Budget(1, delta), neighbours, person))
    costs = [worst_cost(made, person, neighbours, law, seed) for seed in range(300)]
    assert max(costs) <= float(sum(made.costs)) * ROUNDING
    assert max(costs) >= 0.5 * float(sum(made.costs))  # the check can fail: see the next test


def test_costs_of_a_tree_that_stops_would_be_too_high_with_the_sensitivity_of_whole_levels(monkeypatch):
    """`once_each` holds where all nodes of a level cost the same; where some end and are counted again, it does not."""
    monkeypatch.setattr(TreeLevels, "path_sensitivity", Structure.person_sensitivity)
    person = sdp.Person(cells=5)
    made = sdp.Quadtree(2, stop=4, law="gaussian")._design(UNIT, Terms(sdp.Budget(1, 1e-6), ADD, person))
    costs = [worst_cost(made, person, ADD, "gaussian", seed) for seed in range(2000)]
    assert max(costs) > float(sum(made.costs))


def worst_cost(made, person, neighbours, law, seed):
    """The cost of one random person (or of two, one replaced by the other) on a tree whose nodes end at random."""
    rng, structure = np.random.default_rng(seed), made.structure
    change = random_person(rng, person, structure)
    if neighbours is REPLACE:
        change = change - random_person(rng, person, structure)
    nodes, tree = structure.node_counts(change), structure.tree
    alive, total = np.ones(1, dtype=bool), 0.0
    for depth in range(tree.height + 1):
        counts = nodes[tree.level(depth)]
        total += cost_of(made.laws[depth], counts[alive], law)
        if depth == tree.height:
            break
        ended = alive & (rng.random(alive.size) < rng.random())
        total += cost_of(made.stopping.second_laws[depth], counts[ended], law)
        alive = tree.to_children(depth, alive & ~ended)
    return total


def cost_of(law, counts, kind):
    if kind == "gaussian":
        return float((counts**2).sum()) / (2 * float(law.parameter))
    return float(np.abs(counts).sum()) / float(law.parameter)


def random_person(rng, person, structure):
    """Cells that lie close together, so that few nodes hold many of them."""
    counts = np.zeros(structure.grid.n_cells, dtype=np.int64)
    if person.records is not None:
        np.add.at(counts, rng.integers(0, rng.integers(1, counts.size + 1), person.most), 1)
    else:
        side = rng.integers(0, counts.size - person.most + 1)
        near = np.arange(side, min(side + rng.integers(person.most, 2 * person.most + 1), counts.size))
        counts[rng.permutation(near)[: person.most]] = 1
    return counts.reshape(structure.grid.shape[::-1])
