"""How fast is a table of space, time and categories? Measuring, noise and fit, against drawing noise for its cells."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np

import spatialdp as sdp
from benchmarks.measure import Result
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

    noise = _cpu_seconds(lambda: source.laplace(law.parameter, frame.n_cells), 3)
    yield Result(
        "table of 74,000 zones x 24 hours x 10 kinds, time over noise for its cells",
        _cpu_seconds(release, 3) / noise,
        2,
        False,
    )
    rows, places = _rows(frame)
    counting = _cpu_seconds(lambda: count_rows(rows, frame), 2)
    yield Result(
        "10^6 rows in zones by code, hours and kinds, time over looking up their codes",
        counting / _cpu_seconds(lambda: count_rows(places, sdp.Frame(frame.space.zones)), 2), 4, False,
    )  # fmt: skip


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


def _cpu_seconds(work: Callable[[], object], repeat: int) -> float:
    """Return the least CPU time of several runs."""
    best = float("inf")
    for _ in range(repeat):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


BENCHMARKS = (frames,)
