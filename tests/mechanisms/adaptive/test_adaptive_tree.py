"""Adaptive trees: privacy of whole transcripts, both readings, honest intervals, any grid."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import shapely

import spatialdp as sdp
from spatialdp.errors import DomainError, ParameterError
from spatialdp.estimates.fields.field import LARGEST_FIELD
from spatialdp.mechanisms.adaptive import adaptive_tree
from spatialdp.mechanisms.adaptive.descent import UNITS, descend, plan_descent
from spatialdp.privacy.neighbours import Neighbours
from spatialdp.privacy.noise.laws import Law
from spatialdp.records.points import Points
from spatialdp.space.boxes.subdivision import block_sums, summed_areas
from spatialdp.space.domain import Domain
from tests.audit.adaptive_bugs import repeated_counts_are_free
from tests.mechanisms.adaptive.test_descent import LAKE, path_sums

UNIT = sdp.Domain((0, 0, 1, 1))


def towns(n=4000, seed=0):
    """Two towns and a countryside."""
    rng = np.random.default_rng(seed)
    parts = (
        rng.normal((0.3, 0.6), 0.03, (n // 2, 2)),
        rng.normal((0.8, 0.2), 0.01, (n // 4, 2)),
        rng.random((n // 4, 2)),
    )
    xy = np.concatenate(parts)
    return xy[((xy > 0) & (xy < 1)).all(axis=1)]


def transcript_of(design, xy, seed):
    noise = sdp.SeededNoise(seed)
    return descend(design, adaptive_tree._counter(Points(xy), design, noise))


# --- privacy ---------------------------------------------------------------------------------------


def log_ratio(design, transcript, counts, changed):
    """log p(transcript | counts) - log p(transcript | changed), exactly, for discrete Laplace noise."""
    rates = np.array([float(design.whole * int(units) / UNITS) for units in transcript.units])
    here, there = (block_sums(summed_areas(each), transcript.blocks) for each in (counts, changed))
    return float(rates @ (np.abs(transcript.values - there) - np.abs(transcript.values - here)))


def neighbour(counts, mask, relation, rng):
    """The counts with one record more, or with one record in another place (or outside)."""
    rows, columns = np.nonzero(mask)
    changed = counts.copy()
    place = rng.integers(rows.size)
    changed[rows[place], columns[place]] += 1
    if relation is Neighbours.REPLACE and rng.random() < 0.8:
        rows, columns = np.nonzero(counts)
        place = rng.integers(rows.size)
        changed[rows[place], columns[place]] -= 1
    return changed


@pytest.mark.parametrize("region", [None, LAKE], ids=["whole", "region"])
@pytest.mark.parametrize("relation", tuple(Neighbours))
@pytest.mark.parametrize("side", [2, 4, 16, 64])
def test_no_transcript_tells_more_than_epsilon(side, relation, region):
    rng, largest = np.random.default_rng(side), 0.0
    for seed in range(12):
        epsilon = [Fraction(1, 20), Fraction(1), Fraction(3)][seed % 3]
        design = plan_descent(
            Domain((0, 0, 1, 1), region=region).grid((side, side)), epsilon, Law.DISCRETE_LAPLACE, relation
        )
        xy = towns(10 ** (1 + seed % 4), seed)
        transcript = transcript_of(design, xy, seed)
        counts = np.histogram2d(xy[:, 1], xy[:, 0], side, [[0, 1], [0, 1]])[0].astype(int) * design.grid.mask
        counts[np.nonzero(design.grid.mask)[0][0], np.nonzero(design.grid.mask)[1][0]] += 1
        for _ in range(20):
            ratio = log_ratio(design, transcript, counts, neighbour(counts, design.grid.mask, relation, rng))
            largest = max(largest, abs(ratio) / float(epsilon))
    assert largest <= 1 + 1e-9
    assert largest > 0.6  # the bound is about tight, so that a count that is not charged would show


def test_a_count_that_is_not_charged_is_noticed():
    """The sums of paths notice it; so do the audit's replays, which have the other bugs too."""
    design = plan_descent(UNIT.grid((16, 16)), Fraction(1), Law.DISCRETE_LAPLACE, Neighbours.ADD_REMOVE)
    with repeated_counts_are_free():
        assert path_sums(design, transcript_of(design, towns(100), 1)).max() > UNITS
    assert path_sums(design, transcript_of(design, towns(100), 1)).max() == UNITS


@pytest.mark.parametrize("law", ["laplace", "gaussian"])
def test_paths_cost_the_same_under_every_law(law):
    delta = 1e-6 if law == "gaussian" else 0
    prepared = sdp.Adaptive((20, 12), law=law).prepare(UNIT, epsilon=1, delta=delta)
    transcript = transcript_of(prepared.design, towns(), 1)
    assert np.all(path_sums(prepared.design, transcript) == UNITS)
    assert sum(prepared.plan.budget.values()) == prepared.design.whole


# --- readings --------------------------------------------------------------------------------------


@pytest.mark.statistical
@pytest.mark.parametrize("xy", [np.empty((0, 2)), np.full((3000, 2), 0.3), towns()], ids=["empty", "one cell", "towns"])
def test_the_unbiased_total_is_unbiased_and_its_interval_covers(xy):
    """Fixed seeds; at 300 releases the standard error of a coverage of 90 % is 1.7 points."""
    prepared = sdp.Adaptive((32, 32), estimate="unbiased").prepare(UNIT, epsilon=0.1)
    errors, inside = [], []
    for seed in range(300):
        release = prepared.release(xy, noise=sdp.SeededNoise((7, seed)))
        errors.append(release.total - len(xy))
        low, high = release.interval(UNIT.bounds, 0.9, about="noise")
        inside.append(low <= len(xy) <= high)
    assert abs(np.mean(errors)) < 3 * np.std(errors) / np.sqrt(300)
    assert 0.85 < np.mean(inside) < 0.95


def test_both_readings_are_of_the_same_counts():
    field, unbiased = (
        sdp.Adaptive((40, 30), estimate=reading).release(towns(), UNIT, epsilon=1, noise=sdp.SeededNoise(1))
        for reading in ("field", "unbiased")
    )
    boxes = np.sort(np.random.default_rng(1).random((50, 2, 2)), axis=1).reshape(-1, 4)
    assert field.total == unbiased.total
    assert np.array_equal(field.interval(boxes), unbiased.interval(boxes))
    assert not np.allclose(field.answer(boxes), unbiased.answer(boxes, extrapolate=False))


@pytest.mark.statistical
def test_the_field_is_more_accurate_than_the_unbiased_reading():
    xy, boxes = towns(20_000), np.sort(np.random.default_rng(2).random((300, 2, 2)), axis=1).reshape(-1, 4)
    truth = np.array([((xy >= box[:2]) & (xy < box[2:])).all(axis=1).sum() for box in boxes])
    errors = {"field": [], "unbiased": []}
    for reading, seed in ((reading, seed) for reading in errors for seed in range(20)):
        release = sdp.Adaptive((64, 64), estimate=reading).release(xy, UNIT, epsilon=0.1, noise=sdp.SeededNoise(seed))
        errors[reading].append(np.abs(release.answer(boxes, extrapolate=False) - truth).mean())
    assert np.mean(errors["field"]) < 0.95 * np.mean(errors["unbiased"])


def test_adjusted_fields_add_up():
    release = sdp.Adaptive((30, 22)).release(towns(), UNIT, epsilon=0.5, noise=sdp.SeededNoise(3))
    adjusted = release.non_negative()
    assert adjusted.estimate.values.min() >= 0
    assert adjusted.estimate.leaf_values() == pytest.approx(adjusted.estimate.basis.leaf_values())
    for each in (release.rounded(), adjusted.rounded()):
        cells = each.estimate.values
        assert np.array_equal(cells, np.rint(cells))
        assert each.estimate.leaf_values() == pytest.approx(each.estimate.basis.leaf_values())
        assert cells.sum() == pytest.approx(each.total)
    assert adjusted.rounded().estimate.values.min() >= 0


# --- grids -----------------------------------------------------------------------------------------


def test_without_a_grid_cells_are_a_million_and_about_square():
    for bounds in ((0, 0, 1, 1), (0, 0, 30, 1), (0, 0, 2, 700)):
        grid = sdp.Adaptive().leaf_grid(sdp.Domain(bounds))
        nx, ny = grid.shape
        assert 0.9 * 2**20 < nx * ny < 1.1 * 2**20
        width, height = bounds[2] / nx, bounds[3] / ny
        assert 0.8 < width / height < 1.25


def test_too_many_cells_are_refused_before_anything_is_spent():
    with pytest.raises(DomainError, match="an adaptive tree has at most 16,777,216"):
        sdp.Adaptive((LARGEST_FIELD, 2)).check(UNIT, epsilon=1)
    with pytest.raises(ParameterError, match="both of"):
        sdp.Adaptive((4, 4), cell_size=0.25)


@pytest.mark.parametrize("epsilon", [Fraction(1, 10_000), 10, 1000])
@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (13, 1), (3, 3), (600, 2)])
def test_odd_grids_and_budgets_give_finite_numbers(shape, epsilon):
    for xy in (np.empty((0, 2)), np.full((50, 2), 0.4), towns(400)):
        release = sdp.Adaptive(shape).release(xy, UNIT, epsilon=epsilon, noise=sdp.SeededNoise(1))
        assert np.isfinite(release.estimate.values).all()
        assert np.isfinite(release.interval([(0, 0, 0.3, 0.7), (0, 0, 1, 1)])).all()


def test_a_region_of_one_cell():
    domain = sdp.Domain((0, 0, 1, 1), region=shapely.box(0.51, 0.51, 0.52, 0.52))
    release = sdp.Adaptive((8, 8)).release(np.full((40, 2), 0.515), domain, epsilon=20, noise=sdp.SeededNoise(1))
    assert release.answer((0, 0, 1, 1)) == pytest.approx(40, abs=3)


def test_records_outside_the_region_count_nowhere():
    domain = sdp.Domain((0, 0, 1, 1), region=shapely.box(0, 0, 0.5, 1))
    outside = np.random.default_rng(1).uniform((0.6, 0), (1, 1), (500, 2))
    with_, without = (
        sdp.Adaptive((16, 16)).release(xy, domain, epsilon=1, noise=sdp.SeededNoise(1)).estimate.values
        for xy in (outside, np.empty((0, 2)))
    )
    assert np.array_equal(with_, without)
    assert np.all(with_[:, 9:] == 0)  # column 8 touches the region


@pytest.mark.parametrize(("epsilon", "step"), [(Fraction(1, 10), 0), (1, 0), (2, 1), (10, 1)])
def test_answers_lie_on_a_lattice_only_where_noise_is_rare(epsilon, step):
    release = sdp.Adaptive((16, 16)).release(towns(400), UNIT, epsilon=epsilon, noise=sdp.SeededNoise(1))
    assert release.estimate.step == step
