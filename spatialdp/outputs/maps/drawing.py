"""How do cells and boxes get onto matplotlib axes? As an image of a grid, or as one polygon for each box.

The axes get the domain's bounds and proportions and the outline of its region. Values and colour scale come from the
caller, who must have them from a release or from public data, except in `evaluation`, which may draw true counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from spatialdp._support.arrays import Floats
from spatialdp.outputs.maps.colours import OUTSIDE, Classes, palette
from spatialdp.outputs.maps.values import aspect
from spatialdp.space.domain import Domain, Grid

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PolyCollection
    from matplotlib.colors import Colormap, Normalize
    from matplotlib.image import AxesImage


__all__ = ["draw_boxes", "draw_cells", "draw_image"]


def draw_boxes(
    ax: Axes,
    domain: Domain,
    boxes: Floats,
    values: Floats,
    *,
    norm: Normalize,
    lines: bool,
    colours: Colormap | None = None,
) -> PolyCollection:
    """Draw lattice boxes as polygons in domain coordinates, coloured by their values."""
    from matplotlib.collections import PolyCollection

    from spatialdp.outputs.maps.decorations import corners

    patches = PolyCollection(list(corners(boxes, domain)), cmap=colours or palette(), norm=norm, array=values)
    patches.set(edgecolor="0.6" if lines else "face", linewidth=0.3 if lines else 0.1, zorder=0)
    ax.add_collection(patches)
    _frame(ax, domain)
    ax.set_aspect(aspect(domain))
    return patches


def _frame(ax: Axes, domain: Domain) -> None:
    from spatialdp.outputs.maps.decorations import draw_outline

    xmin, ymin, xmax, ymax = domain.bounds
    ax.set_facecolor(OUTSIDE)
    draw_outline(ax, domain)
    ax.set(xlim=(xmin, xmax), ylim=(ymin, ymax), xticks=[], yticks=[])


def draw_cells(
    ax: Axes, grid: Grid, values: Floats, *, norm: Normalize | None = None, classes: Classes | None = None
) -> AxesImage:
    """Draw the values of cells as an image in domain coordinates; cells outside the region stay grey."""
    return draw_image(
        ax,
        grid.domain,
        np.ma.masked_array(values, ~grid.mask),
        colours=palette() if classes is None else classes.colours,
        norm=norm if classes is None else classes.norm,
    )


def draw_image(ax: Axes, domain: Domain, values: Any, *, colours: Colormap, norm: Normalize | None) -> AxesImage:
    """Draw an array (rows, columns), row 0 in the south, as an image that fills the domain."""
    xmin, ymin, xmax, ymax = domain.bounds
    image = ax.imshow(
        values,
        extent=(xmin, xmax, ymin, ymax),
        origin="lower",
        interpolation="nearest",
        cmap=colours,
        norm=norm,
        aspect=aspect(domain),
    )
    _frame(ax, domain)
    return image
