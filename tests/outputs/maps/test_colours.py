"""Colour scales: what is low is light, and every value has its place."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.errors import ParameterError
from spatialdp.outputs.maps.colours import Classes, colour_scale, log_ticks, palette, shades
from spatialdp.outputs.maps.drawing import draw_cells


def test_classes_put_every_value_in_one_class():
    classes = Classes((0.5, 1.5))
    grid = sdp.Domain((0, 0, 3, 1)).grid((3, 1))
    image = draw_cells(plt.figure().add_subplot(), grid, np.array([[-100.0, 1.0, 1e9]]), classes=classes)
    colours = image.to_rgba(image.get_array())[0]
    assert len({tuple(colour) for colour in colours}) == 3


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("limits", [(0, 10), (-5, 1e6), (3, 3.5)])
def test_scales_rise_from_end_to_end(limits, log):
    scale, values = colour_scale(limits, log=log), np.linspace(*limits, 50)
    places = np.asarray(scale(values), dtype=float)
    assert (places[0], places[-1]) == pytest.approx((0, 1))
    assert (np.diff(places) > 0).all()
    assert np.asarray(scale.inverse(places)) == pytest.approx(values)


@pytest.mark.parametrize("log", [False, True])
def test_cells_outside_the_region_have_no_colour(log):
    values = np.ma.masked_array([1.0, 2.0, 3.0], [False, True, False])
    assert np.ma.getmaskarray(colour_scale((0, 10), log=log)(values)).tolist() == [False, True, False]


def test_scales_do_not_depend_on_the_unit():
    one, other = (colour_scale((0, 10 * unit), log=True)(3 * unit) for unit in (1, 1e-6))
    assert one == pytest.approx(other)


def test_colour_maps_are_known_by_name():
    assert palette("viridis").name == "viridis"
    assert palette(palette("viridis")).name == "viridis"
    with pytest.raises(ParameterError, match="cmap is 'greenish'"):
        palette("greenish")


def test_logarithms_give_small_counts_more_room():
    assert colour_scale((0, 1000), log=True)(10) > 10 * colour_scale((0, 1000), log=False)(10)


@pytest.mark.parametrize("limits", [(5, 5), (5, 1), (float("nan"), 1)])
def test_limits_must_rise(limits):
    with pytest.raises(ParameterError, match="limits"):
        colour_scale(limits, log=False)


@pytest.mark.parametrize("limits", [(0, 10), (-5, 1e6), (0.5, 40), (0, 0.01)])
def test_ticks_are_round_and_apart(limits):
    scale = colour_scale(limits, log=True)
    ticks = log_ticks(scale)
    assert len(ticks) >= 2
    assert all(limits[0] <= tick <= limits[1] for tick in ticks)
    assert all(tick == 0 or f"{abs(tick):e}"[0] in "125" for tick in ticks)
    assert np.diff([float(scale(tick)) for tick in ticks]).min() > 0.08


def test_what_is_low_is_light():
    """Also in grey: every shade is darker than the one before."""
    red, green, blue, _ = shades(0.1, 1.0, 20)(np.arange(20)).T
    assert (np.diff(0.2126 * red + 0.7152 * green + 0.0722 * blue) < 0).all()
