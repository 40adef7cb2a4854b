"""Is what a person contributes bounded, whatever the person does? Counts with one person more, less or another.

The first check goes from points to counts, as a release does: through a region, through blocks of records, and with
records that count nowhere. It knows nothing of how persons are bounded. The second one is about the private choice of
the bound: its exact law, from the sampler, for all neighbouring sets of few persons.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np
import shapely

from spatialdp import Domain, Person, Points
from spatialdp._support.arrays import Integers
from spatialdp.mechanisms import bound_choice
from spatialdp.mechanisms.bound_choice import BoundChoice
from spatialdp.privacy.unit import Bound
from spatialdp.records.counting import count_cells
from spatialdp.records.persons.identifiers import persons_of
from spatialdp.records.points import LatticePoints, snap_with_persons
from tests.audit.enumeration import LawOf, Words, boundaries, log_ratio, multisets, neighbours

__all__ = ["choices_of_bounds_are_private", "persons_are_bounded", "worst_choice_of_a_bound"]

BOUNDS = (Person(records=6), Person(cells=3), Person(shares=True))
REGION = shapely.Polygon([(0.5, 0.5), (7.5, 0.5), (7.5, 7.5), (3.5, 3.5), (0.5, 7.5)])
DOMAIN = Domain((0, 0, 8, 8), region=REGION, region_cells="centres")
OTHERS = 60
PARTS = 3

Records = tuple[list[Any], Any]


def _records(who: list[Any], seed: int) -> Records:
    """Records of some persons, in the domain and around it; several in a place."""
    xy = np.random.default_rng(seed).uniform(-1, 9, (len(who), 2))
    return who, xy.round(1 if seed % 2 else 0)


def _counts(bound: Person, *groups: Records) -> Integers:
    """The bounded counts of groups of records together, which come in parts that all have something of each group."""
    parts, persons = [], []
    for part in range(PARTS):
        xy = np.concatenate([xy[part::PARTS] for _, xy in groups])
        who = [person for group, _ in groups for person in group[part::PARTS]]
        columns, rows, kept = snap_with_persons(xy[:, 0], xy[:, 1], persons_of(who), DOMAIN)
        parts.append((columns, rows))
        persons.append(kept)
    return count_cells(LatticePoints(parts, DOMAIN, persons), DOMAIN.grid((8, 8)), bound)


def persons_are_bounded(trials: int = 4) -> None:
    """Check that one person moves counts within the bound, and that what counts nowhere moves nothing."""
    for trial in range(trials):
        others = _records([f"person {number % OTHERS}" for number in range(20 * OTHERS)], 4 * trial)
        eve, changed = (_records(["eve"] * 50, 4 * trial + other) for other in (1, 2))
        nobody = _records([None] * 50, 4 * trial + 3)
        beyond = others[0], others[1] * [1, 0] + [0, 20]  # the same persons outside the bounds
        hole = others[0], np.clip(others[1], [3.1, 6.1], [3.9, 7.9])  # and in the notch of the region
        for bound in BOUNDS:
            without = _counts(bound, others)
            _check_moves(bound, _counts(bound, eve, others), without)
            _check_moves(bound, _counts(bound, eve, others), _counts(bound, changed, others))
            for strays in (nobody, beyond, hole):
                assert np.array_equal(_counts(bound, strays, others), without), "records that count nowhere matter"


def _check_moves(bound: Person, before: Integers, after: Integers) -> None:
    for moved in (np.maximum(before - after, 0), np.maximum(after - before, 0)):
        assert moved.sum() <= bound.most * bound.steps, f"one person moves counts beyond {bound}"
        assert bound.cells is None or moved.max() <= 1, f"one person counts twice in a cell under {bound}"


# --- the choice of the bound ---------------------------------------------------------------------------

GRID = Domain((0, 0, 1, 1)).grid((4, 1))
# Kinds of persons, by the columns of their records: nobody in the domain, one record, many in one cell, many in all.
KINDS = ((), (0,), (1,) * 9, (0, 1, 2), (0, 1, 2, 3) * 5)


def worst_choice_of_a_bound(bound: Bound, relation: str, goals: tuple[int, ...], most: int = 3) -> float:
    """Return the largest log-ratio of a choice at ε = 1, over all neighbours of up to `most` persons.

    The choice is among the candidates 1, 2 and 4; `goals` are the thresholds of its two steps.
    """
    choice = BoundChoice(GRID, bound, Fraction(1), (1, 2), goals, (0, 0, 1))
    known: dict[Any, LawOf] = {}
    laws = {data: _choice_law(choice, data, known) for data in multisets(KINDS, most)}
    pairs = ((one, other) for one in laws for other in neighbours(one, KINDS, relation) if other in laws)
    return max(log_ratio(laws[one], laws[other]) for one, other in pairs)


def _choice_law(choice: BoundChoice, data: tuple[Any, ...], known: dict[Any, LawOf]) -> LawOf:
    """Return the law of the choice for a set of persons, by bisecting the random word that decides it.

    Sets from which the same is drawn (`_drawn_from`) share the law that is `known` of the first of them.
    """
    names = [f"{kind}, {data[:place].count(kind)}" for place, kind in enumerate(data)]
    who = [name for name, kind in zip(names, data, strict=True) for _ in kind]
    x = np.array([column for kind in data for column in kind], dtype=float) / 4 + 0.1
    points = Points(x, np.full(x.size, 0.5), person=persons_of(who))
    above = bound_choice.persons_above(points, choice.cells, choice.bound, choice.middles)

    def places(words: Any) -> list[int]:
        # Persons are counted once for all words.
        with mock.patch.object(bound_choice, "persons_above", return_value=above):
            return [choice.draw(points, Words([word])) for word in words]

    key = _drawn_from(choice, points) or data
    if key not in known:
        law = known[key] = dict.fromkeys(range(len(choice.middles) + 1), 0.0)
        for low, high, place in boundaries(places, 2**64 - 1):
            law[place] += (high - low + 1) / 2**64
    return known[key]


def _drawn_from(choice: BoundChoice, points: Points) -> tuple[Any, ...] | None:
    """Return all that a choice hands to the sampler, and what it makes of each place; None if it hands it nothing.

    This is counted anew for every set of persons, so a choice that depends on records in another way gives another
    key, and a choice without the sampler has no key.
    """
    asked: list[Any] = []

    def sampler(place: int) -> Any:
        return lambda scores, *terms: asked.append((tuple(scores), *terms[:2], *terms[3:])) or place

    made = []
    for place in range(len(choice.middles) + 1):
        with mock.patch.object(bound_choice, "exponential", sampler(place)):
            made.append(choice.draw(points, Words([])))
    return (*asked, *made) if asked else None


def choices_of_bounds_are_private() -> None:
    """Check that no log-ratio of a choice exceeds ε."""
    for bound in (Bound.RECORDS, Bound.CELLS):
        worst = worst_choice_of_a_bound(bound, "add-remove", (1, 1), most=2)
        assert worst <= 1 + 1e-9, f"a log-ratio of {worst} at ε = 1"
