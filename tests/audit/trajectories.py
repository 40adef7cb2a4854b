"""How are trajectories audited? Replays of neighbours, and all short trajectories by brute force."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

import spatialdp as sdp
from spatialdp.errors import ReleaseError
from spatialdp.mechanisms.adaptive import trajectories as mechanism
from spatialdp.records.rows import path_weights
from spatialdp.space.paths.systems import WHOLE
from tests.audit.replay import EPSILONS, captured_messages, content_of, neighbours_of, released, seen
from tests.audit.tape import log_probabilities
from tests.helpers.trajectory_cases import TrajectorySetting


def some_trajectory(rng: Any) -> list[int]:
    """Return a walk that mostly goes to adjacent cells, and sometimes jumps or leaves the domain."""
    cell, walk = int(rng.integers(64)), []
    for _ in range(int(rng.integers(1, 9))):
        walk.append(cell if rng.random() > 0.1 else -1)
        cell = int(rng.integers(64)) if rng.random() < 0.1 else int(np.clip(cell + rng.choice([0, 1, 8, 9, -1]), 0, 63))
    return walk


@neighbours_of.register
def trajectory_pairs(setting: TrajectorySetting, count: int, seed: int) -> Iterator[tuple[str, Any, Any]]:
    """Yield neighbours with their names: a trajectory, or all of a person, more or less, or replaced."""
    rng = np.random.default_rng(seed)
    for index in range(count):
        crowd = [some_trajectory(rng)] * int(rng.integers(0, 30)) + [some_trajectory(rng) for _ in range(3)]
        size = 1 if setting.person is None else int(rng.integers(1, 6))
        mine, theirs = ([some_trajectory(rng) for _ in range(size)] for _ in range(2))
        if index % len(EPSILONS) == 2:  # at this ε, one more lifts a move above the threshold
            crowd, mine = [[0, 1]] * 2, [[0, 1]] * size
        others = theirs if setting.relation == "replace" else []
        owners = None if setting.person is None else list(range(len(crowd)))
        first = setting.records(crowd + mine, None if owners is None else owners + [99] * size)
        second = setting.records(crowd + others, None if owners is None else owners + [77] * len(others))
        yield f"{size} trajectories, the first of {len(mine[0])} minutes", first, second


@seen.register
def _(setting: TrajectorySetting, records: Any, noise: Any, epsilon: Fraction) -> tuple[Any, ...]:
    release, messages = released(setting, records, noise, epsilon)
    with captured_messages() as said:
        drawn = drawn_from(release)
    return release, messages + said, content_of(release.privacy), content_of(release.estimate), repr(release), drawn


def drawn_from(release: Any) -> Any:
    """Return what is drawn from a release, or the words in which that is refused."""
    try:
        return content_of(release.positions(9, noise=sdp.SeededNoise(4)))
    except ReleaseError as error:
        return str(error)


def groups_of(setting: TrajectorySetting, trajectories: Any, owners: Any = None) -> dict[str, Any]:
    """Return the exact counts and weights of all groups, by step; those of cells and moves for the finest system."""
    design, paths = setting.design, setting.paths(trajectories, owners)
    system = design.systems[-1]
    return {
        mechanism.ENDS: path_weights.end_counts(paths, design.blocks, design.frame),
        mechanism.LENGTHS: path_weights.length_counts(paths, design.blocks, design.longest),
        mechanism.WIDTHS: path_weights.extent_counts(paths, design.longest),
        mechanism.CELLS: path_weights.cell_weights(paths, system),
        mechanism.MOVES: path_weights.move_weights(paths, system).ravel(),
        mechanism.HABITS: path_weights.habit_weights(paths, system),
    }


def short_trajectories() -> list[list[int]]:
    """Return all trajectories of up to four positions in four near or far cells, or out of the domain."""
    return [list(walk) for size in range(1, 5) for walk in itertools.product((-1, 0, 1, 10, 63), repeat=size)]


def declared_is_the_maximum(setting: TrajectorySetting) -> None:
    """Check by brute force that no trajectory moves a group by more than its noise is made for, and one does."""
    design, empty = setting.design, groups_of(setting, [])
    scales = {name: law.parameter for name, law in design.laws.items()}
    vectors = [groups_of(setting, [walk]) for walk in short_trajectories()]
    for name, scale in scales.items():
        rows = np.unique(np.array([each[name] for each in vectors]), axis=0)
        worst = int(np.abs(rows - empty[name]).sum(axis=1).max())
        if setting.relation == "replace":
            worst = max(int(np.abs(rows - row).sum(axis=1).max()) for row in rows)
        declared = scale * design.costs[name]
        # Two trajectories that share no habit at all would need infinitely many stays.
        shares = name == mechanism.HABITS and setting.relation == "replace"
        enough = 2 * worst if shares else worst
        assert worst <= declared <= enough, f"{name}: a wrong scale for {declared}, one moves it by {worst}"


def choices_are_within_their_budget(setting: TrajectorySetting, count: int = 40) -> float:
    """Enumerate the choice of the system for crowds and one trajectory more; return the worst share of ε."""
    design, rng, worst = setting.design, np.random.default_rng(8), 0.0
    short = [walk for walk in short_trajectories() if len(walk) < 4]
    for _ in range(count):
        crowd = [[0, 9, 18]] * int(rng.integers(0, 90)) + [some_trajectory(rng) for _ in range(3)]
        one = [*crowd, short[int(rng.integers(len(short)))]]
        other = [*crowd, short[int(rng.integers(len(short)))]] if setting.relation == "replace" else crowd
        before, after = (scores_of(setting, each) for each in (one, other))
        assert max(abs(a - b) for a, b in zip(before, after, strict=True)) <= design.moved
        cost = design.costs[mechanism.CHOICE]
        ratio = log_probabilities(before, cost, design.moved) - log_probabilities(after, cost, design.moved)
        worst = max(worst, float(np.abs(ratio).max()) / float(cost))
    assert worst <= 1
    return worst


def scores_of(setting: TrajectorySetting, trajectories: Any) -> list[Fraction]:
    """Return the scores of all systems; the threshold is lowered to a tenth, so that few trajectories pass it."""
    design, paths = setting.design, setting.paths(trajectories)
    return [
        path_weights.learnable(path_weights.move_weights(paths, system), min(design.threshold, WHOLE // 10))
        * mechanism._gain(system, design.blocks)
        for system in design.systems
    ]
