"""Which neighbours does the audit try? Pairs with every kind of record, or person, that has ever caused a mistake.

New kinds of records and persons come here; `pairs` and `person_pairs` then use each of them in turn.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from spatialdp.records.points import Points
from spatialdp.space.domain import Domain

Records = list[list[Any]]


def places(domain: Domain, rng: np.random.Generator, count: int) -> Records:
    """Return random records in the bounds of the region or its parts, so some lie outside the region."""
    x0, y0, x1, y1 = domain.bounds if domain.region is None else domain.region.bounds
    xy = rng.uniform((x0, y0), (x1, y1), (count, 2))
    if domain.region is not None and domain.region.geom_type == "MultiPolygon":
        parts = np.array([part.bounds for part in domain.region.geoms])[
            rng.integers(len(domain.region.geoms), size=count)
        ]
        xy = parts[:, :2] + (xy - (x0, y0)) / (x1 - x0, y1 - y0) * (parts[:, 2:] - parts[:, :2])
    return xy.tolist()


def crowds(domain: Domain, rng: np.random.Generator) -> dict[str, Records]:
    """Return data sets by name, without the record that two neighbours differ by."""
    few = places(domain, rng, 5)
    return {
        "empty": [],
        "one": few[:1],
        "few": few,
        "many": places(domain, rng, int(rng.integers(20, 60))),
        "heavy cell": few[:1] * 300 + few,
        "all the same": few[:1] * 7,
        "on one line": [[few[0][0], y] for _, y in places(domain, rng, 9)],
    }


def records(domain: Domain, crowd: Records, rng: np.random.Generator) -> dict[str, list[Any]]:
    """Return records by name, by which two neighbours may differ."""
    xmin, ymin, xmax, ymax = domain.bounds
    (inside,) = places(domain, rng, 1)
    own = crowd[int(rng.integers(len(crowd)))] if crowd else inside
    middle = np.median(np.array(crowd or [inside]), axis=0).tolist()
    return {
        "inside": inside,
        "corner": [xmin, ymin],
        "far corner": [xmax, ymax],
        "far edge": [xmax, (ymin + ymax) / 2],
        "cell edge": [(xmin + xmax) / 2, (3 * ymin + ymax) / 4],
        "duplicate": own,
        "at the median": middle,
        "outside the region": [xmax - (xmax - xmin) / 100, ymax - (ymax - ymin) / 100],
        "outside the domain": [xmax + 100.0, ymin - 100.0],
        "not a number": [np.nan, ymin],
        "infinite": [np.inf, -np.inf],
        "huge": [1e308, -1e308],
        "too large for a double": [10**400, ymin],
        "missing": [None, ymin],
    }


def pairs(domain: Domain, relation: str, count: int, seed: int) -> Iterator[tuple[str, Records, Records]]:
    """Yield pairs of neighbours with their names; every kind is used before any kind is used again."""
    rng = np.random.default_rng(seed)
    kinds: list[tuple[str, str]] = []
    for _ in range(count):
        base = crowds(domain, rng)
        if not kinds:
            extras = records(domain, [], rng)
            kinds = [(crowd, extra) for crowd in base for extra in extras if crowd != "empty" or relation != "replace"]
            kinds = [kinds[i] for i in rng.permutation(len(kinds))]
        name, extra = kinds.pop()
        first = base[name]
        record = records(domain, first, rng)[extra]
        if relation == "add-remove":
            second = [*first, record]
        else:
            place = int(rng.integers(len(first)))
            second = [*first[:place], record, *first[place + 1 :]]
        if rng.random() < 0.5:
            first, second = second, first
        yield f"{name}, {extra}", first, second


# --- persons -------------------------------------------------------------------------------------------


def someone(domain: Domain, rng: np.random.Generator) -> dict[str, Records]:
    """Return the records of a person, by the name of the kind of person, by whom two neighbours may differ."""
    xmin, ymin, xmax, ymax = domain.bounds
    some = places(domain, rng, 6)
    return {
        "one record": some[:1],
        "one place": some[:1] * 9,
        "everywhere": rng.uniform((xmin, ymin), (xmax, ymax), (60, 2)).tolist(),
        "a few": some + some[:2],
        "far away": [[xmax + 100.0, ymin - 100.0]] * 3,
        "with strays": [*some[:2], [np.nan, ymin], [np.inf, ymin], [xmin - 1e-9, ymin]],
        "corners": [[xmin, ymin], [xmax, ymax]] * 2,
    }


def person_pairs(domain: Domain, relation: str, count: int, seed: int) -> Iterator[tuple[str, Points, Points]]:
    """Yield pairs of neighbours that differ by a whole person; every kind is used before any kind is used again."""
    rng = np.random.default_rng(seed)
    kinds: list[tuple[int, str]] = []
    for _ in range(count):
        named = someone(domain, rng)
        if not kinds:
            kinds = [(others, kind) for others in (0, 1, 7) for kind in named]
            kinds = [kinds[i] for i in rng.permutation(len(kinds))]
        number, kind = kinds.pop()
        crowd = [list(someone(domain, rng).values())[int(rng.integers(len(named)))] for _ in range(number)]
        before = list(someone(domain, rng).values())[int(rng.integers(len(named)))] if relation == "replace" else None
        pair = [_with_persons([each, *crowd], rng) for each in (before, named[kind])]
        if rng.random() < 0.5:
            pair.reverse()
        yield f"{number} others, {kind}", *pair


def _with_persons(persons: list[Records | None], rng: np.random.Generator) -> Points:
    """Return the records of all persons in random order, among some of nobody; a person who is None is not there."""
    pairs = [(record, f"p{number}") for number, records in enumerate(persons) for record in records or ()]
    pairs += [([0.3, 0.3], None)] * 2
    mixed = [pairs[i] for i in rng.permutation(len(pairs))]
    x, y = np.array([record for record, _ in mixed], dtype=float).T
    return Points(x, y, person=[person for _, person in mixed])
