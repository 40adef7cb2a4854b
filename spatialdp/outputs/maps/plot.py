"""How does a release look on a map, and which of its estimates may be noise alone? `plot` draws it.

Low values are light and high values dark, so that a map reads the same in grey. Cells whose interval extends below zero
fade behind thin lines. The privacy statement stands below the map.

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
from spatialdp.outputs.maps.cells import LEVEL, MapCells, map_cells, measured
from spatialdp.outputs.maps.colours import (
    UNCERTAINTIES,
    VEIL,
    colour_scale,
    log_ticks,
    palette,
    uncertainty_colours,
)
from spatialdp.outputs.maps.drawing import draw_boxes, draw_dots, draw_image, draw_polygons
from spatialdp.outputs.maps.values import aspect
from spatialdp.space.domain import Domain
from spatialdp.wording import parameter

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.colorbar import Colorbar
    from matplotlib.colors import Colormap, Normalize

    from spatialdp.outputs.maps.layout import Furniture
    from spatialdp.release import Release

__all__ = ["Colouring", "View", "colouring_of", "draw_map", "has_marks", "outline_depth_of", "plot"]

# Up to this many boxes that follow no grid are drawn as polygons, sharp at any size; more are painted on pixels.
_MOST_POLYGONS = 20_000
# By default the nodes of a tree are outlined if there are no more than this.
_MOST_OUTLINES = 3_000
_LONGEST = 20.0  # a map that is more times as long as it is wide is stretched, because nobody could see it
_WIDTHS = 8.0, 5.0  # of a figure in inches: the usual one, and that for tall maps


class View(Option):
    """The numbers that the colours of a map stand for."""

    ESTIMATE = "estimate"
    UNCERTAINTY = "uncertainty"
    HALF_WIDTH = "half-width"


@dataclass(frozen=True)
class Colouring:
    """The values of a map, how they become colours, and the label of the colour bar."""

    values: Floats
    label: str
    colours: Colormap
    norm: Normalize
    bar: dict[str, Any]
    log: bool = False

    def set_ticks(self, bar: Colorbar, gap: float) -> None:
        """Choose the ticks of the colour bar, at least the share `gap` of the bar apart."""
        if "ticks" in self.bar:  # classes have equal lengths
            every = max(1, int(np.ceil(gap * (len(self.bar["ticks"]) - 1))))
            bar.set_ticks(self.bar["ticks"][::every])
        elif self.log:
            bar.set_ticks(log_ticks(self.norm, max(gap, 0.08)))
        else:
            from matplotlib.ticker import MaxNLocator

            bar.locator = MaxNLocator(max(1, min(9, int(1 / (1.5 * gap)))), steps=[1, 2, 5, 10])
            bar.update_ticks()


def plot(
    release: Release,
    *,
    ax: Axes | None = None,
    view: str = View.ESTIMATE,
    per: str | None = None,
    limits: tuple[float, float] | None = None,
    log: bool | None = None,
    cmap: str | Colormap | None = None,
    level: int | str | None = None,
    lines: int | None = None,
    mark_noise: bool = True,
    boundaries: Any = None,
    title: str | None = None,
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
        half-width in records (or in presences or persons: in what `Privacy.counted` names).
    per : {"cell", "km2", "map"}, optional
        Show numbers per cell or zone, per square kilometre on the ground, or per 1/1000 of the map's area. By default
        per cell if all cells have one size, and otherwise per km², or per 1/1000 of the map where there is no CRS.
    limits : (low, high), optional
        Public ends of the colour scale. By default the scale goes from 0 to the value that 99.5 % of the map's area
        does not exceed in this release. Not for the relative uncertainty, which has fixed classes.
    log : bool, optional
        Whether large values are coloured by their logarithm, as on the explorer's page, because counts often span
        orders of magnitude; the default. Otherwise the scale is linear. Not for the relative uncertainty.
    cmap : str or matplotlib Colormap, optional
        Other colours than those of all maps, which go from light to dark. Not for the relative uncertainty.
    level : int or str, optional
        For trees: show the nodes at this depth, and the leaves above it. By default the leaves. For zones: the name or
        the depth of the level to show; by default the lowest one.
    lines : int, optional
        For trees and zones: outline the nodes down to this depth, with heavier lines near the root; 0 for none. By
        default all nodes that the map shows and those above them are outlined, if there are at most 3,000; of zones,
        as many levels as have at most 3,000 zones together.
    mark_noise : bool
        Fade cells that may be noise alone behind thin lines: their estimate is below the half-width of its 95 %
        interval, which is where the interval extends below zero. About 1 in 40 empty cells is not marked although it
        holds only noise. Dots of listed cells become rings instead. The cells of a field are smaller than the blocks
        that were counted: in blocks without records, at most about 1 cell in 40 is not marked, but in other blocks
        empty cells may be unmarked. Biased estimates have no intervals and get no marks; the caption says so.
    boundaries : GeoDataFrame, GeoSeries, shapely geometry or path, optional
        Public polygons or lines to draw on top. They are reprojected to the domain's CRS; plain geometries are taken
        to be in it.
    title : str, optional
        Heading above the map.
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
    >>> ax = plot(release, limits=(0, 100), title="Homes")
    >>> ax.get_xlabel().split(",")[0]
    'ε = 1 (add-remove one record)'
    """
    from spatialdp.outputs.maps import decorations

    domain, quantity = release.domain, View.parse(view)
    cells = measured(map_cells(release.estimate, level), per, release.privacy.counted)
    colouring = colouring_of(cells, quantity, limits, log=log, cmap=cmap)
    outline_depth = outline_depth_of(cells, lines)
    own_figure = ax is None
    ax = _new_axes() if ax is None else ax
    marks = has_marks(cells, quantity, mark_noise=mark_noise)
    veil = 1.0 if quantity is View.UNCERTAINTY else VEIL
    coloured = draw_map(ax, cells, colouring, veil=veil if marks else None, lines=outline_depth, boundaries=boundaries)
    furniture = _furniture(ax, domain, coloured, colouring, own_figure=own_figure)
    if marks:
        furniture.legend = decorations.explain_marks(ax, rings=cells.dots is not None)
        furniture.words[furniture.legend.get_texts()[0]] = cells.marks
    if scale_bar:
        furniture.scale_bar = decorations.draw_scale_bar(ax, domain)
    if title:
        furniture.title = ax.set_title(title, loc="left")
        furniture.words[furniture.title] = title
    furniture.words[furniture.caption] = decorations.caption_text(release, whole=caption)
    furniture.caption.set_fontweight("normal" if release.privacy.private else "bold")
    for text in furniture.words:
        text.set_parse_math(False)  # a dollar sign is money, in titles and in names of zones and categories
    _place(furniture, own_figure=own_figure)
    return ax


def has_marks(cells: MapCells, view: View, *, mark_noise: bool) -> bool:
    """Whether areas that may be noise alone are marked; biased estimates have no intervals to tell."""
    return view is View.UNCERTAINTY or (mark_noise and view is View.ESTIMATE and not cells.estimate.biased)


def draw_map(
    ax: Axes, cells: MapCells, colouring: Colouring, *, veil: float | None, lines: int, boundaries: Any
) -> ScalarMappable:
    """Draw coloured areas, their outlines and marks, and public boundaries, without any words.

    Parameters
    ----------
    ax : matplotlib Axes
    cells : MapCells
    colouring : Colouring
    veil : float, optional
        How much marks cover the colours below; None for no marks.
    lines : int
        The depth down to which nodes are outlined.
    boundaries : optional
        As for `plot`.
    """
    from spatialdp.outputs.maps import decorations

    domain = cells.domain
    if boundaries is not None:
        decorations.draw_boundaries(ax, domain, boundaries)
    coloured = _draw(ax, domain, cells, colouring, marks=veil is not None)
    ax.set_facecolor("white")
    if lines:
        decorations.draw_levels(ax, cells, lines)
    if veil is not None and cells.dots is None:
        marked = cells.raster(cells.within_noise, domain).filled(False)
        ax.add_artist(decorations.NoiseMarks(marked, domain, veil=veil))
    return coloured


def _new_axes() -> Axes:
    import matplotlib.pyplot as plt

    return plt.figure(figsize=(_WIDTHS[0], _WIDTHS[0])).add_subplot()


def _furniture(
    ax: Axes, domain: Domain, coloured: ScalarMappable, colouring: Colouring, *, own_figure: bool
) -> Furniture:
    """Make the colour bar, and everything that has words; `_place` puts it where it belongs."""
    from spatialdp.outputs.maps.layout import Furniture

    figure: Any = ax.figure
    place: dict[str, Any] = {"cax": figure.add_axes((0.9, 0.1, 0.02, 0.8))} if own_figure else {"ax": ax}
    look = {} if own_figure else {"shrink": 0.9, "pad": 0.02}
    bar = figure.colorbar(coloured, **place, **look, **colouring.bar)
    bar.set_label(colouring.label)
    width, height = domain.size
    ratio = height / width * aspect(domain)
    if not 1 / _LONGEST <= ratio <= _LONGEST:
        ax.set_aspect("auto")
        ratio = float(np.clip(ratio, 1 / _LONGEST, _LONGEST))
    furniture = Furniture(ax, bar, lambda gap: colouring.set_ticks(bar, gap), ratio)
    furniture.words[furniture.bar_label] = colouring.label
    return furniture


def _place(furniture: Furniture, *, own_figure: bool) -> None:
    """Give all words their places: for good on somebody else's axes, and at every size of a figure of our own."""
    from spatialdp.outputs.maps.layout import MapLayout, natural_height, place_once

    if not own_figure:
        place_once(furniture)
        return
    width = _WIDTHS[furniture.ratio > 2]
    figure: Any = furniture.ax.figure
    figure.set_size_inches(width, natural_height(furniture, width))
    figure.set_layout_engine(MapLayout(furniture))


def colouring_of(
    cells: MapCells, view: View, limits: tuple[float, float] | None, *, log: bool | None, cmap: str | Colormap | None
) -> Colouring:
    """Return what the colours of a map stand for: estimates, or the widths of their intervals."""
    from matplotlib.colors import BoundaryNorm

    if view is View.UNCERTAINTY:
        if any(option is not None for option in (limits, log, cmap)):
            raise ParameterError(
                f"{parameter('limits')}, {parameter('log')} or {parameter('cmap')} was given, but the classes of "
                f"relative uncertainty are fixed; leave all three out, or draw {parameter('view', 'half-width')}."
            )
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):  # nearly 0 is as uncertain as 0
            ratios = cells.half_widths / np.abs(cells.values)
        relative = np.where(cells.half_widths > 0, ratios, 0.0)
        bar = {"ticks": UNCERTAINTIES, "format": lambda share, _: f"{100 * share:g} %", "spacing": "uniform"}
        colours = uncertainty_colours()
        label = f"half-width relative to the estimate ({100 * LEVEL:g} % interval)"
        return Colouring(relative, label, colours, BoundaryNorm(UNCERTAINTIES, colours.N), bar)
    if view is View.HALF_WIDTH:
        values, label = cells.half_widths, f"half-width of the {100 * LEVEL:g} % interval, {cells.unit}"
    else:
        values, label = cells.values, f"estimated {cells.unit}"
    log = log is not False
    norm = colour_scale(limits or (0.0, cells.high(values)), log=log)
    return Colouring(values, label, palette(cmap), norm, {"extend": "both", "format": "{x:,g}"}, log=log)


def outline_depth_of(cells: MapCells, lines: int | None) -> int:
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
    return cells.outlined(_MOST_OUTLINES)


def _draw(ax: Axes, domain: Domain, cells: MapCells, colouring: Colouring, *, marks: bool) -> ScalarMappable:
    look: dict[str, Any] = {"colours": colouring.colours, "norm": colouring.norm}
    if cells.dots is not None:
        rings = cells.within_noise if marks else np.zeros(colouring.values.size, dtype=bool)
        return draw_dots(ax, domain, cells.dots, colouring.values, rings, **look)
    if cells.polygons is not None and len(cells.polygons) <= _MOST_POLYGONS:
        return draw_polygons(ax, domain, cells.polygons, colouring.values, **look)
    if cells.polygons is None and cells.shape is None and len(cells.boxes) <= _MOST_POLYGONS:
        return draw_boxes(ax, domain, cells.boxes.astype(np.float64), colouring.values, lines=False, **look)
    return draw_image(ax, domain, cells.raster(colouring.values, domain), **look)
