"""What do counts on a tree share, whether its nodes are boxes or zones? How they are adjusted, and the noise's steps.

Adjusting needs the shape of the tree and the noise, and no places. This module reads no record.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, Self, cast

import numpy as np

from spatialdp._support.arrays import Booleans, Floats, Integers
from spatialdp.errors import ReleaseError
from spatialdp.estimates.base import Unsmoothed
from spatialdp.space.polygons import Polygons
from spatialdp.trees.adjust import NonNegative, non_negative, project_families, round_consistent
from spatialdp.trees.shape import TreeShape
from spatialdp.trees.tree_noise import TreeNoise
from spatialdp.wording import parameter

__all__ = ["TreeCounts"]


class TreeCounts(Unsmoothed, ABC):
    """Estimated counts of the nodes of a tree; the base of dataclasses that are estimates.

    Attributes
    ----------
    values, variances : float arrays
        Estimated count of each node, and the variances of the measurements: one for each node or each level.
    consistent : bool
        Whether parents are the sums of their children.
    """

    values: Floats
    variances: Floats
    consistent: bool

    @property
    @abstractmethod
    def nodes(self) -> TreeShape:
        """The tree whose nodes are counted."""

    @property
    @abstractmethod
    def noise(self) -> TreeNoise:
        """The noise of the measurements and of the estimates."""

    @property
    def leaf_steps(self) -> bool:
        """Whether the noise of each leaf's estimate is a whole multiple of `step`; on trees none is taken to be."""
        return False

    def in_steps(self, boxes: Integers) -> Booleans:
        """Whether the noise of each answer is a whole multiple of `step`; on trees none is taken to be."""
        return np.zeros(len(boxes), dtype=bool)

    def polygons_in_steps(self, polygons: Polygons) -> Booleans:
        """Whether the noise of each polygon's answer is a whole multiple of `step`; on trees none is taken to be."""
        return np.zeros(polygons.size, dtype=bool)

    def non_negative(self, method: NonNegative) -> Self:
        """Consistent estimates without negative counts; biased."""
        self._require_consistent()
        if method is NonNegative.LEAST_SQUARES:
            return self._biased(non_negative(self.nodes, self.values, self.variances))
        return self._biased(project_families(self.nodes, self.values, self.noise.family_share))

    def rounded(self) -> Self:
        """Consistent estimates of whole counts, each within 1 of the estimate; biased."""
        self._require_consistent()
        return self._biased(round_consistent(self.nodes, self.values).astype(np.float64))

    def _biased(self, values: Floats) -> Self:
        return cast(Self, replace(cast(Any, self), values=values, biased=True))

    def _require_consistent(self) -> None:
        if not self.consistent:
            raise ReleaseError(
                "the estimates are not consistent, but only estimates that add up can be made non-negative or whole; "
                f"release with {parameter('consistent', True)}, then adjust them."
            )
