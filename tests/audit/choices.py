"""How likely is each region to be chosen? For all data sets of a few records, with the draws' own laws.

What a choice hands to its draw (scores, Δ, whether they are monotone) is caught on the way, and the law of the draw is
read off the sampler (`enumeration`). So scores, sensitivities and the rule are those of the package.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from typing import Any
from unittest import mock

import numpy as np

import spatialdp as sdp
from spatialdp.curator.selections import choice as module
from tests.audit.enumeration import (
    LawOf,
    exponential_law,
    log_ratio,
    multisets,
    neighbours,
    permute_and_flip_law,
)

PLACES = (0, 1, 2)
DOMAIN = sdp.Domain((0, 0, len(PLACES), 1))
BOXES = [(0, 0, 1, 1), (1, 0, 3, 1), (0, 0, 2, 1)]  # overlapping
LAWS = {"exponential": exponential_law, "permute-and-flip": permute_and_flip_law}
WEIGHTS: dict[str, tuple[Any, ...]] = {
    "plain": (1, 1, 1),
    "prices": (Fraction(1, 2), 2, 1),
    "signed": (1, -1, Fraction(1, 2)),
    "negative": (-1, -2, -1),
}
CRUMBS = 1e-9


class _CaughtError(Exception):
    """Carries the arguments of a draw."""


@cache
def law_of_choice(data: tuple[int, ...], weights: str, relation: str, selection: str, person: bool = False) -> LawOf:
    """Return P(region) for records at some places; or for one person with all of them."""
    points = np.array(data)[:, None] * [1, 0] + 0.5 if data else np.empty((0, 2))
    curator = sdp.Curator.rehearsal(points.reshape(-1, 2), DOMAIN, neighbours=relation)
    draws = {name: mock.Mock(side_effect=_caught) for name in ("exponential", "permute_and_flip")}
    with mock.patch.multiple(module, **draws):
        try:
            curator.choose(BOXES, WEIGHTS[weights], epsilon=1, selection=selection)
        except _CaughtError as caught:
            scores, epsilon, sensitivity, _, monotone = caught.args
    (called,) = (name for name, draw in draws.items() if draw.called)
    return LAWS[called.replace("_", "-")](tuple(scores), epsilon, sensitivity, monotone)


def _caught(*args: Any) -> Any:
    raise _CaughtError(*args)


def worst_choice(weights: str, relation: str, selection: str, most: int = 2) -> float:
    """Return the largest log-ratio of all regions, over all neighbours of up to `most` records."""
    return max(log_ratio(*(law_of_choice(each, weights, relation, selection) for each in pair))
               for pair in _pairs(relation, most))  # fmt: skip


def _pairs(relation: str, most: int) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    places = (*PLACES, 99)  # the last one is outside of the domain
    for data in multisets(places, most):
        yield from ((data, other) for other in set(neighbours(data, places, relation)))


@cache
def choices_cost_no_more_than_epsilon(weights: str, relation: str, selection: str) -> Callable[[], None]:
    """Return a check of all neighbours."""

    def check() -> None:
        law_of_choice.cache_clear()
        worst = worst_choice(weights, relation, selection)
        assert worst <= 1 + CRUMBS, f"a log-ratio of {worst}"

    return check
