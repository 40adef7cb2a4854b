"""Are sums, means and histograms exact without noise, is their sensitivity right, and do intervals cover?"""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.curator.values import STEPS, read_edges, value_bounds
from spatialdp.errors import ParameterError, PointsError, ReleaseError
from spatialdp.privacy.noise.laws import NoiseLaw
from tests.helpers.curators import DOMAIN, Mute, exactly, opened, rehearsing

BOUNDS = [(-1.0, 1.0), (0.0, 100.0), (20.0, 25.0), (-7.0, 3.0), (-9.0, -2.0)]
WEST, EAST = (0, 0, 4, 8), (4, 0, 8, 8)


def with_prices(prices, x=None):
    x = np.full(len(prices), 1.0) if x is None else x
    return sdp.Rows(np.stack([x, np.ones(len(prices))], axis=1), price=prices)


def measured(rows, monkeypatch, ask, **terms):
    """The exact integers that a question adds noise to, and the law."""
    kept = []

    def keep(law, counts, noise):
        kept.append((law, counts.copy()))
        return counts.astype(float)

    with monkeypatch.context() as patch:
        patch.setattr(NoiseLaw, "add_to", keep)
        ask(sdp.Curator.rehearsal(rows, DOMAIN, noise=Mute(1), **terms))
    ((law, numbers),) = kept
    return law, numbers


@pytest.mark.parametrize("bounds", BOUNDS)
def test_sums_and_means_without_noise_are_those_of_clipped_values(bounds):
    rng = np.random.default_rng(1)
    prices, x = rng.normal(5, 30, 300), rng.uniform(0, 8, 300)
    prices[:4] = [np.nan, np.inf, -np.inf, bounds[0]]
    curator = exactly(with_prices(prices, x))
    clipped = np.clip(prices, *bounds)
    halves = [(x < 4) & ~np.isnan(prices), (x >= 4) & ~np.isnan(prices)]
    rounded = 300 * max(map(abs, bounds)) / STEPS
    sums, means = (ask("price", bounds, [WEST, EAST], epsilon=1).values for ask in (curator.sum, curator.mean))
    assert sums == pytest.approx([clipped[half].sum() for half in halves], abs=rounded)
    assert means == pytest.approx([clipped[half].mean() for half in halves], abs=(bounds[1] - bounds[0]) / STEPS)
    whole = curator.sum("price", bounds, epsilon=1).values
    assert isinstance(whole, float)
    assert whole == pytest.approx(sum(sums), abs=1e-6)


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
@pytest.mark.parametrize("bounds", BOUNDS)
def test_no_record_moves_a_sum_or_a_mean_by_more_than_is_paid_for(bounds, relation, monkeypatch):
    """All pairs of records, in two areas that overlap, at the bounds, around 0, far outside, and nowhere."""
    low, high = bounds
    values = [low, high, (low + high) / 2, 0.0, 1e300, -1e300, np.nan]
    records = [(x, value) for x in (1.0, 3.0, 7.0, 99.0) for value in values]
    areas = [(0, 0, 4, 8), (2, 0, 8, 8)]
    for ask in ("sum", "mean"):

        def asked(curator, ask=ask):
            return getattr(curator, ask)("price", bounds, areas, epsilon=1)

        vectors = []
        for x, value in records:
            law, numbers = measured(
                with_prices([value, 1.0], np.array([x, 1.0])), monkeypatch, asked, neighbours=relation
            )
            vectors.append(numbers.ravel())
        _, empty = measured(with_prices([1.0], np.array([1.0])), monkeypatch, asked, neighbours=relation)
        pairs = [(each, empty.ravel()) for each in vectors]
        if relation == "replace":
            pairs += list(itertools.combinations(vectors, 2))
        moved = max(int(np.abs(one - other).sum()) for one, other in pairs)
        assert moved <= law.parameter, f"{ask}: {moved} steps at noise of scale {law.parameter}"
        if low == -high or ask == "mean":  # where the sensitivity is stated exactly
            assert moved >= Fraction(law.parameter) * (1 if relation == "add-remove" else Fraction(1, 2))


def test_replacing_one_end_by_the_other_moves_a_sum_by_all_steps(monkeypatch):
    def asked(curator):
        return curator.sum("price", (-1, 1), epsilon=1)

    terms = {"neighbours": "replace"}
    (law, low), (_, high) = (measured(with_prices([price]), monkeypatch, asked, **terms) for price in (-1.0, 1.0))
    assert (high - low).item() == STEPS == law.parameter


def test_both_sums_of_a_mean_together_are_moved_by_as_many_steps_whatever_the_value(monkeypatch):
    def asked(curator):
        return curator.mean("price", (0, 10), epsilon=1)

    for price in (0.0, 3.3, 10.0, 99.0):
        law, numbers = measured(with_prices([price]), monkeypatch, asked)
        assert numbers.sum() == STEPS == law.parameter


def test_the_sensitivity_of_a_sum_fits_its_bounds(tmp_path):
    curator = sdp.Curator(with_prices([1.0]), DOMAIN, opened(tmp_path, epsilon=100, neighbours="replace"))
    scales = [curator.sum("price", bounds, epsilon=1).privacy.parameters["scale"] for bounds in BOUNDS]
    halves = STEPS // 2
    assert scales[:3] == [str(STEPS), str(halves), str(halves)]
    assert scales[3] == str(round(halves * 3 / 7) + halves)


def test_histogram_without_noise_is_that_of_numpy():
    prices = np.array([0, 1, 1.5, 2, 5, 9.99, 10, 11, -1, np.nan, np.inf])
    answers = exactly(with_prices(prices)).histogram("price", [0, 1, 2, 5, 10], epsilon=1)
    assert answers.values.tolist() == np.histogram(prices[:8], [0, 1, 2, 5, 10])[0].tolist()


@pytest.mark.parametrize(
    ("relation", "bins", "scale"), [("add-remove", 3, "1"), ("replace", 3, "2"), ("replace", 1, "1")]
)
def test_bins_cost_as_little_as_one(tmp_path, relation, bins, scale):
    curator = sdp.Curator(with_prices([1.0]), DOMAIN, opened(tmp_path, neighbours=relation))
    assert curator.histogram("price", np.arange(bins + 1), epsilon=1).privacy.parameters["scale"] == scale


# --- intervals ------------------------------------------------------------------------------------------


TILES = np.array([[i, j, i + 1, j + 1] for i in range(8) for j in range(8)])
CENTRES = np.repeat(TILES[:, :2] + 0.5, 40, axis=0)


def asked(name, curator):
    """Sixty-four answers without any truth near 0, and the truth."""
    if name == "count":
        return curator.counts(TILES, epsilon=0.1), 40.0
    if name == "sum":
        return curator.sum("price", (0, 10), TILES, epsilon=0.1), 40 * 3.75
    return curator.histogram("price", np.arange(64) / 8 + 1 / 16, epsilon=0.1), np.r_[np.zeros(29), 2560, np.zeros(33)]


@pytest.mark.statistical
@pytest.mark.parametrize("name", ["count", "sum", "histogram"])
@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_intervals_cover_exactly_as_often_as_they_say(name, level):
    """Some 25,000 answers; noise that is wider or narrower by a quarter is refused."""
    rows = sdp.Rows(CENTRES, price=np.full(len(CENTRES), 3.75))
    answers, truths = zip(*(asked(name, rehearsing(rows, seed=seed)) for seed in range(400)), strict=True)
    errors = np.array([each.values - truth for each, truth in zip(answers, truths, strict=True)])
    width = answers[0].accuracy.half_width(level) * answers[0].accuracy.unit + 1e-9
    assert answers[0].interval(level)[0, 1] == pytest.approx(max(answers[0].values[0] + width, 0), abs=1e-6)

    def share(factor):
        return (np.abs(errors * factor) <= width).mean()

    tolerance = 5 * np.sqrt(level * (1 - level) / errors.size)
    whole_step = (1 - np.exp(-0.1)) * (name != "sum")  # the probability of the outermost steps is below this
    assert level - tolerance <= share(1) <= level + tolerance + (1 - level) * whole_step
    assert share(1.25) < level - tolerance
    assert share(0.8) > level + tolerance


@pytest.mark.statistical
@pytest.mark.parametrize("prices", [np.repeat([3.0, 8.0], 100), np.full(40, 10.0), np.full(3, 0.0)])
@pytest.mark.parametrize("epsilon", [0.1, 1])
def test_intervals_of_means_cover_at_least_as_often_as_they_say(prices, epsilon):
    """Some 25,000 means of 64 areas, at a level of 0.9; errors three times as large are not covered so often."""
    rows = sdp.Rows(np.repeat(TILES[:, :2] + 0.5, len(prices), axis=0), price=np.tile(prices, 64))
    truth, shares, wider = prices.mean(), [], []
    for seed in range(400):
        means = rehearsing(rows, seed=seed).mean("price", (0, 10), TILES, epsilon=epsilon)
        low, high = means.interval(0.9).T
        shares.append(((low <= truth + 1e-9) & (truth - 1e-9 <= high)).mean())
        wrong = truth + 3 * (means.values - truth)
        wider.append((np.abs(wrong - truth) <= np.maximum(means.values - low, high - means.values)).mean())
    assert np.mean(shares) >= 0.9 - 0.01
    if len(prices) > 100:
        assert np.mean(wider) < 0.9 - 0.01


def test_an_interval_of_a_mean_is_within_the_bounds_and_says_nothing_of_no_records():
    ends = rehearsing(with_prices([])).mean("price", (0, 10), [WEST, EAST], epsilon=0.01).interval()
    assert ends.shape == (2, 2)
    assert ends.min() == 0
    assert ends.max() == 10
    assert exactly(with_prices([])).mean("price", (0, 10), epsilon=1).values == 5


def test_a_mean_has_no_standard_deviation():
    answers = rehearsing(with_prices([1.0])).mean("price", (0, 10), epsilon=1)
    with pytest.raises(ReleaseError, match="depends on the number of records"):
        _ = answers.standard_deviation
    low, high = answers.interval()
    assert repr(answers).startswith(f"<{answers.values:,.6g} ({low:,.6g} to {high:,.6g}): NOT PRIVATE")


def test_a_mean_is_more_accurate_than_one_from_a_sum_and_a_count_that_share_the_budget():
    """The variance is about half of it, for the same ε."""
    prices = np.repeat([4.0, 6.0], 2000)
    rows = with_prices(prices)
    errors, plain = [], []
    for seed in range(300):
        curator = rehearsing(rows, seed=seed)
        errors.append(curator.mean("price", (0, 10), epsilon=0.1).values - 5)
        total = rehearsing(with_prices(prices - 5), seed=1000 + seed).sum("price", (-5, 5), epsilon=0.05).values
        plain.append(total / rehearsing(rows, seed=2000 + seed).count(epsilon=0.05).values)
    assert np.var(errors) < 0.75 * np.var(plain)


# --- what is refused ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "bounds", [(1, 1), (2, 1), (0, np.inf), (np.nan, 1), "ab", (0, 1, 2), 7, (0, 1e-200), (0, 1e200)]
)
def test_wrong_bounds_are_refused(bounds):
    with pytest.raises(ParameterError, match="never take them from the records"):
        value_bounds(bounds)


@pytest.mark.parametrize("edges", [[1], [1, 1], [2, 1], [0, np.nan], "ab", [[0, 1], [1, 2]], 7])
def test_wrong_edges_are_refused(edges):
    with pytest.raises(ParameterError, match="never take them from the records"):
        read_edges(edges)


def test_a_column_that_is_not_there_is_refused_and_costs_nothing(tmp_path):
    account = opened(tmp_path)
    curator = sdp.Curator(with_prices([1.0]), DOMAIN, account)
    with pytest.raises(ParameterError, match="the columns are \\['price'\\]"):
        curator.sum("cost", (0, 1), epsilon=1)
    with pytest.raises(ParameterError, match="there are no columns"):
        rehearsing([[1, 1]]).mean("cost", (0, 1), epsilon=1)
    assert account.spent.epsilon == 0


def test_a_column_without_numbers_is_refused_by_its_type_alone(tmp_path):
    account = opened(tmp_path)
    structured = np.zeros(1, dtype=[("a", int)])
    curator = sdp.Curator(sdp.Rows([[1, 1]], price=structured), DOMAIN, account)
    with pytest.raises(PointsError, match="cannot be read as numbers"):
        curator.sum("price", (0, 1), epsilon=1)
    assert account.spent.epsilon == 0


def test_texts_are_numbers_where_they_look_like_it_and_count_nowhere_otherwise():
    rows = sdp.Rows([[1, 1]] * 4, price=["3", "x", None, " 4.5 "])
    assert exactly(rows).sum("price", (0, 10), epsilon=1).values == pytest.approx(7.5, abs=1e-4)


def test_gaussian_sums_and_means(tmp_path):
    account = opened(tmp_path, epsilon=2, delta=1e-6, pure=1)
    curator = sdp.Curator(with_prices([3.0] * 50), DOMAIN, account)
    for ask in (curator.sum, curator.mean):
        answers = ask("price", (0, 10), epsilon=0.3, delta=1e-7, law="gaussian")
        assert answers.privacy.currency == "rho"
        low, high = answers.interval()
        assert low < high
    assert account.spent.epsilon == 0


def test_a_seed_repeats_an_answer():
    asks = [rehearsing(with_prices([3.0] * 50), seed=9).sum("price", (0, 10), epsilon=1).values for _ in range(2)]
    assert asks[0] == asks[1]


@pytest.mark.parametrize(
    ("level", "words"), [(0, "level is 0;"), (-0.5, "level is -0.5"), ("x", "level is 'x'"), (0.999, "at most 0.998")]
)
def test_levels_of_means_are_checked_as_they_were_given(level, words):
    answers = rehearsing(with_prices([1, 2])).mean("price", (0, 10), epsilon=1)
    with pytest.raises(ParameterError, match=words):
        answers.interval(level)
    assert answers.interval(0.998).shape == (2,)


def test_the_outer_bins_of_a_histogram_may_have_no_end(tmp_path):
    account = opened(tmp_path)
    rows = with_prices([-1e300, 1, 2, 5, np.inf, -np.inf, np.nan])
    answers = sdp.Curator(rows, DOMAIN, account).histogram("price", [-np.inf, 0, 3, np.inf], epsilon=1)
    assert account.entries[-1].facts["what"]["from"] == "-inf"
    assert sdp.Privacy.from_json(answers.privacy.to_json()) == answers.privacy
    exact = rehearsing(rows).histogram("price", [-np.inf, 0, 3, np.inf], epsilon=1000)
    assert exact.values.tolist() == [2, 2, 2]
