"""What can be seen of a picture."""

from __future__ import annotations

import itertools

import numpy as np
from matplotlib.text import Text
from mpl_toolkits.axes_grid1.anchored_artists import AnchoredSizeBar

from spatialdp.outputs.maps.decorations import NoiseMarks


def pixels(ax):
    ax.figure.canvas.draw()
    return np.asarray(ax.figure.canvas.buffer_rgba()).copy()


def marks_of(ax):
    return [artist for artist in ax.get_children() if isinstance(artist, NoiseMarks)]


def labels_of(ax):
    """The boxes, in pixels, of everything with words on a map that was drawn, and of the map and its colour bar."""
    (bar,) = (artist.colorbar.ax for artist in ax.get_children() if getattr(artist, "colorbar", None) is not None)
    titles = [artist for artist in ax.get_children() if isinstance(artist, Text)]
    low, high = bar.get_ylim()
    ticks = [tick.label2 for tick in bar.yaxis.get_major_ticks() if low <= tick.get_loc() <= high]
    texts = [ax.xaxis.label, bar.yaxis.label, *ticks, *titles]
    boxes = {f"{number} {text.get_text()[:30]}": text.get_window_extent() for number, text in enumerate(texts)}
    boxes = {name: box for name, box in boxes.items() if name.split(" ", 1)[1].strip()}
    if ax.get_legend() is not None:
        boxes["legend"] = ax.get_legend().get_window_extent()
    for artist in ax.get_children():
        if isinstance(artist, AnchoredSizeBar):
            boxes["scale bar"] = artist.get_window_extent()
    return boxes | {"map": ax.get_window_extent(), "colour bar": bar.get_window_extent()}


def overlaps(labels, room=0.5):
    """Pairs of boxes that have more than a thin edge in common."""
    found = []
    for (one, a), (two, b) in itertools.combinations(labels.items(), 2):
        wide = min(a.x1, b.x1) - max(a.x0, b.x0)
        tall = min(a.y1, b.y1) - max(a.y0, b.y0)
        if wide > room and tall > room:
            found.append((one, two))
    return found
