"""How does a release look on a map, and which of its estimates may be noise alone? `plot` draws it.

Low values are light and high values dark, so that a map reads the same in grey. Cells whose interval extends below zero
are faded and hatched. The privacy statement stands below the map.

Maps are drawn from released values and public parameters only. A colour scale is either given by the caller, who must
not derive it from records, or derived from the release itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from spatialdp._support.arrays import Floats
from spatialdp._support.checks import whole_number
from spatialdp._support.options import Option
from spatialdp.errors import ParameterError
from spatialdp.outputs.maps.cells import LEVEL, MapCells, map_cells
from spatialdp.outputs.maps.colours import SHADES, colour_scale, log_ticks, shades
from spatialdp.outputs.maps.drawing import draw_boxes, draw_image
from spatialdp.outputs.maps.values import aspect
from spatialdp.space.domain import Domain
from spatialdp.wording import parameter

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Colormap, Normalize

    from spatialdp.release import Release

__all__ = ["View", "plot"]

# Breaks between the classes of relative uncertainty, half-width / |estimate|. From 1 on, the interval contains zero.
_UNCERTAINTIES = (0.0, 0.1, 0.25, 0.5, 1.0)

# Up to this many boxes that follow no grid are drawn as polygons, sharp at any size; more are painted on pixels.
_MOST_POLYGONS = 20_000
# By default the nodes of a tree are outlined if there are no more than this.
_MOST_OUTLINES = 3_000
_ROW = 32  # height of the row with the legend and the scale bar below a map, in points


class View(Option):
    """The numbers that the colours of a map stand for."""

    ESTIMATE = "estimate"
    UNCERTAINTY = "uncertainty"
    HALF_WIDTH = "half-width"


@dataclass(frozen=True)
class _Colouring:
    """The values of a map, how they become colours, and the label of the colour bar."""

    values: Floats
    label: str
    colours: Colormap
    norm: Normalize
    bar: dict[str, Any]


def plot(
    release: Release,
    *,
    ax: Axes | None = None,
    view: str = View.ESTIMATE,
    limits: tuple[float, float] | None = None,
    log: bool = False,
    level: int | None = None,
    lines: int | None = None,
    mark_noise: bool = True,
    boundaries: Any = None,
    scale_bar: bool = True,
    caption: bool = True,
) -> Axes:
    """Draw a release as a map, with marks on cells that may be noise alone and the privacy statement below.

    Parameters
    ----------
    release : Release
    ax : matplotlib Axes, optional
        A new figure by default.
    view : {"estimate", "uncertainty", "half-width"}
        The colours show estimated counts, the half-width of their 95 % intervals relative to the estimates, or that
        half-width in records. The leaves of a tree differ in size, so their numbers are shown per 1/1000 of the area of
        the domain.
    limits : (low, high), optional
        Public ends of the colour scale. By default the scale goes from 0 to the value that 99.5 % of the map's area
        does not exceed in this release. Not for the relative uncertainty, which has fixed classes.
    log : bool
        Colour by log(1 + count), for counts that span orders of magnitude.
    level : int, optional
        For trees: show the nodes at this depth, and the leaves above it. By default the leaves.
    lines : int, optional
        For trees: outline the nodes down to this depth, with heavier lines near the root; 0 for none. By default all
        nodes that the map shows and those above them are outlined, if there are at most 3,000.
    mark_noise : bool
        Fade and hatch cells that may be noise alone: their 95 % interval extends below zero. About 1 in 40 empty cells
        is not marked although it holds only noise. Biased estimates have no intervals and get no marks; the caption
        says so.
    boundaries : GeoDataFrame, GeoSeries, shapely geometry or path, optional
        Public polygons or lines to draw on top. They are reprojected to the domain's CRS; plain geometries are taken
        to be in it.
    scale_bar : bool
        Draw a scale bar, if the domain's CRS says how long its units are. The length holds at the map's mid-height.
    caption : bool
        Write the privacy statement below the map, in numbers and in words. A release that is not private is marked
        even without a caption.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    ParameterError
        If an option does not fit the release or the view.
    ReleaseError
        If the view needs intervals and the release is biased.
    CRSMismatchError
        If only one of the boundaries and the domain has a CRS.

    Privacy
    -------
    A map is post-processing of a release and costs no budget. The release and public parameters alone decide what is
    drawn, the colour scale included.

    Examples
    --------
    >>> import matplotlib, spatialdp as sdp
    >>> matplotlib.use("Agg")
    >>> domain = sdp.Domain((0, 0, 4, 2))
    >>> release = sdp.Flat(shape=(4, 2)).release([[0.5, 0.5]] * 90, domain, epsilon=1)
    >>> ax = plot(release, limits=(0, 100), log=True)
    >>> ax.get_xlabel().split(",")[0]
    'ε = 1 (add-remove one record)'
    """
    import matplotlib.pyplot as plt

    from spatialdp.outputs.maps import decorations

    domain, cells, quantity = release.domain, map_cells(release.estimate, level), View.parse(view)
    colouring = _colouring(cells, quantity, limits, log=log)
    outline_depth = _outline_depth(cells, level, lines)
    if ax is None:
        ax = plt.figure(figsize=_figure_size(domain), layout="constrained").add_subplot()
    if boundaries is not None:
        decorations.draw_boundaries(ax, domain, boundaries)
    coloured = _draw(ax, domain, cells, colouring)
    ax.set_facecolor("white")
    if outline_depth and cells.tree is not None:
        decorations.draw_levels(ax, cells.tree, domain, outline_depth)
    if quantity is View.UNCERTAINTY or (mark_noise and quantity is View.ESTIMATE and not release.estimate.biased):
        _mark(ax, domain, cells, quantity)
    if scale_bar:
        decorations.draw_scale_bar(ax, domain)
    if caption or not release.privacy.private:
        decorations.write_caption(ax, release, room=_ROW, whole=caption)
    bar = ax.figure.colorbar(coloured, ax=ax, shrink=0.9, pad=0.02, **colouring.bar)
    bar.set_label(colouring.label, fontsize=9)
    bar.ax.tick_params(labelsize=8)
    return ax


def _colouring(cells: MapCells, view: View, limits: tuple[float, float] | None, *, log: bool) -> _Colouring:
    from matplotlib.colors import BoundaryNorm

    if view is View.UNCERTAINTY:
        if limits is not None or log:
            raise ParameterError(
                f"{parameter('limits')} or {parameter('log')} was given, but the classes of relative uncertainty are "
                f"fixed; leave both out, or draw {parameter('view', 'half-width')}."
            )
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = cells.half_widths / np.abs(cells.values)
        relative = np.where(cells.half_widths > 0, ratios, 0.0)
        bar = {"ticks": _UNCERTAINTIES, "format": lambda share, _: f"{100 * share:g} %", "spacing": "uniform"}
        colours = shades(1.0, 0.2, len(_UNCERTAINTIES) - 1)
        label = f"half-width relative to the estimate ({100 * LEVEL:g} % interval)"
        return _Colouring(relative, label, colours, BoundaryNorm(_UNCERTAINTIES, colours.N), bar)
    if view is View.HALF_WIDTH:
        values, label = cells.half_widths, f"half-width of the {100 * LEVEL:g} % interval, {cells.unit}"
    else:
        values, label = cells.values, f"estimated {cells.unit}"
    norm = colour_scale(limits or (0.0, cells.high(values)), log=log)
    bar = {"extend": "both", "format": "{x:,g}", **({"ticks": log_ticks(norm)} if log else {})}
    return _Colouring(values, label, shades(0.1, 1.0, SHADES), norm, bar)


def _outline_depth(cells: MapCells, level: int | None, lines: int | None) -> int:
    """Return the depth down to which nodes are outlined; 0 for none."""
    tree = cells.tree
    if tree is None:
        if lines is not None:
            raise ParameterError(
                f"{parameter('lines')} is {lines}, but this release is a grid and has no levels; leave it out."
            )
        return 0
    if lines is not None:
        return whole_number(lines, "lines", 0, tree.height)
    depth = tree.height if level is None else level
    return depth if tree.offsets[depth + 1] <= _MOST_OUTLINES else 0


def _draw(ax: Axes, domain: Domain, cells: MapCells, colouring: _Colouring) -> ScalarMappable:
    look: dict[str, Any] = {"colours": colouring.colours, "norm": colouring.norm}
    if cells.shape is None and len(cells.boxes) <= _MOST_POLYGONS:
        return draw_boxes(ax, domain, cells.boxes.astype(np.float64), colouring.values, lines=False, **look)
    return draw_image(ax, domain, cells.raster(colouring.values, domain), **look)


def _mark(ax: Axes, domain: Domain, cells: MapCells, view: View) -> None:
    from matplotlib.patches import Patch

    from spatialdp.outputs.maps.decorations import INK, PAPER, VEIL, NoiseMarks, below

    relative = view is View.UNCERTAINTY
    marked = cells.raster(cells.within_noise, domain).filled(False)
    ax.add_artist(NoiseMarks(marked, domain, veil=1.0 if relative else VEIL))
    text = (
        f"may be noise alone: {100 * LEVEL:g} % interval extends below zero\n"
        "(of the empty cells, about 1 in 40 is not marked)"
    )
    swatch = Patch(facecolor=PAPER, edgecolor=INK, hatch="/////", linewidth=0.5, label=text)
    look: dict[str, Any] = {"frameon": False, "fontsize": 8, "borderpad": 0, "borderaxespad": 0, "handlelength": 2.5}
    ax.legend(handles=[swatch], loc="upper left", bbox_to_anchor=(0.0, 0.0), bbox_transform=below(ax), **look)


def _figure_size(domain: Domain) -> tuple[float, float]:
    width, height = domain.size
    return 8.0, float(np.clip(6.5 * height * aspect(domain) / width, 2.5, 11.0)) + 0.9
