"""Private selection and medians: exact ratios, exact samplers, and wrong variants that must be caught.

Statistical tests run with fixed seeds and reject at p < 1e-6, so a correct sampler would fail a fresh seed once in
a million runs; for every sampler a parameter that is 10 or 20 % off is rejected as well.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from scripts.cell_lines import cell_medians
from spatialdp.errors import BudgetError, ParameterError, PointsError
from spatialdp.privacy.neighbours import Neighbours
from spatialdp.privacy.noise import medians as medians_module
from spatialdp.privacy.noise import selection, smooth
from spatialdp.privacy.noise.medians import Median, medians
from spatialdp.privacy.noise.selection import _rates, amplified_epsilon, decide, exponential, permute_and_flip
from spatialdp.privacy.noise.smooth import smooth_constants
from spatialdp.privacy.noise.source import Noise, SeededNoise
from tests.audit.tape import rho

FALSE_ALARM = 1e-6
ADD_REMOVE, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE


class Scripted(Noise):
    """Returns the given 64-bit words, in order, and no more."""

    def __init__(self, words):
        self.words = list(words)

    def random_bytes(self, count):
        taken, self.words = self.words[: count // 8], self.words[count // 8 :]
        assert len(taken) * 8 == count, "more random bits were asked for than the script holds"
        return np.array(taken, dtype="<u8").tobytes()


class Coins(Noise):
    """Returns the given bytes."""

    def __init__(self, data):
        self.data = data

    def random_bytes(self, count):
        taken, self.data = self.data[:count], self.data[count:]
        assert len(taken) == count
        return taken


def one(values, low, high, noise, epsilon=Fraction(1), neighbours=ADD_REMOVE, method=Median.EXPONENTIAL):
    values = np.sort(np.asarray(values, dtype=np.int64))
    return int(
        medians(
            values, [0, values.size], [low], [high], method=method, epsilon=epsilon, neighbours=neighbours, noise=noise
        )[0]
    )


def many(values, low, high, times, noise, **options):
    """The same node `times` times in one call."""
    values = np.sort(np.asarray(values, dtype=np.int64))
    starts = np.arange(times + 1) * values.size
    return medians(np.tile(values, times), starts, np.full(times, low), np.full(times, high), noise=noise, **options)


def fits(observed, probabilities):
    """Chi-square p-value of outcomes against a dict of probabilities; those expected less than 8 times are pooled."""
    counts, total = Counter(np.asarray(observed).tolist()), len(observed)
    assert set(counts) <= set(probabilities)
    seen, expected, rest = [], [], [0, 0.0]
    for outcome, probability in probabilities.items():
        if probability * total < 8:
            rest = [rest[0] + counts[outcome], rest[1] + probability * total]
        else:
            seen.append(counts[outcome])
            expected.append(probability * total)
    if rest[1] >= 1:
        seen.append(rest[0])
        expected.append(rest[1])
    expected = np.array(expected) * (sum(seen) / sum(expected))
    return stats.chisquare(seen, expected).pvalue


def worst_log_ratio(one_law, other_law):
    return max(abs(math.log(one_law[o] / other_law[o])) for o in one_law)


# --- exact laws, written independently of the package ---------------------------------------------


def exponential_law(values, low, high, rate):
    """P(s) of every line, by the definition."""
    n = len(values)
    weights = {s: math.exp(-rate * abs(sum(v < s for v in values) - n / 2)) for s in range(low + 1, high)}
    whole = math.fsum(weights.values())
    return {s: weight / whole for s, weight in weights.items()}


def order_statistic(values, i, low, high):
    return low if i < 1 else high - 1 if i > len(values) else sorted(values)[i - 1]


def middle(values, low, high):
    n = len(values)
    return sum(order_statistic(values, i, low, high) for i in ((n + 1) // 2, n // 2 + 1)) / 2


def local_sensitivity_at(values, k, low, high):
    n = len(values)
    starts = {(n - k) // 2, (n - k + 1) // 2}
    return (
        max(order_statistic(values, i + k + 1, low, high) - order_statistic(values, i, low, high) for i in starts) / 2
    )


def smooth_sensitivity(values, low, high, beta):
    return max(math.exp(-k * beta) * local_sensitivity_at(values, k, low, high) for k in range(len(values) + 1))


def cauchy_law(values, low, high, beta, scale):
    """P(s) of every line of floor(median + 1 + scale S* Z), clipped."""
    size = scale * smooth_sensitivity(values, low, high, beta)
    centre = middle(values, low, high) + 1
    law = {}
    for s in range(low + 1, high):
        a = -math.inf if s == low + 1 else (s - centre) / size
        b = math.inf if s == high - 1 else (s + 1 - centre) / size
        if a > 0 or b < 0:  # far from the centre: subtract small angles, not nearly right ones
            law[s] = (math.atan(1 / a) - math.atan(1 / b)) / math.pi
        else:
            law[s] = (math.atan(b) - math.atan(a)) / math.pi
    return law


def smooth_law(values, low, high, epsilon):
    beta, scale = smooth_constants(Fraction(epsilon))
    return cauchy_law(values, low, high, float(beta), float(scale))


def random_data(rng, most=7, width=12):
    """Values, with many ties now and then, and a range."""
    high = int(rng.integers(2, width))
    values = rng.integers(0, high, rng.integers(0, most))
    return ([int(values[0])] * len(values) if len(values) and rng.random() < 0.3 else values.tolist()), high


def removed(values, rng):
    values = list(values)
    values.pop(rng.integers(len(values)))
    return values


def neighbouring(rng, relation):
    """Two neighbouring data sets of one node [0, high)."""
    values, high = random_data(rng)
    values = [*values, int(rng.choice([0, high - 1, rng.integers(high)]))]
    other = removed(values, rng)
    if relation is REPLACE:
        other = [*other, int(rng.choice([0, high - 1]))]
    return values, other, high


# --- exponential mechanism and permute-and-flip ---------------------------------------------------


def law_of_exponential(scores, epsilon, sensitivity, monotone=False):
    weights = [math.exp(-rate) for rate in _rates(scores, epsilon, sensitivity, monotone)]
    return dict(enumerate(np.array(weights) / math.fsum(weights)))


def law_of_permute_and_flip(scores, epsilon, sensitivity, monotone=False):
    accept = [math.exp(-rate) for rate in _rates(scores, epsilon, sensitivity, monotone)]
    law = dict.fromkeys(range(len(scores)), 0.0)
    for order in itertools.permutations(range(len(scores))):
        still = 1.0
        for o in order:
            law[o] += still * accept[o] / math.factorial(len(scores))
            still *= 1 - accept[o]
    return law


def ratios(law, moves, monotone):
    worst = 0.0
    for scores in itertools.product(range(5), repeat=3):
        base = law(scores, Fraction(1), Fraction(1), monotone)
        for move in itertools.product(moves, repeat=3):
            moved = law([a + b for a, b in zip(scores, move, strict=True)], Fraction(1), Fraction(1), monotone)
            worst = max(worst, worst_log_ratio(base, moved))
    return worst


def test_exponential_ratio():
    assert 0.7 < ratios(law_of_exponential, (-1, 0, 1), False) <= 1 + 1e-12
    assert 0.7 < ratios(law_of_exponential, (0, 1), True) <= 1 + 1e-12
    assert ratios(law_of_exponential, (-1, 0, 1), True) > 1.2  # exp(ε q / Δ) for scores that move both ways


def test_exponential_is_concentrated():
    """Rényi divergences over many orders: at most ε²/8 for each, and almost reached."""
    worst = 0.0
    for epsilon in (Fraction(1, 10), Fraction(1), Fraction(4)):
        for scores in itertools.product((0, 1, 5), repeat=3):
            for move in itertools.product((-1, 0, 1), repeat=3):
                moved = [a + b for a, b in zip(scores, move, strict=True)]
                p, q = (
                    np.log(list(law_of_exponential(each, epsilon, Fraction(1)).values())) for each in (scores, moved)
                )
                worst = max(worst, rho(p, q) / float(epsilon**2 / 8))
    assert 0.9 < worst <= 1 + 1e-6  # at orders near 1 doubles leave six digits


def test_permute_and_flip_ratio():
    assert 0.7 < ratios(law_of_permute_and_flip, (-1, 0, 1), False) <= 1 + 1e-12
    assert ratios(law_of_permute_and_flip, (0, 1), True) <= 1 + 1e-12
    assert ratios(law_of_permute_and_flip, (-1, 0, 1), True) > 1.2


@given(st.lists(st.fractions(0, 9), min_size=1, max_size=5), st.fractions(Fraction(1, 10), 5))
@settings(max_examples=60, deadline=None)
def test_permute_and_flip_is_never_worse(scores, epsilon):
    def mean(law):
        return sum(float(scores[o]) * p for o, p in law(scores, epsilon, Fraction(1)).items())

    assert mean(law_of_permute_and_flip) >= mean(law_of_exponential) - 1e-12


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("draw", "law"), [(exponential, law_of_exponential), (permute_and_flip, law_of_permute_and_flip)]
)
def test_selection_sampler(draw, law):
    scores, epsilon, noise = [Fraction(1, 3), 2, 4, Fraction(7, 2)], Fraction(2), SeededNoise(5)
    drawn = [draw(scores, epsilon, Fraction(1), noise) for _ in range(15_000)]
    assert fits(drawn, law(scores, epsilon, Fraction(1))) > FALSE_ALARM
    assert fits(drawn, law(scores, epsilon * Fraction(12, 10), Fraction(1))) < FALSE_ALARM


def test_selection_refuses_what_is_not_exact():
    for wrong in ([], [0.5], [True]):
        with pytest.raises(ParameterError):
            exponential(wrong, Fraction(1), Fraction(1), SeededNoise(0))
    with pytest.raises(ParameterError):
        permute_and_flip([1], Fraction(0), Fraction(1), SeededNoise(0))


def boundaries(sizes, rates, bits):
    """floor(2^bits C_j / C), C_j the cumulative weights."""
    with mpmath.workprec(bits + 200):
        weights = [
            size * mpmath.exp(-mpmath.mpf(r.numerator) / r.denominator) for size, r in zip(sizes, rates, strict=True)
        ]
        whole, sums = sum(weights), np.cumsum(np.array(weights, dtype=object))
        return [int(mpmath.floor(part / whole * mpmath.mpf(2) ** bits)) for part in sums[:-1]]


@given(
    st.lists(st.tuples(st.integers(1, 2**40), st.fractions(0, 30)), min_size=1, max_size=6), st.integers(0, 2**64 - 1)
)
@settings(max_examples=100, deadline=None)
def test_decide_follows_the_cumulative_sums(pairs, word):
    sizes, rates = [p[0] for p in pairs], [p[1] for p in pairs]
    rates = [rate - min(rates) for rate in rates]
    limits = boundaries(sizes, rates, 128)
    assert decide(sizes, rates, word, lambda: 2**63) == sum(limit < (word << 64 | 2**63) for limit in limits)


def test_decide_takes_more_bits_at_a_boundary():
    sizes, rates = [3, 5, 1, 2], [Fraction(2), Fraction(0), Fraction(1, 7), Fraction(5)]
    for j, limit in enumerate(boundaries(sizes, rates, 192)):
        first, second, third = limit >> 128, limit >> 64 & (2**64 - 1), limit & (2**64 - 1)
        for tail, outcome in (
            ([second - 1], j),
            ([second + 1], j + 1),
            ([second, third - 1], j),
            ([second, third + 1], j + 1),
        ):
            bits = iter(tail)
            assert decide(sizes, rates, first, lambda bits=bits: next(bits)) == outcome
            assert next(bits, None) is None


def test_decide_is_right_with_any_working_precision(monkeypatch):
    """With no guard bits the sums are off by several words, and more bits settle it all the same."""
    monkeypatch.setattr(selection, "_GUARD", 0)
    sizes, rates, rest = [3, 5, 1, 2], [Fraction(2), Fraction(0), Fraction(1, 7), Fraction(5)], 2**63
    limits = boundaries(sizes, rates, 128)
    for word in {(limit >> 64) + off for limit in limits for off in range(-20, 21)}:
        assert decide(sizes, rates, word, lambda: rest) == sum(limit < (word << 64 | rest) for limit in limits)


# --- the noise source's new draws -----------------------------------------------------------------


@pytest.mark.statistical
def test_below_is_uniform_and_rejects_the_odd_end():
    drawn = SeededNoise(1).below(np.full(30_000, 7))
    assert fits(drawn, dict.fromkeys(range(7), 1 / 7)) > FALSE_ALARM
    assert fits(drawn[drawn > 0], dict.fromkeys(range(7), 1 / 7)) < FALSE_ALARM
    # 2^64 mod 3 is 1: only the very last word is drawn again.
    assert Scripted([2**64 - 1, 5]).below(np.array([3])).tolist() == [2]
    assert Scripted([2**64 - 2]).below(np.array([3])).tolist() == [2]
    assert Scripted([2**64 - 1]).below(np.array([2**40])).tolist() == [2**40 - 1]


@pytest.mark.statistical
def test_bernoulli_is_exact_at_its_threshold():
    third = 2**80 // 3
    top, rest = third >> 64, third & (2**64 - 1)
    for last, outcome in ((rest - 1, True), (rest + 1, False)):
        coins = Coins(top.to_bytes(2, "little") + last.to_bytes(8, "little"))
        assert coins.bernoulli(Fraction(1, 3), 1).tolist() == [outcome]
    drawn = SeededNoise(2).bernoulli(Fraction(1, 3), 100_000)
    assert stats.binomtest(int(drawn.sum()), drawn.size, 1 / 3).pvalue > FALSE_ALARM
    assert stats.binomtest(int(drawn.sum()), drawn.size, 0.3).pvalue < FALSE_ALARM
    assert SeededNoise(2).bernoulli(1, 50).all()


def test_permute_and_flip_asks_the_next_candidate_where_a_coin_is_refused():
    """The first one asked, of score 10 below the best, is taken with probability exp(-5), to the last bit."""
    with mpmath.workprec(200):
        limit = int(mpmath.floor(mpmath.exp(-5) * mpmath.mpf(2) ** 80))
    ask_first, ask_last = bytes(8), b"\xff" * 8
    for number, chosen in ((limit - 1, 0), (limit + 1, 1)):
        coin = (number >> 64).to_bytes(2, "little") + (number & (2**64 - 1)).to_bytes(8, "little")
        rest = b"" if chosen == 0 else ask_last + b"\xff" * 10  # a coin that only the best one is sure to pass
        noise = Coins(ask_first + coin + rest)
        assert permute_and_flip([0, 10], Fraction(1), Fraction(1), noise) == chosen
        assert not noise.data


@pytest.mark.statistical
def test_accepts_has_the_exponential_probability():
    noise = SeededNoise(3)
    accepted = sum(noise.accepts(Fraction(3, 2)) for _ in range(20_000))
    assert stats.binomtest(accepted, 20_000, math.exp(-1.5)).pvalue > FALSE_ALARM
    assert stats.binomtest(accepted, 20_000, math.exp(-1.35)).pvalue < FALSE_ALARM


# --- (a) medians by the exponential mechanism -----------------------------------------------------


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


CASES = {
    "plain": ([1, 3, 4, 9, 11], 0, 14),
    "ties": ([2, 2, 2, 7, 7], 0, 10),
    "empty": ([], 3, 9),
    "one record": ([4], 0, 8),
    "all equal": ([5] * 6, 0, 9),
    "all at the lower end": ([0] * 4, 0, 6),
    "all at the upper end": ([5] * 4, 0, 6),
    "negative range": ([-8, -3], -9, -1),
}


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
            noise = Scripted([word, more, 0])
            assert one(values, 0, high, noise, epsilon) == sum(sizes[:run]) + 1
            assert not noise.words


def test_absurdly_small_epsilon_is_refused_and_a_tiny_one_draws_any_line():
    with pytest.raises(BudgetError, match="epsilon is below 1e-15"):
        one([4, 9, 9, 20], 0, 30, Scripted([]), Fraction(1, 10**17))
    sizes = [4, 5, 11, 9]  # of the runs of lines up to 4, 9, 20, 29, which are drawn by their sizes alone
    for relation in (ADD_REMOVE, REPLACE):
        for run in range(4):
            word = (2 * sum(sizes[:run]) + 1) * 2**64 // (2 * 29)
            noise = Scripted([word, 3])
            assert one([4, 9, 9, 20], 0, 30, noise, Fraction(1, 10**15), relation) == sum(sizes[:run]) + 4
            assert not noise.words


def test_batch_equals_one_node_at_a_time():
    rng = np.random.default_rng(25)
    nodes = [np.sort(rng.integers(0, 1000, n)) for n in (0, 1, 5, 0, 300, 2, 0)]
    words, more = rng.integers(0, 2**63, (2, len(nodes)), dtype=np.uint64) * np.uint64(2)
    starts = np.concatenate([[0], np.cumsum([node.size for node in nodes])])
    zeros, ends = np.zeros(len(nodes), dtype=int), np.full(len(nodes), 1000)
    options = {"method": Median.EXPONENTIAL, "epsilon": Fraction(1, 7), "neighbours": ADD_REMOVE}
    batch = medians(np.concatenate(nodes), starts, zeros, ends, noise=Scripted([*words, *more]), **options)
    assert batch.tolist() == [
        one(node, 0, 1000, Scripted(pair), Fraction(1, 7))
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


# --- (b) smooth sensitivity -----------------------------------------------------------------------


def multisets(domain, sizes):
    return [m for n in sizes for m in itertools.combinations_with_replacement(range(domain), n)]


def distance(one_set, other_set):
    return sum((Counter(one_set) - Counter(other_set)).values()) + sum((Counter(other_set) - Counter(one_set)).values())


def test_smooth_sensitivity_brute_force():
    """A_k is the largest change of the median by one record within k additions and removals, for all data sets."""
    domain = 4
    centre = {m: middle(m, 0, domain) for m in multisets(domain, range(9))}
    local = {}
    for m in multisets(domain, range(8)):
        near = [tuple(sorted((*m, v))) for v in range(domain)] + [m[:i] + m[i + 1 :] for i in range(len(m))]
        local[m] = max(abs(centre[m] - centre[other]) for other in near)
    for m in multisets(domain, range(5)):
        apart = {other: distance(m, other) for other in local}
        for k in range(min(len(m), 3) + 1):
            exact = max(local[other] for other, steps in apart.items() if steps <= k)
            assert exact == local_sensitivity_at(m, k, 0, domain), (m, k)


def test_implementation_computes_the_same_sensitivities():
    rng, beta = np.random.default_rng(41), Fraction(1, 3)
    for _ in range(200):
        values, high = random_data(rng, most=9)
        starts = np.array([0, len(values)])
        padded = smooth._padded(np.sort(np.array(values, dtype=np.int64)), starts, np.array([0]), np.array([high]))
        law = smooth._cauchy_law(padded, starts, beta)
        assert law.gaps.tolist() == [2 * local_sensitivity_at(values, k, 0, high) for k in range(len(values) + 1)]
        assert math.exp(law.log[0]) == pytest.approx(smooth_sensitivity(values, 0, high, 1 / 3), rel=1e-12)
        assert law.start[0] + law.half[0] / 2 == middle(values, 0, high) + 1


def test_smooth_sensitivity_is_smooth():
    rng, beta = np.random.default_rng(42), 0.2
    for _ in range(1000):
        values, other, high = neighbouring(rng, ADD_REMOVE)
        here, there = smooth_sensitivity(values, 0, high, beta), smooth_sensitivity(other, 0, high, beta)
        assert abs(math.log(here / there)) <= beta + 1e-12
        assert abs(middle(values, 0, high) - middle(other, 0, high)) <= min(here, there) + 1e-12


def test_index_range_printed_on_the_slide_is_wrong():
    """For replace-one and odd n, A_k is the maximum over t = 0..k+1; t = 0..k misses a quarter of the cases."""

    def gap(m, k, last):
        return max(order_statistic(m, 3 + t, 0, 5) - order_statistic(m, 2 + t - k, 0, 5) for t in range(last + 1))

    sets = multisets(5, [5])
    counts = np.array([[m.count(v) for v in range(5)] for m in sets])
    moves = np.abs(counts[:, None] - counts[None]).sum(axis=2) // 2
    centre = np.array([m[2] for m in sets])
    change = np.abs(centre[:, None] - centre[None])
    local = np.where(moves <= 1, change, 0).max(axis=1)
    wrong = 0
    for i, m in enumerate(sets):
        for k in range(3):
            exact = local[moves[i] <= k].max()
            assert exact == gap(m, k, k + 1)
            wrong += exact != gap(m, k, k)
    assert wrong == 95  # of 378


def log_ratio_of_cauchys(shift, scale):
    z = np.concatenate([-np.logspace(6, -6, 4001), np.logspace(-6, 6, 4001)])
    return np.abs(np.log(scale * (1 + z**2) / (scale**2 + (z - shift) ** 2))).max()


def test_cauchy_log_ratio():
    """The largest log-ratio of two Cauchy laws is arcosh((1 + g² + δ²) / 2g)."""
    rng = np.random.default_rng(43)
    for shift, scale in rng.lognormal(0, 1, (200, 2)):
        exact = math.acosh((1 + scale**2 + shift**2) / (2 * scale))
        assert log_ratio_of_cauchys(shift, scale) == pytest.approx(exact, abs=2e-4)


@pytest.mark.parametrize("epsilon", [Fraction(1, 1000), Fraction(1, 2), Fraction(1), Fraction(3), Fraction(20)])
def test_smooth_constants_are_tight(epsilon):
    beta, scale = (float(x) for x in smooth_constants(epsilon))
    slopes = np.linspace(0, beta, 201)
    with mpmath.workdps(60):
        limit = mpmath.cosh(mpmath.mpf(epsilon.numerator) / epsilon.denominator)
        exact = [mpmath.mpf(x.numerator) / x.denominator for x in smooth_constants(epsilon)]
        worst = max(mpmath.cosh(lam) + mpmath.exp(-lam) / (2 * exact[1] ** 2) for lam in (mpmath.mpf(0), exact[0]))
        assert worst <= limit
        assert mpmath.acosh(worst) > 0.999999 * float(epsilon)
    if epsilon < 5:
        worst = max(math.acosh(math.cosh(lam) + math.exp(-lam) / (2 * scale**2)) for lam in slopes)
        assert worst <= float(epsilon) * (1 + 1e-9)


def test_published_constants_are_private_but_loose():
    """β = ε/6 and scale 6/ε never use more than a third of ε; ours give an eighteenth of the noise at small ε."""
    epsilon = 0.6
    worst = max(
        log_ratio_of_cauchys(share * epsilon / 6, math.exp(sign * epsilon / 6))
        for share in (0, 0.5, 1)
        for sign in (-1, 0, 1)
    )
    assert worst <= epsilon / 3
    beta, scale = smooth_constants(Fraction(1, 100))
    assert float(scale / beta) == pytest.approx(36 * 100**2 / 18, rel=0.02)


@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE])
def test_smooth_ratio(relation):
    rng, worst, wrong = np.random.default_rng(44), 0.0, 0.0
    spend = 1.0 if relation is ADD_REMOVE else 0.5
    beta, scale = (float(x) for x in smooth_constants(Fraction(spend)))
    for _ in range(3000):
        values, other, high = neighbouring(rng, relation)
        worst = max(worst, worst_log_ratio(smooth_law(values, 0, high, spend), smooth_law(other, 0, high, spend)))
        wrong = max(
            wrong,
            worst_log_ratio(cauchy_law(values, 0, high, beta, scale / 3), cauchy_law(other, 0, high, beta, scale / 3)),
        )
    assert 0.8 < worst <= 1 + 1e-9
    assert wrong > 1  # a third of the noise is noticed


@pytest.mark.statistical
@pytest.mark.parametrize("exact_path", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_smooth_sampler(case, exact_path, monkeypatch):
    (values, low, high), epsilon, times = CASES[case], Fraction(2), 30_000
    if exact_path:  # nothing is ever certain in doubles
        monkeypatch.setattr(smooth, "_ROUNDING", 4.0)
        times = 2000
    drawn = many(
        values, low, high, times, SeededNoise(45), method=Median.SMOOTH, epsilon=epsilon, neighbours=ADD_REMOVE
    )
    assert fits(drawn, smooth_law(values, low, high, epsilon)) > FALSE_ALARM


@pytest.mark.statistical
def test_smooth_sampler_notices_ten_per_cent():
    values, low, high = [1, 3, 4, 9, 11], 0, 14
    drawn = many(
        values, low, high, 60_000, SeededNoise(46), method=Median.SMOOTH, epsilon=Fraction(4), neighbours=REPLACE
    )
    assert fits(drawn, smooth_law(values, low, high, 2)) > FALSE_ALARM
    for wrong in (1.8, 2.2):
        assert fits(drawn, smooth_law(values, low, high, wrong)) < FALSE_ALARM


def exact_size(values, high, epsilon):
    """scale S* to 400 bits."""
    beta, scale = smooth_constants(epsilon)
    terms = [
        mpmath.exp(-k * mpmath.mpf(beta.numerator) / beta.denominator) * local_sensitivity_at(values, k, 0, high)
        for k in range(len(values) + 1)
    ]
    return mpmath.mpf(scale.numerator) / scale.denominator * max(terms)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("values", [[4, 9, 13], [4, 9, 12, 13]])
def test_smooth_takes_more_bits_at_a_boundary(values, sign):
    high, epsilon, along = 40, Fraction(1), 2**62
    start = middle(values, 0, high) + 1
    edge = math.floor(start) + (3 if sign > 0 else -2)  # between lines edge - 1 and edge
    with mpmath.workprec(400):
        across = int(mpmath.floor(abs(edge - start) / exact_size(values, high, epsilon) * along * mpmath.mpf(2) ** 64))
    first, rest = across >> 64, across & (2**64 - 1)
    for more, far in ((rest - 8, False), (rest + 8, True)):
        noise = Scripted([2 * first + (sign < 0), 2 * along, more, 0])
        expected = edge - 1 if far == (sign < 0) else edge
        assert one(values, 0, high, noise, epsilon, method=Median.SMOOTH) == expected
        assert not noise.words


def test_point_on_the_circle_is_settled_by_more_bits():
    across = 2**62 + 12345
    along = math.isqrt(4**63 - across**2)
    values, ones = [4, 9, 13], 2**64 - 1
    inside = Scripted([2 * across, 2 * along, 0, 0])
    outside = Scripted([2 * across, 2 * along, ones, ones, 0, 2**63, 1, 1])  # then a new point with tiny noise
    lines = [one(values, 0, 40, noise, method=Median.SMOOTH) for noise in (inside, outside)]
    assert not inside.words + outside.words
    assert lines == [math.floor(10 + exact_size(values, 40, Fraction(1)) * across / along), 10]


def test_smooth_batch_equals_one_node_at_a_time():
    rng = np.random.default_rng(47)
    nodes = [np.sort(rng.integers(0, 1000, n)) for n in (0, 1, 5, 0, 300, 2, 0)]
    words = rng.integers(0, 2**63, (len(nodes), 2), dtype=np.uint64)  # inside the disc: both below 1/2
    starts = np.concatenate([[0], np.cumsum([node.size for node in nodes])])
    zeros, ends = np.zeros(len(nodes), dtype=int), np.full(len(nodes), 1000)
    options = {"method": Median.SMOOTH, "epsilon": Fraction(1), "neighbours": ADD_REMOVE}
    batch = medians(np.concatenate(nodes), starts, zeros, ends, noise=Scripted(words.ravel()), **options)
    assert batch.tolist() == [
        one(node, 0, 1000, Scripted(pair), method=Median.SMOOTH) for node, pair in zip(nodes, words, strict=True)
    ]


def test_smooth_noise_vanishes_for_a_large_atom():
    """S* is far below the least double here; the line is beside the atom, on either side."""
    lines = [one(np.full(100_000, 77), 0, 2**30, SeededNoise((48, i)), method=Median.SMOOTH) for i in range(20)]
    assert set(lines) == {77, 78}


# --- (c) cells, (d) noisy mean --------------------------------------------------------------------


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


# --- (e) sampling ---------------------------------------------------------------------------------


@pytest.mark.parametrize("rate", [Fraction(1, 100), Fraction(1, 3), Fraction(99, 100), Fraction(1)])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10**6), Fraction(1), Fraction(30)])
def test_amplified_epsilon_is_rounded_down(epsilon, rate):
    found = amplified_epsilon(epsilon, rate)
    with mpmath.workdps(60):
        exact = mpmath.log(
            1 + mpmath.expm1(mpmath.mpf(epsilon.numerator) / epsilon.denominator) * rate.denominator / rate.numerator
        )
        found = mpmath.mpf(found.numerator) / found.denominator
        assert exact * (1 - mpmath.mpf(10) ** -14) <= found <= exact * (1 + mpmath.mpf(10) ** -55)


def sampled_law(values, high, spend, rate):
    """Mixture of the exponential median's law over all samples."""
    law = dict.fromkeys(range(1, high), 0.0)
    for kept in itertools.product((False, True), repeat=len(values)):
        weight = rate ** sum(kept) * (1 - rate) ** (len(kept) - sum(kept))
        part = exponential_law([v for v, k in zip(values, kept, strict=True) if k], 0, high, spend)
        law = {s: law[s] + weight * p for s, p in part.items()}
    return law


def worst_sampled_ratio(spend, rate):
    rng, worst = np.random.default_rng(54), 0.0
    for _ in range(300):
        values, other, high = neighbouring(rng, ADD_REMOVE)
        worst = max(
            worst, worst_log_ratio(sampled_law(values, high, spend, rate), sampled_law(other, high, spend, rate))
        )
    return worst


def test_amplification_ratio():
    epsilon, rate = Fraction(1), Fraction(1, 4)
    spend = float(amplified_epsilon(epsilon, rate))
    assert 0.3 < worst_sampled_ratio(spend, float(rate)) <= 1

    def worst_case(spend):
        """A rare output, exp(spend) times as likely with the record than without, uses all that is allowed."""
        return math.log(1 - float(rate) + float(rate) * math.exp(spend))

    assert worst_case(spend) == pytest.approx(1, rel=1e-12)
    assert worst_case(float(epsilon / rate)) > 1  # ε / rate, a common wrong rule


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
