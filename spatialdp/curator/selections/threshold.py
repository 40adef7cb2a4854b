"""Which counts are above a threshold? Questions one after the other, of which only the answers "above" cost.

All of ε is paid when the threshold is opened. What is kept in memory until it is closed is in
`privacy.noise.sparse_vector`; see ``docs/design/selection.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import TracebackType
from typing import Any, NoReturn, Self

from spatialdp._support.override import override
from spatialdp.curator.asks import Ask, Frame
from spatialdp.curator.counts import Areas, one_area
from spatialdp.errors import ParameterError
from spatialdp.privacy.neighbours import Neighbours, Sensitivity
from spatialdp.privacy.noise.source import Noise
from spatialdp.privacy.noise.sparse_vector import SparseVector, SparseVectorTerms
from spatialdp.privacy.statement import Privacy
from spatialdp.records.formats.base import forgetful
from spatialdp.records.rows.held import HeldRecords
from spatialdp.wording import either, parameter

__all__ = ["AboveThreshold", "Threshold"]


class AboveThreshold:
    """Says of one area after the other whether its count is above a threshold; `Curator.above_threshold` makes it.

    Use it in a ``with`` statement, at the end of which no more questions are answered.

    Attributes
    ----------
    privacy : Privacy
        What all answers together promise, and which entry of the ledger paid for them.
    """

    def __init__(self, vector: SparseVector, held: HeldRecords, frame: Frame, privacy: Privacy) -> None:
        self._vector, self._held, self._frame = vector, held, frame
        self.privacy = privacy

    @property
    def left(self) -> int:
        """How many answers "above" are left."""
        return self._vector.left

    def ask(self, area: Any) -> bool:
        """Whether the number of records in an area is at least the threshold, up to noise.

        Parameters
        ----------
        area : (xmin, ymin, xmax, ymax) or polygon
            Public. It may follow from earlier answers.

        Raises
        ------
        BudgetError
            If all answers "above" have been given.
        """
        if area is None:
            raise ParameterError(
                f"{parameter('area')} is missing; give a box "
                f"{either('(xmin, ymin, xmax, ymax)', 'XMIN,YMIN,XMAX,YMAX')} or a polygon, such as the "
                "bounds of the domain."
            )
        return _is_above(self._vector, one_area(area, self._frame.domain), self._held)

    def __repr__(self) -> str:
        return f"<AboveThreshold: {self.left} answers above left; {self.privacy}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("an open threshold holds records and cannot be copied or sent to another process")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._vector.close()


@forgetful
def _is_above(vector: SparseVector, area: Areas, held: HeldRecords) -> bool:
    """Compare the exact count with the threshold; a refused question is refused before anything is counted."""
    vector.check()
    (count,) = area.sums(held).tolist()
    return vector.above(count)


@dataclass(frozen=True)
class Threshold(Ask[AboveThreshold]):
    """A threshold with which the counts of later areas are compared.

    Privacy
    -------
    Neighbours, unit and cost: those of the account. One record moves the count of an area by at most 1 under both
    relations, and a person with at most L records by L. If neighbours differ by adding or removing, the counts of all
    areas move in one direction; if one is replaced, one count may fall while another one rises. The rest is with
    `privacy.noise.sparse_vector.SparseVector`.
    """

    threshold: int
    limit: int
    name = "above threshold"

    @property
    def terms(self) -> SparseVectorTerms:
        """The public terms of the noise, which follow from this question."""
        sensitivity = self.frame.sensitivity(Sensitivity(1, 1)).l1
        monotone = self.frame.neighbours is Neighbours.ADD_REMOVE
        return SparseVectorTerms(self.spending.amount, sensitivity, self.limit, monotone)

    @override
    def facts(self) -> dict[str, Any]:
        terms = self.terms
        return {
            "threshold": self.threshold,
            "limit": self.limit,
            "noise": "geometric",
            "scale of the threshold": str(terms.threshold_scale),
            "scale of the answers": str(terms.question_scale),
        }

    @override
    def answer(self, held: HeldRecords, noise: Noise, statement: Privacy) -> AboveThreshold:
        return AboveThreshold(SparseVector(self.terms, self.threshold, noise), held, self.frame, statement)
