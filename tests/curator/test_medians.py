"""Are quantiles near where they should be, and is the largest log-ratio of two neighbours what they cost?"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from unittest import mock

import numpy as np
import pytest
import shapely

import spatialdp as sdp
from spatialdp.curator.asks import Frame, Spending
from spatialdp.curator.counts import one_area
from spatialdp.curator.medians import Quantile, quantile_share
from spatialdp.errors import BudgetError, ParameterError, ReleaseError
from spatialdp.privacy.ledger.cost import Cost
from spatialdp.privacy.neighbours import Neighbours
from tests.helpers.curators import DOMAIN, opened, rehearsing

SHARES = [Fraction(1, 2), Fraction(1, 10), Fraction(2, 3), Fraction(9, 10)]


WIDTH = 5  # lattice positions of values, and twice as many lines but one


def law_of(share, values, relation):
    """The logarithm of the law of lines 1 to 2 WIDTH - 1, from what is handed to `medians`."""
    ask = Quantile(Frame(DOMAIN, relation), Spending.of(1), "x", share, None, one_area(None, DOMAIN))
    places, weights = ask._weighted(np.array(values, dtype=np.int64), 0, WIDTH)
    assert (np.diff(places) >= 0).all()
    total = int(weights.sum())
    scores = [abs(Fraction(2 * int(weights[places < line].sum()) - total, 2)) for line in range(1, 2 * WIDTH)]
    logits = np.array([-float(ask.unit_epsilon * score) for score in scores])
    return logits - np.logaddexp.reduce(logits)


@pytest.mark.parametrize("share", SHARES)
def test_a_quantile_is_the_exponential_mechanism_on_ranks(share):
    """With the score |r - p n|, and the sensitivity max(p, 1 - p), or 1 if a record is replaced."""
    values = [0, 1, 1, 3, 4, 4]
    for relation, moved in ((Neighbours.ADD_REMOVE, max(share, 1 - share)), (Neighbours.REPLACE, Fraction(1))):
        # At a value itself, the share of the records there is below.
        ranks = [
            sum(2 * value + 1 < line for value in values) + share * sum(2 * value + 1 == line for value in values)
            for line in range(1, 2 * WIDTH)
        ]
        logits = np.array([-float(abs(rank - share * len(values)) / (2 * moved)) for rank in ranks])
        assert law_of(share, values, relation) == pytest.approx(logits - np.logaddexp.reduce(logits))


@pytest.mark.parametrize("share", SHARES)
def test_worst_ratio_of_two_neighbours_is_within_epsilon(share):
    """All data sets of up to four values on five positions, and all of their neighbours; ε is 1."""
    worst = {}
    for relation in Neighbours:
        laws = {
            data: law_of(share, data, relation)
            for size in range(5)
            for data in itertools.combinations_with_replacement(range(WIDTH), size)
        }
        ratios = []
        for data, law in laws.items():
            for place in range(len(data)):
                rest = data[:place] + data[place + 1 :]
                others = [rest]
                if relation is Neighbours.REPLACE:
                    others += [tuple(sorted((*rest, value))) for value in range(WIDTH)]
                ratios += [np.abs(law - laws[other]).max() for other in others]
        worst[relation] = max(ratios)
    assert max(worst.values()) <= 1 + 1e-9
    assert worst[Neighbours.ADD_REMOVE] > 0.4


@pytest.mark.statistical
@pytest.mark.parametrize("share", SHARES)
def test_lines_are_drawn_by_that_law(share):
    """A thousand draws among nine lines: χ² with eight degrees of freedom; the law turned round is refused."""
    curator = rehearsing([[1, 1]] * 6)
    curator._held.columns = np.array([0, 1, 1, 3, 4, 4], dtype=np.int32)
    with mock.patch.object(Quantile, "_range", (0, WIDTH)):
        answers = [curator.quantile(share, "x", epsilon=1).values for _ in range(1000)]
    lines = np.rint(np.array(answers) / 8 * 2**31).astype(int)
    law = np.exp(law_of(share, [0, 1, 1, 3, 4, 4], Neighbours.ADD_REMOVE))
    counts = np.bincount(lines, minlength=2 * WIDTH)[1:]
    assert chi_squared(counts, law) < 44  # exceeded by chance less than once in 10^6
    assert chi_squared(counts, law[::-1]) > 44 or share == Fraction(1, 2)


def chi_squared(counts, law):
    expected = counts.sum() * law
    return float(((counts - expected) ** 2 / expected).sum())


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_quantiles_are_near_those_of_the_records(share):
    rng = np.random.default_rng(1)
    records, prices = rng.uniform(0, 8, (3000, 2)), rng.normal(50, 20, 3000)
    curator = rehearsing(sdp.Rows(records, price=prices))
    assert curator.quantile(share, "x", epsilon=1).values == pytest.approx(np.quantile(records[:, 0], share), abs=0.2)
    assert curator.quantile(share, "y", epsilon=1).values == pytest.approx(np.quantile(records[:, 1], share), abs=0.2)
    value = curator.quantile(share, "price", (0, 100), epsilon=1).values
    assert value == pytest.approx(np.quantile(prices, share), abs=2)


def test_a_median_of_an_area_is_that_of_its_records_and_lies_in_it():
    records = np.random.default_rng(2).uniform(0, 8, (4000, 2))
    curator = rehearsing(records)
    box, triangle = (2, 2, 4, 8), shapely.Polygon([(4, 0), (8, 0), (8, 8)])
    assert curator.median("x", area=box, epsilon=1).values == pytest.approx(3, abs=0.2)
    inside = records[records[:, 0] - 4 > records[:, 1] / 2][:, 0]
    assert curator.median("x", area=triangle, epsilon=1).values == pytest.approx(np.median(inside), abs=0.3)
    nobody = [rehearsing([], seed).median("y", area=(0, 2, 8, 3), epsilon=0.1).values for seed in range(50)]
    assert 2 <= min(nobody) < max(nobody) <= 3


def test_a_column_named_like_an_axis_is_one_if_it_has_bounds():
    rows = sdp.Rows([[1, 1]] * 500, x=np.linspace(100, 200, 500))
    assert rehearsing(rows).median("x", (0, 300), epsilon=1).values == pytest.approx(150, abs=10)
    assert rehearsing(rows).median("x", epsilon=1).values == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("share", [0.01, 0.3, 0.5, 0.999])
def test_records_that_are_all_alike_have_that_value_as_their_quantile(share):
    curator = rehearsing(sdp.Rows([[1, 1]] * 10_000, price=[7.25] * 10_000))
    assert curator.quantile(share, "price", (0, 10), epsilon=10).values == pytest.approx(7.25, abs=1e-6)


def test_values_beyond_the_bounds_count_as_the_bound_and_missing_ones_nowhere():
    rows = sdp.Rows([[1, 1]] * 300, price=[1e9] * 100 + [-1e9] * 100 + [np.nan] * 100)
    value = rehearsing(rows).quantile(0.75, "price", (0, 10), epsilon=10).values
    assert value == pytest.approx(10, abs=1e-6)
    assert rehearsing(rows).quantile(0.25, "price", (0, 10), epsilon=10).values == pytest.approx(0, abs=1e-6)


def test_a_quantile_is_a_draw_of_the_exponential_mechanism_for_an_account(tmp_path):
    account = opened(tmp_path, epsilon=2, delta=1e-6, pure=1).in_zcdp()
    sdp.Curator([[1, 1]], DOMAIN, account).median("x", epsilon=Fraction(1, 10))
    assert account.spent.rho == Fraction(1, 800)
    assert Cost.selection(Fraction(1, 10), exponential=True).in_zcdp().rho == Fraction(1, 800)


def test_a_person_pays_with_less_for_each_record():
    points = sdp.Points([[1, 1]] * 4, person=["ann"] * 4)
    frames = [rehearsing(points, person=sdp.Person(records=each))._frame for each in (1, 4)]
    asks = [Quantile(frame, Spending.of(1), "x", Fraction(1, 2), None, one_area(None, DOMAIN)) for frame in frames]
    assert asks[0].unit_epsilon == 4 * asks[1].unit_epsilon


def test_there_is_no_interval_and_the_error_says_why():
    answers = rehearsing([[1, 1]]).median("x", epsilon=1)
    for refused in (answers.interval, lambda: answers.standard_deviation):
        with pytest.raises(ReleaseError, match="how densely records lie"):
            refused()
    assert "±" not in repr(answers)


@pytest.mark.parametrize("share", [0, 1, -0.5, 1.5, Fraction(1, 1001), 0.12345])
def test_wrong_shares_are_refused(share):
    with pytest.raises(ParameterError, match="between 0 and 1"):
        quantile_share(share)


def test_wrong_values_are_refused_and_cost_nothing(tmp_path):
    account = opened(tmp_path)
    curator = sdp.Curator([[1, 1]], DOMAIN, account)
    for terms in ({"values": "z", "bounds": (0, 1)}, {"values": "price", "bounds": None}):
        with pytest.raises(ParameterError):
            curator.median(**terms, epsilon=1)
    with pytest.raises(BudgetError):
        curator.median("x", epsilon=math.nan)
    assert account.spent.epsilon == 0
