"""For which boxes is an error foreseen, and for how many records? What callers say about it, checked.

Everything here is public. The number of records is a guess that must not come from the records.
"""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from spatialdp._support.arrays import Floats, even_points
from spatialdp.errors import ParameterError
from spatialdp.space.domain import Domain
from spatialdp.space.questions import require_inside
from spatialdp.wording import parameter, quoted
from spatialdp.workload import Workload, placed

__all__ = ["all_boxes", "boxes_of", "guessed_records", "positive_number"]


def all_boxes(domain: Domain, count: int = 2000) -> Floats:
    """Boxes with corners spread evenly over the domain; errors of "any box" are averaged over them.

    Examples
    --------
    >>> all_boxes(Domain((0, 0, 1, 1)), 3).shape
    (3, 4)
    """
    corners = np.sort(even_points(count, 4).reshape(-1, 2, 2), axis=1).reshape(-1, 4)
    return placed(corners, domain)


def boxes_of(domain: Domain, workload: Workload | npt.ArrayLike | None) -> Floats:
    """Return the boxes that errors are averaged over: those of the workload, or any box."""
    if not isinstance(domain, Domain):
        raise ParameterError(f"domain is a {type(domain).__name__}; give a spatialdp.Domain with public bounds.")
    if workload is None:
        return all_boxes(domain)
    if isinstance(workload, Workload):
        if workload.boxes is None:
            raise ParameterError(
                f"workload {workload.name!r} is of polygons, but errors can be predicted for boxes only; give boxes, "
                "such as the polygons' bounding boxes."
            )
        workload = workload.boxes
    require_inside(workload, domain, "the workload")  # raises an error also if they are not boxes
    if not np.size(workload):
        raise ParameterError("the workload has no boxes; give at least one.")
    return np.atleast_2d(np.asarray(workload, dtype=np.float64))


def guessed_records(records: Any) -> float | None:
    """Return a public guess of the number of records, checked; None if there is none."""
    return None if records is None else positive_number(records, "records", "number: a public guess, such as 100000")


def positive_number(value: Any, name: str, required: str) -> float:
    """Return a positive finite float; `required` says in words what it must be a positive one of."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < float(value) < math.inf:
        raise ParameterError(f"{parameter(name)} is {quoted(value)}; it must be a positive {required}.")
    return float(value)
