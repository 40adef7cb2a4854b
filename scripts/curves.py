"""How are errors drawn? Lines with bands and names at their ends, and the panels that several experiments share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from common import Row

from spatialdp.evaluation.figures import STYLES, draw_line, finish, label_lines, style_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Curve:
    """A line with a band around it."""

    x: Sequence[float]
    lower: Sequence[float]
    middle: Sequence[float]
    upper: Sequence[float]

    def over(self, other: Curve) -> Curve:
        """Return the line and its band, divided by another line."""
        lower, middle, upper = (
            [a / b for a, b in zip(part, other.middle, strict=True)] for part in (self.lower, self.middle, self.upper)
        )
        return Curve(self.x, lower, middle, upper)


def curve(rows: Sequence[Any], x: str) -> Curve:
    """Return the curve of rows, with column `x` on the horizontal axis."""
    lower, middle, upper = ([getattr(row, f"error{end}") for row in rows] for end in ("_lower", "", "_upper"))
    return Curve([float(getattr(row, x)) for row in rows], lower, middle, upper)


def draw_curves(ax: Axes, curves: Sequence[Curve], names: Sequence[str] = ()) -> None:
    """Draw curves on logarithmic axes; curves with names can be labelled by `label_lines`."""
    ax.set_yscale("log")
    for index, (style, line) in enumerate(zip(STYLES, curves, strict=False)):
        label = names[index] if names else ""
        draw_line(ax, line.x, line.lower, line.middle, line.upper, style, label=label)
    style_axes(ax)


def error_figure(rows: Sequence[Row], reference: str, title: str, caption: str) -> Figure:
    """Draw errors against ε for each shape of boxes: the errors, and their ratio to the error of a reference."""
    import matplotlib.pyplot as plt
    from matplotlib.ticker import LogLocator

    shapes, methods = (list(dict.fromkeys(getattr(row, name) for row in rows)) for name in ("shape", "method"))
    size = (10.5, 0.9 + 2.6 * len(shapes))
    figure, axes = plt.subplots(len(shapes), 2, figsize=size, sharex=True, sharey="col", squeeze=False)
    for pair, shape in zip(axes, shapes, strict=True):
        shape_rows = [row for row in rows if row.shape == shape]
        curves = [curve([row for row in shape_rows if row.method == name], "epsilon") for name in methods]
        ratios = [line.over(curves[methods.index(reference)]) for line in curves]
        for ax, lines in zip(pair, (curves, ratios), strict=True):
            draw_curves(ax, lines, methods)
            ax.set(xscale="log", title=f"boxes of {shape}")
        pair[0].set_ylabel("relative error (%)")
        pair[1].yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        pair[1].set_ylabel(f"error relative to\n{reference}")
    axes[-1, 0].set_xlabel("privacy budget ε")
    axes[-1, 1].set_xlabel("privacy budget ε")
    finish(figure, title, caption)
    for ax in axes[:, 1]:
        label_lines(ax)
    return figure
