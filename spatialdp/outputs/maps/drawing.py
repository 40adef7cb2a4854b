"""How do cells, boxes and zones get onto matplotlib axes? As an image of a grid, or as one polygon for each area.

The axes get the domain's bounds and proportions and the outline of its region. Values and colour scale come from the
caller, who must have them from a release or from public data, except in `evaluation`, which may draw true counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from spatialdp._support.arrays import Booleans, Floats, Objects
from spatialdp.outputs.maps.colours import OUTSIDE, Classes, palette
from spatialdp.outputs.maps.values import aspect, corners
from spatialdp.space.domain import Domain, Grid

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PathCollection, PolyCollection
    from matplotlib.colors import Colormap, Normalize
    from matplotlib.image import AxesImage
    from matplotlib.path import Path


__all__ = ["draw_boxes", "draw_cells", "draw_dots", "draw_image", "draw_polygons"]


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

    patches = PolyCollection(list(corners(boxes, domain)), cmap=colours or palette(), norm=norm, array=values)
    patches.set(edgecolor="0.6" if lines else "face", linewidth=0.3 if lines else 0.1, zorder=0)
    ax.add_collection(patches)
    _frame(ax, domain)
    ax.set_aspect(aspect(domain))
    return patches


def draw_dots(
    ax: Axes,
    domain: Domain,
    dots: tuple[Floats, Floats],
    values: Floats,
    rings: Booleans,
    *,
    norm: Normalize | None,
    colours: Colormap,
) -> PathCollection:
    """Draw dots at places (n, 2) with diameters in points, coloured by their values; some of them as rings."""
    places, diameters = dots
    order = np.argsort(-diameters, kind="stable")  # small dots lie on large ones
    full, empty = order[~rings[order]], order[rings[order]]
    look: dict[str, Any] = {"edgecolor": "0.25", "zorder": 1}
    x, y = places.T
    ax.scatter(x[empty], y[empty], diameters[empty] ** 2, facecolor="none", linewidth=0.6, **look)
    look |= {"cmap": colours, "norm": norm, "linewidth": 0.15}
    drawn = ax.scatter(x[full], y[full], diameters[full] ** 2, values[full], **look)
    _frame(ax, domain)
    ax.set_aspect(aspect(domain))
    return drawn


def draw_polygons(
    ax: Axes, domain: Domain, polygons: Objects, values: Floats, *, norm: Normalize | None, colours: Colormap
) -> PathCollection:
    """Draw polygons in domain coordinates, which may have holes and several parts, coloured by their values."""
    from matplotlib.collections import PathCollection

    patches = PathCollection(_paths(polygons), cmap=colours, norm=norm, array=values)
    patches.set(edgecolor="face", linewidth=0.2, zorder=0)
    ax.add_collection(patches)
    _frame(ax, domain)
    ax.set_aspect(aspect(domain))
    return patches


def _paths(polygons: Objects) -> list[Path]:
    """Return one path for each polygon. Outer rings and holes run in opposite directions, so that holes stay empty."""
    import shapely
    from matplotlib.path import Path

    parts, owner = shapely.get_parts(shapely.normalize(polygons), return_index=True)
    rings, of_part = shapely.get_rings(parts, return_index=True)
    vertices, of_ring = shapely.get_coordinates(rings, return_index=True)
    codes = np.full(len(vertices), Path.LINETO, dtype=np.uint8)
    codes[np.flatnonzero(np.diff(of_ring, prepend=-1))] = Path.MOVETO
    codes[np.flatnonzero(np.diff(of_ring, append=-1))] = Path.CLOSEPOLY
    ends = np.searchsorted(owner[of_part][of_ring], np.arange(1, polygons.size))
    pieces = zip(np.split(vertices, ends), np.split(codes, ends), strict=True)
    return [Path(piece, code) for piece, code in pieces]


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
