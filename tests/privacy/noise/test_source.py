"""Exact noise: the law, the refinement path, forks and threads, whole numbers and coins."""

from __future__ import annotations

import ast
import math
import os
import pickle
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from scipy import stats

from spatialdp.errors import ParameterError
from spatialdp.privacy.noise import source as noise_module
from spatialdp.privacy.noise import thresholds as tables
from spatialdp.privacy.noise.source import Noise, SeededNoise, SystemNoise, is_system_noise
from tests.helpers.laws import FALSE_ALARM, fits
from tests.helpers.sources import ScriptedNoise, ScriptedWords

DRAWS = 1_000_000
# With fixed seeds the tests below cannot fail by chance; the seeds were not chosen. A p value under
# this threshold would have been a finding (one false alarm in 10^6 such tests).
THRESHOLD = 1e-6

SCALES = [
    Fraction(1, 5),
    Fraction(1, 2),
    Fraction(1),
    Fraction(7, 3),
    Fraction(10),
    Fraction(63),
    Fraction(65),
    Fraction(100),
    Fraction(1000),
    Fraction(12345, 7),
    Fraction(10**5),
    Fraction(10**6),
    Fraction(10**7),
]
VARIANCES = [
    Fraction(1, 10),
    Fraction(1),
    Fraction(22, 7),
    Fraction(100),
    Fraction(65536),
    Fraction(65537),
    Fraction(10**6),
    Fraction(10**11, 3),
]


def laplace_cdf(scale: float, k: np.ndarray) -> np.ndarray:
    a = np.exp(-1 / scale)
    tail = np.exp(-np.abs(np.where(k < 0, k, k + 1)) / scale) / (1 + a)
    return np.where(k < 0, tail, 1 - tail)


def gaussian_cdf(variance: float, k: np.ndarray) -> np.ndarray:
    reach = int(12 * np.sqrt(variance)) + 2
    values = np.arange(-reach, reach + 1)
    cumulative = np.cumsum(np.exp(-(values**2) / (2 * variance)))
    return cumulative[np.clip(k + reach, 0, 2 * reach)] / cumulative[-1]


def p_value(draws: np.ndarray, cdf, spread: float) -> float:
    """χ² of draws against a cumulative law, in some sixty bins of integers."""
    edges = np.unique(np.round(spread * np.linspace(-4, 4, 60)).astype(np.int64))
    probabilities = np.diff(np.concatenate([[0.0], cdf(edges), [1.0]]))
    observed = np.bincount(np.searchsorted(edges, draws), minlength=edges.size + 1)
    keep = probabilities * draws.size > 10
    rest = np.array([observed[~keep].sum(), probabilities[~keep].sum()])
    observed, probabilities = observed[keep], probabilities[keep]
    if rest[1] * draws.size > 10:
        observed, probabilities = np.append(observed, rest[0]), np.append(probabilities, rest[1])
    expected = probabilities / probabilities.sum() * observed.sum()
    return float(stats.chisquare(observed, expected).pvalue)


@pytest.mark.statistical
@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_laplace_follows_its_law_and_no_other(scale):
    draws = SeededNoise((1, scale.numerator, scale.denominator)).laplace(scale, DRAWS)
    for factor, right in ((1.0, True), (0.95, False), (1.05, False)):
        p = p_value(draws, lambda k, f=factor: laplace_cdf(float(scale) * f, k), max(1.0, float(scale)))
        assert (p > THRESHOLD) == right, (factor, p)


@pytest.mark.statistical
@pytest.mark.parametrize("variance", VARIANCES, ids=str)
def test_gaussian_follows_its_law_and_no_other(variance):
    draws = SeededNoise((2, variance.numerator, variance.denominator)).gaussian(variance, DRAWS)
    for factor, right in ((1.0, True), (0.95, False), (1.05, False)):
        if float(variance) > 10**9:  # too many integers to sum: the normal law agrees to all digits
            deviation = np.sqrt(float(variance) * factor)
            cdf = lambda k, d=deviation: stats.norm.cdf((k + 0.5) / d)  # noqa: E731 - either law is one line
        else:
            cdf = lambda k, f=factor: gaussian_cdf(float(variance) * f, k)  # noqa: E731 - as above
        p = p_value(draws, cdf, max(1.0, float(variance) ** 0.5))
        assert (p > THRESHOLD) == right, (factor, p)


@pytest.mark.statistical
@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_geometric_follows_its_law_and_no_other(scale):
    draws = SeededNoise((4, scale.numerator, scale.denominator)).geometric(scale, DRAWS)
    for factor, right in ((1.0, True), (0.95, False), (1.05, False)):
        rate = 1 / (float(scale) * factor)
        p = p_value(draws, lambda k, r=rate: np.where(k < 0, 0.0, -np.expm1(-(k + 1.0) * r)), max(1.0, float(scale)))
        assert (p > THRESHOLD) == right, (factor, p)


def test_geometric_noise_is_what_laplace_noise_is_on_either_side():
    two_sided = SeededNoise(5).laplace(Fraction(20), (10, 10))
    one_sided = SeededNoise(5).geometric(Fraction(20), (10, 10))
    assert np.array_equal(one_sided, np.where(two_sided < 0, -two_sided - 1, two_sided))


@pytest.mark.real_bits
@pytest.mark.statistical
def test_system_noise_follows_the_law():
    # False-alarm rate 1e-7: this one draws fresh bits on every run.
    draws = SystemNoise().laplace(Fraction(100), DRAWS)
    assert p_value(draws, lambda k: laplace_cdf(100.0, k), 100.0) > 1e-7
    assert p_value(draws, lambda k: laplace_cdf(105.0, k), 100.0) < 1e-7


def test_digits_of_wide_noise_are_independent():
    draws = SeededNoise(3).laplace(Fraction(10**6), DRAWS)
    low, high = draws & 1023, draws >> 16
    table = np.array([np.bincount(low[high == h] // 128, minlength=8) for h in range(-4, 4)])
    for half in (table[:4], table[4:]):
        assert stats.chi2_contingency(half).pvalue > THRESHOLD


class TestRefinement:
    """A word that ties with a threshold is decided by more bits, against the exact value."""

    scale = Fraction(1)
    table = tables.two_sided(Fraction(1), Fraction(1))
    index = int(np.searchsorted(table.words, np.uint64(2**63)))  # a threshold in the middle

    def script(self, word: int, *more: int) -> ScriptedNoise:
        top, rest = word >> 48, (word & (2**48 - 1)) << 16
        return ScriptedNoise(
            top.to_bytes(2, "little"), rest.to_bytes(8, "little"), *(m.to_bytes(8, "little") for m in more)
        )

    def draw(self, word: int, *more: int) -> int:
        source = self.script(word, *more)
        value = int(source.laplace(self.scale, 1)[0])
        assert source.used_up
        return value

    def test_words_beside_a_threshold_need_no_more_bits(self):
        word = int(self.table.words[self.index])
        assert self.draw(word - 1) == self.table.first + self.index
        assert self.draw(word + 1) == self.table.first + self.index + 1

    def test_tie_is_decided_by_the_next_64_bits(self):
        word = int(self.table.words[self.index])
        _, longer = self.table.thresholds(128)
        exact = min(t for t in longer if t >> 64 == word)
        assert self.draw(word, (exact & (2**64 - 1)) - 1) == self.table.first + self.index
        assert self.draw(word, (exact & (2**64 - 1)) + 1) == self.table.first + self.index + 1

    def test_double_tie_is_decided_by_still_more(self):
        word = int(self.table.words[self.index])
        _, longer = self.table.thresholds(128)
        exact = min(t for t in longer if t >> 64 == word)
        low = self.draw(word, exact & (2**64 - 1), 0)
        high = self.draw(word, exact & (2**64 - 1), 2**64 - 1)
        assert (low, high) == (self.table.first + self.index, self.table.first + self.index + 1)

    def test_far_tails_are_reached(self):
        assert self.draw(0, 10**6) < -70  # P(X <= -44) is about 2^-64
        assert self.draw(2**64 - 1, 2**63) > 43

    def test_unambiguous_words_cost_two_bytes(self):
        source = ScriptedNoise((2**15).to_bytes(2, "little"))
        assert source.laplace(self.scale, 1)[0] == 0
        assert source.used_up

    def test_coin_of_the_wide_gaussian_is_refined(self):
        rate = Fraction(1, 100)
        threshold = tables.exp_floor(rate, 80)
        coin, rest = threshold >> 64, threshold & (2**64 - 1)
        assert ScriptedNoise((rest - 1).to_bytes(8, "little"))._keeps(rate, coin)
        assert not ScriptedNoise((rest + 1).to_bytes(8, "little"))._keeps(rate, coin)
        assert ScriptedNoise(rest.to_bytes(8, "little"), bytes(8))._keeps(rate, coin)


def test_wide_gaussian_reaches_beyond_its_table():
    # Ties all the way up the first three words: a digit further out than any the 64-bit table holds.
    ones = b"\xff" * 8
    source = ScriptedNoise(ones[:2], ones, ones, ones, bytes(8), bytes(8), bytes(64))
    assert abs(int(source.gaussian(Fraction(65537), 1)[0])) > 13 * 256


def test_tiny_scale_gives_zeros_without_a_hang():
    assert not SystemNoise().laplace(Fraction(1, 1000), 10_000).any()
    assert not SystemNoise().gaussian(Fraction(1, 10**6), 10_000).any()


def _draw_rows(source: SystemNoise) -> np.ndarray:
    return source.laplace(Fraction(2**40), (64, 4))


@pytest.mark.real_bits
def test_threads_never_share_words():
    source = SystemNoise()
    with ThreadPoolExecutor(8) as pool:
        rows = np.concatenate(list(pool.map(lambda _: _draw_rows(source), range(32))))
    # Two rows of four draws at this scale agree by chance with probability below 2^-150.
    assert np.unique(rows, axis=0).shape[0] == rows.shape[0]


def test_seeded_threads_never_share_words():
    source = SeededNoise(5)
    with ThreadPoolExecutor(8) as pool:
        rows = np.concatenate(list(pool.map(lambda _: _draw_rows(source), range(32))))
    assert np.unique(rows, axis=0).shape[0] == rows.shape[0]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.real_bits
def test_forked_workers_never_share_words():
    source = SystemNoise()
    _draw_rows(source)  # whatever could be buffered is buffered now
    rows = [_draw_rows(source)]
    for _ in range(4):
        receive, send = os.pipe()
        if os.fork() == 0:
            os.write(send, _draw_rows(source).tobytes())
            os._exit(0)
        os.wait()
        rows.append(np.frombuffer(os.read(receive, 64 * 4 * 8), dtype=np.int64).reshape(64, 4))
    together = np.concatenate(rows)
    assert np.unique(together, axis=0).shape[0] == together.shape[0]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_seeded_noise_refuses_to_be_copied():
    source = SeededNoise(1)
    child = os.fork()
    if child == 0:
        try:
            source.laplace(Fraction(1), 1)
        except ParameterError:
            os._exit(7)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    with pytest.raises(TypeError, match="Send the seed"):
        pickle.dumps(source)


def test_seeded_noise_knows_that_it_is_in_another_process(monkeypatch):
    source = SeededNoise(1)
    monkeypatch.setattr(os, "getpid", lambda: -1)  # as a fork sees it
    with pytest.raises(ParameterError, match="make one in each worker"):
        source.laplace(Fraction(1), 1)


def no_bits(*_):
    return bytes(8)


def test_objects_of_the_systems_noise_take_no_methods():
    """A method that is replaced on the object would be taken for the system's own."""
    source = SystemNoise()
    for change in (setattr, object.__setattr__):
        for name in ("random_bytes", "laplace", "anything"):
            with pytest.raises(AttributeError):
                change(source, name, no_bits)
    assert is_system_noise(source)


class Imitation(SystemNoise):
    __slots__ = ()


@pytest.mark.parametrize("owner", [SystemNoise, Noise])
@pytest.mark.parametrize("name", ["random_bytes", "laplace", "_words", "__getattribute__"])
def test_methods_that_were_replaced_on_the_class_are_noticed(owner, name):
    source, before = SystemNoise(), vars(owner).get(name)
    assert is_system_noise(source)
    with mock.patch.object(owner, name, no_bits, create=True):
        assert not is_system_noise(source)
    assert vars(owner).get(name) is before
    assert is_system_noise(source)


def test_replaced_code_and_other_classes_are_noticed(monkeypatch):
    assert not is_system_noise(Imitation())
    source = SystemNoise()
    source.__class__ = Imitation
    assert not is_system_noise(source)
    monkeypatch.setattr(SystemNoise.random_bytes, "__code__", no_bits.__code__)
    assert not is_system_noise(SystemNoise())


def test_who_replaces_urandom_does_not_reach_the_noise(monkeypatch):
    expected = SystemNoise().random_bytes(8)
    monkeypatch.setattr(os, "urandom", no_bits)
    assert SystemNoise().random_bytes(8) not in (expected, no_bits())


def test_sources_say_what_they_are():
    assert repr(SystemNoise()) == "SystemNoise()"
    assert repr(SeededNoise((1, 2))) == "SeededNoise((1, 2))"


def test_same_seed_same_noise_other_seed_other_noise():
    first = SeededNoise((1, 2)).laplace(Fraction(100), 50)
    assert np.array_equal(first, SeededNoise((1, 2)).laplace(Fraction(100), 50))
    for other in ((1, 3), 1, (1, 2, 0), (0, 1, 2), (2**32 + 1,)):
        assert not np.array_equal(first, SeededNoise(other).laplace(Fraction(100), 50))


def test_result_has_the_asked_for_shape_and_type():
    for size, shape in ((0, (0,)), (5, (5,)), ((2, 3), (2, 3)), (70_000, (70_000,))):
        for draws in (SystemNoise().laplace(Fraction(3), size), SystemNoise().gaussian(Fraction(10**6), size)):
            assert draws.shape == shape
            assert draws.dtype == np.int64


@pytest.mark.parametrize("bad", [0, -1, 1.5, "1", True, None, Fraction(1, 10**9), 2**90])
def test_scale_that_is_not_usable_is_refused(bad):
    with pytest.raises(ParameterError):
        SystemNoise().laplace(bad, 1)
    with pytest.raises(ParameterError):
        SystemNoise().gaussian(bad, 1)


@pytest.mark.parametrize("bad", [-1, 1.5, True, (2, -1), "3"])
def test_size_that_is_not_usable_is_refused(bad):
    with pytest.raises(ParameterError):
        SystemNoise().laplace(Fraction(1), bad)


@pytest.mark.parametrize("bad", [-1, 1.5, True, (), (1, -2), "3"])
def test_seed_that_is_not_usable_is_refused(bad):
    with pytest.raises(ParameterError):
        SeededNoise(bad)


def test_source_code_from_bits_to_noise_has_no_floating_point():
    for module in (noise_module, tables):
        for node in ast.walk(ast.parse(Path(module.__file__).read_text())):
            assert not (isinstance(node, ast.Constant) and isinstance(node.value, float)), node.lineno
            assert not (isinstance(node, ast.Name) and node.id == "float"), node.lineno
            assert not (
                isinstance(node, ast.Attribute) and node.attr in {"float64", "exp2", "log", "log2", "sqrt", "tan"}
            )


@pytest.mark.parametrize("name", ["laplace", "gaussian", "wide_laplace", "wide_gaussian"])
def test_no_draw_is_a_copy_of_another(name):
    """At a scale at which two of 2^17 draws agree by chance once in a hundred times; the seed is fixed."""
    scale = Fraction(2**70 if name.startswith("wide") else 2**40)
    drawn = getattr(SeededNoise(1), name)(scale**2 if name.endswith("gaussian") else scale, 2**17)
    values = drawn.exact().tolist() if name.startswith("wide") else drawn.tolist()
    assert len(values) - len(set(values)) <= 1


class DictatedDigits(noise_module.Noise):
    """Hands out the given digits, whatever the table."""

    def __init__(self, digits):
        self._digits = iter(digits)

    def random_bytes(self, count):
        raise AssertionError("digits are dictated")

    def _lookup(self, table, count):
        return np.array([next(self._digits)] * count)


@pytest.mark.parametrize("power", [10, 20, 30, 39, 60, 99])
def test_negative_laplace_noise_is_the_complement_of_positive_noise(power):
    _, low = tables.laplace_digits(Fraction(2**power))
    rng = np.random.default_rng(1)
    for _ in range(30):
        high, digits = int(rng.integers(50)), [int(rng.integers(2**bits)) for bits, _ in low]
        one, other = (
            DictatedDigits([first, *digits]).wide_laplace(Fraction(2**power), 1).exact()[0] for first in (high, ~high)
        )
        assert one >= 0
        assert other == ~one


@pytest.mark.real_bits
def test_the_systems_bits_are_passed_on_as_they_come(monkeypatch):
    given, real = [], os.urandom
    assert noise_module._system_bytes is real
    monkeypatch.setattr(noise_module, "_system_bytes", lambda count: given.append(real(count)) or given[-1])
    for count in (1, 16, 10**6):
        given.clear()
        assert SystemNoise().random_bytes(count) == b"".join(given)


# --- other draws: whole numbers below a bound, coins of a rational and of an exponential probability


@pytest.mark.statistical
def test_below_is_uniform_and_rejects_the_odd_end():
    drawn = SeededNoise(1).below(np.full(30_000, 7))
    assert fits(drawn, dict.fromkeys(range(7), 1 / 7)) > FALSE_ALARM
    assert fits(drawn[drawn > 0], dict.fromkeys(range(7), 1 / 7)) < FALSE_ALARM
    # 2^64 mod 3 is 1: only the very last word is drawn again.
    assert ScriptedWords([2**64 - 1, 5]).below(np.array([3])).tolist() == [2]
    assert ScriptedWords([2**64 - 2]).below(np.array([3])).tolist() == [2]
    assert ScriptedWords([2**64 - 1]).below(np.array([2**40])).tolist() == [2**40 - 1]


def test_bernoulli_is_exact_at_its_threshold():
    third = 2**80 // 3
    top, rest = third >> 64, third & (2**64 - 1)
    for last, outcome in ((rest - 1, True), (rest + 1, False)):
        coins = ScriptedNoise(top.to_bytes(2, "little") + last.to_bytes(8, "little"))
        assert coins.bernoulli(Fraction(1, 3), 1).tolist() == [outcome]


@pytest.mark.statistical
def test_bernoulli_has_its_probability():
    drawn = SeededNoise(2).bernoulli(Fraction(1, 3), 100_000)
    assert stats.binomtest(int(drawn.sum()), drawn.size, 1 / 3).pvalue > FALSE_ALARM
    assert stats.binomtest(int(drawn.sum()), drawn.size, 0.3).pvalue < FALSE_ALARM
    assert SeededNoise(2).bernoulli(1, 50).all()


@pytest.mark.statistical
def test_accepts_has_the_exponential_probability():
    noise = SeededNoise(3)
    accepted = sum(noise.accepts(Fraction(3, 2)) for _ in range(20_000))
    assert stats.binomtest(accepted, 20_000, math.exp(-1.5)).pvalue > FALSE_ALARM
    assert stats.binomtest(accepted, 20_000, math.exp(-1.35)).pvalue < FALSE_ALARM


def test_a_coin_is_compared_to_its_last_bit():
    limit = tables.exp_floor(Fraction(5), 80)
    for number, accepted in ((limit - 1, True), (limit + 1, False)):
        noise = ScriptedNoise((number >> 64).to_bytes(2, "little") + (number & 2**64 - 1).to_bytes(8, "little"))
        assert noise.accepts(Fraction(5)) is accepted
        assert noise.used_up
