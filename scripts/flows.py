"""Which flows between places can be seen? Lists of pairs of taxi trips, for places of several sizes.

The domain is divided into a grid of places; trips from place to place are listed. For each number of places and ε: the
threshold, how many listed pairs have trips and how many have none, which share of all trips is in listed pairs, and how
far the listed counts are off on average. "Slides" spends nearly all of ε on the list and publishes the counts by which
pairs were listed; "flows" is `Flows` as it comes, with margins and fresh counts. As many false pairs as there are
places are expected at most.

``python scripts/flows.py --trips FILE.parquet --output figures`` takes a table with the columns lon, lat, dropoff_lon
and dropoff_lat, and public bounds. It writes a table and a map of flows. The noise is seeded: nothing here is private.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pandas as pd

import spatialdp as sdp
from spatialdp._support.atomic import write_all
from spatialdp._support.tables import markdown
from spatialdp.outputs.maps.save import save_figure
from spatialdp.records.rows.trips import occupied_pairs
from spatialdp.space.domain import Domain

SIDES = (8, 16, 32, 64)
EPSILONS = (1, 0.1)
BOUNDS = (-74.04, 40.7, -73.9, 40.8)
ENDS = ("lon", "lat"), ("dropoff_lon", "dropoff_lat")


def mechanisms(places: int) -> dict[str, sdp.Flows]:
    """The version of the slides, and flows as they come."""
    return {
        "slides": sdp.Flows("listed", false=places, remeasure=0, margins=0.001),
        "flows": sdp.Flows("listed", false=places),
    }


def rows(trips: sdp.Trips, domain: Domain, seed: int) -> Iterator[list[str]]:
    """A line for each number of places, ε and version."""
    for side in SIDES:
        grid = domain.grid((side, side))
        places = side**2
        occupied, counts = occupied_pairs(trips, sdp.Frame(grid))
        truth = dict(zip(occupied.tolist(), counts.tolist(), strict=True))
        for epsilon in EPSILONS:
            for name, mechanism in mechanisms(places).items():
                release = mechanism.release(trips, grid, epsilon=epsilon, noise=sdp.SeededNoise(seed))
                estimate: Any = release.estimate
                held = np.array([truth.get(pair, 0) for pair in estimate.numbers.tolist()])
                off = f"{np.abs(estimate.values - held).mean():.1f}" if held.size else ""
                yield [
                    f"{places:,}",
                    f"{places**2:,}",
                    f"{len(truth):,}",
                    f"{epsilon:g}",
                    name,
                    f"{estimate.listing.threshold:g}",
                    f"{(held > 0).sum():,}",
                    f"{(held == 0).sum():,}",
                    f"{100 * held.sum() / counts.sum():.0f} %",
                    off,
                ]


def main() -> None:
    """Measure, and write the table and the map."""
    matplotlib.use("Agg")
    settings = options()
    domain = Domain(settings.bounds, crs="EPSG:4326")
    trips = sdp.Trips.from_frame(pd.read_parquet(settings.trips), *ENDS)
    heads = ["places", "pairs", "with trips", "ε", "version", "θ", "listed, real", "false", "trips there", "mean error"]
    settings.output.mkdir(parents=True, exist_ok=True)
    table = markdown([heads, *rows(trips, domain, settings.seed)])
    write_all({settings.output / "flows.md": f"{table}\n".encode()}, overwrite=True)
    release = sdp.Flows().release(trips, domain.grid((16, 16)), epsilon=1, noise=sdp.SeededNoise(settings.seed))
    figure: Any = release.plot().figure
    save_figure(figure, settings.output / "flows.png")


def options() -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trips", type=Path, required=True, help="Parquet file of trips")
    parser.add_argument("--bounds", type=float, nargs=4, default=BOUNDS, help="public bounds: xmin ymin xmax ymax")
    parser.add_argument("--output", type=Path, default=Path("figures"))
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


if __name__ == "__main__":
    main()
