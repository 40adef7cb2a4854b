"""Which neighbours does the audit try? Pairs with every kind of record, or person, that has ever caused a mistake.

New kinds of records and persons come here; `pairs` and `person_pairs` then use each of them in turn.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import spatialdp as sdp
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


BLOCK = ((1, 1), (3, 1), (1, 3), (3, 3))  # four cells of 8 x 8, in sixteenths of the sides


def someone(domain: Domain, crowd: Records, rng: np.random.Generator) -> dict[str, Records]:
    """Return all records of one person, by name: within a bound of three, at it and far above it."""
    single = records(domain, crowd, rng)
    few = places(domain, rng, 7)
    xmin, ymin, xmax, ymax = domain.bounds
    return {
        "one record": few[:1],
        "three in one cell": few[:1] * 3,
        "in three cells": few[:3],
        "in seven cells": few,
        "everywhere": rng.uniform((xmin, ymin), (xmax, ymax), (60, 2)).tolist(),
        "often in one cell": few[:1] * 9 + few[1:2],
        "in two cells by turns": (few[:1] + few[1:2]) * 5,
        "beside others": crowd[:4],
        "at edges": [single[name] for name in ("corner", "far corner", "far edge", "cell edge")],
        "in cells of one block": [[xmin + i * (xmax - xmin) / 16, ymin + j * (ymax - ymin) / 16] for i, j in BLOCK],
        "nowhere": [single[name] for name in ("not a number", "infinite", "outside the domain", "missing")],
        "inside and outside": [*few[:2], single["outside the region"], single["outside the domain"]] * 2,
    }


def person_pairs(domain: Domain, relation: str, count: int, seed: int) -> Iterator[tuple[str, Any, Any]]:
    """Yield pairs of data sets that differ by a whole person, with their names; records of the others stay theirs."""
    rng = np.random.default_rng(seed)
    kinds: list[tuple[str, str]] = []
    for _ in range(count):
        base = crowds(domain, rng)
        if not kinds:
            kinds = [(crowd, extra) for crowd in base for extra in someone(domain, [], rng)]
            kinds = [kinds[i] for i in rng.permutation(len(kinds))]
        name, extra = kinds.pop()
        others = [(record, _owner(rng)) for record in base[name]]
        first = [(record, 99) for record in someone(domain, base[name], rng)[extra]]
        second = [(record, 77) for record in places(domain, rng, 5)] if relation == "replace" else []
        sets = [_points(others + each, rng) for each in (first, second)]
        yield f"{name}, a person {extra}", *(sets if rng.random() < 0.5 else sets[::-1])


def _owner(rng: np.random.Generator) -> int | None:
    """Return one of six persons, or nobody."""
    number = int(rng.integers(7))
    return number or None


def _points(owned: list[tuple[Any, int | None]], rng: np.random.Generator) -> sdp.Points:
    """Return points with persons, in any order."""
    shuffled = [owned[i] for i in rng.permutation(len(owned))]
    return sdp.Points([record for record, _ in shuffled], person=[owner for _, owner in shuffled])
