"""How are many small questions paid for at once? By one durable spend, which is then used up in memory, exactly.

A durable spend waits for a disk; a question paid from a prepaid amount takes microseconds. A crash loses the rest of
the amount, and nothing else. A prepaid amount must stay in one process: a copy in another one would spend it twice.
"""

from __future__ import annotations

import json
import os
import threading
from collections import Counter
from collections.abc import Mapping
from itertools import accumulate
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, Self

from spatialdp.errors import BudgetError, LedgerError
from spatialdp.privacy.ledger.cost import NOTHING, Cost, Pots, in_short
from spatialdp.privacy.ledger.entries import canonical, checked_facts
from spatialdp.privacy.ledger.terms import Terms
from spatialdp.privacy.receipt import Receipt

if TYPE_CHECKING:
    from spatialdp.privacy.ledger.account import Account

__all__ = ["Prepaid"]

_LONGEST_NOTE = 2**15  # characters of the asks that a note tells apart


class Prepaid:
    """An amount that an account has paid for later questions; `Account.prepay` makes it.

    Use it in a ``with`` statement: the account pays when the statement begins, and notes what was asked for when it
    ends. What is left then is not given back.

    Examples
    --------
    >>> import spatialdp as sdp, tempfile
    >>> account = sdp.Ledger(tempfile.mkdtemp() + "/privacy.ledger").open("crashes", epsilon=2)
    >>> terms = {"neighbours": "add-remove", "unit": "record"}
    >>> with account.prepay(sdp.Cost.pure(1), **terms, what={"for": "a dashboard"}) as prepaid:
    ...     for _ in range(10):
    ...         receipt = prepaid.spend(sdp.Cost.pure(0.01), **terms, what={"ask": "count"})
    >>> prepaid.left.epsilon, account.left.epsilon
    (Fraction(9, 10), Fraction(1, 1))
    """

    def __init__(self, account: Account, terms: Terms, cost: Cost, unit: str, what: Mapping[str, Any]) -> None:
        self._account = account
        self._terms = terms
        self._cost = cost
        self._own_unit = unit
        self._what = checked_facts(what)
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._receipt: Receipt | None = None
        self._open = False
        self._left = NOTHING
        self._asks: list[tuple[Cost, Mapping[str, Any]]] = []

    @property
    def account(self) -> Account:
        """The account that paid for the amount."""
        return self._account

    @property
    def neighbours(self) -> str:
        """Which pairs of data sets the account's promise compares."""
        return self._terms.neighbours

    @property
    def unit(self) -> str:
        """Whom the account's promise protects."""
        return self._terms.unit

    @property
    def left(self) -> Pots:
        """What was paid and is not used up yet, in the account's unit."""
        return self._left

    def __repr__(self) -> str:
        state = f"ε {in_short(self._left.epsilon, down=True)} left" if self._open else "closed"
        return f"Prepaid({self._account!r}, {state})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a prepaid amount cannot be copied or sent to another process: it would be spent twice")

    def __enter__(self) -> Self:
        if self._receipt is not None:
            raise LedgerError("this amount was prepaid and used before; prepay again, which costs again.")
        terms = {"neighbours": self.neighbours, "unit": self._own_unit}
        amount = self._account.charge(self._cost, **terms)
        self._receipt = self._account.spend(self._cost, **terms, what={"prepaid": self._what})
        self._left, self._open = amount, True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open = False
        if self._process == os.getpid():
            try:
                self._account.note(self._summary())
            except LedgerError:
                if error is None:  # everything was paid: an error on the way matters more than the missing note
                    raise

    def check(self, cost: Cost, *, neighbours: str, unit: str) -> None:
        """Refuse a step that the rest of the amount does not pay for; see `Account.check`."""
        self._payable(cost, neighbours, unit)

    def spend(self, cost: Cost, *, neighbours: str, unit: str, what: Mapping[str, Any]) -> Receipt:
        """Pay for a step out of the amount, in memory; see `Account.spend`. The receipt is that of the whole amount."""
        facts = checked_facts(what)
        with self._lock:
            self._left = self._left - self._payable(cost, neighbours, unit)
            self._asks.append((cost, facts))
        assert self._receipt is not None
        return self._receipt

    def _payable(self, cost: Cost, neighbours: str, unit: str) -> Pots:
        if not self._open:
            raise BudgetError("the prepaid amount is closed; ask inside of its with statement, or prepay again.")
        if self._process != os.getpid():
            raise LedgerError(
                "the amount was prepaid in another process, which may spend it too; prepay in each process by itself."
            )
        amount = self._account.charge(cost, neighbours=neighbours, unit=unit)
        if not amount.fits(self._left):
            raise BudgetError(
                f"the step costs ε = {in_short(amount.epsilon)} and ρ = {in_short(amount.rho)}, but of the prepaid "
                f"amount only ε = {in_short(self._left.epsilon, down=True)} and "
                f"ρ = {in_short(self._left.rho, down=True)} are left; spend less, or prepay more."
            )
        return amount

    def _summary(self) -> dict[str, Any]:
        """Return which asks were paid out of the amount; equal ones together, and the usual ones if there are many."""
        asks = Counter(canonical([facts, str(cost.epsilon), str(cost.rho)]) for cost, facts in self._asks)
        room = accumulate(len(ask) for ask, _ in asks.most_common())
        told = [ask for ask, length in zip(asks.most_common(), room, strict=True) if length <= _LONGEST_NOTE]
        assert self._receipt is not None
        return {
            "entry": self._receipt.entry,
            "asks": [[times, *json.loads(ask)] for ask, times in told],
            "other asks": asks.total() - sum(times for _, times in told),
            "left": {"epsilon": in_short(self._left.epsilon, down=True), "rho": in_short(self._left.rho, down=True)},
        }
