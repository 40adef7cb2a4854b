"""Private quadtrees: budgets, sensitivity, variants."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import shapely

import spatialdp as sdp
from spatialdp.errors import BudgetError, ParameterError
from spatialdp.privacy.noise.source import SeededNoise
from tests.helpers.sources import RecordingNoise, ZeroNoise

UNIT = sdp.Domain((0, 0, 1, 1))
REGION = shapely.Polygon([(0, 0), (1, 0), (1, 0.4), (0.4, 1), (0, 1)])
RNG = np.random.default_rng(4)
XY = np.concatenate([RNG.normal(0.3, 0.03, (300, 2)), RNG.random((100, 2))])


@pytest.mark.parametrize("budget", ["uniform", "geometric", "leaves", (1, 0, 2.5, 3)])
@pytest.mark.parametrize("epsilon", [1, 0.1, Fraction(1, 3)])
def test_levels_cost_the_whole_exactly(budget, epsilon):
    release = sdp.Quadtree(3, budget=budget).release([], UNIT, epsilon=epsilon)
    assert sum(release.privacy.budget.values()) == release.privacy.epsilon
    assert list(release.privacy.budget) == [f"counts at depth {d}" for d in range(4)]


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_every_measured_level_draws_noise_of_its_scale_once(neighbours):
    source = RecordingNoise(1)
    release = sdp.Quadtree(3, budget=(1, 0, 1, 2)).release(XY, UNIT, epsilon=1, neighbours=neighbours, noise=source)
    costs = list(release.privacy.budget.values())
    factor = 1 if neighbours == "add-remove" else 2
    assert source.calls == [
        ("laplace", 1 / costs[0], (1,)),  # replacing a record can move the root by one at most
        ("laplace", factor / costs[2], (16,)),
        ("laplace", factor / costs[3], (64,)),
    ]


def test_gaussian_quadtrees_spend_rho():
    source = RecordingNoise(1)
    release = sdp.Quadtree(1, law="gaussian").release([], UNIT, epsilon=1, delta=1e-9, noise=source)
    assert release.privacy.currency == "rho"
    assert [call[1] for call in source.calls] == [1 / (2 * cost) for cost in release.privacy.budget.values()]
    with pytest.raises(BudgetError, match="delta"):
        sdp.Quadtree(1, law="gaussian").release([], UNIT, epsilon=1)


def test_zero_noise_gives_the_counts_of_every_node():
    release = sdp.Quadtree(4, consistent=False).release(XY, UNIT, epsilon=1, noise=ZeroNoise())
    tree = release.estimate.tree
    for box, value in zip(tree.boxes / 2**30, release.estimate.values, strict=True):
        x0, y0, x1, y1 = box
        inside = (XY[:, 0] >= x0) & (XY[:, 0] < x1) & (XY[:, 1] >= y0) & (XY[:, 1] < y1)
        assert value == inside.sum()


def test_fitting_helps_and_the_four_variants_differ_as_published():
    boxes = np.sort(RNG.random((200, 2, 2)), axis=1).reshape(-1, 4)
    truth = sdp.Quadtree(6).release(XY, UNIT, epsilon=1, noise=ZeroNoise()).answer(boxes)
    errors = {}
    for name, options in {
        "baseline": {"budget": "uniform", "consistent": False},
        "geo": {"consistent": False},
        "post": {"budget": "uniform"},
        "opt": {},
    }.items():
        answers = [
            sdp.Quadtree(6, **options).release(XY, UNIT, epsilon=0.1, noise=SeededNoise(seed)).answer(boxes)
            for seed in range(20)
        ]
        errors[name] = np.sqrt(np.mean((np.array(answers) - truth) ** 2))
    assert errors["opt"] < errors["post"] < errors["baseline"]
    assert errors["opt"] < errors["geo"] < errors["baseline"]


def test_region_drops_nodes_wholly_outside():
    domain = sdp.Domain((0, 0, 1, 1), region=REGION)
    release = sdp.Quadtree(4).release(XY, domain, epsilon=1, noise=ZeroNoise())
    grid = domain.grid((16, 16))
    assert release.estimate.n_cells == grid.n_cells < 256
    cells = np.floor(XY * 16).astype(int)
    inside = ((XY >= 0) & (XY < 1)).all(axis=1)
    allowed = grid.mask[cells[inside, 1], cells[inside, 0]]
    assert release.total == pytest.approx(allowed.sum())
    assert release.answer((0.9, 0.9, 1, 1)) == 0
    assert sdp.Quadtree(4).plan(domain, epsilon=1).cells == grid.n_cells


@pytest.mark.parametrize(
    "options",
    [
        {"height": -1},
        {"height": 15},
        {"height": 2.5},
        {"height": True},
        {"height": 2, "budget": "steep"},
        {"height": 2, "budget": (1, 2)},
        {"height": 2, "budget": (1, 2, 0)},
        {"height": 2, "prune": np.nan},
        {"height": 2, "stop": np.inf},
        {"height": 2, "prune": 3, "consistent": False},
        {"height": 2, "law": "cauchy"},
        {"height": 2, "prune": "3"},
        {"height": 2, "stop": True},
        {"height": 2, "budget": 5},
        {"height": 2, "budget": None},
        {"height": 2, "budget": (-1, 1, 2)},
        {"height": 2, "budget": (1, np.inf, 2)},
        {"height": 2, "consistent": "no"},
        {"height": 2, "budget": "leaves", "stop": 3},
    ],
)
def test_bad_parameters_are_refused_when_they_are_given(options):
    with pytest.raises(ParameterError):
        sdp.Quadtree(**options)


def test_leaves_without_budget_are_refused_before_a_record_is_read():
    with pytest.raises(ParameterError, match="nothing of the budget"):
        sdp.Quadtree(1, budget=(1.0, 1e-15)).release(None, UNIT, epsilon=1)
    with pytest.raises(BudgetError, match="'a'"):
        sdp.Quadtree(1, budget=(1, "a"))
