"""Which noise does a statement name? The law and the exact parameter of each step, so that a reader can check them.

A mechanism decides on its noise before a record is read, as `NoiseLaw`. Here the laws of one step become a public value
for its plan, its privacy statement and its certificate.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from spatialdp._support.json_values import exact_number, text, whole
from spatialdp.privacy.noise.laws import Law, NoiseLaw

__all__ = ["StatedNoise", "stated", "stated_from_json"]

_MOST_STEPS = 2**62


@dataclass(frozen=True)
class StatedNoise:
    """The noise of one step of a release: its law and its exact parameter, in units of the numbers measured.

    Attributes
    ----------
    law : Law
    least, most : Fraction
        The parameter: the scale t of Laplace noise, or the variance parameter σ² of Gaussian noise. They are the same
        unless the step draws noise of several widths, such as the counts of an adaptive tree, whose files say which
        count has which.
    steps : int
        The noise is a whole number of steps, of which this many make up 1.

    Examples
    --------
    >>> import spatialdp as sdp
    >>> release = sdp.Flat(shape=(2, 2)).release([], sdp.Domain((0, 0, 1, 1)), epsilon=0.1)
    >>> print(release.privacy.noise["counts"])
    discrete Laplace, t = 10
    """

    law: Law
    least: Fraction
    most: Fraction
    steps: int = 1

    @classmethod
    def of(cls, laws: Iterable[NoiseLaw]) -> StatedNoise:
        """Return what one step draws, from all laws that it may draw from.

        Examples
        --------
        >>> laws = [NoiseLaw(Law.LAPLACE, Fraction(scale), steps=1024) for scale in (512, 2048)]
        >>> print(StatedNoise.of(laws))
        Laplace in steps of 1/1024, t from 1/2 to 2
        """
        drawn = list(laws)
        parameters = [_in_units(law) for law in drawn]
        return cls(drawn[0].law, min(parameters), max(parameters), max(law.steps for law in drawn))

    def __str__(self) -> str:
        fine = f" in steps of 1/{self.steps}" if self.steps > 1 else ""
        width = f"= {self.least}" if self.least == self.most else f"from {self.least} to {self.most}"
        return f"{_NAMES[self.law]}{fine}, {self.symbol} {width}"

    @property
    def symbol(self) -> str:
        """The parameter's symbol: t, or σ² for Gaussian noise.

        Examples
        --------
        >>> StatedNoise(Law.GAUSSIAN, Fraction(3), Fraction(3)).symbol
        'σ²'
        """
        return "σ²" if self.law is Law.GAUSSIAN else "t"

    @property
    def members(self) -> dict[str, Any]:
        """The values by the names that they have in a statement, exact numbers as fractions.

        Examples
        --------
        >>> StatedNoise(Law.DISCRETE_LAPLACE, Fraction(1, 2), Fraction(2)).members["least"]
        Fraction(1, 2)
        """
        return {"law": str(self.law), "least": self.least, "most": self.most, "steps": self.steps}


_NAMES = {Law.DISCRETE_LAPLACE: "discrete Laplace", Law.LAPLACE: "Laplace", Law.GAUSSIAN: "discrete Gaussian"}


def _in_units(law: NoiseLaw) -> Fraction:
    return law.parameter / law.steps ** (2 if law.law is Law.GAUSSIAN else 1)


def stated(laws: Mapping[str, NoiseLaw | None]) -> dict[str, StatedNoise]:
    """Return the noise of each step, by its name; a step without a law draws none and is left out.

    Examples
    --------
    >>> noise = stated({"counts": NoiseLaw(Law.GAUSSIAN, Fraction(9)), "root": None})
    >>> [(name, str(each)) for name, each in noise.items()]
    [('counts', 'discrete Gaussian, σ² = 9')]
    """
    return {name: StatedNoise.of([law]) for name, law in laws.items() if law is not None}


def stated_from_json(data: Mapping[str, Any]) -> dict[str, StatedNoise]:
    """Rebuild the noise of all steps from their members in JSON; what is wrong raises a usual error of Python.

    Examples
    --------
    >>> from spatialdp._support.json_values import with_exact
    >>> noise = {"counts": StatedNoise(Law.DISCRETE_LAPLACE, Fraction(1, 2), Fraction(2))}
    >>> stated_from_json({step: with_exact(each.members) for step, each in noise.items()}) == noise
    True
    """
    read = [
        (
            text(each["law"]),
            exact_number(each, "least"),
            exact_number(each, "most"),
            whole(each["steps"], 1, _MOST_STEPS),
        )
        for each in data.values()
    ]
    if not all(0 < least <= most for _, least, most, _ in read):
        raise ValueError
    noise = (StatedNoise(Law(law), least, most, steps) for law, least, most, steps in read)
    return dict(zip(data, noise, strict=True))
