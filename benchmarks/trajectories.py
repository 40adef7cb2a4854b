"""Does a release of trajectories take time in proportion to their positions? Ten times as many, of the same lengths.

The yardstick is the sorting of the fixes by trajectory and time, which every way to read trajectories needs.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import spatialdp as sdp
from benchmarks.measure import Result, in_turn

DOMAIN = sdp.Domain((0, 0, 1, 1))
MECHANISM = sdp.Trajectories()
POSITIONS, FEW, MANY = 20, 5_000, 50_000


def tracks(count: int) -> tuple[sdp.Tracks, list[np.ndarray]]:
    """Return walks of 20 positions, and their identifiers and times."""
    random = np.random.default_rng(1)
    xy = (random.random((count, 1, 2)) + random.normal(0, 0.01, (count, POSITIONS, 2)).cumsum(axis=1)) % 1
    tids = np.repeat(np.arange(count), POSITIONS)
    times = np.datetime64("2024-01-01") + np.tile(np.arange(POSITIONS) * 60, count).astype("timedelta64[s]")
    return sdp.Tracks(xy.reshape(-1, 2), tid=tids, time=times), [times, tids]


def trajectory_release() -> Iterator[Result]:
    """Time releases of few and of many trajectories, and sorting the fixes."""
    (few, _), (many, columns) = tracks(FEW), tracks(MANY)
    empty, short, long, sorting = in_turn(
        *(
            lambda which=which: MECHANISM.release(which, DOMAIN, epsilon=1)
            for which in (sdp.Tracks([], tid=[], time=[]), few, many)
        ),
        lambda: np.lexsort(columns),
    )
    ratio = (long - empty) / (short - empty)
    yield Result("ten times as many positions, time beyond that of none, over the same for few", ratio, 15, False)
    yield Result(f"{MANY * POSITIONS:,} fixes, time over sorting them", long / sorting, 40, False)


BENCHMARKS = (trajectory_release,)
