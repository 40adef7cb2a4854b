"""Planted bugs of networks of attributes, which the audit must catch; see `mutants`."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from fractions import Fraction
from typing import Any
from unittest import mock

import spatialdp as sdp
from spatialdp.mechanisms.adaptive.networks import privbayes
from spatialdp.mechanisms.adaptive.networks.association import Occupied
from spatialdp.mechanisms.adaptive.networks.privbayes import PrivBayes
from spatialdp.privacy.neighbours import Sensitivity
from spatialdp.privacy.noise.laws import calibrate
from tests.audit.mutants import Mutant
from tests.audit.networks import choices_are_within_their_budget, declared_is_the_maximum
from tests.audit.replay import replayed
from tests.helpers.network_cases import NetworkSetting

Patch = contextlib.AbstractContextManager[Any]
SETTING = NetworkSetting("privbayes, many parents", "three attributes", "add-remove")


def _design_with(**changes: Any) -> Patch:
    """Change a design; values are functions of the mechanism, the terms and the design."""
    real = PrivBayes._design

    def design(self: PrivBayes, domain: Any, terms: Any) -> Any:
        made = real(self, domain, terms)
        return replace(made, **{name: change(self, terms, made) for name, change in changes.items()})

    return mock.patch.object(PrivBayes, "_design", design)


def true_number_sizes_tables() -> Patch:
    """Let the true number of records decide how large tables may be, as the published algorithm does."""
    real, seen = PrivBayes._largest, []
    total = Occupied.total

    def exact(self: Occupied) -> Any:
        seen[:] = [total(self).item()]
        return total(self)

    stack = contextlib.ExitStack()
    stack.enter_context(mock.patch.object(Occupied, "total", exact))
    stack.enter_context(mock.patch.object(PrivBayes, "_largest", lambda self, _, design: real(self, seen[0], design)))
    return stack


def score_is_divided_by_the_true_number() -> Patch:
    """Choose by R with the published 3/n + 2/n², which the true number of records gives: another law for neighbours."""
    real = PrivBayes._families

    def families(self: PrivBayes, occupied: Any, design: Any, largest: float, noise: Any) -> Any:
        n = max(1, occupied.total().item())
        return real(self, occupied, replace(design, moves=(Fraction(3) + Fraction(2, n))), largest, noise)

    return mock.patch.object(PrivBayes, "_families", families)


def number_is_published() -> Patch:
    """Publish the true number of records."""
    real = PrivBayes._estimate

    def estimate(self: PrivBayes, points: Any, design: Any, noise: Any) -> Any:
        counts = privbayes.count_rows(points, design.frame, design.person)
        return replace(real(self, points, design, noise), counted=float(counts.sum()))

    return mock.patch.object(PrivBayes, "_estimate", estimate)


def tables_are_free() -> Patch:
    """Give each table noise of the whole budget of all tables."""
    return _design_with(
        cell=lambda self, terms, made: calibrate(
            self.law, made.costs["counts of tables"], privbayes._sensitivity(terms, 2)
        )
    )


def first_table_is_exact() -> Patch:
    """Count the first attribute with noise of the whole ε, which the others spend as well."""
    return _design_with(
        cell=lambda self, terms, _: calibrate(self.law, terms.spendable(self.law), privbayes._sensitivity(terms, 2))
    )


def choices_are_free() -> Patch:
    """Give each choice the budget of all choices."""
    return _design_with(choice=lambda _, __, made: made.costs["choices of parents"])


def choices_move_by_one() -> Patch:
    """Take it that a record moves a score by 1 at most."""
    return _design_with(moves=lambda _, __, made: made.moves / 2)


def replace_is_add_remove() -> Patch:
    """Calibrate for adding a record if records are replaced."""
    return mock.patch.object(privbayes, "count_sensitivity", return_value=Sensitivity(1, 1))


def persons_are_records() -> Patch:
    """Calibrate for one record if persons are the unit."""
    real = privbayes._sensitivity
    return mock.patch.object(privbayes, "_sensitivity", lambda terms, cells: real(replace(terms, person=None), cells))


def empty_parents_are_dropped() -> Patch:
    """Leave out candidates whose parents hold no record, so that their number tells."""
    real = PrivBayes._families

    def families(self: PrivBayes, occupied: Any, design: Any, largest: float, noise: Any) -> Any:
        every = privbayes.candidates

        def held(*given: Any) -> Any:
            found = every(*given)
            return [each for each in found if (occupied.table(each).reshape(occupied.table(each).shape[0], -1)
                                               .sum(axis=0) > 0).all()] or found[:1]  # fmt: skip

        with mock.patch.object(privbayes, "candidates", held):
            return real(self, occupied, design, largest, noise)

    return mock.patch.object(PrivBayes, "_families", families)


def _replayed(
    case: str = "privbayes, many parents", relation: str = "add-remove", person: Any = None, pairs: int = 30
) -> Any:
    return replayed(NetworkSetting(case, "three attributes", relation, person), pairs)


REPLAYED = _replayed()
MUTANTS = [
    Mutant("the true number of records sizes tables", "replay", true_number_sizes_tables,
           _replayed("privbayes, small tables", pairs=60)),
    Mutant("the score is divided by the true number", "replay", score_is_divided_by_the_true_number, REPLAYED),
    Mutant("the true number is published", "replay", number_is_published, REPLAYED),
    Mutant("tables are not paid one by one", "replay", tables_are_free, REPLAYED),
    Mutant("tables spend the whole budget", "replay", first_table_is_exact, REPLAYED),
    Mutant("tables have a wrong scale", "sensitivity", tables_are_free, lambda: declared_is_the_maximum(SETTING)),
    Mutant("choices are not paid one by one", "enumeration", choices_are_free, lambda: choices_cost(SETTING)),
    Mutant("a record moves scores by 1", "replay", choices_move_by_one, REPLAYED),
    Mutant("a record moves scores by 1, enumerated", "enumeration", choices_move_by_one,
           lambda: choices_are_within_their_budget(SETTING)),
    Mutant("replace is add-remove", "replay", replace_is_add_remove, _replayed(relation="replace")),
    Mutant("persons are records", "replay", persons_are_records, _replayed(person=sdp.Person(records=3))),
    Mutant("the number of candidates tells", "replay", empty_parents_are_dropped, REPLAYED),
]  # fmt: skip


def choices_cost(setting: NetworkSetting) -> None:
    """Check that all choices together cost what the plan says."""
    design = setting.mechanism.prepare(setting.domain, **setting.terms).design
    count = len(design.frame.axes) - 1
    assert design.choice * count == design.costs["choices of parents"]
