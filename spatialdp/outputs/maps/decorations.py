"""What does a map need besides its colours? Marks on noise, outlines of nodes and regions, a scale bar, a caption.

Each function adds one of these to matplotlib axes, from a release and public parameters alone. The caption must hold
the privacy statement, because people pass a picture on without the file that it was drawn from.
"""

from __future__ import annotations

import math
from functools import singledispatch
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from matplotlib.artist import Artist
from numpy.lib.stride_tricks import sliding_window_view

from spatialdp._support.arrays import Array, Booleans, Floats, Integers
from spatialdp._support.override import override
from spatialdp.estimates.base import Estimate
from spatialdp.estimates.sparse.listed import ListedCells
from spatialdp.estimates.sparse.over_map import ListOverMap
from spatialdp.estimates.zones.counts import ZoneCounts
from spatialdp.outputs.maps.cells import MapCells
from spatialdp.outputs.maps.colours import NOISE_INK, NOISE_PAPER, VEIL
from spatialdp.outputs.maps.ground import metres_per_unit
from spatialdp.outputs.maps.lines import boundary_shapes, cut_lines
from spatialdp.privacy.statement import NOT_PRIVATE, Privacy
from spatialdp.space.domain import Domain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.backend_bases import RendererBase
    from matplotlib.legend import Legend
    from mpl_toolkits.axes_grid1.anchored_artists import AnchoredSizeBar

    from spatialdp.release import Release

__all__ = [
    "NoiseMarks",
    "caption_text",
    "draw_boundaries",
    "draw_levels",
    "draw_outline",
    "draw_scale_bar",
    "explain_marks",
]


_PERIOD, _STROKE = 5.0, 0.5  # distance and width of the hatching's lines, in points

_FINEST_LINE = 4000  # outlines are simplified to the map's longer side divided by this


class NoiseMarks(Artist):
    """Diagonal lines over faded cells: the estimates there may be noise alone.

    The marks are painted at the resolution of the picture, so that a million cells take no longer than one.

    Parameters
    ----------
    marked : (rows, columns) bool array
        Whether each pixel of the domain is marked; row 0 in the south.
    domain : Domain
    veil : float
        How far the colours below fade towards light grey: 0 not at all, 1 completely.
    """

    def __init__(self, marked: Booleans, domain: Domain, veil: float = VEIL) -> None:
        super().__init__()
        self.marked, self._bounds, self._veil = marked, domain.bounds, veil
        self.set_zorder(0.5)
        self.set_in_layout(False)

    @override
    def draw(self, renderer: RendererBase) -> None:
        if not self.get_visible() or self.axes is None:
            return
        scale = renderer.get_image_magnification()
        left, bottom, right, top = (round(side) for side in self.axes.bbox.extents)
        shape = (max(1, round((top - bottom) * scale)), max(1, round((right - left) * scale)))
        columns = self._sampled(np.linspace(left, right, 2 * shape[1] + 1)[1::2], 0)
        rows = self._sampled(np.linspace(bottom, top, 2 * shape[0] + 1)[1::2], 1)
        marked = (
            self.marked[np.ix_(np.maximum(rows, 0), np.maximum(columns, 0))] & (rows >= 0)[:, None] & (columns >= 0)
        )
        points: Any = renderer.points_to_pixels(1.0)
        # A pixel's place in the pattern is its row plus its column, so rows are windows that slide along the pattern.
        pattern = sliding_window_view(self._pattern(sum(shape) - 1, float(points * scale)), shape[1])
        picture = np.where(marked, pattern, np.uint32(0)).view(np.uint8).reshape(*shape, 4)
        context = renderer.new_gc()
        context.set_clip_rectangle(self.axes.bbox)
        renderer.draw_image(context, left, bottom, picture)
        context.restore()

    def _sampled(self, pixels: Floats, axis: int) -> Integers:
        """Return the row or column of the marks that each pixel lies in; -1 for pixels outside the domain."""
        assert self.axes is not None
        low, high = (self.axes.transData.transform(corner)[axis] for corner in (self._bounds[:2], self._bounds[2:]))
        count = self.marked.shape[1 - axis]
        cells = np.floor((pixels - low) / (high - low) * count).astype(np.int64)
        return np.where((cells >= 0) & (cells < count), cells, -1)

    def _pattern(self, length: int, points: float) -> npt.NDArray[np.uint32]:
        """Return the colours along one row of the hatching; the four bytes of a pixel are one number."""
        period, stroke = _PERIOD * points, _STROKE * points
        distance = np.abs(np.arange(length) % (period * math.sqrt(2)) - period / math.sqrt(2)) / math.sqrt(2)
        line = np.clip((stroke + 1) / 2 - distance, 0.0, min(1.0, stroke))[:, None]
        alpha = self._veil + (1 - self._veil) * line
        colour = np.array(NOISE_PAPER) + (np.array(NOISE_INK) - NOISE_PAPER) * (line / alpha)
        return np.round(255 * np.hstack([colour, alpha])).astype(np.uint8).view(np.uint32).ravel()


def draw_levels(ax: Axes, cells: MapCells, depth: int) -> None:
    """Outline the nodes of a tree, or zones, down to a depth; nodes nearer to the root get heavier lines."""
    from matplotlib.collections import PolyCollection

    for level in range(1, depth + 1):
        outlines = PolyCollection(cells.outlines(level), closed=True)
        width = 0.2 + 1.2 * (1 - (level - 1) / depth) ** 2
        outlines.set(facecolor="none", edgecolor="0.35", linewidth=width, zorder=2 - level / 100, alpha=0.6)
        ax.add_collection(outlines)


# --- outlines --------------------------------------------------------------------------------------


def draw_outline(ax: Axes, domain: Domain) -> None:
    """Outline the region of a domain, if it has one."""
    if domain.region is not None:
        _draw_lines(ax, domain, np.array([domain.region]), width=0.8, colour="black")


def draw_boundaries(ax: Axes, domain: Domain, boundaries: Any) -> None:
    """Draw public polygons or lines over a map; see `lines.boundary_shapes`."""
    _draw_lines(ax, domain, boundary_shapes(boundaries, domain), width=0.5, colour="0.15")


def _draw_lines(ax: Axes, domain: Domain, shapes: Array, *, width: float, colour: str) -> None:
    """Draw lines with a thin white edge, which is visible on dark cells too; details too small to see are left out."""
    from matplotlib.collections import LineCollection
    from matplotlib.patheffects import withStroke

    longest = max(domain.size)
    parts = cut_lines(shapes, domain, tolerance=longest / _FINEST_LINE, margin=0.01 * longest)
    collection = LineCollection(parts, colors=colour, linewidths=width, zorder=2.5)
    collection.set(path_effects=[withStroke(linewidth=width + 1.0, foreground="white", alpha=0.6)])
    ax.add_collection(collection)


# --- scale -----------------------------------------------------------------------------------------


def draw_scale_bar(ax: Axes, domain: Domain) -> AnchoredSizeBar | None:
    """Draw a scale bar of a round length, if the CRS says how long its units are; `layout` gives it its place."""
    from mpl_toolkits.axes_grid1.anchored_artists import AnchoredSizeBar

    metres = metres_per_unit(domain)
    if metres is None:
        return None
    length = _round_below(domain.size[0] * metres / 4)
    label = f"{length:g} m" if length < 1000 else f"{length / 1000:,.12g} km"
    ends = [metres_per_unit(domain, height) or metres for height in (0.0, 1.0)]
    if max(abs(end / metres - 1) for end in ends) > 0.01:
        label += " (at mid-height)"
    bar = AnchoredSizeBar(
        ax.transData,
        length / metres,
        label,
        "upper right",
        pad=0,
        borderpad=0,
        sep=3,
        frameon=False,
        size_vertical=domain.size[1] / 200,
        fill_bar=True,
        label_top=False,
        bbox_to_anchor=(1.0, 0.0),
        bbox_transform=ax.transAxes,
    )
    ax.add_artist(bar)
    return bar


def _round_below(value: float) -> float:
    """Return the largest number that is 1, 2 or 5 times a power of ten and not above `value`."""
    power = 10.0 ** math.floor(math.log10(value))
    return max(digit * power for digit in (1, 2, 5) if digit * power <= value)


# --- words -----------------------------------------------------------------------------------------


def explain_marks(ax: Axes, *, rings: bool = False) -> Legend:
    """Say in a legend what the marks on noise, or the rings, mean; `layout` gives it its place."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    swatch: Artist = Patch(facecolor=NOISE_PAPER, edgecolor=NOISE_INK, hatch="////", linewidth=0.8, label="marks")
    if rings:
        swatch = Line2D([], [], linestyle="none", marker="o", markerfacecolor="none", color="0.25", label="marks")
    return ax.legend(handles=[swatch], loc="upper left", frameon=False, borderpad=0, borderaxespad=0, handlelength=2.5)


def caption_text(release: Release, *, whole: bool = True) -> str:
    """Return the privacy statement in numbers and in words, as it stands below a map, and what the map counts.

    Without `whole`, only the mark of a release that is not private is returned, or nothing.
    """
    privacy = release.privacy
    if not whole:
        return "" if privacy.private else NOT_PRIVATE
    text = f"{privacy}. {privacy.in_words()} {privacy.counted_in_words()}".rstrip()
    text += _missing(release.estimate, privacy)
    if release.estimate.biased:
        text += (
            " These estimates were altered so that their errors do not average out, so cells that may be noise alone "
            "cannot be marked."
        )
    return text


@singledispatch
def _missing(estimate: Estimate, privacy: Privacy) -> str:  # noqa: ARG001 - only lists leave places out
    """Return what a list lacks, in words that follow a caption."""
    return ""


@_missing.register
def _(estimate: ListedCells, privacy: Privacy) -> str:
    from spatialdp.outputs.maps.lists.cells import searched_in_words

    return f" {searched_in_words(estimate, privacy.counted)}"


@_missing.register
def _(estimate: ListOverMap, privacy: Privacy) -> str:
    return f" {estimate.in_words(privacy.counted)} Listed cells are not drawn."


@_missing.register
def _(estimate: ZoneCounts, privacy: Privacy) -> str:  # noqa: ARG001 - its statement says what was searched
    terms = privacy.parameters
    if not {"searched", "threshold", "expected_false"} <= set(terms):
        return ""
    return (
        f" Listed are those of {terms['searched']:,} zones whose noisy count was at least {terms['threshold']:,.6g} "
        f"{privacy.counted}. Zones with fewer are missing, and {terms['expected_false']:,.3g} empty zones are expected "
        "on the list."
    )
