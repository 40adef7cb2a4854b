"""Does what a ledger holds depend on records? A paid release is replayed on a neighbour, and all that is paid compared.

The account is one that listens (`tests.helpers.ledgers.Till`). The tape's noise stands for the system's, which an
account asks for.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any
from unittest import mock

from spatialdp.privacy import payment
from tests.audit import tables  # noqa: F401 - says which neighbours tables have
from tests.audit.replay import EPSILONS, neighbours_of
from tests.audit.tape import Tape
from tests.helpers.cases import CASES, DOMAINS, Setting, terms
from tests.helpers.ledgers import Till, order_of

# What happens to the records of a release, in order.
ORDER = ["check", "records", "spend", "bits"]


def entries_are_public(setting: Any, count: int, seed: int = 1) -> None:
    """Check that neighbours pay the same, in the same order, and that the ledger is told the same about them."""
    with Tape() as tape, mock.patch.object(payment, "is_system_noise", return_value=True):
        for index, (kind, first, second) in enumerate(neighbours_of(setting, count, seed)):
            epsilon = EPSILONS[index % len(EPSILONS)]
            one = _paid(setting, first, tape.record(seed + index), epsilon)
            two = _paid(setting, second, tape.play(), epsilon)
            tape.finish()
            assert one == two, f"{kind}: the ledger is told something else"
            assert one[0] == ["check", "spend"], f"{kind}: a release is not paid for exactly once"


def _paid(setting: Any, records: Any, noise: Any, epsilon: Any) -> tuple[list[str], list[Any], Any]:
    till = Till()
    asked = setting.terms | {"epsilon": epsilon}
    release = setting.mechanism.release(records, setting.domain, noise=noise, account=till, **asked)
    return till.events, till.paid, release.privacy.ledger


@cache
def entries_of(case: str, pairs: int = 12) -> Callable[[], None]:
    """Return the check for one case."""
    return lambda: entries_are_public(Setting(case, "whole", "add-remove"), pairs)


@cache
def paid_in_order(case: str) -> Callable[[], None]:
    """Return a check that an account is asked before records, and has paid before random bits are drawn."""
    mechanism, domain = CASES[case], DOMAINS["whole"]

    def check() -> None:
        events: list[str] = []
        till, asked = Till(events), terms(mechanism, "add-remove")
        order = order_of(lambda: mechanism.release([[0.1, 0.1]] * 3, domain, account=till, **asked), events)
        assert order == ORDER, f"the order is {order}"

    return check


@contextlib.contextmanager
def _changed(change: Callable[..., Any]) -> Iterator[None]:
    from spatialdp.mechanisms.prepared import PreparedRelease

    real = PreparedRelease._paid_release
    with mock.patch.object(PreparedRelease, "_paid_release", lambda *data: change(real, *data)):
        yield


# --- planted bugs --------------------------------------------------------------------------------------


def number_in_the_entry() -> Any:
    """Tell the ledger how many records there are."""

    def change(real: Any, prepared: Any, points: Any, noise: Any, account: Any) -> Any:
        about = payment._about
        with mock.patch.object(payment, "_about", lambda statement: about(statement) | {"records": len(points)}):
            return real(prepared, points, noise, account)

    return _changed(change)


def paid_if_there_are_many() -> Any:
    """Let small data sets pay nothing, because "nothing is in them"."""

    def change(real: Any, prepared: Any, points: Any, noise: Any, account: Any) -> Any:
        return real(prepared, points, noise, account if len(points) % 2 else Till())

    return _changed(change)


def drawn_before_it_is_paid_for() -> Any:
    """Draw the bits, and pay then."""

    def random_bytes(noise: Any, count: int) -> bytes:
        bits = noise._source.random_bytes(count)
        noise.pay()
        return bytes(bits)

    return mock.patch.object(payment.PaidNoise, "random_bytes", random_bytes)


def paid_after_the_release() -> Any:
    """Deduct what a release costs when it is made, as others do."""
    return mock.patch.object(payment.PaidNoise, "random_bytes", lambda noise, count: noise._source.random_bytes(count))
