"""Medians by smooth sensitivity: brute force over data sets, exact ratios, exact samplers.

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

from spatialdp.privacy.noise import smooth
from spatialdp.privacy.noise.medians import Median, medians
from spatialdp.privacy.noise.smooth import smooth_constants
from spatialdp.privacy.noise.source import SeededNoise
from tests.helpers.laws import FALSE_ALARM, fits, worst_log_ratio
from tests.helpers.medians import ADD_REMOVE, CASES, REPLACE, many, neighbouring, one, random_data
from tests.helpers.sources import ScriptedWords
from tests.reference.median_laws import (
    cauchy_law,
    local_sensitivity_at,
    middle,
    order_statistic,
    smooth_law,
    smooth_sensitivity,
)


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
        noise = ScriptedWords([2 * first + (sign < 0), 2 * along, more, 0])
        expected = edge - 1 if far == (sign < 0) else edge
        assert one(values, 0, high, noise, epsilon, method=Median.SMOOTH) == expected
        assert not noise.words


def test_point_on_the_circle_is_settled_by_more_bits():
    across = 2**62 + 12345
    along = math.isqrt(4**63 - across**2)
    values, ones = [4, 9, 13], 2**64 - 1
    inside = ScriptedWords([2 * across, 2 * along, 0, 0])
    outside = ScriptedWords([2 * across, 2 * along, ones, ones, 0, 2**63, 1, 1])  # then a new point with tiny noise
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
    batch = medians(np.concatenate(nodes), starts, zeros, ends, noise=ScriptedWords(words.ravel()), **options)
    assert batch.tolist() == [
        one(node, 0, 1000, ScriptedWords(pair), method=Median.SMOOTH) for node, pair in zip(nodes, words, strict=True)
    ]


def test_smooth_noise_vanishes_for_a_large_atom():
    """S* is far below the least double here; the line is beside the atom, on either side."""
    lines = [one(np.full(100_000, 77), 0, 2**30, SeededNoise((48, i)), method=Median.SMOOTH) for i in range(20)]
    assert set(lines) == {77, 78}
