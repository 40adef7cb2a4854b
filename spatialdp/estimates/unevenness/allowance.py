"""What does uneven spread do to an answer? It adds a variance, or the truth lies between two sums of whole leaves.

On trees of unequal leaves it has a known shift besides. Zones differ so much in what they hold, and where, that no
variance is honest for a cut zone; there, an answer is bracketed by the zones inside the query and all that it touches.
"""

from __future__ import annotations

from dataclasses import dataclass

from spatialdp._support.arrays import Booleans, Floats

__all__ = ["Allowance", "Bracket", "Sums"]


@dataclass(frozen=True, eq=False)
class Sums:
    """Estimated sums of whole leaves, with variance and excess kurtosis of their noise, (m,) each."""

    values: Floats
    variance: Floats
    kurtosis: Floats


@dataclass(frozen=True, eq=False)
class Bracket:
    """Two sums of whole leaves between which the true count of each query lies.

    Attributes
    ----------
    inside, touched : Sums
        Of the leaves that lie wholly in the query, and of all leaves that it touches.
    cut : (m,) bool array
        Whether the query cuts any leaf; if it does not, both sums are the answer.
    """

    inside: Sums
    touched: Sums
    cut: Booleans


@dataclass(frozen=True, eq=False)
class Allowance:
    """What uneven spread within cut cells or leaves adds to the errors of answers.

    Attributes
    ----------
    variance : (m,) array
        Variance that comes on top of the noise; 0 for queries that cut no cell.
    shift : (m,) array or 0
        What an answer has to be changed by, as the nodes above the cut leaves tell.
    bracket : Bracket, optional
        Sums between which the truth lies, if no variance is given for cut leaves.
    """

    variance: Floats
    shift: Floats | float = 0.0
    bracket: Bracket | None = None
