"""What does uneven spread do to an answer? It adds a variance, and on trees of unequal leaves a known shift."""

from __future__ import annotations

from dataclasses import dataclass

from spatialdp._support.arrays import Floats

__all__ = ["Allowance"]


@dataclass(frozen=True, eq=False)
class Allowance:
    """What uneven spread within cut cells or leaves adds to the errors of answers.

    Attributes
    ----------
    variance : (m,) array
        Variance that comes on top of the noise; 0 for queries that cut no cell.
    shift : (m,) array or 0
        What an answer has to be changed by, as the nodes above the cut leaves tell.
    """

    variance: Floats
    shift: Floats | float = 0.0
