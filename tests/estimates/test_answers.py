"""Intervals about the truth and about noise, of boxes, polygons and leaves."""

from __future__ import annotations

import numpy as np
import pytest
import shapely

import spatialdp as sdp
from spatialdp.errors import ParameterError, ReleaseError
from spatialdp.estimates.answers import About, Answers
from spatialdp.records.points import Points
from spatialdp.records.truth import Counter, count_polygons

UNIT = sdp.Domain((0, 0, 1, 1))
RNG = np.random.default_rng(21)
XY = np.abs(RNG.standard_normal((60_000, 2))) / 4 % 1
BOXES = np.sort(RNG.random((300, 2, 2)), axis=1).reshape(-1, 4)
LEVELS = (0.5, 0.8, 0.95, 0.99)
MECHANISMS = [
    sdp.Flat((32, 32)),
    sdp.Flat((50, 21)),
    sdp.Flat((32, 32), law="gaussian"),
    sdp.Quadtree(5),
    sdp.Quadtree(5, consistent=False),
    sdp.Quadtree(5, prune=60),
    sdp.Hierarchy((32, 32)),
    sdp.Tailored((32, 32)),
    sdp.Wavelet((32, 32)),
    sdp.Uniform((8, 8)),
    sdp.KdTree(5),
]


def release_of(mechanism, domain=UNIT, epsilon=1, **options):
    delta = 1e-6 if getattr(mechanism, "law", "") == "gaussian" else 0
    return mechanism.release(XY, domain, epsilon=epsilon, delta=delta, noise=sdp.SeededNoise(5), **options)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
def test_ends_are_ordered_not_negative_and_grow_with_the_level(mechanism):
    release = release_of(mechanism)
    ends = np.array([release.interval(BOXES, level) for level in LEVELS])
    assert np.all(ends >= 0)
    assert np.all(ends[..., 0] <= ends[..., 1])
    assert np.all(np.diff(ends[..., 0], axis=0) <= 1e-9)
    assert np.all(np.diff(ends[..., 1], axis=0) >= -1e-9)
    noise = release.interval(BOXES, about="noise")
    assert np.all(ends[2, :, 1] - ends[2, :, 0] >= np.diff(np.maximum(noise, 0))[:, 0] - 1e-9) or isinstance(
        mechanism, sdp.KdTree
    )


@pytest.mark.statistical
@pytest.mark.parametrize("mechanism", [m for m in MECHANISMS if not isinstance(m, sdp.Uniform)], ids=str)
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_intervals_cover_the_truth(mechanism, neighbours):
    # 300 boxes, fixed seeds; noise alone would cover far fewer.
    release = release_of(mechanism, neighbours=neighbours)
    truth = Counter.of(Points(XY), UNIT).count(UNIT.boxes(BOXES))
    covered = [
        np.mean((low <= truth) & (truth <= high))
        for low, high in (release.interval(BOXES, about=about).T for about in About)
    ]
    assert covered[0] > 0.9
    assert covered[1] < covered[0]


@pytest.mark.statistical
@pytest.mark.parametrize("mechanism", [sdp.Adaptive(), sdp.Quadtree(6), sdp.Hierarchy((64, 64))], ids=str)
def test_the_box_of_the_readme_is_covered(mechanism):
    points, box = sdp.datasets.chattanooga_intersections(), (-85.33, 35.03, -85.28, 35.07)
    domain = sdp.Domain.around(sdp.datasets.hamilton_county(), crs="EPSG:4326")
    truth = Counter.of(points, domain).count(domain.boxes([box]))[0]
    prepared = mechanism.prepare(domain, epsilon=1)
    ends = [prepared.release(points, noise=sdp.SeededNoise(seed)).interval(box) for seed in range(30)]
    assert sum(low <= truth <= high for low, high in ends) >= 27


@pytest.mark.statistical
@pytest.mark.parametrize("mechanism", [sdp.Flat((32, 32)), sdp.Quadtree(5), sdp.KdTree(5)], ids=str)
def test_intervals_of_polygons_cover_the_truth(mechanism):
    release = release_of(mechanism)
    discs = shapely.buffer(shapely.points(RNG.random((200, 2))), 0.12)
    shapes = shapely.intersection(discs, shapely.box(0, 0, 1, 1))
    truth = count_polygons(Points(XY), UNIT, shapes)
    low, high = release.interval_polygons(shapes).T
    assert np.mean((low <= truth) & (truth <= high)) > 0.9


def test_a_total_alone_says_nothing_about_where_records_are():
    release = release_of(sdp.Uniform((8, 8)))
    truth = Counter.of(Points(XY), UNIT).count(UNIT.boxes(BOXES))
    low, high = release.interval(BOXES).T
    assert np.mean((low <= truth) & (truth <= high)) > 0.95
    whole = release.interval((0, 0, 1, 1))
    assert whole == pytest.approx(release.interval((0, 0, 1, 1), about="noise"))
    polygons = release.interval_polygons(shapely.box(*BOXES.T))
    assert polygons == pytest.approx(release.interval(BOXES), rel=1e-6, abs=1e-3)
    leaves = Answers.of_leaves(release.estimate).ends(0.95)
    assert leaves == pytest.approx(
        Answers.of_boxes(release.estimate, release.estimate.leaf_boxes(), About.TRUTH).ends(0.95)
    )


@pytest.mark.parametrize("mechanism", [m for m in MECHANISMS if not isinstance(m, sdp.Uniform)], ids=str)
def test_whole_leaves_have_the_interval_of_the_noise(mechanism):
    release = release_of(mechanism)
    estimate = release.estimate
    leaves = estimate.leaf_boxes(slice(0, 50))
    truth, noise = (Answers.of_boxes(estimate, leaves, about).ends(0.95) for about in About)
    assert truth == pytest.approx(np.maximum(noise, 0), rel=1e-9, abs=1e-9)
    assert Answers.of_leaves(estimate).ends(0.95)[:50] == pytest.approx(truth, rel=1e-6, abs=1e-6)


def test_flat_intervals_of_whole_cells_are_whole_numbers():
    ends = release_of(sdp.Flat((32, 32))).interval([(0, 0, 0.5, 0.5), (0.25, 0.25, 0.5, 1)])
    assert np.array_equal(ends, np.rint(ends))


def test_files_keep_intervals_about_the_truth(tmp_path):
    for number, mechanism in enumerate(MECHANISMS):
        release = release_of(mechanism)
        release.save(tmp_path / f"{number}.parquet")
        assert np.array_equal(sdp.load(tmp_path / f"{number}.parquet").interval(BOXES), release.interval(BOXES))


def test_regions_have_allowances():
    domain = sdp.Domain((0, 0, 1, 1), region=shapely.Point(0.5, 0.5).buffer(0.45))
    for mechanism in (sdp.Flat((32, 32)), sdp.Quadtree(5), sdp.KdTree(4), sdp.Wavelet((32, 32))):
        release = release_of(mechanism, domain)
        assert np.isfinite(release.interval(BOXES)).all()


def test_wrong_words_and_biased_releases_are_refused():
    release = release_of(sdp.Flat((8, 8)))
    with pytest.raises(ParameterError, match="'truth', 'noise'"):
        release.interval((0, 0, 1, 1), about="both")
    with pytest.raises(ReleaseError, match="unbiased"):
        release.non_negative().interval((0, 0, 1, 1))
