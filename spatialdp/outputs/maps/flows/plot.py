"""How do flows look on a map? Curved lines from place to place, wider where more trips go, the largest on top.

A line bends to the right of its direction, so that both directions between two places are seen. Trips that stay in a
place are drawn as rings. Released numbers and public parameters alone decide what is drawn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from spatialdp._support.arrays import Array, Floats
from spatialdp._support.checks import whole_number
from spatialdp.estimates.flows.counts import FlowCounts
from spatialdp.estimates.flows.places import middles

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from spatialdp.flows.release import FlowRelease

__all__ = ["curves", "plot_flows"]

_WIDEST = 5.0  # of a line, in points
_NARROWEST = 0.25
_BEND = 0.12  # of a line's length
_POINTS = 16  # of a curve
_COLOUR, _STAYING = "#1f5a96", "#b3541e"


def plot_flows(release: FlowRelease, ax: Axes | None = None, most: int = 200, title: str = "Flows") -> Axes:
    """Draw the largest published flows, and the privacy statement below; see `FlowRelease.plot`."""
    from matplotlib.collections import LineCollection

    from spatialdp.outputs.maps import decorations

    count = whole_number(most, "most", 1, 10**5)
    estimate, points = release.estimate, middles(release.estimate)
    ax = _new_axes() if ax is None else ax
    _draw_places(ax, estimate)
    chosen = np.argsort(estimate.values, kind="stable")[-count:]
    chosen = chosen[estimate.values[chosen] > 0]
    origins, destinations = (places[chosen] for places in estimate.ends_of_pairs())
    sizes = estimate.values[chosen]
    widths = _widths(sizes, sizes)
    apart = origins != destinations
    lines = curves(points[origins[apart]], points[destinations[apart]])
    ax.add_collection(
        LineCollection(list(lines), linewidths=widths[apart], colors=_COLOUR, alpha=0.55, capstyle="round")
    )
    staying = points[origins[~apart]]
    ax.scatter(
        staying[:, 0],
        staying[:, 1],
        s=(3 + 3 * widths[~apart]) ** 2,
        facecolors="none",
        edgecolors=_STAYING,
        linewidths=1.2,
    )
    _draw_legend(ax, sizes)
    ax.set_title(title, parse_math=False)  # a dollar sign is money
    ax.set_aspect("auto" if release.domain is None else _aspect(release))
    caption = f"{_in_words(estimate, chosen.size)} {decorations.caption_text(release)}"
    ax.set_xlabel(caption, fontsize=7, wrap=True, parse_math=False)
    return ax


def curves(starts: Floats, ends: Floats) -> Floats:
    """Return curves from points to points, each bent to the right of its direction: (curves, points, 2).

    Examples
    --------
    >>> curve = curves(np.array([[0.0, 0.0]]), np.array([[1.0, 0.0]]))[0]
    >>> curve[0].tolist(), curve[-1].tolist(), bool(curve[len(curve) // 2][1] < 0)
    ([0.0, 0.0], [1.0, 0.0], True)
    """
    along = ends - starts
    right = np.stack([along[:, 1], -along[:, 0]], axis=1)
    middle = starts + along / 2 + 2 * _BEND * right
    t = np.linspace(0, 1, _POINTS)[None, :, None]
    bezier: Array = (1 - t) ** 2 * starts[:, None] + 2 * t * (1 - t) * middle[:, None] + t**2 * ends[:, None]
    return bezier


def _widths(flows: Floats, of: Floats) -> Floats:
    """Return the widths of lines of some flows, on the scale of all that are drawn."""
    return np.maximum(_WIDEST * flows / of.max(), _NARROWEST) if of.size else flows


def _draw_legend(ax: Axes, sizes: Floats) -> None:
    """Say how wide lines are, for the largest flow that is drawn and two smaller ones, in round numbers."""
    from matplotlib.lines import Line2D

    if not sizes.size:
        return
    largest = float(f"{sizes.max():.1g}")
    shown = np.array([largest, largest / 2, largest / 5])
    lines = [
        Line2D([], [], color=_COLOUR, alpha=0.55, linewidth=width, label=f"{flow:,.6g}")
        for flow, width in zip(shown.tolist(), _widths(shown, sizes).tolist(), strict=True)
    ]
    ax.legend(handles=lines, title="trips", loc="upper left", framealpha=0.8, fontsize=8, title_fontsize=8)


def _in_words(estimate: FlowCounts, drawn: int) -> str:
    words = f"The {drawn:,} largest flows above 0 of {estimate.n_cells:,} published. A line bends to the right of its "
    words += "direction; rings are trips that stay."
    if estimate.listing is None:
        return words
    return (
        f"{words} Pairs are listed from a noisy count of {estimate.listing.threshold:,.6g} on; of all others "
        f"nothing is said. About {estimate.listing.false:,.2g} listed pairs are expected to be without trips."
    )


def _draw_places(ax: Axes, estimate: FlowCounts) -> None:
    """Draw the outlines of zones, or of the domain."""
    import shapely
    from matplotlib.collections import LineCollection

    space = estimate.frame.space
    if hasattr(space, "grid"):
        shapes = np.array([shapely.box(*space.grid.domain.bounds)], dtype=object)
    else:
        shapes = space.zones.geometry
    rings = shapely.get_exterior_ring(shapely.get_parts(shapes))
    outlines = [shapely.get_coordinates(ring) for ring in rings]
    ax.add_collection(LineCollection(outlines, linewidths=0.3, colors="#999999"))
    assert estimate.frame.domain is not None, "places with middles have one"
    xmin, ymin, xmax, ymax = estimate.frame.domain.bounds
    ax.set_xlim(xmin, xmax)
    ax.set_ylim(ymin, ymax)


def _aspect(release: FlowRelease) -> float:
    """Return how much longer a unit of y is than one of x, at mid-height."""
    from spatialdp.space import crs as crs_

    if not crs_.geographic(release.domain.crs):
        return 1.0
    _, low, _, high = release.domain.bounds
    return float(1 / max(np.cos(np.radians((low + high) / 2)), 0.05))


def _new_axes() -> Axes:
    import matplotlib.pyplot as plt

    return plt.figure(figsize=(8, 8), layout="constrained").add_subplot()
