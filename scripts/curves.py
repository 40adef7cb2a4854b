"""Curves of errors: lines with bands, names at their ends, and the panels that several experiments draw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from common import Row

from spatialdp.evaluation.figures import STYLES, draw_line, dress, finish, label_lines

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = npt.NDArray[np.float64]


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


def draw_curves(ax: Axes, curves: Sequence[Curve], names: Sequence[str] = ()) -> None:
    """Lines, bands and markers on axes whose error is logarithmic; lines with names can be labelled."""
    ax.set_yscale("log")
    for index, (style, line) in enumerate(zip(STYLES, curves, strict=False)):
        label = names[index] if names else ""
        draw_line(ax, line.x, line.lower, line.middle, line.upper, style, label=label)
    dress(ax)


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
            draw_curves(ax, lines, methods)
            ax.set(xscale="log", title=f"boxes of {shape}")
        pair[0].set_ylabel("relative error (%)")
        pair[1].yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        pair[1].set_ylabel(f"error over that of\n{reference}")
    axes[-1, 0].set_xlabel("privacy budget ε")
    axes[-1, 1].set_xlabel("privacy budget ε")
    finish(figure, title, caption)
    for ax in axes[:, 1]:
        label_lines(ax)
    return figure
