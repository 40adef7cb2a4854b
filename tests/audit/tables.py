"""How is a table audited? The exact loss of all pairs of cells, and replays of neighbours, as for zones (`zones`).

A row is known by its cell of the table, or by none.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

import spatialdp as sdp
from spatialdp.privacy.accounting import rho_for
from spatialdp.privacy.budget import Budget
from spatialdp.privacy.noise.source import SeededNoise
from tests.audit.replay import content_of, neighbours_of, published, released, seen
from tests.audit.zones import loss, measured
from tests.helpers.table_cases import TableSetting

NOWHERE = -1


@neighbours_of.register
def table_pairs(setting: TableSetting, count: int, seed: int) -> Iterator[tuple[str, Any, Any]]:
    """Yield pairs of neighbours with their names: a row, or all rows of a person, more or less, or replaced."""
    rng, cells = np.random.default_rng(seed), setting.domain.n_cells
    for _ in range(count):
        crowd = rng.integers(-4, cells, int(rng.integers(1, 30))).tolist()
        if setting.person is None:
            one, other = (int(each) for each in rng.integers(-4, cells, 2))
            first, second = ([*crowd, one],), ([*crowd, other] if setting.relation == "replace" else crowd,)
            name = f"a row in cell {one}"
        else:
            owners = rng.integers(0, 5, len(crowd)).tolist()
            spread = rng.integers(-2, cells, int(rng.integers(1, 7)))
            mine, theirs = (rng.choice(spread, int(rng.integers(1, 9))).tolist() for _ in range(2))
            first = ([*crowd, *mine], [*owners, *[99] * len(mine)])
            others = [*crowd, *theirs], [*owners, *[77] * len(theirs)]
            second = others if setting.relation == "replace" else (crowd, owners)
            name = f"a person with {len(mine)} rows"
        yield name, setting.records(*first), setting.records(*second)


@seen.register
def _(setting: TableSetting, records: Any, noise: Any, epsilon: Fraction) -> tuple[Any, ...]:
    release, messages = released(setting, records, noise, epsilon)
    variances = content_of(release.estimate.noise.variances)
    return release, messages, content_of(release.privacy), variances, release.in_words(), *published(release)


def shares(setting: TableSetting) -> list[Fraction]:
    """The share of the promise that each pair of neighbours loses, for all pairs of cells, or many persons."""
    units = _units(setting)
    laws, numbers = measured(setting, [setting.records(*unit) for unit in units])
    statement = setting.mechanism.prepare(setting.domain, **setting.terms).statement
    whole = Budget(statement.epsilon, statement.delta)
    promised = rho_for(whole) if statement.currency == "rho" else whole.epsilon
    pairs = ((0, other) for other in range(1, len(units)))
    if setting.relation == "replace":
        pairs = itertools.combinations(range(len(units)), 2)
    return [loss(laws, [a - b for a, b in zip(numbers[one], numbers[other], strict=True)]) / promised
            for one, other in itertools.islice(pairs, 0, 4000)]  # fmt: skip


def _units(setting: TableSetting) -> list[tuple[Any, ...]]:
    """All rows, or some persons, by which neighbours can differ; the first one is nothing."""
    cells = range(setting.domain.n_cells)
    if setting.person is None:
        return [([NOWHERE],), *(([cell],) for cell in cells)]
    rng = np.random.default_rng(3)
    sets = [(cell,) * 5 for cell in cells[:20]] + [tuple(cells[start : start + 3]) for start in cells[:20]]
    sets += [tuple(rng.integers(0, len(cells), 4).tolist()) for _ in range(20)] + [tuple(cells)]
    return [([NOWHERE], [1]), *((list(each), [1] * len(each)) for each in sets)]


def check_shares(setting: TableSetting) -> None:
    """Check that no pair of neighbours loses more than is promised, and that adding a row costs all of it."""
    found = shares(setting)
    assert max(found) <= 1, f"the loss is {float(max(found)):.4f} times the promise"
    if setting.person is None and setting.relation == "add-remove":
        assert min(found) == 1, f"only {float(min(found)):.4f} of the promise is used for some cell"


# --- checks that must catch mutants ------------------------------------------------------------------


@cache
def table_costs(
    case: str, frame: str, relation: str = "add-remove", person: sdp.Person | None = None
) -> Callable[[], None]:
    """Return a check that neighbours cost what they should; see `check_shares`."""
    return lambda: check_shares(TableSetting(case, frame, relation, person))


@cache
def odd_rows_count_nowhere(case: str, frame: str) -> Callable[[], None]:
    """Return a check that rows which are on no cell change nothing, and cause no error."""

    def check() -> None:
        setting, values = TableSetting(case, frame, "add-remove"), []
        for cells in ([0, 0], [0, -1, 0, -2, -3, -4, -5]):
            try:
                release = setting.mechanism.release(
                    setting.records(cells), setting.domain, noise=SeededNoise(6), **setting.terms
                )
            except Exception as error:
                raise AssertionError(f"a row caused an error: {error}") from error
            values.append(release.estimate.values.tolist())
        assert values[0] == values[1], "a row that is nowhere was counted"

    return check
