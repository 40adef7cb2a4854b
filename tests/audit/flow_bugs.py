"""Planted bugs of flows, which the audit must catch; see `mutants`."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np

import spatialdp as sdp
from spatialdp.mechanisms.adaptive import flows
from spatialdp.mechanisms.adaptive.flows import Flows
from spatialdp.privacy.neighbours import Sensitivity
from spatialdp.privacy.noise.laws import calibrate
from spatialdp.records.rows import trips
from tests.audit.flows import declared_is_the_maximum
from tests.audit.mutants import Mutant
from tests.audit.replay import replayed
from tests.helpers.flow_cases import FlowSetting

Patch = contextlib.AbstractContextManager[Any]


def margins_are_free() -> Patch:
    """Give the margins noise of the whole budget, which the pairs spend as well."""
    real = Flows._design

    def design(self: Flows, domain: Any, terms: Any) -> Any:
        made = real(self, domain, terms)
        law = calibrate(self.law, terms.spendable(self.law), flows._sensitivity(domain.space.size, terms))
        return replace(made, margin=law)

    return mock.patch.object(Flows, "_design", design)


def persons_are_not_bounded() -> Patch:
    """Count all trips of each person."""
    real = trips.bounded_among
    return mock.patch.object(trips, "bounded_among", lambda who, pairs, _: real(who, pairs, sdp.Person(records=10**6)))


def origins_are_not_bounded() -> Patch:
    """Take it that a person's pairs never share a place, so that margins move by 1."""
    real = flows._sensitivity

    def sensitivity(cells: int, terms: Any) -> Sensitivity:
        return real(cells, terms) if int(cells**0.5) ** 2 == cells else real(cells, replace(terms, person=None))

    return mock.patch.object(flows, "_sensitivity", sensitivity)


def replace_is_add_remove() -> Patch:
    """Calibrate for adding a trip if trips are replaced."""
    return mock.patch.object(flows, "count_sensitivity", return_value=Sensitivity(1, 1))


def strays_in_the_first_place() -> Patch:
    """Count a trip whose end is nowhere at the last place."""
    real = trips.places_in

    def places_in(points: Any, frame: Any, person: Any) -> Any:
        return ((who, np.minimum(places, frame.space.size - 1)) for who, places in real(points, frame, person))

    return mock.patch.object(trips, "places_in", places_in)


def fresh_counts_are_free() -> Patch:
    """Count listed pairs afresh with noise of the whole budget."""
    real = Flows._design

    def design(self: Flows, domain: Any, terms: Any) -> Any:
        made = real(self, domain, terms)
        law = calibrate(self.law, terms.spendable(self.law), flows._sensitivity(domain.space.size**2, terms))
        return replace(made, pair=law)

    return mock.patch.object(Flows, "_design", design)


def list_length_shows_occupied_pairs() -> Patch:
    """List all pairs with trips, whatever their noisy count is."""
    real, real_pairs = Flows._estimate_of, flows.occupied_pairs
    seen: list[Any] = []

    def pairs(*records: Any) -> Any:
        seen[:] = real_pairs(*records)
        return tuple(seen)

    def spilled(self: Flows, design: Any, numbers: Any, values: Any, *margins: Any) -> Any:
        if numbers is not None and seen:
            missing = np.setdiff1d(seen[0], numbers)
            numbers, values = np.append(numbers, missing), np.append(values, np.zeros(missing.size))
        return real(self, design, numbers, values, *margins)

    stack = contextlib.ExitStack()
    stack.enter_context(mock.patch.object(flows, "occupied_pairs", pairs))
    stack.enter_context(mock.patch.object(Flows, "_estimate_of", spilled))
    return stack


def _replayed(case: str = "flows", relation: str = "add-remove", person: Any = None) -> Any:
    return replayed(FlowSetting(case, "zones", relation, person))


PERSON = sdp.Person(records=3)
MUTANTS = [
    Mutant("margins are free", "replay", margins_are_free, _replayed()),
    Mutant("margins are free, listed", "replay", margins_are_free, _replayed("flows, listed")),
    Mutant("a person's trips are not bounded", "replay", persons_are_not_bounded, _replayed(person=PERSON)),
    Mutant("a person's trips share no place", "replay", origins_are_not_bounded, _replayed(person=PERSON)),
    Mutant("replace is add-remove", "replay", replace_is_add_remove, _replayed(relation="replace")),
    Mutant(
        "replace is add-remove, brute force",
        "sensitivity",
        replace_is_add_remove,
        lambda: declared_is_the_maximum(FlowSetting("flows", "zones", "replace")),
    ),
    Mutant("fresh counts are free", "replay", fresh_counts_are_free, _replayed("flows, listed")),
    Mutant("all pairs with trips are listed", "replay", list_length_shows_occupied_pairs, _replayed("flows, listed")),
]
