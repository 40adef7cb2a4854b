"""One block of the coefficients of a two-dimensional spectrum, in whole numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from spatialdp._support.arrays import Floats, Integers
from spatialdp.estimates.grid_noise import SeparableNoise
from spatialdp.estimates.histogram import Histogram
from spatialdp.privacy.neighbours import Neighbours, Sensitivity
from spatialdp.privacy.noise.wide import Wide
from spatialdp.space.domain import Grid
from spatialdp.structures.base import GridStructure, Laws, noise_of
from spatialdp.transforms.frequency_blocks import FrequencyBlock, largest_count, sensitivity_of, step_width
from spatialdp.transforms.integer_waves import Spectrum, constant_gain, spectrum
from spatialdp.transforms.spectral import Basis, SpectralAxis, padded, synthesise


@dataclass(frozen=True, eq=False)
class SpectralBlock(GridStructure):
    """A block of a grid's coefficients, as whole numbers of steps; one group.

    Attributes
    ----------
    basis : Basis
    grid : Grid
    block : Block
    """

    basis: Basis
    grid: Grid
    block: FrequencyBlock

    @property
    def groups(self) -> tuple[str, ...]:
        """One."""
        return ("coefficients",)

    @property
    def n_functions(self) -> int:
        """Number of all coefficients, measured or not."""
        return math.prod(self.sizes)

    @property
    def sizes(self) -> tuple[int, int]:
        """Number of all coefficients along x and y."""
        nx, ny = self.grid.shape
        return padded(self.basis, nx), padded(self.basis, ny)

    @property
    def whole(self) -> bool:
        """Whether all coefficients are measured."""
        return self.block.n_coefficients == self.n_functions

    def sensitivity(self, group: int, neighbours: Neighbours) -> Sensitivity:  # noqa: ARG002 - there is one group
        """In steps."""
        return sensitivity_of(self.basis, self.grid, self.block, neighbours)

    @property
    def width(self) -> float:
        """Of a step, as orthonormal coefficients."""
        return step_width(self.basis, self.grid.shape)

    def measure(self, counts: Integers) -> Iterator[Wide]:
        """Coefficients of counts that are cut off at the public limit."""
        cut = np.minimum(counts, largest_count(self.basis, self.grid.shape))
        return self.taken(spectrum(cut, self.basis, (self.block.x[-1], self.block.y[-1])))

    def taken(self, found: Spectrum) -> Iterator[Wide]:
        """What is measured of all coefficients, or of the first ones."""
        steps = found.whole(slice(self.block.y[-1]), slice(self.block.x[-1]))
        return iter([steps if self._rectangle else steps[self.block.mask]])

    def fit(self, noisy: Iterable[Floats], laws: Laws) -> Floats:  # noqa: ARG002 - an inverse knows no weights
        """The inverse, with zeros for what is not measured."""
        (steps,) = noisy
        if not self._rectangle:
            low = np.zeros((self.block.y[-1], self.block.x[-1]))
            low[self.block.mask] = steps
            steps = low
        coefficients = steps * self.width
        coefficients[:, 0] /= constant_gain(self.basis, self.grid.shape[0])
        coefficients[0] /= constant_gain(self.basis, self.grid.shape[1])
        return _inverse(coefficients, self.basis, self.grid.shape)

    def estimate(self, values: Floats, laws: Laws) -> Histogram:
        """Biased, if something was not measured."""
        return replace(super().estimate(values, laws), biased=not self.whole)

    def noise_model(self, laws: Laws) -> SeparableNoise:
        """Every kept pair of bands has the same noise, the others have none."""
        x, y = (
            SpectralAxis(size, self.basis, edges)
            for size, edges in zip(self.grid.shape, (self.block.x, self.block.y), strict=True)
        )
        variances, kurtosis = noise_of(laws)
        kept = self.block.table.astype(np.float64)
        return SeparableNoise(x, y, kept * variances * self.width**2, kept * kurtosis)

    @property
    def memory(self) -> int:
        """Of arrays of coefficients."""
        return 9 * 8 * self.n_functions

    @property
    def _rectangle(self) -> bool:
        return all(map(all, self.block.kept))


def _inverse(coefficients: Floats, basis: Basis, shape: tuple[int, int]) -> Floats:
    return synthesise(synthesise(coefficients, basis, shape[1], 0), basis, shape[0], 1)
