"""Where do a map, its colour bar and its words go? Each gets a place of its own, however large the figure is.

`MapLayout` is matplotlib's layout engine for a figure with one map. It measures words as they are drawn, wraps them to
the room that there is, and stacks everything: title, map beside its colour bar, explanation of the marks beside or
above the scale bar, caption. In small figures the words become smaller. `place_once` does the same for a map on
somebody else's axes, whose size it must leave alone.

Places depend on the figure and the words alone. All lengths are in points, 1/72 inch.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from matplotlib.layout_engine import LayoutEngine

from spatialdp._support.override import override

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colorbar import Colorbar
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend
    from matplotlib.text import Text
    from matplotlib.transforms import Transform
    from mpl_toolkits.axes_grid1.anchored_artists import AnchoredSizeBar

__all__ = ["Furniture", "MapLayout", "natural_height", "place_once"]

_MARGIN = 7.0  # around everything
_GAP = 6.0  # between two things
_BAR_WIDTH = 14.0
_TICK = 7.0  # length of a tick and the space beside it
_FONT_SIZES = (8.0, 7.0, 6.0, 5.0)
_LEAST_SHARE = 0.4  # of the figure's height is for the map; if there is less, words become smaller
_LEAST_MAP = 24.0
_TALLEST_MAP = 560.0
_SHORTEST_BAR = 100.0  # a colour bar may be longer than a flat map is high
_SAFETY = 1.04  # words may be this much wider in files of another kind or resolution


@lru_cache(maxsize=8)
def _renderer(dpi: float) -> Any:
    """Return a renderer to measure with; matplotlib keeps what one has measured for as long as the renderer is kept."""
    from matplotlib.backends.backend_agg import RendererAgg

    return RendererAgg(1, 1, dpi)  # type: ignore[no-untyped-call]


@dataclass(eq=False)
class Furniture:
    """Everything on a map that has words, with the words as they are before they are wrapped.

    Attributes
    ----------
    ax : Axes
        The map. Its x label is the caption.
    bar : Colorbar
    set_ticks : callable
        Chooses the ticks of the colour bar, given the least distance between two of them as a share of the bar.
    ratio : float
        Height of the map divided by its width.
    words : dict of Text to str
        The texts to wrap.
    title, legend, scale_bar : optional
    font_size : float
        Size of all letters but those of the title.
    """

    ax: Axes
    bar: Colorbar
    set_ticks: Callable[[float], None]
    ratio: float
    words: dict[Text, str] = field(default_factory=dict)
    title: Text | None = None
    legend: Legend | None = None
    scale_bar: AnchoredSizeBar | None = None
    font_size: float = 8.0

    @property
    def caption(self) -> Text:
        """The caption below the map."""
        text: Text = self.ax.xaxis.label
        return text

    @property
    def bar_label(self) -> Text:
        """The label of the colour bar."""
        text: Text = self.bar.ax.yaxis.label
        return text

    @property
    def scale(self) -> float:
        """The number of pixels of a point."""
        return float(self.ax.figure.get_figure(root=True).dpi) / 72

    def extent(self, artist: Any) -> tuple[float, float]:
        """Return the width and height of something that is drawn, in points."""
        # A renderer of the present resolution: texts remember the one that they were last drawn with.
        box = artist.get_window_extent(_renderer(72 * self.scale))
        return float(box.width) / self.scale, float(box.height) / self.scale

    def wrap(self, text: Text | None, room: float, *, upright: bool = False) -> float:
        """Wrap the words of a text to a width, or of an upright one to a height; return how much room its lines take.

        Lines break between words; a word that is wider than the room stays whole.
        """
        if text is None or not self.words.get(text):
            return 0.0
        words, letters = self.words[text], len(self.words[text])
        while True:
            text.set_text("\n".join(textwrap.wrap(words, letters, break_long_words=False, break_on_hyphens=False)))
            along, across = self.extent(text)[:: -1 if upright else 1]
            if _SAFETY * along <= room or letters <= 8:
                return across
            letters = max(8, min(letters - 1, int(letters * room / (_SAFETY * along)) + 1))

    def set_fonts(self, size: float) -> None:
        """Set the size of all letters; those of the title are larger."""
        self.font_size = size
        for text in self.words:
            text.set_fontsize(size)
        if self.title is not None:
            self.title.set_fontsize(size + 3)
        if self.scale_bar is not None:
            self.scale_bar.txt_label.get_children()[0].set_fontsize(size)
        self.bar.ax.tick_params(labelsize=size)

    def wrap_legend(self, room: float) -> tuple[float, float]:
        """Wrap the explanation of the marks to a width; return its width and height, 0 if there is none."""
        if self.legend is None:
            return 0.0, 0.0
        text = self.legend.get_texts()[0]
        text.set_text(self.words[text])
        handle = self.extent(self.legend)[0] - self.extent(text)[0]
        self.wrap(text, room - handle)
        return self.extent(self.legend)

    def bar_words(self, height: float) -> float:
        """Choose ticks and wrap the label for a colour bar of this height; return the width of ticks and label."""
        self.set_ticks(1.6 * self.font_size / height)
        label = self.wrap(self.bar_label, height, upright=True)
        ticks = [self.extent(text)[0] for text in self.bar.ax.get_yticklabels() if text.get_text()]
        return label + _SAFETY * max(ticks, default=0.0) + 2 * _TICK


@dataclass(frozen=True)
class _Stack:
    """Heights of the words above and below a map; 0 for those that are not there."""

    title: float
    legend: float
    scale_bar: float
    beside: bool  # whether the scale bar has its place beside the legend
    caption: float

    @classmethod
    def of(cls, furniture: Furniture, room: float) -> _Stack:
        """Wrap all words to a width and measure them."""
        bar_width, bar_height = (0.0, 0.0) if furniture.scale_bar is None else furniture.extent(furniture.scale_bar)
        bar_width = max(bar_width, room / 4)  # it may grow with the map
        legend_width, legend_height = furniture.wrap_legend(room - _GAP - bar_width)
        beside = bool(legend_height and bar_height) and legend_width + _GAP + bar_width <= room
        if legend_height and (not beside or legend_height > 2 * bar_height):
            beside, legend_height = False, furniture.wrap_legend(room)[1]
        title, caption = (furniture.wrap(text, room) for text in (furniture.title, furniture.caption))
        return cls(title, legend_height, bar_height, beside, caption)

    @property
    def rows(self) -> float:
        """Height of the legend and the scale bar, with the gaps above them."""
        parts = [max(self.legend, self.scale_bar)] if self.beside else [self.legend, self.scale_bar]
        return sum(part + _GAP for part in parts if part)

    @property
    def height(self) -> float:
        """Height of all words, with gaps and margins."""
        return 2 * _MARGIN + self.rows + sum(part + _GAP for part in (self.title, self.caption) if part)


class MapLayout(LayoutEngine):
    """The layout of a figure that holds one map: no words overlap, at any size of the figure."""

    _adjust_compatible = False
    _colorbar_gridspec = False

    def __init__(self, furniture: Furniture, **options: Any) -> None:
        super().__init__(**options)
        self._furniture = furniture

    @override
    def execute(self, fig: Figure) -> None:
        furniture = self._furniture
        width, height = (72 * float(side) for side in fig.get_size_inches())
        for size in _FONT_SIZES:
            furniture.set_fonts(size)
            stack = _Stack.of(furniture, width - 2 * _MARGIN)
            room = height - stack.height
            if room >= _LEAST_SHARE * height:
                break
        self._put(width, height, stack, max(room, _LEAST_MAP))

    def _put(self, width: float, height: float, stack: _Stack, room: float) -> None:
        """Place the map and everything around it; `room` is the height that the map may take."""
        furniture, figure = self._furniture, self._furniture.ax.figure
        map_width, bar_height, words = _fit(furniture, width, room)
        map_height, group = map_width * furniture.ratio, map_width + _GAP + _BAR_WIDTH + words
        left = max(_MARGIN, (width - group) / 2)
        top = height - _MARGIN - (stack.title + _GAP if stack.title else 0.0)
        bottom = top - max(map_height, bar_height)

        def box(x: float, y: float, wide: float, tall: float) -> tuple[float, float, float, float]:
            return x / width, y / height, wide / width, tall / height

        furniture.ax.set_position(box(left, top - map_height, map_width, map_height))
        half = furniture.font_size / 2  # the number at the end of a bar stands half above it
        furniture.bar.ax.set_position(
            box(left + map_width + _GAP, top - bar_height + half, _BAR_WIDTH, max(bar_height - 2 * half, 1.0))
        )
        if furniture.title is not None:
            furniture.title.set_position(((_MARGIN - left) / map_width, 1.0))
        _place_rows(
            furniture,
            stack,
            map_height,
            lambda x, down: ((x / width, (bottom - down) / height), figure.transFigure),
            (_MARGIN, left + map_width),
        )
        furniture.caption.set(verticalalignment="top", horizontalalignment="left")
        beneath = bottom - stack.rows - _GAP
        furniture.ax.xaxis.set_label_coords(_MARGIN / width, beneath / height, transform=figure.transFigure)


def _fit(furniture: Furniture, width: float, room: float) -> tuple[float, float, float]:
    """Return the width of the map, the height of its colour bar, and the width of the bar's words.

    The bar's label is wrapped to the bar's height, which depends on the map's height, which depends on the room that
    the label leaves; the second round settles it.
    """
    bar_height, before = min(room, _TALLEST_MAP), None
    for _ in range(3):
        if bar_height == before:
            break
        before = bar_height
        words = furniture.bar_words(bar_height)
        wide = width - 2 * _MARGIN - _GAP - _BAR_WIDTH - words
        map_width = max(min(wide, room / furniture.ratio), 1.0)
        bar_height = min(max(map_width * furniture.ratio, _SHORTEST_BAR), room)
    return map_width, bar_height, words


def _place_rows(
    furniture: Furniture,
    stack: _Stack,
    map_height: float,
    place: Callable[[float, float], tuple[tuple[float, float], Transform]],
    sides: tuple[float, float],
) -> None:
    """Place the legend and the scale bar below a map.

    `place` turns a distance from the left and one downwards into a point and its transform. `sides` are the left end of
    the words and the right end of the map.
    """
    left, right = sides
    if furniture.legend is not None:
        point, transform = place(left, _GAP)
        furniture.legend.set_bbox_to_anchor(point, transform=transform)
    if furniture.scale_bar is None:
        return
    low, high = furniture.ax.get_ylim()
    furniture.scale_bar.size_bar.get_children()[0].set_height((high - low) * 2 / map_height)
    wide = furniture.extent(furniture.scale_bar)[0]
    taken = furniture.extent(furniture.legend)[0] + _GAP if furniture.legend is not None and stack.beside else 0.0
    down = _GAP if stack.beside or not stack.legend else stack.legend + 2 * _GAP
    point, transform = place(max(right, left + taken + wide), down)
    furniture.scale_bar.set_bbox_to_anchor(point, transform=transform)


def natural_height(furniture: Furniture, width: float) -> float:
    """Return the height of a figure, in inches, that has room for a map of full width and for all words."""
    furniture.set_fonts(_FONT_SIZES[0])
    stack = _Stack.of(furniture, 72 * width - 2 * _MARGIN)
    map_width, bar_height, _ = _fit(furniture, 72 * width, _TALLEST_MAP)
    return (stack.height + max(map_width * furniture.ratio, bar_height)) / 72


def place_once(furniture: Furniture) -> None:
    """Place the words of a map on axes that somebody else made: below the axes, as wide as these are now."""
    from matplotlib.transforms import ScaledTranslation

    ax, figure = furniture.ax, furniture.ax.figure
    furniture.set_fonts(_FONT_SIZES[0])
    width, height = furniture.extent(ax)
    stack = _Stack.of(furniture, width)
    furniture.bar_words(max(furniture.extent(furniture.bar.ax)[1], 1.0))

    def place(x: float, down: float) -> tuple[tuple[float, float], Transform]:
        shift: Transform = ScaledTranslation(0, -down / 72, figure.dpi_scale_trans)
        return (x / width, 0.0), ax.transAxes + shift

    _place_rows(furniture, stack, height, place, (0.0, width))
    ax.xaxis.labelpad = stack.rows + _GAP - 3.5  # ticks without labels still take 3.5 points
    furniture.caption.set(horizontalalignment="left")
    ax.xaxis.label.set_x(0.0)
