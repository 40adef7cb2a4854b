"""How is a release paid for before its noise is drawn? By a source of noise whose first bits have to be paid for.

A mechanism counts before it draws noise, so that an error in the structure of records costs nothing. The account must
have paid, durably, before a single random bit of the release is drawn; no order of work within a mechanism can change
that, because the bits come through here. Nothing is paid back. See ``docs/design/ledger.md``.
"""

from __future__ import annotations

import hashlib
import threading
from typing import Any

from spatialdp._support.override import override
from spatialdp.errors import LedgerError, ParameterError
from spatialdp.privacy.ledger.account import Spender
from spatialdp.privacy.ledger.cost import Cost, in_short
from spatialdp.privacy.ledger.entries import canonical, checked_facts
from spatialdp.privacy.noise.source import Noise, is_system_noise
from spatialdp.privacy.receipt import Receipt
from spatialdp.privacy.statement import Privacy
from spatialdp.wording import either, parameter

__all__ = ["PaidNoise"]

_LONGEST_VALUE = 2000  # characters of a public value; of a longer one, an entry keeps a digest


class PaidNoise(Noise):
    """The system's own noise for one release, which an account pays for before the first bit is drawn.

    Making it refuses what the account cannot pay for, and writes nothing: do that before a record is read.

    Parameters
    ----------
    source : Noise
        Must be `SystemNoise`: an account adds up promises, and other noise promises nothing.
    account : Account or Prepaid
    statement : Privacy
        Of the release; it says what the release costs, and between which data sets its promise holds.
    **facts
        More public facts for readers of the ledger.

    Raises
    ------
    BudgetError
        If less is left than the release costs.
    ParameterError
        If the release makes no promise that the account can add up.

    Privacy
    -------
    Whether and how much is paid follows from the statement alone, which is public. If the account cannot pay when the
    first bit is asked for (another process was faster, or the disk is full), no bit is drawn, and none ever will be.
    ``tests/privacy/test_payment.py`` records the order of events of a release with each mechanism.

    Examples
    --------
    >>> import spatialdp as sdp, tempfile
    >>> account = sdp.Ledger(tempfile.mkdtemp() + "/privacy.ledger").open("crashes", epsilon=2)
    >>> statement = sdp.Flat(shape=(2, 2)).prepare(sdp.Domain((0, 0, 1, 1)), epsilon=0.5).statement
    >>> noise = PaidNoise(sdp.SystemNoise(), account, statement)
    >>> account.spent.epsilon
    Fraction(0, 1)
    >>> _ = noise.laplace(2, 3)
    >>> account.spent.epsilon, noise.pay().entry
    (Fraction(1, 2), 2)
    """

    __slots__ = ("_account", "_asked", "_cost", "_lock", "_receipt", "_source", "_terms", "_what")

    def __init__(self, source: Noise, account: Spender, statement: Privacy, **facts: Any) -> None:
        _check_account(account)
        if not is_system_noise(source):
            raise ParameterError(
                f"{parameter('noise')} is a {type(source).__name__}, but only the system's own noise makes a release "
                f"private, so an account cannot pay for it; leave {parameter('noise')} out, or "
                f"{parameter('account')}."
            )
        self._source, self._account = source, account
        self._cost = Cost.of(statement)
        self._terms = {"neighbours": statement.neighbours, "unit": statement.unit}
        self._what = checked_facts(_about(statement) | facts)
        self._receipt: Receipt | None = None
        self._asked = False
        self._lock = threading.Lock()
        account.check(self._cost, **self._terms)

    def pay(self) -> Receipt:
        """Pay for the release if that has not been done yet; return the receipt, the same each time."""
        with self._lock:
            if not self._asked:
                self._asked = True  # also if the account refuses: it may have paid, and must not pay twice
                self._receipt = self._account.spend(self._cost, **self._terms, what=self._what)
        if self._receipt is None:
            raise LedgerError("the release could not be paid for, so no noise is drawn for it; release again.")
        return self._receipt

    @override
    def random_bytes(self, count: int) -> bytes:
        """Return random bytes of the system, once the release is paid for."""
        self.pay()
        return self._source.random_bytes(count)


def _check_account(account: object) -> None:
    if not isinstance(account, Spender):
        raise ParameterError(
            f"{parameter('account')} is a {type(account).__name__}; give an account of a ledger, such as "
            f"{either('Ledger(path).account(name)', 'the name of one')}."
        )


def _about(statement: Privacy) -> dict[str, Any]:
    """Return what an entry of the ledger says about a release: its mechanism, parameters and the cost of each step."""
    parameters = {name: _short(value) for name, value in statement.parameters.items() if value is not None}
    return {
        "mechanism": statement.mechanism,
        "parameters": parameters,
        "epsilon": in_short(statement.epsilon),
        "delta": in_short(statement.delta),
        "currency": statement.currency,
        "budget": _short({step: in_short(cost) for step, cost in statement.budget.items()}),
        **({} if statement.person is None else {"person": statement.person.to_json()}),
        "version": statement.version,
    }


def _short(value: Any) -> Any:
    """Return a public value, or a digest of one that is long; the statement of the release has it in full."""
    text = canonical(value)
    return value if len(text) <= _LONGEST_VALUE else {"sha256": hashlib.sha256(text.encode()).hexdigest()}
