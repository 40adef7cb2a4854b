"""Which bugs could releases by zones have? Patches that plant them; `mutants` names the check that catches them."""

from __future__ import annotations

import contextlib
from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np

from spatialdp.mechanisms.fixed import zonetree
from spatialdp.mechanisms.fixed.zonetree import ZoneTree
from spatialdp.privacy.neighbours import count_sensitivity
from spatialdp.privacy.noise.laws import noisy
from spatialdp.records import zones as zone_records
from spatialdp.space.zones.frame import Zones
from spatialdp.structures.zone_levels import ZoneLevels
from tests.audit.seams import everywhere

Patch = contextlib.AbstractContextManager[Any]


def chain_pays_once() -> Patch:
    """Let a zone on several levels pay for the first of them alone, so that its budget is forgotten."""

    def costs_of(self: ZoneLevels, levels: Any) -> Any:
        return tuple(levels[first] or levels[-1] for first, _ in self.chains.spans.tolist())

    return mock.patch.object(ZoneLevels, "costs_of", costs_of)


def shallow_leaf_gets_the_whole() -> Patch:
    """Give a leaf above the lowest level the whole budget, although the zones above it are measured too."""

    def costs_of(self: ZoneLevels, levels: Any) -> Any:
        spans = self.chains.spans.tolist()
        return tuple(sum(levels if last > first else levels[first : last + 1], Fraction(0)) for first, last in spans)

    return mock.patch.object(ZoneLevels, "costs_of", costs_of)


def one_node_cannot_be_left_for_another() -> Patch:
    """Take a group with one zone for the root, which a record can only leave."""

    def sensitivity(self: ZoneLevels, group: int, neighbours: Any) -> Any:
        return count_sensitivity(neighbours, self._nodes[group].size)

    return mock.patch.object(ZoneLevels, "sensitivity", sensitivity)


def leaf_noise_at_the_root() -> Patch:
    """Let a person's cells move upper zones by as little as leaves."""
    return mock.patch.object(ZoneLevels, "once_each", lambda self, group, neighbours, most: most)


def path_takes_the_sum_of_groups() -> Patch:
    """Charge a person's cells group by group, although groups exclude each other."""

    def person_sensitivity(self: ZoneLevels, group: int, neighbours: Any, person: Any) -> Any:
        one = self.sensitivity(group, neighbours)
        return (
            one if person is None else type(one)(person.most * one.l1, self.once_each(group, neighbours, person.most))
        )

    return mock.patch.object(ZoneLevels, "person_sensitivity", person_sensitivity)


def as_many_groups_as_levels() -> Patch:
    """Take the number of groups for proof that no two of them share a level."""
    same = property(lambda self: len(self.chains.spans) == self.zones.shape.height + 1)
    return mock.patch.object(ZoneLevels, "_groups_add_up", same)


def record_in_two_zones() -> Patch:
    """Count a record in its leaf and in the next one, as `intersects` does on a border."""
    real = zone_records.count_zones

    def count(points: Any, zones: Any, person: Any = None) -> Any:
        counts = real(points, zones, person)
        return counts + np.roll(counts, 1) if counts.size > 1 else counts

    return everywhere(real, count)


def unknown_code_raises() -> Patch:
    """Refuse records whose code is not in the frame."""
    real = Zones.leaves_of_codes

    def leaves_of_codes(self: Zones, codes: Any) -> Any:
        leaves = real(self, codes)
        if (leaves == self.n_leaves).any():
            raise ValueError("a code is not in the frame")
        return leaves

    return mock.patch.object(Zones, "leaves_of_codes", leaves_of_codes)


def plain_statement() -> Patch:
    """State a plain promise, although some totals are exact."""
    return mock.patch.object(ZoneTree, "_invariants", return_value=())


def levels_without_budget_are_read() -> Patch:
    """Publish what is not paid for without noise."""

    def all_noisy(part: Any, law: Any, noise: Any) -> Any:
        return np.asarray(part, dtype=np.float64) if law is None else noisy(part, law, noise)

    return mock.patch.object(zonetree, "noisy", all_noisy)


def totals_from_the_records() -> Patch:
    """Take the total of the root from the records, as if it were known."""
    real = zonetree.ZoneDesign.carry_out

    def carry_out(self: Any, exact: Any, noise: Any) -> Any:
        parts = list(exact)
        estimate = real(self, iter(parts), noise)
        values = estimate.values.copy()
        values[0] = parts[0][0]
        return type(estimate)(
            estimate.zones, values, estimate.variances, estimate.kurtosis, estimate.step, estimate.consistent
        )

    return mock.patch.object(zonetree.ZoneDesign, "carry_out", carry_out)
