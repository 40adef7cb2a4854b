"""Where the nodes of a growing tree are split: at midpoints, private medians, lines read off a noisy grid."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from spatialdp._support.arrays import Floats, Integers
from spatialdp.estimates.grid_noise import IndependentNoise
from spatialdp.estimates.histogram import Histogram
from spatialdp.privacy.neighbours import Neighbours
from spatialdp.privacy.noise.medians import Median, medians
from spatialdp.privacy.noise.source import Noise
from spatialdp.records.nodes import Nodes
from spatialdp.space.domain import Grid

__all__ = ["CellLines", "Halves", "Lines", "MedianLines", "TrueLines"]


class Lines(ABC):
    """A way to choose the split lines of a level's nodes."""

    @abstractmethod
    def choose(self, nodes: Nodes, axis: int) -> Integers:
        """A line for every node, low < line < high, or high where the node is too narrow to be split.

        Parameters
        ----------
        nodes : Nodes
        axis : int
            0 for x, 1 for y.
        """


class Halves(Lines):
    """Midpoints: public."""

    def choose(self, nodes: Nodes, axis: int) -> Integers:
        """Halve every box."""
        low, high = nodes.range(axis)
        return np.where(high - low > 1, (low + high) // 2, high)


@dataclass(frozen=True)
class MedianLines(Lines):
    """Private medians; costs `epsilon` for each call."""

    method: Median
    epsilon: Fraction
    neighbours: Neighbours
    sampling: Fraction | None
    noise: Noise

    def choose(self, nodes: Nodes, axis: int) -> Integers:
        """Draw a private median for every node."""
        return medians(
            nodes.sorted(axis),
            nodes.starts,
            *nodes.range(axis),
            method=self.method,
            epsilon=self.epsilon,
            neighbours=self.neighbours,
            noise=self.noise,
            sampling=self.sampling,
        )


class TrueLines(Lines):
    """True medians: not private, for comparison."""

    def choose(self, nodes: Nodes, axis: int) -> Integers:
        """The middle record of every node; the middle of an empty one."""
        low, high = nodes.range(axis)
        values = np.append(nodes.sorted(axis).astype(np.int64), 0)
        middle = values[nodes.starts[:-1] + nodes.counts // 2]
        wanted = np.where(nodes.counts > 0, middle, (low + high) // 2)
        return np.where(high - low > 1, np.clip(wanted, low + 1, high - 1), high)


class CellLines(Lines):
    """Lines read off a released noisy grid: half of the box's estimated records on each side."""

    def __init__(self, grid: Grid, values: Floats) -> None:
        self._cells = Histogram(grid, np.maximum(values, 0.0), IndependentNoise(grid, 0.0, 0.0, 0.0), biased=True)

    def choose(self, nodes: Nodes, axis: int) -> Integers:
        """Bisect the lattice for the line that halves the estimate."""
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
