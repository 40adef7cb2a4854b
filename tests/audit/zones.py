"""How is a mechanism on zones audited? Pairs of neighbours for the replay, and the exact loss of all pairs.

A record is known by its leaf, or by none. So all data sets are multisets of numbers of leaves, and a release's
measurements are sums over records: the loss between two neighbours follows from the records by which they differ. All
of them are tried. `pairs` obeys the statement of the release that is made: if it names no invariants, neighbours may
have other totals, and then exact totals show.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from typing import Any
from unittest import mock

import numpy as np

import spatialdp as sdp
from spatialdp.privacy.accounting import rho_for
from spatialdp.privacy.budget import Budget
from spatialdp.privacy.noise.laws import Law, NoiseLaw
from spatialdp.privacy.noise.source import Noise, SeededNoise
from tests.audit.sensitivity import Silent
from tests.audit.tape import integers
from tests.helpers.zone_cases import ZoneSetting

NOWHERE = -1


def zone_pairs(setting: ZoneSetting, count: int, seed: int) -> Iterator[tuple[str, Any, Any]]:
    """Yield pairs of neighbours with their names."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        crowd = rng.integers(-3, setting.domain.n_leaves, int(rng.integers(1, 30))).tolist()
        if setting.person is not None:
            name, first, second = _person_pair(setting, crowd, rng)
        else:
            name, first, second = _record_pair(setting, crowd, rng)
        sets = [setting.records(*each) for each in (first, second)]
        yield name, *(sets if rng.random() < 0.5 else sets[::-1])


def _record_pair(setting: ZoneSetting, crowd: list[int], rng: Any) -> tuple[str, Any, Any]:
    """A pair that differs by one record: added, or replaced as the statement allows."""
    statement = setting.mechanism.prepare(setting.domain, **setting.terms).statement
    if statement.neighbours == "add-remove":
        extra = int(rng.integers(-3, setting.domain.n_leaves))
        return f"leaf {extra}", (crowd,), ([*crowd, extra],)
    place, other = int(rng.integers(len(crowd))), int(rng.integers(-3, setting.domain.n_leaves))
    if statement.invariants:
        level = statement.invariants[-1]
        same = [
            leaf
            for leaf in range(setting.domain.n_leaves)
            if _zone(setting, leaf, level) == _zone(setting, crowd[place], level)
        ]
        other = int(rng.choice(same)) if same else crowd[place]
    return f"leaf {crowd[place]} to {other}", (crowd,), ([*crowd[:place], other, *crowd[place + 1 :]],)


def _zone(setting: ZoneSetting, leaf: int, level: str) -> int:
    """The zone of a level, or the lowest zone above it, that a leaf is in; -1 for nowhere."""
    if leaf < 0:
        return -1
    node, shape = int(setting.domain.leaf_nodes[leaf]), setting.domain.shape
    while shape.depth[node] > setting.domain.depth_of(level):
        node = int(shape.parent[node])
    return node


def leaves_that_may_change(setting: ZoneSetting) -> list[int]:
    """Return the leaves of which a record may take another one: all, or those of the first zone with an exact total."""
    invariants = setting.mechanism.prepare(setting.domain, **setting.terms).statement.invariants
    zones = [[_zone(setting, leaf, level) for level in invariants] for leaf in range(setting.domain.n_leaves)]
    return [leaf for leaf, zone in enumerate(zones) if zone == zones[0]]


def _person_pair(setting: ZoneSetting, crowd: list[int], rng: Any) -> tuple[str, Any, Any]:
    """A pair that differs by all records of one person, who has one record or many, in one zone or in many."""
    owners = rng.integers(0, 5, len(crowd)).tolist()
    sets = []
    for who in (99, 77):
        many = int(rng.integers(1, 9))
        spread = int(rng.integers(1, 9))
        leaves = rng.choice(rng.integers(-2, setting.domain.n_leaves, spread), many).tolist()
        sets.append(([*crowd, *leaves], [*owners, *[who] * many]))
    name = f"a person with {len(sets[0][0]) - len(crowd)} records"
    return name, sets[0], sets[1] if setting.relation == "replace" else (crowd, owners)


# --- exact losses --------------------------------------------------------------------------------------


def measured(setting: ZoneSetting, data: list[Any]) -> tuple[list[NoiseLaw], list[list[Any]]]:
    """The laws of all measurements, and the exact numbers of each data set before noise."""
    recorded: list[tuple[NoiseLaw, Any]] = []

    def record(law: NoiseLaw, counts: Any, noise: Noise) -> Any:
        recorded.append((law, integers(counts).ravel()))
        return np.zeros(np.shape(counts))

    laws, numbers = None, []
    prepared = setting.mechanism.prepare(setting.domain, **setting.terms)
    with mock.patch.object(NoiseLaw, "add_to", record):
        for records in data:
            prepared.release(records, noise=Silent())
            own = [law for law, _ in recorded]
            assert laws in (None, own), "the noise depends on the records"
            laws = own
            numbers.append([counts for _, counts in recorded])
            recorded.clear()
    assert laws is not None
    return laws, numbers


def loss(laws: list[NoiseLaw], change: list[Any]) -> Fraction:
    """The exact largest loss of a change of all measurements: ε, or ρ for Gaussian noise."""
    total = Fraction(0)
    for law, moved in zip(laws, change, strict=True):
        if law.law is Law.GAUSSIAN:
            total += Fraction(int((moved**2).sum())) / (2 * law.parameter)
        else:
            total += Fraction(int(np.abs(moved).sum()) * (law.steps // law.counted)) / law.parameter
    return total


def shares(setting: ZoneSetting) -> list[Fraction]:
    """The share of the promise that each pair of neighbours loses, for all pairs."""
    units = _units(setting)
    laws, numbers = measured(setting, [setting.records(*unit) for unit in units])
    statement = setting.mechanism.prepare(setting.domain, **setting.terms).statement
    zones = [_totals(setting, unit, statement.invariants) for unit in units]
    whole = Budget(statement.epsilon, statement.delta)
    granted = rho_for(whole) if statement.currency == "rho" else whole.epsilon
    found = []
    for one, other in itertools.combinations(range(len(units)), 2):
        # The first unit is no record, or a record that is nowhere, from which a record may come.
        if (statement.neighbours == "add-remove" and one) or zones[one] != zones[other]:
            continue
        change = [a - b for a, b in zip(numbers[one], numbers[other], strict=True)]
        found.append(loss(laws, change) / granted)
    return found


def _units(setting: ZoneSetting) -> list[tuple[Any, ...]]:
    """All records, or persons, by which neighbours can differ; the first one is nothing."""
    leaves = range(setting.domain.n_leaves)
    if setting.person is None:
        return [([NOWHERE],), *(([leaf],) for leaf in leaves)]
    sets = [leaf_set for size in (1, 2, 3, 4) for leaf_set in itertools.combinations(leaves, size)]
    sets += [(leaf,) * 5 for leaf in leaves] + [
        (one, one, one, other) for one, other in itertools.permutations(leaves, 2)
    ]
    kept = sets[:: 1 + len(sets) // 100]
    return [([NOWHERE], [1]), *((list(each), [1] * len(each)) for each in [*kept, tuple(leaves)])]


def _totals(setting: ZoneSetting, unit: tuple[Any, ...], invariants: tuple[str, ...]) -> Any:
    """The totals that the statement keeps equal."""
    return tuple(_zone(setting, unit[0][0], level) for level in invariants)


def check_shares(setting: ZoneSetting) -> None:
    """Check that no pair of neighbours loses more than is promised, and that adding a record costs all of it."""
    found = shares(setting)
    assert max(found) <= 1, f"the loss is {float(max(found)):.4f} times the promise"
    if setting.person is None and setting.relation == "add-remove" and not setting.mechanism.invariants:
        assert min(found) == 1, f"only {float(min(found)):.4f} of the promise is used for some leaf"


# --- checks that must catch mutants -------------------------------------------------------------------


@cache
def costs_the_whole(
    case: str, frame: str, relation: str = "add-remove", person: sdp.Person | None = None
) -> Callable[[], None]:
    """Return a check that no pair of neighbours costs what it should; see `check_shares`."""

    def check() -> None:
        check_shares(ZoneSetting(case, frame, relation, person, by_code=True))

    return check


@cache
def strays_count_nowhere(case: str, frame: str) -> Callable[[], None]:
    """Return a check that records which are nowhere change nothing, and cause no error."""

    def check() -> None:
        for by_code in (True, False):
            setting = ZoneSetting(case, frame, "add-remove", by_code=by_code)
            values = []
            for leaves in ([0, 0], [0, -1, 0, -2, -3, -4, -5, -6]):
                records = setting.records(leaves)
                try:
                    release = setting.mechanism.release(records, setting.domain, noise=SeededNoise(6), **setting.terms)
                except Exception as error:
                    raise AssertionError(f"a record caused an error: {error}") from error
                values.append(release.estimate.values.tolist())
            assert values[0] == values[1], "a record that is nowhere was counted"

    return check
