"""How fast are records located in zones, and in how much memory? Against `geopandas.sjoin` and `pandas.Index`.

The zones are drawn: cells of a Voronoi diagram of clustered places, whose edges are divided and bent, so that each zone
has about 98 corners and neighbours share them. By default there are 7,300 of them and a million records; `FULL=1` in
the environment makes 73,000 and ten million, and eight million codes.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import Result, peak_gigabytes
from spatialdp._support.arrays import Array, Floats, Objects

FULL = os.environ.get("FULL") == "1"
ZONES, RECORDS = (73_000, 10_000_000) if FULL else (7_300, 1_000_000)
LEAVES, CODES = (8_000_000, 10_000_000) if FULL else (800_000, 1_000_000)
SIDE = 1_000.0
BENDS = 15  # corners on each edge between two zones, six of which a zone has


def polygons() -> Iterator[Result]:
    """Time the counting of clustered points in drawn zones, in processor time of two processes of their own."""
    theirs, _ = _of_process("joined")
    ours, memory = _of_process("located")
    words = f"counting {RECORDS:,} points in {ZONES:,} zones"
    yield Result(f"{words}, processor time over geopandas.sjoin with its points", ours / theirs, 0.45, at_least=False)
    yield Result(f"{words}, memory beyond zones and points", memory, 1.0, at_least=False, unit="GB")


def codes() -> Iterator[Result]:
    """Time the counting of records by code, against looking the same codes up in an index of pandas."""
    theirs, _ = _of_process("looked_up")
    ours, _ = _of_process("counted")
    words = f"counting {CODES:,} codes in {LEAVES:,} leaves, processor time over pandas.Index.get_indexer"
    yield Result(words, ours / theirs, 1.5, at_least=False)


def _of_process(work: str) -> tuple[float, float]:
    """Run a work in a process of its own; return its processor time, and its peak memory in GB beyond its input."""
    command = [sys.executable, "-m", "benchmarks.zones_location", work]
    seconds, memory = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return float(seconds), float(memory)


# --- what is timed ---------------------------------------------------------------------------------


def joined() -> Callable[[], object]:
    import geopandas
    import shapely

    zones, places = geopandas.GeoDataFrame(geometry=drawn_zones()), drawn_places()

    def work() -> object:
        points = geopandas.GeoDataFrame(geometry=shapely.points(places))
        return geopandas.sjoin(points, zones, predicate="within").index_right.value_counts()

    return work


def located() -> Callable[[], object]:
    import geopandas

    from spatialdp.records.points import Points
    from spatialdp.records.zones import count_zones
    from spatialdp.space.zones.frame import Zones

    shapes, places = drawn_zones(), drawn_places()
    areas = geopandas.GeoDataFrame({"zone": [f"{number:06}" for number in range(shapes.size)]}, geometry=shapes)
    zones = Zones(areas, ["zone"])
    return lambda: count_zones(Points(places[:, 0], places[:, 1]), zones)


def looked_up() -> Callable[[], object]:
    import pandas as pd

    leaves, records = _drawn_codes()
    return lambda: np.bincount(pd.Index(leaves).get_indexer(records) + 1)


def counted() -> Callable[[], object]:
    from spatialdp.records.codes import Codes
    from spatialdp.records.zones import count_zones
    from spatialdp.space.zones.frame import Zones

    leaves, records = _drawn_codes()
    zones = Zones.from_codes(leaves, None, {"county": 5, "block": 15})
    return lambda: count_zones(Codes(records), zones)


# --- what is drawn ---------------------------------------------------------------------------------


def drawn_zones() -> Objects:
    """Return zones as unequal as tracts, which share their edges."""
    import shapely

    generator = np.random.default_rng(1)
    seeds = shapely.multipoints(_clustered(generator, ZONES, 0.02))
    cells = shapely.get_parts(shapely.voronoi_polygons(seeds, extend_to=shapely.box(0, 0, SIDE, SIDE)))
    cells = shapely.intersection(cells, shapely.box(0, 0, SIDE, SIDE))
    rings = [_bent(shapely.get_coordinates(cell)) for cell in cells]
    owner = np.repeat(np.arange(len(rings)), [len(ring) for ring in rings])
    shapes: Objects = shapely.polygons(shapely.linearrings(np.concatenate(rings), indices=owner))
    return shapes


def _bent(ring: Floats) -> Floats:
    """Divide the edges of a ring and bend them; an edge is bent alike in both of its zones."""
    begin, end = ring[:-1], ring[1:]
    turned = (begin[:, 0] > end[:, 0]) | ((begin[:, 0] == end[:, 0]) & (begin[:, 1] > end[:, 1]))
    low, high = np.where(turned[:, None], end, begin), np.where(turned[:, None], begin, end)
    share = np.arange(BENDS + 1) / (BENDS + 1)
    step = high - low
    aside = np.stack([-step[:, 1], step[:, 0]], axis=1)
    inner = np.all((low > 0) & (low < SIDE) & (high > 0) & (high < SIDE), axis=1)
    bend = 0.03 * np.sin(2 * np.pi * share) * inner[:, None] + 0.01 * np.sin(10 * np.pi * share) * inner[:, None]
    places = low[:, None] + share[:, None] * step[:, None] + bend[..., None] * aside[:, None]
    places = np.where(turned[:, None, None], np.concatenate([high[:, None], places[:, :0:-1]], axis=1), places)
    places = places.reshape(-1, 2)
    return np.concatenate([places, places[:1]])


def drawn_places() -> Floats:
    return _clustered(np.random.default_rng(2), RECORDS, 0.002)


def _clustered(generator: Any, count: int, spread: float) -> Floats:
    """Return places around two thousand towns of unequal size, and some everywhere."""
    towns = np.random.default_rng(3).uniform(0, SIDE, (2_000, 2))
    town = (2_000 * generator.uniform(size=count) ** 3).astype(int)
    places = towns[town] + generator.standard_normal((count, 2)) * SIDE * spread
    everywhere = generator.uniform(size=count) < 0.3
    places[everywhere] = generator.uniform(0, SIDE, (int(everywhere.sum()), 2))
    outside = ((places < 0) | (places > SIDE)).any(axis=1)
    places[outside] = generator.uniform(0, SIDE, (int(outside.sum()), 2))
    return np.asarray(places)


def _drawn_codes() -> tuple[Array, Array]:
    generator = np.random.default_rng(4)
    numbers = generator.permutation(LEAVES) * 1_249_999 % 10**15
    leaves = np.array([f"{number:015}" for number in numbers], dtype=object)
    leaves = np.unique(leaves)
    return leaves, leaves[generator.integers(0, leaves.size, CODES)]


BENCHMARKS = (polygons, codes)

if __name__ == "__main__":
    prepared = globals()[sys.argv[1]]()
    Path("/proc/self/clear_refs").write_text("5")  # forgets the peak so far, of drawing
    before = peak_gigabytes()
    started = time.process_time()
    prepared()
    print(time.process_time() - started, peak_gigabytes() - before)
