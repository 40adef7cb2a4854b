"""Which two data sets a promise compares, and how far one record can move a group of counts between them."""

from __future__ import annotations

from dataclasses import dataclass

from spatialdp._support.options import Option

__all__ = ["Neighbours", "Sensitivity", "count_sensitivity"]


class Neighbours(Option):
    """Which data sets must be hard to tell apart."""

    ADD_REMOVE = "add-remove"
    REPLACE = "replace"


@dataclass(frozen=True)
class Sensitivity:
    """How far one unit can move a vector of counts: L1 norm, and square of the L2 norm."""

    l1: int
    l2_squared: int


def count_sensitivity(neighbours: Neighbours, cells: int) -> Sensitivity:
    """Sensitivity of the counts of disjoint cells.

    Adding or removing a record moves one cell by 1. Replacing a record moves it from one cell to another, or, where
    there is only one, out of the domain, where it counts nowhere.
    """
    moved = 1 if neighbours is Neighbours.ADD_REMOVE or cells == 1 else 2
    return Sensitivity(l1=moved, l2_squared=moved)
