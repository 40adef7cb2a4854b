"""The non-standard Haar wavelet: differences within the nodes of a quadtree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from spatialdp._support.arrays import Floats, Integers
from spatialdp.estimates.grid_noise import NoiseModel, QuadHaarNoise
from spatialdp.privacy.neighbours import Neighbours, Sensitivity
from spatialdp.space.domain import Grid
from spatialdp.structures.base import GridStructure, Laws, noise_of
from spatialdp.transforms.quad_haar import QuadHaar

__all__ = ["QuadtreeWavelet"]


@dataclass(frozen=True, eq=False)
class QuadtreeWavelet(GridStructure):
    """The non-standard Haar wavelet: the total, and each kind of difference of each scale of a quadtree."""

    grid: Grid

    @cached_property
    def groups(self) -> tuple[str, ...]:
        """The total, then kinds of differences from the coarsest scale on."""
        return tuple(f"coefficients {name}" for name in self._transform.groups)

    def sensitivity(self, group: int, neighbours: Neighbours) -> Sensitivity:
        """See `QuadHaar.sensitivity`."""
        return self._transform.sensitivity(group, neighbours)

    def measure(self, counts: Integers) -> Iterator[Integers]:
        """Sums and differences."""
        return iter(self._transform.forward(counts))

    def fit(self, noisy: Iterable[Floats], laws: Laws) -> Floats:  # noqa: ARG002 - an inverse knows no weights
        """The inverse."""
        return self._transform.inverse(list(noisy))

    def noise_model(self, laws: Laws) -> NoiseModel:
        """The noise of each group."""
        return QuadHaarNoise(self._transform, *noise_of(laws))

    def mean_squares(self) -> Floats:
        """Mean over all boxes of the sum of squares of each group's weights."""
        return self._transform.mean_squares()

    @property
    def memory(self) -> int:
        """Of arrays of cells."""
        return 6 * 8 * self.grid.mask.size

    @cached_property
    def _transform(self) -> QuadHaar:
        return QuadHaar(*self.grid.shape)
