"""Answers of zones against dense weighted least squares: values, variances and fourth cumulants."""

from __future__ import annotations

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.errors import ReleaseError
from spatialdp.estimates.zones.counts import ZoneCounts
from spatialdp.estimates.zones.sets import NodeSets
from spatialdp.space.polygons import read_polygons
from spatialdp.space.zones.chains import merged
from spatialdp.trees.adjust import NonNegative
from spatialdp.trees.least_squares import two_pass
from tests.helpers.zone_trees import Strip, counts_on, random_noise, random_shape
from tests.reference.dense_zones import answer_map, coverage_of, cumulants, membership

SEEDS = range(30)


class Case:
    """A random tree of zones with random noise, its fit by `two_pass`, and the dense map beside it."""

    def __init__(self, seed, *, known=0.0, unmeasured=0.2):
        self.rng = np.random.default_rng(seed)
        self.zones = Strip(random_shape(self.rng))
        chains = merged(self.zones.shape)
        self.shape, self.place = chains.shape, np.asarray(chains.place)
        self.variances, self.kurtosis = random_noise(self.rng, self.shape, unmeasured=unmeasured, known=known)
        truth = membership(self.shape) @ self.rng.integers(0, 50, self.shape.n_leaves)
        noise = self.rng.normal(0, 3, self.shape.n_nodes)
        self.measured = np.where(np.isfinite(self.variances), truth + np.where(self.variances > 0, noise, 0.0), 0.0)
        fit = two_pass(self.shape, self.measured, self.variances)
        self.counts = counts_on(self.zones, fit.estimates, self.variances, self.kurtosis)
        self.leaves = answer_map(self.shape, self.variances) @ self.measured  # by the dense map

    def coverage(self, nodes):
        """Coverage of the merged leaves by a set of declared nodes."""
        return coverage_of(self.shape, self.place[np.asarray(nodes, dtype=int)])

    def check(self, sums, coverage):
        second, fourth = cumulants(self.shape, self.variances, self.kurtosis, coverage)
        assert sums.values == pytest.approx(coverage @ self.leaves, rel=1e-9, abs=1e-8)
        assert sums.variance == pytest.approx(second, rel=1e-9, abs=1e-9)
        assert sums.kurtosis * sums.variance**2 == pytest.approx(fourth, rel=1e-9, abs=1e-8)


def random_sets(case, count=12):
    """Sets of declared nodes: anywhere in the tree, nested, repeated, none, and all leaves of a zone."""
    shape, rng = case.zones.shape, case.rng
    sets = [rng.integers(0, shape.n_nodes, rng.integers(1, 9)) for _ in range(count)]
    sets += [np.array([], dtype=int), np.array([0, 0, shape.n_nodes - 1]), np.flatnonzero(shape.leaves)]
    return sets


@pytest.mark.parametrize("known", [0.0, 0.25])
@pytest.mark.parametrize("seed", SEEDS)
def test_single_zones_are_those_of_dense_least_squares(seed, known):
    case = Case(seed, known=known)
    nodes = np.arange(case.zones.shape.n_nodes)
    case.check(case.counts.of_nodes(nodes), np.array([case.coverage([node]) for node in nodes]))


@pytest.mark.parametrize("known", [0.0, 0.25])
@pytest.mark.parametrize("seed", SEEDS)
def test_sets_of_zones_are_those_of_dense_least_squares(seed, known):
    case = Case(seed, known=known)
    sets = random_sets(case)
    case.check(case.counts.of_sets(sets), np.array([case.coverage(members) for members in sets]))


@pytest.mark.parametrize("seed", SEEDS)
def test_boxes_and_polygons_are_weighted_sums_of_leaves(seed):
    case = Case(seed)
    n = case.zones.n_leaves
    ends = np.sort(case.rng.uniform(0, n, (10, 2)), axis=1)
    height = case.rng.uniform(0.2, 1.0, 10)
    left = np.arange(n)
    overlap = np.clip(np.minimum(ends[:, 1:], left + 1) - np.maximum(ends[:, :1], left), 0, 1) * height[:, None]
    coverage = np.zeros((10, case.shape.n_leaves))
    order = np.searchsorted(np.flatnonzero(case.shape.leaves), case.place[np.flatnonzero(case.zones.shape.leaves)])
    coverage[:, order] = overlap
    boxes = np.stack([ends[:, 0], np.zeros(10), ends[:, 1], height], axis=1)
    lattice = case.zones.domain.boxes(boxes)
    counts = case.counts
    second, fourth = cumulants(case.shape, case.variances, case.kurtosis, coverage)
    for queries, answer, moments in (
        (lattice, counts.answer, counts.moments),
        (
            read_polygons([_box(box) for box in boxes], case.zones.domain),
            counts.answer_polygons,
            counts.polygon_moments,
        ),
    ):
        assert answer(queries) == pytest.approx(coverage @ case.leaves, rel=1e-6, abs=1e-5)
        variance, kurtosis = moments(queries)
        assert variance == pytest.approx(second, rel=1e-6)
        assert kurtosis * variance**2 == pytest.approx(fourth, rel=1e-5)


def _box(box):
    import shapely

    return shapely.box(*box)


@pytest.mark.parametrize("seed", SEEDS)
def test_shares_of_leaves_are_those_of_dense_least_squares(seed):
    case = Case(seed, known=0.1)
    count, leaves = 6, np.flatnonzero(case.shape.leaves)
    coverage = np.where(case.rng.random((count, leaves.size)) < 0.4, case.rng.random((count, leaves.size)), 0.0)
    coverage[case.rng.random(coverage.shape) < 0.3] = 1.0
    owner, leaf = np.nonzero(coverage)
    case.check(case.counts._sums(NodeSets(count, owner, leaves[leaf], coverage[owner, leaf])), coverage)


@pytest.mark.parametrize("consistent", [True, False])
@pytest.mark.parametrize("seed", SEEDS)
def test_all_leaves_of_a_zone_have_the_answer_of_the_zone(seed, consistent):
    case = Case(seed)
    shape = case.zones.shape
    values = case.counts.values if consistent else case.measured
    counts = counts_on(case.zones, values, case.variances, case.kurtosis, consistent=consistent)
    nodes, below = np.arange(shape.n_nodes), membership(shape)
    leaves = np.flatnonzero(shape.leaves)
    whole, parts = counts.of_nodes(nodes), counts.of_sets([leaves[row > 0] for row in below])
    assert np.array_equal(whole.values, parts.values)
    assert parts.variance == pytest.approx(whole.variance, rel=1e-12)
    assert parts.kurtosis == pytest.approx(whole.kurtosis, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_without_a_fit_answers_take_the_measurements_and_sums_of_children_where_there_are_none(seed):
    case = Case(seed)
    counts = counts_on(case.zones, case.measured, case.variances, case.kurtosis, consistent=False)
    second, fourth, values = (np.zeros(case.shape.n_nodes) for _ in range(3))
    for node in reversed(range(case.shape.n_nodes)):
        below = np.flatnonzero(case.shape.parent == node)
        if np.isfinite(case.variances[node]):
            values[node], second[node] = case.measured[node], case.variances[node]
            fourth[node] = case.variances[node] ** 2 * case.kurtosis[node]
        else:
            values[node], second[node], fourth[node] = values[below].sum(), second[below].sum(), fourth[below].sum()
    sums = counts.of_nodes(np.arange(case.zones.shape.n_nodes))
    assert sums.values == pytest.approx(values[case.place])
    assert sums.variance == pytest.approx(second[case.place])
    assert sums.kurtosis * sums.variance**2 == pytest.approx(fourth[case.place])
    assert counts.total == pytest.approx(values[0])


def test_known_totals_are_answered_exactly():
    case = Case(3, known=0.0)
    variances = case.variances.copy()
    level = case.shape.level(1)
    variances[level] = 0.0
    truth = membership(case.shape) @ np.arange(case.shape.n_leaves)
    measured = truth + np.where(variances > 0, 1.7, 0.0)
    fit = two_pass(case.shape, measured, variances)
    counts = counts_on(case.zones, fit.estimates, variances, np.where(variances > 0, 3.0, 0.0))
    known = np.flatnonzero(np.isin(case.place, np.arange(level.start, level.stop)))
    sums = counts.of_nodes(known)
    assert sums.values == pytest.approx(truth[case.place[known]], abs=1e-9)
    assert not sums.variance.any()
    together = counts.of_sets([known[:2]])
    assert together.variance == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_whole_tables_without_negative_counts_add_up(seed):
    case = Case(seed)
    low = counts_on(case.zones, case.counts.values - 20, case.variances, case.kurtosis)
    fit = two_pass(case.shape, low.values, np.where(case.shape.leaves, 1.0, np.inf))
    low = counts_on(case.zones, fit.estimates, case.variances, case.kurtosis)
    for method in NonNegative:
        table = low.non_negative(method).rounded()
        assert table.biased
        assert np.all(table.values >= 0)
        assert np.all(table.values == np.rint(table.values))
        assert np.array_equal(membership(case.shape) @ table.values[case.shape.leaves], table.values)
        assert table.of_nodes([0]).values[0] == pytest.approx(max(low.total, 0.0), abs=1.0) or method == "least-squares"


def test_estimates_that_do_not_add_up_cannot_be_made_whole():
    case = Case(1)
    counts = counts_on(case.zones, case.measured, case.variances, case.kurtosis, consistent=False)
    for adjust in (counts.rounded, lambda: counts.non_negative(NonNegative.FAMILIES)):
        with pytest.raises(ReleaseError, match="add up"):
            adjust()


def test_zones_without_polygons_answer_codes_and_refuse_places():
    class Bare(Strip):
        geometry = None
        domain = None

    case = Case(2)
    counts = ZoneCounts(Bare(case.zones.shape), case.counts.values, case.variances, case.kurtosis, 1.0, True)
    assert counts.of_nodes([0]).values == pytest.approx(case.counts.values[:1])
    with pytest.raises(ReleaseError, match="codes"):
        counts.answer(np.array([[0, 0, 1, 1]]))


@pytest.mark.parametrize("seed", range(5))
def test_what_the_protocol_says_of_leaves(seed):
    case = Case(seed)
    counts, n = case.counts, case.zones.n_leaves
    leaves = np.flatnonzero(case.zones.shape.leaves)
    assert np.array_equal(counts.leaf_values(), counts.of_nodes(leaves).values)
    assert np.array_equal(counts.leaf_moments()[0], counts.of_nodes(leaves).variance)
    boxes = counts.leaf_boxes()
    assert counts.answer(boxes) == pytest.approx(counts.leaf_values(), abs=1e-6)
    assert np.array_equal(counts.leaf_boxes(np.array([1])), boxes[1:2])
    assert not counts.allowance(boxes).bracket.cut.any()
    assert not counts.uniformity(boxes).any()
    assert (counts.n_cells, counts.unbiased, counts.finest) == (n, counts, counts)


def test_cut_zones_are_bracketed_by_the_zones_inside_and_those_touched():
    case = Case(4)
    counts = case.counts
    bracket = counts.allowance(case.zones.domain.boxes([(0.5, 0, 3, 1), (1, 0, 3, 1)])).bracket
    leaves = counts.leaf_values()
    assert bracket.cut.tolist() == [True, False]
    assert bracket.inside.values == pytest.approx([leaves[1:3].sum()] * 2)
    assert bracket.touched.values == pytest.approx([leaves[:3].sum(), leaves[1:3].sum()])
    worst = counts.uniformity(case.zones.domain.boxes([(0.25, 0, 3, 1)]))
    assert worst == pytest.approx([0.75 * max(leaves[0], 0)], rel=1e-6)


def test_the_package_knows_the_kind():
    assert sdp.ZoneRelease.__name__ == "ZoneRelease"


def test_queries_are_clipped_once_for_all_that_an_interval_needs(monkeypatch):
    counts, calls = Case(5).counts, []
    clip = ZoneCounts._clipped
    monkeypatch.setattr(ZoneCounts, "_clipped", lambda self, queries: calls.append(1) or clip(self, queries))
    boxes = counts.zones.domain.boxes([(0.5, 0, 3, 1)])
    first = counts.answer(boxes)
    counts.moments(boxes.copy()), counts.allowance(boxes)
    assert len(calls) == 1
    boxes[0, 2] //= 2  # a caller may reuse an array
    assert counts.answer(boxes) != first
    polygons = read_polygons([_box((0.5, 0, 3, 1))], counts.zones.domain)
    one = counts.answer_polygons(polygons)
    polygons[0] = _box((0.5, 0, 2, 1))
    assert counts.answer_polygons(polygons) != one
    assert len(calls) == 4
