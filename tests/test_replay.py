"""Every mechanism, replayed on neighbours: only paid-for inputs differ, and they cost no more than declared."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import shapely

import spatialdp as sdp
from spatialdp.mechanisms import fourier, growth, kdtree, quadtree, recipe
from spatialdp.privacy.laws import NoiseLaw, Sensitivity
from tests.replay import loss

TWO_CORNERS = shapely.MultiPolygon([shapely.box(0.05, 0.05, 0.2, 0.2), shapely.box(0.8, 0.8, 0.95, 0.95)])
REGIONS = {"whole": None, "two corners": TWO_CORNERS, "disc": shapely.Point(0.4, 0.4).buffer(0.3)}

MECHANISMS = {
    "flat": sdp.Flat((8, 8)),
    "flat, one cell": sdp.Flat((1, 1)),
    "flat, gaussian": sdp.Flat((8, 8), law="gaussian"),
    "wavelet": sdp.Wavelet((8, 5)),
    "wavelet, gaussian": sdp.Wavelet((8, 8), law="gaussian"),
    "wavelet, quadtree": sdp.Wavelet((8, 6), form="quadtree"),
    "hierarchy": sdp.Hierarchy((12, 8)),
    "hierarchy, gaussian": sdp.Hierarchy((9, 8), levels=(1, 3), root=True, law="gaussian"),
    "tailored": sdp.Tailored((32, 12)),
    "tailored, gaussian": sdp.Tailored((12, 32), law="gaussian"),
    "trees": sdp.Tailored((64, 64), strategy="trees"),
    "fourier": sdp.Fourier((8, 12)),
    "fourier, gaussian": sdp.Fourier((8, 12), law="gaussian"),
    "fourier, gaussian, dft": sdp.Fourier((6, 7), basis="dft", law="gaussian", selection_share=0.9),
    "fourier, walsh, gaussian": sdp.Fourier((8, 6), basis="walsh", law="gaussian"),
    "fourier, given block": sdp.Fourier((12, 8), block=(4, 4)),
    "fourier, walsh": sdp.Fourier((8, 8), basis="walsh", block=(4, 8)),
    "wavelet along x": sdp.Wavelet((8, 4), axis="x", budget="optimised"),
    "uniform": sdp.Uniform((8, 5)),
    "hierarchy, raw, root": sdp.Hierarchy(
        (14, 9), levels=(1, 2, 6), budget=(1, 0, 2, 0.1), root=True, consistent=False
    ),
    "tailored, boxes": sdp.Tailored((9, 8), workload=[(0, 0, 1, 1), (0.1, 0.1, 0.7, 0.8)]),
    "tailored, boxes, gaussian": sdp.Tailored(
        (9, 8), workload=[(0.1, 0, 0.2, 1), (0.1, 0.1, 0.7, 0.8)], law="gaussian"
    ),
    "quadtree, prune": sdp.Quadtree(3, prune=6, law="laplace"),
    "quadtree": sdp.Quadtree(3),
    "quadtree, stop": sdp.Quadtree(4, stop=8),
    "quadtree, stop, weights": sdp.Quadtree(4, stop=4, budget=(1, 0, 1, 1, 2)),
    "quadtree, gaussian": sdp.Quadtree(4, stop=8, law="gaussian"),
    "kd": sdp.KdTree(3),
    "kd, hybrid, stop": sdp.KdTree(4, data_levels=2, stop=8),
    "kd, midpoints, stop": sdp.KdTree(2, data_levels=0, budget=(0, 1, 9), stop=20),
    "kd, cell": sdp.KdTree(3, median="cell", cells=8, stop=5),
    "kd, noisy mean": sdp.KdTree(3, median="noisy-mean"),
    "kd, smooth": sdp.KdTree(2, median="smooth"),
    "kd, fine": sdp.KdTree(3, law="laplace", stop=3),
}


def neighbours_of(relation, region, rng):
    """Two neighbouring data sets with records where the region is."""
    x0, y0, x1, y1 = (0, 0, 1, 1) if region is None else region.bounds
    xy = rng.uniform((x0, y0), (x1, y1), (int(rng.integers(0, 50)), 2))
    if region is TWO_CORNERS:
        corner = np.where(rng.random((len(xy), 1)) < 0.5, 0.05, 0.8)
        xy = corner + rng.uniform(0, 0.15, (len(xy), 2))
    extra = rng.choice(4)
    record = [[5.0, 5.0], [1.0, 1.0], [0.1, 0.1], [0.9, 0.9]][extra]
    if relation == "add-remove" or not len(xy):
        return xy, np.vstack([xy, [record]])
    other = xy.copy()
    other[0] = record if rng.random() < 0.4 else xy[rng.integers(len(xy))]
    return xy, other


def worst_loss(monkeypatch, name, relation, region, pairs, seed=1):
    """Largest share of the budget that any of some neighbouring pairs lost."""
    mechanism, rng = MECHANISMS[name], np.random.default_rng(seed)
    domain = sdp.Domain((0, 0, 1, 1), region=REGIONS[region])
    delta = 1e-6 if str(mechanism.law) == "gaussian" else 0
    shares = []
    for pair in range(pairs):
        first, second = neighbours_of(relation, REGIONS[region], rng)
        lost, one, two = loss(
            monkeypatch, mechanism, domain, first, second, 10 * pair, epsilon=1, delta=delta, neighbours=relation
        )
        assert one.privacy == two.privacy
        assert np.array_equal(one.estimate.values, two.estimate.values)  # all else is a function of the outcomes
        assert np.array_equal(one.estimate.leaf_boxes(), two.estimate.leaf_boxes())
        shares.append(lost / sum(one.privacy.budget.values()))
    return max(shares)


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
@pytest.mark.parametrize("region", REGIONS)
@pytest.mark.parametrize("name", MECHANISMS)
def test_no_transcript_costs_more_than_declared(monkeypatch, name, region, relation):
    if name == "flat, one cell" and region == "two corners":
        return  # the only cell's centre is outside
    assert worst_loss(monkeypatch, name, relation, region, pairs=12) <= 1


def test_declared_costs_are_reached(monkeypatch):
    for name in ("flat", "wavelet", "quadtree", "kd, midpoints, stop", "quadtree, stop"):
        assert worst_loss(monkeypatch, name, "add-remove", "whole", pairs=30) > 0.99, name
        # Replacing a record can not move every group of coefficients by its most at once.
        assert worst_loss(monkeypatch, name, "replace", "whole", pairs=60) > 0.8, name


# --- planted bugs ------------------------------------------------------------------------------------


def _plant(monkeypatch, bug):
    """Put one privacy bug into the tree mechanisms."""
    if bug == "a stop decided on true counts":
        monkeypatch.setattr(growth, "_stop", _stop_on_truth)
    elif bug == "a second count that forgets the sensitivity of replacing":
        monkeypatch.setattr(growth, "_sensitivity", lambda neighbours, depth: Sensitivity(1, 1))
    elif bug == "lines at twice their budget":
        chosen = growth.MedianLines.__init__
        monkeypatch.setattr(
            growth.MedianLines, "__init__",
            lambda self, method, epsilon, *rest: chosen(self, method, 2 * epsilon, *rest),
        )  # fmt: skip
    elif bug == "lines that are told add-remove under replace":
        chosen = growth.MedianLines.__init__
        monkeypatch.setattr(
            growth.MedianLines, "__init__",
            lambda self, method, epsilon, neighbours, *rest: chosen(self, method, epsilon, "add-remove", *rest),
        )  # fmt: skip
    elif bug == "a second count that spends the whole budget":
        monkeypatch.setattr(
            quadtree, "calibrate", lambda law, cost, sensitivity: NoiseLaw(law, sensitivity.l1 / (cost + 1))
        )
    elif bug == "a grid for the lines at three times its budget":
        real = kdtree.design_of
        monkeypatch.setattr(
            kdtree, "design_of", lambda structure, costs, *terms: real(structure, [3 * cost for cost in costs], *terms)
        )
    elif bug == "counts of a level with the scale of another":
        real = recipe.calibrate
        monkeypatch.setattr(recipe, "calibrate", lambda law, cost, sensitivity: real(law, 2 * cost, sensitivity))
    elif bug == "scores of a block that forget their sensitivity":
        monkeypatch.setattr(fourier, "_score_sensitivity", lambda *_: Fraction(1))
    elif bug == "a block chosen without noise":
        monkeypatch.setattr(fourier.Fourier, "_choose", _block_by_truth)


def _stop_on_truth(nodes, level, stop, rest, noise):
    level.divided[:] = nodes.counts >= stop
    return nodes.keep(nodes.counts >= stop)


def _block_by_truth(self, found, measured, terms, noise):
    return int(found.rounded(4)[0, 0]) % len(measured)


@pytest.mark.parametrize(
    ("bug", "name", "relation", "region"),
    [
        ("a stop decided on true counts", "kd, hybrid, stop", "add-remove", "whole"),
        ("a second count that forgets the sensitivity of replacing", "kd, midpoints, stop", "replace", "two corners"),
        ("lines at twice their budget", "kd", "add-remove", "whole"),
        ("lines that are told add-remove under replace", "kd", "replace", "whole"),
        ("a second count that spends the whole budget", "quadtree, stop", "add-remove", "whole"),
        ("a grid for the lines at three times its budget", "kd, cell", "add-remove", "whole"),
        ("counts of a level with the scale of another", "quadtree", "add-remove", "whole"),
        ("scores of a block that forget their sensitivity", "fourier, gaussian, dft", "add-remove", "whole"),
        ("a block chosen without noise", "fourier, gaussian", "add-remove", "whole"),
    ],
)
def test_planted_bugs_are_caught(monkeypatch, bug, name, relation, region):
    _plant(monkeypatch, bug)
    assert _caught(monkeypatch, name, relation, region)


def _caught(monkeypatch, name, relation, region):
    """Either the loss exceeds the budget, or something but the inputs differs and the replay itself fails."""
    try:
        return worst_loss(monkeypatch, name, relation, region, pairs=40) > 1
    except AssertionError as difference:
        return "the second run" in str(difference)
