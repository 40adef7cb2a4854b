"""How are hot spots and sums of areas published at one cost? As a list of cells over a map of blocks.

A share of ε buys the list of `Sparse`, the rest a `Hierarchy` of large blocks. The shares are public, and each part
draws noise of its own. Both count the same: records, or what is kept of each person in the cells, of which a block
holds the sums. For sums of areas alone, `Adaptive` has smaller errors. See ``docs/mechanisms/sparse.md`` and
``docs/design/sparse.md``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, NoReturn

import numpy as np

from spatialdp._support.arrays import Integers
from spatialdp._support.checks import whole_pair
from spatialdp._support.override import override
from spatialdp.errors import ParameterError, PointsError
from spatialdp.estimates.sparse.over_map import ListOverMap
from spatialdp.mechanisms.adaptive.sparse import Sparse, SparseDesign
from spatialdp.mechanisms.base import Mechanism, Plan, Terms
from spatialdp.mechanisms.fixed.hierarchy import Hierarchy
from spatialdp.mechanisms.recipe import Design, check_cells
from spatialdp.privacy.budget import Number, exact
from spatialdp.privacy.noise.laws import Law
from spatialdp.privacy.noise.source import Noise
from spatialdp.privacy.unit import Bound, Person
from spatialdp.records.counting import can_occupy
from spatialdp.space.domain import Domain, Grid
from spatialdp.space.fine_grid import FineGrid
from spatialdp.structures.tree_levels import BlockLevels
from spatialdp.wording import parameter

__all__ = ["SparseMap", "SparseMapDesign"]


@dataclass(frozen=True)
class SparseMapDesign:
    """All that is public about a list over a map.

    Attributes
    ----------
    listing : SparseDesign
    blocks : Design of BlockLevels
    """

    listing: SparseDesign
    blocks: Design[BlockLevels]

    def block_counts(self, occupied: Integers, counts: Integers) -> Integers:
        """Return the exact counts of all blocks, (ny, nx), from those of the occupied cells."""
        cells = self.listing.grid
        assert isinstance(cells, FineGrid)
        columns, rows = cells.blocks_of(*cells.columns_and_rows(occupied))
        sums = np.zeros(self.blocks.structure.grid.shape[::-1], dtype=np.int64)
        np.add.at(sums, (rows, columns), counts)
        return sums


@dataclass(frozen=True)
class SparseMap(Mechanism):
    """A list of hot spots among up to 2^60 cells, over a map of blocks that counts all records; one release.

    Parameters
    ----------
    shape : (nx, ny), optional
        Number of columns and rows of the cells that may be listed: whole multiples of `blocks`.
    cell_size : float or (width, height), optional
        Instead of `shape`; must divide the domain.
    blocks : (nx, ny)
        Number of columns and rows of the map's blocks.
    share : number
        Share of the budget for the list, above 0 and below 1. The rest is for the map.
    false : number
        As for `Sparse`.
    remeasure : number
        Share of the list's budget that counts the listed cells afresh, above 0 and below 1.

    Privacy
    -------
    The list is a release of `Sparse` at ε₁ and the map one of `Hierarchy` at ε₂, and ε₁ + ε₂ = ε exactly: sequential
    composition of two mechanisms whose sensitivities are theirs (1 for each level or step under add-remove, 2 under
    replace). What is kept of a person is decided once, over the cells, and blocks are sums of it: so a person moves
    the cells, and each level of the map, by the bound at most (twice that under replace), also if the bound is on
    cells, because many of a person's cells may lie in one block. The shares are public. Putting the list over the map
    reads released numbers only. Sensitivities of both parts are checked by brute force, for records and persons, and
    releases are replayed, in ``tests/audit/test_sparse_map.py``.

    Notes
    -----
    `Adaptive` has smaller errors for sums of areas in all comparisons that were made. In a region, the cells that may
    be listed are those of the blocks that belong to it.

    Examples
    --------
    >>> import spatialdp as sdp
    >>> domain = sdp.Domain(bounds=(0, 0, 1, 1))
    >>> mechanism = sdp.SparseMap(shape=(2**30, 2**30), blocks=(8, 8))
    >>> release = mechanism.release([[0.3, 0.7]] * 5000, domain, epsilon=1)
    >>> [bool(4900 < release.answer(box) < 5100) for box in [(0.25, 0.6, 0.31, 0.71), (0.25, 0.5, 0.5, 0.75)]]
    [True, True]
    """

    name: ClassVar[str] = "sparse-map"
    law: ClassVar[Law] = Law.DISCRETE_LAPLACE  # type: ignore[misc]  # that of lists

    shape: Sequence[int] | None = None
    cell_size: float | Sequence[float] | None = None
    blocks: Sequence[int] = (64, 64)
    share: Number = Fraction(1, 2)
    false: Number = Fraction(1)
    remeasure: Number = Fraction(1, 4)

    def __post_init__(self) -> None:
        check_cells(self)
        object.__setattr__(self, "blocks", whole_pair(self.blocks, "blocks"))
        for name in ("share", "false", "remeasure"):
            object.__setattr__(self, name, exact(getattr(self, name), name))
        if not 0 < exact(self.share, "share") < 1:
            raise ParameterError(
                f"{parameter('share')} is {self.share}; it is the share of the budget for the list, and must be above "
                "0 and below 1, because list and map both need noise. Give 1/2, or use Sparse or Hierarchy alone."
            )
        if not self.remeasure:
            raise ParameterError(
                f"{parameter('remeasure')} is 0; counts by which cells were chosen are too high on average, and would "
                "be taken off the rest of their blocks, so fresh counts are needed. Give a share such as 1/4."
            )
        _ = self._listing

    @property
    def _listing(self) -> Sparse:
        return Sparse(self.shape, self.cell_size, self.false, self.remeasure)

    @property
    def _map(self) -> Hierarchy:
        return Hierarchy(self.blocks)

    @override
    def _design(self, domain: Domain, terms: Terms) -> SparseMapDesign:
        blocks, cells, whole = self.leaf_grid(domain), self._cells(domain), terms.spendable(self.law)
        first = whole * exact(self.share, "share")
        person = _person_of_blocks(terms.person, cells.n_cells)
        return SparseMapDesign(
            self._listing._at_cost(cells, first, terms),
            self._map._at_cost(blocks, whole - first, terms.neighbours, person),
        )

    def _cells(self, domain: Domain) -> FineGrid:
        """Return the cells that may be listed; refuses blocks that do not divide them."""
        fine = FineGrid.of(domain, self.shape, self.cell_size).shape
        if any(cells % number for cells, number in zip(fine, self.blocks, strict=True)):
            raise ParameterError(
                f"{parameter('blocks')} are {tuple(self.blocks)} and the grid has {fine[0]} x {fine[1]} cells, but "
                "each cell must lie in one block; give numbers of blocks that divide the numbers of cells."
            )
        return FineGrid(domain, fine, (self.blocks[0], self.blocks[1]))

    @override
    def _plan(self, design: SparseMapDesign) -> Plan:
        listing, blocks = self._listing._plan(design.listing), self._map._plan(design.blocks)
        steps = {f"map: {name}": cost for name, cost in blocks.budget.items()}
        noise = {f"map: {name}": drawn for name, drawn in blocks.noise.items()}
        return replace(
            listing,
            mechanism=self.name,
            budget=listing.budget | steps,
            noise=listing.noise | noise,
            memory=listing.memory + blocks.memory,
            standard_deviation=math.sqrt(design.listing.law.variance),
        )

    @override
    def _blank(self, design: SparseMapDesign) -> None:  # noqa: ARG002 - records decide which cells are listed
        return None

    @override
    def _records(self, points: Any, domain: Domain, person: Any) -> Any:
        records: Any = self._listing._records(points, domain, person)
        if not can_occupy(records, self._cells(domain)):
            raise PointsError(
                "the points are in a table and do not leave its engine, which does not know the blocks of a region; "
                "export them to a file and give that, or give a domain of bounds alone."
            )
        return records

    @override
    def _prepared_choice(self, domain: Any, terms: Terms, person: Any, chosen: Any) -> NoReturn:
        self._listing._prepared_choice(domain, terms, person, chosen)

    @override
    def _estimate(self, points: Any, design: SparseMapDesign, noise: Noise) -> ListOverMap:
        occupied, counts = design.listing.occupied(points)  # records are read once
        listed: Any = self._listing._listed(occupied, counts, design.listing, noise)
        exact_counts = design.blocks.structure.measure(design.block_counts(occupied, counts))
        blocks: Any = design.blocks.carry_out(exact_counts, noise)
        return ListOverMap(blocks, listed)

    @override
    def leaf_grid(self, domain: Domain) -> Grid:
        return self._map.leaf_grid(domain)


def _person_of_blocks(person: Person | None, cells: int) -> Person | None:
    """Return how a person is bounded in blocks: each of the cells that are kept counts once more there."""
    if person is None or person.bound is not Bound.CELLS:
        return person
    return Person(records=min(person.most, cells))
