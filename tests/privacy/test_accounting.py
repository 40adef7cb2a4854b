"""From (ε, δ) to ρ: never more than is promised, and hardly less."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from dp_accounting import dp_event
from dp_accounting.rdp import RdpAccountant

from spatialdp.errors import BudgetError, ParameterError
from spatialdp.privacy.accounting import budget_per_record, promise_for_records, rho_for, zcdp_log_delta
from spatialdp.privacy.budget import Budget


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 4.0, 20.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-9, 1e-5])
def test_rho_agrees_with_dp_accounting(epsilon, delta):
    rho = float(rho_for(Budget(epsilon, delta)))
    best = 1 + math.sqrt(math.log(1 / delta) / rho)  # near the optimal order; a dense grid around it
    orders = 1 + (best - 1) * np.geomspace(0.2, 5, 4001)
    accountant = RdpAccountant(orders=list(orders)).compose(dp_event.GaussianDpEvent(math.sqrt(1 / (2 * rho))))
    assert accountant.get_epsilon(delta) == pytest.approx(epsilon, rel=1e-5)
    assert accountant.get_delta(epsilon) <= delta * (1 + 1e-4)  # its orders are a grid


def test_rho_is_tight_and_safe():
    for epsilon, delta in ((0.1, 1e-9), (1, 1e-9), (10, 1e-6)):
        rho = rho_for(Budget(epsilon, delta))
        assert zcdp_log_delta(float(rho), epsilon) <= math.log(delta)
        assert zcdp_log_delta(float(rho) * 1.0001, epsilon) > math.log(delta)
        loose = (math.sqrt(math.log(1 / delta) + epsilon) - math.sqrt(math.log(1 / delta))) ** 2
        assert float(rho) > loose  # the textbook conversion gives away more


def test_rho_keeps_its_promise_down_to_the_smallest_delta():
    rho = float(rho_for(Budget(1, Fraction(1, 10**300))))
    assert zcdp_log_delta(rho, 1) <= -300 * math.log(10)
    assert zcdp_log_delta(rho * 1.001, 1) > -300 * math.log(10)


@pytest.mark.parametrize("delta", [0.99, 1 - 1e-12])
def test_a_delta_near_one_allows_more_than_epsilon(delta):
    """The search begins at ε + 1, and has to go beyond."""
    for epsilon in (1e-9, 1):
        rho = rho_for(Budget(epsilon, delta))
        assert rho > epsilon + 1
        assert zcdp_log_delta(float(rho), epsilon) <= math.log(delta)
        assert zcdp_log_delta(float(rho) * 1.001, epsilon) > math.log(delta) - 1e-9


def test_budgets_for_which_no_noise_is_wide_enough_are_refused():
    with pytest.raises(BudgetError, match="too small for Gaussian noise"):
        rho_for(Budget(1e-9, Fraction(1, 10**300)))
    assert rho_for(Budget(1e-9, 1e-9)) > 0


def test_gaussian_without_delta_is_refused():
    with pytest.raises(BudgetError, match="positive delta"):
        rho_for(Budget(1))


# --- several records of one person -----------------------------------------------------------------


def exact_delta(rho, epsilon, shift):
    """δ of discrete Gaussian noise between counts that are `shift` apart: Σ max(P(x) - e^ε P(x - shift), 0)."""
    variance = 1 / (2 * float(rho))
    reach = int(40 * math.sqrt(variance)) + shift
    x = np.arange(-reach, reach + 1)
    logs = -(x**2) / (2 * variance)
    weights, moved = (np.exp(-((x - at) ** 2) / (2 * variance)) for at in (0, shift))
    total = np.exp(logs).sum()
    return float(np.maximum(moved - math.exp(epsilon) * weights, 0).sum() / total)


GROUPS = [(0.1, 1e-6, 10), (1, 1e-6, 2), (1, 1e-6, 10), (1, 1e-9, 4), (4, 1e-6, 5), (10, 1e-6, 10)]


@pytest.mark.parametrize(("epsilon", "delta", "records"), GROUPS)
def test_a_person_with_several_records_is_promised_what_the_noise_gives(epsilon, delta, records):
    """The worst case for k records is one count that moves by k: its δ is computed exactly from the law."""
    budget = Budget(Fraction(str(epsilon)) / records, delta)
    rho = rho_for(budget)
    promise = promise_for_records(budget, rho, records)
    exact = exact_delta(rho, epsilon, records)
    assert promise.epsilon == Fraction(str(epsilon))
    slack = delta / exact_delta(rho, epsilon / records, 1)  # of the conversion, for one record
    assert exact <= promise.delta <= 1.001 * slack * exact
    assert promise.delta > records * delta  # dividing ε alone by k breaks the promise
    assert exact > delta or records < 4
    assert promise.delta < promise_for_records(budget, None, records).delta  # which knows (ε, δ) only


@pytest.mark.parametrize(("epsilon", "delta", "records"), [*GROUPS, (1, 1e-6, 1), (1, 1e-6, 1000), (0.001, 1e-9, 50)])
def test_a_budget_per_record_keeps_the_promise_to_a_person(epsilon, delta, records):
    budget = budget_per_record(epsilon, delta, records=records)
    rho = rho_for(budget)
    assert budget.epsilon * records == Budget(epsilon).epsilon
    assert records**2 * rho <= rho_for(Budget(epsilon, delta)) <= records**2 * rho * (1 + Fraction(1, 10**6))
    assert promise_for_records(budget, rho, records).delta <= Fraction(str(delta))
    assert exact_delta(rho, epsilon, records) <= delta


def test_the_general_bound_is_that_of_all_mechanisms():
    """δ (e^(kε) - 1) / (e^ε - 1), also where the powers are no doubles; never above 1."""
    promise = promise_for_records(Budget(0.5, 1e-9), None, 6)
    assert float(promise.delta) == pytest.approx(1e-9 * math.expm1(3) / math.expm1(0.5), rel=1e-6)
    assert promise_for_records(Budget(900, 1e-300), None, 2) == (1800, 1)
    assert float(promise_for_records(Budget(300, 1e-300), None, 2).delta) == pytest.approx(1e-300 * math.exp(300))
    assert promise_for_records(Budget(1, 1e-9), rho_for(Budget(1, 1e-9)), 1) == (1, Fraction(1, 10**9))


def test_without_a_delta_epsilon_is_divided():
    assert budget_per_record(1, records=3) == Budget(Fraction(1, 3))
    assert promise_for_records(Budget(Fraction(1, 3)), None, 3) == (1, 0)


def test_bad_numbers_of_records_are_refused():
    for bad in (0, -1, 1.5, True, 10**10):
        with pytest.raises(ParameterError, match="records"):
            budget_per_record(1, records=bad)
        with pytest.raises(ParameterError, match="records"):
            promise_for_records(Budget(1), None, bad)
    with pytest.raises(BudgetError, match="less than 1e-300"):
        budget_per_record(1, Fraction(1, 10**300), records=3)
    with pytest.raises(BudgetError, match="between 1e-9"):
        budget_per_record(1e-8, records=100)
