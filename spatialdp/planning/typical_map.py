"""How large will errors be, noise and uneven spread together? Laws for typical maps, given a guess of the records.

Part of an error is not noise: a box that cuts a block takes a share of its count, as if records were spread evenly. How
uneven they are is not known before a release, and is not read here. It is assumed to be as in the data sets that come
with spatialdp, for which ``scripts/planning_laws.py`` has measured the constants below. See
``docs/design/planning.md``.

With persons as the unit of privacy the laws are the same, with other numbers: noise is that of the bound on a person,
which the plan knows, and the guess is of what is counted (`Person.counted`): records that the bound keeps, presences,
or persons. These are assumed to be spread as records are. That several of them belong to one person, and that there
are more presences on a finer grid, is not foreseen.
"""

from __future__ import annotations

import math

import numpy as np

from spatialdp._support.arrays import Floats
from spatialdp.errors import ParameterError
from spatialdp.mechanisms import Adaptive, Flat, Hierarchy, Mechanism, Quadtree, Tailored, Wavelet
from spatialdp.mechanisms.adaptive.adaptive_tree import Reading
from spatialdp.privacy.budget import Number
from spatialdp.privacy.unit import Person
from spatialdp.space.domain import Domain, Grid
from spatialdp.wording import parameter

__all__ = [
    "NOISE_ALONE",
    "assumption",
    "best_grid",
    "covered_powers",
    "mean_covered_powers",
    "tree_shape",
    "typical_error",
]

UNEVEN = 2.7  # variance of the share of a cell's records that lies in a part of the cell, if there is one cell
GROWTH = 0.49  # exponent with which it grows with the number of cells along a side
ROUGH = 1.7  # exponent of the covered share: 2 for smooth densities, 1 for records that lie in a few places
# Logarithm of the error of an adaptive tree over that of the best grid: a constant, and the coefficients of l, a and
# l a, where l is the logarithm of the number of records over the noise, and a that of the mean share of the area.
TREE = {
    Reading.FIELD: (0.92, -0.184, 0.218, -0.0306),
    Reading.UNBIASED: (0.85, -0.151, 0.186, -0.0248),
}
SMALLEST = 1e-4  # share of the area, of boxes for which the law is used

NOISE_ALONE = "nothing about the records: the error is that of the noise alone"
OF_CELLS = (Flat, Hierarchy, Quadtree, Tailored, Wavelet)
LARGEST = (1024, 1024)  # the finest grid that is recommended for an adaptive tree
FINEST = 12  # the finest grid that an adaptive tree is compared with has 2^12 cells along a side


def assumption(records: float, person: Person | None = None) -> str:
    """What `typical_error` assumes, in words.

    Examples
    --------
    >>> assumption(2000, Person(cells=10))
    '2,000 presences, spread as unevenly as the records of the data sets that come with spatialdp'
    """
    if person is None:
        return f"{records:,.12g} records, spread as unevenly as those of the data sets that come with spatialdp"
    counted = f"{records:,.12g} {person.counted}"
    return f"{counted}, spread as unevenly as the records of the data sets that come with spatialdp"


def typical_error(
    mechanism: Mechanism,
    domain: Domain,
    boxes: Floats,
    records: float,
    *,
    epsilon: Number,
    delta: Number,
    neighbours: str,
    person: Person | None = None,
) -> float:
    """Root-mean-square error of box answers on a typical map, from noise and from uneven spread.

    Parameters
    ----------
    mechanism : Mechanism
        An adaptive tree, or a mechanism that releases the cells of a public grid.
    domain : Domain
    boxes : (m, 4) array
    records : float
        A public guess of the number of records; with a bound on persons, of what is counted.
    epsilon, delta, neighbours, person
        As for `release`.
    """
    prepared = mechanism.prepare(domain, epsilon=epsilon, delta=delta, neighbours=neighbours, person=person)
    if isinstance(mechanism, Adaptive):
        grid = mechanism.leaf_grid(domain)
        deviation = prepared.plan.standard_deviation
        gain = _gain(mechanism.estimate, grid, boxes, records / max(deviation, 1e-9))
        best, _ = best_grid(grid, boxes, records, deviation)
        return math.sqrt(gain**2 * best + _uneven_square(grid, boxes, records))
    noise = prepared.expected_error(boxes)  # raises an error if noise depends on the records
    if not isinstance(mechanism, OF_CELLS):
        raise ParameterError(
            f"{parameter('records')} was given, but errors for a number of records are known for adaptive, "
            f"{', '.join(each.name for each in OF_CELLS)} alone, and not for {mechanism.name}; use one of these, or "
            f"leave {parameter('records')} out to predict the error of the noise alone."
        )
    grid = mechanism.leaf_grid(domain)
    assert grid is not None
    return math.sqrt(noise**2 + _uneven_square(grid, boxes, records))


# --- records that are not evenly spread -------------------------------------------------------------


def covered_powers(low: Floats, high: Floats, power: float) -> Floats:
    """Sums of the covered shares of cells, each to a power, for intervals in units of cells.

    Examples
    --------
    >>> covered_powers(np.array([0.5, 0.25]), np.array([2.5, 0.75]), 2)
    array([1.5 , 0.25])
    """
    first, last = np.floor(low), np.floor(high)
    cut = (first + 1 - low) ** power + (high - last) ** power + (last - first - 1)
    return np.where(first == last, (high - low) ** power, cut)


def mean_covered_powers(lengths: Floats, power: float) -> Floats:
    """The mean of `covered_powers` over all places of an interval; lengths are in units of cells.

    Examples
    --------
    >>> mean_covered_powers(np.array([0.5, 1, 4]), 1)
    array([0.5, 1. , 4. ])
    """
    small = np.minimum(lengths, 1)
    within = (1 - small) * small**power + 2 * small ** (power + 1) / (power + 1)
    return within + np.maximum(lengths - 1, 0)


def _uneven_square(grid: Grid, boxes: Floats, records: float) -> float:
    """Mean square of the error of boxes that cut the cells of a grid."""
    low = np.array(grid.domain.bounds[:2])
    size = np.array(grid.domain.size) / grid.shape
    first, last = (boxes[:, :2] - low) / size, (boxes[:, 2:] - low) / size
    one, rough, two = (covered_powers(first, last, power).prod(axis=1).mean() for power in (1, ROUGH, 2))
    return _spread_square(math.sqrt(math.prod(grid.shape)), _filled(grid), records, one, rough, two)


def _spread_square(side: float, filled: float, records: float, one: float, rough: float, two: float) -> float:
    """Mean square of the error of uneven spread, from the covered shares: their sum, that of powers, that of squares.

    The first term is for densities that differ, the second one for few records, which are never evenly spread.
    """
    in_cell = records / (side**2 * filled)
    uneven = UNEVEN * side**GROWTH * in_cell**2 * (rough - two) + in_cell * (one - two)
    return float(max(filled * uneven, 0.0))


def _filled(grid: Grid) -> float:
    """Share of the cells that lie in the region."""
    return grid.n_cells / math.prod(grid.shape)


# --- adaptive trees --------------------------------------------------------------------------------


def _gain(reading: Reading, grid: Grid, boxes: Floats, strength: float) -> float:
    """The error of an adaptive tree over that of the best grid."""
    share = float((boxes[:, 2:] - boxes[:, :2]).prod(axis=1).mean()) / math.prod(grid.domain.size)
    records, area = math.log(max(strength, 1.0)), math.log(min(max(share, SMALLEST), 1.0))
    constant, by_records, by_area, by_both = TREE[reading]
    return math.exp(constant + by_records * records + by_area * area + by_both * records * area)


def tree_shape(domain: Domain, boxes: Floats, records: float, deviation: float) -> tuple[int, int]:
    """The finest grid that an adaptive tree needs: its cells are at least four times as small as those of a good grid.

    Blocks end above smaller cells, and the field is less accurate on a grid that is much finer than its blocks. Cells
    are smaller than that if none of them would lie in the region.
    """
    _, side = best_grid(domain.grid(LARGEST), boxes, records, deviation)
    side = min(2 ** math.ceil(math.log2(4 * side)), LARGEST[0])
    while side < LARGEST[0] and not domain.grid((side, side)).n_cells:
        side *= 2
    return side, side


def best_grid(grid: Grid, boxes: Floats, records: float, deviation: float) -> tuple[float, float]:
    """Mean square of the error of boxes on the best grid of equally noisy cells, and the number of its cells on a side.

    The grid is not finer than the given one. Boxes may lie anywhere on it; `deviation` is the standard deviation of the
    noise in a cell.
    """
    lengths = (boxes[:, 2:] - boxes[:, :2]) / np.array(grid.domain.size)
    finest = min(math.log2(math.prod(grid.shape)) / 2, FINEST)
    sides = 2 ** np.linspace(0, finest, 1 + round(4 * finest))
    return min((_grid_square(side, lengths, _filled(grid), records, deviation), side) for side in sides.tolist())


def _grid_square(side: float, lengths: Floats, filled: float, records: float, deviation: float) -> float:
    one, rough, two = (mean_covered_powers(lengths * side, power).prod(axis=1).mean() for power in (1, ROUGH, 2))
    return filled * deviation**2 * float(two) + _spread_square(side, filled, records, one, rough, two)
