"""Which bugs could a list of cells have? Planted bugs, each with the check that must catch it."""

from __future__ import annotations

import contextlib
import dataclasses
from typing import Any
from unittest import mock

import numpy as np

from spatialdp.mechanisms.adaptive import sparse
from spatialdp.mechanisms.adaptive.sparse import Sparse
from spatialdp.privacy.neighbours import Sensitivity
from spatialdp.privacy.noise import filter as filters
from spatialdp.privacy.noise.filter import Filter
from spatialdp.privacy.noise.source import Noise
from tests.audit import sparse as checks
from tests.audit.mutants import Mutant
from tests.audit.seams import everywhere

Patch = contextlib.AbstractContextManager[Any]
EMPTY = np.empty(0, dtype=np.int64)


def empty_cells_are_skipped() -> Patch:
    """List occupied cells alone, without coins for the empty ones."""
    return mock.patch.object(Filter, "_empty", return_value=EMPTY)


def occupied_cells_keep_the_coins() -> Patch:
    """List an occupied cell also if its coin as an empty cell fell, so that it has two chances."""
    real = Filter.passing

    def passing(filter_: Any, occupied: Any, counts: Any, noise: Any) -> Any:
        numbers, values = real(filter_, occupied, counts, noise)
        coins = np.setdiff1d(filter_._empty(noise), numbers)
        joined = np.concatenate([numbers, coins])
        order = np.argsort(joined)
        return joined[order], np.concatenate([values, np.full(coins.size, filter_.threshold)])[order]

    return mock.patch.object(Filter, "passing", passing)


def repetition_goes_to_the_next_cell() -> Patch:
    """Move a repeated place to the next free one instead of drawing the block again."""

    def places(blocks: Any, bits: int, noise: Any) -> Any:
        drawn = (noise.uniform_words(blocks.size) % np.uint64(2**bits)).astype(np.int64)
        taken: set[int] = set()
        for index, block in enumerate(blocks.tolist()):
            while (number := block << bits | int(drawn[index])) in taken:
                drawn[index] = (drawn[index] + 1) % 2**bits
            taken.add(number)
        return np.sort(blocks << bits | drawn)

    return everywhere(filters.distinct_places, places)


def excess_is_not_folded() -> Patch:
    """Give listed empty cells the absolute value of Laplace noise above the threshold."""
    return mock.patch.object(Noise, "geometric", lambda noise, scale, size: np.abs(noise.laplace(scale, size)))


def counted_by_the_noise_that_chose() -> Patch:
    """Publish the counts by which cells were chosen, and call them unbiased."""

    def estimate(mechanism: Any, points: Any, design: Any, noise: Any) -> Any:
        numbers, noisy = design.filter.passing(*sparse.occupied_cells(points, design.grid), noise)
        return design.estimate(numbers, noisy.astype(float))

    return mock.patch.object(Sparse, "_estimate", estimate)


def replace_is_add_remove() -> Patch:
    return mock.patch.object(sparse, "count_sensitivity", return_value=Sensitivity(1, 1))


def fresh_counts_cost_nothing() -> Patch:
    """Give both steps the whole budget."""
    real = Sparse._design

    def design(mechanism: Any, domain: Any, terms: Any) -> Any:
        made = real(mechanism, domain, terms)
        return dataclasses.replace(made, fresh=dataclasses.replace(made.fresh, parameter=made.filter.scale * 3 / 4))

    return mock.patch.object(Sparse, "_design", design)


def threshold_from_the_records() -> Patch:
    """Raise the threshold by one for many occupied cells."""
    real = Sparse._estimate

    def estimate(mechanism: Any, points: Any, design: Any, noise: Any) -> Any:
        more = sparse.occupied_cells(points, design.grid)[0].size
        filter_ = dataclasses.replace(design.filter, threshold=design.filter.threshold + more)
        return real(mechanism, points, dataclasses.replace(design, filter=filter_), noise)

    return mock.patch.object(Sparse, "_estimate", estimate)


def occupied_cells_are_told() -> Patch:
    """Publish how many empty cells were searched, and so how many are occupied."""
    real = Sparse._estimate

    def estimate(mechanism: Any, points: Any, design: Any, noise: Any) -> Any:
        empty = design.grid.n_cells - sparse.occupied_cells(points, design.grid)[0].size
        made = real(mechanism, points, design, noise)
        return dataclasses.replace(made, false=float(design.filter.chance * empty))

    return mock.patch.object(Sparse, "_estimate", estimate)


LAW = checks.sets_have_the_law_of_dense_noise
MUTANTS = [
    Mutant("empty cells are skipped", "law of sets", empty_cells_are_skipped, LAW),
    Mutant("occupied cells have two chances", "law of sets", occupied_cells_keep_the_coins, LAW),
    Mutant("excess is the absolute value", "law of sets", excess_is_not_folded, LAW),
    Mutant("a repetition goes to the next cell", "places", repetition_goes_to_the_next_cell, checks.places_are_uniform),
    Mutant(
        "counted by the noise that chose",
        "mean error",
        counted_by_the_noise_that_chose,
        checks.listed_counts_are_unbiased,
    ),
    Mutant("replace is add-remove", "replay", replace_is_add_remove, checks.replayed("sparse", "replace")),
    Mutant("replace is add-remove", "brute force", replace_is_add_remove, checks.declared_is_the_maximum),
    Mutant("fresh counts cost nothing", "replay", fresh_counts_cost_nothing, checks.replayed()),
    Mutant("threshold from the records", "replay", threshold_from_the_records, checks.replayed()),
    Mutant("occupied cells are told", "replay", occupied_cells_are_told, checks.replayed()),
]
