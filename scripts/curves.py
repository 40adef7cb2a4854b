"""Curves of errors: lines with bands, names at their ends, and the panels that several experiments draw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from common import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = npt.NDArray[np.float64]

# Okabe and Ito's colours, each with a marker and a dash of its own: they survive grey and colour-blindness.
STYLES = (
    ("#000000", "o", "-"),
    ("#D55E00", "s", "--"),
    ("#0072B2", "^", "-"),
    ("#009E73", "D", "-."),
    ("#CC79A7", "v", "--"),
    ("#E69F00", "P", ":"),
    ("#56B4E9", "X", "-."),
    ("#666666", "*", "-"),
)

LEADER = {"arrowstyle": "-", "linewidth": 0.5, "relpos": (0, 0.5), "shrinkA": 1, "shrinkB": 3}


@dataclass(frozen=True, eq=False)
class Curve:
    """A line with a band."""

    x: Sequence[float]
    lower: Sequence[float]
    middle: Sequence[float]
    upper: Sequence[float]

    def over(self, other: Curve) -> Curve:
        """The same line divided by the middle of another one."""
        lower, middle, upper = (
            [a / b for a, b in zip(part, other.middle, strict=True)] for part in (self.lower, self.middle, self.upper)
        )
        return Curve(self.x, lower, middle, upper)


def curve(rows: Sequence[Any], x: str) -> Curve:
    """The rows of one line, along one of their columns."""
    lower, middle, upper = ([getattr(row, f"error{end}") for row in rows] for end in ("_lower", "", "_upper"))
    return Curve([float(getattr(row, x)) for row in rows], lower, middle, upper)


def draw_curves(ax: Axes, curves: Sequence[Curve]) -> None:
    """Lines, bands and markers on axes whose error is logarithmic."""
    ax.set_yscale("log")
    for (colour, marker, dash), line in zip(STYLES, curves, strict=False):
        ax.fill_between(line.x, line.lower, line.upper, color=colour, alpha=0.15, linewidth=0)
        ax.plot(line.x, line.middle, color=colour, marker=marker, linestyle=dash, markersize=4, linewidth=1.4)
    ax.grid(which="major", color="0.9", linewidth=0.6)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


def label_curves(ax: Axes, names: Sequence[str], *, gap: float = 0.085) -> None:
    """Write the name of every line at its right end, moved apart where they would touch; when limits are final."""
    lines = ax.lines[: len(names)]
    ends = [tuple(np.asarray(line.get_xydata())[-1]) for line in lines]
    bottom, top = np.log(ax.get_ylim())
    heights = (np.log([y for _, y in ends]) - bottom) / (top - bottom)
    for line, name, end, height in zip(lines, names, ends, spread(heights, gap), strict=True):
        colour = line.get_color()
        ax.annotate(
            name,
            xy=end,
            xytext=(1.04, height),
            textcoords="axes fraction",
            color=colour,
            fontsize="small",
            va="center",
            arrowprops={**LEADER, "color": colour},
            annotation_clip=False,
        )


def spread(heights: Floats, gap: float) -> Floats:
    """The same order, at least a gap apart, and otherwise near where they were."""
    order = np.argsort(heights, kind="stable")
    places = heights[order]
    for _ in range(500):
        push = np.maximum(gap - np.diff(places), 0) / 2
        places[:-1] -= push
        places[1:] += push
    moved = np.empty_like(places)
    moved[order] = places
    return moved


def error_figure(rows: Sequence[Row], reference: str, title: str, caption: str) -> Figure:
    """Error against ε, for each shape of boxes as it is and over the error of a reference."""
    import matplotlib.pyplot as plt
    from matplotlib.ticker import LogLocator

    shapes, methods = (list(dict.fromkeys(getattr(row, name) for row in rows)) for name in ("shape", "method"))
    size = (10.5, 0.9 + 2.6 * len(shapes))
    figure, axes = plt.subplots(len(shapes), 2, figsize=size, sharex=True, sharey="col", squeeze=False)
    for pair, shape in zip(axes, shapes, strict=True):
        here = [row for row in rows if row.shape == shape]
        curves = [curve([row for row in here if row.method == name], "epsilon") for name in methods]
        ratios = [line.over(curves[methods.index(reference)]) for line in curves]
        for ax, lines in zip(pair, (curves, ratios), strict=True):
            draw_curves(ax, lines)
            ax.set(xscale="log", title=f"boxes of {shape}")
        pair[0].set_ylabel("relative error (%)")
        pair[1].yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        pair[1].set_ylabel(f"error over that of\n{reference}")
    axes[-1, 0].set_xlabel("privacy budget ε")
    axes[-1, 1].set_xlabel("privacy budget ε")
    finish(figure, title, caption)
    for ax in axes[:, 1]:
        label_curves(ax, methods)
    return figure


def finish(figure: Figure, title: str, caption: str) -> None:
    """Title, caption, and plain numbers on the axes."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    for ax in figure.axes:
        ax.tick_params(labelbottom=True, labelleft=True)
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
            axis.set_minor_formatter(NullFormatter())
    figure.set_layout_engine("constrained")
    figure.suptitle(title, fontsize="large")
    figure.supxlabel(caption, fontsize="small", x=0.01, ha="left")
