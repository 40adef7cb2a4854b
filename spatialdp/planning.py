"""Which mechanism and which ε should be chosen, before a record is read? Those with the least error to expect.

Everything here is computed from public parameters and must not read a record. The error is that of the
noise. The error of records that are not evenly spread within partly covered cells depends on the
records and is not foreseen.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from numbers import Real

import numpy as np
import numpy.typing as npt

from spatialdp._support.arrays import Floats, even_points
from spatialdp._support.checks import whole_pair
from spatialdp.errors import BudgetError, ParameterError
from spatialdp.mechanisms import Flat, Hierarchy, Mechanism, Quadtree, Tailored, Wavelet
from spatialdp.mechanisms.fixed.tailored import LONGEST
from spatialdp.mechanisms.fixed.wavelet import ScaleBudget
from spatialdp.privacy.budget import LARGEST_EPSILON, SMALLEST_EPSILON, Budget, Number
from spatialdp.privacy.neighbours import Neighbours
from spatialdp.privacy.noise.laws import Law
from spatialdp.space.domain import Domain
from spatialdp.space.questions import require_inside
from spatialdp.wording import parameter
from spatialdp.workload import Workload, placed

__all__ = ["Recommendation", "all_boxes", "epsilon_for", "recommend"]


def all_boxes(domain: Domain, count: int = 2000) -> Floats:
    """Boxes with corners spread evenly over the domain; errors of "any box" are averaged over them.

    Examples
    --------
    >>> all_boxes(Domain((0, 0, 1, 1)), 3).shape
    (3, 4)
    """
    corners = np.sort(even_points(count, 4).reshape(-1, 2, 2), axis=1).reshape(-1, 4)
    return placed(corners, domain)


@dataclass(frozen=True)
class Recommendation:
    """A mechanism and the error to expect from it.

    Attributes
    ----------
    mechanism : Mechanism
    error : float
        Root-mean-square error that noise causes in the workload's boxes.
    """

    mechanism: Mechanism
    error: float


def recommend(
    domain: Domain,
    epsilon: Number,
    workload: Workload | npt.ArrayLike | None = None,
    *,
    shape: Sequence[int] = (256, 256),
    delta: Number = 0,
    neighbours: str = Neighbours.ADD_REMOVE,
) -> list[Recommendation]:
    """Rank the data-independent mechanisms by the error to expect, best first.

    Parameters
    ----------
    domain : Domain
    epsilon : int, float, Decimal or Fraction
    workload : Workload or (m, 4) array-like of boxes, optional
        The queries that matter; any box by default. With a workload, `Tailored` and `Hierarchy` are also
        considered in forms that are optimised for these boxes.
    shape : (nx, ny)
        Number of columns and rows that a release should have.
    delta : optional
        If given, Gaussian noise is considered as well.
    neighbours : {"add-remove", "replace"}

    Returns
    -------
    list of Recommendation
        Best first. Each mechanism can be used as it is:
        ``recommend(...)[0].mechanism.release(points, domain, ...)``.

    Privacy
    -------
    No record is read and nothing is spent.

    Notes
    -----
    Without a workload this takes a second on the usual shapes. With a workload, `Tailored` is optimised for
    the boxes, which takes up to half a minute for a few hundred columns and rows. The result is kept in the
    user's cache folder; a second call, and the release, are then quick.

    Examples
    --------
    >>> best, *others = recommend(Domain((0, 0, 1, 1)), epsilon=1, shape=(64, 64))
    >>> best.error <= min(other.error for other in others)
    True
    """
    boxes = _boxes(domain, workload)
    recommendations = []
    for mechanism, its_delta in _candidates(whole_pair(shape, "shape"), delta, None if workload is None else boxes):
        error = mechanism.expected_error(domain, boxes, epsilon=epsilon, delta=its_delta, neighbours=neighbours)
        recommendations.append(Recommendation(mechanism, error))
    # Of equally good mechanisms the simplest comes first, whatever the last digits of their errors.
    return sorted(recommendations, key=lambda recommendation: float(f"{recommendation.error:.9g}"))


def _boxes(domain: Domain, workload: Workload | npt.ArrayLike | None) -> Floats:
    if not isinstance(domain, Domain):
        raise ParameterError(f"domain is a {type(domain).__name__}; give a spatialdp.Domain with public bounds.")
    if workload is None:
        return all_boxes(domain)
    if isinstance(workload, Workload):
        if workload.boxes is None:
            raise ParameterError(
                f"workload {workload.name!r} is of polygons, but errors are foreseen for boxes only; give boxes, such "
                "as the polygons' bounding boxes."
            )
        workload = workload.boxes
    require_inside(workload, domain, "the workload")  # raises an error also if they are not boxes
    if not np.size(workload):
        raise ParameterError("the workload has no boxes; give at least one.")
    return np.atleast_2d(np.asarray(workload, dtype=np.float64))


def _candidates(shape: tuple[int, int], delta: Number, boxes: Floats | None) -> Iterator[tuple[Mechanism, Number]]:
    """Mechanisms with a public structure, each with the δ that its law needs; simple ones first."""
    laws = [(Law.DISCRETE_LAPLACE, Fraction(0))]
    if Budget(1, delta).delta:
        laws.append((Law.GAUSSIAN, Budget(1, delta).delta))
    nx, ny = shape
    for law, its_delta in laws:
        yield Flat(shape, law=law), its_delta
        yield Wavelet(shape, law=law, budget=ScaleBudget.OPTIMISED), its_delta
        yield Hierarchy(shape, law=law), its_delta
        yield Hierarchy(shape, law=law, workload="cells"), its_delta
        if boxes is not None:
            yield Hierarchy(shape, law=law, workload=boxes), its_delta
        if max(shape) <= LONGEST:
            yield Tailored(shape, law=law), its_delta
            if boxes is not None:
                yield Tailored(shape, law=law, workload=boxes), its_delta
        if nx == ny and nx.bit_count() == 1:
            yield Quadtree(nx.bit_length() - 1, law=law), its_delta


def epsilon_for(
    mechanism: Mechanism,
    domain: Domain,
    workload: Workload | npt.ArrayLike | None = None,
    *,
    error: float,
    delta: Number = 0,
    neighbours: str = Neighbours.ADD_REMOVE,
) -> float:
    """The least ε with which a mechanism's error stays within a bound.

    Parameters
    ----------
    mechanism : Mechanism
        A mechanism whose error does not depend on the records.
    domain : Domain
    workload : Workload or (m, 4) array-like of boxes, optional
        Any box by default.
    error : float
        Root-mean-square error that is acceptable, in records.
    delta, neighbours
        As for `release`.

    Returns
    -------
    float
        Rounded up to three digits; not below 1e-5.

    Privacy
    -------
    No record is read and nothing is spent.

    Examples
    --------
    >>> domain = Domain((0, 0, 1, 1))
    >>> epsilon = epsilon_for(Flat((64, 64)), domain, error=100)
    >>> Flat((64, 64)).expected_error(domain, all_boxes(domain), epsilon=epsilon) <= 100
    True
    """
    if isinstance(error, bool) or not isinstance(error, Real) or not 0 < error < math.inf:
        raise ParameterError(f"{parameter('error')} is {error!r}; it must be a positive number of records, such as 10.")
    if not isinstance(mechanism, Mechanism):
        raise ParameterError(f"mechanism is {mechanism!r}; give one with its parameters, such as Flat((64, 64)).")
    boxes = _boxes(domain, workload)

    def expected(log_epsilon: float) -> float:
        epsilon = _rounded_up(math.exp(log_epsilon))
        return mechanism.expected_error(domain, boxes, epsilon=epsilon, delta=delta, neighbours=neighbours)

    def too_large(log_epsilon: float) -> bool:
        try:
            return error < expected(log_epsilon)
        except BudgetError:  # this ε needs more noise than can be drawn
            return True

    low, high = math.log(float(SMALLEST_EPSILON) * 1e4), math.log(float(LARGEST_EPSILON) / 2)
    if error < expected(high):  # also raises an error if law and delta do not fit
        raise ParameterError(
            f"{parameter('error')} is {error:g}; no epsilon up to 500 reaches it. Use larger cells or accept a larger "
            "error."
        )
    while high - low > 1e-4:
        middle = (low + high) / 2
        low, high = (middle, high) if too_large(middle) else (low, middle)
    return _rounded_up(math.exp(high))


def _rounded_up(value: float) -> float:
    """A value, rounded up to three significant digits."""
    unit = 10.0 ** (math.floor(math.log10(value)) - 2)
    return float(f"{math.ceil(value / unit - 1e-9) * unit:.3g}")
