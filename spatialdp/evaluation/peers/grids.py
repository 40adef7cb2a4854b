"""Uniform and adaptive grids, whose cells are as many as the records ask for (Qardaji, Yang, Li, ICDE 2013)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from spatialdp._support.override import override
from spatialdp.estimates.decomposition import Decomposition
from spatialdp.evaluation.peers.base import ByRecords, Design
from spatialdp.evaluation.peers.blocks import BlockCounter, assembled, count_law, divided
from spatialdp.privacy.noise.source import Noise
from spatialdp.records.points import Points

__all__ = ["AdaptiveGrid", "UniformGrid"]

CELLS_FOR = 10  # c of the paper: a grid of m x m cells with m² = n ε / c
LEAST_SIDE = 10  # of the first level of an adaptive grid
FIRST_SHARE = Fraction(1, 2)  # of ε, for the first level of an adaptive grid


@dataclass(frozen=True)
class UniformGrid(ByRecords):
    """UG: one grid of m x m cells with m = √(n ε / 10), rounded (Qardaji, Yang, Li, ICDE 2013).

    Parameters
    ----------
    shape : (nx, ny)
        The finest grid; edges of the method's cells are rounded to its lines.
    records : {"public", "paid"}
        Whether n is taken as public, which is not private, or costs 1 % of ε.

    Privacy
    -------
    With "paid": n and disjoint cells cost ε together, under add-remove. With "public" the release is not private.
    """

    name: ClassVar[str] = "uniform grid"

    @override
    def _estimate(self, points: Points, design: Design, noise: Noise) -> Decomposition:
        count = BlockCounter.of(points, design.grid)
        n, epsilon = self._n_and_rest(count.n, design.epsilon, noise)
        m = max(1, round(math.sqrt(max(n, 0.0) * float(epsilon) / CELLS_FOR)))
        blocks, _ = divided(np.array([[0, 0, *design.grid.shape]]), np.array([m]))
        law = count_law(epsilon)
        return assembled(
            design.grid, [blocks], [np.zeros(len(blocks), dtype=np.int64)], [count(blocks, law, noise)], [law]
        )


@dataclass(frozen=True)
class AdaptiveGrid(ByRecords):
    """AG: a coarse grid, each of whose cells is divided by its own noisy count (Qardaji, Yang, Li, ICDE 2013).

    The first level has m x m cells, m = max(10, ⌈⌈√(n ε / 10)⌉ / 4⌉), and half of ε. A cell with the noisy count N is
    divided into k x k cells, k = ⌈√(N ε / 2 / 5)⌉, that get the other half. Both levels are fitted by least squares.

    Parameters
    ----------
    shape, records
        As for `UniformGrid`.

    Privacy
    -------
    With "paid": n, the first and the second level cost ε together, under add-remove; the cells of a level are disjoint,
    and the second level follows from the first. With "public" the release is not private.
    """

    name: ClassVar[str] = "adaptive grid"

    @override
    def _estimate(self, points: Points, design: Design, noise: Noise) -> Decomposition:
        count = BlockCounter.of(points, design.grid)
        n, epsilon = self._n_and_rest(count.n, design.epsilon, noise)
        m = max(LEAST_SIDE, math.ceil(math.ceil(math.sqrt(max(n, 0.0) * float(epsilon) / CELLS_FOR)) / 4))
        first, second = count_law(epsilon * FIRST_SHARE), count_law(epsilon * (1 - FIRST_SHARE))
        blocks, _ = divided(np.array([[0, 0, *design.grid.shape]]), np.array([m]))
        counts = count(blocks, first, noise)
        wanted = np.sqrt(np.maximum(counts, 0.0) * float(epsilon * (1 - FIRST_SHARE)) / (CELLS_FOR / 2))
        cells, owner = divided(blocks, np.maximum(np.ceil(wanted), 1).astype(np.int64))
        return assembled(
            design.grid,
            [blocks, cells],
            [np.zeros(len(blocks), dtype=np.int64), owner],
            [counts, count(cells, second, noise)],
            [first, second],
        )
