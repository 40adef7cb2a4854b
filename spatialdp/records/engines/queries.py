"""How does a query become counts? As a whole and checked, or not at all.

`sparse_counts` runs one query and returns its pairs (key, n) when the last of them has arrived and all of them have
passed the checks. Whatever an engine raises becomes one error of ours, which names the type of the failure and the step
and nothing else: engines quote records in their messages. Everything here comes before noise is drawn, so a query that
fails costs nothing, and one that is lost with its connection may be asked again, once.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from spatialdp._support.arrays import Integers
from spatialdp.errors import PointsError, SpatialDPError
from spatialdp.records.engines.drivers import Driver

__all__ = ["discreetly", "sparse_counts"]

T = TypeVar("T")
_LARGEST_TOTAL = 2**62


def sparse_counts(
    driver: Driver, expression: Any, size: int, step: str, ready: Callable[[Driver], None] | None = None
) -> tuple[Integers, Integers]:
    """Return the answer to a query: keys from 0 to `size` - 1 in ascending order, and their counts, which are not 0.

    Parameters
    ----------
    driver : Driver
    expression : ibis table
        Two columns: key and count.
    size : int
    step : str
        What the query does, for messages, such as ``"counting cells"``.
    ready : callable, optional
        Called with the driver before the query, and again on a connection that was opened anew.
    """

    def ask() -> tuple[Integers, Integers]:
        if ready is not None:
            ready(driver)
        with driver.silence():
            batches = list(driver.pairs(expression))
        keys, counts = (np.concatenate([np.empty(0, dtype=np.int64), *part]) for part in _columns(batches))
        return _checked(keys, counts, size, driver.dialect.name)

    return discreetly(ask, driver, step)


def discreetly(work: Callable[[], T], driver: Driver, step: str) -> T:
    """Run some work on an engine; its errors become one of ours. A lost connection is opened again, once."""

    def again() -> T:
        driver.reconnect()
        return work()

    outcome = _attempt(work, driver, step)
    if outcome.lost and driver.owned and not driver.in_snapshot:
        outcome = _attempt(again, driver, step)
    if outcome.failure is not None:
        raise outcome.failure.with_traceback(None)
    return outcome.values[0]


@dataclass(frozen=True, eq=False)
class _Outcome(Generic[T]):
    """What came of some work: one value, or the error to raise and whether the connection was lost."""

    values: tuple[T, ...] = ()
    failure: Exception | None = None
    lost: bool = False


def _attempt(work: Callable[[], T], driver: Driver, step: str) -> _Outcome[T]:
    lost = False
    failure: Exception
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _Outcome((work(),))
    except SpatialDPError as error:
        failure = error
    except MemoryError:
        failure = MemoryError("there is not enough memory for the counts of the cells")
    except Exception as error:  # each engine has errors of its own, and they quote records
        lost, failure = driver.is_lost(error), _failed(driver.dialect.name, step, type(error).__name__)
    failure.__cause__ = failure.__context__ = None
    return _Outcome(failure=failure, lost=lost)


def _failed(engine: str, step: str, kind: str) -> PointsError:
    return PointsError(
        f"{engine} failed while {step} ({kind}); nothing was released and nothing was spent. Its message is not shown, "
        "because it may quote records: whoever may read the table finds it in the engine's own log. Try again when the "
        "cause is removed."
    )


def _columns(batches: list[tuple[Integers, Integers]]) -> tuple[list[Integers], list[Integers]]:
    return [keys for keys, _ in batches], [counts for _, counts in batches]


def _checked(keys: Integers, counts: Integers, size: int, engine: str) -> tuple[Integers, Integers]:
    """Sort an answer by key, and refuse one that cannot be the answer; the message has no number of it."""
    order = np.argsort(keys, kind="stable")
    keys, counts = keys[order], counts[order]
    possible = keys.size == 0 or (
        keys[0] >= 0
        and keys[-1] < size
        and bool((np.diff(keys) > 0).all())
        and counts.min() >= 1
        and counts.sum(dtype=np.float64) < _LARGEST_TOTAL
    )
    if not possible:
        raise PointsError(
            f"{engine} gave an answer that is not a list of cells and counts; nothing was released and nothing was "
            "spent. Please report it, with the version of the engine and without the table."
        )
    return keys, counts
