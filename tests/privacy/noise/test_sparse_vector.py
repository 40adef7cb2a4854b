"""The sparse vector technique: terms, order of noise, and what must never be shown, copied or answered twice."""

from __future__ import annotations

import copy
import os
import pickle
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest

from spatialdp.errors import BudgetError, LedgerError, ParameterError
from spatialdp.privacy.noise import sparse_vector as module
from spatialdp.privacy.noise.source import SeededNoise
from spatialdp.privacy.noise.sparse_vector import SparseVector, SparseVectorTerms, _cube_root, _mean
from tests.audit.selection import Dictated

ONE = Fraction(1)


@pytest.mark.parametrize("limit", [1, 2, 10, 1000])
@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("epsilon", [ONE, Fraction(1, 7)])
def test_shares_add_up_exactly_in_the_best_ratio(epsilon, limit, monotone):
    terms = SparseVectorTerms(epsilon, 1, limit, monotone)
    first, second = terms.shares
    assert first + second == epsilon
    assert float(second / first) == pytest.approx((limit if monotone else 2 * limit) ** (2 / 3), rel=0.001)
    assert terms.threshold_scale == 1 / first
    assert terms.question_scale == (1 if monotone else 2) * limit / second


def test_scales_grow_with_the_sensitivity():
    terms, three = (SparseVectorTerms(ONE, sensitivity, 2, False) for sensitivity in (1, 3))
    assert three.shares == terms.shares
    assert three.threshold_scale == 3 * terms.threshold_scale
    assert three.question_scale == 3 * terms.question_scale


def test_the_share_of_the_threshold_minimises_the_variance():
    """The variance is that of the two scales, in squares; another ratio gives more."""
    for limit in (1, 5):
        terms = SparseVectorTerms(ONE, 1, limit, False)
        best = float(terms.threshold_scale**2 + terms.question_scale**2)
        for share in np.linspace(0.05, 0.95, 50):
            assert best <= (1 / share**2 + (2 * limit / (1 - share)) ** 2) * (1 + 1e-6)


def test_a_value_at_the_threshold_is_above_about_half_the_time():
    for terms in (SparseVectorTerms(Fraction(1, 10), 1, 3, False), SparseVectorTerms(Fraction(1, 10), 1, 1, True)):
        above = [SparseVector(terms, 100, SeededNoise(seed)).above(100) for seed in range(400)]
        assert 0.35 < np.mean(above) < 0.65  # a wrong offset moves this to 0.9 and more
        assert not any(SparseVector(terms, 10_000, SeededNoise(seed)).above(0) for seed in range(50))


def test_answers_compare_with_one_noisy_threshold():
    terms = SparseVectorTerms(ONE, 1, 2, False)
    source = Dictated(5, 0, 3, 0)
    vector = SparseVector(terms, 10, source)
    assert source.scales == [float(terms.threshold_scale)]
    limit = 10 + 5 + terms.offset
    assert [vector.above(value) for value in (limit - 1, limit - 3, limit)] == [False, True, True]
    assert source.scales[1:] == [float(terms.question_scale)] * 3


def test_the_technique_ends_after_limit_answers_above():
    vector = SparseVector(SparseVectorTerms(ONE, 1, 2, True), 0, SeededNoise(1))
    assert not vector.above(-1000)
    assert vector.above(1000)
    assert vector.left == 1
    assert vector.above(1000)
    with pytest.raises(BudgetError, match="limit was 2"):
        vector.above(-1000)


def test_nothing_is_answered_after_closing():
    vector = SparseVector(SparseVectorTerms(ONE, 1, 2, True), 0, SeededNoise(1))
    vector.close()
    assert vector.left == 0
    with pytest.raises(BudgetError):
        vector.above(1000)


def test_threads_together_get_no_more_answers_above():
    vector = SparseVector(SparseVectorTerms(ONE, 1, 5, True), 0, SeededNoise(1))

    def ask(_):
        try:
            return vector.above(1000)
        except BudgetError:
            return False

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(ask, range(40))) == 5


def test_the_noisy_threshold_is_neither_shown_nor_copied():
    terms = SparseVectorTerms(Fraction(1, 1000), 1, 1, True)
    texts = {repr(SparseVector(terms, 10, SeededNoise(seed))) for seed in range(5)}
    assert texts == {"<SparseVector: threshold 10, 0 of 1 answers above left>".replace("0 of", "1 of")}
    vector = SparseVector(terms, 10, SeededNoise(1))
    for duplicate in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="answer twice"):
            duplicate(vector)


def test_another_process_gets_no_answers(monkeypatch):
    vector = SparseVector(SparseVectorTerms(ONE, 1, 1, True), 0, SeededNoise(1))
    monkeypatch.setattr(module.os, "getpid", lambda: os.getppid())
    with pytest.raises(LedgerError, match="another process"):
        vector.above(0)


@pytest.mark.parametrize(("epsilon", "sensitivity", "limit"), [(Fraction(0), 1, 1), (ONE, 0, 1), (ONE, 1, 0)])
def test_terms_that_promise_nothing_are_refused(epsilon, sensitivity, limit):
    with pytest.raises(ParameterError, match="give an epsilon above 0"):
        SparseVectorTerms(epsilon, sensitivity, limit, False)


def test_noise_that_no_source_draws_is_refused():
    SparseVectorTerms(Fraction(1, 10**9), 1, 10, True)
    with pytest.raises(BudgetError, match=r"limit of 1000000; it must be at most 1.1e\+12"):
        SparseVectorTerms(Fraction(1, 10**9), 1, 10**6, True)


def test_cube_roots_are_exact():
    for root in (0, 1, 2, 3, 10, 12345, 10**30):
        assert _cube_root(root**3) == root
        assert _cube_root((root + 1) ** 3 - 1) == root


def test_means_are_those_of_geometric_noise():
    assert _mean(Fraction(1, 1000)) == 0
    weights = np.exp(-np.arange(2000) / 20)
    assert _mean(Fraction(20)) == pytest.approx((np.arange(2000) * weights).sum() / weights.sum())
