"""What do the attack and the maps look like? Figures of a comparison, each with a band that says they are not private.

Figures are computed from the true records, so they are as private as these; files of them must be readable for their
owner alone, as `outputs.maps.save.save_figure` writes them with ``private=True``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from spatialdp._support.arrays import Integers
from spatialdp.contrast.comparison import Comparison
from spatialdp.contrast.groups import Groups
from spatialdp.contrast.mark import BAND
from spatialdp.outputs.maps.plot import plot

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_band", "plot_attack", "plot_boxes", "plot_maps"]

_STYLES = (("#D55E00", "s", "-"), ("#CC79A7", "D", "--"), ("#E69F00", "v", ":"), ("#666666", "*", "-"))
_PRIVATE_STYLES = (("#0072B2", "o", "-"), ("#56B4E9", "^", "--"))
_MOST_BOXES = 20_000
_NEAR = 1.4  # the detail shows this many times the longest side of the person's boxes on either side


def draw_band(figure: Figure) -> None:
    """Write across a figure that it is not private.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> figure = Figure()
    >>> draw_band(figure)
    >>> figure.texts[0].get_text()
    'NOT PRIVATE · for study only'
    """
    figure.text(
        0.5,
        0.5,
        BAND,
        rotation=14,
        ha="center",
        va="center",
        fontsize=4.2 * figure.get_size_inches()[0],
        fontweight="bold",
        color="#a11616",
        alpha=0.28,
        zorder=100,
    )


def plot_attack(comparison: Comparison) -> Figure:
    """Draw what several releases give away: values known for sure, and guesses that are better about members.

    Examples
    --------
    >>> import spatialdp as sdp
    >>> from spatialdp import contrast
    >>> domain = sdp.Domain((0, 0, 1, 1))
    >>> points = sdp.workload.random_boxes(domain, 400).boxes[:, :2]
    >>> compared = contrast.compare(points, np.arange(400) % 5, domain, releases=2)
    >>> len(contrast.plot_attack(compared).axes)
    2
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4.6), layout="constrained")
    sure, better = figure.subplots(1, 2)
    kinds = list(dict.fromkeys(row.release for row in comparison.attacks))
    styles = {True: iter(_STYLES * len(kinds)), False: iter(_PRIVATE_STYLES * len(kinds))}
    for kind in kinds:
        rows = [row for row in comparison.attacks if row.release == kind]
        colour, marker, dash = next(styles[rows[0].budget is None])
        number = [row.number for row in rows]
        style: dict[str, Any] = {"color": colour, "marker": marker, "linestyle": dash, "markersize": 4, "label": kind}
        if rows[0].budget is None:
            sure.plot(number, [100 * row.sure for row in rows], **style)
            sure.plot(number, [100 * row.alone for row in rows], color=colour, linestyle=":", linewidth=1)
        better.plot(number, [100 * row.advantage for row in rows], **style)
    sure.plot([1, max(row.number for row in comparison.attacks)], [0, 0], color="#0072B2", label="private: impossible")
    sure.set(title="known for certain (dotted: from one release alone)", ylabel="% of the members")
    better.set(title="better guesses about members than others", ylabel="advantage in points")
    better.axhline(0, color="#999999", linewidth=0.8)
    for ax in (sure, better):
        ax.set_xlabel("number of releases")
        ax.legend(fontsize="small", frameon=False)
        ax.spines[["top", "right"]].set_visible(False)
    draw_band(figure)
    return figure


def plot_boxes(groups: Groups, ax: Axes) -> None:
    """Draw the published boxes of a k-anonymous map: the more records an area has, the darker.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from spatialdp import contrast
    >>> ax = Figure().subplots()
    >>> contrast.plot_boxes(contrast.Mondrian(k=2).group([[0.0, 0], [1, 1]], ["a", "b"]), ax)
    >>> len(ax.collections[0].get_paths())
    1
    """
    from matplotlib.collections import PolyCollection

    shown = np.argsort(-groups.sizes, kind="stable")[:_MOST_BOXES]
    low, high = groups.lower[shown], groups.upper[shown]
    corners = np.stack([low, np.stack([high[:, 0], low[:, 1]], 1), high, np.stack([low[:, 0], high[:, 1]], 1)], 1)
    area = np.maximum((high - low).prod(axis=1), 1e-300)
    density = np.log(groups.sizes[shown] / area)
    ranks = np.argsort(np.argsort(density)) / max(density.size - 1, 1)
    boxes = PolyCollection(list(corners), array=ranks, cmap="YlGnBu", edgecolors="#00000055", linewidths=0.3)
    ax.add_collection(boxes)


def plot_maps(comparison: Comparison) -> Figure:
    """Draw the k-anonymous map, one person's boxes in it, and the private map of the same records.

    The person is the first one whose value is known for certain from all releases and not from one alone, if there is
    such a person.

    Examples
    --------
    >>> import spatialdp as sdp
    >>> from spatialdp import contrast
    >>> domain = sdp.Domain((0, 0, 1, 1))
    >>> points = sdp.workload.random_boxes(domain, 400).boxes[:, :2]
    >>> compared = contrast.compare(points, np.arange(400) % 5, domain, releases=2)
    >>> len(contrast.plot_maps(compared).axes) >= 3
    True
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(15, 6.4), layout="constrained")
    whole, detail, private = figure.subplots(1, 3)
    groups = comparison.example[0]
    for ax in (whole, detail):
        plot_boxes(groups, ax)
    xmin, ymin, xmax, ymax = comparison.domain.bounds
    whole.set(xlim=(xmin, xmax), ylim=(ymin, ymax), title=f"{groups.k}-anonymous boxes, darker where denser")
    _draw_person(comparison, detail)
    plot(comparison.private_map, ax=private, caption=False, scale_bar=False, title=_title(comparison))
    for ax in (whole, detail):
        ax.set_aspect(private.get_aspect(), adjustable="box")
        ax.set_xticks([])
        ax.set_yticks([])
    draw_band(figure)
    return figure


def _title(comparison: Comparison) -> str:
    return f"private, ε = {comparison.private_map.privacy.epsilon} (seeded here)"


def _draw_person(comparison: Comparison, ax: Axes) -> None:
    """Outline a person's boxes in all releases, and say how many values are left after each."""
    from matplotlib.patches import Rectangle

    person = _example_person(comparison)
    who = comparison.people.some(np.array([person]))
    boxes = []
    for release in comparison.example:
        _, group = release.locator.candidates(who)
        boxes.append((release.lower[group[0]], release.upper[group[0]]))
        size = boxes[-1][1] - boxes[-1][0]
        ax.add_patch(Rectangle(tuple(boxes[-1][0]), *size, fill=False, edgecolor="#D55E00", linewidth=1.3))
    size = np.max([high - low for low, high in boxes], axis=0).max() * _NEAR
    x, y = who.values[:, 0]
    ax.plot([x], [y], marker="x", color="black", markersize=8)
    left = ", ".join(map(str, comparison.attack.left[:, person].tolist()))
    ax.set(xlim=(x - size, x + size), ylim=(y - size, y + size), title="one person's boxes in all releases")
    ax.set_xlabel(f"values left after each release: {left}")


def _example_person(comparison: Comparison) -> int:
    """Return a member whose value several releases tell and none does alone, or else the first member."""
    attack = comparison.attack
    told = (attack.left[-1] == 1) & (attack.one > 1).all(axis=0)
    slow: Integers = (attack.left > 1).sum(axis=0)  # releases until the value is known
    return int(np.argmax(np.where(told, slow, 0)))
