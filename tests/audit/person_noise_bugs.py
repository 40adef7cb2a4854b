"""Which bugs would break the promise to a whole person? Planted bugs in what `Person` asks of mechanisms."""

from __future__ import annotations

import contextlib
from typing import Any
from unittest import mock

from spatialdp.mechanisms.adaptive import kdtree
from spatialdp.privacy.accounting import rho_for
from spatialdp.privacy.budget import Budget
from spatialdp.privacy.noise import laws
from spatialdp.privacy.unit import Person
from spatialdp.records.persons.bounding import Contributions
from spatialdp.structures.base import Structure
from spatialdp.structures.tree_levels import TreeLevels
from tests.audit.seams import everywhere

Patch = contextlib.AbstractContextManager[Any]

MOST = 3  # of the bounds in `tests.helpers.cases.PERSONS`


def leaf_sensitivity_at_the_root() -> Patch:
    """Take what a person can do to single cells for what the person can do to any node."""
    return mock.patch.object(TreeLevels, "once_each", lambda self, group, neighbours, most: most)


def lines_for_one_record() -> Patch:
    """Draw split lines at the whole of their budget, whatever the weight of a person is."""
    return mock.patch.object(kdtree, "_weight", return_value=1)


def noise_for_one_record() -> Patch:
    """Keep several records of a person, with the noise that one record needs."""
    return mock.patch.object(Person, "sensitivity", lambda self, one_record: one_record)


def epsilon_divided_for_gaussian_noise() -> Patch:
    """Spend (ε / L, δ) on one record, as if δ did not grow for L of them, instead of ρ / L²."""
    patches = contextlib.ExitStack()
    one_record: Any = lambda self, group, neighbours, person: self.sensitivity(group, neighbours)  # noqa: E731
    divided: Any = lambda law, budget: rho_for(Budget(budget.epsilon / MOST, budget.delta))  # noqa: E731
    patches.enter_context(mock.patch.object(Structure, "person_sensitivity", one_record))
    patches.enter_context(everywhere(laws.spendable, divided))
    return patches


def shares_of_kept_cells() -> Patch:
    """Divide a person over cells without making the parts add up to one."""
    real = Contributions.kept

    def kept(self: Contributions, bound: Person) -> Any:
        return (self.records > 0) * bound.steps if bound.shares else real(self, bound)

    return mock.patch.object(Contributions, "kept", kept)


def bound_on_each_cell() -> Patch:
    """Keep L records of a person in each cell, instead of in all."""
    real = Contributions.kept

    def kept(self: Contributions, bound: Person) -> Any:
        return self.records.clip(max=bound.most) if bound.records is not None else real(self, bound)

    return mock.patch.object(Contributions, "kept", kept)
