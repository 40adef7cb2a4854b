"""How wrong a release is: errors of its answers beside the truth. What comes out is as private as the records.

An answer is off for two reasons: noise, and records that are not spread evenly within the cells it cuts (or whatever
else the mechanism leaves out on purpose). The second part is what remains at infinite ε; it is the error of the
release without its noise, on the same structure. Both are measured apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from spatialdp._support.arrays import Floats
from spatialdp.errors import ParameterError

__all__ = ["DEFAULT_METRICS", "EARTH_MOVER", "METRICS", "Outcome", "check_metrics", "earth_movers_distance"]


EARTH_MOVER = "earth_mover"
COARSE = (16, 16)  # the grid on which maps are compared by `earth_movers_distance`


@dataclass(frozen=True, eq=False)
class Outcome:
    """A release's answers to a workload, and the truth.

    Attributes
    ----------
    answers, truth : (m,) arrays
    noise_free : (m,) array
        What the same structure answers without noise.
    intervals : (m, 2) array, optional
        Where the release offers them.
    records : int
        Number of records in the domain.
    floor : float
        Least count that a relative error divides by; above 0.
    """

    answers: Floats
    truth: Floats
    noise_free: Floats
    intervals: Floats | None
    records: int
    floor: float

    @property
    def errors(self) -> Floats:
        """Absolute errors."""
        return np.abs(self.answers - self.truth)

    @property
    def relative(self) -> Floats:
        """Absolute errors over the true count or the floor, whichever is larger."""
        return np.asarray(self.errors / np.maximum(self.truth, self.floor))


def _rms(values: Floats) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


def _scaled(outcome: Outcome) -> float:
    """DPBench's scaled average per-query error: L2 norm of the errors over (number of queries x number of records)."""
    norm = float(np.linalg.norm(outcome.answers - outcome.truth))
    return norm / (outcome.truth.size * max(outcome.records, 1))


def _share_within(outcome: Outcome, values: Floats) -> float | None:
    if outcome.intervals is None:
        return None
    low, high = outcome.intervals.T
    slack = 1e-9 * np.maximum(np.abs(values), 1.0)  # of rounding
    return float(np.mean((values >= low - slack) & (values <= high + slack)))


def _width(outcome: Outcome) -> float | None:
    return None if outcome.intervals is None else float(np.mean(outcome.intervals[:, 1] - outcome.intervals[:, 0]))


# None: the release does not offer what the metric is about.
METRICS: dict[str, Callable[[Outcome], float | None]] = {
    "mean_error": lambda outcome: float(outcome.errors.mean()),
    "median_error": lambda outcome: float(np.median(outcome.errors)),
    "p95_error": lambda outcome: float(np.quantile(outcome.errors, 0.95)),
    "max_error": lambda outcome: float(outcome.errors.max()),
    "rmse": lambda outcome: _rms(outcome.answers - outcome.truth),
    "relative_error": lambda outcome: float(outcome.relative.mean()),
    "median_relative_error": lambda outcome: float(np.median(outcome.relative)),
    "scaled_error": _scaled,
    "uniformity_rmse": lambda outcome: _rms(outcome.noise_free - outcome.truth),
    "noise_rmse": lambda outcome: _rms(outcome.answers - outcome.noise_free),
    "coverage": lambda outcome: _share_within(outcome, outcome.truth),
    "noise_coverage": lambda outcome: _share_within(outcome, outcome.noise_free),
    "interval_width": _width,
}

INTERVALS = ("coverage", "noise_coverage", "interval_width")
DEFAULT_METRICS = tuple(name for name in METRICS if name not in INTERVALS)


def check_metrics(metrics: Sequence[str] | None) -> tuple[str, ...]:
    """Names of metrics, all known; None stands for those that take no time to speak of."""
    names = DEFAULT_METRICS if metrics is None else (metrics,) if isinstance(metrics, str) else tuple(metrics)
    for name in names:
        if name not in METRICS and name != EARTH_MOVER:
            known = ", ".join((*METRICS, EARTH_MOVER))
            raise ParameterError(f"metric is {name!r}; it must be one of {known}.")
    if not names:
        raise ParameterError("there are no metrics; name at least one, or leave them out.")
    return tuple(dict.fromkeys(names))


def earth_movers_distance(first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    """How far the mass of one map must travel to become another: exact, with taxicab distances.

    Parameters
    ----------
    first, second : (ny, nx) arrays
        Estimates below zero are cut off, and both maps are scaled to the same mass, so that only where it lies
        matters. A map without mass counts as an even one.

    Returns
    -------
    float
        Mean distance, in shares of the domain's sides: 0 to 2. Where the maps are coarse, movements within a cell are
        not seen.

    Notes
    -----
    With taxicab distances mass can go from neighbour to neighbour, so that the transport problem is a linear program
    with four variables a cell in place of one for each pair of cells; the optimum is the same.

    Examples
    --------
    >>> earth_movers_distance([[4, 0], [0, 0]], [[0, 0], [0, 2]])
    1.0
    """
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    a, b = _mass(first), _mass(second)
    if a.shape != b.shape:
        raise ParameterError(f"the maps have shapes {a.shape} and {b.shape}; both must have the same cells.")
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
    # Rounding leaves a trace of mass that no flow can balance: the last equation, which the others imply, is left out.
    solved = linprog(costs, A_eq=flows.tocsr()[:-1], b_eq=(a - b).ravel()[:-1], method="highs")
    return float(max(solved.fun, 0.0))


def _mass(values: npt.ArrayLike) -> Floats:
    held = np.maximum(np.atleast_2d(np.asarray(values, dtype=np.float64)), 0.0)
    total = held.sum()
    return held / total if total > 0 else np.full(held.shape, 1 / held.size)
