"""Exact answers: how many records lie in each of many boxes or polygons.

Boxes are half-open and on the lattice, as everywhere. The records are kept as a wavelet matrix
(`_support.wavelet_matrix`): building it takes n log n steps and a query log n (``docs/design/truth.md``).

Records may have weights, which are added up in place of numbers: parts of persons, for releases that count persons.

Everything here is the truth and thus private: it is for evaluation, and no mechanism may use it.
"""

from __future__ import annotations

import numpy as np

from spatialdp._support.arrays import Array, Integers, Integers32, Objects
from spatialdp._support.wavelet_matrix import WaveletMatrix
from spatialdp.records.points import Points, lattice_points
from spatialdp.space.domain import Domain

__all__ = ["Counter", "count_polygons", "weigh_polygons"]


class Counter(WaveletMatrix):
    """Counts the records in lattice boxes, exactly.

    Parameters
    ----------
    columns, rows : integer arrays
        Lattice squares of the records, as `lattice_points` returns them.
    weights : array, optional
        What each record counts; 1 by default. Sums of weights that are not whole are exact up to rounding.

    Examples
    --------
    >>> Counter(np.array([0, 5, 5]), np.array([0, 1, 2])).count(np.array([[0, 0, 6, 2], [5, 1, 5, 9]]))
    array([2, 0])
    """

    @classmethod
    def of(cls, points: Points, domain: Domain) -> Counter:
        """Make the counter of the records in a domain and its region."""
        return cls(*lattice_points(points, domain))


def count_polygons(points: Points, domain: Domain, polygons: Objects) -> Integers:
    """Return the exact number of records in each polygon.

    A record is taken to lie at the centre of its lattice square, where hardly any outline passes. So polygons that tile
    the domain share no record and lose none, and a box given as a polygon counts as a half-open box, up to 2^-30 of the
    domain's side.
    """
    counts: Integers = weigh_polygons(*lattice_points(points, domain), None, domain, polygons).astype(np.int64)
    return counts


def weigh_polygons(
    columns: Integers32, rows: Integers32, weights: Array | None, domain: Domain, polygons: Objects
) -> Array:
    """Return the sum of the weights of the records in each polygon, or their number; see `count_polygons`."""
    import shapely

    squares = zip(domain.axes, (columns, rows), strict=True)
    x, y = (axis.low + (each + 0.5) * axis.spacing for axis, each in squares)
    tree = shapely.STRtree(shapely.points(x, y))
    polygon, record = tree.query(polygons, predicate="contains")
    return np.bincount(polygon, None if weights is None else weights[record], minlength=len(polygons))
