"""Do lists of cells have the law that their proof assumes? Checks that planted bugs must fail.

A check raises AssertionError if it finds a mistake; seeds are fixed, and a false alarm has a chance below 1e-6.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from typing import Any

import numpy as np
from scipy import stats

import spatialdp as sdp
from spatialdp.mechanisms.adaptive import sparse
from spatialdp.privacy.noise import filter as filters
from spatialdp.privacy.noise.filter import Filter
from tests.audit.replay import replay
from tests.audit.sensitivity import centres
from tests.helpers.cases import LISTED, RELATIONS, Setting
from tests.helpers.laws import FALSE_ALARM

DOMAIN = sdp.Domain((0, 0, 1, 1))
COUNTS = (0, 0, 3, 0, 0, 1, 0, 0)


def lists_of(made: Filter, counts: tuple[int, ...], runs: int, seed: int) -> tuple[Any, Any]:
    """Return how often each set of cells is listed, and how far the values of empty cells are above the threshold."""
    noise, sets, excess = sdp.SeededNoise(seed), np.zeros(2 ** len(counts)), []
    occupied = np.flatnonzero(counts)
    held = np.array(counts)[occupied]
    for _ in range(runs):
        numbers, values = made.passing(occupied, held, noise)
        sets[(1 << numbers).sum()] += 1
        excess.append(values[np.array(counts)[numbers] == 0] - made.threshold)
    return sets, np.concatenate(excess)


def chances_of_sets(made: Filter, counts: tuple[int, ...]) -> Any:
    """Return the chance of each set of cells, if every cell gets noise of its own."""
    single = [made.chance_of(count) for count in counts]
    subsets = itertools.product((0, 1), repeat=len(counts))
    chances = {sum(bit << cell for cell, bit in enumerate(bits)): bits for bits in subsets}
    return np.array(
        [
            math.prod(p if bit else 1 - p for p, bit in zip(single, chances[subset], strict=True))
            for subset in range(2 ** len(counts))
        ]
    )


def agrees(seen: Any, chances: Any) -> float:
    """Return the p-value of numbers of outcomes; outcomes that are rarely expected are taken together."""
    expected = chances / chances.sum() * seen.sum()
    rare = expected < 8
    pooled = [np.append(each[~rare], each[rare].sum()) for each in (seen, expected)]
    if not pooled[1][-1]:
        pooled = [each[:-1] for each in pooled]
    return float(stats.chisquare(*pooled).pvalue)


def sets_have_the_law_of_dense_noise() -> None:
    """Check how often each set of eight cells is listed, and by how much empty cells exceed the threshold."""
    made = Filter(sdp.Sparse((8, 1)).prepare(DOMAIN, epsilon=1).design.choosing.parameter, len(COUNTS), 3)
    sets, excess = lists_of(made, COUNTS, 20_000, seed=2)
    assert agrees(sets, chances_of_sets(made, COUNTS)) > FALSE_ALARM, "sets of cells have another law"
    a = math.exp(-1 / float(made.scale))
    bins = np.bincount(np.minimum(excess, 8), minlength=9)
    geometric = np.array([(1 - a) * a**j for j in range(8)] + [a**8])
    assert agrees(bins, geometric) > FALSE_ALARM, "the values of empty cells have another law"


def places_are_uniform() -> None:
    """Check that all pairs of places of a block are equally likely."""
    pairs = filters.distinct_places(np.repeat(np.arange(40_000), 2), 3, sdp.SeededNoise(5)).reshape(-1, 2) % 8
    counts = Counter(map(tuple, pairs.tolist()))
    seen = np.array([counts[pair] for pair in itertools.combinations(range(8), 2)])
    assert seen.sum() == 40_000, "a place occurs twice"
    assert stats.chisquare(seen).pvalue > FALSE_ALARM, "some places are more likely than others"


def listed_counts_are_unbiased(releases: int = 1500) -> None:
    """Check that the errors of a listed cell at the threshold average out."""
    prepared = sdp.Sparse((8, 8)).prepare(DOMAIN, epsilon=1)
    count = prepared.design.filter.threshold
    records, noise, errors = np.full((count, 2), 0.3), sdp.SeededNoise(7), []
    for _ in range(releases):
        release = prepared.release(records, noise=noise)
        assert not release.estimate.biased
        listed = (release.estimate.columns == 2) & (release.estimate.rows == 2)
        errors += (release.estimate.values[listed] - count).tolist()
    error = np.std(errors) / len(errors) ** 0.5
    assert len(errors) > releases / 2
    assert abs(np.mean(errors)) < 5 * error, f"the mean error is {np.mean(errors) / error:.1f} standard errors"


def declared_is_the_maximum(case: str = "sparse") -> None:
    """Check by brute force that no record moves the counts by more than the noise of both steps is made for."""
    mechanism = LISTED[case]
    for relation in RELATIONS:
        design = mechanism.prepare(DOMAIN, epsilon=1, neighbours=relation).design
        worst = 0
        vectors = [_dense(sdp.Points(records), design) for records in centres(DOMAIN, mechanism.shape)]
        pairs = [(np.zeros_like(vectors[0]), each) for each in vectors]
        if relation == "replace":
            pairs += list(itertools.combinations(vectors, 2))
        for one, other in pairs:
            worst = max(worst, int(np.abs(one - other).sum()))
        costs = design.costs.values()
        laws = [law for law in (design.choosing, design.fresh) if law is not None]
        assert design.filter.scale == design.choosing.parameter
        assert all(law.parameter == worst / cost for law, cost in zip(laws, costs, strict=True)), "a wrong scale"


def _dense(points: sdp.Points, design: Any) -> Any:
    counts = np.zeros(design.grid.n_numbers, dtype=int)
    occupied, held = sparse.occupied_cells(points, design.grid)
    counts[occupied] = held
    return counts


def replayed(case: str = "sparse", relation: str = "add-remove", pairs: int = 25) -> Any:
    return lambda: replay(Setting(case, "whole", relation), pairs) and None
