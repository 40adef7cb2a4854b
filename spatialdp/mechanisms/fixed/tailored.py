"""How is a histogram tailored to its queries? Optimised sums of cells are measured, not the cells alone.

The sums come from `strategies`, which sees the workload, the grid's shape and the law, and never a
record. Privacy does not rest on the optimiser: sensitivities are computed from the weights in use. See
``docs/design/tailored.md`` and ``docs/mechanisms/tailored.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, cast

from spatialdp._support.checks import whole_number
from spatialdp._support.options import Choice, Option
from spatialdp._support.override import override
from spatialdp.mechanisms.base import Terms
from spatialdp.mechanisms.recipe import Design, GridMechanism
from spatialdp.privacy.noise.laws import Law
from spatialdp.space.domain import Domain, Grid
from spatialdp.strategies.axis_workload import AxisWorkload
from spatialdp.strategies.pairs import joint_trees, stored_pair
from spatialdp.strategies.products import (
    NAMED,
    AxisQueries,
    BoxQueries,
    Product,
    ProductQueries,
    box_queries,
    parse_workload,
    union_queries,
)
from spatialdp.strategies.store import stored_windows
from spatialdp.strategies.trees import optimised_tree
from spatialdp.structures.axis_pairs import AxisPairs
from spatialdp.transforms.axis import AxisTransform, IdentityAxis
from spatialdp.transforms.matrices import WindowAxis

__all__ = ["Tailored"]

LONGEST = 4096


class Strategy(Option):
    """Kinds of sums that a tailored histogram chooses among."""

    WINDOWS = "windows"
    TREES = "trees"


@dataclass(frozen=True)
class Tailored(GridMechanism):
    """Noisy sums of cells, chosen so that the queries of a workload carry the least noise.

    Along each axis every cell and a few overlapping, tapered windows of cells are measured; in two
    dimensions all products of a measurement along x and one along y. Weights are optimised numerically for
    the workload and the law. For boxes this is the most accurate mechanism of this package that does not
    look at the data: on 256 x 256 cells its mean variance over all boxes is a seventh of `Flat`'s.

    Parameters
    ----------
    shape : (nx, ny), optional
        Number of columns and rows, each up to 4096.
    cell_size : float or (width, height), optional
        Instead of `shape`; must divide the domain.
    workload : str, (x, y), list of (x, y) or (x, y, weight), or (m, 4) array-like
        The queries to optimise for. ``"boxes"`` (all boxes of cells, the default), ``"prefixes"`` (boxes at the lower
        left corner), ``"cells"`` or ``"marginals"`` (sums of columns and sums of rows). Or a pair with the queries
        along x and along y, each ``"ranges"``, ``"prefixes"``, ``"cells"``, ``"total"`` or a sequence of ranges of
        cells ``(start, stop)``; all products of a query along x and one along y are then equally important. Or several
        such pairs, each of which may have a weight (1 by default) by which its mean variance counts. Or boxes in
        domain coordinates; where they cut a cell, its covered share counts.
    strategy : {"windows", "trees"}
        Any windows, or only blocks of 1, 2, 4, ... cells: the tensor product of optimised trees in one dimension.
    law : {"discrete-laplace", "laplace", "gaussian"}
        As for `Flat`.

    Privacy
    -------
    Neighbours differ by one record, added or removed, or replaced. The measurements are A C B' for the array C of
    counts and two matrices A and B of whole numbers, which depend on public values only; the workload is one of
    these, is published, and must be chosen without looking at the records. A record changes the measurements by
    the product of a column of A and a column of B. Under add-remove, the L1 sensitivity is the product of the
    largest column sums, and the squared L2 sensitivity that of the largest squared column norms; under replace
    both double, since no weight is negative. They are computed from the weights in use, wherever the weights came
    from. All measurements share the whole budget. The fit reads released values only. McKenna, Miklau, Hay,
    Machanavajjhala, "Optimizing error of high-dimensional statistical queries under differential privacy" (VLDB
    2018). Sensitivities are checked by brute force in ``tests/contract/test_structures.py`` and
    ``tests/strategies/test_pairs.py``.

    Notes
    -----
    Strategies for all ranges ship with the package for the usual numbers of cells (from 16 to 2048). Others are
    optimised once and kept in the user's cache folder: in seconds for workloads of one axis (longest for Gaussian noise
    and long axes), and in up to half a minute for boxes and unions on grids of a few hundred columns and rows, where
    the axes are optimised alternately. For boxes and unions, cells alone and the strategy for all boxes are among the
    candidates, so that neither is more accurate than the result (with integer Laplace noise of a large ε, `Flat` can
    still be, by a few per cent). Windows on more than 512 cells are constant within each of 512 stretches. An axis
    whose cells are best measured alone is left as it is. For Gaussian noise the shipped strategies of 32 to 256 cells
    are within 0.1 % of the best of any form.

    All strategies are products of one along x and one along y, and so every release holds all cells.
    ``"marginals"`` on 64 x 64 cells have a variance of 31.0 at ε = 1; two histograms of one dimension with half
    the budget each, which hold nothing else, would have 8.

    Examples
    --------
    >>> import spatialdp as sdp
    >>> domain = sdp.Domain(bounds=(0, 0, 1, 1))
    >>> release = sdp.Tailored(shape=(64, 64)).release([[0.1, 0.2], [0.8, 0.9]], domain, epsilon=1000)
    >>> round(release.answer((0, 0, 0.5, 0.5)))
    1
    >>> columns = [(x / 8, 0, x / 8 + 1 / 8, 1) for x in range(8)]
    >>> errors = [sdp.Tailored((64, 64), workload=workload).expected_error(domain, columns, epsilon=1)
    ...           for workload in ("boxes", columns)]
    >>> [round(error, 1) for error in errors]  # eight counts of whole columns, and nothing else, have 1.4
    [27.8, 1.4]
    """

    name: ClassVar[str] = "tailored"

    shape: Sequence[int] | None = None
    cell_size: float | Sequence[float] | None = None
    workload: Any = "boxes"
    strategy: Choice[Strategy] = Choice(Strategy.WINDOWS)
    law: Choice[Law] = Choice(Law.DISCRETE_LAPLACE)

    def __post_init__(self) -> None:
        object.__setattr__(self, "workload", parse_workload(self.workload))
        self._check_grid()

    @override
    def _design(self, domain: Domain, terms: Terms) -> Design[AxisPairs]:
        grid = self.leaf_grid(domain)
        return self._priced(AxisPairs(grid, *self._axes(grid)), terms)

    def _axes(self, grid: Grid) -> tuple[AxisTransform, AxisTransform]:
        for size in grid.shape:
            whole_number(size, "an axis' number of cells", 1, LONGEST)
        products = self._products()
        if len(products) == 1:
            x, y = (
                _axis(size, AxisWorkload(queries), self.strategy, self.law)
                for size, queries in zip(grid.shape, products[0][:2], strict=True)
            )
            return x, y
        queries: ProductQueries[AxisQueries] = (
            box_queries(self.workload, grid)
            if isinstance(self.workload, BoxQueries)
            else union_queries(products, grid.shape)
        )
        pair = joint_trees(queries, self.law) if self.strategy is Strategy.TREES else stored_pair(queries, self.law)
        return _simple(pair.x), _simple(pair.y)

    def _products(self) -> tuple[Product, ...]:
        """The workload as a union of products of axis workloads; empty for given boxes."""
        if isinstance(self.workload, BoxQueries):
            return ()
        if isinstance(self.workload, str):
            return tuple((x, y, 1.0) for x, y in NAMED[self.workload])
        return cast("tuple[Product, ...]", self.workload)  # `parse_workload` made it so


@lru_cache(maxsize=64)
def _axis(size: int, workload: AxisWorkload, strategy: Strategy, law: Law) -> AxisTransform:
    if size == 1:
        return IdentityAxis(size)
    optimised = optimised_tree if strategy is Strategy.TREES else stored_windows
    return _simple(optimised(size, workload, law))


def _simple(axis: WindowAxis) -> AxisTransform:
    """The axis as a transform; without windows it is the identity, which is faster."""
    return axis if len(axis.windows) else IdentityAxis(axis.size)
