"""Wavelets: reconstruction, the variance of boxes, regions and files."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
import shapely

import spatialdp as sdp
from spatialdp.errors import ParameterError
from spatialdp.privacy.noise.laws import Law, NoiseLaw
from spatialdp.privacy.noise.source import SeededNoise
from spatialdp.space.coverage import Coverage
from spatialdp.space.lattice import edge_lines
from spatialdp.transforms.haar import HaarAxis
from spatialdp.transforms.quad_haar import QuadHaar
from tests.helpers.boxes import cell_boxes
from tests.helpers.sources import RecordingNoise, ZeroNoise
from tests.reference.dense_trees import complete_up_variances

UNIT = sdp.Domain((0, 0, 1, 1))
REGION = shapely.Polygon([(0, 0), (1, 0), (1, 0.6), (0.3, 1), (0, 0.5)])
RNG = np.random.default_rng(4)
XY = np.concatenate([RNG.normal(0.3, 0.05, (300, 2)), RNG.random((200, 2))])
BOXES = np.sort(RNG.random((40, 2, 2)), axis=1).reshape(-1, 4)
SIZES = (1, 2, 3, 5, 17, 64, 100, 257)
FORMS = {
    "tensor": {},
    "along x": {"axis": "x"},
    "along y": {"axis": "y"},
    "quadtree": {"form": "quadtree"},
}
BUDGETS = ("uniform", "optimised")


def mean_variance(mechanism, boxes, epsilon=1):
    return mechanism.release([], UNIT, epsilon=epsilon, noise=ZeroNoise()).estimate.moments(boxes)[0].mean()


# --- there and back ----------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_perfect_reconstruction_without_noise(form):
    for nx, ny in [*product(SIZES, (1, 3, 64)), *product((1, 5, 17), SIZES), (257, 257), (100, 257)]:
        release = sdp.Wavelet((nx, ny), **FORMS[form]).release(XY, UNIT, epsilon=1, noise=ZeroNoise())
        truth = sdp.Flat((nx, ny)).release(XY, UNIT, epsilon=1, noise=ZeroNoise())
        assert np.array_equal(release.estimate.values, truth.estimate.values)


# --- variance ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("shape", [(1, 1), (4, 4), (5, 3), (9, 1), (2, 7), (6, 6)])
def test_moments_equal_dense_algebra(form, budget, shape):
    release = sdp.Wavelet(shape, budget=budget, **FORMS[form]).release([], UNIT, epsilon=1, noise=ZeroNoise())
    weights, variances, kurtosis = dense(release.estimate, form)
    lattice = UNIT.boxes(np.concatenate([BOXES, [(0, 0, 1, 1)]]))
    x, y = release.estimate.coverages(lattice)
    shares = np.einsum("mi,mj->mij", dense_coverage(y, shape[1]), dense_coverage(x, shape[0])).reshape(len(lattice), -1)
    entering = shares @ weights  # of every coefficient in every answer
    second, fourth = entering**2 @ variances, entering**4 @ (variances**2 * kurtosis)
    ours, ours_kurtosis = release.estimate.moments(lattice)
    assert ours == pytest.approx(second, rel=1e-9)
    assert ours_kurtosis == pytest.approx(fourth / second**2, rel=1e-9)


def dense_coverage(coverage, count):
    cells = np.arange(count)
    return np.clip(np.minimum(coverage.stop[:, None], cells + 1) - np.maximum(coverage.start[:, None], cells), 0, None)


def dense(estimate, form):
    """(cells, coefficients) weights of the coefficients in the cells, and the coefficients' noise."""
    ny, nx = estimate.values.shape
    noise = estimate.noise
    if form == "quadtree":
        transform = QuadHaar(nx, ny)
        sizes = [part.shape for part in transform.forward(np.zeros((ny, nx), dtype=np.int64))]
        ends = np.cumsum([a * b for a, b in sizes])
        columns = [
            transform.inverse([p.reshape(s) for p, s in zip(np.split(one, ends[:-1]), sizes, strict=True)]).ravel()
            for one in np.eye(ends[-1])
        ]
        repeats = np.diff(ends, prepend=0)
        return np.array(columns).T, np.repeat(noise.variances, repeats), np.repeat(noise.kurtosis, repeats)
    x, y = noise.x, noise.y
    weights = np.kron(y.inverse(np.eye(y.n_coefficients)).T, x.inverse(np.eye(x.n_coefficients)).T)
    of_x, of_y = (np.repeat(np.arange(a.n_groups), [g.stop - g.start for g in a.groups]) for a in (x, y))
    pairs = of_x[None, :], of_y[:, None]
    return weights, noise.variances[pairs].ravel(), noise.kurtosis[pairs].ravel()


@pytest.mark.statistical
@pytest.mark.parametrize("form", ["tensor", "quadtree"])
def test_variance_formula_against_simulation(form):
    release = sdp.Wavelet((6, 5), **FORMS[form]).release([], UNIT, epsilon=1, noise=ZeroNoise())
    weights, variances, _ = dense(release.estimate, form)
    groups = 16 if form == "tensor" else 10
    law = NoiseLaw(Law.DISCRETE_LAPLACE, Fraction(groups))
    assert variances == pytest.approx(law.variance)
    noise = law.add_to(np.zeros((50_000, variances.size), dtype=np.int64), SeededNoise(6))
    x, y = release.estimate.coverages(UNIT.boxes(BOXES))
    shares = np.einsum("mi,mj->mij", dense_coverage(y, 5), dense_coverage(x, 6)).reshape(len(BOXES), -1)
    errors = noise @ (shares @ weights).T
    # Standard error of a variance from 50,000 draws: about 1 %; fixed seed.
    assert errors.var(axis=0) == pytest.approx(release.estimate.moments(UNIT.boxes(BOXES))[0], rel=0.05)


@pytest.mark.statistical
def test_releases_have_the_variance_they_state():
    noise = SeededNoise(7)
    for options in FORMS.values():
        prepared = sdp.Wavelet((5, 4), budget="optimised", **options).prepare(UNIT, epsilon=1)
        releases = [prepared.release([], noise=noise) for _ in range(400)]
        answers = np.array([release.answer(BOXES) for release in releases])
        ratio = answers.var(axis=0) / releases[0].estimate.moments(UNIT.boxes(BOXES))[0]
        assert np.median(ratio) == pytest.approx(1, abs=0.15)  # fixed seed; a wrong scale would be off by 2


@pytest.mark.parametrize(("cells", "worst"), [(16, 71.1), (64, 182.5), (256, 373.5)])
def test_worst_range_of_a_row_of_cells(cells, worst):
    low, high = np.triu_indices(cells + 1, 1)
    lines = edge_lines(cells)
    boxes = np.stack([lines[low], 0 * low, lines[high], 0 * low + 2**30], axis=1)
    for options in ({}, {"form": "quadtree"}):
        release = sdp.Wavelet((cells, 1), law="laplace", **options).release([], UNIT, epsilon=1, noise=ZeroNoise())
        assert release.estimate.moments(boxes)[0].max() == pytest.approx(worst, abs=0.05)


@pytest.mark.parametrize(("form", "expected"), [("tensor", 24_992), ("quadtree", 45_896)])
def test_mean_box_variance_on_256_cells_a_side(form, expected):
    boxes = cell_boxes((256, 256), 2000)
    mechanism = sdp.Wavelet((256, 256), form=form, law="laplace")
    assert mean_variance(mechanism, boxes) == pytest.approx(expected, rel=0.03)


@pytest.mark.parametrize("law", ["laplace", "discrete-laplace"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("shape", [(64, 64), (50, 9)])
def test_optimised_budgets_are_better_than_uniform_ones(form, shape, law):
    boxes = cell_boxes(shape, 2000)
    uniform, optimised = (
        mean_variance(sdp.Wavelet(shape, budget=budget, law=law, **FORMS[form]), boxes) for budget in BUDGETS
    )
    assert optimised < 0.97 * uniform


def test_gaussian_wavelets_spend_rho():
    release = sdp.Wavelet((8, 8), form="quadtree", law="gaussian", budget="optimised").release(
        XY, UNIT, epsilon=1, delta=1e-6
    )
    assert release.privacy.currency == "rho"
    assert sum(release.privacy.budget.values()) == release.privacy._granted()


def test_a_wavelet_is_a_binary_hierarchy_but_for_leaves_and_root():
    cells, height = 256, 8
    spread = 2.0 * (height + 1) ** 2
    binary = sdp.Hierarchy((cells, 1), branching=2, levels="uniform", root=True, law="laplace")
    tree = binary.release([], UNIT, epsilon=1, noise=ZeroNoise()).estimate
    wavelet = sdp.Wavelet((cells, 1), law="laplace").release([], UNIT, epsilon=1, noise=ZeroNoise()).estimate
    assert tree.variances == pytest.approx(spread, rel=1e-3)
    up = complete_up_variances(tree.variances, 2)  # root first
    boxes = cell_boxes((cells, 1), 200)
    coverage = Coverage.of(boxes[:, 0], boxes[:, 2], edge_lines(cells))
    tilts = HaarAxis(cells).powers(coverage)[0]  # Σ ((left - right) / 2)², the total first
    assert wavelet.moments(boxes)[0] == pytest.approx(spread * tilts.sum(axis=0), rel=1e-3)
    # One difference has variance V/2 per (left - right)², V of its halves; the wavelet has s/4.
    assert tree.moments(boxes)[0] == pytest.approx(up[0] * tilts[0] + 2 * up[1:] @ tilts[1:], rel=1e-9)
    assert 2 * up[1:4] == pytest.approx(spread, rel=0.02)
    assert up[-1] == pytest.approx(spread, rel=1e-3)  # at the leaves it is twice the wavelet's


# --- padding, regions, files -------------------------------------------------------------------------


def test_padding_costs_nothing():
    """As many steps and the same scales as on the padded grid, no noise for nodes beyond the grid."""
    for form, calls in (("tensor", 16), ("quadtree", 10)):
        padded, cut = RecordingNoise(1), RecordingNoise(1)
        for shape, source in (((8, 8), padded), ((5, 5), cut)):
            sdp.Wavelet(shape, form=form).release(XY, UNIT, epsilon=1, noise=source)
        assert [call[:2] for call in cut.calls] == [call[:2] for call in padded.calls]
        assert len(cut.calls) == calls
    assert cut.calls[-1][2] == (3, 3)
    low, high = (sdp.Wavelet((n, n)).release([], UNIT, epsilon=1).estimate for n in (5, 8))
    cell = [edge_lines(n)[[0, 0, 1, 1]][None, :] for n in (5, 8)]
    assert low.moments(cell[0])[0] == pytest.approx(high.moments(cell[1])[0])


@pytest.mark.parametrize("form", FORMS)
def test_regions_cost_nothing(form):
    domain = sdp.Domain((0, 0, 1, 1), region=REGION)
    mechanism = sdp.Wavelet((16, 12), **FORMS[form])
    inside, whole = (mechanism.release(XY, d, epsilon=1, noise=ZeroNoise()) for d in (domain, UNIT))
    assert inside.privacy.budget == whole.privacy.budget
    # What lies outside is known to be empty: boxes are cut to the rectangle around the region's cells.
    rows, columns = np.nonzero(inside.estimate.grid.mask)
    x, y = inside.estimate.grid.x_lines, inside.estimate.grid.y_lines
    low, high = (x[columns.min()], y[rows.min()]) * 2, (x[columns.max() + 1], y[rows.max() + 1]) * 2
    lattice = UNIT.boxes(BOXES)
    ours, theirs = inside.estimate.moments(lattice)[0], whole.estimate.moments(np.clip(lattice, low, high))[0]
    held = (ours > 0) & ~inside.estimate.border.is_cut(lattice)  # others get shares of the area in the region
    assert held.sum() > 5
    assert ours[held] == pytest.approx(theirs[held])
    assert not inside.estimate.values[~inside.estimate.grid.mask].any()
    assert mechanism.plan(domain, epsilon=1).cells == inside.estimate.grid.n_cells


@pytest.mark.parametrize("region", [None, REGION], ids=["whole", "region"])
@pytest.mark.parametrize("form", FORMS)
def test_loaded_wavelets_answer_as_the_saved_ones(form, region, tmp_path):
    domain = sdp.Domain((0, 0, 1, 1), region=region)
    release = sdp.Wavelet((7, 9), **FORMS[form]).release(XY, domain, epsilon=1)
    release.save(tmp_path / "release.parquet")
    loaded = sdp.load(tmp_path / "release.parquet")
    assert np.array_equal(loaded.answer(BOXES), release.answer(BOXES))
    assert np.array_equal(loaded.interval(BOXES), release.interval(BOXES))
    assert loaded.privacy == release.privacy


def test_bad_forms_are_refused():
    for options in ({"form": "octree"}, {"form": "quadtree", "axis": "x"}, {"axis": "z"}, {"budget": "steep"}):
        with pytest.raises(ParameterError):
            sdp.Wavelet((4, 4), **options)
