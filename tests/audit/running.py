"""How are months audited that are released as they come? Replays of all months of neighbours, one after the other.

Neighbours differ by a record of one month. Exact sensitivities are in `tests/mechanisms/running/test_series.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from tests.audit.replay import captured_messages, content_of, neighbours_of, seen
from tests.helpers.running_cases import RunningSetting


@neighbours_of.register
def running_pairs(setting: RunningSetting, count: int, seed: int) -> Iterator[tuple[str, Any, Any]]:
    """Yield neighbours with their names: a row of one month more, or another one, maybe in another month."""
    rng, cells, months = np.random.default_rng(seed), setting.domain.n_cells, setting.mechanism.horizon
    for index in range(count):
        crowd = [rng.integers(-4, cells, int(rng.integers(0, 9))).tolist() for _ in range(months)]
        place, other = (int(each) for each in rng.integers(0, months, 2))
        place = place if index % 3 else 0  # a record of the first month is in all measurements
        one, theirs = (int(each) for each in rng.integers(-1, cells, 2))
        second = _with(crowd, other, theirs) if setting.relation == "replace" else crowd
        yield f"a row in cell {one} of month {place + 1}", *map(setting.records, (_with(crowd, place, one), second))


def _with(months: list[list[int]], place: int, cell: int) -> list[list[int]]:
    return [[*cells, cell] if month == place else cells for month, cells in enumerate(months)]


@seen.register
def _(setting: RunningSetting, records: Any, noise: Any, epsilon: Fraction) -> tuple[Any, ...]:
    with captured_messages() as messages:
        series = setting.mechanism.start(setting.domain, **setting.terms | {"epsilon": epsilon})
        releases = [series.add(month, noise=noise) for month in records]
    last = releases[-1]
    texts = [repr(series), str(series.statement), *(f"{each!r} {each.privacy}" for each in releases)]
    return last, messages, texts, content_of(last.privacy), content_of(last.measured), last.to_frame().to_csv()
