"""Noise of a grid's estimates: against the weights of all measurements, and each way of asking against the others."""

from __future__ import annotations

import numpy as np
import pytest
import shapely

from spatialdp.estimates import grid_noise
from spatialdp.estimates.grid_noise import IndependentNoise, QuadHaarNoise, SeparableNoise, SharedNoise
from spatialdp.outputs.files.noise_models import noise_from_json
from spatialdp.space.coverage import Coverage, coverages
from spatialdp.space.domain import Domain
from spatialdp.space.polygons import read_polygons, scan
from spatialdp.transforms.axis import IdentityAxis
from spatialdp.transforms.haar import HaarAxis
from spatialdp.transforms.matrices import DenseAxis, WindowAxis
from spatialdp.transforms.quad_haar import QuadHaar
from spatialdp.transforms.spectral import Basis, SpectralAxis
from tests.helpers.boxes import coverage, every_cell
from tests.reference.dense_wavelets import quad_haar_weights

SHAPE = (6, 5)
UNIT = Domain((0, 0, 1, 1))
REGION = Domain((0, 0, 1, 1), region=shapely.Polygon([(0, 0), (1, 0), (1, 0.6), (0.3, 1), (0, 0.5)]))
RNG = np.random.default_rng(3)
BOXES = np.concatenate([np.sort(RNG.random((30, 2, 2)), axis=1).reshape(-1, 4), [(0, 0, 1, 1), (0.5, 0.2, 0.5, 0.4)]])


def separable():
    x, y = HaarAxis(6), DenseAxis(np.vstack([np.eye(5, dtype=int), [1, 2, 0, 0, 1]]))
    return SeparableNoise(x, y, RNG.uniform(1, 9, (x.n_groups, 1)), RNG.uniform(0, 3, (x.n_groups, 1)), 1.0)


def quad_haar():
    transform = QuadHaar(*SHAPE)
    groups = len(transform.groups)
    return QuadHaarNoise(transform, RNG.uniform(1, 9, groups), RNG.uniform(0, 3, groups), 1.0)


MODELS = {
    "independent": IndependentNoise(UNIT.grid(SHAPE), 4.0, 2.5, 1.0),
    "independent in a region": IndependentNoise(REGION.grid(SHAPE), 4.0, 2.5, 1.0),
    "shared": SharedNoise(UNIT.grid(SHAPE), 4.0, 2.5, 1.0),
    "shared in a region": SharedNoise(REGION.grid(SHAPE), 4.0, 2.5, 1.0),
    "separable": separable(),
    "quadtree wavelet": quad_haar(),
}
every_model = pytest.mark.parametrize("name", MODELS)


def grid_of(name):
    return (REGION if name.endswith("region") else UNIT).grid(SHAPE)


def dense(name):
    """(cells, measurements) weights in the cells' estimates, and the measurements' variances and fourth cumulants."""
    model, mask = MODELS[name], grid_of(name).mask.ravel()
    if isinstance(model, SharedNoise):
        return (mask / mask.sum())[:, None], np.array([4.0]), np.array([2.5 * 16])
    if isinstance(model, IndependentNoise):
        return np.diag(mask.astype(float)), np.full(mask.size, 4.0), np.full(mask.size, 2.5 * 16)
    if isinstance(model, SeparableNoise):
        weights = np.kron(*(axis.inverse(np.eye(axis.n_coefficients)).T for axis in (model.y, model.x)))
        group = np.repeat(np.arange(model.x.n_groups), [part.stop - part.start for part in model.x.groups])
        variances, kurtosis = (
            np.tile(table[group, 0], model.y.n_coefficients) for table in (model.variances, model.kurtosis)
        )
        return weights, variances, kurtosis * variances**2
    weights, group = quad_haar_weights(model.transform)
    variances = model.variances[group]
    return weights.T, variances, model.kurtosis[group] * variances**2


@every_model
def test_cumulants_are_those_of_all_measurements(name):
    grid = grid_of(name)
    weights, second, fourth = dense(name)
    boxes = grid.domain.boxes(BOXES)
    entering = coverage(every_cell(grid), boxes) @ weights
    found = MODELS[name].cumulants(*coverages(grid, boxes))
    np.testing.assert_allclose(found[0], entering**2 @ second, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(found[1], entering**4 @ fourth, rtol=1e-6, atol=1e-7)


@every_model
def test_all_cells_at_once_are_cells_one_by_one(name):
    grid = grid_of(name)
    columns, rows = (Coverage.of(lines[:-1], lines[1:], lines) for lines in (grid.x_lines, grid.y_lines))
    one_by_one = MODELS[name].cumulants(*coverages(grid, every_cell(grid)))
    for found, expected in zip(MODELS[name].cell_cumulants(columns, rows), one_by_one, strict=True):
        held = grid.mask  # of cells outside the region nobody asks
        np.testing.assert_allclose(found[held], expected.reshape(SHAPE[::-1])[held], rtol=1e-9, atol=1e-12)


@every_model
def test_rectangles_as_polygons_have_the_noise_of_boxes(name):
    grid = grid_of(name)
    ((_, runs),) = scan(read_polygons(list(shapely.box(*BOXES[:-1].T)), grid.domain), grid)
    boxes = MODELS[name].cumulants(*coverages(grid, grid.domain.boxes(BOXES[:-1])))
    for found, expected in zip(MODELS[name].polygon_cumulants(runs), boxes, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@every_model
def test_models_come_back_from_plain_values(name):
    grid = grid_of(name)
    again = noise_from_json(MODELS[name].to_json(), grid)
    asked = coverages(grid, grid.domain.boxes(BOXES))
    assert type(again) is type(MODELS[name])
    assert again.step == MODELS[name].step
    for found, expected in zip(again.cumulants(*asked), MODELS[name].cumulants(*asked), strict=True):
        assert np.array_equal(found, expected)


def test_a_product_of_no_transforms_is_independent_noise():
    grid = UNIT.grid(SHAPE)
    model = SeparableNoise(IdentityAxis(6), IdentityAxis(5), np.full((1, 1), 4.0), np.full((1, 1), 2.5), 1.0)
    asked = coverages(grid, UNIT.boxes(BOXES))
    for found, expected in zip(model.cumulants(*asked), MODELS["independent"].cumulants(*asked), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["identity", "haar", "windows", "spectral"])
def test_polygons_are_answered_a_few_cells_at_a_time(name, monkeypatch):
    """A long axis has the square of its cells as weights; made piece by piece they give the same moments."""
    axis = {
        "identity": IdentityAxis(13),
        "haar": HaarAxis(13),
        "windows": WindowAxis(np.arange(1, 14), np.arange(26).reshape(2, 13)),
        "spectral": SpectralAxis(13, Basis.DCT, (0, 3, 9)),
    }[name]
    shares = np.random.default_rng(1).random((7, 5)) * (np.arange(5) > 0)
    whole = grid_noise._applied(axis, 3, shares)
    monkeypatch.setattr(grid_noise, "_WEIGHTS_AT_ONCE", 2 * axis.n_coefficients)
    for one, other in zip(whole, grid_noise._applied(axis, 3, shares), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(whole[0].sum(axis=0), (axis.cell_weights(slice(3, 10)).T @ shares).sum(axis=0))
