"""How is a grid measured by the non-standard Haar wavelet? Each kind of difference of each scale is a group.

The transform and its sensitivities are in `transforms.quad_haar`. This module sees counts, never
records, and draws no noise.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from spatialdp._support.arrays import Floats, Integers
from spatialdp._support.override import override
from spatialdp.estimates.grid_noise import NoiseModel, QuadHaarNoise
from spatialdp.privacy.neighbours import Neighbours, Sensitivity
from spatialdp.space.domain import Grid
from spatialdp.structures.base import GridStructure, Laws, noise_of, step_of
from spatialdp.transforms.quad_haar import QuadHaar

__all__ = ["QuadtreeWavelet"]


@dataclass(frozen=True, eq=False)
class QuadtreeWavelet(GridStructure):
    """The non-standard Haar wavelet: the total, and each kind of difference of each scale of a quadtree."""

    grid: Grid

    @cached_property
    @override
    def groups(self) -> tuple[str, ...]:
        return tuple(f"coefficients {name}" for name in self._transform.groups)

    @override
    def sensitivity(self, group: int, neighbours: Neighbours) -> Sensitivity:
        return self._transform.sensitivity(group, neighbours)

    @override
    def once_each(self, group: int, neighbours: Neighbours, most: int) -> int:
        # A person's cells enter a coefficient with the same sign, in as many coefficients as they fill.
        same_sign = self._transform.cells_of_one_sign(group)
        filled, rest = divmod(most, same_sign)
        return (filled * same_sign**2 + rest**2) * self.sensitivity(group, neighbours).l2_squared

    @override
    def measure(self, counts: Integers) -> Iterator[Integers]:
        return iter(self._transform.forward(counts))

    @override
    def fit(self, noisy: Iterable[Floats], laws: Laws) -> Floats:  # noqa: ARG002 - an inverse has no weights
        return self._transform.inverse(list(noisy))

    @override
    def noise_model(self, laws: Laws) -> NoiseModel:
        return QuadHaarNoise(self._transform, *noise_of(laws), step_of(laws))

    def mean_squares(self) -> Floats:
        """Mean over all boxes of the sum of squares of each group's weights, (groups,)."""
        return self._transform.mean_squares()

    @property
    @override
    def memory(self) -> int:
        return 6 * 8 * self.grid.mask.size

    @cached_property
    def _transform(self) -> QuadHaar:
        return QuadHaar(*self.grid.shape)
