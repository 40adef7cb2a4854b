"""Maps: drawn from every kind of release, quietly, from released values only."""

from __future__ import annotations

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
import shapely

import spatialdp as sdp
from spatialdp.errors import ParameterError
from spatialdp.maps import Classes, draw_cells
from tests.sources import ZeroNoise

mpl.use("Agg")

REGION = shapely.MultiPolygon([shapely.box(0, 0, 4, 6), shapely.Polygon([(5, 0), (8, 0), (8, 5)])])


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def pixels(ax):
    ax.figure.canvas.draw()
    return np.asarray(ax.figure.canvas.buffer_rgba()).copy()


@pytest.mark.parametrize("crs", [None, "EPSG:4326", "EPSG:3857"])
@pytest.mark.parametrize("log", [False, True])
def test_every_release_can_be_drawn(crs, log):
    domain = sdp.Domain((0, 0, 8, 6), crs=crs, region=REGION)
    release = sdp.Flat((16, 12)).release([[1, 1]], domain, epsilon=0.5)
    ax = release.plot(log=log)
    assert pixels(ax).std() > 0
    assert "ε = 0.5" in ax.get_xlabel()


def test_north_is_up_and_empty_outside():
    domain = sdp.Domain((0, 0, 2, 2))
    release = sdp.Flat((2, 2)).release([[1.5, 1.5]] * 9, domain, epsilon=1, noise=ZeroNoise())
    (image,) = release.plot(limits=(0, 9), caption=False).get_images()
    assert image.origin == "lower"
    assert image.get_array()[1, 1] == 9
    assert image.get_extent() == [0, 2, 0, 2]


def test_own_axes_and_public_limits():
    release = sdp.Flat((2, 2)).release([], sdp.Domain((0, 0, 2, 2)), epsilon=1)
    ax = plt.figure().add_subplot()
    assert release.plot(ax, limits=(0, 5)) is ax
    with pytest.raises(ParameterError, match="limits"):
        release.plot(limits=(5, 5))


def test_same_released_values_same_picture():
    domain = sdp.Domain((0, 0, 2, 2))
    one = sdp.Flat((2, 2)).release([[0.1, 0.1]], domain, epsilon=1, noise=ZeroNoise())
    two = sdp.Flat((2, 2)).release([[0.2, 0.7], [9, 9]], domain, epsilon=1, noise=ZeroNoise())
    assert np.array_equal(pixels(one.plot()), pixels(two.plot()))


def test_classes_put_every_value_in_one_class():
    classes = Classes((0.5, 1.5))
    grid = sdp.Domain((0, 0, 3, 1)).grid((3, 1))
    image = draw_cells(plt.figure().add_subplot(), grid, np.array([[-100.0, 1.0, 1e9]]), classes=classes)
    colours = image.to_rgba(image.get_array())[0]
    assert len({tuple(colour) for colour in colours}) == 3
