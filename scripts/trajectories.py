"""How much do synthetic trajectories tell of the true ones? Taxis, at several ε, beside half against half.

Trips of taxis with passengers, the ways between such trips, and the trips of half of the taxis: estimators were chosen
on the other half and on the ways without passengers. For each ε: divergences of diameters, trips, visits and lengths,
the share of frequent patterns that are found, and mean steps, as means of several releases
(`spatialdp.evaluation.trajectories.metrics`), with the standard error of the mean for patterns. The line "half against
half" says what one half of the true trajectories tells of the other.

``python scripts/trajectories.py --data FOLDER --output figures`` takes a folder with taxi_shenzhen.parquet (columns
user, second_of_day, lon, lat, occupied). It writes a table and a picture. The noise is seeded: nothing here is private.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.ticker import MaxNLocator

import spatialdp as sdp
from spatialdp._support.atomic import write_all
from spatialdp._support.tables import markdown
from spatialdp.evaluation.trajectories.metrics import METRICS, compare, halves, paths_of_positions, true_paths
from spatialdp.outputs.maps.save import save_figure
from spatialdp.records.rows.tracks import Paths
from spatialdp.space.domain import Domain

BOUNDS = (113.5, 22.4, 114.7, 23.2)
EPSILONS = (0.5, 1, 2, 10)
STEP, LONGEST = 60, 60
WITHOUT, WITH = 0, 1
HELD_OUT = 2026  # the seed that divides the taxis into two halves
SHOWN = 300


def tracks_of(data: pd.DataFrame, occupied: int) -> sdp.Tracks:
    """The trips of one kind: fixes in a row of one taxi with the same occupation, at least four in a minute or more.

    Shorter ones are taken for errors of the meter. That is a rule for this experiment, which publishes nothing.
    """
    data = data.sort_values(["user", "second_of_day"], kind="stable")
    trip = (data.user.diff().ne(0) | data.occupied.diff().ne(0)).cumsum()
    time = pd.Timestamp("2024-01-01") + pd.to_timedelta(data.second_of_day, unit="s")
    frame = data.assign(tid=trip, time=time)[data.occupied == occupied]
    seconds = frame.groupby("tid").second_of_day.transform("max") - frame.groupby("tid").second_of_day.transform("min")
    frame = frame[(frame.groupby("tid").tid.transform("size") >= 4) & (seconds >= 60)]
    return sdp.Tracks.from_frame(frame, x="lon", y="lat")


def held_out(data: pd.DataFrame) -> pd.DataFrame:
    """The fixes of the half of the taxis on which no estimator was chosen."""
    taxis = np.random.default_rng(HELD_OUT).permutation(np.unique(data.user))
    return data[~data.user.isin(taxis[: taxis.size // 2])]


def lines(name: str, tracks: sdp.Tracks, domain: Domain, runs: int, seed: int) -> Iterator[list[str]]:
    """A line for half against half, and one for each ε."""
    truth = true_paths(tracks, domain, STEP, LONGEST)
    yield [name, "half against half", "", *_numbers(halves(truth, seed))]
    for epsilon in EPSILONS:
        told, sides = [], set()
        for run in range(runs):
            noise = sdp.SeededNoise((seed, run))
            release: Any = sdp.Trajectories(step=STEP, longest=LONGEST).release(
                tracks, domain, epsilon=epsilon, noise=noise
            )
            sides.add(release.cells_a_side)
            drawn = release.positions(truth.sizes.size, noise=noise)
            told.append(compare(truth, paths_of_positions(drawn, domain)))
        means = {metric: float(np.mean([each[metric] for each in told])) for metric in METRICS}
        error = np.std([each["patterns"] for each in told], ddof=1) / np.sqrt(runs)
        numbers = dict(zip(METRICS, _numbers(means), strict=True))
        numbers["patterns"] += f" ± {error:.3f}"
        yield [name, f"ε = {epsilon:g}", " or ".join(map(str, sorted(sides))), *numbers.values()]


def _numbers(told: Mapping[str, float]) -> list[str]:
    return [f"{told[name]:.1f}" if name == "steps" else f"{told[name]:.3f}" for name in METRICS]


def picture(tracks: sdp.Tracks, domain: Domain, seed: int) -> Any:
    """True trajectories beside synthetic ones."""
    import matplotlib.pyplot as plt

    truth = true_paths(tracks, domain, STEP, LONGEST)
    figure, axes = plt.subplots(1, 3, figsize=(12, 3.4), layout="constrained", sharex=True, sharey=True)
    _draw(axes[0], truth, domain, f"true ({SHOWN} of them)")
    for ax, epsilon in zip(axes[1:], (1, 10), strict=True):
        noise = sdp.SeededNoise((seed, 0))
        release: Any = sdp.Trajectories(step=STEP, longest=LONGEST).release(
            tracks, domain, epsilon=epsilon, noise=noise
        )
        drawn = paths_of_positions(release.positions(SHOWN, noise=noise), domain)
        _draw(ax, drawn, domain, f"synthetic, ε = {epsilon}, {release.cells_a_side} × {release.cells_a_side} cells")
    return figure


def _draw(ax: Any, paths: Paths, domain: Domain, title: str) -> None:
    x, y = (
        axis.centres(part.astype(np.int64)) for axis, part in zip(domain.axes, (paths.columns, paths.rows), strict=True)
    )
    for each in np.linspace(0, paths.sizes.size - 1, SHOWN).astype(int):
        first, last = paths.starts[each], paths.starts[each + 1]
        ax.plot(x[first:last], y[first:last], color="#20639b", alpha=0.35, linewidth=0.8)
    ax.set_title(title, fontsize=10)
    ax.xaxis.set_major_locator(MaxNLocator(4, prune="both"))  # labels of panels side by side do not touch
    ax.set_xlim(113.7, 114.4)
    ax.set_ylim(22.45, 22.85)
    ax.set_aspect(1 / np.cos(np.radians(22.6)))


def main() -> None:
    """Measure, and write the table and the picture."""
    matplotlib.use("Agg")
    settings = options()
    domain = Domain(BOUNDS, crs="EPSG:4326")
    data = pd.read_parquet(settings.data / "taxi_shenzhen.parquet")
    heads = ["trips", "", "cells a side", *METRICS]
    sets = {
        "with passengers": tracks_of(data, WITH),
        "without": tracks_of(data, WITHOUT),
        "with, held-out taxis": tracks_of(held_out(data), WITH),
    }
    rows = [line for name, tracks in sets.items() for line in lines(name, tracks, domain, settings.runs, settings.seed)]
    settings.output.mkdir(parents=True, exist_ok=True)
    write_all({settings.output / "trajectories.md": f"{markdown([heads, *rows])}\n".encode()}, overwrite=True)
    save_figure(picture(sets["with passengers"], domain, settings.seed), settings.output / "trajectories.png")


def options() -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with taxi_shenzhen.parquet")
    parser.add_argument("--output", type=Path, default=Path("figures"))
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


if __name__ == "__main__":
    main()
