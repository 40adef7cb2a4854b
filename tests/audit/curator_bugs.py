"""Which bugs could a curator have? Patches that plant them; `mutants` names the check that catches them."""

from __future__ import annotations

import contextlib
from functools import cached_property
from typing import Any
from unittest import mock

import numpy as np

from spatialdp.curator import asks, base
from spatialdp.curator.asks import Frame, Purse
from spatialdp.curator.base import Holder
from spatialdp.curator.counts import Areas, Boxes, Polygons
from spatialdp.curator.medians import Quantile
from spatialdp.curator.values import STEPS, Mean, Sum
from spatialdp.privacy.neighbours import Sensitivity
from spatialdp.records.rows import held
from spatialdp.records.rows.held import HeldRecords

Patch = contextlib.AbstractContextManager[Any]


def depth_of_one() -> Patch:
    """Take boxes for disjoint that overlap."""
    return mock.patch.object(Boxes, "depth", 1)


def replaced_values_move_by_half() -> Patch:
    """Take 2^19 steps for what a replaced value moves a sum by, as if one bound were always 0."""
    real = Areas.sensitivity

    def sensitivity(self: Areas, neighbours: Any, most: int = 1, between: int = 0) -> Sensitivity:
        return real(self, neighbours, most, most)

    return mock.patch.object(Areas, "sensitivity", sensitivity)


def drawn_before_paid() -> Patch:
    """Answer first and pay then, so that a question that is refused has been answered."""

    def carried_out(ask: Any, records: HeldRecords, purse: Purse) -> Any:
        answer = ask.answer(records, purse.noise, ask.statement(ask.facts(), private=purse.private, receipt=None))
        terms = {"neighbours": str(ask.frame.neighbours), "unit": ask.frame.unit}
        purse.spender.spend(ask.cost, **terms, what={"ask": ask.name})
        return answer

    return mock.patch.object(base, "carried_out", carried_out)


def one_sum_of_a_mean() -> Patch:
    """Take both sums of a mean for one that moves by half of the steps."""
    law = property(lambda self: self.spending.noise(self.frame.sensitivity(Sensitivity(STEPS // 2, STEPS**2 // 4))))
    return mock.patch.object(Mean, "law", law)


def values_are_not_clipped() -> Patch:
    """Add values up as they are."""
    from spatialdp.curator import values

    def unclipped(records: HeldRecords, column: str, bounds: Any) -> Any:
        numbers = records.numbers(column)
        known = np.isfinite(numbers) & (np.abs(numbers) < 1e6)
        return records.only(known), numbers[known]

    return mock.patch.object(values, "_clipped", unclipped)


def every_polygon_counts() -> Patch:
    """Count a record in all polygons that contain it."""

    def sums(self: Polygons, records: HeldRecords, weights: Any = None) -> Any:
        return np.array([(records.first_polygon(self.polygons[[i]]) >= 0).sum() for i in range(self.size)])

    return mock.patch.object(Polygons, "sums", sums)


def quantile_for_the_price_of_a_median() -> Patch:
    """Draw any quantile with the ε of a median."""
    unit_epsilon = cached_property(lambda self: self.spending.amount / self.frame.records / self.share.denominator)
    unit_epsilon.__set_name__(Quantile, "unit_epsilon")
    return mock.patch.object(Quantile, "unit_epsilon", unit_epsilon)


def weights_cost_what_one_costs() -> Patch:
    """Draw a quantile as if a record had a weight of 1."""
    unit_epsilon = cached_property(lambda self: self.spending.amount)
    unit_epsilon.__set_name__(Quantile, "unit_epsilon")
    return mock.patch.object(Quantile, "unit_epsilon", unit_epsilon)


def persons_get_the_noise_of_one_record() -> Patch:
    """Forget the bound on persons when noise is chosen."""
    return mock.patch.object(Frame, "sensitivity", lambda self, one_record: one_record)


def records_in_two_parts() -> Patch:
    """Let parts share the records."""
    return mock.patch.object(HeldRecords, "divided", lambda self, parts, count: [self] * count)


def persons_keep_their_first_records() -> Patch:
    """Bound all records together in place of those of each person."""
    return mock.patch.object(
        HeldRecords, "_first_of_each", lambda self, most: np.arange(min(9 * most, self.columns.size))
    )


def seeds_are_private() -> Patch:
    """Call every answer private."""
    return mock.patch.object(Purse, "private", True)


def numbers_in_repr() -> Patch:
    """Show how many records there are."""
    return mock.patch.object(Holder, "__repr__", lambda self: f"Curator({self._held.columns.size} records)")


def values_refused() -> Patch:
    """Refuse columns in which a value is no number."""
    real = HeldRecords.numbers

    def numbers(self: HeldRecords, name: str) -> Any:
        found = real(self, name)
        if np.isnan(found).any():
            raise asks.ParameterError("a value is missing")
        return found

    return mock.patch.object(held.HeldRecords, "numbers", numbers)


def sums_of_no_records_are_exact() -> Patch:
    """Publish a sum without noise if there is no record."""
    real = Sum.answer

    def answer(self: Sum, records: HeldRecords, noise: Any, statement: Any) -> Any:
        answers = real(self, records, noise, statement)
        if not records.columns.size:
            return type(answers)(0.0 * np.asarray(answers.values), statement, answers.accuracy)
        return answers

    return mock.patch.object(Sum, "answer", answer)
