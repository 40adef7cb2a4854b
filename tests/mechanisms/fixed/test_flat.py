"""The flat histogram: sensitivity, noise, options."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
import shapely

import spatialdp as sdp
from spatialdp.errors import ParameterError
from spatialdp.privacy.neighbours import Neighbours, count_sensitivity
from spatialdp.privacy.noise.laws import Law
from spatialdp.records.counting import count_cells
from tests.helpers.sources import RecordingNoise, ZeroNoise

DOMAIN = sdp.Domain((0, 0, 3, 2))
REGION = shapely.Polygon([(0, 0), (3, 0), (3, 1), (1, 2), (0, 2)])


def all_records(domain):
    """One record in every cell, and records that count nowhere."""
    inside = [(x + 0.5, y + 0.5) for x, y in product(range(3), range(2))]
    return [*inside, (3.0, 2.0), (-1.0, 0.5), (math.nan, 1.0), (2.9, 1.9)]


@pytest.mark.parametrize("shape", [(3, 2), (1, 1)], ids=str)
@pytest.mark.parametrize("region", [None, REGION], ids=["whole", "region"])
def test_sensitivity_is_the_largest_change_over_all_neighbours(region, shape):
    domain = sdp.Domain((0, 0, 3, 2), region=region)
    grid = domain.grid(shape)
    images = [count_cells(sdp.Points([record]), grid).ravel() for record in all_records(domain)]
    alone = [np.abs(image).sum() for image in images]
    swaps = [np.abs(a - b) for a, b in product(images, images)]
    declared = {neighbours: count_sensitivity(neighbours, grid.n_cells) for neighbours in Neighbours}
    assert max(alone) == declared[Neighbours.ADD_REMOVE].l1
    assert max((image**2).sum() for image in images) == declared[Neighbours.ADD_REMOVE].l2_squared
    assert max(swap.sum() for swap in swaps) == declared[Neighbours.REPLACE].l1
    assert max((swap**2).sum() for swap in swaps) == declared[Neighbours.REPLACE].l2_squared


@pytest.mark.parametrize(
    ("law", "neighbours", "expected"),
    [
        ("discrete-laplace", "add-remove", ("laplace", Fraction(10))),
        ("discrete-laplace", "replace", ("laplace", Fraction(20))),
        ("laplace", "add-remove", ("laplace", Fraction(10240))),
        ("laplace", "replace", ("laplace", Fraction(20480))),
    ],
)
def test_every_cell_of_the_region_gets_noise_of_the_right_scale_once(law, neighbours, expected):
    source = RecordingNoise(1)
    domain = sdp.Domain((0, 0, 3, 2), region=REGION)
    sdp.Flat((30, 20), law=law).release([[1, 1]], domain, epsilon=0.1, neighbours=neighbours, noise=source)
    assert source.calls == [(*expected, (domain.grid((30, 20)).n_cells,))]


def test_gaussian_noise_is_calibrated_through_zcdp():
    for neighbours, square in (("add-remove", 1), ("replace", 2)):
        source = RecordingNoise(1)
        release = sdp.Flat((3, 2), law="gaussian").release(
            [[1, 1]], DOMAIN, epsilon=1, delta=1e-9, neighbours=neighbours, noise=source
        )
        rho = release.privacy.budget["counts"]
        assert release.privacy.currency == "rho"
        assert source.calls == [("gaussian", square / (2 * rho), (6,))]


@pytest.mark.parametrize("law", list(Law))
def test_zero_noise_gives_the_counts(law):
    xy = np.random.default_rng(1).uniform((0, 0), (3, 2), size=(100, 2))
    delta = 1e-6 if law is Law.GAUSSIAN else 0
    release = sdp.Flat((3, 2), law=law).release(xy, DOMAIN, epsilon=1, delta=delta, noise=ZeroNoise())
    assert np.array_equal(release.estimate.values, count_cells(sdp.Points(xy), DOMAIN.grid((3, 2))))


def test_truncation_comes_after_the_noise_and_is_stated():
    xy = np.tile([[0.5, 0.5]], (50, 1))
    release = sdp.Flat((30, 20), truncate=5).release(xy, DOMAIN, epsilon=0.5)
    assert release.estimate.values.min() == 0
    assert release.estimate.values.max() == 5
    assert release.privacy.parameters["truncate"] == 5
    assert release.estimate.biased


def test_laws_live_on_their_lattices():
    values = sdp.Flat((30, 20)).release([], DOMAIN, epsilon=0.1).estimate.values
    assert np.array_equal(values, np.round(values))
    fine = sdp.Flat((30, 20), law="laplace").release([], DOMAIN, epsilon=0.1).estimate.values
    assert np.array_equal(fine * 1024, np.round(fine * 1024))
    assert not np.array_equal(fine, np.round(fine))


def test_plan_is_what_the_release_records():
    for mechanism, terms in (
        (sdp.Flat((3, 2)), {"epsilon": 0.3}),
        (sdp.Flat(cell_size=0.5, law="gaussian"), {"epsilon": 2, "delta": 1e-9}),
    ):
        plan = mechanism.plan(DOMAIN, **terms)
        release = mechanism.release([], DOMAIN, **terms)
        assert plan.budget == release.privacy.budget
        assert plan.currency == release.privacy.currency
        assert plan.cells == release.estimate.grid.n_cells
        assert plan.standard_deviation == pytest.approx(math.sqrt(release.estimate.noise.variance))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"shape": (2, 2), "cell_size": 1},
        {"shape": (2, 2), "law": "cauchy"},
        {"shape": (2, 2), "truncate": -1},
        {"shape": (2, 2), "truncate": 1.5},
        {"shape": (2, 2), "truncate": True},
        {"shape": (2, 2), "truncate": 10**400},
        {"shape": 5},
        {"shape": (2, 2, 2)},
        {"shape": "ab"},
        {"cell_size": 0},
        {"cell_size": (1, 2, 3)},
        {"cell_size": "2"},
    ],
)
def test_bad_parameters_are_refused_when_they_are_given(options):
    with pytest.raises(ParameterError):
        sdp.Flat(**options)


def test_numpy_numbers_are_numbers(tmp_path):
    for number, mechanism in enumerate(
        (
            sdp.Flat(shape=np.array([3, 2]), truncate=np.int64(5)),
            sdp.Flat(shape=(np.int64(3), np.int32(2))),
            sdp.Flat(cell_size=np.array([1.0, 1.0])),
            sdp.Flat(cell_size=np.float32(1)),
            sdp.Flat(cell_size=[1, 1]),
        )
    ):
        release = mechanism.release([], DOMAIN, epsilon=np.int32(3))
        release.save(tmp_path / f"{number}.parquet")
        assert sdp.load(tmp_path / f"{number}.parquet").privacy == release.privacy
