"""How do counts of states and counties look at two budgets? Maps of highway junctions, and their intervals.

The noise is not seeded: the pictures show private releases, and differ a little from run to run.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np

import spatialdp as sdp
from spatialdp import datasets
from spatialdp.outputs.maps.save import save_figure

EPSILONS = (0.1, 1)
SHOWN = 16  # states whose intervals are drawn
STATE = "34"  # whose counties are drawn: New Jersey
LIMITS = (0.0, 0.1)  # junctions per km²: public, and the same for all maps


def releases(zones: sdp.Zones) -> dict[float, sdp.ZoneRelease]:
    """Release highway junctions by state and county at each ε."""
    points = datasets.us_highway_junctions()
    made: dict[float, Any] = {e: sdp.ZoneTree().release(points, zones, epsilon=e) for e in EPSILONS}
    return made


def draw_maps(axes: Any, made: Mapping[float, sdp.ZoneRelease]) -> None:
    """Draw counties at each ε."""
    for ax, (epsilon, release) in zip(axes, made.items(), strict=True):
        release.plot(ax=ax, limits=LIMITS, title=f"Highway junctions by county, ε = {epsilon:g}", scale_bar=False)


def draw_intervals(ax: Any, made: Mapping[float, sdp.ZoneRelease], zones: Sequence[str], names: Sequence[str]) -> None:
    """Draw the estimates of some zones at each ε, with their intervals."""
    places = np.arange(len(zones))
    for shift, (epsilon, release), colour in zip((-0.16, 0.16), made.items(), ("tab:orange", "tab:blue"), strict=True):
        estimates, ends = release.answer(list(zones)), release.interval(list(zones))
        ax.errorbar(
            places + shift,
            np.maximum(estimates, 0),
            yerr=np.abs(ends - np.maximum(estimates, 0)[:, None]).T,
            fmt=".",
            color=colour,
            capsize=2,
            label=f"ε = {epsilon:g}, 95 % interval",
        )
    ax.set_xticks(places, names, rotation=45, ha="right", fontsize=8)
    ax.set_ylim(0, None)
    ax.spines[["top", "right"]].set_visible(False)


def main() -> None:
    """Draw the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("out"), help="folder for the picture")
    folder: Path = parser.parse_args().output
    mpl.use("Agg")
    folder.mkdir(parents=True, exist_ok=True)
    counties = datasets.us_counties()
    made = releases(sdp.Zones(counties, levels=["state", "county"], name="US counties"))
    figure = plt.figure(figsize=(12, 8))
    grid = figure.add_gridspec(
        2, 2, height_ratios=(1.15, 1), hspace=0.5, wspace=0.12, left=0.06, right=0.99, top=0.97, bottom=0.13
    )
    draw_maps([figure.add_subplot(grid[0, column]) for column in range(2)], made)
    states, parts = [figure.add_subplot(grid[1, column]) for column in range(2)]
    largest = made[max(made)].level("state").nlargest(SHOWN, "estimate")["zone"]
    name_of = dict(zip(counties["state"], counties["state_name"], strict=True))
    draw_intervals(states, made, largest.tolist(), [name_of[code] for code in largest])
    states.set_title("Largest states, by the release at ε = 1", loc="left", fontsize=11)
    states.set_ylabel("junctions")
    some = counties[counties["state"] == STATE]
    draw_intervals(parts, made, some["county"].tolist(), some["county_name"].tolist())
    parts.set_title(f"Counties of {name_of[STATE]}", loc="left", fontsize=11)
    parts.legend(frameon=False, loc="upper right")
    save_figure(figure, folder / "counties.png", dpi=100)


if __name__ == "__main__":
    main()
