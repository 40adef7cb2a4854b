"""How likely is each result of `sample_and_aggregate`? The average over all coins that records can toss.

For each list of coins, a question is carried out with a function that runs in this process, up to the results of its
blocks. What is published of them is either a median, whose law is read off the sampler (`enumeration`), or a sum with
discrete Laplace noise of the scale that the question asks for. The lattice is made coarse, so that all of it is seen.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from typing import Any
from unittest import mock

import numpy as np

import spatialdp as sdp
from spatialdp.curator.aggregate import aggregation as module
from spatialdp.curator.aggregate.aggregation import Aggregate, SampleAndAggregate
from spatialdp.privacy.noise.selection import middle
from spatialdp.privacy.noise.source import Noise
from tests.audit.enumeration import LawOf, Words, boundaries, log_ratio, multisets, neighbours

PLACES = (0, 1)
DOMAIN = sdp.Domain((0, 0, len(PLACES), 1))
STEPS = 8
CRUMBS = 1e-9
_REACH = 60  # steps of noise, times the scale, that are compared


class _Coins(Noise):
    """A source whose coins are given."""

    def __init__(self, coins: tuple[int, ...]) -> None:
        self._coins = coins

    def random_bytes(self, count: int) -> bytes:
        raise AssertionError("nothing but coins is drawn before the results are there")

    def below(self, bounds: Any) -> Any:
        assert len(bounds) == len(self._coins), "one coin for each record, or for each person"
        return np.array(self._coins, dtype=np.int64)


# --- functions of a block -----------------------------------------------------------------------------


def parity(table: Any) -> float:
    """Jump between the ends with every record."""
    return float(len(table) % 2)


def leftmost(table: Any) -> float:
    """Return the least coordinate, between 0 and 1."""
    return float(table[:, 0].min() / len(PLACES))


def fails_for_two(table: Any) -> float:
    """Fail where there is more than one record."""
    if len(table) > 1:
        raise ValueError("two records")
    return 1.0


def far_off(table: Any) -> float:
    """Return numbers far beyond the bounds, on either side."""
    return 1e6 if len(table) == 1 else -1e6


FUNCTIONS = (parity, leftmost, fails_for_two, far_off)


def in_this_process(function: Any, tables: Any, seconds: float) -> list[float | None]:
    """Compute a function of each block without processes of their own."""
    found: list[float | None] = []
    for table in tables:
        try:
            found.append(function(table) if len(table) else None)
        except ValueError:
            found.append(None)
    return found


# --- laws ---------------------------------------------------------------------------------------------


class _CaughtError(Exception):
    """Carries the results of the blocks."""


@contextlib.contextmanager
def _coarse() -> Iterator[None]:
    """Stop where the results of blocks are combined, on a coarse lattice, with functions in this process."""

    def combined(self: SampleAndAggregate, places: Any, noise: Any) -> Any:
        raise _CaughtError(tuple(places.tolist()), self)

    with (
        mock.patch.object(module, "STEPS", STEPS),
        mock.patch.object(module, "results", in_this_process),
        mock.patch.object(SampleAndAggregate, "combined", combined),
        mock.patch("spatialdp.curator.selections.questions.check_function"),
    ):
        yield


def _results_of(data: tuple[int, ...], coins: tuple[int, ...], terms: dict[str, Any]) -> tuple[Any, SampleAndAggregate]:
    points = (np.array(data, dtype=float)[:, None] * [1, 0] + 0.5).reshape(-1, 2)
    relation, function = terms["relation"], terms["function"]
    curator = sdp.Curator.rehearsal(points, DOMAIN, neighbours=relation, noise=_Coins(coins))
    try:
        curator.sample_and_aggregate(
            function, blocks=terms["blocks"], bounds=(0, 1), aggregate=terms["aggregate"], epsilon=1
        )
    except _CaughtError as caught:
        places, ask = caught.args
        return places, ask
    raise AssertionError("no results were combined")


@cache
def law_of_aggregate(data: tuple[int, ...], function: Any, blocks: int, aggregate: str, relation: str) -> LawOf:
    """Return the law of what is published, before it is put between the bounds, over all coins."""
    terms = {"function": function, "blocks": blocks, "aggregate": aggregate, "relation": relation}
    inside = sum(place in PLACES for place in data)
    law: LawOf = {}
    with _coarse():
        for coins in itertools.product(range(blocks), repeat=inside):
            places, ask = _results_of(data, coins, terms)
            for outcome, likely in _law_of_results(tuple(sorted(places)), ask).items():
                law[outcome] = law.get(outcome, 0.0) + likely / blocks**inside
    return law


def _law_of_results(places: tuple[int, ...], ask: SampleAndAggregate) -> LawOf:
    if ask.aggregate is Aggregate.MEDIAN:
        with mock.patch.object(module, "middle") as drawn:
            drawn.return_value = 0
            _REAL_COMBINED(ask, np.array(places), _Coins(()))
        values, count, epsilon, _ = drawn.call_args.args
        return law_of_middle(tuple(sorted(values.tolist())), count, epsilon)
    scale = float(ask.law.parameter)
    return _laplace(sum(places) - len(places) * (STEPS // 2), scale, math.ceil(_REACH * scale))


_REAL_COMBINED = SampleAndAggregate.combined


class _Place(Words):
    """A source of one word, which then takes one of the places of a run."""

    def __init__(self, word: Any, taken: int = 0) -> None:
        super().__init__([word])
        self._taken = taken

    def below(self, bounds: Any) -> Any:
        (self.places,) = bounds.tolist()
        return np.array([self._taken])


@cache
def law_of_middle(values: tuple[int, ...], count: int, epsilon: Fraction) -> LawOf:
    """Return P(place), from the words at which another run is drawn, and from the places of each run."""
    law: LawOf = dict.fromkeys(range(count), 0.0)

    def first(words: Any) -> list[int]:
        return [middle(np.array(values), count, epsilon, _Place(word)) for word in words]

    for low, high, start in boundaries(first, 2**64 - 1):
        source = _Place(low)
        middle(np.array(values), count, epsilon, source)
        for taken in range(source.places):
            place = middle(np.array(values), count, epsilon, _Place(low, taken))
            assert place == start + taken
            law[place] += (high - low + 1) / 2**64 / source.places
    return law


@cache
def _laplace(centre: int, scale: float, reach: int) -> LawOf:
    weight = math.tanh(1 / (2 * scale))
    return {value: weight * math.exp(-abs(value - centre) / scale) for value in range(-reach, reach + 1)}


# --- neighbours ---------------------------------------------------------------------------------------


def worst_aggregate(function: Any, blocks: int, aggregate: str, relation: str, most: int) -> float:
    """Return the largest log-ratio of all outcomes, over all neighbours with up to `most` records."""
    worst, places = 0.0, (*PLACES, 99)  # the last one is outside of the domain
    for data in multisets(places, most - (relation == "add-remove")):
        mine = law_of_aggregate(data, function, blocks, aggregate, relation)
        for other in set(neighbours(data, places, relation)):
            worst = max(worst, log_ratio(mine, law_of_aggregate(other, function, blocks, aggregate, relation)))
    return worst


def aggregates_cost_no_more_than_epsilon() -> None:
    """Check all functions, both aggregates and both relations, on a few records."""
    law_of_aggregate.cache_clear()
    law_of_middle.cache_clear()
    for function, aggregate, relation in itertools.product(FUNCTIONS, Aggregate, ("add-remove", "replace")):
        for blocks in (1, 3):
            worst = worst_aggregate(function, blocks, str(aggregate), relation, 3)
            assert worst <= 1 + CRUMBS, f"a log-ratio of {worst} for {function.__name__}"
