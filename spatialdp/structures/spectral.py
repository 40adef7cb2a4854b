"""How is a block of Fourier coefficients measured? As whole numbers of steps, and inverted after the noise.

The derivation is in ``docs/design/fourier.md``. Coefficients must stay exact integers until their
noise is added; counts are cut off at a public limit. This module sees counts, never records.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from spatialdp._support.arrays import Floats, Integers
from spatialdp._support.override import override
from spatialdp.estimates.grid_noise import SeparableNoise
from spatialdp.estimates.histogram import Histogram
from spatialdp.privacy.neighbours import Neighbours, Sensitivity
from spatialdp.privacy.noise.wide import Wide
from spatialdp.space.domain import Grid
from spatialdp.structures.base import GridStructure, Laws, noise_of
from spatialdp.transforms.frequency_blocks import (
    FrequencyBlock,
    largest_count,
    sensitivity_of,
    squared_length,
    step_width,
)
from spatialdp.transforms.integer_waves import Spectrum, constant_gain, spectrum
from spatialdp.transforms.spectral import Basis, SpectralAxis, padded, synthesise

__all__ = ["SpectralBlock"]


@dataclass(frozen=True, eq=False)
class SpectralBlock(GridStructure):
    """A block of the coefficients of a grid's counts, as whole numbers of steps; one group.

    Attributes
    ----------
    basis : Basis
    grid : Grid
    block : FrequencyBlock
    """

    basis: Basis
    grid: Grid
    block: FrequencyBlock

    @property
    @override
    def groups(self) -> tuple[str, ...]:
        return ("coefficients",)

    @property
    def n_functions(self) -> int:
        """Number of all coefficients, measured or not."""
        return math.prod(self.sizes)

    @property
    def sizes(self) -> tuple[int, int]:
        """Number of all coefficients along x and along y, measured or not."""
        nx, ny = self.grid.shape
        return padded(self.basis, nx), padded(self.basis, ny)

    @property
    def whole(self) -> bool:
        """Whether the block holds all coefficients, so that nothing is lost."""
        return self.block.n_coefficients == self.n_functions

    @override
    def sensitivity(self, group: int, neighbours: Neighbours) -> Sensitivity:  # noqa: ARG002 - there is one group
        return sensitivity_of(self.basis, self.grid, self.block, neighbours)

    @override
    def once_each(self, group: int, neighbours: Neighbours, most: int) -> int:  # noqa: ARG002 - there is one group
        cells = most if neighbours is Neighbours.ADD_REMOVE else 2 * most
        return squared_length(self.basis, self.grid.shape, cells)

    @property
    def width(self) -> float:
        """Width of a step: measurements times this are orthonormal coefficients."""
        return step_width(self.basis, self.grid.shape)

    @override
    def measure(self, counts: Integers) -> Iterator[Wide]:
        limited = np.minimum(counts, largest_count(self.basis, self.grid.shape))
        return self.select(spectrum(limited, self.basis, (self.block.x[-1], self.block.y[-1])))

    def select(self, coefficients: Spectrum) -> Iterator[Wide]:
        """Measurements of the block out of a spectrum that holds at least its coefficients."""
        steps = coefficients.whole(slice(self.block.y[-1]), slice(self.block.x[-1]))
        return iter([steps if self._rectangle else steps[self.block.mask]])

    @override
    def fit(self, noisy: Iterable[Floats], laws: Laws) -> Floats:  # noqa: ARG002 - an inverse has no weights
        (steps,) = noisy
        if not self._rectangle:
            table = np.zeros((self.block.y[-1], self.block.x[-1]))  # zeros where nothing is measured
            table[self.block.mask] = steps
            steps = table
        coefficients = steps * self.width
        coefficients[:, 0] /= constant_gain(self.basis, self.grid.shape[0])
        coefficients[0] /= constant_gain(self.basis, self.grid.shape[1])
        return _inverse(coefficients, self.basis, self.grid.shape)

    @override
    def estimate(self, values: Floats, laws: Laws) -> Histogram:
        # Biased unless everything is measured: unmeasured coefficients are taken as 0.
        return replace(super().estimate(values, laws), biased=not self.whole)

    @override
    def noise_model(self, laws: Laws) -> SeparableNoise:
        # Every measured pair of bands has the same noise; the others are zeros without noise.
        x, y = (
            SpectralAxis(size, self.basis, edges)
            for size, edges in zip(self.grid.shape, (self.block.x, self.block.y), strict=True)
        )
        variances, kurtosis = noise_of(laws)
        kept = self.block.table.astype(np.float64)
        # The noise of a coefficient spans very many steps: as good as continuous.
        return SeparableNoise(x, y, kept * variances * self.width**2, kept * kurtosis, 0.0)

    @property
    @override
    def memory(self) -> int:
        return 9 * 8 * self.n_functions

    @property
    def _rectangle(self) -> bool:
        return all(map(all, self.block.kept))


def _inverse(coefficients: Floats, basis: Basis, shape: tuple[int, int]) -> Floats:
    return synthesise(synthesise(coefficients, basis, shape[1], 0), basis, shape[0], 1)
