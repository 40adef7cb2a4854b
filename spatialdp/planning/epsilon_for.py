"""Which ε does an accuracy need? The least one with which the error to expect stays within a bound.

No record is read: errors follow from public parameters and, if given, from a public guess of the number of records.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy.typing as npt

from spatialdp.errors import BudgetError, ParameterError
from spatialdp.mechanisms import Adaptive, Mechanism
from spatialdp.planning.queries import boxes_of, guessed_records, positive_number
from spatialdp.planning.typical_map import typical_error
from spatialdp.privacy.budget import LARGEST_EPSILON, SMALLEST_EPSILON, Number
from spatialdp.privacy.neighbours import Neighbours
from spatialdp.privacy.unit import Person
from spatialdp.space.domain import Domain
from spatialdp.wording import parameter
from spatialdp.workload import Workload

__all__ = ["epsilon_for"]

_PROPORTIONAL = 6  # this many times the next ε is computed from the last error; then the range is halved


def epsilon_for(
    mechanism: Mechanism,
    domain: Domain,
    workload: Workload | npt.ArrayLike | None = None,
    *,
    error: float,
    records: float | None = None,
    delta: Number = 0,
    neighbours: str = Neighbours.ADD_REMOVE,
    person: Person | None = None,
) -> float:
    """The least ε with which a mechanism's error stays within a bound.

    Parameters
    ----------
    mechanism : Mechanism
        `Adaptive`, which needs `records`, or a mechanism whose noise does not depend on the records.
    domain : Domain
    workload : Workload or (m, 4) array-like of boxes, optional
        Any box by default.
    error : float
        Root-mean-square error that is acceptable, in records; with `person`, in what is counted (`Person.counted`).
    records : float, optional
        A public guess of the number of records; with `person`, of what is counted. With it, the error is that of noise
        and of uneven spread, on maps like those of the data sets that come with spatialdp; without, that of the noise
        alone.
    delta, neighbours, person
        As for `release`. An ε is then that of a person.

    Returns
    -------
    float
        Rounded up to three digits; not below 1e-5.

    Privacy
    -------
    No record is read and nothing is spent. The guess must be public; never count the records for it. A wrong guess
    costs accuracy, never privacy.

    Examples
    --------
    >>> domain = Domain((0, 0, 1, 1))
    >>> large, small = (epsilon_for(Adaptive(), domain, error=error, records=100_000) for error in (100, 50))
    >>> large < small
    True
    >>> persons = epsilon_for(Adaptive(), domain, error=100, records=100_000, person=Person(records=10))
    >>> bool(9 < persons / large < 11)  # the noise of a person with ten records needs ten times the ε
    True
    """
    bound = positive_number(error, "error", "number of records, such as 10")
    if not isinstance(mechanism, Mechanism):
        raise ParameterError(f"mechanism is {mechanism!r}; give one with its parameters, such as Flat((64, 64)).")
    boxes, guess = boxes_of(domain, workload), guessed_records(records)
    if isinstance(mechanism, Adaptive) and guess is None:
        raise ParameterError(
            f"{parameter('records')} was not given, but the error of an adaptive tree depends on the number of "
            f"records; give a public guess of it, such as {parameter('records', 100_000)}."
        )

    def expected(epsilon: float) -> float:
        terms: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "neighbours": neighbours, "person": person}
        if guess is None:
            return mechanism.expected_error(domain, boxes, **terms)
        return typical_error(mechanism, domain, boxes, guess, **terms)

    if bound < expected(_value(_LAST)):  # also raises an error if law and delta do not fit
        remedy = "larger cells" if guess is None else "other cells"
        raise ParameterError(
            f"{parameter('error')} is {error:g}; no epsilon up to 500 reaches it. Use {remedy} or accept a larger "
            "error."
        )
    return _value(_least(expected, bound))


def _least(expected: Callable[[float], float], bound: float) -> int:
    """Return the least of the numbers of three digits whose error is within the bound; that of the last one is.

    Errors are nearly proportional to 1 / ε, so each error tells about where the number is. Halving ends the search
    where they are not.
    """
    too_small, enough, chosen, turns = _FIRST, _LAST, _place(1.0), 0
    while enough - too_small > 1:
        try:
            error = expected(_value(chosen))
        except BudgetError:  # this ε needs more noise than can be drawn
            error = math.inf
        too_small, enough = (chosen, enough) if bound < error else (too_small, chosen)
        turns += 1
        proportional = turns <= _PROPORTIONAL and 0 < error < math.inf
        aim = _place(_value(chosen) * error / bound) if proportional else (too_small + enough) // 2
        chosen = min(max(aim, too_small + 1), enough - 1)
    return enough


def _place(value: float) -> int:
    """The place of a value, rounded up to three digits, among all numbers of three digits; 1 is at place 0."""
    power = math.floor(math.log10(value))
    return 900 * power + math.ceil(value / 10.0**power * 100 - 1e-9) - 100


def _value(place: int) -> float:
    """The number of three digits at a place."""
    return float(f"{place % 900 + 100}e{place // 900 - 2}")


_FIRST, _LAST = _place(float(SMALLEST_EPSILON) * 1e4), _place(float(LARGEST_EPSILON) / 2)
