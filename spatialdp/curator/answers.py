"""What does a curator answer? Released numbers, how far off they may be, and what they promise.

How far off an answer may be is known from its law of noise alone, so nobody has to pay for it: `Accuracy` says it for
one kind of answer. Where nothing honest can be said, `interval` says why.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from spatialdp._support.arrays import Floats
from spatialdp._support.tables import html_table
from spatialdp.errors import ReleaseError
from spatialdp.estimates.intervals import half_width
from spatialdp.privacy.noise.laws import NoiseLaw
from spatialdp.privacy.statement import NOT_PRIVATE, Privacy

__all__ = ["Accuracy", "Answers", "LawNoise", "NoInterval"]

_SHOWN = 0.95  # level of the interval that `repr` shows
_MOST_SHOWN = 20  # answers that a notebook shows


class Accuracy(Protocol):
    """How far off answers may be, given their law of noise."""

    @property
    def standard_deviation(self) -> float:
        """Of the noise in one answer."""

    def ends(self, values: Floats, level: float) -> Floats:
        """Return the lower and the upper end of the interval of each answer, in a last axis."""


@dataclass(frozen=True)
class LawNoise:
    """Answers with noise of one law: integers of a lattice, each of which stands for `unit`.

    Attributes
    ----------
    law : NoiseLaw
    unit : float
        What one step of the measurement is worth.
    least, most : float
        What the truth cannot be below, or above.
    """

    law: NoiseLaw
    unit: float = 1.0
    least: float = -np.inf
    most: float = np.inf

    @property
    def standard_deviation(self) -> float:
        """Of the noise in one answer."""
        return float(np.sqrt(self.law.variance)) * self.unit

    def ends(self, values: Floats, level: float) -> Floats:
        """Return both ends of the central interval of each answer."""
        width = self.half_width(level) * self.unit
        return np.clip(np.stack([values - width, values + width], axis=-1), self.least, self.most)

    def half_width(self, level: float) -> float:
        """Return how far off a measurement is at most with a probability of `level`, in its own steps.

        Examples
        --------
        >>> from fractions import Fraction
        >>> from spatialdp.privacy.noise.laws import Law
        >>> LawNoise(NoiseLaw(Law.DISCRETE_LAPLACE, Fraction(10))).half_width(0.95)
        30.0
        """
        variance, kurtosis = np.array([self.law.variance]), np.array([self.law.kurtosis])
        return float(half_width(variance, kurtosis, self.law.step, level, whole=True)[0])


@dataclass(frozen=True)
class NoInterval:
    """Answers of which nobody can say how far off they are without looking at the records again.

    Attributes
    ----------
    reason : str
        Why, and what to do, as the end of an error.
    """

    reason: str

    @property
    def standard_deviation(self) -> float:
        """Refused, with the reason."""
        raise ReleaseError(self.reason)

    def ends(self, values: Floats, level: float) -> Floats:  # noqa: ARG002 - refused for all answers
        """Refuse, with the reason."""
        raise ReleaseError(self.reason)


@dataclass(frozen=True, eq=False)
class Answers:
    """What a curator answered: one number, or an array of them.

    Attributes
    ----------
    values : float or array
        The released numbers, without bias and neither clipped nor rounded, unless the question says so.
    privacy : Privacy
        What the answer promises, and which entry of the ledger paid for it.
    accuracy : Accuracy
        Its law of noise.

    Examples
    --------
    >>> import spatialdp as sdp, tempfile
    >>> account = sdp.Ledger(tempfile.mkdtemp() + "/privacy.ledger").open("crashes", epsilon=2)
    >>> curator = sdp.Curator([[0.1, 0.2], [0.8, 0.9]], sdp.Domain((0, 0, 1, 1)), account)
    >>> answers = curator.counts([(0, 0, 0.5, 0.5), (0.5, 0.5, 1, 1)], epsilon=1)
    >>> answers.values.shape, answers.interval().shape, round(answers.standard_deviation, 2)
    ((2,), (2, 2), 1.36)
    >>> answers.privacy.epsilon
    Fraction(1, 1)
    """

    values: Any
    privacy: Privacy
    accuracy: Accuracy

    def __post_init__(self) -> None:
        if isinstance(self.values, np.ndarray):
            self.values.setflags(write=False)

    @property
    def standard_deviation(self) -> float:
        """Standard deviation of the noise in each answer, known before any record is read."""
        return self.accuracy.standard_deviation

    def interval(self, level: float = 0.95) -> Floats:
        """Intervals that cover what the records say with probability `level`.

        Parameters
        ----------
        level : float
            Between 0 and 1.

        Returns
        -------
        (2,) or (m, 2) array of lower and upper ends

        Raises
        ------
        ReleaseError
            If no honest interval exists for this kind of answer.
        """
        return self.accuracy.ends(np.asarray(self.values, dtype=np.float64), level)

    def __repr__(self) -> str:
        size = np.size(self.values)
        count = f"{size:,} answer{'s' * (size != 1)}" if np.ndim(self.values) else self._in_texts()[0]
        promise = str(replace(self.privacy, ledger=None)).removesuffix(f", spatialdp {self.privacy.version}")
        return f"<{count}: {promise}>"

    def _repr_html_(self) -> str:
        """The answers as a table, for notebooks."""
        shown = self._in_texts()
        rows = [(str(place), answer) for place, answer in enumerate(shown[:_MOST_SHOWN])]
        rows += [("…", f"{len(shown):,} answers in all")] * (len(shown) > _MOST_SHOWN)
        warning = "" if self.privacy.private else NOT_PRIVATE
        return html_table(f"Answers: {self.privacy.mechanism}", rows, warning=warning, note=self.privacy.in_words())

    def _in_texts(self) -> list[str]:
        """The answers as texts, with their intervals if there are any."""
        values = np.atleast_1d(self.values).ravel().tolist()
        if isinstance(self.accuracy, LawNoise):
            width = self.accuracy.half_width(_SHOWN) * self.accuracy.unit
            return [f"{value:,.6g} ± {width:,.3g}" for value in values]
        try:
            ends = self.interval(_SHOWN).reshape(-1, 2).tolist()
        except ReleaseError:
            return [f"{value:,.6g}" for value in values]
        return [f"{value:,.6g} ({low:,.6g} to {high:,.6g})" for value, (low, high) in zip(values, ends, strict=True)]
