"""How are hot spots and sums of areas one release? As a list of small cells on top of a map of large blocks.

The map says how many records a block has, and the list where some of them are. A box takes whole blocks from the map.
Of a block that it cuts, it takes the listed cells that lie in the box, and the covered share of the rest, which is the
block's estimate minus the listed counts. So whole blocks keep their estimates, and estimates of parts add up.

The noise of the map and that of the listed counts are independent, so variances add up
(``docs/design/sparse.md``). Everything here is released.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NoReturn

import numpy as np

from spatialdp._support.arrays import Array, Booleans, Floats, Integers, expand_ranges
from spatialdp.errors import ReleaseError
from spatialdp.estimates.base import Unsmoothed, moments_of
from spatialdp.estimates.decomposition import Decomposition
from spatialdp.estimates.sparse.listed import ListedCells
from spatialdp.estimates.unevenness.allowance import Allowance
from spatialdp.estimates.zones.shares import LeafAreas
from spatialdp.space.fine_grid import FineGrid
from spatialdp.space.polygons import Polygons

__all__ = ["ListOverMap"]

_MOST_PAIRS = 2**21  # of a query and a listed cell that are looked at together


@dataclass(frozen=True, eq=False)
class ListOverMap(Unsmoothed):
    """A map of blocks, and counts of listed cells that lie in them; an `Estimate`.

    The leaves are the blocks of the map, with the map's estimates.

    Attributes
    ----------
    map : Decomposition
        Estimated counts of the blocks, which are the cells of a grid.
    listed : ListedCells
        Estimated counts of the listed cells. Each of them lies in one block.
    """

    kind: ClassVar[str] = "listed-map"
    consistent: ClassVar[bool] = True
    extrapolates: ClassVar[bool] = False

    map: Decomposition
    listed: ListedCells

    @property
    def biased(self) -> bool:
        """Whether the errors of the estimates no longer average out."""
        return self.map.biased or self.listed.biased

    @property
    def values(self) -> Floats:
        """Estimated counts of the nodes of the map's tree."""
        return self.map.values

    @property
    def n_cells(self) -> int:
        """Number of blocks."""
        return self.map.n_cells

    @property
    def total(self) -> float:
        """Estimated number of records: that of the map."""
        return self.map.total

    @property
    def step(self) -> float:
        """Width of the lattice on which the noise lies."""
        return max(self.map.step, self.listed.step)

    @property
    def leaf_steps(self) -> bool:
        """Whether the noise of each block's estimate is a whole multiple of `step`; it is not taken to be."""
        return False

    def in_words(self, counted: str = "records") -> str:
        """Return what is listed in the blocks, for captions and files; `counted` is what is counted."""
        return (
            f"Within blocks, {self.listed.n_cells:,} cells have counts of their own. {self.listed.in_words(counted)} "
            f"Blocks and areas count all {counted}, listed or not."
        )

    def in_steps(self, boxes: Integers) -> Booleans:
        """Whether the noise of each answer is a whole multiple of `step`; it is not taken to be."""
        return np.zeros(len(boxes), dtype=bool)

    def polygons_in_steps(self, polygons: Polygons) -> Booleans:
        """Whether the noise of each polygon's answer is a whole multiple of `step`; it is not taken to be."""
        return np.zeros(len(polygons), dtype=bool)

    def answer(self, boxes: Integers) -> Floats:
        """Estimated counts of lattice boxes."""
        return self.map.answer(boxes) + self._summed(boxes, self._counted)

    def moments(self, boxes: Integers) -> tuple[Floats, Floats]:
        """Variance and excess kurtosis of the noise in each answer."""
        return self._with_list(boxes, *self.map.moments(boxes))

    def allowance(self, boxes: Integers) -> Allowance:
        """What uneven spread within cut blocks and within cut listed cells adds to the error of each answer.

        For blocks it is what the map alone would need, which knows nothing of the places of listed cells.
        """
        return Allowance(self.map.allowance(boxes).variance + self.listed.allowance(boxes).variance)

    def uniformity(self, boxes: Integers) -> Floats:
        """About how far each answer can be off because records are not evenly spread: that of the map and the list."""
        return self.map.uniformity(boxes) + self.listed.uniformity(boxes)

    def answer_polygons(self, polygons: Polygons) -> Floats:
        """Estimated counts of polygons."""
        return self.map.answer_polygons(polygons) + self._summed(polygons, self._counted)

    def polygon_moments(self, polygons: Polygons) -> tuple[Floats, Floats]:
        """Variance and excess kurtosis of the noise in each polygon's answer."""
        return self._with_list(polygons, *self.map.polygon_moments(polygons))

    def polygon_allowance(self, polygons: Polygons) -> Allowance:
        """What uneven spread within cut blocks and listed cells adds to the error of each polygon's answer."""
        variances = [each.polygon_allowance(polygons).variance for each in (self.map, self.listed)]
        return Allowance(variances[0] + variances[1])

    def leaf_boxes(self, numbers: Integers | slice = slice(None)) -> Integers:
        """Lattice boxes of all blocks, or of some by their numbers."""
        return self.map.leaf_boxes(numbers)

    def leaf_values(self) -> Floats:
        """Estimated counts of the blocks."""
        return self.map.leaf_values()

    def leaf_moments(self) -> tuple[Floats, Floats]:
        """Variance and excess kurtosis of the noise in each block's estimate."""
        return self.map.leaf_moments()

    def leaf_allowance(self) -> Allowance:
        """What uneven spread adds to the errors of whole blocks: nothing."""
        return self.map.leaf_allowance()

    def non_negative(self, method: Any) -> NoReturn:  # noqa: ARG002 - refused in any way
        """Refused: what is not listed in a block would have to change with the list."""
        raise _fixed()

    def rounded(self) -> NoReturn:
        """Refused, as `non_negative` is."""
        raise _fixed()

    # --- what the list moves within blocks ---------------------------------------------------------

    @cached_property
    def _block_numbers(self) -> tuple[Integers, Integers]:
        """Columns and rows of the blocks that hold each listed cell."""
        return self.listed.grid.blocks_of(self.listed.columns, self.listed.rows)

    @cached_property
    def blocks(self) -> Integers:
        """Lattice box of the block that holds each listed cell."""
        assert self.map.shape is not None
        return FineGrid(self.map.domain, self.map.shape).lattice_boxes(*self._block_numbers)

    @cached_property
    def _cells(self) -> Integers:
        """Lattice box of each listed cell."""
        return self.listed.leaf_boxes()

    @cached_property
    def _areas(self) -> tuple[LeafAreas, LeafAreas]:
        """The listed cells and their blocks as polygons."""
        import shapely

        assert self.map.shape is not None
        cells = self.listed.grid.boxes(self.listed.columns, self.listed.rows)
        blocks = FineGrid(self.map.domain, self.map.shape).boxes(*self._block_numbers)
        of = [np.asarray(shapely.box(*each.T), dtype=object) for each in (cells, blocks)]
        return LeafAreas(of[0], self.map.domain), LeafAreas(of[1], self.map.domain)

    @cached_property
    def _cells_by_block(self) -> tuple[Integers, Integers, Integers]:
        """The listed cells, block by block; where each block with any of them begins, and where the last one ends."""
        columns, rows = self._block_numbers
        order = np.lexsort((columns, rows))
        changes = np.diff(columns[order], prepend=-1) | np.diff(rows[order], prepend=-1)
        starts = np.flatnonzero(changes)
        return order, starts, np.append(starts, order.size)[1:]

    def _moved(self, queries: Array) -> Iterator[tuple[slice, Integers, Integers, Floats]]:
        """For some queries at a time, pairs of a query and a listed cell: the cell's covered share minus its block's.

        Pairs that are left out have the same share of both: cells whose block is covered, or not touched.
        """
        step = max(1, _MOST_PAIRS // max(1, self.listed.n_cells))
        for start in range(0, len(queries), step):
            chunk = slice(start, start + step)
            pairs = self._of_boxes if queries.ndim == 2 else self._of_polygons
            yield chunk, *pairs(queries[chunk])

    def _of_boxes(self, boxes: Integers) -> tuple[Integers, Integers, Floats]:
        order, starts, stops = self._cells_by_block
        held, area = self.blocks[order[starts]], self.map.area
        shares = _covered(held[None], boxes[:, None])  # (boxes, blocks)
        query, block = np.nonzero((shares > 0) & (shares < 1))
        share = shares[query, block]
        if area is not None:  # a block on the border of the region is spread over its part of it
            share = area.shares(boxes[query], held[block])
        pair, place = expand_ranges(starts[block], stops[block])
        query, cell = query[pair], order[place]
        return query, cell, _covered(self._cells[cell], boxes[query]) - share[pair]

    def _of_polygons(self, polygons: Polygons) -> tuple[Integers, Integers, Floats]:
        cells, blocks = self._areas
        moved = self._polygon_shares(cells, polygons) - self._polygon_blocks(blocks, polygons)
        query, cell = np.nonzero(moved)
        return query, cell, moved[query, cell]

    def _polygon_blocks(self, blocks: LeafAreas, polygons: Polygons) -> Floats:
        area = self.map.area
        if area is None:
            return self._polygon_shares(blocks, polygons)
        shares = self._polygon_shares(blocks, area.clip(polygons))
        query, cell = np.nonzero(shares)
        shares[query, cell] = area.relative(shares[query, cell], self.blocks[cell])
        return shares

    def _polygon_shares(self, areas: LeafAreas, polygons: Polygons) -> Floats:
        sets = areas.of(polygons)
        shares = np.zeros((len(polygons), self.listed.n_cells))
        shares[sets.owner, sets.node] = sets.share
        return shares

    def _summed(self, queries: Array, weigh: Callable[[Floats, Integers], Floats]) -> Floats:
        """For every query, the sum over listed cells of a function of how far each one's share is moved, and which."""
        result = np.zeros(len(queries))
        if self.listed.n_cells:
            for chunk, query, cell, moved in self._moved(queries):
                result[chunk] = np.bincount(query, weigh(moved, cell), minlength=result[chunk].size)
        return result

    def _counted(self, moved: Floats, cell: Integers) -> Floats:
        return moved * self.listed.values[cell]

    def _with_list(self, queries: Array, variance: Floats, kurtosis: Floats) -> tuple[Floats, Floats]:
        """Variance and excess kurtosis of the map's answers, with the noise of the listed counts."""
        second, fourth = (self._summed(queries, lambda moved, _, k=k: moved**k) for k in (2, 4))  # type: ignore[misc]
        own = self.listed.variance
        return moments_of(variance + own * second, kurtosis * variance**2 + self.listed.kurtosis * own**2 * fourth)


def _covered(areas: Integers, boxes: Integers) -> Floats:
    """Return the share of each lattice area that the box beside it covers; arrays of (..., 4) that broadcast."""
    shares: Floats = np.ones(1)
    for low in (0, 1):
        overlap = np.minimum(areas[..., low + 2], boxes[..., low + 2]) - np.maximum(areas[..., low], boxes[..., low])
        shares = shares * np.maximum(overlap, 0) / (areas[..., low + 2] - areas[..., low])
    return shares


def _fixed() -> ReleaseError:
    return ReleaseError(
        "this release is a list over a map, whose numbers cannot be adjusted or drawn from alone, because what is not "
        "listed in a block is its estimate minus the listed counts; take its map or its list, `estimate.map` or "
        "`estimate.listed`, and adjust that."
    )
