"""Planted bugs of tables, which the audit must catch; see `mutants`."""

from __future__ import annotations

import contextlib
from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np

from spatialdp.privacy.neighbours import Sensitivity
from spatialdp.records.rows import rows as rows_module
from spatialdp.space.frames.time import Time
from spatialdp.structures.product_sums import ProductSums
from spatialdp.transforms.tree_axis import TreeAxis
from tests.audit.mutants import Mutant
from tests.audit.replay import replayed
from tests.audit.tables import odd_rows_count_nowhere, table_costs
from tests.helpers.table_cases import TABLE_PERSONS, TableSetting

Patch = contextlib.AbstractContextManager[Any]


def chain_spends_for_all_levels_and_each() -> Patch:
    """Give a zone that stands for several levels the whole budget."""
    real = TreeAxis._share

    def share(self: TreeAxis, span: tuple[int, int]) -> Fraction:
        return Fraction(1) if span[0] < span[1] else real(self, span)

    return mock.patch.object(TreeAxis, "_share", share)


def axes_share_by_sums() -> Patch:
    """Give a product of levels the mean of its levels' shares, not their product."""

    def shares(self: ProductSums) -> tuple[Fraction, ...]:
        groups = (self._pairs(group) for group in self.group_numbers)
        return tuple(sum((a.group_shares[g] for a, g in pairs), Fraction(0)) / len(self.axes) for pairs in groups)

    return mock.patch.object(ProductSums, "shares", property(shares))


def replace_is_add_remove() -> Patch:
    """Calibrate a table for adding a row if rows are replaced."""
    return mock.patch.object(ProductSums, "sensitivity", return_value=Sensitivity(1, 1))


def single_counts_do_not_leave() -> Patch:
    """Take a zone that is the only one of its group for the total, which a replaced row does not change."""

    def sensitivity(self: ProductSums, group: int, neighbours: Any) -> Sensitivity:
        sizes = [a.groups[g].stop - a.groups[g].start for a, g in self._pairs(self.group_numbers[group])]
        moved = 1 if neighbours == "add-remove" or np.prod(sizes) == 1 else 2
        return Sensitivity(moved, moved)

    return mock.patch.object(ProductSums, "sensitivity", sensitivity)


def person_moves_cells_apart() -> Patch:
    """Forget that a person's cells may lie in one zone: L instead of L min(L, s)."""

    def sensitivity(self: ProductSums, group: int, neighbours: Any, person: Any) -> Sensitivity:
        one = self.sensitivity(group, neighbours)
        return Sensitivity(person.most * one.l1, person.most * one.l2_squared)

    return mock.patch.object(ProductSums, "person_sensitivity", sensitivity)


def unlisted_kinds_in_the_first_cell() -> Patch:
    """Count a row without a known tick or category in the first one."""
    real = rows_module.number_beside

    def number_beside(frame: Any, places: Any, count: int) -> Any:
        sizes = {name: axis.size for name, axis in rows_module.axes_beside(frame).items()}
        return real(frame, {name: place % sizes[name] for name, place in places.items()}, count)

    return mock.patch.object(rows_module, "number_beside", number_beside)


def ticks_from_the_number_of_rows() -> Patch:
    """Let the first tick depend on how many rows there are."""
    real = Time.ticks

    def ticks(self: Time, instants: Any) -> Any:
        places = real(self, instants)
        return np.where(places < self.size, (places + instants.size) % self.size, places)

    return mock.patch.object(Time, "ticks", ticks)


def row_in_two_ticks() -> Patch:
    """Count a row in its tick and in the next one."""
    real = rows_module.count_rows

    def count(rows: Any, frame: Any, person: Any = None) -> Any:
        counts = real(rows, frame, person)
        return counts + np.roll(counts, 1, axis=0)

    from spatialdp.mechanisms.fixed import table

    return mock.patch.object(table, "count_rows", count)


MUTANTS = [
    Mutant("a chain costs the whole budget", "losses", chain_spends_for_all_levels_and_each,
           table_costs("table, weights", "zones and days")),
    Mutant("shares of axes are added", "losses", axes_share_by_sums, table_costs("table, weights", "zones and kinds")),
    Mutant("a table calibrated for add-remove under replace", "losses", replace_is_add_remove,
           table_costs("table, cells", "zones and kinds", "replace")),
    Mutant("a single zone counts once under replace", "losses", single_counts_do_not_leave,
           table_costs("table, even", "zones alone", "replace")),
    Mutant("a person's cells lie in different zones", "losses", person_moves_cells_apart,
           table_costs("table, gaussian", "zones and kinds", "add-remove", TABLE_PERSONS[1])),
    Mutant("unlisted categories count in the first one", "rows that are nowhere", unlisted_kinds_in_the_first_cell,
           odd_rows_count_nowhere("table", "zones and kinds")),
    Mutant("ticks depend on the number of rows", "replay", ticks_from_the_number_of_rows,
           replayed(TableSetting("table", "zones and days", "add-remove"), 20)),
    Mutant("a row in two ticks", "losses", row_in_two_ticks, table_costs("table, cells", "zones and days")),
]  # fmt: skip
