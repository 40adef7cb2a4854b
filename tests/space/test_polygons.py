"""Polygons against brute force, on every kind of release: answers, variances, kurtosis, bad input."""

from __future__ import annotations

from dataclasses import replace

import geopandas
import numpy as np
import pytest
import shapely

import spatialdp as sdp
from spatialdp.errors import CRSMismatchError, ParameterError, ReleaseError
from spatialdp.estimates.decomposition import Decomposition
from spatialdp.estimates.grid_noise import QuadHaarNoise, SeparableNoise, SharedNoise
from spatialdp.space.polygons import read_polygons, scan
from spatialdp.space.regions.borders import RegionArea
from tests.helpers.cases import SMALL, fits_any_domain, has_few_cells, in_turn, is_unbiased, select, terms
from tests.reference.dense_trees import box_moments, given_map

BOUNDS = (10.0, 20.0, 17.0, 29.0)
REGION = shapely.Polygon([(10.5, 20.5), (16.8, 21), (15, 28.5), (11, 27)])

UNBIASED = select(SMALL, is_unbiased, fits_any_domain, has_few_cells)


SETTINGS = [pytest.param(each.values, marks=each.marks) for each in in_turn(UNBIASED, (REGION, None))]


@pytest.fixture(scope="module", params=SETTINGS, ids=lambda pair: f"{pair[0]}-{'region' if pair[1] else 'whole'}")
def release(request):
    name, region = request.param
    domain, mechanism = sdp.Domain(BOUNDS, region=region), UNBIASED[name]
    xy = np.random.default_rng(5).uniform(BOUNDS[:2], BOUNDS[2:], (2000, 2))
    return mechanism.release(xy, domain, noise=sdp.SeededNoise(3), **terms(mechanism, "add-remove"))


def shapes(count: int, seed: int = 0) -> list:
    """Discs, stars with holes and pairs of triangles, some partly beyond the domain."""
    rng = np.random.default_rng(seed)
    found = []
    for i in range(2 * count):
        centre, size = rng.uniform((8, 18), (19, 31)), rng.uniform(0.05, 5)
        angles = np.sort(rng.uniform(0, 2 * np.pi, 12))
        radii = size * rng.uniform(0.3, 1, 12)
        star = shapely.Polygon(centre + radii[:, None] * np.stack([np.cos(angles), np.sin(angles)], axis=1)).buffer(0)
        hole = shapely.Point(centre).buffer(size * 0.2, quad_segs=2)
        apart = shapely.affinity.translate(star, 2.1 * size, 0.1)
        found.append([star, star.difference(hole), star.union(apart), shapely.reverse(star)][i % 4])
    return [shape for shape in found if shapely.box(*BOUNDS).intersects(shape)][:count]


def leaf_shares(release, polygons) -> np.ndarray:
    """(polygons, leaves), each intersection by shapely; shares are of the leaf's area in the region."""
    fitted = not isinstance(release.estimate, Decomposition) and release.estimate.noise.fitted
    return shares_of(release.estimate.leaf_boxes(), release.domain, polygons, plain=fitted)


def shares_of(boxes, domain, polygons, mask=True, *, plain=False) -> np.ndarray:
    """Shares of lattice boxes, or of their parts in the region where the mask is set."""
    x, y = domain.axes
    cells = shapely.box(*(axis.coordinates(side) for axis, side in zip((x, y, x, y), boxes.T, strict=True)))
    area = None if plain else RegionArea.of(domain)
    if area is not None:
        cells = np.where(mask, shapely.intersection(cells, area._polygon), cells)
    return shapely.area(shapely.intersection(np.array(polygons)[:, None], cells)) / shapely.area(cells)


def leaf_values(release) -> np.ndarray:
    estimate = release.estimate
    if isinstance(estimate, Decomposition):
        return estimate.values[estimate.tree.leaves]
    return estimate.values[estimate.grid.mask]


def takes_more_than_leaves(estimate) -> bool:
    """Inconsistent trees take whole nodes, transforms also cells outside the region."""
    if isinstance(estimate, Decomposition):
        return not estimate.consistent
    return bool(np.any(estimate.values[~estimate.grid.mask]))


def test_answers_are_area_weighted_sums(release):
    release = replace(release, estimate=release.estimate.finest)
    estimate, polygons = release.estimate, shapes(60)
    if takes_more_than_leaves(estimate):
        pytest.skip("compared with boxes below")
    expected = leaf_shares(release, polygons) @ leaf_values(release)
    tolerance = 1e-5 if release.domain.region is None else 1e-4  # a polygon is clipped by the region, too
    np.testing.assert_allclose(release.answer_polygons(polygons, extrapolate=False), expected, atol=tolerance)


def test_boxes_as_polygons_are_answered_as_boxes(release):
    rng = np.random.default_rng(2)
    low = rng.uniform((9, 19), (17, 29), (80, 2))
    boxes = np.concatenate([low, low + rng.uniform(1.5, 6, (80, 2))], axis=1)
    boxes = np.concatenate([boxes, [BOUNDS, (10.0, 20.0, 13.5, 24.5), (1, 1, 99, 99)]])
    polygons = shapely.box(*boxes.T)
    np.testing.assert_allclose(release.answer_polygons(polygons), release.answer(boxes), atol=1e-4)
    intervals = release.interval_polygons(polygons, about="noise"), release.interval(boxes, about="noise")
    np.testing.assert_allclose(*intervals, atol=1e-4)


def dense_moments(release, polygons) -> tuple[np.ndarray, np.ndarray]:
    """Variance and fourth cumulant from the matrix that makes estimates of measurements."""
    estimate = release.estimate
    if isinstance(estimate, Decomposition) and estimate.own_weights is not None:
        found = given_map(estimate.tree, estimate.own_weights, estimate.noise.family_share)
        weights = leaf_shares(release, polygons) @ found[estimate.tree.leaves]
        ratios = 1.0 if estimate.noise_ratios is None else estimate.noise_ratios  # what noise is, given what it led to
        squares = estimate.variances * ratios
        second = weights**2 @ squares
        fourth = weights**4 @ (squares**2 * estimate.kurtosis)
        return second, np.divide(fourth, second**2, out=np.zeros_like(second), where=second > 0)
    if isinstance(estimate, Decomposition):
        return box_moments(estimate.tree, estimate.noise.subtree, leaf_shares(release, polygons), estimate.kurtosis)
    noise, (nx, ny) = estimate.noise, estimate.grid.shape
    row, column = np.divmod(np.arange(nx * ny), nx)
    cells = estimate.grid.lattice_boxes(np.stack([column, row, column + 1, row + 1], axis=1))
    shares = shares_of(cells, release.domain, polygons, estimate.grid.mask.ravel(), plain=noise.fitted)
    if isinstance(noise, SeparableNoise):
        x, y = (axis.cell_weights(slice(0, axis.size)) for axis in (noise.x, noise.y))
        sizes = [[g.stop - g.start for g in axis.groups] for axis in (noise.x, noise.y)]
        weights = shares @ np.kron(y, x)
        table = [
            np.repeat(np.repeat(t, sizes[0], axis=0), sizes[1], axis=1).T.ravel()
            for t in (noise.variances, noise.kurtosis)
        ]
    elif isinstance(noise, QuadHaarNoise):
        parts = noise.transform.forward(np.zeros((ny, nx), dtype=int))
        units, group = [], np.repeat(np.arange(len(parts)), [p.size for p in parts])
        for index in range(group.size):
            unit = np.zeros(group.size)
            unit[index] = 1
            cut = np.split(unit, np.cumsum([p.size for p in parts])[:-1])
            units.append(noise.transform.inverse([c.reshape(p.shape) for c, p in zip(cut, parts, strict=True)]).ravel())
        weights, table = shares @ np.array(units).T, [noise.variances[group], noise.kurtosis[group]]
    elif isinstance(noise, SharedNoise):
        weights = shares @ estimate.grid.mask.reshape(-1, 1) / estimate.grid.n_cells
        table = [np.array([value]) for value in (noise.variance, noise.kurtosis)]
    else:
        weights = shares * estimate.grid.mask.ravel()
        table = [np.full(weights.shape[1], value) for value in (noise.variance, noise.kurtosis)]
    second = weights**2 @ table[0]
    return second, np.divide(
        weights**4 @ (table[0] ** 2 * table[1]), second**2, out=np.zeros_like(second), where=second > 0
    )


def test_moments_are_those_of_the_dense_algebra(release):
    release = replace(release, estimate=release.estimate.unbiased)
    if takes_more_than_leaves(release.estimate):
        pytest.skip("compared with boxes above")
    polygons = shapes(60, seed=4)
    variance, kurtosis = dense_moments(release, polygons)
    found = release.estimate.polygon_moments(read_polygons(polygons, release.domain))
    np.testing.assert_allclose(found[0], variance, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found[1][variance > 1e-3], kurtosis[variance > 1e-3], rtol=1e-4, atol=1e-4)


def test_large_complete_trees_have_the_same_variance_as_the_walk():
    domain = sdp.Domain(BOUNDS)
    release = sdp.Quadtree(height=7).release(np.empty((0, 2)), domain, epsilon=1)
    polygons = read_polygons(shapes(12, seed=6), domain)
    variance, kurtosis = release.estimate.polygon_moments(polygons)
    second, fourth = release.estimate._walker.fitted_cumulants(polygons, release.estimate.noise)
    assert release.estimate._is_complete
    np.testing.assert_allclose(variance, second, rtol=1e-6)
    assert np.all(kurtosis * variance**2 >= fourth * (1 - 1e-6))


@pytest.mark.statistical
@pytest.mark.parametrize(
    "mechanism", [sdp.Flat((8, 8)), sdp.Quadtree(height=3), sdp.Wavelet((8, 8))], ids=lambda m: type(m).__name__
)
def test_intervals_cover_at_the_nominal_rate_and_narrower_ones_would_not(mechanism):
    domain = sdp.Domain(BOUNDS)
    polygons = [shape for shape in shapes(60, seed=8) if shape.intersection(shapely.box(*BOUNDS)).area > 10]
    off, width = [], []
    for seed in range(400):
        release = mechanism.release(np.empty((0, 2)), domain, epsilon=1, noise=sdp.SeededNoise((8, seed)))
        low, high = release.interval_polygons(polygons, level=0.9, about="noise").T
        off.append(np.abs(low + high) / 2)
        width.append((high - low) / 2)
    off, width = np.array(off), np.array(width)
    assert 0.88 < np.mean(off <= width) < 0.94
    assert np.mean(off <= 0.8 * width) < 0.87


def test_scanning_in_parts_changes_nothing(monkeypatch):
    grid, polygons = sdp.Domain(BOUNDS).grid((50, 40)), read_polygons(shapes(40), sdp.Domain(BOUNDS))
    ((_, whole),) = scan(polygons, grid)
    monkeypatch.setattr("spatialdp.space.polygons._PIECES", 100)
    parts = list(scan(polygons, grid))
    assert len(parts) > 5
    ones = np.cumsum(np.cumsum(np.pad(np.ones((40, 50)), ((1, 0), (1, 0))), axis=0), axis=1)
    np.testing.assert_allclose(np.concatenate([runs.sums(ones) for _, runs in parts]), whole.sums(ones), atol=1e-9)


@pytest.fixture(scope="module")
def plain():
    return sdp.Flat((6, 6)).release([[12.0, 23.0]], sdp.Domain(BOUNDS, crs="EPSG:4326"), epsilon=1)


def test_forms_and_answers_of_nothing(plain):
    square = shapely.box(11, 21, 13, 25)
    answer = plain.answer_polygons(square)
    assert isinstance(answer, float)
    assert plain.interval_polygons(square).shape == (2,)
    series = geopandas.GeoSeries([square, shapely.MultiPolygon([square])], crs="EPSG:4326")
    for form in (series, series.to_frame("geometry"), list(series), series.to_numpy(), series.values):
        assert plain.answer_polygons(form).tolist() == [answer, answer]
    raised = shapely.force_3d(square, z=7)
    assert plain.answer_polygons(raised) == answer
    empty = [shapely.Polygon(), shapely.MultiPolygon()]
    assert plain.answer_polygons(empty).tolist() == [0, 0]
    assert plain.interval_polygons(empty).tolist() == [[0, 0]] * 2
    assert plain.answer_polygons([]).shape == (0,)
    assert plain.interval_polygons([]).shape == (0, 2)


def test_holes_are_left_out(plain):
    ring = shapely.box(*BOUNDS).difference(shapely.box(11.5, 22.0, 14.25, 26.5))
    hole = plain.answer((11.5, 22.0, 14.25, 26.5))
    assert plain.answer_polygons(ring) == pytest.approx(plain.total - hole, abs=1e-5)


@pytest.mark.parametrize(
    ("geometries", "message"),
    [
        ([shapely.Point(1, 2)], "geometry 0 is a Point"),
        ([shapely.box(0, 0, 1, 1), shapely.LineString([(0, 0), (1, 1)])], "geometry 1 is a LineString"),
        ([shapely.GeometryCollection([shapely.box(0, 0, 1, 1)])], "GeometryCollection; it must be"),
        ([shapely.box(0, 0, 1, 1), None], "geometry 1 is missing"),
        (
            [shapely.Polygon([(0, 0), (1, 1), (1, 0), (0, 1)])],
            r"geometry 0 is not a valid polygon \(Self-inter.*make_valid",
        ),
        ((0, 0, 1, 1), "answered by `answer`"),
        ("POLYGON((0 0, 1 1, 1 0, 0 0))", "give shapely Polygons"),
        ([[shapely.box(0, 0, 1, 1)]], "give shapely Polygons"),
    ],
)
def test_other_things_are_refused(plain, geometries, message):
    for ask in (plain.answer_polygons, plain.interval_polygons):
        with pytest.raises(ParameterError, match=message):
            ask(geometries)


def test_crs_is_checked(plain):
    square = shapely.box(11, 21, 13, 25)
    in_metres = geopandas.GeoSeries([square], crs="EPSG:4326").to_crs("EPSG:3857")
    assert plain.answer_polygons(in_metres) == pytest.approx(plain.answer_polygons([square]), abs=1e-3)
    with pytest.raises(CRSMismatchError, match="the polygons have none; state it with set_crs"):
        plain.answer_polygons(geopandas.GeoDataFrame(geometry=[square]))
    with pytest.raises(ParameterError, match="without an active geometry"):
        plain.answer_polygons(geopandas.GeoDataFrame({"a": [1]}))


def test_biased_releases_give_answers_and_no_intervals(plain):
    square = shapely.box(11, 21, 13, 25)
    assert plain.non_negative().answer_polygons(square) >= 0
    with pytest.raises(ReleaseError, match="intervals need unbiased estimates"):
        plain.non_negative().interval_polygons(square)
