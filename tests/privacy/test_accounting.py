"""From (ε, δ) to ρ: never more than is promised, and hardly less."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from dp_accounting import dp_event
from dp_accounting.rdp import RdpAccountant

from spatialdp.errors import BudgetError
from spatialdp.privacy.accounting import rho_for, zcdp_log_delta
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
