"""Which two data sets a privacy promise compares, and how far one record can move counts between them.

Both are facts about data sets and need no noise: `noise.laws` turns a sensitivity and a cost into a noise law. The
sensitivities of transforms and trees are computed where these are defined (`structures`). See ``docs/design/noise.md``.
"""

from __future__ import annotations

from dataclasses import dataclass

from spatialdp._support.options import Option

__all__ = ["Neighbours", "Sensitivity", "count_sensitivity"]


class Neighbours(Option):
    """Which pairs of data sets the promise compares: one record added or removed, or one record replaced."""

    ADD_REMOVE = "add-remove"
    REPLACE = "replace"


@dataclass(frozen=True)
class Sensitivity:
    """How far one record, or one person, can move a vector of counts: in L1 norm, and in the square of the L2 norm.

    Attributes
    ----------
    l1, l2_squared : int
        In steps of the counts.
    steps : int
        How many steps make up one count; a power of two. Counts of records have whole counts, shares of persons have
        fractions of them.
    """

    l1: int
    l2_squared: int
    steps: int = 1


def count_sensitivity(neighbours: Neighbours, cells: int) -> Sensitivity:
    """Return the sensitivity of the counts of disjoint cells.

    Adding or removing a record changes one count by 1. Replacing a record moves it from one cell to another, which
    changes two counts by 1; or, if there is only one cell, out of the domain, which changes one count by 1.
    """
    moved = 1 if neighbours is Neighbours.ADD_REMOVE or cells == 1 else 2
    return Sensitivity(l1=moved, l2_squared=moved)
