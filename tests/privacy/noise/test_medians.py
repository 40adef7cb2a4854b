"""Private medians: exact ratios, exact samplers, and wrong variants that must be caught.

Statistical tests run with fixed seeds and reject at p < 1e-6, so a correct sampler would fail a fresh seed once in
a million runs; for every sampler a parameter that is 10 or 20 % off is rejected as well.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scripts.cell_lines import cell_medians
from spatialdp.errors import BudgetError, ParameterError, PointsError
from spatialdp.privacy.noise import medians as medians_module
from spatialdp.privacy.noise.medians import Median, medians
from spatialdp.privacy.noise.selection import amplified_epsilon
from spatialdp.privacy.noise.source import SeededNoise
from tests.helpers.laws import FALSE_ALARM, boundaries, fits, worst_log_ratio
from tests.helpers.medians import ADD_REMOVE, CASES, REPLACE, many, neighbouring, one, random_data
from tests.helpers.sources import ScriptedWords
from tests.reference.median_laws import exponential_law, sampled_law, smooth_law

# --- by the exponential mechanism ---


@pytest.mark.parametrize(("relation", "rate"), [(ADD_REMOVE, 1.0), (REPLACE, 0.5)])
def test_exponential_median_ratio(relation, rate):
    rng, worst = np.random.default_rng(11), 0.0
    for _ in range(3000):
        values, other, high = neighbouring(rng, relation)
        worst = max(
            worst, worst_log_ratio(exponential_law(values, 0, high, rate), exponential_law(other, 0, high, rate))
        )
    assert 0.9 < worst <= 1 + 1e-9


def test_replace_across_two_nodes_costs_epsilon():
    rng, worst = np.random.default_rng(12), [0.0, 0.0]
    for _ in range(1500):
        values, other, high = neighbouring(rng, ADD_REMOVE)
        exact = worst_log_ratio(exponential_law(values, 0, high, 0.5), exponential_law(other, 0, high, 0.5))
        smoothed = worst_log_ratio(smooth_law(values, 0, high, 0.5), smooth_law(other, 0, high, 0.5))
        worst = [max(worst[0], exact), max(worst[1], smoothed)]
    assert 0.9 < 2 * worst[0] <= 1 + 1e-9
    assert 2 * worst[1] <= 1 + 1e-9


def test_persons_with_several_records_cost_epsilon_at_a_part_of_it():
    """A person with at most 3 records, or the weight of 3, is added: lines are drawn at a third of ε."""
    rng, worst = np.random.default_rng(13), 0.0
    for _ in range(400):
        values, high = random_data(rng, width=150)
        other = [*values, *rng.choice([0, min(1, high - 1), high - 1], rng.integers(1, 4)).tolist()]
        worst = max(worst, worst_log_ratio(*(exponential_law(each, 0, high, 1 / 3) for each in (values, other))))
    assert 0.9 < worst <= 1 + 1e-9


@pytest.mark.parametrize("epsilon", [Fraction(1, 1000), Fraction(1, 2)])
def test_weights_are_as_good_as_repeated_values(epsilon):
    """Several nodes, some of them empty: the same lines for the same bits."""
    rng = np.random.default_rng(14)
    sizes = np.array([0, 5, 1, 0, 9])
    nodes = np.repeat(np.arange(5), sizes)
    low, high = 100 * np.arange(5), 100 * np.arange(5) + 40
    values = np.concatenate([np.sort(rng.integers(low[i], high[i], size)) for i, size in enumerate(sizes)])
    weights = rng.integers(1, 6, values.size)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    repeated = np.concatenate([[0], np.cumsum(np.bincount(nodes, weights, 5))]).astype(int)
    options = {"method": Median.EXPONENTIAL, "epsilon": epsilon, "neighbours": ADD_REMOVE}
    for seed in range(50):
        weighted = medians(values, starts, low, high, weights=weights, noise=SeededNoise(seed), **options)
        assert np.array_equal(
            weighted, medians(np.repeat(values, weights), repeated, low, high, noise=SeededNoise(seed), **options)
        )


def test_weights_are_refused_where_they_would_not_be_used():
    options = {"epsilon": Fraction(1), "neighbours": ADD_REMOVE, "noise": SeededNoise(0)}
    for more in ({"method": Median.SMOOTH}, {"method": Median.EXPONENTIAL, "sampling": Fraction(1, 2)}):
        with pytest.raises(ParameterError, match="give each value as often as it counts"):
            medians([1, 2], [0, 2], [0], [8], weights=np.array([1, 2]), **more, **options)
    with pytest.raises(ParameterError, match="different lengths"):
        medians([1, 2], [0, 2], [0], [8], weights=np.array([1]), method=Median.EXPONENTIAL, **options)


@pytest.mark.statistical
@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE])
@pytest.mark.parametrize("case", CASES)
def test_exponential_median_sampler(case, relation):
    (values, low, high), epsilon = CASES[case], Fraction(1, 2)
    drawn = many(
        values, low, high, 40_000, SeededNoise(21), method=Median.EXPONENTIAL, epsilon=epsilon, neighbours=relation
    )
    rate = 0.5 if relation is ADD_REMOVE else 0.25
    assert fits(drawn, exponential_law(values, low, high, rate)) > FALSE_ALARM


@pytest.mark.statistical
def test_exponential_median_sampler_notices_ten_per_cent():
    values, low, high = list(range(0, 60, 3)), 0, 60
    drawn = many(
        values,
        low,
        high,
        60_000,
        SeededNoise(22),
        method=Median.EXPONENTIAL,
        epsilon=Fraction(1, 2),
        neighbours=ADD_REMOVE,
    )
    assert fits(drawn, exponential_law(values, low, high, 0.5)) > FALSE_ALARM
    for wrong in (0.45, 0.55):
        assert fits(drawn, exponential_law(values, low, high, wrong)) < FALSE_ALARM


@pytest.mark.parametrize("epsilon", [Fraction(1, 10**4), Fraction(1, 3), Fraction(50)])
def test_filter_and_exact_decision_agree(epsilon, monkeypatch):
    rng = np.random.default_rng(23)
    counts = np.append(rng.integers(0, 12, 150), 400)
    starts = np.concatenate([[0], np.cumsum(counts)])
    high = rng.integers(1, 2 ** rng.integers(1, 31, counts.size), endpoint=True)
    values = np.concatenate([np.sort(rng.integers(0, h, n)) for h, n in zip(high, counts, strict=True)])
    options = {"method": Median.EXPONENTIAL, "epsilon": epsilon, "neighbours": ADD_REMOVE}
    filtered = medians(values, starts, 0 * high, high, noise=SeededNoise(24), **options)
    monkeypatch.setattr(medians_module, "_MARGIN", 2**62)
    exact = medians(values, starts, 0 * high, high, noise=SeededNoise(24), **options)
    assert (filtered == exact).all()


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(1, 5000)])
def test_exponential_median_takes_more_bits_at_a_boundary(epsilon):
    values, high = [4, 9, 9, 20], 30
    sizes, ranks = [4, 5, 11, 9], [0, 1, 3, 4]  # of the lines up to 4, 9, 20, 29
    rates = [epsilon * (abs(rank - 2) - 1) for rank in ranks]
    for j, limit in enumerate(boundaries(sizes, rates, 128)):
        word, rest = limit >> 64, limit & (2**64 - 1)
        for more, run in ((rest - 1, j), (rest + 1, j + 1)):
            noise = ScriptedWords([word, more, 0])
            assert one(values, 0, high, noise, epsilon) == sum(sizes[:run]) + 1
            assert not noise.words


def test_absurdly_small_epsilon_is_refused_and_a_tiny_one_draws_any_line():
    with pytest.raises(BudgetError, match="epsilon is below 1e-15"):
        one([4, 9, 9, 20], 0, 30, ScriptedWords([]), Fraction(1, 10**17))
    sizes = [4, 5, 11, 9]  # of the runs of lines up to 4, 9, 20, 29, which are drawn by their sizes alone
    for relation in (ADD_REMOVE, REPLACE):
        for run in range(4):
            word = (2 * sum(sizes[:run]) + 1) * 2**64 // (2 * 29)
            noise = ScriptedWords([word, 3])
            assert one([4, 9, 9, 20], 0, 30, noise, Fraction(1, 10**15), relation) == sum(sizes[:run]) + 4
            assert not noise.words


def test_batch_equals_one_node_at_a_time():
    rng = np.random.default_rng(25)
    nodes = [np.sort(rng.integers(0, 1000, n)) for n in (0, 1, 5, 0, 300, 2, 0)]
    words, more = rng.integers(0, 2**63, (2, len(nodes)), dtype=np.uint64) * np.uint64(2)
    starts = np.concatenate([[0], np.cumsum([node.size for node in nodes])])
    zeros, ends = np.zeros(len(nodes), dtype=int), np.full(len(nodes), 1000)
    options = {"method": Median.EXPONENTIAL, "epsilon": Fraction(1, 7), "neighbours": ADD_REMOVE}
    batch = medians(np.concatenate(nodes), starts, zeros, ends, noise=ScriptedWords([*words, *more]), **options)
    assert batch.tolist() == [
        one(node, 0, 1000, ScriptedWords(pair), Fraction(1, 7))
        for node, pair in zip(nodes, zip(words, more, strict=True), strict=True)
    ]


@pytest.mark.statistical
def test_rank_error_is_about_one_over_epsilon():
    """Under ε = 1/10 the mean distance of the rank from n/2 is 1/ε, whatever n is (here within 10 %)."""
    rng, nodes, n = np.random.default_rng(26), 4000, 400
    values = np.sort(rng.integers(0, 2**30, (nodes, n)), axis=1)
    lines = medians(
        values.ravel(),
        np.arange(nodes + 1) * n,
        np.zeros(nodes),
        np.full(nodes, 2**30),
        method=Median.EXPONENTIAL,
        epsilon=Fraction(1, 10),
        neighbours=ADD_REMOVE,
        noise=SeededNoise(27),
    )
    error = np.abs((values < lines[:, None]).sum(axis=1) - n / 2).mean()
    assert 9 < error < 11


def test_wide_and_large_node():
    values = np.sort(np.random.default_rng(28).integers(0, 2**30, 300_000)).astype(np.int32)
    line = one(values, 0, 2**30, SeededNoise(29))
    assert abs((values < line).sum() - 150_000) < 60
    atom = np.full(300_000, 2**29, dtype=np.int32)  # no line has a good rank: half of them on each side
    lines = many(
        atom[:1000],
        0,
        2**30,
        200,
        SeededNoise(30),
        method=Median.EXPONENTIAL,
        epsilon=Fraction(1),
        neighbours=ADD_REMOVE,
    )
    assert 60 < (lines <= 2**29).sum() < 140
    assert 0 < one(atom, 0, 2**30, SeededNoise(31)) < 2**30


@pytest.mark.parametrize("method", list(Median))
def test_narrow_nodes(method):
    noise = SeededNoise(32)
    lines = medians(
        [5, 5, 8],
        [0, 2, 2, 3, 3],
        [5, 7, 8, 9],
        [6, 9, 10, 9],
        method=method,
        epsilon=Fraction(1),
        neighbours=REPLACE,
        noise=noise,
    )
    assert lines.tolist() == [6, 8, 9, 9]
    assert medians([], [0], [], [], method=method, epsilon=Fraction(1), neighbours=REPLACE, noise=noise).size == 0


@pytest.mark.parametrize("method", list(Median))
@given(st.lists(st.integers(0, 99), max_size=12), st.integers(100, 2**40), st.fractions(Fraction(1, 100), 50))
@settings(max_examples=40, deadline=None)
def test_lines_lie_strictly_inside(method, values, high, epsilon):
    assert 0 < one(values, 0, high, SeededNoise(33), epsilon, method=method) < high


def test_every_method_finds_the_median_of_many_records():
    values = np.sort(np.random.default_rng(34).integers(2**20, 2**21, 20_000))
    for method in Median:
        line = one(values, 0, 2**30, SeededNoise(35), Fraction(4), method=method)
        # A noisy mean over a range a thousand times wider than the data is off by a few per cent.
        assert abs((values < line).mean() - 0.5) < (0.2 if method is Median.NOISY_MEAN else 0.02), method


def test_wrong_input_is_refused():
    options = {"method": Median.SMOOTH, "epsilon": Fraction(1), "neighbours": ADD_REMOVE, "noise": SeededNoise(36)}
    for values, error in (
        ([3, 1], PointsError),
        ([1, 9], PointsError),
        ([-1, 3], PointsError),
        ([1.5, 2.0], PointsError),
    ):
        with pytest.raises(error):
            medians(values, [0, 2], [0], [9], **options)
    for starts, low, high in (([0, 1], [0], [9]), ([0], [0], [9]), ([0, 2], [0], [2**41]), ([0, 2], [9], [0])):
        with pytest.raises(ParameterError):
            medians([1, 2], starts, low, high, **options)
    with pytest.raises(ParameterError):
        medians([1, 2], [0, 2], [0], [9], **{**options, "epsilon": Fraction(0)})
    assert medians([5, 3], [0, 1, 2], [0, 0], [9, 9], **options).size == 2  # a fall between nodes is fine


# --- noisy means, and medians of noisy cells ---


def test_cell_medians_cross_half_of_the_whole():
    edges = np.array([[0, 10, 20, 30]] * 5)
    counts = np.array([[10, 10, 10], [0, -5, 4], [8, -100, 8], [-1, -1, -1], [1000, 0, 0]])
    assert cell_medians(counts, edges).tolist() == [15, 25, 10, 15, 5]
    assert cell_medians([[1, 0], [3, 5]], [[4, 5, 6], [4, 4, 5]]).tolist() == [5, 5]


class Recorder(SeededNoise):
    def __init__(self, seed):
        super().__init__(seed)
        self.scales = []

    def laplace(self, scale, size):
        self.scales.append(scale)
        return super().laplace(scale, size)


@pytest.mark.parametrize("width", [2, 3, 7, 1000, 2**16 + 1, 2**30, 2**40])
def test_noisy_mean_sensitivity(width):
    """Adding any value to any node moves the sum by at most its sensitivity, and the ends reach it (nearly)."""
    values = np.unique(np.linspace(0, width - 1, 2000).astype(np.int64))
    starts = np.arange(values.size + 1)
    nodes = medians_module._Nodes(values - 5, starts, np.full(values.size, -5), np.full(values.size, width - 5))
    moves = medians_module._centred_sums(nodes)
    noise = Recorder(51)
    one(values, 0, width, noise, Fraction(1, 2), method=Median.NOISY_MEAN)
    spent = np.abs(moves).max() / noise.scales[0] + 1 / noise.scales[1]
    assert (0.9 if width > 100 else 0.7) * 0.5 < spent <= Fraction(1, 2)
    # Replace-one across nodes: two such moves at half of the budget.
    replacing = Recorder(51)
    one(values, 0, width, replacing, Fraction(1, 2), neighbours=REPLACE, method=Median.NOISY_MEAN)
    assert 2 * (np.abs(moves).max() / replacing.scales[0] + 1 / replacing.scales[1]) <= Fraction(1, 2)


def test_sums_are_those_of_each_node():
    values, starts = np.array([0, 9, 9, 3]), np.array([0, 2, 2, 3, 4])
    nodes = medians_module._Nodes(values, starts, np.zeros(4, dtype=int), np.full(4, 10))
    steps = 2**16
    single = {v: 2 * ((2 * v + 1) * steps // 20) + 1 - steps for v in (0, 3, 9)}
    assert medians_module._centred_sums(nodes).tolist() == [single[0] + single[9], 0, single[9], single[3]]


def test_noisy_mean_of_a_small_node_stays_inside_and_of_a_large_one_is_the_mean():
    lines = many(
        [3], 0, 1000, 2000, SeededNoise(52), method=Median.NOISY_MEAN, epsilon=Fraction(1, 100), neighbours=ADD_REMOVE
    )
    assert lines.min() >= 1
    assert lines.max() <= 999
    assert abs(one([100] * 5000, 0, 1000, SeededNoise(53), Fraction(1), method=Median.NOISY_MEAN) - 100) <= 3


# --- of a sample ---


@pytest.mark.statistical
def test_sampled_median_follows_the_mixture():
    values, high, epsilon, rate = list(range(2, 42, 4)), 42, Fraction(1), Fraction(1, 2)
    drawn = many(
        values,
        0,
        high,
        80_000,
        SeededNoise(55),
        method=Median.EXPONENTIAL,
        epsilon=epsilon,
        neighbours=ADD_REMOVE,
        sampling=rate,
    )
    spend = float(amplified_epsilon(epsilon, rate))
    assert fits(drawn, sampled_law(values, high, spend, 0.5)) > FALSE_ALARM
    assert fits(drawn, sampled_law(values, high, spend * 1.1, 0.5)) < FALSE_ALARM
    assert fits(drawn, sampled_law(values, high, spend, 0.7)) < FALSE_ALARM


def test_sampled_median_of_two_crowds_lies_between_them():
    terms = {"method": Median.EXPONENTIAL, "epsilon": Fraction(9), "neighbours": ADD_REMOVE}
    lines = many([400] * 50 + [600] * 50, 0, 1000, 20, SeededNoise(57), sampling=Fraction(1, 2), **terms)
    assert ((lines > 400) & (lines <= 600)).mean() > 0.5


def test_noisy_means_need_more_than_next_to_nothing():
    with pytest.raises(BudgetError, match="too small for noisy means"):
        one([1], 0, 9, SeededNoise(58), Fraction(1, 10**20), method=Median.NOISY_MEAN)


def test_sampling_is_refused_for_replace_and_for_absurd_rates():
    for rate in (Fraction(0), Fraction(-1), Fraction(3, 2)):
        with pytest.raises(ParameterError, match="rate"):
            amplified_epsilon(Fraction(1), rate)
    for relation, rate in ((REPLACE, Fraction(1, 2)), (ADD_REMOVE, Fraction(0)), (ADD_REMOVE, Fraction(3, 2))):
        with pytest.raises(ParameterError):
            medians(
                [1],
                [0, 1],
                [0],
                [9],
                method=Median.EXPONENTIAL,
                epsilon=Fraction(1),
                neighbours=relation,
                noise=SeededNoise(56),
                sampling=rate,
            )
