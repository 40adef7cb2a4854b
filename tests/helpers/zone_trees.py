"""Small random trees of zones, and frames of zones on a strip of unit squares, for tests."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import shapely

from spatialdp.estimates.zones.counts import ZoneCounts
from spatialdp.space.domain import Domain
from spatialdp.space.zones.chains import Chains, merged
from spatialdp.trees.shape import TreeShape


def random_shape(rng: np.random.Generator, *, height: int = 4, most: int = 5, leaves: int = 60) -> TreeShape:
    """Leaves at any depth, 1 to `most` children, only children among them, at most about so many leaves."""
    levels = [[int(rng.integers(2, most + 1))]]
    for depth in range(1, height + 1):
        size = sum(levels[-1])
        room = leaves - sum(1 for level in levels for count in level if not count)
        stop = depth == height or size * 2 > room
        counts = [0 if stop or rng.random() < 0.2 else int(rng.integers(1, most + 1)) for _ in range(size)]
        while sum(counts) > room:
            counts[int(rng.integers(size))] = 0
        levels.append(counts)
        if not any(counts):
            break
    offsets = np.concatenate([[0], np.cumsum([len(level) for level in levels])])
    return TreeShape(offsets, np.concatenate(levels).astype(np.int32))


@dataclass(frozen=True, eq=False)
class Strip:
    """A frame whose leaves are squares side by side, in the order of their numbers; it has what `ZoneCounts` needs."""

    shape: TreeShape
    crs: str | None = None

    @property
    def n_leaves(self) -> int:
        return self.shape.n_leaves

    @cached_property
    def chains(self) -> Chains:
        return merged(self.shape)

    @cached_property
    def geometry(self) -> np.ndarray:
        left = np.arange(self.n_leaves, dtype=float)
        return shapely.box(left, 0.0, left + 1.0, 1.0)

    @cached_property
    def domain(self) -> Domain:
        return Domain((0, 0, self.n_leaves, 1))


def random_noise(rng, shape, *, unmeasured=0.2, known=0.0):
    """Variances and kurtosis of merged nodes; some inner nodes unmeasured, some nodes known exactly."""
    variances = rng.uniform(0.5, 20.0, shape.n_nodes)
    variances[(rng.random(shape.n_nodes) < unmeasured) & ~shape.leaves] = np.inf
    variances[rng.random(shape.n_nodes) < known] = 0.0
    kurtosis = np.where(np.isfinite(variances) & (variances > 0), rng.uniform(0, 6, shape.n_nodes), 0.0)
    return variances, kurtosis


def counts_on(zones, values, variances, kurtosis, **options) -> ZoneCounts:
    return ZoneCounts(
        zones, values, variances, kurtosis, options.pop("step", 1.0), options.pop("consistent", True), **options
    )


def merged_shape(shape: TreeShape) -> TreeShape:
    return merged(shape).shape
