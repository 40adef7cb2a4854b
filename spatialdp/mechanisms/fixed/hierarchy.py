"""How is a private hierarchy released? By noisy counts of cells and of a few sizes of blocks, made consistent.

With Laplace noise, few levels with many children each beat many levels with few, because the budget
is divided fewer times. Which levels are best, and how much budget each should get, follows from the
grid's shape, the noise law and the workload (`strategies.levels`). All of that is public, and must
not depend on the records. See ``docs/mechanisms/hierarchy.md``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise, takewhile
from typing import Any, ClassVar

import numpy as np

from spatialdp._support.checks import true_or_false, whole_number, whole_pair
from spatialdp._support.options import Choice, Option
from spatialdp._support.override import override
from spatialdp.errors import ParameterError
from spatialdp.mechanisms.base import Terms
from spatialdp.mechanisms.recipe import Design, GridMechanism, design_of
from spatialdp.privacy.budget import Number, divide, exact
from spatialdp.privacy.neighbours import Neighbours
from spatialdp.privacy.noise.laws import Law
from spatialdp.privacy.unit import Person
from spatialdp.space.boxes.blocks import levels_of
from spatialdp.space.domain import Domain, Grid
from spatialdp.strategies.levels import BlockQueries, GivenBoxes, Levels, best_budget, best_levels
from spatialdp.strategies.products import BoxQueries, box_queries
from spatialdp.structures.tree_levels import BlockLevels
from spatialdp.wording import parameter, quoted

__all__ = ["Hierarchy"]


class LevelRule(Option):
    """Rules that choose a hierarchy's levels and budgets."""

    OPTIMISED = "optimised"
    UNIFORM = "uniform"


class BoxKind(Option):
    """Named workloads that a hierarchy is optimised for."""

    BOXES = "boxes"
    CELLS = "cells"


@dataclass(frozen=True)
class Hierarchy(GridMechanism):
    """Noisy counts of a grid's cells and of square blocks of them, of any size, made consistent.

    Parameters
    ----------
    shape : (nx, ny), optional
        Number of columns and rows of cells; any numbers.
    cell_size : float or (width, height), optional
        Instead of `shape`; must divide the domain.
    branching : int or "hb", optional
        Blocks of 1, b, b², ... cells a side. ``"hb"`` takes the branching of Qardaji, Yang and Li's rule. By default
        any sides may be chosen.
    levels : {"optimised", "uniform"} or sequence of int
        Choose the levels and budgets with the least mean variance for the workload; the same budget for every level, as
        published (needs `branching`); or the sides of the blocks in cells, from 1 up, each a multiple of the one
        before, such as ``(1, 8, 32)``.
    budget : sequence of numbers, optional
        Weights of the given `levels`, and last that of the root if it is measured; 0 leaves a level unmeasured. By
        default the weights are optimised.
    root : bool
        Whether to measure the number of all records too; with optimised levels, only if that lowers the variance.
    consistent : bool
        Make every block the sum of its cells, by least squares; every answer becomes more accurate.
    workload : {"boxes", "cells"}, (width, height) or (m, 4) array-like
        The queries to optimise for: all boxes of whole cells, single cells, boxes of this width and height in cells, or
        given boxes in domain coordinates. Refused where nothing is optimised.
    law : {"discrete-laplace", "laplace", "gaussian"}
        As for `Flat`.

    Privacy
    -------
    Neighbours differ by one record, added or removed, or replaced. The structure is public: it depends on shapes,
    laws and workloads. So the workload is published, and must be chosen without looking at the records. A record
    is in one block of each level, so a level's counts have L1 and L2 sensitivity 1 under add-remove, and 2 and √2
    under replace (1 where a level has one block only: a record can only leave or enter it). A level costs its own
    budget, and the levels' budgets add up to the whole, exactly; levels without budget are not read. Blocks end
    with the grid, so nothing is spent on cells beyond it. Fitting reads released values only. Hay, Rastogi,
    Miklau, Suciu, "Boosting the accuracy of differentially private histograms through consistency" (PVLDB 2010);
    Qardaji, Yang, Li, "Understanding hierarchical methods for differentially private histograms" (PVLDB 2013).
    Sensitivities are checked by brute force in ``tests/contract/test_structures.py``.

    Notes
    -----
    Levels are optimised by the closed form in `spatialdp.strategies.levels`, for Laplace noise of variance
    2/ε² or Gaussian noise of variance 1/2ρ. Hay et al.'s hierarchy is ``branching=b, levels="uniform",
    root=True``, and the published HB is ``branching="hb", levels="uniform"``.

    Examples
    --------
    >>> import spatialdp as sdp
    >>> domain = sdp.Domain(bounds=(0, 0, 1, 1))
    >>> release = sdp.Hierarchy(shape=(100, 60)).release([[0.1, 0.2], [0.8, 0.9]], domain, epsilon=1000)
    >>> round(release.answer((0, 0, 0.5, 0.5)), 3)
    1.0
    >>> list(sdp.Hierarchy((256, 256)).plan(domain, epsilon=1).budget)
    ['counts of cells', 'counts of 8 x 8 cells', 'counts of 32 x 32 cells']
    """

    name: ClassVar[str] = "hierarchy"

    shape: Sequence[int] | None = None
    cell_size: float | Sequence[float] | None = None
    branching: int | str | None = None
    levels: str | Sequence[int] = LevelRule.OPTIMISED
    budget: Sequence[Number] | None = None
    root: bool = False
    consistent: bool = True
    workload: Any = BoxKind.BOXES
    law: Choice[Law] = Choice(Law.DISCRETE_LAPLACE)

    def __post_init__(self) -> None:
        self._check_grid()
        for name, value in self._checked():
            object.__setattr__(self, name, value)
        if self.levels is LevelRule.UNIFORM and self.branching is None:
            raise ParameterError(
                f"{parameter('levels')} is 'uniform' without a branching, but needs one; give {parameter('branching')} "
                "as a number of at least 2, or 'hb'."
            )
        if self.workload != BoxKind.BOXES and (self.levels is LevelRule.UNIFORM or self.budget is not None):
            option = parameter("levels", "uniform") if self.budget is None else f"a {parameter('budget')}"
            raise ParameterError(
                f"{parameter('workload')} is {_label(self.workload)}, but with {option} nothing is optimised for it; "
                f"leave the {parameter('workload')} out, or let {parameter('levels', 'optimised')} choose."
            )
        if not isinstance(self.levels, str) and self.branching is not None:
            raise ParameterError(
                f"{parameter('branching')} is {self.branching!r} and {parameter('levels')} are "
                f"{quoted(self.levels)}, but only one of them can decide the sides of the blocks; give either "
                f"{parameter('branching')} or {parameter('levels')}."
            )

    def _checked(self) -> Iterator[tuple[str, Any]]:
        """Names and checked values of all parameters but the grid's."""
        for name in ("root", "consistent"):
            yield name, true_or_false(getattr(self, name), name)
        yield "branching", _checked_branching(self.branching)
        levels = LevelRule.parse(self.levels, "levels") if isinstance(self.levels, str) else _checked_sides(self.levels)
        yield "levels", levels
        yield "budget", _checked_weights(self.budget, levels, root=self.root)
        yield "workload", _checked_workload(self.workload)

    @override
    def _design(self, domain: Domain, terms: Terms) -> Design[BlockLevels]:
        return self._at_cost(self.leaf_grid(domain), terms.spendable(self.law), terms.neighbours, terms.person)

    def _at_cost(
        self, grid: Grid, whole: Fraction, neighbours: Neighbours, person: Person | None = None
    ) -> Design[BlockLevels]:
        """Return the design of a hierarchy at a given cost, which may be a part of a larger release's."""
        sides, _ = self._levels(grid)
        structure = BlockLevels(grid, levels_of(sides, grid.shape), self.consistent)
        return design_of(structure, self._costs(structure, whole), self.law, neighbours, person)

    @override
    def _costs(self, structure: BlockLevels, whole: Fraction) -> Sequence[Fraction]:
        # Levels of the tree that are not measured get nothing.
        shape = structure.grid.shape
        sides, weights = self._levels(structure.grid)
        spent = dict(zip(sides, divide(whole, weights), strict=True))
        return [spent.get(side, Fraction(0)) for side in (max(shape), *structure.sides[1:])]

    @override
    def _steps(self, design: Design[BlockLevels]) -> dict[str, Fraction]:
        # Cells first, and only levels that are measured.
        return {name: cost for name, cost in reversed(super()._steps(design).items()) if cost}

    def _levels(self, grid: Grid) -> tuple[tuple[int, ...], Sequence[Number]]:
        """Sides and weights of the measured levels, cells first; the root's side is the grid's longer one."""
        sides = self._sides(grid.shape)
        if self.levels is LevelRule.UNIFORM:
            return sides, [1] * len(sides)
        if self.budget is not None:
            return sides, self.budget[: len(sides)]
        best = self._best(grid, sides)
        return best.sides, best.shares

    def _best(self, grid: Grid, sides: tuple[int, ...]) -> Levels:
        if self.branching is None and isinstance(self.levels, str):
            return best_levels(grid.shape, self.law, self._boxes(grid), root=self.root)
        return best_budget(grid.shape, sides, self.law, self._boxes(grid))

    def _sides(self, shape: tuple[int, int]) -> tuple[int, ...]:
        """Sides of the blocks, cells first: the given levels, or powers of the branching."""
        largest = max(shape)
        end = (largest,) if self.root and largest > 1 else ()
        if isinstance(self.levels, str):
            base = published_branching(shape) if self.branching == "hb" else self.branching
            return (*_powers(base, largest), *end) if isinstance(base, int) else (1, *end)
        if self.levels[-1] >= max(largest, 2):
            raise ParameterError(
                f"{parameter('levels')} are {quoted(self.levels)} and the grid is {shape[0]} x {shape[1]} cells, but "
                f"blocks must be smaller than the grid; give smaller sides, and {parameter('root', True)} to measure "
                "the whole grid."
            )
        return (*self.levels, *end)

    def _boxes(self, grid: Grid) -> BlockQueries | GivenBoxes:
        if isinstance(self.workload, BoxQueries):
            return GivenBoxes(box_queries(self.workload, grid))
        if isinstance(self.workload, str):
            return BlockQueries(None if self.workload == BoxKind.BOXES else (1, 1))
        return BlockQueries(self.workload)


def published_branching(shape: tuple[int, int]) -> int:
    """The branching of Qardaji, Yang and Li (2013) for a grid, or for a single row of cells.

    Notes
    -----
    The rule minimises b (n - 1) h² on a grid of n cells a side, and (b - 1) h³ - 2 (b + 1) h² / 3 on a row of
    n cells, with h = ⌈log_b n⌉ computed in whole numbers. Of all b with the same h the least is best.

    Examples
    --------
    >>> published_branching((256, 256)), published_branching((1024, 1))
    (7, 32)
    """
    count = max(shape)

    def error(height: int) -> int:
        b = _least_base(count, height)
        if min(shape) == 1:
            return 3 * (b - 1) * height**3 - 2 * (b + 1) * height**2
        return b * (count - 1) * height**2

    return _least_base(count, min(range(1, count.bit_length() + 1), key=error))


def _least_base(count: int, height: int) -> int:
    """The least b >= 2 with b^height >= count."""
    base: int = max(2, round(float(count) ** (1 / height)))
    while base**height < count:
        base += 1
    while base > 2 and (base - 1) ** height >= count:
        base -= 1
    return base


def _powers(base: int, largest: int) -> tuple[int, ...]:
    """The powers 1, b, b², ... below the grid's longer side."""
    return (1, *takewhile(lambda side: side < largest, (base**k for k in range(1, 31))))


def _label(workload: str | tuple[int, int]) -> str:
    return repr(str(workload)) if isinstance(workload, str) else str(workload)


def _checked_branching(value: Any) -> int | str | None:
    if value is None or (isinstance(value, str) and value.lower() == "hb"):
        return value if value is None else "hb"
    return whole_number(value, "branching", 2, 2**30)


def _checked_workload(value: Any) -> BoxKind | tuple[int, int] | BoxQueries:
    if isinstance(value, str):
        return BoxKind.parse(value, "workload")
    if isinstance(value, BoxQueries):
        return value
    try:
        boxes = np.ndim(value) == 2 or np.size(value) == 4
    except ValueError:  # rows of different lengths; `BoxQueries` raises the error
        boxes = True
    return BoxQueries(value) if boxes else whole_pair(value, "workload")


def _checked_sides(levels: Sequence[int]) -> tuple[int, ...]:
    if not hasattr(levels, "__len__"):
        raise ParameterError(
            f"{parameter('levels')} is {quoted(levels)}; give 'optimised', 'uniform' or the sides of the blocks, such "
            f"as {quoted((1, 8, 32))}."
        )
    sides = tuple(whole_number(side, "levels", 1, 2**30) for side in levels)
    if not sides or sides[0] != 1 or any(b <= a or b % a for a, b in pairwise(sides)):
        raise ParameterError(
            f"{parameter('levels')} are {quoted(tuple(levels))}; give the sides of the blocks in cells, the first 1 "
            f"and each a multiple of the one before, such as {quoted((1, 8, 32))}."
        )
    return sides


def _checked_weights(budget: Any, levels: str | tuple[int, ...], *, root: bool) -> tuple[Number, ...] | None:
    if budget is None:
        return None
    if isinstance(levels, str):
        raise ParameterError(
            f"{parameter('budget')} is {quoted(budget)} and {parameter('levels')} is {str(levels)!r}, but a budget "
            f"needs given levels; give their sides, such as {parameter('levels', (1, 8, 32))}."
        )
    is_list = hasattr(budget, "__len__") and not isinstance(budget, str)
    weights = tuple(exact(w, "budget") if not isinstance(w, float) else w for w in budget) if is_list else ()
    if len(weights) != len(levels) + root or not weights[0] > 0:
        raise ParameterError(
            f"{parameter('budget')} is {quoted(budget)}; give one weight for each of the {len(levels)} levels, that of "
            f"the cells above 0, and a last one for the root if {parameter('root', True)}."
        )
    return weights
