"""How fast is a table of space, time and categories? Measuring, noise and fit, against drawing noise for its cells."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import spatialdp as sdp
from benchmarks.measure import Result, cpu_ratio, most_bytes
from spatialdp.records.rows.rows import count_rows
from spatialdp.space.zones.frame import Zones

TRACTS, COUNTIES, STATES = 74_000, 3_100, 51


def frames() -> Iterator[Result]:
    """Time a release of 74,000 zones × 24 hours × 10 kinds against the noise of so many cells."""
    frame = _frame()
    prepared = sdp.Table().prepare(frame, epsilon=1)
    design, source = prepared.design, sdp.SystemNoise()
    counts = np.random.default_rng(1).poisson(0.5, frame.shape)
    (law, *_) = (law for law in reversed(design.laws) if law is not None)

    def release() -> None:
        design.carry_out(design.structure.measure(counts), source)

    def noise() -> None:
        source.laplace(law.parameter, frame.n_cells)

    words = "table of 74,000 zones x 24 hours x 10 kinds"
    yield Result(f"{words}, processor time over noise for its cells", cpu_ratio(release, noise), 1.8, at_least=False)
    held = (most_bytes(release) + counts.nbytes) / design.structure.memory
    yield Result(f"{words}, memory over what the plan says", held, 1, at_least=False)
    rows, places = _rows(frame)
    zones = sdp.Frame(frame.space.zones)
    counting = cpu_ratio(lambda: count_rows(rows, frame), lambda: count_rows(places, zones), 2)
    what = "10^6 rows in zones by code, hours and kinds, processor time over looking up their codes"
    yield Result(what, counting, 4, at_least=False)


def _frame() -> sdp.Frame:
    """Zones in the numbers of states, counties and tracts, of unequal fan-out."""
    rng = np.random.default_rng(1)
    county, tract = np.sort(rng.integers(0, STATES, COUNTIES)), np.sort(rng.integers(0, COUNTIES, TRACTS))
    codes = [f"{county[place]:02d}{place:04d}{number:06d}" for number, place in enumerate(tract.tolist())]
    zones = Zones.from_codes(codes, None, {"state": 2, "county": 6, "tract": 12})
    hours = sdp.Time("2024-01-01", "2025-01-01", zone="Europe/Vienna", fold="hour of day")
    return sdp.Frame(zones, time=hours, kind=sdp.Categories([f"kind {number}" for number in range(10)]))


def _rows(frame: sdp.Frame) -> tuple[sdp.Rows, sdp.Rows]:
    rng, count = np.random.default_rng(2), 10**6
    codes = np.array(frame.space.labels(), dtype=object)[rng.integers(0, TRACTS, count)]
    times = np.datetime64("2024-01-01") + rng.integers(0, 366 * 86400, count).astype("timedelta64[s]")
    kinds = np.array([f"kind {number}" for number in range(10)])[rng.integers(0, 10, count)]
    return sdp.Rows(sdp.Codes(codes), time=times, kind=kinds), sdp.Rows(sdp.Codes(codes))


BENCHMARKS = (frames,)
