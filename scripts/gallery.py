"""What do maps of releases look like? A gallery of the data sets of spatialdp, with real noise.

The noise is not seeded: the pictures show private releases, and differ a little from run to run.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import geopandas
import matplotlib as mpl
import matplotlib.pyplot as plt
import shapely

import spatialdp as sdp
from spatialdp import datasets
from spatialdp.evaluation.traffic import traffic_grid
from spatialdp.outputs.maps.save import save_figure

DEGREES = "EPSG:4326"
ALBERS = "EPSG:5070"  # an equal-area projection of the United States


def traffic() -> tuple[sdp.Release, dict[str, Any]]:
    """Release highway junctions on the grid of 64,909 cells; meridians and parallels are given in another CRS."""
    grid = traffic_grid()
    release = sdp.Flat(shape=grid.shape).release(datasets.us_highway_junctions(), grid.domain, epsilon=1)
    return release, {"log": True, "boundaries": _graticule()}


def uncertainty() -> tuple[sdp.Release, dict[str, Any]]:
    """Release a quadtree and show the relative uncertainty of its counts."""
    release = sdp.Quadtree(height=7).release(datasets.us_highway_junctions(), _country(), epsilon=1)
    return release, {"view": "uncertainty", "level": 6}


def quadtree() -> tuple[sdp.Release, dict[str, Any]]:
    """Release a quadtree that is pruned where counts are small, and outline its levels."""
    release = sdp.Quadtree(height=7, prune=32).release(datasets.us_highway_junctions(), _country(), epsilon=1)
    return release, {"log": True, "lines": 7}


def kdtree() -> tuple[sdp.Release, dict[str, Any]]:
    """Release a kd-tree; its lines are private medians, dense where the records are."""
    county = sdp.Domain.around(datasets.hamilton_county(), crs=DEGREES)
    release = sdp.KdTree(height=4, data_levels=3).release(datasets.chattanooga_intersections(), county, epsilon=1)
    return release, {"log": True}


def tailored() -> tuple[sdp.Release, dict[str, Any]]:
    """Release sums of cells that are optimised for answering all boxes."""
    data = datasets.DATASETS["liege"]
    return sdp.Tailored(shape=(96, 96)).release(data.points(), data.domain, epsilon=1), {}


def fourier() -> tuple[sdp.Release, dict[str, Any]]:
    """Release low frequencies only: a smooth and biased map without intervals."""
    data = datasets.DATASETS["auckland"]
    return sdp.Fourier(shape=(128, 128)).release(data.points(), data.domain, epsilon=1), {}


PICTURES: tuple[Callable[[], tuple[sdp.Release, dict[str, Any]]], ...] = (
    traffic,
    uncertainty,
    quadtree,
    kdtree,
    tailored,
    fourier,
)


def main() -> None:
    """Write `gallery_*.png`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("figures"), help="folder for the pictures")
    folder = parser.parse_args().output
    folder.mkdir(parents=True, exist_ok=True)
    mpl.use("Agg")
    for name, path in _draw_all(folder):
        print(f"{path}: {name}, {path.stat().st_size / 1000:.0f} kB")


def _draw_all(folder: Path) -> Iterator[tuple[str, Path]]:
    for picture in PICTURES:
        release, look = picture()
        figure: Any = release.plot(**look).figure
        path = folder / f"gallery_{picture.__name__}.png"
        save_figure(figure, path)
        plt.close(figure)
        yield str(release.privacy), path


def _country() -> sdp.Domain:
    return sdp.Domain.around(datasets.contiguous_us(), crs=DEGREES)


def _graticule() -> geopandas.GeoSeries:
    """Return every tenth meridian and parallel."""
    meridians = [shapely.LineString([(x, 20), (x, 55)]) for x in range(-130, -59, 10)]
    parallels = [shapely.LineString([(-130, y), (-60, y)]) for y in range(20, 51, 10)]
    return geopandas.GeoSeries([*meridians, *parallels], crs=DEGREES).segmentize(0.25).to_crs(ALBERS)


if __name__ == "__main__":
    main()
