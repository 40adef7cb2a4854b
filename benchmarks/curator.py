"""How long does a prepaid question take? Against a bare function that adds the same noise to the same count."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np

import spatialdp as sdp
from benchmarks.measure import Result, cpu_ratio

RECORDS = 100_000
ASKS = 300
EPSILON = Fraction(1, 100)
BOX = (0.25, 0.25, 0.5, 0.5)


def prepaid_questions() -> Iterator[Result]:
    """Time counts of the whole domain and of a box; the bare function knows its scale and looks at plain arrays."""
    places = np.random.default_rng(1).random((RECORDS, 2))
    noise, scale, count = sdp.SystemNoise(), 1 / EPSILON, len(places)
    (x, y), (x0, y0, x1, y1) = places.T.copy(), BOX

    def bare_total() -> float:
        return float(count + noise.laplace(scale, 1)[0])

    def bare_box() -> float:
        inside = (x >= x0) & (x < x1) & (y >= y0) & (y < y1)
        return float(np.count_nonzero(inside) + noise.laplace(scale, 1)[0])

    with tempfile.TemporaryDirectory() as folder:
        account = sdp.Ledger(Path(folder) / "privacy.ledger").open("crashes", epsilon=1000)
        curator = sdp.Curator(places, sdp.Domain((0, 0, 1, 1)), account)
        with curator.prepaid(epsilon=1000) as prepaid:
            total = cpu_ratio(
                lambda: [prepaid.count(epsilon=EPSILON) for _ in range(ASKS)],
                lambda: [bare_total() for _ in range(ASKS)],
            )
            box = cpu_ratio(
                lambda: [prepaid.count(BOX, epsilon=EPSILON) for _ in range(ASKS)],
                lambda: [bare_box() for _ in range(ASKS)],
            )
    yield Result(
        "a prepaid count of all records, time over a bare function with the same noise", total, 5, at_least=False
    )
    yield Result("a prepaid count of a box, time over a bare function with the same noise", box, 5, at_least=False)


BENCHMARKS = (prepaid_questions,)
