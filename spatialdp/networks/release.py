"""What is published of a network of attributes, and what can be asked of it? Measured tables, and what the model says.

Methods that publish import `outputs` when they are called.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from spatialdp._support.override import override
from spatialdp.errors import ParameterError, ReleaseError
from spatialdp.estimates.networks.counts import NetworkCounts
from spatialdp.table_release import TableRelease
from spatialdp.wording import either, parameter

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["NetworkRelease", "composed_in_words"]


@dataclass(frozen=True, eq=False, repr=False)
class NetworkRelease(TableRelease):
    """Released tables of attributes and their parents, and the model that they make of all attributes together.

    The `release` method of `PrivBayes` or `spatialdp.load` makes it. It answers as a `TableRelease` does, but answers
    and synthetic records come from the model: nobody knows their errors, so they have no intervals. `measured` has the
    counts that were measured, with intervals.

    Attributes
    ----------
    domain : Domain
        The domain of space; None for zones without geometry.
    privacy : Privacy
    estimate : NetworkCounts

    Privacy
    -------
    A release holds released numbers and public parameters. Every method is post-processing and costs nothing.

    Examples
    --------
    >>> import spatialdp as sdp
    >>> frame = sdp.Frame(sdp.Domain((0, 0, 1, 1)).grid((2, 1)), kind=sdp.Categories(["theft", "fraud"]))
    >>> rows = sdp.Rows([[0.1, 0.1]] * 300 + [[0.9, 0.2]] * 100, kind=["theft"] * 300 + ["fraud"] * 100)
    >>> release = sdp.PrivBayes().release(rows, frame, epsilon=100)
    >>> release.network
    {'box': (), 'kind': (('box', 'cells'),)}
    >>> [round(count) for count in release.answer(kind=["theft", "fraud"])]
    [300, 100]
    """

    estimate: NetworkCounts  # type: ignore[assignment]  # answers as a table does

    @property
    def network(self) -> dict[str, tuple[tuple[str, str], ...]]:
        """Which attributes each attribute depends on, and at which level of theirs."""
        axes = self.frame.axes
        return {
            family.child: tuple((name, axes[name].names[level]) for name, level in family.parents)
            for family in self.estimate.families
        }

    def measured(self, name: str, *, level: float = 0.95) -> pd.DataFrame:
        """Return the measured counts of an attribute and its parents, with intervals about the truth.

        Parameters
        ----------
        name : str
            Of the attribute.
        level : float
            Of the intervals.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> frame = sdp.Frame(sdp.Domain((0, 0, 1, 1)).grid((2, 1)), kind=sdp.Categories(["theft", "fraud"]))
        >>> release = sdp.PrivBayes().release(sdp.Rows([], kind=[]), frame, epsilon=1)
        >>> list(release.measured("kind").columns)[-4:]
        ['estimate', 'lower', 'upper', 'sd']
        """
        import pandas as pd

        from spatialdp.outputs.files.statement import statement_members

        estimate, axes = self.estimate, self.frame.axes
        names = [family.child for family in estimate.families]
        if name not in names:
            raise ParameterError(
                f"{parameter('name')} is {name!r}, which is no axis of this table; give one of {', '.join(names)}."
            )
        place = names.index(name)
        family, values = estimate.families[place], estimate.tables[place].ravel()
        levels = [(name, len(axes[name].names) - 1), *family.parents]
        labels = [np.array(axes[each].part_labels(axes[each].names[depth]), dtype=object) for each, depth in levels]
        index = np.unravel_index(np.arange(values.size), estimate.tables[place].shape)
        columns = {each: of[numbers] for (each, _), of, numbers in zip(levels, labels, index, strict=True)}
        half = estimate.half_width(level)
        numbers = {"estimate": values, "lower": values - half, "upper": values + half}
        table = pd.DataFrame(columns | numbers | {"sd": np.sqrt(estimate.cell.variance)})
        table.attrs["privacy"] = statement_members(self.privacy)
        return table

    @override
    def interval(self, *, level: float = 0.95, **queries: Any) -> NoReturn:  # type: ignore[override]  # noqa: ARG002
        """Refused: how far a model is from the truth is not known.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> frame = sdp.Frame(sdp.Domain((0, 0, 1, 1)).grid((2, 1)))
        >>> sdp.PrivBayes().release(sdp.Rows([]), frame, epsilon=1).interval(box=(0, 0, 1, 1))
        Traceback (most recent call last):
        spatialdp.errors.ReleaseError: answers of a network are those of a model, whose errors are not known, so ...
        """
        raise ReleaseError(
            "answers of a network are those of a model, whose errors are not known, so there are no intervals; take "
            f"the measured counts{either(', release.measured(name)', ' with the library')}, or publish a table."
        )

    @override
    def in_words(self) -> str:
        """Return the promise in plain words, and what answers rest on.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> frame = sdp.Frame(sdp.Domain((0, 0, 1, 1)).grid((2, 1)))
        >>> sdp.PrivBayes().release(sdp.Rows([]), frame, epsilon=1).in_words()[-68:]
        'Answers and synthetic records are those of a model of these numbers.'
        """
        return f"{self.privacy.in_words()} {composed_in_words()}"

    @override
    def __repr__(self) -> str:
        counts = sum(table.size for table in self.estimate.tables)
        return f"<NetworkRelease of {counts:,} counts in {len(self.estimate.tables)} tables: {self.privacy}>"


def composed_in_words() -> str:
    """Return why a network costs ε, and what its answers rest on, in words.

    Examples
    --------
    >>> composed_in_words()[:61]
    'The number of records, the choices of parents and all tables '
    """
    return (
        "The number of records, the choices of parents and all tables cost ε together. Answers and synthetic records "
        "are those of a model of these numbers."
    )
