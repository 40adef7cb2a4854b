"""How fast are trees of zones fitted, and how fast are their variances and budgets known? For millions of zones.

The tree has the fan-outs of a census: some 50 states, 3,100 counties, and below them drawn tracts, block groups and
blocks; millions of leaves in all. The yardstick is the sums of families alone (`np.add.reduceat`, level by level), and
time is processor time. The fit is all that a release does with noisy counts: putting them in the order of the tree,
working out the weights of the fit from the variances of the noise, and the passes up and down. What depends on the
zones alone is made before: the merged chains, and the places of each group's nodes.

A tree of an eighth of the size shows that the work grows with the number of zones and no faster.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from benchmarks.measure import Result, cpu_ratio, most_bytes, seconds
from spatialdp._support.arrays import Floats
from spatialdp.privacy.neighbours import Sensitivity
from spatialdp.privacy.noise.laws import Law, laws_for
from spatialdp.space.zones.chains import merged
from spatialdp.strategies.zone_budgets import ZoneObjective, best_shares, importance_of_levels
from spatialdp.structures.base import Laws
from spatialdp.structures.zone_levels import ZoneLevels
from spatialdp.trees.shape import TreeShape
from spatialdp.trees.tree_noise import TreeNoise

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


def drawn_levels(shape: TreeShape) -> tuple[ZoneLevels, Laws]:
    """The structure of a release by the zones of a tree, and its noise: the same share of ε for each level."""
    frame: Any = SimpleNamespace(shape=shape, chains=merged(shape))  # codes, which nothing here needs, take minutes
    structure = ZoneLevels(frame)
    costs = structure.costs_of([Fraction(1, 6)] * 6)
    return structure, laws_for(Law.DISCRETE_LAPLACE, costs, [Sensitivity(1, 1)] * len(costs))


def family_sums(shape: TreeShape, values: Floats) -> None:
    """Add up the families of every level, as fast as numpy does; no node has no children above the lowest level."""
    for depth in range(shape.height):
        starts = shape.first_child[shape.level(depth)] - shape.offsets[depth + 1]
        np.add.reduceat(values[shape.level(depth + 1)], starts)


def zone_fits() -> Iterator[Result]:
    """Time the fit of all zones, and the noise in all of them, against sums over families."""
    shape = drawn_tree(COUNTIES)
    structure, laws = drawn_levels(shape)
    values = np.random.default_rng(1).normal(size=shape.n_nodes)
    noisy = [group.of(values).copy() for group in structure.chains.groups]
    sums = partial(family_sums, shape, values)
    structure.fit(noisy, laws)  # what depends on the zones alone is made before the time is taken
    sums()
    words = f"{shape.n_nodes / 1e6:.1f} million zones, processor time over np.add.reduceat of all levels"
    yield Result(f"fit of {words}", cpu_ratio(lambda: structure.fit(noisy, laws), sums), 5, at_least=False)
    noise = structure.noise(laws)
    variances = cpu_ratio(lambda: TreeNoise(structure.tree, *noise).fitted_nodes(), sums, 3)
    yield Result(f"variance and kurtosis of {words}", variances, 20, at_least=False)
    yield Result(f"balanced budgets of {words}", cpu_ratio(lambda: _budgets(shape), sums, 2), 150, at_least=False)
    held = most_bytes(lambda: structure.estimate(structure.fit(noisy, laws), laws)) / structure.memory
    yield Result("fit of these zones, memory over what the plan says", held, 1, at_least=False)


def zone_growth() -> Iterator[Result]:
    """Time what is done with all zones, for each zone, in a large tree and in one of an eighth of the size."""
    trees = drawn_tree(COUNTIES // 8), drawn_tree(COUNTIES)
    sizes = " over ".join(f"{tree.n_nodes / 1e6:.1f}" for tree in reversed(trees))
    for what, work in (("merging chains", _merged), ("variances", _variances), ("balanced budgets", _budgets)):
        few, many = (seconds(partial(work, tree), 2, time.process_time) / tree.n_nodes for tree in trees)
        yield Result(f"{what}, processor time a zone for {sizes} million", many / few, 2, at_least=False)


def _merged(shape: TreeShape) -> None:
    merged(shape)


def _variances(shape: TreeShape) -> None:
    TreeNoise(shape, np.array([4.0, 1, 2, 3, 1, 2]), np.zeros(6)).fitted_nodes()


def _budgets(shape: TreeShape) -> None:
    chains = merged(shape)
    importance = importance_of_levels(shape, chains.place, chains.shape.n_nodes)
    scales = np.ones(len(chains.spans))
    best_shares(ZoneObjective(chains.shape, chains.group, chains.spans, importance, Law.LAPLACE, scales))


BENCHMARKS = (zone_fits, zone_growth)
