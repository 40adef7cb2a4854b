"""How wrong are the answers of a release? Metrics compare them with the truth.

An answer is wrong for two reasons. The first is noise. The second is that records are not spread evenly within the
cells that a query cuts through, or that the mechanism leaves something out on purpose. The second part remains at
infinite ε: it is the error of the same structure without noise. The metrics measure both parts separately. Where
persons are the unit of privacy, the second part includes what the bound on persons cuts off: the truth has no bound.

All values are computed from the records and are as private as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from spatialdp._support.arrays import Floats
from spatialdp.errors import ParameterError
from spatialdp.wording import either

__all__ = ["DEFAULT_METRICS", "EARTH_MOVER", "METRICS", "Outcome", "check_metrics", "earth_movers_distance"]


EARTH_MOVER = "earth_mover"
COARSE = (16, 16)  # the grid on which maps are compared by `earth_movers_distance`


@dataclass(frozen=True, eq=False)
class Outcome:
    """The answers of a release to a workload, and the true answers.

    Attributes
    ----------
    answers, truth : (m,) arrays
    even, noise_free : (m,) arrays
        Answers that take records to be evenly spread within leaves, of the release and of the same structure
        without noise. On trees of unequal leaves `answers` are corrected, and so differ from `even`. `noise_free` is
        None for a function, of which nobody knows what it would answer without noise.
    intervals, noise_intervals : (m, 2) arrays, optional
        Intervals about the truth and about noise; None if they are not measured or the release is biased.
    records : float
        Number of records in the domain; with persons, the sum of what would be counted without a bound.
    floor : float
        Least count that a relative error divides by; above 0.
    """

    answers: Floats
    truth: Floats
    even: Floats
    noise_free: Floats | None
    intervals: Floats | None
    noise_intervals: Floats | None
    records: float
    floor: float

    @property
    def errors(self) -> Floats:
        """Absolute error of each answer."""
        return np.abs(self.answers - self.truth)

    @property
    def relative(self) -> Floats:
        """Absolute error of each answer, divided by the true count or by the floor, whichever is larger."""
        return np.asarray(self.errors / np.maximum(self.truth, self.floor))


def _rms(values: Floats) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


def _rms_from(noise_free: Floats | None, values: Floats) -> float | None:
    return None if noise_free is None else _rms(values - noise_free)


def _scaled(outcome: Outcome) -> float:
    """Return DPBench's scaled average per-query error: the L2 norm of the errors / (queries × records)."""
    norm = float(np.linalg.norm(outcome.answers - outcome.truth))
    return norm / (outcome.truth.size * max(outcome.records, 1))


def _share_within(intervals: Floats | None, values: Floats | None) -> float | None:
    if intervals is None or values is None:
        return None
    low, high = intervals.T
    slack = 1e-9 * np.maximum(np.abs(values), 1.0)  # allows for rounding
    return float(np.mean((values >= low - slack) & (values <= high + slack)))


def _width(outcome: Outcome) -> float | None:
    return None if outcome.intervals is None else float(np.mean(outcome.intervals[:, 1] - outcome.intervals[:, 0]))


# A metric is None if it needs intervals, or answers without noise, and there are none.
METRICS: dict[str, Callable[[Outcome], float | None]] = {
    "mean_error": lambda outcome: float(outcome.errors.mean()),
    "median_error": lambda outcome: float(np.median(outcome.errors)),
    "p95_error": lambda outcome: float(np.quantile(outcome.errors, 0.95)),
    "max_error": lambda outcome: float(outcome.errors.max()),
    "rmse": lambda outcome: _rms(outcome.answers - outcome.truth),
    "relative_error": lambda outcome: float(outcome.relative.mean()),
    "median_relative_error": lambda outcome: float(np.median(outcome.relative)),
    "scaled_error": _scaled,
    "uniformity_rmse": lambda outcome: _rms_from(outcome.noise_free, outcome.truth),
    "noise_rmse": lambda outcome: _rms_from(outcome.noise_free, outcome.even),
    "coverage": lambda outcome: _share_within(outcome.intervals, outcome.truth),
    "noise_coverage": lambda outcome: _share_within(outcome.noise_intervals, outcome.noise_free),
    "interval_width": _width,
}

INTERVALS = ("coverage", "noise_coverage", "interval_width")
DEFAULT_METRICS = tuple(name for name in METRICS if name not in INTERVALS)


def check_metrics(metrics: Sequence[str] | None) -> tuple[str, ...]:
    """Return the names of metrics without duplicates, all of them known; None stands for the quick ones."""
    names = DEFAULT_METRICS if metrics is None else (metrics,) if isinstance(metrics, str) else tuple(metrics)
    for name in names:
        if name not in METRICS and name != EARTH_MOVER:
            known = ", ".join((*METRICS, EARTH_MOVER))
            raise ParameterError(f"{either('metric', '--metric')} is {name!r}; it must be one of {known}.")
    if not names:
        raise ParameterError("metrics is empty; name at least one metric, or leave the argument out.")
    return tuple(dict.fromkeys(names))


def earth_movers_distance(first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    """Return how far the mass of one map must travel to become another: exact, with taxicab distances.

    Parameters
    ----------
    first, second : (ny, nx) arrays
        Negative estimates count as zero, and both maps are scaled to the same mass, so that only the place of the mass
        matters. A map without mass counts as one with even mass.

    Returns
    -------
    float
        Mean distance in shares of the domain's sides, from 0 to 2. Movements within a cell count as zero.

    Notes
    -----
    With taxicab distances mass can move from neighbour to neighbour. So the transport problem is a linear program with
    four variables for each cell, instead of one for each pair of cells, and has the same optimum.

    Examples
    --------
    >>> earth_movers_distance([[4, 0], [0, 0]], [[0, 0], [0, 2]])
    1.0
    """
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    a, b = _mass(first), _mass(second)
    if a.shape != b.shape:
        raise ParameterError(f"the maps have shapes {a.shape} and {b.shape}; give maps of the same cells.")
    if a.size == 1:
        return 0.0
    ny, nx = a.shape
    cells = np.arange(a.size).reshape(ny, nx)
    tails = np.concatenate([cells[:, :-1].ravel(), cells[:-1].ravel()])
    heads = np.concatenate([cells[:, 1:].ravel(), cells[1:].ravel()])
    tails, heads = np.concatenate([tails, heads]), np.concatenate([heads, tails])  # both directions
    costs = np.tile(np.repeat([1 / nx, 1 / ny], [ny * (nx - 1), (ny - 1) * nx]), 2)
    edges = np.arange(tails.size)
    flows = coo_array(
        (np.repeat([1.0, -1.0], edges.size), (np.concatenate([tails, heads]), np.tile(edges, 2))),
        shape=(a.size, edges.size),
    )
    # Rounding leaves a little mass that no flow can balance, so the last equation is left out: the others imply it.
    solution = linprog(costs, A_eq=flows.tocsr()[:-1], b_eq=(a - b).ravel()[:-1], method="highs")
    return float(max(solution.fun, 0.0))


def _mass(values: npt.ArrayLike) -> Floats:
    mass = np.maximum(np.atleast_2d(np.asarray(values, dtype=np.float64)), 0.0)
    total = mass.sum()
    return mass / total if total > 0 else np.full(mass.shape, 1 / mass.size)
