"""Intervals about noise cover as often as they say, for every structure, law, budget and level.

The weights with which measurements enter an answer are found by fitting unit vectors; the law of the answer follows
by drawing the measurements' noise many times. Seeds are fixed.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.estimates.intervals import half_width
from spatialdp.privacy.noise.laws import Law
from spatialdp.structures.tree_levels import fitted

UNIT = sdp.Domain((0, 0, 1, 1))
LEVELS = (0.8, 0.9, 0.95, 0.99)
DRAWS = 20_000  # standard error of a coverage: at most 0.3 points
MANY_DRAWS = 400_000  # at most 0.07 points; where fewer draws say that intervals are too narrow, so many decide
EPSILONS = (0.25, 3, 16)
MORE_EPSILONS = (0.5, 1, 2, 4, 8)  # in `make audit`

STRUCTURES = {
    "flat": (sdp.Flat((8, 8)), 8),
    "hierarchy": (sdp.Hierarchy((8, 8)), 8),
    "hierarchy of blocks": (sdp.Hierarchy((9, 9), levels=(1, 3)), 9),
    "hierarchy, 32 x 32": (sdp.Hierarchy((32, 32)), 32),
    "quadtree": (sdp.Quadtree(3), 8),
    "quadtree, leaves": (sdp.Quadtree(3, budget="leaves"), 8),
    "quadtree, raw": (sdp.Quadtree(3, consistent=False), 8),
    "tailored to cells": (sdp.Tailored((8, 8), workload="cells"), 8),
    "tailored": (sdp.Tailored((16, 16)), 16),
    "wavelet": (sdp.Wavelet((8, 8)), 8),
    "wavelet, quadtree": (sdp.Wavelet((8, 8), form="quadtree"), 8),
    "uniform": (sdp.Uniform((8, 8)), 8),
}
TREES = ("kd-tree", "tree of several depths")  # their leaves are no cells of a grid; they need Laplace laws
CASES = [
    *((name, law) for name in STRUCTURES for law in ("discrete-laplace", "gaussian", "laplace") if "32" not in name),
    *((name, law) for name in TREES for law in ("discrete-laplace", "laplace")),
]


def some_boxes(side):
    """Whole cells, blocks, and boxes that cut cells."""
    rng = np.random.default_rng(side)
    whole = [(x, y, x + w, y + w) for w in (1, 2, 3, side) for x, y in rng.integers(0, side - w + 1, (2, 2))]
    cut = np.sort(rng.random((5, 2, 2)), axis=1).reshape(-1, 4) * side
    return UNIT.boxes(np.concatenate([whole, cut]) / side)


def tree_weights(name, law, epsilon):
    """As `weights`, of a tree whose shape is taken as given."""
    mechanism = sdp.KdTree(3, law=law)
    prepared = mechanism.prepare(UNIT, epsilon=epsilon)
    places = np.random.default_rng(2).beta(2, 5, (2000, 2))
    made = prepared.release(places, noise=sdp.SeededNoise(1)).estimate
    tree, kept, boxes = made.tree, np.arange(made.tree.n_nodes), some_boxes(8)
    variances, kurtosis = (made.noise.at(values, kept) for values in (made.variances, made.kurtosis))
    owners = np.asarray(tree.depth, dtype=np.int64)
    if name != "kd-tree":  # a rule that does not look at any count
        tree, kept = tree.prune(kept % 3 != 1)
    variances, kurtosis, owners = variances[kept], kurtosis[kept], owners[kept]
    estimate = replace(made, tree=tree, values=np.zeros(tree.n_nodes), variances=variances, kurtosis=kurtosis)
    units = np.eye(tree.n_nodes)
    found = [replace(estimate, values=fitted(tree, unit, variances)).answer(boxes) for unit in units]
    return np.array(found).T, owners, prepared.design.laws, estimate, boxes


@lru_cache(maxsize=1)
def weights(name, law, epsilon):
    """Weights of all measurements in the answers, each measurement's law, and the noise that the estimate states."""
    if name in TREES:
        return tree_weights(name, law, epsilon)
    mechanism, side = STRUCTURES[name]
    mechanism = replace(mechanism, law=law)
    design = mechanism.prepare(UNIT, epsilon=epsilon, delta=1e-6 if law == "gaussian" else 0).design
    structure, laws, boxes = design.structure, design.laws, some_boxes(side)
    sizes = [part.shape for part in structure.measure(np.zeros(structure.grid.shape[::-1], dtype=np.int64))]
    found, owners = [], []
    for group, shape in enumerate(sizes):
        for place in range(math.prod(shape) if laws[group] else 0):
            noisy = [np.zeros(each) for each in sizes]
            noisy[group].flat[place] = 1.0
            found.append(structure.estimate(structure.fit(noisy, laws), laws).answer(boxes))
            owners.append(group)
    return np.array(found).T, np.array(owners), laws, structure.blank(laws), boxes


def drawn(law, shape, rng):
    if law.law is Law.GAUSSIAN:
        variance = float(law.parameter)
        if variance > 1e6:  # a table of all atoms would be long, and rounding adds less than a millionth
            return np.rint(rng.normal(0, math.sqrt(variance), shape)) / law.steps
        reach = np.arange(-math.ceil(12 * math.sqrt(variance)) - 2, math.ceil(12 * math.sqrt(variance)) + 3)
        chances = np.exp(-(reach**2) / (2 * variance))
        return rng.choice(reach, shape, p=chances / chances.sum()) / law.steps
    ratio = 1 - math.exp(-1 / float(law.parameter))
    return (rng.geometric(ratio, shape) - rng.geometric(ratio, shape)) / law.steps


def errors_of(name, law, epsilon, seed=0):
    """Sorted absolute errors of many releases, (boxes, draws)."""
    found, owners, laws, _, _ = weights(name, law, epsilon)
    rng = np.random.default_rng([len(name), int(4 * epsilon), seed] if seed else [len(name), int(4 * epsilon)])
    groups = np.unique(owners)
    total = sum(found[:, owners == g] @ drawn(laws[g], (np.sum(owners == g), DRAWS), rng) for g in groups)
    return np.sort(np.abs(total), axis=1)


def coverage_of_many(name, law, epsilon, half):
    """Coverage of each box by intervals of given half-widths, from `MANY_DRAWS` other draws."""
    draws = (errors_of(name, law, epsilon, seed) for seed in range(1, 1 + MANY_DRAWS // DRAWS))
    return np.mean([(errors <= half[:, None] + 1e-9).mean(axis=1) for errors in draws], axis=0)


@pytest.mark.statistical
@pytest.mark.parametrize(
    "epsilon", [*EPSILONS, *(pytest.param(epsilon, marks=pytest.mark.audit) for epsilon in MORE_EPSILONS)]
)
@pytest.mark.parametrize(("name", "law"), CASES)
def test_intervals_cover_and_are_not_much_wider_than_the_exact_ones(name, law, epsilon):
    _, _, _, estimate, boxes = weights(name, law, epsilon)
    errors, moments = errors_of(name, law, epsilon), estimate.moments(boxes)
    for level in LEVELS:
        half = half_width(*moments, estimate.step, level, whole=estimate.in_steps(boxes))
        covered = (errors <= half[:, None] + 1e-9).mean(axis=1)
        if covered.min() < level - 0.005:
            covered = coverage_of_many(name, law, epsilon, half)
        assert covered.min() >= level - 0.005, (level, covered.min())
        exact = errors[:, math.ceil(level * DRAWS) - 1]
        # Where the noise of an answer is below a step, exact half-widths are a few atoms; there a step is allowed.
        assert half.mean() <= max(1.15 * exact.mean(), exact.mean() + estimate.step), (level, half.mean(), exact.mean())


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("name", "epsilon"),
    [("hierarchy", 3), ("quadtree, leaves", 3), ("tailored to cells", 3), ("hierarchy, 32 x 32", 4), ("tailored", 1)],
)
def test_without_the_lattice_step_intervals_would_be_too_narrow(name, epsilon):
    _, _, _, estimate, boxes = weights(name, "discrete-laplace", epsilon)
    errors, moments = errors_of(name, "discrete-laplace", epsilon), estimate.moments(boxes)
    half = half_width(*moments, estimate.step, 0.95, whole=estimate.in_steps(boxes))
    assert (errors <= half[:, None] + 1e-9).mean(axis=1).min() >= 0.945
    assert (errors <= half_width(*moments, 0.0, 0.95)[:, None]).mean(axis=1).min() < 0.943


@pytest.mark.parametrize("name", [*STRUCTURES, *TREES])
def test_no_measurement_enters_an_answer_with_a_weight_above_one(name):
    found, _, _, estimate, _ = weights(name, "discrete-laplace", 1)
    assert np.abs(found).max() <= 1 + 1e-9 or estimate.step == 0
