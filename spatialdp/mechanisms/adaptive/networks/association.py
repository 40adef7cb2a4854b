"""How strongly does an attribute depend on others? The score n·R of PrivBayes, from exact counts, which are private.

R is half the L1 distance between the joint shares of an attribute x and its parents π and the product of their own
shares. With counts,

    n R = ½ Σ |c(x, π) - c(x) c(π) / n|.

Adding a record moves it by less than 2. Let the record have the values a and b, and T = (n - c(a)) (n - c(b)) / (n (n +
1)), which is below 1. The joint count of (a, b) grows by 1, and the product table changes by 1 - T at (a, b), by T in
all at (a, others), by T at (others, b), and by -T at all the rest. So the differences move by T in each of these four
parts, and n R by at most 4 T / 2 < 2. From no record to one, n R stays 0. A change of the counts that takes m steps of
one record moves it by less than 2 m: replacing a record takes two. The same holds for counts in any unit.
"""

from __future__ import annotations

from fractions import Fraction
from math import prod

import numpy as np

from spatialdp._support.arrays import Integers
from spatialdp.estimates.networks.model import Family, owners, table_shape
from spatialdp.space.frames.frame import Frame

__all__ = ["SENSITIVITY", "Occupied", "association"]

SENSITIVITY = 2  # of n R, for each step of one record
_SAFE = 2**30  # totals up to here have products that fit in 64 bits


class Occupied:
    """The cells of a frame that hold records, and the exact counts of any family; private.

    Parameters
    ----------
    frame : Frame
    counts : int array of ``frame.shape``
    """

    __slots__ = ("_counts", "_frame", "_places")

    def __init__(self, frame: Frame, counts: Integers) -> None:
        cells = np.flatnonzero(counts)
        self._frame, self._counts = frame, counts.ravel()[cells]
        self._places = dict(zip(frame.axes, np.unravel_index(cells, frame.shape), strict=True))

    def __repr__(self) -> str:
        return "Occupied(<private>)"

    def total(self) -> Integers:
        """Return the exact number of records, as an array of one."""
        return np.array([self._counts.sum()], dtype=np.int64)

    def table(self, family: Family) -> Integers:
        """Return the exact counts of a family's table."""
        shape, axes = table_shape(self._frame, family), self._frame.axes
        codes = [owners(axes[name], level)[self._places[name]] for name, level in family.parents]
        numbers = np.ravel_multi_index((self._places[family.child], *codes), shape)
        counts = np.zeros(prod(shape), dtype=np.int64)
        np.add.at(counts, numbers, self._counts)
        return counts.reshape(shape)


def association(table: Integers) -> Fraction:
    """Return n·R of a table: the child's values first, then those of its parents.

    Examples
    --------
    >>> association(np.array([[5, 0], [0, 5]])), association(np.array([[4, 4], [1, 1]]))
    (Fraction(5, 1), Fraction(0, 1))
    """
    counts = table.reshape(table.shape[0], -1)
    total = int(counts.sum())
    if not total:
        return Fraction(0)
    counts = counts if total < _SAFE else counts.astype(object)
    apart = np.abs(total * counts - counts.sum(axis=1)[:, None] * counts.sum(axis=0))
    return Fraction(int(apart.sum()), 2 * total)
