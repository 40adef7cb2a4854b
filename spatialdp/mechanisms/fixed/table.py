"""Tables: counts over space, time and categories at once, at all levels that pay, made to agree by least squares."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import Any, ClassVar

from spatialdp._support.options import Choice, Option
from spatialdp._support.override import override
from spatialdp.errors import ParameterError
from spatialdp.estimates.base import Estimate
from spatialdp.mechanisms.base import Plan, Terms
from spatialdp.mechanisms.recipe import Design, StructuredMechanism
from spatialdp.privacy.budget import divide
from spatialdp.privacy.noise.laws import Law
from spatialdp.privacy.noise.source import Noise
from spatialdp.privacy.statement import Privacy
from spatialdp.privacy.unit import Person
from spatialdp.records.rows.rows import Rows, as_rows, count_rows
from spatialdp.release import Release
from spatialdp.space.frames.frame import Frame
from spatialdp.space.frames.selection import FrameAxis
from spatialdp.strategies.frames.axis_budgets import balanced_shares
from spatialdp.structures.product_sums import ProductSums
from spatialdp.table_release import TableRelease
from spatialdp.transforms.tree_axis import TreeAxis
from spatialdp.wording import parameter, quoted

__all__ = ["Table"]


class TableBudget(Option):
    """How the budget is divided over the levels of the axes."""

    BALANCED = "balanced"
    CELLS = "cells"


@dataclass(frozen=True)
class Table(StructuredMechanism):
    """Counts of all combinations of a place, a time and a category, and of their sums.

    Parameters
    ----------
    budget : {"balanced", "cells"} or mapping of weights
        ``"balanced"``: each axis is divided over its levels so that all of them are about equally accurate, and levels
        that do not pay are not counted. ``"cells"``: only the smallest cells are counted, and sums are sums of noisy
        numbers. Or weights by the names of axes, such as ``{"zone": (0, 1, 2), "time": (1, 1)}``: one for each level
        below the root, or with the root; other axes are balanced.
    law : {"discrete-laplace", "laplace", "gaussian"}
        As for `Flat`.

    Raises
    ------
    ParameterError
        If the weights do not fit the levels of the frame.

    Notes
    -----
    Measurements are products of levels: a county in a day, a tract in an hour. Each product takes the product of its
    levels' shares. After the fit, all sums agree. See ``docs/design/frames.md``.

    Privacy
    -------
    A record is in one cell of the table at most: in one zone, one tick and one category. So it moves each group of
    counts by 1 in L1 norm and in the square of the L2 norm, and by 2 if records are replaced; a single count of
    everything by 1. All places, times and categories together therefore cost ε once. Records at other places or times,
    and those whose category is not listed, are not in the data. One person can move a group by L with at most L records
    or cells (L min(L, s) in the square of the L2 norm, if no measurement has more than s cells), and by 1 in shares.
    The argument is in ``docs/design/frames.md``; ``tests/structures/test_product_sums.py`` computes sensitivities by
    brute force, and the audit replays neighbours.

    Examples
    --------
    >>> import spatialdp as sdp
    >>> day = sdp.Time("2024-01-01", "2024-01-02", zone="Europe/Vienna")
    >>> frame = sdp.Frame(sdp.Domain((0, 0, 1, 1)).grid((2, 2)), time=day, kind=sdp.Categories(["theft", "fraud"]))
    >>> rows = sdp.Rows([[0.1, 0.1], [0.9, 0.2]], time=["2024-01-01 08:30", "2024-01-01 09:00"], kind=["theft"] * 2)
    >>> release = sdp.Table().release(rows, frame, epsilon=100)
    >>> release.answer(time=("08:00", "10:00"), kind="theft")
    2.0
    """

    name: ClassVar[str] = "table"
    frame: ClassVar[type] = Frame

    budget: str | Mapping[str, Sequence[float]] = "balanced"
    law: Choice[Law] = Choice(Law.DISCRETE_LAPLACE)

    def __post_init__(self) -> None:
        if isinstance(self.budget, Mapping):
            weights = tuple((str(name), tuple(each)) for name, each in self.budget.items())
            object.__setattr__(self, "budget", weights)
        elif not isinstance(self.budget, tuple):
            object.__setattr__(self, "budget", TableBudget.parse(self.budget, "budget"))

    @override
    def _design(self, domain: Any, terms: Terms) -> Design[ProductSums]:
        frame: Frame = domain
        given: dict[str, Any] = dict(self.budget) if isinstance(self.budget, tuple) else {}
        unknown = [name for name in given if name not in frame.axes]
        if unknown:
            raise ParameterError(
                f"{parameter('budget')} has weights for {quoted(unknown[0])}, which is no axis of the frame; its axes "
                f"are {', '.join(frame.names)}."
            )
        power = 1 if self.law is Law.GAUSSIAN else 2
        axes = tuple(self._axis(name, axis, power, given.get(name)) for name, axis in frame.axes.items())
        return self._priced(ProductSums(frame, axes), terms)

    def _axis(self, name: str, axis: FrameAxis, power: int, weights: Any) -> TreeAxis:
        spans = getattr(axis, "spans", None)
        levels = len(axis.names)
        if weights is not None:
            shares = _given_shares(name, weights, levels)
        elif self.budget is TableBudget.CELLS:
            shares = (Fraction(0),) * (levels - 1) + (Fraction(1),)
        else:
            shares = balanced_shares(axis.shape, axis.counted, power, spans)
        return TreeAxis(axis.shape, shares, power, spans)

    @override
    def _costs(self, structure: Any, whole: Fraction) -> Sequence[Fraction]:
        return [whole * share for share in structure.shares]

    @override
    def _steps(self, design: Design[Any]) -> dict[str, Fraction]:
        whole = design.costs[0] / design.structure.shares[0]
        steps: dict[str, Fraction] = design.structure.steps(whole)
        return steps

    @override
    def _plan(self, design: Any) -> Plan:
        return replace(super()._plan(design), errors_of="table")

    @override
    def _estimate(self, points: Any, design: Any, noise: Noise) -> Estimate:
        counts = count_rows(points, design.structure.frame, design.person)
        estimate: Estimate = design.carry_out(design.structure.measure(counts), noise)
        return estimate

    @override
    def _records(self, points: Any, domain: Any, person: Person | None) -> Rows:
        return as_rows(points, domain, person)

    @override
    def _published(self, domain: Any, statement: Privacy, estimate: Any) -> Release:
        return TableRelease(domain.domain, statement, estimate)

    @override
    def _errors(self, design: Any, domain: Any) -> tuple[float, dict[str, float]] | None:
        """Standard deviation of the noise in one cell, and the errors to expect of the parts of products of levels."""
        noise = design.blank().noise
        squares = noise.level_variances()
        levels = [_shown_levels(axis) for axis in domain.axes.values()]
        places = {name: place for place, name in enumerate(domain.axes)}
        errors = {}
        for chosen in product(*(levels[places[name]] for name in domain.names)):
            of_axis = dict(zip(domain.names, chosen, strict=True))
            named = " x ".join(domain.axes[name].names[level] for name, level in of_axis.items())
            errors[named] = math.sqrt(squares[tuple(of_axis[name] for name in domain.axes)])
        return math.sqrt(squares.ravel()[-1]), errors

    @override
    def _missed(self, domain: Any) -> float | None:  # noqa: ARG002 - a table misses what its frame leaves out
        return None


def _shown_levels(axis: FrameAxis) -> list[int]:
    """Return the levels whose errors a plan shows: those that may be counted, and the whole."""
    return [0, *(level for level, counted in enumerate(axis.counted) if counted and level)]


def _given_shares(name: str, weights: Any, levels: int) -> tuple[Fraction, ...]:
    """Return shares in proportion to weights, one for each level, or for each below the root."""
    padded = (0, *weights) if len(weights) == levels - 1 else tuple(weights)
    sound = len(padded) == levels and all(isinstance(each, int | float | Fraction) for each in padded)
    if not sound or min(padded) < 0 or not padded[-1] > 0 or math.inf in padded:
        raise ParameterError(
            f"{parameter('budget')} has {quoted(tuple(weights))} for the axis {name!r}; give one weight for each of "
            f"its {levels - 1} levels below the root (or {levels} with it), not negative, the last one above 0."
        )
    return tuple(divide(Fraction(1), padded))
