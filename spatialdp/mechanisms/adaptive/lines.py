"""Where are the nodes of a growing tree split? At midpoints, private medians, or lines read off a noisy grid.

A line is a lattice line of the node's public box. `MedianLines` is the only class here that looks at
records privately, through `privacy.noise.medians`; `TrueLines` looks at them without noise and is for
comparison only, in releases that are marked as not private.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from spatialdp._support.arrays import Floats, Integers
from spatialdp._support.override import override
from spatialdp.estimates.grid_noise import IndependentNoise
from spatialdp.estimates.histogram import Histogram
from spatialdp.privacy.neighbours import Neighbours
from spatialdp.privacy.noise.medians import Median, medians
from spatialdp.privacy.noise.source import Noise
from spatialdp.records.nodes import Nodes
from spatialdp.space.domain import Domain, Grid

__all__ = ["CellLines", "Halves", "Lines", "MedianLines", "TrueLines"]


class Lines(ABC):
    """A way to choose the split lines of the nodes of one level."""

    @abstractmethod
    def choose(self, nodes: Nodes, axis: int) -> Integers:
        """A split line for every node, low < line < high, or high where the node is too narrow to be split.

        Parameters
        ----------
        nodes : Nodes
        axis : int
            0 for x, 1 for y.
        """


class Halves(Lines):
    """Lines at the midpoints of the nodes; public, without cost."""

    @override
    def choose(self, nodes: Nodes, axis: int) -> Integers:
        low, high = nodes.range(axis)
        return np.where(high - low > 1, (low + high) // 2, high)


@dataclass(frozen=True)
class MedianLines(Lines):
    """Lines at private medians; each call of `choose` costs `epsilon`, or for a person k times that with k records.

    Attributes
    ----------
    method : Median
    epsilon : Fraction
        Cost of the lines of one level along one axis, for neighbours that differ by one record or a weight of 1.
    neighbours : Neighbours
    sampling : Fraction or None
        Share of the records in the secret sample that lines are chosen from.
    noise : Noise
    """

    method: Median
    epsilon: Fraction
    neighbours: Neighbours
    sampling: Fraction | None
    noise: Noise

    @override
    def choose(self, nodes: Nodes, axis: int) -> Integers:
        return medians(
            nodes.sorted(axis),
            nodes.starts,
            *nodes.range(axis),
            method=self.method,
            epsilon=self.epsilon,
            neighbours=self.neighbours,
            noise=self.noise,
            sampling=self.sampling,
            weights=nodes.weights(axis),
        )


class TrueLines(Lines):
    """Lines at the true medians, or at the midpoints of empty nodes; not private, for comparison only."""

    @override
    def choose(self, nodes: Nodes, axis: int) -> Integers:
        low, high = nodes.range(axis)
        values = np.append(nodes.sorted(axis).astype(np.int64), 0)
        middle = values[nodes.starts[:-1] + nodes.counts // 2]
        line = np.where(nodes.counts > 0, middle, (low + high) // 2)
        return np.where(high - low > 1, np.clip(line, low + 1, high - 1), high)


class CellLines(Lines):
    """Lines read off a released noisy grid, with half of the box's estimated records on each side."""

    def __init__(self, grid: Grid, values: Floats) -> None:
        everywhere = Domain(grid.domain.bounds).grid(grid.shape)  # plain shares of cells are enough to find a line
        noise = IndependentNoise(everywhere, 0.0, 0.0, 0.0)
        self._cells = Histogram(everywhere, np.maximum(values, 0.0), noise, biased=True)

    @override
    def choose(self, nodes: Nodes, axis: int) -> Integers:
        # Bisect the lattice for the line that halves the estimate.
        low, high = nodes.range(axis)
        half = self._cells.answer(nodes.boxes) / 2
        below, above = low + 1, high - 1
        while np.any(below < above):
            line = (below + above) // 2
            part = nodes.boxes.copy()
            part[:, axis + 2] = line
            enough = self._cells.answer(part) >= half
            below, above = np.where(enough, below, np.minimum(line + 1, above)), np.where(enough, line, above)
        empty = half <= 0
        below = np.where(empty, (low + high) // 2, below)
        return np.where(high - low > 1, np.clip(below, low + 1, high - 1), high)
