"""Medians and means of blocks: the lattice, the middle, exact noise, and what the account is told."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.curator.aggregate import aggregation
from spatialdp.curator.aggregate.aggregation import STEPS, Aggregate, SampleAndAggregate
from spatialdp.curator.asks import Frame, Spending
from spatialdp.errors import LedgerError, ReleaseError
from spatialdp.privacy.neighbours import Neighbours
from spatialdp.privacy.noise.source import SeededNoise
from tests.helpers import block_functions as functions
from tests.helpers.sources import ZeroNoise

DOMAIN = sdp.Domain((0, 0, 8, 8))


def ask(aggregate="mean", bounds=(0, 8), epsilon=1, blocks=4):
    ends = tuple(Fraction(each) for each in bounds)
    frame = Frame(DOMAIN, Neighbours.ADD_REMOVE)
    return SampleAndAggregate(
        frame, Spending.of(epsilon), functions.mean_x, blocks, ends, Aggregate.parse(aggregate), 60.0, ()
    )


def test_results_are_clipped_and_put_on_the_lattice():
    found = ask().places([0.0, 8.0, -5.0, 1e300, 4.0, 8 / STEPS, 8 * (1 - 1 / STEPS)])
    assert found.tolist() == [0, STEPS - 1, 0, STEPS - 1, STEPS // 2, 1, STEPS - 1]


def test_the_middle_stands_for_no_result():
    assert ask(bounds=(-10, 30)).places([None, 10.0]).tolist() == [STEPS // 2] * 2


def test_no_result_moves_the_sum_by_more_than_the_noise_is_for():
    """Brute force over what a block may return, before and after."""
    question = ask(epsilon=Fraction(1, 3))
    places = question.places([None, -1e300, 1e300, 0.0, 8.0, 3.3]).tolist()
    assert max(abs(a - b) for a in places for b in places) == STEPS - 1 == question.law.parameter / 3


@pytest.mark.parametrize("bounds", [(0, 8), (-3, -1), (0, Fraction(1, 2**30))])
def test_means_of_blocks_are_right_but_for_a_step(bounds):
    low, high = bounds
    values = [float(low + (high - low) * Fraction(share)) for share in (0.1, 0.4, 0.9, 0.93)]
    question = ask(bounds=bounds)
    found, accuracy = question.combined(question.places(values), ZeroNoise())
    step = float(high - low) / STEPS
    assert found == pytest.approx(np.mean(values), abs=step)
    low_end, high_end = accuracy.ends(np.array(found), 0.9)
    assert low <= low_end < high_end <= high


def test_means_stay_within_the_bounds_and_intervals_too():
    question = ask(epsilon=Fraction(1, 100))
    found = [question.combined(question.places([1.0] * 4), SeededNoise(seed)) for seed in range(20)]
    assert all(0 <= value <= 8 for value, _ in found)
    assert {value for value, _ in found} >= {0.0, 8.0}


@pytest.mark.statistical
def test_intervals_cover_the_mean_of_the_blocks_as_often_as_they_say():
    question = ask(epsilon=2)
    places = question.places([3.0, 3.5, 4.0, 5.5])
    answers = [question.combined(places, SeededNoise(seed)) for seed in range(2000)]
    ends = np.array([accuracy.ends(np.array(value), 0.8) for value, accuracy in answers])
    covered = int(((ends[:, 0] <= 4) & (ends[:, 1] >= 4)).sum())
    assert 1500 < covered < 1700  # 1600 expected, with a standard deviation of 18


def test_medians_are_near_the_middle_of_results():
    question = ask("median", epsilon=40, blocks=9)
    found, accuracy = question.combined(question.places([*np.linspace(2, 3, 8), None]), SeededNoise(1))
    assert 2.2 < found < 2.9
    with pytest.raises(ReleaseError, match="no interval"):
        accuracy.ends(np.array(found), 0.9)


def test_equal_results_are_their_own_median():
    question = ask("median", epsilon=40, blocks=9)
    for value in (0.0, 3.3, 8.0):
        found, _ = question.combined(question.places([value] * 9), SeededNoise(1))
        assert found == pytest.approx(value, abs=8 / STEPS)


def test_a_function_of_ones_own_is_answered_from_blocks():
    points = np.column_stack([np.full(400, 6.0), np.arange(400) / 50])
    curator = sdp.Curator.rehearsal(points, DOMAIN, noise=SeededNoise(1))
    answer = curator.sample_and_aggregate(functions.mean_x, blocks=5, bounds=(0, 8), epsilon=20)
    assert answer.values == pytest.approx(6, abs=0.2)
    assert "NOT PRIVATE" in repr(answer)


def test_functions_get_the_columns_that_are_asked_for(monkeypatch):
    seen = []
    monkeypatch.setattr(aggregation, "results", lambda function, tables, seconds: [t.shape[1] for t in tables])
    monkeypatch.setattr(SampleAndAggregate, "combined", lambda ask, places, noise: (seen.append(places), None))
    rows = sdp.Rows(sdp.Points(np.ones((10, 2))), price=np.arange(10), size=np.arange(10))
    curator = sdp.Curator.rehearsal(rows, DOMAIN)
    curator.sample_and_aggregate(functions.columns, blocks=2, bounds=(0, STEPS), columns=["size", "price"], epsilon=1)
    assert seen[0].tolist() == [4, 4]


def test_the_account_pays_before_a_function_sees_records(tmp_path, monkeypatch):
    account = sdp.Ledger(tmp_path / "privacy.ledger").open("crashes", epsilon=1)
    curator = sdp.Curator([[1, 1]] * 20, DOMAIN, account)
    answer = curator.sample_and_aggregate(functions.rows, blocks=2, bounds=(0, 20), epsilon=0.5)
    assert account.spent.epsilon == Fraction(1, 2)
    assert answer.privacy.private
    what = account.entries[-1].facts["what"]
    assert (what["function"], what["blocks"], what["bounds"]) == ("rows", 2, ["0", "20"])
    monkeypatch.setattr(aggregation, "results", lambda *_: pytest.fail("records were read"))
    monkeypatch.setattr(type(account), "spend", lambda *_, **__: (_ for _ in ()).throw(LedgerError("disk full")))
    with pytest.raises(LedgerError, match="disk full"):
        curator.sample_and_aggregate(functions.rows, blocks=2, bounds=(0, 20), epsilon=0.5)


def test_medians_cost_as_exponential_mechanisms_and_means_as_noise():
    assert ask("median").cost.in_zcdp().rho == Fraction(1, 8)
    assert ask("mean").cost.in_zcdp().rho == Fraction(1, 2)
