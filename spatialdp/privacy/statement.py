"""What a release promises, as a value that travels with it into every file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from spatialdp.errors import FileFormatError

__all__ = ["Privacy"]

UNIT = "record"

# No exponents: a short text must not be able to ask for a huge number.
_RATIONAL = re.compile(r"\d{1,400}(/\d{1,400})?")


@dataclass(frozen=True)
class Privacy:
    """The privacy statement of a release.

    Attributes
    ----------
    epsilon, delta : Fraction
        The promise.
    neighbours : str
        ``"add-remove"`` or ``"replace"``: which two data sets the promise compares.
    unit : str
        What is protected: one record.
    mechanism : str
        Name of the mechanism, as on the command line.
    parameters : mapping
        Its public parameters.
    currency : str
        ``"epsilon"`` or ``"rho"`` (zCDP): what `budget` counts.
    budget : mapping of str to Fraction
        What each step spent.
    private : bool
        False if the noise can be reproduced (a seeded source): then nothing is promised.
    version : str
        Version of spatialdp that made the release.
    """

    epsilon: Fraction
    delta: Fraction
    neighbours: str
    unit: str
    mechanism: str
    parameters: Mapping[str, Any]
    currency: str
    budget: Mapping[str, Fraction]
    private: bool
    version: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", MappingProxyType(dict(self.parameters)))
        object.__setattr__(self, "budget", MappingProxyType(dict(self.budget)))

    def __str__(self) -> str:
        delta = f", δ = {float(self.delta):g}" if self.delta else ""
        promise = f"ε = {float(self.epsilon):g}{delta} ({self.neighbours} one {self.unit})"
        if not self.private:
            promise = f"NOT PRIVATE (seeded noise), would be {promise}"
        return f"{promise}, {self.mechanism}, spatialdp {self.version}"

    def to_json(self) -> dict[str, Any]:
        """Plain values; fractions as exact strings such as ``"1/10"``."""
        return {
            "epsilon": str(self.epsilon),
            "delta": str(self.delta),
            "neighbours": self.neighbours,
            "unit": self.unit,
            "mechanism": self.mechanism,
            "parameters": dict(self.parameters),
            "currency": self.currency,
            "budget": {step: str(cost) for step, cost in self.budget.items()},
            "private": self.private,
            "version": self.version,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Privacy:
        """Read what `to_json` wrote, refusing anything else."""
        try:
            statement = cls(
                epsilon=_fraction(data["epsilon"]),
                delta=_fraction(data["delta"]),
                neighbours=_text(data["neighbours"]),
                unit=_text(data["unit"]),
                mechanism=_text(data["mechanism"]),
                parameters=dict(data["parameters"]),
                currency=_text(data["currency"]),
                budget={_text(step): _fraction(cost) for step, cost in data["budget"].items()},
                private=data["private"],
                version=_text(data["version"]),
            )
        except (KeyError, TypeError, ValueError, AttributeError, ZeroDivisionError):
            raise FileFormatError(
                "the privacy statement is incomplete or not in the expected form; "
                "the file was not written by spatialdp, or was altered. Ask for the original."
            ) from None
        statement._check()
        return statement

    def _check(self) -> None:
        sound = (
            self.epsilon > 0
            and 0 <= self.delta < 1
            and isinstance(self.private, bool)
            and all(cost >= 0 for cost in self.budget.values())
            and (self.currency != "epsilon" or sum(self.budget.values()) <= self.epsilon)
        )
        if not sound:
            raise FileFormatError(
                "the privacy statement contradicts itself (a budget below zero or above its whole); "
                "the file was altered. Ask for the original."
            )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _fraction(value: object) -> Fraction:
    text = _text(value)
    if not _RATIONAL.fullmatch(text):
        raise ValueError
    return Fraction(text)
