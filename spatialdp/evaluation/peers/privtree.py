"""PrivTree: a quadtree of any height, whose shape costs a constant (Zhang, Xiao, Xie, SIGMOD 2016)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from spatialdp._support.override import override
from spatialdp.estimates.decomposition import Decomposition
from spatialdp.evaluation.peers.base import Design, Peer
from spatialdp.evaluation.peers.blocks import BlockCounter, count_law, leaves_only
from spatialdp.privacy.noise.laws import Law, NoiseLaw
from spatialdp.privacy.noise.source import Noise
from spatialdp.records.points import Points
from spatialdp.space.boxes.subdivision import Subdivision

__all__ = ["PrivTree"]

SHAPE_SHARE = Fraction(1, 2)  # of ε, for the decisions to split
CHILDREN = 4  # of a node


@dataclass(frozen=True)
class PrivTree(Peer):
    """PrivTree: a quadtree of any height, whose nodes are split by noisy counts that fall with the depth.

    A node is split if max(count - depth δ, -δ) + noise > 0, with noise of scale λ = 7 / (3 ε / 2) and δ = λ ln 4. Half
    of ε decides on splits, the other half is spent on the leaves (Zhang, Xiao, Xie, SIGMOD 2016). Nodes end at single
    cells of the grid, which is public.

    Parameters
    ----------
    shape
        As for `UniformGrid`.

    Privacy
    -------
    The decisions to split cost half of ε by the authors' theorem, the counts of the disjoint leaves the other half. The
    noisy values that decide are not released.
    """

    name: ClassVar[str] = "privtree"

    @override
    def _estimate(self, points: Points, design: Design, noise: Noise) -> Decomposition:
        count, division = BlockCounter.of(points, design.grid), Subdivision(design.grid)
        scale = Fraction(2 * CHILDREN - 1, CHILDREN - 1) / (design.epsilon * SHAPE_SHARE)
        bias, fine = float(scale) * math.log(CHILDREN), NoiseLaw(Law.LAPLACE, 1024 * scale, 1024)
        levels, owners = [division.whole], [np.zeros(1, dtype=np.int64)]
        for depth in range(64):
            blocks = levels[-1]
            biased = np.maximum(count.exact(blocks) - depth * bias, -bias)
            split = biased + fine.add_to(np.zeros(len(blocks), dtype=np.int64), noise) > 0
            parents = np.flatnonzero(split & (division.halvings(blocks) > 0))
            if not parents.size:
                break
            parts, owner = division.halve(blocks[parents], np.full(parents.size, 2))
            levels.append(parts)
            owners.append(parents[owner])
        law = count_law(design.epsilon * (1 - SHAPE_SHARE))
        below = [*owners[1:], np.zeros(0, dtype=np.int64)]
        inner = [np.isin(np.arange(len(level)), some) for level, some in zip(levels, below, strict=True)]
        values = [np.where(some, 0.0, count(level, law, noise)) for level, some in zip(levels, inner, strict=True)]
        return leaves_only(design.grid, levels, owners, values, law)
