"""How do zones appear on a map? As polygons of one level, each with its estimate and its noise: `ZoneCells`.

Polygons of public zones alone decide on places; values and noise come from the release.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from spatialdp._support.arrays import Floats, Integers, Integers32, Objects
from spatialdp._support.override import override
from spatialdp.estimates.zones.counts import ZoneCounts
from spatialdp.outputs.maps.cells import LEVEL, DrawnCells, Per
from spatialdp.outputs.zones.areas import ZoneAreas
from spatialdp.space.domain import Domain
from spatialdp.space.lattice import LATTICE
from spatialdp.trees.shape import TreeShape

__all__ = ["ZoneCells", "zone_cells"]


@dataclass(frozen=True, eq=False)
class ZoneCells(DrawnCells):
    """The zones of one level.

    Attributes
    ----------
    estimate : ZoneCounts
    zones : ZoneAreas
        The level's zones, as polygons.
    per : Per
        The unit of area; of ``Per.CELL``, that is one zone.
    counted : str
        What the estimates count, as `Privacy.counted` says it.
    """

    marks: ClassVar[str] = (
        f"may be noise alone: {100 * LEVEL:g} % interval extends below zero "
        "(of the empty zones, about 1 in 40 is not marked)"
    )

    estimate: ZoneCounts
    zones: ZoneAreas
    per: Per = Per.CELL
    counted: str = "records"

    @property
    @override
    def domain(self) -> Domain:
        return self.zones.domain

    @property
    @override
    def area(self) -> str:
        return self.zones.level

    @override
    def _counts(self) -> Floats:
        return self.estimate.of_nodes(self.zones.nodes).values

    @cached_property
    @override
    def areas(self) -> Floats:
        if self.per is Per.CELL:
            return np.ones(self.zones.nodes.size)
        return self.zones.square_kilometres if self.per is Per.KM2 else 1000 * self.zones.sizes

    @property
    @override
    def boxes(self) -> Integers:
        return self.zones.boxes

    @property
    @override
    def finest(self) -> float:
        return float((self.boxes[:, 2:] - self.boxes[:, :2]).max(axis=1).min() / LATTICE)

    @property
    @override
    def tree(self) -> TreeShape:
        return self.zones.zones.shape

    @override
    def outlined(self, most: int) -> int:
        return int(np.count_nonzero(self.tree.offsets[2 : self.zones.depth + 2] <= most))

    @override
    def outlines(self, depth: int) -> list[Floats]:
        return ZoneAreas.of(self.zones.zones, depth).rings()

    @property
    @override
    def polygons(self) -> Objects:
        return self.zones.geometry

    @override
    def _drawn(self, shape: tuple[int, int]) -> Integers32:
        return self.zones.numbers(shape)

    @override
    def _moments(self) -> tuple[Floats, Floats]:
        sums = self.estimate.of_nodes(self.zones.nodes)
        return sums.variance, sums.kurtosis


def zone_cells(estimate: ZoneCounts, level: int | str | None) -> ZoneCells:
    """Return the zones of a level, given its name or its number; by default the lowest one."""
    areas = ZoneAreas.of(estimate.zones, level)
    _ = areas.domain  # zones without polygons are refused before anything is drawn
    return ZoneCells(estimate, areas)
