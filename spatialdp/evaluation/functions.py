"""How is a method compared that is only a function? `FunctionMechanism` makes a mechanism of it, marked not private.

A function takes the records, the domain, ε and a source of noise, and returns something that answers boxes. It need not
do anything else, so nothing else is known about it: neither what it spends, nor which part of its error is noise.
"""

from __future__ import annotations

import math
import pickle
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from spatialdp._support.arrays import Floats
from spatialdp._support.override import override
from spatialdp.errors import ParameterError
from spatialdp.mechanisms.base import Mechanism, Plan, Terms
from spatialdp.privacy.neighbours import Neighbours
from spatialdp.privacy.noise.laws import Law
from spatialdp.privacy.noise.source import Noise, SeededNoise
from spatialdp.privacy.statement import Privacy
from spatialdp.records.points import Points, lattice_points
from spatialdp.space.domain import Domain
from spatialdp.wording import parameter, quoted
from spatialdp.workload import Workload

__all__ = ["Answered", "Answering", "Function", "FunctionMechanism", "as_mechanism", "check_functions"]


class Answering(Protocol):
    """Something that answers boxes, as a `Release` does; for workloads of polygons it has `answer_polygons` as well."""

    def answer(self, boxes: Floats, /) -> npt.ArrayLike:
        """Return the estimated counts of (m, 4) boxes, xmin, ymin, xmax, ymax, as m numbers."""


class Function(Protocol):
    """A method to compare with, as a plain function."""

    def __call__(self, points: Floats, domain: Domain, epsilon: float, noise: SeededNoise, /) -> Answering:
        """Publish records: an (n, 2) array of x and y of those in the domain. All noise must come from `noise`."""


@dataclass(frozen=True)
class Answered:
    """What a function returned, and how it answers workloads.

    Attributes
    ----------
    name : str
        Name of the function, for messages.
    answering : object
        What it returned.
    privacy : Privacy
        A statement that promises nothing.
    """

    name: str
    answering: Any
    privacy: Privacy

    def answers(self, workload: Workload) -> Floats:
        """Return the answers to a workload, checked."""
        if workload.boxes is not None:
            return self._checked(self.answering.answer(workload.boxes.copy()), len(workload))
        if not callable(getattr(self.answering, "answer_polygons", None)):
            raise ParameterError(
                f"workload {workload.name!r} asks about polygons, but {self._returned} that has no method "
                f"{quoted('answer_polygons')}; add one, or give a workload of boxes."
            )
        return self._checked(self.answering.answer_polygons(workload.polygons), len(workload))

    @property
    def _returned(self) -> str:
        return f"the function {self.name} returned a {type(self.answering).__name__}"

    def _checked(self, answers: Any, count: int) -> Floats:
        try:
            numbers = np.asarray(answers, dtype=np.float64)
        except (TypeError, ValueError):
            numbers = np.empty(0)
        if numbers.shape != (count,) or not np.isfinite(numbers).all():
            raise ParameterError(
                f"{self._returned} whose answers to {count} queries are not {count} finite numbers; return one number "
                "for each query."
            )
        return numbers


@dataclass(frozen=True)
class FunctionMechanism(Mechanism):
    """A function in the place of a mechanism, for comparisons; not private, because nobody knows what it spends.

    Parameters
    ----------
    function : callable
        See `Function`.
    """

    law: ClassVar[Law] = Law.DISCRETE_LAPLACE  # type: ignore[misc]  # it gets no δ
    function: Function

    @property
    def name(self) -> str:  # type: ignore[override]  # each function has its own
        """Name of the function."""
        return str(getattr(self.function, "__name__", type(self.function).__name__))

    @property
    @override
    def private(self) -> bool:
        return False

    @override
    def parameters(self) -> dict[str, Any]:
        """The function by its name, which is the same in all processes; that of a script's module is not."""
        return {"function": self.name}

    @override
    def _design(self, domain: Domain, terms: Terms) -> tuple[Domain, float]:
        if terms.person is not None or terms.neighbours is not Neighbours.ADD_REMOVE:
            given = parameter("neighbours" if terms.person is None else "person")
            raise ParameterError(
                f"{given} says what a release protects, but the function {self.name} does not get it and may ignore "
                f"it; leave {given} out, or leave the function out of the comparison."
            )
        return domain, float(terms.budget.epsilon)

    @override
    def _plan(self, design: tuple[Domain, float]) -> Plan:  # noqa: ARG002 - nothing is known
        return Plan(self.name, 0, "epsilon", {}, math.nan, 0)

    @override
    def _blank(self, design: tuple[Domain, float]) -> None:  # noqa: ARG002 - never known
        return None

    @override
    def _estimate(self, points: Points, design: tuple[Domain, float], noise: Noise) -> Any:
        domain, epsilon = design
        columns, rows = lattice_points(points, domain)
        x, y = domain.axes
        xy = np.stack([x.centres(columns.astype(np.int64)), y.centres(rows.astype(np.int64))], axis=1)
        assert isinstance(noise, SeededNoise), "evaluations draw all noise from seeds"
        return self.function(xy, domain, epsilon, noise)

    @override
    def _published(self, domain: Domain, statement: Privacy, estimate: Any) -> Any:  # noqa: ARG002 - no release
        if not callable(getattr(estimate, "answer", None)):
            raise ParameterError(
                f"the function {self.name} returned a {type(estimate).__name__}, which has no method "
                f"{quoted('answer')}; return something that has one, such as a release."
            )
        return Answered(self.name, estimate, statement)


def as_mechanism(given: Any) -> Mechanism:
    """Return a mechanism as it is, and a function as a `FunctionMechanism`; anything else is refused.

    Examples
    --------
    >>> as_mechanism(lambda points, domain, epsilon, noise: ...).private
    False
    """
    if isinstance(given, Mechanism):
        return given
    if callable(given) and not isinstance(given, type):
        return FunctionMechanism(given)
    raise ParameterError(
        f"{given!r} is not a mechanism; give one, for example spatialdp.Quadtree(height=8), or a function of points, "
        "domain, epsilon and noise."
    )


def check_functions(mechanisms: Mapping[str, Mechanism], processes: int, *, cached: bool) -> None:
    """Refuse functions where results are cached, and those that other processes cannot be sent."""
    functions = {label: each.function for label, each in mechanisms.items() if isinstance(each, FunctionMechanism)}
    for label, function in functions.items():
        if cached:
            raise ParameterError(
                f"{parameter('cache')} keeps results by a mechanism's parameters, but {label!r} is a function, whose "
                f"code may change unnoticed; leave {parameter('cache')} out, or write a mechanism."
            )
        if processes > 1 and not _can_be_sent(function):
            raise ParameterError(
                f"{parameter('processes')} is {processes}, but the function {label!r} cannot be sent to another "
                "process; define it with def in a module or script, not in a notebook, in another function or as a "
                f"lambda, or leave {parameter('processes')} out."
            )


def _can_be_sent(function: Any) -> bool:
    """Whether a new interpreter can find the function; what was typed into a session it cannot."""
    try:
        pickle.dumps(function)
    except Exception:  # pickle raises errors of many kinds, and so do objects
        return False
    home = getattr(function, "__module__", type(function).__module__)
    return home != "__main__" or hasattr(sys.modules["__main__"], "__file__")
