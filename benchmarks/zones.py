"""How fast are trees of zones fitted, and how fast are their variances and budgets known? For millions of zones.

The tree has the fan-outs of a census: some 50 states, 3,100 counties, and below them drawn tracts, block groups and
blocks; millions of leaves in all. A fit is compared with the sums of families alone (`np.add.reduceat`, level by
level). A tree of an eighth of the size shows that the work grows with the number of zones and no faster.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from benchmarks.measure import Result, in_turn, seconds
from spatialdp._support.arrays import Floats
from spatialdp._support.tree_shape import TreeShape
from spatialdp.estimates.tree_noise import TreeNoise
from spatialdp.privacy.noise.laws import Law
from spatialdp.space.zones.chains import merged
from spatialdp.strategies.zone_budgets import ZoneObjective, best_shares, importance_of_levels
from spatialdp.trees.least_squares import subtree_variances, two_pass

COUNTIES = 3_100


def drawn_tree(counties: int, seed: int = 3) -> TreeShape:
    """A tree of six levels with about 2,600 zones for each county."""
    rng = np.random.default_rng(seed)
    states = np.diff(np.unique(np.linspace(0, counties, 51).astype(int)))
    families = [np.array([states.size]), states]
    for mean, spread in ((2.17, 1.5), (0.9, 0.6), (3.25, 0.7)):
        families.append(np.maximum(np.rint(rng.lognormal(mean, spread, int(families[-1].sum()))), 1).astype(np.int64))
    families.append(np.zeros(int(families[-1].sum()), dtype=np.int64))
    return TreeShape(np.cumsum([0, *(family.size for family in families)]), np.concatenate(families))


def family_sums(shape: TreeShape, values: Floats) -> None:
    """Add up the families of every level, as fast as numpy does; no node has no children above the lowest level."""
    for depth in range(shape.height):
        starts = shape.first_child[shape.level(depth)] - shape.offsets[depth + 1]
        np.add.reduceat(values[shape.level(depth + 1)], starts)


def zone_fits() -> Iterator[Result]:
    """Time the fit of all zones, given the variances that are known beforehand, against sums over families."""
    shape = drawn_tree(COUNTIES)
    rng = np.random.default_rng(1)
    counts, levels = rng.normal(size=shape.n_nodes), np.array([4.0, 1, 2, 3, 1, 2])
    family_sums(shape, counts)  # what the shape keeps is made before the time is taken
    ours, theirs = in_turn(lambda: two_pass(shape, counts, levels), lambda: family_sums(shape, counts), repeat=3)
    words = f"{shape.n_nodes / 1e6:.1f} million zones"
    yield Result(f"fit of {words}, over np.add.reduceat of all levels", ours / theirs, 5, at_least=False)
    small = drawn_tree(COUNTIES // 8)
    for what, work in (("merging chains", _merged), ("variances", _variances), ("balanced budgets", _budgets)):
        few, many = (seconds(partial(work, tree), 1) / tree.n_nodes for tree in (small, shape))
        words = f"{what}, time a zone for {shape.n_nodes / 1e6:.1f} over {small.n_nodes / 1e6:.1f} million"
        yield Result(words, many / few, 2, at_least=False)


def _merged(shape: TreeShape) -> None:
    merged(shape)


def _variances(shape: TreeShape) -> None:
    levels = np.array([4.0, 1, 2, 3, 1, 2])
    subtree_variances(shape, levels)
    TreeNoise(shape, levels, np.zeros(6)).fitted_variances()


def _budgets(shape: TreeShape) -> None:
    chains = merged(shape)
    importance = importance_of_levels(shape, chains.place, chains.shape.n_nodes)
    scales = np.ones(len(chains.spans))
    best_shares(ZoneObjective(chains.shape, chains.group, chains.spans, importance, Law.LAPLACE, scales))


BENCHMARKS = (zone_fits,)
