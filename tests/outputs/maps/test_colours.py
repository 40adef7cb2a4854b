"""Colour scales: what is low is light, and every value has its place."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np

import spatialdp as sdp
from spatialdp.outputs.maps.colours import Classes
from spatialdp.outputs.maps.drawing import draw_cells


def test_classes_put_every_value_in_one_class():
    classes = Classes((0.5, 1.5))
    grid = sdp.Domain((0, 0, 3, 1)).grid((3, 1))
    image = draw_cells(plt.figure().add_subplot(), grid, np.array([[-100.0, 1.0, 1e9]]), classes=classes)
    colours = image.to_rgba(image.get_array())[0]
    assert len({tuple(colour) for colour in colours}) == 3
