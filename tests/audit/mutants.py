"""Would the audit notice a bug? Planted bugs, each with the check that must catch it.

A mutant is a patch of the package and a check. The check passes on the package as it is and must fail with the patch. A
new check, and every bug that was found in practice, needs a mutant here.
"""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np

import spatialdp as sdp
from spatialdp.mechanisms import base, prepared, recipe, stopping
from spatialdp.mechanisms import level_budgets as levels
from spatialdp.mechanisms.adaptive import growth
from spatialdp.mechanisms.adaptive import lines as split_lines
from spatialdp.outputs.maps import cells as map_cells
from spatialdp.privacy import accounting, neighbours
from spatialdp.privacy.neighbours import Sensitivity
from spatialdp.privacy.noise import laws, selection, smooth, source
from spatialdp.privacy.noise import medians as medians_module
from spatialdp.privacy.noise.laws import NoiseLaw
from spatialdp.privacy.noise.medians import Median
from spatialdp.privacy.noise.source import Noise, SeededNoise
from spatialdp.records import counting
from spatialdp.records.counting import count_cells
from spatialdp.records.points import Points
from spatialdp.space.domain import Domain
from spatialdp.structures import cells, tree_levels
from spatialdp.transforms import frequency_blocks
from tests.audit import accounts, adaptive_bugs, checks, curator_bugs, person_bugs, person_noise_bugs, zone_bugs
from tests.audit.checks import (
    contract_of,
    files_and_maps,
    forks,
    no_violation,
    ratios,
    replayed,
    replayed_on_zones,
    sensitivity_of,
    unbiased_total,
)
from tests.audit.curator import (
    curator_losses,
    curator_replayed,
    only_the_systems_noise_is_private,
    quantiles_are_private,
    refused_questions_draw_nothing,
)
from tests.audit.persons import choices_of_bounds_are_private, persons_are_bounded
from tests.audit.seams import everywhere
from tests.audit.zones import costs_the_whole, strays_count_nowhere
from tests.helpers.cases import CLOSE
from tests.helpers.curator_cases import THREE

Patch = contextlib.AbstractContextManager[Any]


@dataclass(frozen=True)
class Mutant:
    """A planted bug.

    Attributes
    ----------
    bug : str
    caught_by : str
        Name of the check.
    plant : callable
        Returns the patch.
    check : callable
        Raises AssertionError if it finds a mistake.
    """

    bug: str
    caught_by: str
    plant: Callable[[], Patch]
    check: Callable[[], None]


@contextlib.contextmanager
def planted(mutant: Mutant) -> Iterator[None]:
    """Plant a bug in the package while the context lasts; caches are cleared before and after."""
    _forget()
    try:
        with mutant.plant():
            yield
    finally:
        _forget()


def _forget() -> None:
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] == "spatialdp" or name == "tests.audit.enumeration":
            for value in list(vars(module).values()):
                if hasattr(value, "cache_clear"):
                    value.cache_clear()


# --- scales and sensitivities --------------------------------------------------------------------------


def calibrated(change: Callable[[NoiseLaw], NoiseLaw]) -> Patch:
    real = laws.calibrate
    return everywhere(real, lambda law, cost, sensitivity: change(real(law, cost, sensitivity)))


def small_scale() -> Patch:
    return calibrated(lambda law: dataclasses.replace(law, parameter=law.parameter * Fraction(8, 10)))


def replace_is_add_remove() -> Patch:
    return everywhere(neighbours.count_sensitivity, lambda neighbours, cells: Sensitivity(1, 1))


def second_count_forgets_replace() -> Patch:
    return mock.patch.object(growth, "_sensitivity", return_value=Sensitivity(1, 1))


def padded_block() -> Patch:
    """Use the sensitivity of coefficients of a grid with twice as many cells along each axis."""
    real = frequency_blocks.sensitivity_of

    def sensitivity(basis: Any, grid: Any, block: Any, neighbours: Any) -> Any:
        nx, ny = grid.shape
        return real(basis, grid.domain.grid((2 * nx, 2 * ny)), block, neighbours)

    return everywhere(real, sensitivity)


def scale_from_the_data() -> Patch:
    """Add less noise to measurements with large counts."""
    real = recipe.noisy

    def noisy(exact: Any, law: NoiseLaw, noise: Noise) -> Any:
        return real(exact, dataclasses.replace(law, parameter=law.parameter / (1 + int(exact.max() > 3))), noise)

    return everywhere(real, noisy)


# --- budgets -------------------------------------------------------------------------------------------


def level_forgotten() -> Patch:
    """Divide the budget over all levels but the root, and measure the root too."""
    real = levels.level_costs

    def costs(budget: Any, height: int, whole: Fraction, law: Any) -> Any:
        below = real("uniform", height - 1, whole, law)
        return (below[0], *below)

    return everywhere(real, costs)


def level_spent_twice() -> Patch:
    """Measure twice at the cost of one measurement, and release the mean."""
    real = recipe.noisy
    return everywhere(
        real,
        lambda exact, law, noise: (real(exact, law, noise) + real(exact, law, noise)) / 2,
    )


def rho_of_epsilon_alone() -> Patch:
    """Cache ρ by ε alone, without δ."""
    real, known = accounting.rho_for, {}
    return everywhere(real, lambda budget: known.setdefault(budget.epsilon, real(budget)))


def geometric_total() -> Patch:
    """Divide the shares of a geometric series by a sum that lacks the first term."""
    real = levels.level_costs

    def costs(budget: Any, height: int, whole: Fraction, law: Any) -> Any:
        parts = real(budget, height, whole, law)
        return tuple(part * whole / sum(parts[1:]) for part in parts)

    return everywhere(real, costs)


def lines_twice_their_budget() -> Patch:
    real = split_lines.MedianLines.__init__
    return mock.patch.object(
        split_lines.MedianLines, "__init__",
        lambda self, method, epsilon, *rest: real(self, method, 2 * epsilon, *rest),
    )  # fmt: skip


def lines_told_add_remove() -> Patch:
    real = split_lines.MedianLines.__init__
    return mock.patch.object(
        split_lines.MedianLines, "__init__",
        lambda self, method, epsilon, neighbours, *rest: real(self, method, epsilon, "add-remove", *rest),
    )  # fmt: skip


def released_again() -> Patch:
    """Repeat a release if its total is small."""
    real = base.Mechanism.release

    def release(self: Any, *data: Any, **terms: Any) -> Any:
        release = real(self, *data, **terms)
        return release if release.total > 30 else real(self, *data, **terms)

    return mock.patch.object(base.Mechanism, "release", release)


# --- structure from the data ---------------------------------------------------------------------------


def shape_from_data() -> Patch:
    real = Domain.grid

    def release(self: Any, points: Any, domain: Any, **terms: Any) -> Any:
        side = 8 + len(Points(points)._x) % 2
        with mock.patch.object(Domain, "grid", lambda d, shape=None, **other: real(d, (side, side))):
            return _RELEASE(self, points, domain, **terms)

    return mock.patch.object(base.Mechanism, "release", release)


_RELEASE = base.Mechanism.release


def bounds_from_data() -> Patch:
    """Count in cells of the records' bounding box instead of the domain's bounds."""
    real = count_cells

    def count(points: Points, grid: Any, person: Any = None) -> Any:
        x, y = (np.asarray(part, dtype=float) for part in (points._x, points._y))
        near = np.isfinite(x) & np.isfinite(y) & (np.abs(x) < 9) & (np.abs(y) < 9)
        if near.sum() < 2 or np.ptp(x[near]) == 0 or np.ptp(y[near]) == 0:
            return real(points, grid, person)
        box = (x[near].min(), y[near].min(), x[near].max(), y[near].max())
        return real(points, Domain(box).grid(grid.shape), person)

    return everywhere(real, count)


def region_from_data() -> Patch:
    """Measure only cells that hold records."""

    def measure(self: Any, counts: Any) -> Any:
        yield counts[self.grid.mask & (counts > 0)]

    def fit(self: Any, noisy: Any, laws: Any) -> Any:
        values = np.zeros(self.grid.shape[::-1])
        (counts,) = noisy
        values.ravel()[: counts.size] = counts
        return values

    return mock.patch.multiple(cells.CellCounts, measure=measure, fit=fit)


def noise_skipped_on_empty_cells() -> Patch:
    real = recipe.noisy

    def noisy(exact: Any, law: Any, noise: Noise) -> Any:
        values = exact.astype(float)
        values[exact > 0] = real(exact[exact > 0], law, noise)
        return values

    return everywhere(real, noisy)


def stop_on_truth() -> Patch:
    """Stop at nodes whose true count is zero."""
    real = stopping.count_level

    def count(counts: Any, depth: int, laws: Any, rule: Any, noise: Noise) -> Any:
        level = real(counts, depth, laws, None, noise)
        may_end = rule is not None and depth < len(laws) - 1
        return dataclasses.replace(level, ended=(counts == 0) & may_end)

    return everywhere(real, count)


def threshold_on_truth() -> Patch:
    """Release zero for small true counts."""
    real = recipe.noisy
    return everywhere(real, lambda exact, law, noise: np.where(exact < 3, 0.0, real(exact, law, noise)))


def record_as_median() -> Patch:
    """Choose the split line among the records."""

    def lines(nodes: Any, epsilon: Fraction, noise: Noise) -> Any:
        middle = np.append(nodes.values, 0)[nodes.starts[:-1] + nodes.counts // 2]
        lines = np.where(nodes.counts > 0, middle + noise.below(np.full(nodes.low.size, 2)), nodes.low + 1)
        return np.clip(lines, nodes.low + 1, nodes.high - 1)

    return mock.patch.dict(medians_module._METHODS, {Median.EXPONENTIAL: lines})


def index_range_of_the_slide() -> Patch:
    """Compute the local sensitivity at distance k over ranges that lack one record."""

    def gaps(padded: Any, origin: Any, counts: Any, steps: Any) -> Any:
        lower = origin + ((counts - steps + 1) >> 1)
        return np.maximum(padded[np.minimum(lower + steps, padded.size - 1)] - padded[lower], 1)

    return mock.patch.object(smooth, "_widest_gaps", gaps)


def exponential_without_the_two() -> Patch:
    real = selection._rate
    return mock.patch.object(selection, "_rate", lambda e, d, monotone: real(e, d, True))


# --- noise ---------------------------------------------------------------------------------------------


def shared_noise() -> Patch:
    """Give the same noise to four cells in a row."""
    real = Noise.laplace

    def laplace(self: Noise, scale: Any, size: Any) -> Any:
        noise = real(self, scale, size)
        return np.repeat(noise.ravel()[::4], 4)[: noise.size].reshape(noise.shape) if noise.size % 4 == 0 else noise

    return mock.patch.object(Noise, "laplace", laplace)


def float_noise() -> Patch:
    """Draw Laplace noise by the textbook formula, in doubles."""

    def add_to(law: NoiseLaw, counts: Any, noise: Noise) -> Any:
        uniform = (noise.uniform_words(counts.size).reshape(counts.shape) / 2.0**64) - 0.5
        return counts - float(law.parameter) / law.steps * np.sign(uniform) * np.log1p(-2 * np.abs(uniform))

    return mock.patch.object(NoiseLaw, "add_to", add_to)


def copied_by_fork() -> Patch:
    """Take random bytes from a pool that a child process inherits."""
    pool = SeededNoise(int.from_bytes(os.urandom(6), "little"))

    def system_bytes(count: int) -> bytes:
        with mock.patch.object(
            os, "getpid", return_value=pool._process
        ):  # without this patch, the pool would notice the fork
            return pool.random_bytes(count)

    return mock.patch.object(source, "_system_bytes", system_bytes)


def exact_phase() -> Patch:
    """Add noise to the size of a coefficient, and keep its exact sign."""

    def carry_out(self: Any, exact: Any, noise: Noise) -> Any:
        parts = list(exact)
        noisy = [
            np.sign(part.floats() + 0.5) * np.abs(recipe.noisy(part, law, noise))
            for part, law in zip(parts, self.laws, strict=True)
        ]
        return self.structure.estimate(self.structure.fit(iter(noisy), self.laws), self.laws)

    return mock.patch.object(recipe.Design, "carry_out", carry_out)


# --- counting ------------------------------------------------------------------------------------------


def _recount(change: Callable[[Any, Points, Any], Any]) -> Patch:
    real = count_cells
    return everywhere(real, lambda points, grid, person=None: change(real(points, grid, person), points, grid))


def nan_counted() -> Patch:
    def change(counts: Any, points: Points, grid: Any) -> Any:
        counts[0, 0] += int(np.isnan(np.asarray(points._x, dtype=float)).sum())
        return counts

    return _recount(change)


def block_edge_counted_twice() -> Patch:
    """Count the last record of each block twice."""
    real = Points._positions

    def positions(self: Points, domain: Any) -> Any:
        for x, y in real(self, domain):
            yield np.append(x, x[-1:]), np.append(y, y[-1:])

    return mock.patch.object(Points, "_positions", positions)


def edge_counted_twice() -> Patch:
    """Count a record on the edge between two cells in both cells."""

    def change(counts: Any, points: Points, grid: Any) -> Any:
        x = np.asarray(points._x, dtype=float)
        for i, edge in enumerate(grid.x_edges[1:-1]):
            beside = points._x[x == edge], points._y[x == edge]
            counts[:, i] += counting.count_cells(Points(*beside), grid)[:, i + 1] if beside[0].size else 0
        return counts

    real = count_cells

    def count(points: Points, grid: Any, person: Any = None) -> Any:
        with everywhere(count, real):
            return change(real(points, grid, person), points, grid)

    return everywhere(real, count)


def truncated_before_the_fit() -> Patch:
    real = tree_levels.fitted
    return everywhere(real, lambda tree, values, variances: real(tree, np.maximum(values, 0), variances))


# --- words, files and maps -----------------------------------------------------------------------------


def _after_release(change: Callable[[Any, Any], Any]) -> Patch:
    def release(self: Any, points: Any, domain: Any, **terms: Any) -> Any:
        return change(_RELEASE(self, points, domain, **terms), points)

    return mock.patch.object(base.Mechanism, "release", release)


def number_in_metadata() -> Patch:
    def change(release: Any, points: Any) -> Any:
        parameters = dict(release.privacy.parameters) | {"records": len(points)}
        return dataclasses.replace(release, privacy=dataclasses.replace(release.privacy, parameters=parameters))

    return _after_release(change)


def number_in_a_warning() -> Patch:
    def change(release: Any, points: Any) -> Any:
        warnings.warn(f"{len(points)} records were read", stacklevel=2)
        return release

    return _after_release(change)


def number_in_the_log() -> Patch:
    def change(release: Any, points: Any) -> Any:
        logging.getLogger("spatialdp").info("released %d records", len(points))
        return release

    return _after_release(change)


def records_in_the_object() -> Patch:
    """Keep the records in a hidden attribute of the release, which a pickle would reveal."""

    def change(release: Any, points: Any) -> Any:
        object.__setattr__(release, "_records", list(points))
        return release

    return _after_release(change)


def colours_from_truth() -> Patch:
    """End the colour scale at a value that depends on the number of records."""
    seen = {"largest": 1.0}

    def change(release: Any, points: Any) -> Any:
        seen["largest"] = 1.0 + len(points)
        return release

    patches = contextlib.ExitStack()
    patches.enter_context(_after_release(change))
    patches.enter_context(mock.patch.object(map_cells.MapCells, "high", side_effect=lambda *_: seen["largest"]))
    return patches


def number_in_the_file() -> Patch:
    """Append one byte to the file for each record."""
    seen = {"records": 0}
    real = sdp.Release.save

    def change(release: Any, points: Any) -> Any:
        seen["records"] = len(points)
        return release

    def save(self: Any, path: Any, **options: Any) -> None:
        real(self, path, **options)
        with open(path, "ab") as file:
            file.write(b"\0" * seen["records"])

    patches = contextlib.ExitStack()
    patches.enter_context(_after_release(change))
    patches.enter_context(mock.patch.object(sdp.Release, "save", save))
    return patches


def not_marked() -> Patch:
    """State that a release is private, whatever its noise was."""
    return mock.patch.object(prepared, "is_system_noise", return_value=True)


def promise_of_half() -> Patch:
    """State half of the spent ε."""

    def change(release: Any, points: Any) -> Any:
        statement = dataclasses.replace(release.privacy, epsilon=release.privacy.epsilon / 2)
        return dataclasses.replace(release, privacy=statement)

    return _after_release(change)


def records_shown() -> Patch:
    return mock.patch.object(Points, "__repr__", lambda self: f"Points({len(self._x)} records)")


MUTANTS = [
    Mutant("scale × 0.8", "replay", small_scale, replayed("flat")),
    Mutant("scale × 0.8", "black box", small_scale, no_violation("flat", "empty and one", 4)),
    Mutant("the root is left out when the budget is divided", "replay", level_forgotten, replayed("quadtree, uniform")),
    Mutant("a level's budget spent twice", "sensitivity", level_spent_twice, sensitivity_of("quadtree")),
    Mutant("geometric budgets divided by a wrong total", "contract: plan", geometric_total,
           contract_of("plan", "quadtree")),
    Mutant("sensitivity of add-remove under replace", "sensitivity", replace_is_add_remove,
           sensitivity_of("flat", "replace")),
    Mutant("negative counts cut off before the fit", "contract: signs", truncated_before_the_fit,
           contract_of("opposite", "quadtree")),
    Mutant("shape of the grid from the records", "replay", shape_from_data, replayed("flat")),
    Mutant("bounds from the records", "replay", bounds_from_data, replayed("flat")),
    Mutant("tree stops where the true count is 0", "replay", stop_on_truth, replayed("kd, hybrid, stop")),
    Mutant("split lines chosen among the records", "enumeration", record_as_median, ratios(Median.EXPONENTIAL)),
    Mutant("smooth sensitivity with the slide's index range", "enumeration", index_range_of_the_slide,
           ratios(Median.SMOOTH)),
    Mutant("noise shared between nodes", "black box", shared_noise, no_violation("flat", "empty and one", 1)),
    Mutant("random generator copied by a fork", "forks", copied_by_fork, forks),
    Mutant("noise in floating point", "contract: lattice", float_noise, contract_of("lattice", "flat")),
    Mutant("noise skipped on empty cells", "replay", noise_skipped_on_empty_cells, replayed("flat")),
    Mutant("threshold on the true count", "replay", threshold_on_truth, replayed("quadtree, raw")),
    Mutant("number of records in the metadata", "replay", number_in_metadata, replayed("flat")),
    Mutant("colour scale from the records", "files and maps", colours_from_truth, files_and_maps("flat")),
    Mutant("region from the records", "replay", region_from_data, replayed("flat")),
    Mutant("records with NaN are counted", "contract: strays", nan_counted, contract_of("strays", "flat")),
    Mutant("a record on an edge is counted twice", "replay", edge_counted_twice, replayed("flat", 60)),
    Mutant("Fourier coefficients keep their exact signs", "replay", exact_phase, replayed("fourier, given block")),
    Mutant("Fourier sensitivity of a larger grid", "sensitivity", padded_block, sensitivity_of("fourier, given block")),
    Mutant("seeded release is not marked as not private", "contract: marks", not_marked, contract_of("marked", "flat")),
    Mutant("a warning contains the number of records", "replay", number_in_a_warning, replayed("flat")),
    Mutant("a log line contains the number of records", "replay", number_in_the_log, replayed("flat")),
    Mutant("length of the file depends on the number of records", "files and maps", number_in_the_file,
           files_and_maps("flat")),
    Mutant("repr shows the number of records", "contract: texts", records_shown, contract_of("texts", "flat")),
    Mutant("statement promises half of the spent ε", "contract: plan", promise_of_half, contract_of("plan", "flat")),
    Mutant("scale of the noise from the records", "replay", scale_from_the_data, replayed("flat", 60)),
    Mutant("release is repeated if its total is small", "replay", released_again, replayed("flat")),
    Mutant("split lines spend twice their budget", "replay", lines_twice_their_budget, replayed("kd", 40)),
    Mutant("split lines calibrated for add-remove under replace", "replay", lines_told_add_remove,
           replayed("kd", 40, "replace")),
    Mutant("second count calibrated for add-remove under replace", "replay", second_count_forgets_replace,
           replayed("kd, midpoints, stop", 40, "replace", "two corners")),
    Mutant("records kept in the release object", "replay", records_in_the_object, replayed("flat")),
    Mutant("a cache ignores δ", "contract: terms", rho_of_epsilon_alone, contract_of("terms", "flat, gaussian")),
    Mutant("the last record of a block is counted twice", "contract: blocks", block_edge_counted_twice,
           contract_of("blocks", "kd")),
    Mutant("exponential mechanism without the factor 2", "enumeration", exponential_without_the_two, checks.choices),
    Mutant("adaptive tree divided by true counts", "replay", adaptive_bugs.decided_by_true_counts,
           replayed("adaptive", 60)),
    Mutant("adaptive tree ends where a block is empty", "replay", adaptive_bugs.ended_where_nothing_is,
           replayed("adaptive", 60)),
    Mutant("second count of a block that is not divided is not charged", "replay",
           adaptive_bugs.repeated_counts_are_free, replayed("adaptive", 60)),
    Mutant("paths of an adaptive tree charged once under replace", "replay", adaptive_bugs.one_path_under_replace,
           replayed("adaptive", 25, "replace")),
    Mutant("weights of counts chosen after the counts", "unbiased total", adaptive_bugs.weights_from_their_own_counts,
           unbiased_total("adaptive, unbiased")),
    Mutant("least squares on a tree that its noise divided", "unbiased total", adaptive_bugs.least_squares,
           unbiased_total("adaptive, unbiased")),
    *(
        Mutant(bug, "persons", plant, persons_are_bounded)
        for bug, plant in (
            ("records without a person are one person", person_bugs.missing_persons_are_one_person),
            ("records without a person are not bounded", person_bugs.missing_persons_are_not_bounded),
            ("cells are merged after persons are bounded", person_bugs.merged_after_bounding),
            ("the region is left out after persons are bounded", person_bugs.region_after_bounding),
            ("persons are bounded in each block of records", person_bugs.bounded_in_each_block),
            ("a person's cells are chosen by row number", person_bugs.keys_by_row),
            ("a person's cells are drawn at random, row by row", person_bugs.keys_drawn),
            ("shares are rounded up", person_bugs.shares_rounded_up),
            ("cells that do not fit into the bound are kept whole", person_bugs.one_record_too_many),
        )
    ),
    Mutant("a person's cells take the sensitivity of leaves at the root", "replay with persons",
           person_noise_bugs.leaf_sensitivity_at_the_root, replayed("quadtree, gaussian", person=sdp.Person(cells=3))),
    Mutant("split lines are not divided by the bound on a person", "replay with persons",
           person_noise_bugs.lines_for_one_record, replayed("kd", person=sdp.Person(records=3))),
    Mutant("a person with three records gets the noise of one record", "replay with persons",
           person_noise_bugs.noise_for_one_record, replayed("flat", person=sdp.Person(records=3))),
    Mutant("an adaptive tree gives a person the noise of one record", "replay with persons",
           person_noise_bugs.noise_for_one_record, replayed("adaptive", person=sdp.Person(cells=3))),
    Mutant("(ε / L, δ) instead of ρ / L² for Gaussian noise", "replay with persons",
           person_noise_bugs.epsilon_divided_for_gaussian_noise,
           replayed("flat, gaussian", person=sdp.Person(records=3))),
    Mutant("shares of a person do not add up to one", "replay with persons", person_noise_bugs.shares_of_kept_cells,
           replayed("flat", person=sdp.Person(shares=True))),
    Mutant("records of a person are bounded in each cell, not in all", "replay with persons",
           person_noise_bugs.bound_on_each_cell, replayed("flat", person=sdp.Person(records=3))),
    Mutant("bound on persons chosen by records cut off, as if one person had one", "choices of bounds",
           person_bugs.score_by_records, choices_of_bounds_are_private),
    Mutant("bound on persons chosen by records cut off, as if one person had one", "replay",
           person_bugs.score_by_records, replayed("flat", 42, person=sdp.Person(records=CLOSE))),
    Mutant("bound on persons chosen without noise", "choices of bounds", person_bugs.choice_without_noise,
           choices_of_bounds_are_private),
    Mutant("threshold for the bound on persons from the records", "choices of bounds",
           person_bugs.thresholds_from_the_records, choices_of_bounds_are_private),
    Mutant("choice of the bound on persons is not paid for", "replay", person_bugs.share_not_subtracted,
           replayed("flat", 42, person=sdp.Person(cells=CLOSE))),
    Mutant("choice of the bound on persons is not paid for, Gaussian", "replay", person_bugs.share_not_subtracted,
           replayed("flat, gaussian", 42, person=sdp.Person(cells=CLOSE))),
    Mutant("a zone on several levels pays for one of them", "exact losses on zones", zone_bugs.chain_pays_once,
           costs_the_whole("zones, uniform", "lopsided")),
    Mutant("a leaf above the lowest level gets the whole budget", "exact losses on zones",
           zone_bugs.shallow_leaf_gets_the_whole, costs_the_whole("zones, uniform", "lopsided")),
    Mutant("a group with one zone is taken for the root under replace", "exact losses on zones",
           zone_bugs.one_node_cannot_be_left_for_another,
           costs_the_whole("zones, upper levels", "lopsided", "replace")),
    Mutant("a person's zones take the sensitivity of leaves at the root", "exact losses on zones",
           zone_bugs.leaf_noise_at_the_root, costs_the_whole("zones, gaussian", "regular", person=sdp.Person(cells=3))),
    Mutant("a person's zones are charged group by group", "exact losses on zones",
           zone_bugs.path_takes_the_sum_of_groups,
           costs_the_whole("zones, gaussian", "lopsided", person=sdp.Person(cells=3))),
    Mutant("groups that share levels are added up", "exact losses on zones", zone_bugs.as_many_groups_as_levels,
           costs_the_whole("zones, gaussian", "chains", person=sdp.Person(cells=3))),
    Mutant("a record counts in two zones", "exact losses on zones", zone_bugs.record_in_two_zones,
           costs_the_whole("zones, uniform", "regular")),
    Mutant("an unknown code is an error", "strays on zones", zone_bugs.unknown_code_raises,
           strays_count_nowhere("zones", "lopsided")),
    Mutant("a plain statement is printed with invariants", "replay on zones", zone_bugs.plain_statement,
           replayed_on_zones("zones, invariants")),
    Mutant("levels without budget are published without noise", "replay on zones",
           zone_bugs.levels_without_budget_are_read, replayed_on_zones("zones, raw")),
    Mutant("a known total comes from the records", "replay on zones", zone_bugs.totals_from_the_records,
           replayed_on_zones("zones, uniform")),
    Mutant("boxes that overlap are taken for disjoint", "losses of a curator", curator_bugs.depth_of_one,
           curator_losses("counts, overlapping")),
    Mutant("boxes that overlap are taken for disjoint", "replay of a curator", curator_bugs.depth_of_one,
           curator_replayed("sum, overlapping")),
    Mutant("a replaced value moves a sum by 2^19 steps", "losses of a curator",
           curator_bugs.replaced_values_move_by_half, curator_losses("sum", "replace")),
    Mutant("noise of an answer is drawn before it is paid for", "refused questions", curator_bugs.drawn_before_paid,
           refused_questions_draw_nothing),
    Mutant("both sums of a mean are taken for one", "losses of a curator", curator_bugs.one_sum_of_a_mean,
           curator_losses("mean")),
    Mutant("values are added up without bounds", "losses of a curator", curator_bugs.values_are_not_clipped,
           curator_losses("sum, one side")),
    Mutant("a record counts in every polygon that contains it", "losses of a curator",
           curator_bugs.every_polygon_counts, curator_losses("counts, polygons")),
    Mutant("any quantile costs what a median costs", "losses of a curator",
           curator_bugs.quantile_for_the_price_of_a_median, curator_losses("quantile")),
    Mutant("all weights of a record in a quantile cost what one costs", "laws of quantiles",
           curator_bugs.weights_cost_what_one_costs, quantiles_are_private),
    Mutant("a person with three records gets the noise of one", "replay of a curator",
           curator_bugs.persons_get_the_noise_of_one_record, curator_replayed("counts, apart", person=THREE)),
    Mutant("records are bounded together, not those of each person", "replay of a curator",
           curator_bugs.persons_keep_their_first_records, curator_replayed("counts, apart", person=THREE)),
    Mutant("a record is in two parts of a partition", "losses of a curator", curator_bugs.records_in_two_parts,
           curator_losses("partition")),
    Mutant("an answer with seeded noise is called private", "marked", curator_bugs.seeds_are_private,
           only_the_systems_noise_is_private),
    Mutant("a curator shows how many records it holds", "replay of a curator", curator_bugs.numbers_in_repr,
           curator_replayed("count")),
    Mutant("a column with a missing value is refused", "replay of a curator", curator_bugs.values_refused,
           curator_replayed("sum")),
    Mutant("a sum over no records has no noise", "replay of a curator", curator_bugs.sums_of_no_records_are_exact,
           curator_replayed("sum", pairs=150)),
    Mutant("number of records in an entry of the ledger", "entries", accounts.number_in_the_entry,
           accounts.entries_of("flat")),
    Mutant("whether a release is paid for depends on its records", "entries", accounts.paid_if_there_are_many,
           accounts.entries_of("flat")),
    Mutant("noise is drawn before it is paid for", "order of payment", accounts.drawn_before_it_is_paid_for,
           accounts.paid_in_order("flat")),
    Mutant("a release is paid for once it is made", "order of payment", accounts.paid_after_the_release,
           accounts.paid_in_order("quadtree")),
]  # fmt: skip
