"""Planted bugs of trajectories, which the audit must catch; see `mutants`."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np

from spatialdp.mechanisms.adaptive import trajectories
from spatialdp.mechanisms.adaptive.trajectories import Trajectories
from spatialdp.privacy.neighbours import Sensitivity
from spatialdp.privacy.noise.laws import calibrate
from spatialdp.records.rows import path_weights, tracks
from tests.audit.mutants import Mutant
from tests.audit.replay import replayed
from tests.audit.trajectories import declared_is_the_maximum
from tests.helpers.trajectory_cases import TRAJECTORY_PERSONS, TrajectorySetting

Patch = contextlib.AbstractContextManager[Any]


def long_trajectories_count_more() -> Patch:
    """Give each move a whole unit, so that the contribution of a trajectory grows with its length."""
    return mock.patch.object(path_weights, "_shares", lambda owners, _paths, unit: np.full(owners.size, unit))


def cells_are_not_divided() -> Patch:
    """Give each position a whole unit."""

    def weights(paths: Any, system: Any) -> Any:
        cells = system.of(paths.columns, paths.rows)
        return np.bincount(cells, minlength=system.n_cells).astype(np.int64) * path_weights.WHOLE

    return mock.patch.object(path_weights, "cell_weights", weights)


def the_choice_is_free() -> Patch:
    """Take the system with the best score."""
    return mock.patch.object(trajectories, "exponential", lambda scores, *_: int(np.argmax(scores)))


def true_weights_prune() -> Patch:
    """Keep the cells that someone was in."""
    real, seen = path_weights.cell_weights, []

    def weights(paths: Any, system: Any) -> Any:
        seen[:] = [real(paths, system)]
        return seen[0]

    def occupied(_noisy: Any, _system: Any, _inside: Any) -> Any:
        return np.where(seen[0] > 0, 1.0, 0.0)

    stack = contextlib.ExitStack()
    stack.enter_context(mock.patch.object(trajectories, "cell_weights", weights))
    stack.enter_context(mock.patch.object(trajectories, "pruned", occupied))
    return stack


def moves_are_free() -> Patch:
    """Weigh moves with noise of the whole budget."""
    real = Trajectories._design

    def design(self: Trajectories, domain: Any, terms: Any) -> Any:
        made = real(self, domain, terms)
        law = calibrate(self.law, terms.spendable(self.law), trajectories._sensitivity(2, path_weights.WHOLE, terms))
        return replace(made, laws=made.laws | {trajectories.MOVES: law})

    return mock.patch.object(Trajectories, "_design", design)


def ends_are_free() -> Patch:
    """Publish true counts of pairs of ends."""
    real = trajectories.margins_of
    seen: list[Any] = []

    def counts(paths: Any, blocks: Any, frame: Any) -> Any:
        seen[:] = [path_weights.end_counts(paths, blocks, frame)]
        return seen[0]

    def of_true_counts(_noisy: Any) -> Any:
        return real(seen[0].astype(float))

    stack = contextlib.ExitStack()
    stack.enter_context(mock.patch.object(trajectories, "end_counts", counts))
    stack.enter_context(mock.patch.object(trajectories, "margins_of", of_true_counts))
    return stack


def extents_are_counted_by_position() -> Patch:
    """Count a trajectory once for each of its positions."""

    def counts(paths: Any, longest: int) -> Any:
        once = real(paths, longest)
        once[np.flatnonzero(once)[:1]] += paths.starts[-1]
        return once

    real = path_weights.extent_counts
    return mock.patch.object(path_weights, "extent_counts", counts)


def persons_are_not_bounded() -> Patch:
    """Keep all trajectories of each person."""
    return mock.patch.object(tracks, "_first_of_each", lambda owners, *_: np.ones(owners.size, dtype=bool))


def replace_is_add_remove() -> Patch:
    """Calibrate for adding a trajectory if one is replaced."""
    return mock.patch.object(trajectories, "count_sensitivity", return_value=Sensitivity(1, 1))


def _sensitivity_of(case: str = "trajectories", relation: str = "add-remove") -> Any:
    return lambda: declared_is_the_maximum(TrajectorySetting(case, relation))


def _replayed(case: str = "trajectories", relation: str = "add-remove", person: Any = None) -> Any:
    return replayed(TrajectorySetting(case, relation, person))


ONE, THREE = TRAJECTORY_PERSONS
MUTANTS = [
    Mutant("long trajectories count more", "replay", long_trajectories_count_more, _replayed()),
    Mutant("long trajectories count more, brute force", "sensitivity", long_trajectories_count_more, _sensitivity_of()),
    Mutant("cells are not divided", "sensitivity", cells_are_not_divided, _sensitivity_of()),
    Mutant("the choice of the system is free", "replay", the_choice_is_free, _replayed()),
    Mutant("cells are pruned by true weights", "replay", true_weights_prune, _replayed()),
    Mutant("moves are free", "replay", moves_are_free, _replayed("trajectories, one system")),
    Mutant("margins of ends are true", "replay", ends_are_free, _replayed()),
    Mutant("extents count positions", "sensitivity", extents_are_counted_by_position, _sensitivity_of()),
    Mutant("a person's trajectories are not bounded", "replay", persons_are_not_bounded, _replayed(person=ONE)),
    Mutant("replace is add-remove", "replay", replace_is_add_remove, _replayed(relation="replace")),
    Mutant(
        "replace is add-remove, brute force",
        "sensitivity",
        replace_is_add_remove,
        _sensitivity_of("trajectories, one system", "replace"),
    ),
]
