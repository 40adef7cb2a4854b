"""Which duties does every mechanism have? Clauses: functions that take a setting and raise AssertionError.

The clauses use public behaviour only: parameters, `plan`, `release`, files and texts.
"""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow.parquet as pq
import pytest

import spatialdp as sdp
from spatialdp.estimates.decomposition import Decomposition
from spatialdp.estimates.histogram import Histogram
from spatialdp.outputs.files.layouts import lay_out
from spatialdp.privacy.accounting import rho_for
from spatialdp.privacy.budget import Budget
from spatialdp.privacy.noise.source import SeededNoise, SystemNoise
from spatialdp.privacy.noise.wide import LOW_BITS, Wide
from spatialdp.records import counting, points
from spatialdp.records.points import Points, lattice_points
from spatialdp.release import Release
from spatialdp.space.lattice import cells_of
from tests.audit.pairs import places
from tests.audit.replay import granted, published
from tests.helpers.cases import Setting


class Quiet(SeededNoise):
    """A source that draws choices but adds no noise to counts."""

    def laplace(self, scale: Any, size: Any) -> Any:
        return np.zeros(size, dtype=np.int64)

    def gaussian(self, variance: Any, size: Any) -> Any:
        return np.zeros(size, dtype=np.int64)

    def wide_laplace(self, scale: Any, size: Any) -> Any:
        return Wide.shifted(np.zeros(size, dtype=np.int64))

    def wide_gaussian(self, variance: Any, size: Any) -> Any:
        return Wide.shifted(np.zeros(size, dtype=np.int64))


class Imitation(SystemNoise):
    """A subclass of the system's source with fixed bits: it must not count as the system's source."""

    def random_bytes(self, count: int) -> bytes:
        return b"\x55" * count


class Turned(SeededNoise):
    """The same noise with the opposite sign; wide noise is complemented, which differs by one tiny step."""

    def laplace(self, scale: Any, size: Any) -> Any:
        return -super().laplace(scale, size)

    def gaussian(self, variance: Any, size: Any) -> Any:
        return -super().gaussian(variance, size)

    def wide_laplace(self, scale: Any, size: Any) -> Any:
        return _complement(super().wide_laplace(scale, size))

    def wide_gaussian(self, variance: Any, size: Any) -> Any:
        return _complement(super().wide_gaussian(variance, size))


def _complement(values: Wide) -> Wide:
    return Wide(~values.high, values.low ^ (2**LOW_BITS - 1))


_RHO_FOR = rho_for.__wrapped__  # as it is before bugs are planted


def some_records(setting: Setting, count: int = 60) -> Any:
    return np.array(places(setting.domain, np.random.default_rng(7), count))


def released(setting: Setting, records: Any, noise: Any = None, **changes: Any) -> Release:
    return setting.mechanism.release(records, setting.domain, noise=noise, **(setting.terms | changes))


# --- clauses --------------------------------------------------------------------------------------------


def parameters_are_frozen(setting: Setting) -> None:
    """A mechanism is a value: it cannot be changed, and copies of it are equal."""
    mechanism = setting.mechanism
    for field in dataclasses.fields(mechanism):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(mechanism, field.name, None)
    assert copy.deepcopy(mechanism) == mechanism == pickle.loads(pickle.dumps(mechanism))


def plan_is_what_is_recorded(setting: Setting) -> None:
    """Plan and statement agree, and the costs add up exactly to the budget."""
    plan = setting.mechanism.plan(setting.domain, **setting.terms)
    release = released(setting, some_records(setting))
    statement = release.privacy
    assert statement.budget == plan.budget
    assert statement.currency == plan.currency
    assert statement.mechanism == plan.mechanism == setting.mechanism.name
    assert statement.epsilon == setting.terms["epsilon"]
    assert statement.neighbours == setting.relation
    assert set(statement.parameters) == {field.name for field in dataclasses.fields(setting.mechanism)}
    assert all(isinstance(cost, Fraction) and cost >= 0 for cost in plan.budget.values())
    assert sum(plan.budget.values()) == granted(release), "the steps do not add up to what was granted"
    assert release.estimate.n_cells <= plan.cells
    assert plan.memory > 0
    assert plan.standard_deviation > 0


def releases_are_finite_numbers(setting: Setting) -> None:
    """A release has finite, read-only estimates for all cells, even without records."""
    for records in (np.empty((0, 2)), [], some_records(setting)):
        release = released(setting, records)
        assert isinstance(release, Release)
        values = release.estimate.values
        assert values.dtype == np.float64
        assert np.isfinite(values).all()
        assert not values.flags.writeable
        assert isinstance(release.total, float)
        assert np.shape(release.answer([release.domain.bounds] * 3)) == (3,)
        assert _sum(release) == pytest.approx(release.answer(release.domain.bounds), rel=1e-9, abs=1e-6)
        with pytest.raises(dataclasses.FrozenInstanceError):
            release.privacy = None
        with pytest.raises(TypeError, match="cannot be changed"):
            release.privacy.budget["free"] = Fraction(0)


def answers_are_counts_without_noise(setting: Setting) -> None:
    """Without noise, every cell or leaf answers with its count, except for parts that a mechanism leaves out."""
    records = some_records(setting)
    release = released(setting, records, Quiet(3))
    estimate = release.estimate.unbiased  # a field smooths what is behind it
    truth = true_counts(setting, estimate, records)
    crumbs = 1e-5 if setting.mechanism.name == "fourier" else 1e-6  # its inverse transform uses cosines in doubles
    if isinstance(estimate, Decomposition):
        assert estimate.answer(estimate.leaf_boxes()) == pytest.approx(truth, abs=crumbs)
    elif getattr(setting.mechanism, "truncate", None) is not None:
        assert np.array_equal(estimate.values, np.clip(truth, 0, setting.mechanism.truncate))
        return
    elif setting.mechanism.name == "uniform":
        assert estimate.values[estimate.grid.mask] == pytest.approx(truth.sum() / estimate.grid.n_cells, abs=crumbs)
    elif not estimate.biased:
        assert estimate.values[estimate.grid.mask] == pytest.approx(truth[estimate.grid.mask], abs=crumbs)
    assert _sum(release) == pytest.approx(release.answer(setting.domain.bounds), abs=1e-6)
    if setting.case != "fourier, walsh, chosen":  # low frequencies carry some of the total into the padding
        assert release.total == pytest.approx(truth.sum(), abs=crumbs)


def _sum(release: Release) -> float:
    """The total, which for a field is not that of its smoothed cells but without bias."""
    return float(release.estimate.values.sum()) if release.estimate.kind == "field" else release.total


def true_counts(setting: Setting, estimate: Any, records: Any) -> Any:
    """Return true counts of cells or leaves, computed from lattice positions in another way than the package does."""
    domain, mechanism = setting.domain, setting.mechanism
    raster = mechanism.name == "kd-tree"  # its region has the raster's resolution, for nodes and for records
    x, y = (each.astype(np.int64) for each in lattice_points(Points(records), domain if raster else _whole(domain)))
    if mechanism.name in ("quadtree", "adaptive"):
        grid = mechanism.leaf_grid(domain)
        inside = grid.mask[cells_of(y, grid.shape[1]), cells_of(x, grid.shape[0])]
        x, y = x[inside], y[inside]
    if isinstance(estimate, Histogram):
        nx, ny = estimate.grid.shape
        counts = np.zeros((ny, nx))
        np.add.at(counts, (cells_of(y, ny), cells_of(x, nx)), 1)
        return np.where(estimate.grid.mask, counts, 0)
    boxes = estimate.leaf_boxes()
    inside = (x >= boxes[:, :1]) & (y >= boxes[:, 1:2]) & (x < boxes[:, 2:3]) & (y < boxes[:, 3:])
    return inside.sum(axis=1)


def _whole(domain: sdp.Domain) -> sdp.Domain:
    return sdp.Domain(domain.bounds, crs=domain.crs)


def opposite_noise_gives_opposite_estimates(setting: Setting) -> None:
    """Unbiased estimates follow from outcomes without truncation, rounding or choices by sign."""
    mechanism = setting.mechanism
    one = released(setting, [], SeededNoise(4))
    if one.estimate.biased or getattr(mechanism, "prune", None) is not None or _chooses(setting):
        return
    other = released(setting, [], Turned(4))
    assert other.estimate.values == pytest.approx(-one.estimate.values, abs=1e-6)


def raw_values_lie_on_the_lattice(setting: Setting) -> None:
    """Estimates are whole steps of a public lattice, so that an attack on floating-point precision finds nothing."""
    estimate = released(setting, some_records(setting), SeededNoise(5)).estimate
    raw = not getattr(estimate, "consistent", True) or setting.mechanism.name == "flat"
    if raw:
        steps = estimate.values * (1024 if str(setting.mechanism.law) == "laplace" else 1)
        assert np.array_equal(steps, np.rint(steps)), "an estimate is not a whole number of steps"


def _chooses(setting: Setting) -> bool:
    """Whether the mechanism draws lines or choices, or chooses by counts, which does not change sign with the noise."""
    if setting.mechanism.name == "adaptive":
        return True
    names = setting.mechanism.plan(setting.domain, **setting.terms).budget
    return any(word in name for name in names for word in ("line", "choice"))


def strays_count_nowhere(setting: Setting) -> None:
    """Records that are outside, missing or not finite change nothing."""
    strays = [[np.nan, 0.5], [0.5, np.nan], [np.inf, 0.1], [1e308, 0.1], [-1e-9, 0.1], [100.0, 100.0], [None, 0.2]]
    for records in ([], some_records(setting).tolist()):
        with_strays, without = (released(setting, each, SeededNoise(6)) for each in (records + strays, records))
        assert published(with_strays) == published(without)


def order_does_not_matter(setting: Setting) -> None:
    """The order of the records does not matter, and a release does not change the arrays of records."""
    records = some_records(setting)
    before = records.copy()
    forwards, backwards = (released(setting, each, SeededNoise(6)) for each in (records, records[::-1]))
    assert published(forwards) == published(backwards)
    assert np.array_equal(records, before)


def blocks_do_not_matter(setting: Setting) -> None:
    """Records are read in blocks; a record at the edge of two blocks counts once."""
    records = some_records(setting)
    whole = published(released(setting, records, SeededNoise(6)))
    with mock.patch.object(points, "_BLOCK", 8), mock.patch.object(counting, "_CHUNK", 3):
        assert published(released(setting, records, SeededNoise(6))) == whole


def terms_are_not_mixed_up(setting: Setting) -> None:
    """Costs add up to the present budget, whatever the budget of earlier plans was; the expected value has no cache."""
    gaussian = setting.terms["delta"] != 0
    granted = [(e, d) for e in (Fraction(1, 100), Fraction(3)) for d in ((1e-6, 1e-12) if gaussian else (0,))]
    for epsilon, delta in [*granted, *reversed(granted)]:
        plan = setting.mechanism.plan(setting.domain, **(setting.terms | {"epsilon": epsilon, "delta": delta}))
        whole = _largest_rho(epsilon, delta) if gaussian else epsilon
        assert sum(plan.budget.values()) == whole, f"{float(epsilon)} and {delta} were granted"


@cache
def _largest_rho(epsilon: Fraction, delta: float) -> Fraction:
    """Return ρ as it is without the package's cache, from which a mistake might come; by both parts of the budget."""
    return _RHO_FOR(Budget(epsilon, delta))


def seeded_releases_are_marked(setting: Setting) -> None:
    """Only noise from the operating system makes a release private; other releases say that they are not."""
    sources = ((None, True), (SystemNoise(), True), (SeededNoise(1), False), (Quiet(1), False), (Imitation(), False))
    for noise, private in sources:
        release = released(setting, [], noise)
        assert release.privacy.private is private
        assert ("NOT PRIVATE" in repr(release)) is not private
        assert ("NOT PRIVATE" in str(release.privacy)) is not private


def texts_show_nothing_private(setting: Setting) -> None:
    """The texts of records and mechanisms show nothing of the data."""
    texts = {repr(Points(records)) for records in (np.empty((0, 2)), some_records(setting))}
    assert texts == {"Points(<private>)"}
    mechanism = setting.mechanism
    before = repr(mechanism)
    released(setting, some_records(setting))
    assert repr(mechanism) == before


def files_come_back(setting: Setting, folder: Path) -> None:
    """A loaded release has the same answers and statement, and saves to the same bytes."""
    release = released(setting, some_records(setting), SeededNoise(8))
    paths = [folder / name for name in ("one.parquet", "two.parquet")]
    release.save(paths[0], overwrite=True)
    loaded = sdp.load(paths[0])
    loaded.save(paths[1], overwrite=True)
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert loaded.privacy == release.privacy
    assert loaded.privacy.private is False
    assert loaded.domain == release.domain
    xmin, ymin, xmax, ymax = release.domain.bounds
    boxes = [release.domain.bounds, (xmin, ymin, (xmin + xmax) / 3, (ymin + ymax) / 2)]
    assert np.array_equal(loaded.answer(boxes), release.answer(boxes))
    mine, other = (lay_out(each.estimate, each.domain) for each in (release, loaded))
    assert mine.header == other.header


def file_sizes_are_public(setting: Setting, folder: Path) -> None:
    """If the structure is public, the size and the header of a file do not depend on the records."""
    if _chooses(setting) or any(getattr(setting.mechanism, name, None) is not None for name in ("stop", "prune")):
        return
    variants = set()
    for records in ([], some_records(setting), np.tile(some_records(setting, 1), (999, 1))):
        path = folder / "sized.parquet"
        released(setting, records, SeededNoise(len(records))).save(path, overwrite=True)
        header = json.loads(pq.read_schema(path).metadata[b"spatialdp"])
        del header["sha256"]  # depends on the released estimates, which are public
        variants.add((path.stat().st_size, json.dumps(header, sort_keys=True)))
    assert len(variants) == 1, "a file's size or header depends on the records"


CLAUSES: list[Callable[[Setting], None]] = [
    parameters_are_frozen,
    plan_is_what_is_recorded,
    releases_are_finite_numbers,
    answers_are_counts_without_noise,
    opposite_noise_gives_opposite_estimates,
    raw_values_lie_on_the_lattice,
    strays_count_nowhere,
    order_does_not_matter,
    blocks_do_not_matter,
    terms_are_not_mixed_up,
    seeded_releases_are_marked,
    texts_show_nothing_private,
]
