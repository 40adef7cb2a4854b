"""How are flows audited? Replays of neighbours, all trips and pairs of trips by brute force, and the law of lists.

A trip is known by its pair of places, or is nowhere.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

import spatialdp as sdp
from spatialdp.mechanisms.adaptive import flows
from tests.audit.replay import content_of, neighbours_of, published, released, seen
from tests.helpers.flow_cases import STRAYS, FlowSetting


@neighbours_of.register
def flow_pairs(setting: FlowSetting, count: int, seed: int) -> Iterator[tuple[str, Any, Any]]:
    """Yield neighbours with their names: a trip, or all trips of a person, more or less, or replaced."""
    rng, pairs = np.random.default_rng(seed), setting.places.space.size**2
    for _ in range(count):
        crowd = np.repeat(rng.integers(-STRAYS, pairs, 6), rng.integers(0, 30, 6)).tolist()
        if setting.person is None:
            one, other = (int(each) for each in rng.integers(-STRAYS, pairs, 2))
            first, second = ([*crowd, one],), ([*crowd, other] if setting.relation == "replace" else crowd,)
            name = f"a trip of pair {one}"
        else:
            owners = rng.integers(0, 5, len(crowd)).tolist()
            spread = rng.integers(-2, pairs, int(rng.integers(1, 7)))
            mine, theirs = (rng.choice(spread, int(rng.integers(1, 9))).tolist() for _ in range(2))
            first = ([*crowd, *mine], [*owners, *[99] * len(mine)])
            others = [*crowd, *theirs], [*owners, *[77] * len(theirs)]
            second = others if setting.relation == "replace" else (crowd, owners)
            name = f"a person with {len(mine)} trips"
        yield name, setting.records(*first), setting.records(*second)


@seen.register
def _(setting: FlowSetting, records: Any, noise: Any, epsilon: Fraction) -> tuple[Any, ...]:
    release, messages = released(setting, records, noise, epsilon)
    rows = [release.to_frame().to_csv(), release.places().to_csv(), str(release.listed_share)]
    return release, messages, content_of(release.privacy), rows, release.privacy.in_words(), *published(release)


def declared_is_the_maximum(setting: FlowSetting) -> None:
    """Check by brute force that no trip moves a group of counts by more than its noise is made for, and one does."""
    design = setting.mechanism.prepare(setting.domain, **setting.terms).design
    pairs = setting.places.space.size**2
    vectors = [groups_of(setting, [pair]) for pair in (-1, *range(pairs))]
    couples = list(itertools.combinations(vectors, 2)) if setting.relation == "replace" else None
    couples = [(vectors[0], each) for each in vectors[1:]] if couples is None else couples
    worst = [max(int(np.abs(one[group] - other[group]).sum()) for one, other in couples) for group in range(3)]
    costs = dict(design.costs)
    ends = [costs.pop("trips that begin in each place"), costs.pop("trips that end in each place")]
    assert all(design.margin.parameter == moved / cost for moved, cost in zip(worst[:2], ends, strict=True))
    laws = [design.pair] if design.filter is None else [design.filter.scale, design.pair]
    scales = [getattr(law, "parameter", law) for law in laws][: len(costs)]
    assert scales == [worst[2] / cost for cost in costs.values()], "a wrong scale"


def groups_of(setting: FlowSetting, trips: Any, owners: Any = None) -> list[Any]:
    """Return the exact counts of origins, destinations and pairs."""
    frame = setting.places
    table = np.zeros((frame.space.size,) * 2, dtype=int)
    numbers, counts = flows.occupied_pairs(setting.records(trips, owners), frame, setting.person)
    table.ravel()[numbers] = counts
    return [table.sum(axis=1), table.sum(axis=0), table.ravel()]


def chances_of_lists(design: Any, counts: Any) -> Any:
    """Return the probability of each set of pairs, bit by bit, if every pair gets noise of its own."""
    single = np.array([design.filter.chance_of(int(count)) for count in counts])
    bits = (np.arange(2 ** len(counts))[:, None] >> np.arange(len(counts))) & 1
    return np.where(bits == 1, single, 1 - single).prod(axis=1)


def lists_are_within_their_budget(setting: FlowSetting, counts: Any) -> float:
    """Enumerate all lists of few pairs for all neighbours of some counts; return the largest share of its cost."""
    design = setting.mechanism.prepare(setting.domain, **setting.terms).design
    cost, first = float(design.costs["choice of the listed pairs"]), chances_of_lists(design, counts)
    worst = 0.0
    for pair in range(len(counts)):
        more = np.array(counts)
        more[pair] += 1
        worst = max(worst, float(np.abs(np.log(chances_of_lists(design, more) / first)).max()))
    assert worst <= cost + 1e-9, f"a list tells {worst / cost:.3f} times its budget"
    return worst / cost


def lists_have_their_law(setting: FlowSetting, counts: Any, runs: int = 8000) -> float:
    """Return the p-value of how often each set of pairs is listed in many releases."""
    from tests.audit.sparse import agrees

    prepared = setting.mechanism.prepare(setting.domain, **setting.terms)
    trips, noise = setting.records(np.repeat(np.arange(len(counts)), counts)), sdp.SeededNoise(11)
    seen = np.zeros(2 ** len(counts))
    for _ in range(runs):
        seen[int((1 << prepared.release(trips, noise=noise).estimate.numbers).sum())] += 1
    assert math.isclose(seen.sum(), runs)
    return agrees(seen, chances_of_lists(prepared.design, counts))
