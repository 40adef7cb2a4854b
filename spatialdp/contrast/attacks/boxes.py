"""What does a single k-anonymous map give away? Groups with one value, and boxes that print their records' places.

Two leaks need no second release. **Homogeneity**: where all records of a group have one sensitive value, the group
tells it. **Tight boxes**: the published range of a group ends at records, so a coordinate of every record at an edge is
printed exactly; the lines at which groups are cut are coordinates of records, too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spatialdp.contrast.groups import Groups
from spatialdp.contrast.mark import NotPrivate

__all__ = ["Homogeneity", "PrintedCoordinates", "homogeneity", "printed_coordinates"]


@dataclass(frozen=True)
class Homogeneity(NotPrivate):
    """How many groups have a single sensitive value.

    Attributes
    ----------
    groups : float
        Share of the groups.
    records : float
        Share of the records whose value is known to anybody who finds their group.
    commonest : float
        Share of these records that have the commonest value of the whole table. Where this is near 1, the map tells
        what one would guess anyway.
    """

    groups: float
    records: float
    commonest: float


def homogeneity(groups: Groups) -> Homogeneity:
    """Measure how many groups have a single sensitive value.

    Examples
    --------
    >>> from spatialdp import contrast
    >>> groups = contrast.Mondrian(k=2).group([[0.0, 0], [0, 1], [9, 0], [9, 1]], ["flu", "flu", "flu", "cold"])
    >>> contrast.homogeneity(groups).records
    0.5
    """
    alike = (groups.counts > 0).sum(axis=1) == 1
    known = groups.counts[alike].sum(axis=0)
    commonest = groups.counts.sum(axis=0).argmax()
    share = float(known[commonest] / known.sum()) if alike.any() else 0.0
    return Homogeneity(float(alike.mean()), float(known.sum() / len(groups.records)), share)


@dataclass(frozen=True)
class PrintedCoordinates(NotPrivate):
    """How much of the records' places the edges of published boxes print.

    Attributes
    ----------
    any_column : float
        Share of the records with a value that is an end of their group's range.
    all_columns : float
        Share of the records all of whose values are: their place is a corner of the box.
    flat : float
        Share of the groups whose box has no area, because a range is a single value.
    """

    any_column: float
    all_columns: float
    flat: float


def printed_coordinates(groups: Groups) -> PrintedCoordinates:
    """Measure how many records have coordinates that are edges of the published boxes.

    Examples
    --------
    >>> from spatialdp import contrast
    >>> groups = contrast.Mondrian(k=3).group([[0.0, 0], [1, 1], [2, 2]], ["flu"] * 3)
    >>> printed = contrast.printed_coordinates(groups)
    >>> round(printed.any_column, 2), round(printed.all_columns, 2), printed.flat
    (0.67, 0.67, 0.0)
    """
    values = groups.records.values.T
    lower, upper = groups.lower, groups.upper
    edge = (values == lower[groups.group]) | (values == upper[groups.group])
    flat = (lower == upper).any(axis=1)
    return PrintedCoordinates(
        float(edge.any(axis=1).mean()), float(edge.all(axis=1).mean()), float(np.asarray(flat).mean())
    )
