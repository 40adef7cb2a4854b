"""What released nodes say about the spread within leaves: known densities, whole leaves, and a better answer."""

from __future__ import annotations

import numpy as np
import pytest
import shapely

import spatialdp as sdp
from spatialdp.estimates.unevenness.tree import calibration_boxes
from spatialdp.records.points import Points
from spatialdp.records.truth import Counter, count_polygons
from spatialdp.space.lattice import LATTICE

UNIT = sdp.Domain((0, 0, 1, 1))
RNG = np.random.default_rng(12)


def towns(count, seed=3):
    """Points around a few towns, and some anywhere."""
    rng = np.random.default_rng(seed)
    centres = rng.random((12, 2))
    near = centres[rng.integers(12, size=count)] + 0.04 * rng.standard_t(2, (count, 2))
    xy = np.concatenate([near, rng.random((count // 20, 2))])
    return xy[((xy >= 0) & (xy < 1)).all(axis=1)]


def town_in_empty_country(count, seed=8):
    """Points in a disc, and one in a hundred anywhere."""
    rng = np.random.default_rng(seed)
    angle, radius = rng.random(count) * 2 * np.pi, 0.05 * np.sqrt(rng.random(count))
    disc = 0.5 + radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return np.concatenate([disc, rng.random((count // 100, 2))])


def released(xy, epsilon, height=5, **options):
    return sdp.KdTree(height, **options).release(xy, UNIT, epsilon=epsilon, noise=sdp.SeededNoise(4))


def corners(count, share=None):
    if share is None:
        return np.sort(RNG.random((count, 2, 2)), axis=1).reshape(-1, 4)
    side = np.sqrt(share)
    low = RNG.random((count, 2)) * (1 - side)
    return np.concatenate([low, low + side], axis=1)


def test_whole_leaves_are_not_corrected_and_have_the_interval_of_the_noise():
    release = released(towns(20_000), 1)
    leaves = release.estimate.leaf_boxes() / LATTICE
    allowance = release.estimate.allowance(release.estimate.leaf_boxes())
    assert np.all(allowance.variance == 0)
    assert np.all(allowance.shift == 0)
    assert release.interval(leaves) == pytest.approx(np.maximum(release.interval(leaves, about="noise"), 0))


@pytest.mark.statistical
def test_corrected_answers_are_better_where_records_cluster_and_not_much_worse_where_they_do_not():
    def ratio(xy, epsilon):
        release, boxes = released(xy, epsilon), corners(400, 0.1)
        truth = Counter.of(Points(xy), UNIT).count(UNIT.boxes(boxes))
        plain, corrected = (np.abs(release.answer(boxes, extrapolate=e) - truth).mean() for e in (False, True))
        return corrected / plain

    assert ratio(towns(150_000), 10) < 0.8  # fixed seeds
    assert ratio(RNG.random((100_000, 2)), 10) < 1.25


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", [0.1, 1, 10])
@pytest.mark.parametrize("options", [{}, {"prune": 50}], ids=["whole", "pruned"])
def test_intervals_cover_the_truth_and_those_about_noise_do_not(epsilon, options):
    xy = towns(100_000)
    release, boxes = released(xy, epsilon, **options), corners(500)
    truth = Counter.of(Points(xy), UNIT).count(UNIT.boxes(boxes))
    covered = {}
    for about in ("truth", "noise"):
        low, high = release.interval(boxes, about=about).T
        covered[about] = np.mean((low <= truth) & (truth <= high))
    assert 0.9 < covered["truth"] <= 1
    assert covered["noise"] < (0.9 if epsilon < 1 else 0.7)


@pytest.mark.statistical
@pytest.mark.parametrize("options", [{"height": 5}, {"height": 6, "prune": 20}], ids=["whole", "pruned"])
def test_intervals_around_a_town_in_empty_country_cover_the_truth(options):
    """Leaves beside the town have their records on its side, so all edges around it err in the same direction."""
    xy, rng = town_in_empty_country(40_000), np.random.default_rng(5)
    centres, radius = 0.5 + rng.uniform(-0.02, 0.02, (60, 2)), rng.uniform(0.05, 0.12, 60)[:, None]
    boxes = np.concatenate([centres - radius, centres + radius], axis=1)
    angle = np.arange(6) * np.pi / 3 + 0.3
    corners = centres[:, None] + radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    hexagons = shapely.polygons(corners[:20])
    release = released(xy, 1, **options)
    for (low, high), truth in (
        (release.interval(boxes).T, Counter.of(Points(xy), UNIT).count(UNIT.boxes(boxes))),
        (release.interval_polygons(hexagons).T, count_polygons(Points(xy), UNIT, hexagons)),
    ):
        assert np.mean((low <= truth) & (truth <= high)) > 0.9


def test_polygons_that_are_boxes_have_the_same_allowance():
    release, boxes = released(towns(20_000), 1), corners(30)
    found = release.interval_polygons(shapely.box(*boxes.T))
    assert found == pytest.approx(release.interval(boxes), rel=1e-5, abs=1e-3)


@pytest.mark.parametrize("height", [0, 1, 2])
def test_small_trees(height):
    release = released(towns(500), 1, height)
    ends = release.interval(corners(20))
    assert np.isfinite(ends).all()
    assert np.all(ends[:, 0] <= ends[:, 1])


def test_the_allowance_is_the_same_after_saving(tmp_path):
    release, boxes = released(towns(20_000), 1), corners(30)
    release.save(tmp_path / "tree.parquet")
    again = sdp.load(tmp_path / "tree.parquet")
    assert np.array_equal(again.interval(boxes), release.interval(boxes))
    assert np.array_equal(again.answer(boxes), release.answer(boxes))


def test_unmeasured_and_raw_trees_have_allowances_too():
    for options in ({"budget": "leaves"}, {"consistent": False}):
        release, boxes = released(towns(20_000), 1, **options), corners(30)
        assert np.isfinite(release.interval(boxes)).all()
        widths = np.diff(release.interval(boxes)) - np.diff(release.interval(boxes, about="noise"))
        assert np.median(widths) > 0


def test_calibration_boxes_are_public_and_lie_in_the_domain():
    boxes = calibration_boxes()
    assert np.array_equal(boxes, calibration_boxes())
    assert boxes.min() >= 0
    assert boxes.max() <= LATTICE
    assert np.all(boxes[:, :2] < boxes[:, 2:])
