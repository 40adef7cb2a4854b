"""Planted bugs, each with the check that must catch it.

A mutant is a patch of the package and a check: the check passes on the package as it is and fails with the patch.
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
from spatialdp.mechanisms import base, recipe, stopping
from spatialdp.mechanisms import level_budgets as levels
from spatialdp.mechanisms.adaptive import growth
from spatialdp.mechanisms.adaptive import lines as split_lines
from spatialdp.outputs.maps import cells as map_cells
from spatialdp.privacy import accounting, neighbours
from spatialdp.privacy.neighbours import Sensitivity
from spatialdp.privacy.noise import laws, selection, smooth
from spatialdp.privacy.noise import medians as medians_module
from spatialdp.privacy.noise.laws import NoiseLaw
from spatialdp.privacy.noise.medians import Median
from spatialdp.privacy.noise.source import Noise, SeededNoise, SystemNoise
from spatialdp.records import counting
from spatialdp.records.counting import count_cells
from spatialdp.records.points import Points
from spatialdp.space.domain import Domain
from spatialdp.structures import cells, tree_levels
from spatialdp.transforms import frequency_blocks
from tests.audit import checks
from tests.audit.checks import contract_of, files_and_maps, forks, no_violation, ratios, replayed, sensitivity_of
from tests.audit.seams import everywhere

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
        Gives the patch.
    check : callable
        Raises AssertionError if something is wrong.
    """

    bug: str
    caught_by: str
    plant: Callable[[], Patch]
    check: Callable[[], None]


@contextlib.contextmanager
def planted(mutant: Mutant) -> Iterator[None]:
    """The package with the bug in it, and nothing remembered from before or kept for after."""
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


def _calibrated(change: Callable[[NoiseLaw], NoiseLaw]) -> Patch:
    real = laws.calibrate
    return everywhere(real, lambda law, cost, sensitivity: change(real(law, cost, sensitivity)))


def small_scale() -> Patch:
    return _calibrated(lambda law: dataclasses.replace(law, parameter=law.parameter * Fraction(8, 10)))


def replace_is_add_remove() -> Patch:
    return everywhere(neighbours.count_sensitivity, lambda neighbours, cells: Sensitivity(1, 1))


def second_count_forgets_replace() -> Patch:
    return mock.patch.object(growth, "_sensitivity", return_value=Sensitivity(1, 1))


def padded_block() -> Patch:
    """The sensitivity of coefficients spread over a grid twice as large, for the grid there is."""
    real = frequency_blocks.sensitivity_of

    def sensitivity(basis: Any, grid: Any, block: Any, neighbours: Any) -> Any:
        nx, ny = grid.shape
        return real(basis, grid.domain.grid((2 * nx, 2 * ny)), block, neighbours)

    return everywhere(real, sensitivity)


def scale_from_the_data() -> Patch:
    """Less noise where counts are large."""
    real = recipe.noisy

    def noisy(exact: Any, law: NoiseLaw, noise: Noise) -> Any:
        return real(exact, dataclasses.replace(law, parameter=law.parameter / (1 + int(exact.max() > 3))), noise)

    return everywhere(real, noisy)


# --- budgets -------------------------------------------------------------------------------------------


def level_forgotten() -> Patch:
    """The budget is divided over all levels but the root, which is measured all the same."""
    real = levels.level_costs

    def costs(budget: Any, height: int, whole: Fraction, law: Any) -> Any:
        below = real("uniform", height - 1, whole, law)
        return (below[0], *below)

    return everywhere(real, costs)


def level_spent_twice() -> Patch:
    """The mean of two draws for the price of one."""
    real = recipe.noisy
    return everywhere(
        real,
        lambda exact, law, noise: (real(exact, law, noise) + real(exact, law, noise)) / 2,
    )


def rho_of_epsilon_alone() -> Patch:
    """What a budget allows is remembered, and δ forgotten."""
    real, known = accounting.rho_for, {}
    return everywhere(real, lambda budget: known.setdefault(budget.epsilon, real(budget)))


def geometric_total() -> Patch:
    """Shares of a geometric series over the sum of one term less."""
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
    """Repeats a release until it looks right."""
    real = base.Mechanism.release

    def release(self: Any, *given: Any, **terms: Any) -> Any:
        found = real(self, *given, **terms)
        return found if found.total > 30 else real(self, *given, **terms)

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
    """Cells of the records' bounding box instead of the domain's."""
    real = count_cells

    def count(points: Points, grid: Any) -> Any:
        x, y = (np.asarray(part, dtype=float) for part in (points._x, points._y))
        kept = np.isfinite(x) & np.isfinite(y) & (np.abs(x) < 9) & (np.abs(y) < 9)
        if kept.sum() < 2 or np.ptp(x[kept]) == 0 or np.ptp(y[kept]) == 0:
            return real(points, grid)
        box = (x[kept].min(), y[kept].min(), x[kept].max(), y[kept].max())
        return real(points, Domain(box).grid(grid.shape))

    return everywhere(real, count)


def region_from_data() -> Patch:
    """Only cells with records are counted."""

    def measure(self: Any, counts: Any) -> Any:
        yield counts[self.grid.mask & (counts > 0)]

    def fit(self: Any, noisy: Any, laws: Any) -> Any:
        values = np.zeros(self.grid.shape[::-1])
        (found,) = noisy
        values.ravel()[: found.size] = found
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
    """Nodes end where their true count is zero."""
    real = stopping.count_level

    def count(counts: Any, depth: int, laws: Any, rule: Any, noise: Noise) -> Any:
        level = real(counts, depth, laws, None, noise)
        may_end = rule is not None and depth < len(laws) - 1
        return dataclasses.replace(level, ended=(counts == 0) & may_end)

    return everywhere(real, count)


def threshold_on_truth() -> Patch:
    """Small true counts are suppressed in the map."""
    real = recipe.noisy
    return everywhere(real, lambda exact, law, noise: np.where(exact < 3, 0.0, real(exact, law, noise)))


def record_as_median() -> Patch:
    """The split line is drawn among the records."""

    def lines(nodes: Any, epsilon: Fraction, noise: Noise) -> Any:
        middle = np.append(nodes.values, 0)[nodes.starts[:-1] + nodes.counts // 2]
        wanted = np.where(nodes.counts > 0, middle + noise.below(np.full(nodes.low.size, 2)), nodes.low + 1)
        return np.clip(wanted, nodes.low + 1, nodes.high - 1)

    return mock.patch.dict(medians_module._METHODS, {Median.EXPONENTIAL: lines})


def index_range_of_the_slide() -> Patch:
    """The local sensitivity at distance k over one range of records less."""

    def gaps(padded: Any, origin: Any, counts: Any, steps: Any) -> Any:
        lower = origin + ((counts - steps + 1) >> 1)
        return np.maximum(padded[np.minimum(lower + steps, padded.size - 1)] - padded[lower], 1)

    return mock.patch.object(smooth, "_widest_gaps", gaps)


def exponential_without_the_two() -> Patch:
    real = selection._rates
    return mock.patch.object(selection, "_rates", lambda s, e, d, monotone: real(s, e, d, True))


# --- noise ---------------------------------------------------------------------------------------------


def shared_noise() -> Patch:
    """All cells of a row of four get the same noise."""
    real = Noise.laplace

    def laplace(self: Noise, scale: Any, size: Any) -> Any:
        drawn = real(self, scale, size)
        return np.repeat(drawn.ravel()[::4], 4)[: drawn.size].reshape(drawn.shape) if drawn.size % 4 == 0 else drawn

    return mock.patch.object(Noise, "laplace", laplace)


def float_noise() -> Patch:
    """Laplace noise by the textbook, in doubles."""

    def add_to(law: NoiseLaw, counts: Any, noise: Noise) -> Any:
        uniform = (noise.uniform_words(counts.size).reshape(counts.shape) / 2.0**64) - 0.5
        return counts - float(law.parameter) / law.steps * np.sign(uniform) * np.log1p(-2 * np.abs(uniform))

    return mock.patch.object(NoiseLaw, "add_to", add_to)


def copied_by_fork() -> Patch:
    """Random bytes from a pool that a child process inherits."""
    pool = SeededNoise(int.from_bytes(os.urandom(6), "little"))

    def random_bytes(self: Noise, count: int) -> bytes:
        with mock.patch.object(os, "getpid", return_value=pool._process):  # or it would notice
            return pool.random_bytes(count)

    return mock.patch.object(SystemNoise, "random_bytes", random_bytes)


def exact_phase() -> Patch:
    """Noise on the size of a coefficient, its sign as it was."""

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
    return everywhere(real, lambda points, grid: change(real(points, grid), points, grid))


def nan_counted() -> Patch:
    def change(counts: Any, points: Points, grid: Any) -> Any:
        counts[0, 0] += int(np.isnan(np.asarray(points._x, dtype=float)).sum())
        return counts

    return _recount(change)


def block_edge_counted_twice() -> Patch:
    """The last record of a block is the first of the next one, too."""
    real = Points._positions

    def positions(self: Points, domain: Any) -> Any:
        for x, y in real(self, domain):
            yield np.append(x, x[-1:]), np.append(y, y[-1:])

    return mock.patch.object(Points, "_positions", positions)


def edge_counted_twice() -> Patch:
    """A record on the edge of two cells counts in both."""

    def change(counts: Any, points: Points, grid: Any) -> Any:
        x = np.asarray(points._x, dtype=float)
        for i, edge in enumerate(grid.x_edges[1:-1]):
            beside = points._x[x == edge], points._y[x == edge]
            counts[:, i] += counting.count_cells(Points(*beside), grid)[:, i + 1] if beside[0].size else 0
        return counts

    real = count_cells

    def count(points: Points, grid: Any) -> Any:
        with everywhere(count, real):
            return change(real(points, grid), points, grid)

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
    def change(found: Any, points: Any) -> Any:
        stated = dict(found.privacy.parameters) | {"records": len(points)}
        return dataclasses.replace(found, privacy=dataclasses.replace(found.privacy, parameters=stated))

    return _after_release(change)


def number_in_a_warning() -> Patch:
    def change(found: Any, points: Any) -> Any:
        warnings.warn(f"{len(points)} records were read", stacklevel=2)
        return found

    return _after_release(change)


def number_in_the_log() -> Patch:
    def change(found: Any, points: Any) -> Any:
        logging.getLogger("spatialdp").info("released %d records", len(points))
        return found

    return _after_release(change)


def records_in_the_object() -> Patch:
    """A release remembers what it was made of, where nobody looks but whoever unpickles it."""

    def change(found: Any, points: Any) -> Any:
        object.__setattr__(found, "_made_of", list(points))
        return found

    return _after_release(change)


def colours_from_truth() -> Patch:
    """The colour scale ends at the largest true count."""
    seen = {"largest": 1.0}

    def change(found: Any, points: Any) -> Any:
        seen["largest"] = 1.0 + len(points)
        return found

    patches = contextlib.ExitStack()
    patches.enter_context(_after_release(change))
    patches.enter_context(mock.patch.object(map_cells.MapCells, "high", side_effect=lambda *_: seen["largest"]))
    return patches


def number_in_the_file() -> Patch:
    """Rows beyond the estimates' own, as many as there are records."""
    seen = {"records": 0}
    real = sdp.Release.save

    def change(found: Any, points: Any) -> Any:
        seen["records"] = len(points)
        return found

    def save(self: Any, path: Any, **options: Any) -> None:
        real(self, path, **options)
        with open(path, "ab") as file:
            file.write(b"\0" * seen["records"])

    patches = contextlib.ExitStack()
    patches.enter_context(_after_release(change))
    patches.enter_context(mock.patch.object(sdp.Release, "save", save))
    return patches


def not_marked() -> Patch:
    """The statement of a release with the system's noise, whatever the noise was."""
    real = base.replace
    return mock.patch.object(base, "replace", lambda thing, **changes: real(thing, **changes | {"private": True}))


def promise_of_half() -> Patch:
    """The statement promises half of what was spent."""

    def change(found: Any, points: Any) -> Any:
        stated = dataclasses.replace(found.privacy, epsilon=found.privacy.epsilon / 2)
        return dataclasses.replace(found, privacy=stated)

    return _after_release(change)


def records_shown() -> Patch:
    return mock.patch.object(Points, "__repr__", lambda self: f"Points({len(self._x)} records)")


MUTANTS = [
    Mutant("scale × 0.8", "replay", small_scale, replayed("flat")),
    Mutant("scale × 0.8", "black box", small_scale, no_violation("flat", "empty and one", 4)),
    Mutant("a level forgotten", "replay", level_forgotten, replayed("quadtree, uniform")),
    Mutant("a level's budget spent twice", "sensitivity", level_spent_twice, sensitivity_of("quadtree")),
    Mutant("geometric rule with the wrong total", "contract: plan", geometric_total, contract_of("plan", "quadtree")),
    Mutant("replace-one with factor 1", "sensitivity", replace_is_add_remove, sensitivity_of("flat", "replace")),
    Mutant("truncation before consistency", "contract: signs", truncated_before_the_fit,
           contract_of("opposite", "quadtree")),
    Mutant("shape from data", "replay", shape_from_data, replayed("flat")),
    Mutant("bounds from data", "replay", bounds_from_data, replayed("flat")),
    Mutant("stop where the true node is empty", "replay", stop_on_truth, replayed("kd, hybrid, stop")),
    Mutant("median candidates from records", "enumeration", record_as_median, ratios(Median.EXPONENTIAL)),
    Mutant("smooth sensitivity with the slide's index range", "enumeration", index_range_of_the_slide,
           ratios(Median.SMOOTH)),
    Mutant("noise shared between nodes", "black box", shared_noise, no_violation("flat", "empty and one", 1)),
    Mutant("generator copied by fork", "forks", copied_by_fork, forks),
    Mutant("float noise", "contract: lattice", float_noise, contract_of("lattice", "flat")),
    Mutant("noise skipped on empty cells", "replay", noise_skipped_on_empty_cells, replayed("flat")),
    Mutant("threshold on the true count", "replay", threshold_on_truth, replayed("quadtree, raw")),
    Mutant("n leaked in metadata", "replay", number_in_metadata, replayed("flat")),
    Mutant("colour scale from truth", "files and maps", colours_from_truth, files_and_maps("flat")),
    Mutant("region decided by data", "replay", region_from_data, replayed("flat")),
    Mutant("NaN counted", "contract: strays", nan_counted, contract_of("strays", "flat")),
    Mutant("edge counted twice", "replay", edge_counted_twice, replayed("flat", 60)),
    Mutant("Fourier keeping the exact phase", "replay", exact_phase, replayed("fourier, given block")),
    Mutant("sensitivity of the padded block", "sensitivity", padded_block, sensitivity_of("fourier, given block")),
    Mutant("seeded release not marked", "contract: marks", not_marked, contract_of("marked", "flat")),
    Mutant("message that contains a count", "replay", number_in_a_warning, replayed("flat")),
    Mutant("log line that contains a count", "replay", number_in_the_log, replayed("flat")),
    Mutant("file length tells the number of records", "files and maps", number_in_the_file, files_and_maps("flat")),
    Mutant("repr tells the number of records", "contract: texts", records_shown, contract_of("texts", "flat")),
    Mutant("statement promises half", "contract: plan", promise_of_half, contract_of("plan", "flat")),
    Mutant("scale from the data", "replay", scale_from_the_data, replayed("flat", 60)),
    Mutant("released again until it looks right", "replay", released_again, replayed("flat")),
    Mutant("lines at twice their budget", "replay", lines_twice_their_budget, replayed("kd", 40)),
    Mutant("lines told add-remove under replace", "replay", lines_told_add_remove, replayed("kd", 40, "replace")),
    Mutant("second count forgets replace", "replay", second_count_forgets_replace,
           replayed("kd, midpoints, stop", 40, "replace", "two corners")),
    Mutant("records kept in the release object", "replay", records_in_the_object, replayed("flat")),
    Mutant("δ forgotten by a cache", "contract: terms", rho_of_epsilon_alone, contract_of("terms", "flat, gaussian")),
    Mutant("a block's last record counted twice", "contract: blocks", block_edge_counted_twice,
           contract_of("blocks", "kd")),
    Mutant("exponential mechanism without the 2", "enumeration", exponential_without_the_two, checks.choices),
]  # fmt: skip
