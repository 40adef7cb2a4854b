"""How are networks of attributes audited? Replays of neighbours, all small data by brute force, and enumerated choices.

A row is known by its cell of the frame, or by none, and neighbours are those of tables (`tables`).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from spatialdp.mechanisms.adaptive.networks import privbayes
from spatialdp.mechanisms.adaptive.networks.association import association
from tests.audit.replay import content_of, published, released, seen
from tests.audit.tape import log_probabilities
from tests.helpers.network_cases import NetworkSetting


@seen.register
def _(setting: NetworkSetting, records: Any, noise: Any, epsilon: Fraction) -> tuple[Any, ...]:
    release, messages = released(setting, records, noise, epsilon)
    model = release.answer().hex()
    return release, messages, content_of(release.privacy), model, release.in_words(), *published(release)


def small_tables(shape: tuple[int, int], most: int) -> Iterator[Any]:
    """Yield all tables of a shape whose counts are at most `most`."""
    for counts in itertools.product(range(most + 1), repeat=shape[0] * shape[1]):
        yield np.array(counts).reshape(shape)


def moves_of_scores(tables: Any, relation: str) -> Fraction:
    """Return the most that the score of any table moves when a record is added, or replaced."""
    worst = Fraction(0)
    for table in tables:
        scores = [association(table + unit) for unit in _units(table.shape)]
        if relation == "add-remove":
            base = association(table)
            worst = max(worst, *(abs(score - base) for score in scores))
        else:
            worst = max(worst, max(scores) - min(scores))
    return worst


def _units(shape: tuple[int, ...]) -> Iterator[Any]:
    for cell in range(int(np.prod(shape))):
        unit = np.zeros(int(np.prod(shape)), dtype=np.int64)
        unit[cell] = 1
        yield unit.reshape(shape)


def choices_are_within_their_budget(setting: NetworkSetting, most: int = 3, seed: int = 1) -> float:
    """Compute the law of the first choice for many data and all their neighbours; return the largest share of its cost.

    Candidates are those of a table size; the scores are those that the mechanism computes.
    """
    design = setting.mechanism.prepare(setting.domain, **setting.terms).design
    rng, worst, shape = np.random.default_rng(seed), 0.0, design.frame.shape
    data = [rng.integers(0, most, shape) * rng.integers(0, 2, shape) for _ in range(12)]
    for counts in [*data, _opposed(shape)]:
        before = _law(design, counts)
        for unit in _units(design.frame.shape):
            after = _law(design, counts + unit)
            worst = max(worst, float(np.abs(after - before).max()))
    assert worst <= float(design.choice) + 1e-9, f"a choice tells {worst / float(design.choice):.3f} times its budget"
    return worst / float(design.choice)


def _opposed(shape: tuple[int, ...]) -> Any:
    """Return data of kinds, days and places for which one record lowers the score of kinds and raises that of days."""
    counts = np.zeros(shape, dtype=np.int64)
    others = (0,) * (len(shape) - 3)
    for kind, day, place, count in ((1, 0, 0, 100), (0, 1, 1, 100), (1, 1, 1, 9000), (2, 1, 2, 800)):
        counts[(kind, day, *others, place)] = count
    return counts


def _law(design: Any, counts: Any) -> Any:
    """Return the log-probabilities of the first choice of parents."""
    occupied = privbayes.Occupied(design.frame, counts)
    names, sizes = list(design.frame.names), privbayes.level_sizes(design.frame)
    families = privbayes.candidates(sizes, names[:1], names[1:], 1000.0, 3)
    return log_probabilities([association(occupied.table(each)) for each in families], design.choice, design.moves)


def declared_is_the_maximum(setting: NetworkSetting) -> None:
    """Check by brute force that no row moves a table or the total by more than its noise is made for, and one does."""
    design = setting.mechanism.prepare(setting.domain, **setting.terms).design
    frame, names = design.frame, list(design.frame.names)
    sizes = privbayes.level_sizes(frame)
    families = [*privbayes.candidates(sizes, names[:-1], names[-1:], 1000.0, 3), privbayes.Family(names[0])]
    replaced = setting.relation == "replace"
    units = [np.zeros(frame.shape, dtype=np.int64), *_units(frame.shape)]
    pairs = itertools.combinations(units, 2) if replaced else ((units[0], unit) for unit in units[1:])
    worst, total = 0, 0
    for one, other in itertools.islice(pairs, 0, 1200):
        first, second = (privbayes.Occupied(frame, each) for each in (one, other))
        moved = max(int(np.abs(first.table(each) - second.table(each)).sum()) for each in families)
        worst, total = max(worst, moved), max(total, abs(int(first.total()[0] - second.total()[0])))
    tables = design.costs["counts of tables"] / len(frame.axes)
    assert design.cell.parameter == (worst if frame.n_cells > 1 or not replaced else 2) / tables, "a wrong scale"
    assert design.total.parameter == total / design.costs["number of records"], "a wrong scale of the total"
