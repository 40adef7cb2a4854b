"""Counts of zones: groups, costs of paths, sensitivities by brute force, dense least squares, known totals."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.errors import ParameterError
from spatialdp.privacy.neighbours import Neighbours
from spatialdp.privacy.noise.laws import Law, calibrate
from spatialdp.structures.zone_levels import KnownTotals, ZoneLevels
from tests.helpers.zone_cases import FRAMES
from tests.reference.dense_trees import dense_map

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE
LOPSIDED = FRAMES["lopsided"]
RNG = np.random.default_rng(8)
every_frame = pytest.mark.parametrize("zones", FRAMES.values(), ids=list(FRAMES))


def images(structure):
    """Measurements of each leaf's unit vector, group by group: (groups, leaves, nodes)."""
    rows = [list(structure.measure(row)) for row in np.eye(structure.zones.n_leaves, dtype=np.int64)]
    return [np.array(group) for group in zip(*rows, strict=True)]


def laws_of(structure, law=Law.DISCRETE_LAPLACE, neighbours=ADD, person=None, weights=None):
    levels = [Fraction(each) for each in weights or [1] * len(structure.zones.levels)]
    costs = structure.costs_of([each / sum(levels) for each in levels])
    made = [structure.person_sensitivity(group, neighbours, person) for group in range(len(costs))]
    return [calibrate(law, cost, each) if cost else None for cost, each in zip(costs, made, strict=True)]


def test_groups_say_which_levels_a_zone_spans():
    assert ZoneLevels(LOPSIDED).groups == (
        "count of all zones",
        "counts by state",
        "counts by state to county, one zone",
        "counts by state to tract, one zone",
        "counts by county",
        "counts by county to tract, one zone",
        "counts by tract",
    )
    assert ZoneLevels(FRAMES["one zone"]).groups == ("counts by state to tract, one zone",)


@every_frame
def test_every_path_costs_exactly_the_whole(zones):
    structure = ZoneLevels(zones)
    weights = [Fraction(k + 1, 7) for k in range(len(zones.levels))]
    levels = [each / sum(weights) for each in weights]
    costs = structure.costs_of(levels)
    for row in range(zones.n_leaves):
        entered = [group for group, image in enumerate(images(structure)) if image[row].any()]
        assert sum(costs[group] for group in entered) == 1


@every_frame
def test_a_record_is_in_one_node_of_each_group_at_most(zones):
    for image in images(ZoneLevels(zones)):
        assert set(np.unique(image)) <= {0, 1}
        assert image.sum(axis=1).max() == 1
        assert image.any(axis=0).all()  # every node has a leaf


@pytest.mark.parametrize("law", [Law.DISCRETE_LAPLACE, Law.GAUSSIAN])
@every_frame
def test_replacing_a_record_costs_the_whole_at_most(zones, law):
    """Out of any leaf, or out of none, into any other."""
    structure = ZoneLevels(zones)
    laws, parts = laws_of(structure, law, REPLACE), [np.vstack([each, 0 * each[:1]]) for each in images(structure)]
    for one in range(zones.n_leaves + 1):
        for other in range(one):
            cost = Fraction(0)
            for noise, part in zip(laws, parts, strict=True):
                change = int(np.abs(part[one] - part[other]).sum())
                cost += change / (2 * noise.parameter) if law is Law.GAUSSIAN else change / noise.parameter
            assert cost <= 1


def test_persons_pay_for_every_zone_that_their_leaves_fill():
    """Four leaves of one zone fill it; where groups exclude each other, the path decides."""
    regular, person = ZoneLevels(FRAMES["regular"]), sdp.Person(cells=4)
    squares = [regular.person_sensitivity(group, ADD, person).l2_squared for group in range(4)]
    assert squares == [16, 16, 8, 4]
    paths = ZoneLevels(LOPSIDED)
    found = {name: paths.person_sensitivity(g, ADD, person).l2_squared for g, name in enumerate(paths.groups)}
    assert found["count of all zones"] == 16
    assert found["counts by county to tract, one zone"] == 4
    assert found["counts by state"] == 12  # state A has 3 leaves: L min(L, s)


AS_MANY_GROUPS_AS_LEVELS = sdp.Zones.from_codes(["X", "Y11", "Y12"], None, {"region": 1, "state": 2, "county": 3})


@pytest.mark.parametrize("neighbours", Neighbours)
@pytest.mark.parametrize("most", [1, 2, 3])
@pytest.mark.parametrize("name", ["regular", "lopsided", "one zone", "as many groups as levels"])
def test_persons_in_some_leaves_cost_the_whole_at_most(name, most, neighbours):
    """Every person alone, and every replacement of one by another, for Gaussian noise: costs are exact fractions."""
    zones = FRAMES.get(name, AS_MANY_GROUPS_AS_LEVELS)
    structure, person = ZoneLevels(zones), sdp.Person(cells=most)
    levels = [Fraction(1, len(zones.levels))] * len(zones.levels)
    costs, measured = structure.costs_of(levels), images(structure)
    moved = [structure.person_sensitivity(group, neighbours, person).l2_squared for group in range(len(costs))]
    nobody = np.zeros(zones.n_leaves, dtype=np.int64)
    chosen = [set_ for size in range(most + 1) for set_ in combinations(range(zones.n_leaves), size)]
    persons = np.array([np.bincount(each, minlength=zones.n_leaves) if each else nobody for each in chosen])
    others = persons if neighbours is REPLACE else nobody[None]
    changes = (persons[:, None] - others[None]).reshape(-1, zones.n_leaves)
    squares = np.stack([((changes @ image) ** 2).sum(axis=1) for image in measured], axis=1)
    for each in np.unique(squares, axis=0).tolist():
        assert sum(cost * square / norm for cost, square, norm in zip(costs, each, moved, strict=True)) <= 1


def test_measurements_without_noise_give_the_counts():
    counts = RNG.integers(0, 99, LOPSIDED.n_leaves)
    structure = ZoneLevels(LOPSIDED)
    laws = laws_of(structure)
    values = structure.fit([part.astype(float) for part in structure.measure(counts)], laws)
    estimate = structure.estimate(values, laws)
    for node in range(LOPSIDED.shape.n_nodes):
        assert estimate.of_nodes([node]).values[0] == pytest.approx(counts[LOPSIDED.leaves_of([node])].sum())


@pytest.mark.parametrize("weights", [(1, 1, 1, 1), (3, 0, 1, 2), (0, 0, 0, 1)])
@pytest.mark.parametrize("law", [Law.DISCRETE_LAPLACE, Law.GAUSSIAN])
def test_the_fit_and_its_variances_are_those_of_dense_least_squares(law, weights):
    structure = ZoneLevels(LOPSIDED)
    laws = laws_of(structure, law, weights=weights)
    variances = structure.noise(laws)[0]
    noisy = RNG.normal(0, 9, structure.tree.n_nodes)
    parts = [noisy[nodes] for nodes in structure._nodes]
    dense = dense_map(structure.tree, variances)
    assert structure.fit(parts, laws) == pytest.approx(dense @ np.where(np.isinf(variances), 0, noisy), abs=1e-9)
    expected = dense**2 @ np.where(np.isinf(variances), 0, variances)
    nodes = np.arange(LOPSIDED.shape.n_nodes)
    found = structure.blank(laws).of_nodes(nodes).variance
    assert found == pytest.approx(expected[structure.chains.place])


def test_a_chain_has_a_quarter_of_the_variance_of_two_levels_or_less():
    """With Laplace noise two levels' budgets in one measurement halve the variance that two measurements leave."""
    structure = ZoneLevels(LOPSIDED)
    variances, _ = structure.noise(laws_of(structure))
    tract, chain = (variances[structure._nodes[structure.groups.index(name)][0]] for name in (
        "counts by tract", "counts by county to tract, one zone"))  # fmt: skip
    assert chain == pytest.approx(tract / 4, rel=0.05)


# --- known totals, and invariants -----------------------------------------------------------------------


def known(**totals):
    return KnownTotals(LOPSIDED.nodes_of(list(totals)), np.array(list(totals.values())))


def test_known_totals_are_kept_exactly():
    structure = ZoneLevels(LOPSIDED, known=known(A=50, A1=20))
    laws = laws_of(structure)
    values = structure.fit(structure.measure(RNG.integers(0, 9, LOPSIDED.n_leaves)), laws)
    estimate = structure.estimate(values, laws)
    found = estimate.of_nodes(LOPSIDED.nodes_of(["A", "A1", "A2", "A2x"]))
    assert found.values == pytest.approx([50, 20, 30, 30])
    assert found.variance == pytest.approx([0, 0, 0, 0])


@pytest.mark.parametrize(
    "totals",
    [
        {"A": 10, "A1": 4, "A2": 5},  # the parts are less
        {"A": 10, "A1": 12},  # a part is more
        {"D": 3, "D1x": 4},  # the same zone on two levels
        {"A": 10, "A1x": 4, "A1y": 4, "A2x": 3},  # two levels further down
    ],
)
def test_known_totals_that_contradict_each_other_are_refused(totals):
    with pytest.raises(ParameterError, match="contradict each other"):
        ZoneLevels(LOPSIDED, known=known(**totals))


@pytest.mark.parametrize("totals", [{"A": 10, "A1": 4}, {"A": 10, "A1": 4, "A2": 6}, {"D": 3, "D1x": 3}, {"A": 0}])
def test_known_totals_that_can_be_right_are_taken(totals):
    ZoneLevels(LOPSIDED, known=known(**totals))


def test_invariants_cost_nothing_and_have_no_noise():
    structure = ZoneLevels(LOPSIDED, exact_depth=1)
    costs = structure.costs_of([Fraction(0), Fraction(0), Fraction(1, 2), Fraction(1, 2)])
    free = [name for name, cost in zip(structure.groups, costs, strict=True) if not cost]
    assert free == [name for name in structure.groups if "state" in name or "all" in name]
    assert not any(structure.needs(group) for group, cost in enumerate(costs) if not cost)
    assert structure.certain.sum() == 1 + 6
