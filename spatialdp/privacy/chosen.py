"""How is the bound on a person's contribution chosen, if nobody gives it? From public candidates, for a share of ε.

A `Chosen` stands in a `Person` where a number would: it says which bounds may be chosen, what the choice may cost, and
for which boxes the release should be good. It holds public values alone. The choice itself reads records and is in
`mechanisms.bound_choice`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from spatialdp._support.checks import whole_number
from spatialdp._support.json_values import fraction
from spatialdp.errors import ParameterError, SpatialDPError
from spatialdp.privacy.budget import Number, exact
from spatialdp.wording import either, parameter, quoted

__all__ = ["CHOICE_STEP", "MOST", "Chosen"]

MOST = 10**9  # records or cells of one person
CHOICE_STEP = "choice of the bound"  # as plans and statements name it
_MOST_CANDIDATES = 100


@dataclass(frozen=True)
class Chosen:
    """A bound on a person's contribution that is chosen privately, when records are released.

    Parameters
    ----------
    share : int, float, Decimal or Fraction
        Share of the budget that the choice costs, between 0 and 1. The release gets the rest.
    candidates : sequence of int
        The bounds to choose from, in rising order. Public.
    area : int, float, Decimal or Fraction
        The bound is made for boxes with this share of the domain's area. Small boxes need small bounds, because noise
        drowns them; large boxes need large bounds, because whatever is cut off is missing from them.

    Raises
    ------
    ParameterError
        If the candidates do not rise, or are fewer than two, or a share is not between 0 and 1.

    Privacy
    -------
    The values here are public. The choice is paid for with `share` of the budget, and the release with the rest; the
    argument is in `mechanisms.bound_choice.BoundChoice`.

    Examples
    --------
    >>> from spatialdp.privacy.unit import Person
    >>> Person(cells=Chosen())
    Person(cells=Chosen())
    >>> Chosen(candidates=(10, 5))
    Traceback (most recent call last):
    spatialdp.errors.ParameterError: candidates is (10, 5); they must be at least two ...
    """

    share: Number = Fraction(1, 20)
    candidates: Sequence[int] = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
    area: Number = Fraction(1, 100)

    def __post_init__(self) -> None:
        object.__setattr__(self, "share", _share(self.share, "share", below_one=True))
        object.__setattr__(self, "area", _share(self.area, "area", below_one=False))
        object.__setattr__(self, "candidates", _rising(self.candidates))

    def __repr__(self) -> str:
        usual = Chosen.__dataclass_fields__
        given = {name: getattr(self, name) for name, field in usual.items() if getattr(self, name) != field.default}
        return f"Chosen({', '.join(f'{name}={_in_words(value)}' for name, value in given.items())})"

    def to_json(self) -> dict[str, Any]:
        """Return the values for JSON; fractions as exact texts.

        Examples
        --------
        >>> Chosen(candidates=(1, 2)).to_json()
        {'share': '1/20', 'candidates': [1, 2], 'area': '1/100'}
        """
        return {"share": str(self.share), "candidates": list(self.candidates), "area": str(self.area)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Chosen:
        """Rebuild the values that `to_json` wrote; a `ValueError` or `TypeError` is raised for anything else.

        Examples
        --------
        >>> Chosen.from_json(Chosen(candidates=(1, 5)).to_json()).candidates
        (1, 5)
        """
        if set(data) != {"share", "candidates", "area"}:
            raise ValueError
        try:
            return cls(fraction(data["share"]), data["candidates"], fraction(data["area"]))
        except SpatialDPError:
            raise ValueError from None


def _in_words(value: Any) -> str:
    return str(value) if isinstance(value, Fraction) else repr(value)


def _share(value: Number, name: str, *, below_one: bool) -> Fraction:
    share = exact(value, name)
    if not 0 < share <= 1 or (below_one and share == 1):
        raise ParameterError(
            f"{parameter(name)} is {value}; it must be above 0 and {'below' if below_one else 'at most'} 1. Give a "
            "share such as 0.05."
        )
    return share


def _rising(candidates: Any) -> tuple[int, ...]:
    """Return the candidates as a tuple of whole numbers, at least two and in rising order."""
    listed = isinstance(candidates, Sequence) and not isinstance(candidates, str)
    bounds = tuple(whole_number(each, "candidates", 1, MOST) for each in candidates) if listed else ()
    rising = all(low < high for low, high in pairwise(bounds))
    if not rising or not 2 <= len(bounds) <= _MOST_CANDIDATES:
        raise ParameterError(
            f"{parameter('candidates')} is {quoted(candidates)}; they must be at least two and at most "
            f"{_MOST_CANDIDATES} whole numbers in rising order, such as {either('(1, 10, 100)', '1,10,100')}. Give one "
            "bound by itself as a number."
        )
    return bounds
