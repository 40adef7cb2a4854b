"""What can be seen of a picture."""

from __future__ import annotations

import numpy as np

from spatialdp.outputs.maps.decorations import NoiseMarks


def pixels(ax):
    ax.figure.canvas.draw()
    return np.asarray(ax.figure.canvas.buffer_rgba()).copy()


def marks_of(ax):
    return [artist for artist in ax.get_children() if isinstance(artist, NoiseMarks)]
