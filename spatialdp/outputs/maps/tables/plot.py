"""How does a table look on a map? At one time, of one category; or at several, beside each other on one scale.

Maps beside each other share their scale of colours, so that they can be compared: the darkest shade stands for one
number in all of them. Each is a map like any other, with marks on areas that may be noise alone; what is the same for
all stands once, the colour bar on the right, the explanation of the marks and the privacy statement below. Everything
here is made of a release, which is public.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from spatialdp.errors import ParameterError
from spatialdp.outputs.maps.cells import MapCells, map_cells, measured
from spatialdp.outputs.maps.colours import VEIL
from spatialdp.outputs.maps.decorations import caption_text, draw_scale_bar, explain_marks
from spatialdp.outputs.maps.plot import View, colouring_of, draw_map, has_marks, outline_depth_of, plot
from spatialdp.outputs.maps.values import aspect
from spatialdp.outputs.tables.single import in_words, single_map
from spatialdp.wording import either, parameter

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable

    from spatialdp.space.domain import Domain
    from spatialdp.table_release import TableRelease

__all__ = ["plot_table"]

MOST_MAPS = 36
_WIDTH = 10.0  # of a figure with several maps, in inches
_MOST_COLUMNS = 4
_BAR, _GAP, _TITLE = 1.1, 0.12, 0.3
_BELOW = 0.55  # for the scale bar and the explanation of the marks
_TICK = 0.2  # height of the number at a tick
_LINE = 0.165  # height of a line of the caption
_LETTER = 0.068  # width of a letter on the colour bar
_LETTERS = 150  # in a line of the caption
_LONGEST = 4.0  # a map that is more times as high as it is wide is made wider


def plot_table(release: TableRelease, ax: Axes | None, options: Mapping[str, Any]) -> Any:
    """Draw one map of a table, or several beside each other; see `TableRelease.plot`."""
    axes = release.frame.names
    queries = {name: query for name, query in options.items() if name in axes}
    look = {name: option for name, option in options.items() if name not in axes}
    lists = [name for name, query in queries.items() if isinstance(query, list)]
    if not lists:
        title = look.pop("title", None) or in_words(release.frame, queries) or None
        return plot(single_map(release, queries), ax=ax, title=title, **look)
    if ax is not None:
        raise ParameterError(
            f"{parameter('ax')} was given, but {parameter(lists[0])} is a list, which has a map for each part; leave "
            f"{parameter('ax')} out, or draw one part on it."
        )
    return _beside_each_other(release, queries, _Look(**_checked(look)))


@dataclass(frozen=True)
class _Look:
    """The options of `plot` that maps beside each other have."""

    view: str = View.ESTIMATE
    per: str | None = None
    limits: tuple[float, float] | None = None
    log: bool | None = None
    cmap: Any = None
    level: int | str | None = None
    lines: int | None = None
    mark_noise: bool = True
    boundaries: Any = None
    title: str | None = None
    caption: bool = True
    scale_bar: bool = True


def _checked(look: dict[str, Any]) -> dict[str, Any]:
    unknown = [name for name in look if name not in _Look.__dataclass_fields__]
    if unknown:
        raise ParameterError(
            f"{parameter(unknown[0])} is neither an axis of this table nor an option of maps; the options of maps are "
            f"{', '.join(_Look.__dataclass_fields__)}."
        )
    return look


def _beside_each_other(release: TableRelease, queries: Mapping[str, Any], look: _Look) -> Any:
    """Draw a map for each part of the lists, in rows; two lists make the rows and the columns."""
    lists = {name: query for name, query in queries.items() if isinstance(query, list)}
    sizes = [len(query) for query in lists.values()]
    if len(sizes) > 2 or not 0 < math.prod(sizes) <= MOST_MAPS:
        raise ParameterError(
            f"{' x '.join(map(str, sizes))} maps were asked for; at most {MOST_MAPS} are drawn beside each other, for "
            f"lists along one axis or two. Give shorter lists{either(', or draw the maps of at()', '')}."
        )
    chosen = [dict(zip(lists, parts, strict=True)) for parts in product(*lists.values())]
    maps = [single_map(release, {**queries, **each}) for each in chosen]
    view, cells = View.parse(look.view), [_cells(each, look) for each in maps]
    limits = look.limits
    if limits is None and view is not View.UNCERTAINTY:
        limits = 0.0, max(each.high(_map_values(each, view)) for each in cells)
    colourings = [colouring_of(each, view, limits, log=look.log, cmap=look.cmap) for each in cells]
    others = {name: query for name, query in queries.items() if name not in lists}
    title = look.title or in_words(release.frame, others)
    sheet = _Sheet.of(sizes, cells[0], title, textwrap.fill(caption_text(maps[0], whole=look.caption), _LETTERS))
    marks = has_marks(cells[0], view, mark_noise=look.mark_noise)
    veil = (1.0 if view is View.UNCERTAINTY else VEIL) if marks else None
    for ax, shown, colouring, part in zip(sheet.axes, cells, colourings, chosen, strict=True):
        lines = outline_depth_of(shown, look.lines)
        coloured = draw_map(ax, shown, colouring, veil=veil, lines=lines, boundaries=look.boundaries)
        ax.set_title(in_words(release.frame, part), loc="left", fontsize=9, parse_math=False)
        ax.set(xticks=[], yticks=[])
    bar = sheet.bar(coloured, colourings[0].label, colourings[0].bar)
    colourings[0].set_ticks(bar, _TICK / (bar.ax.get_position().height * sheet.height))
    if look.scale_bar:
        sheet.measure(cells[-1].domain)
    if marks:
        sheet.explain(cells[0].marks)
    return np.array(sheet.axes).reshape(sizes)


def _cells(each: Any, look: _Look) -> MapCells:
    return measured(map_cells(each.estimate, look.level), look.per, each.privacy.counted)


def _map_values(cells: MapCells, view: View) -> Any:
    return cells.values if view is View.ESTIMATE else cells.half_widths


@dataclass(frozen=True)
class _Sheet:
    """A figure with several maps, and the room around them, in inches."""

    axes: list[Axes]
    height: float

    @classmethod
    def of(cls, sizes: Sequence[int], cells: MapCells, title: str, caption: str) -> _Sheet:
        """Return an empty figure: as many columns as the second list has parts, or as are about as wide as high."""
        import matplotlib.pyplot as plt

        count = math.prod(sizes)
        columns = sizes[1] if len(sizes) == 2 else _columns(count)
        rows = -(-count // columns)
        width, height = cells.domain.size
        ratio = float(np.clip(height / width * aspect(cells.domain), 1 / _LONGEST, _LONGEST))
        side = (_WIDTH - _BAR - _GAP * (columns + 1)) / columns
        above, below = 0.4 if title else _GAP, _BELOW + _LINE * len(caption.splitlines())
        tall = rows * (side * ratio + _TITLE) + above + below
        figure = plt.figure(figsize=(_WIDTH, tall))
        axes = []
        for number in range(count):
            row, column = divmod(number, columns)
            left = _GAP + column * (side + _GAP)
            bottom = tall - above - (row + 1) * (side * ratio + _TITLE)
            axes.append(figure.add_axes((left / _WIDTH, bottom / tall, side / _WIDTH, side * ratio / tall)))
        if title:
            place: dict[str, Any] = {"x": _GAP / _WIDTH, "y": 1 - _GAP / tall, "ha": "left", "va": "top"}
            figure.suptitle(title, **place, fontsize=11, parse_math=False)
        figure.text(_GAP / _WIDTH, (below - _BELOW + 0.08) / tall, caption, fontsize=8, va="top", parse_math=False)
        return cls(axes, tall)

    def bar(self, coloured: ScalarMappable, label: str, look: Mapping[str, Any]) -> Any:
        """Draw the colour bar on the right of all maps."""
        figure: Any = self.axes[0].figure
        low, high = self.axes[-1].get_position().y0, self.axes[0].get_position().y1
        place = ((_WIDTH - _BAR + _GAP) / _WIDTH, low, 0.14 / _WIDTH, high - low)
        bar = figure.colorbar(coloured, cax=figure.add_axes(place), **look)
        bar.set_label(textwrap.fill(label, int((high - low) * self.height / _LETTER)), fontsize=8)
        bar.ax.tick_params(labelsize=8)
        return bar

    def measure(self, domain: Domain) -> None:
        """Draw a scale bar below the last map, if the CRS says how long its units are; all maps have one scale."""
        bar = draw_scale_bar(self.axes[-1], domain)
        if bar is not None:
            bar.txt_label.get_children()[0].set_fontsize(8)
            bar.set_bbox_to_anchor(
                (1.0, -0.08 / (self.height * self.axes[-1].get_position().height)), bar.axes.transAxes
            )

    def explain(self, marks: str) -> None:
        """Say below all maps what the marks mean."""
        figure: Any = self.axes[0].figure
        legend = explain_marks(self.axes[0])
        legend.remove()
        place = (_GAP / _WIDTH, self.axes[-1].get_position().y0 - 0.08 / self.height)
        look: dict[str, Any] = {"loc": "upper left", "frameon": False, "borderpad": 0, "borderaxespad": 0}
        figure.legend(legend.legend_handles, [marks], bbox_to_anchor=place, fontsize=8, **look)


def _columns(count: int) -> int:
    """Return the number of columns for so many maps: rows that are as full as can be."""
    rows = -(-count // _MOST_COLUMNS)
    return -(-count // rows)
