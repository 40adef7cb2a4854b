"""Which lower bound on ε do samples of two neighbours prove? Search for an event, then measure it on other samples.

If a release is (ε, δ)-private, P(E | D) <= exp(ε) P(E | D') + δ for every event E. The event is searched for in a part
of the samples. On the other samples, which the search must not use, Clopper and Pearson's bounds of the two
probabilities certify a lower bound on ε. The bound is wrong with probability `alpha` at most, whatever the search does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import stats

LEARNT, JUDGED = 0.2, 0.1  # shares of the samples that make events, and that choose one of them
_CAUTION = 1e-3  # error probability of the bounds that choose an event, so that rare events do not look too good
_DIGITS = 7  # most columns in a product of events
_CLEAR = 4.0  # standard errors by which the means of a column must differ
_TAIL = np.geomspace(1e-3, 0.05, 20)
_SLICES = np.concatenate([_TAIL, np.linspace(0.05, 0.95, 101), 1 - _TAIL[::-1]])  # finer at the ends, which prove most


def certified(first: Any, second: Any, *, alpha: float, delta: float = 0.0) -> float:
    """Return a certified lower bound on ε from two samples, (trials, numbers) each; at least 0."""
    cuts = [int(LEARNT * len(first)), int((LEARNT + JUDGED) * len(first))]
    (learn, judge, test), (learn_other, judge_other, test_other) = (np.split(each, cuts) for each in (first, second))
    event, swapped = _best_event((learn, learn_other), (judge, judge_other), delta)
    hits = np.array([event(test).sum(), event(test_other).sum()])
    one, other = hits[::-1] if swapped else hits
    return float(max(0.0, bound(one, other, len(test), alpha, delta)))


def bound(hits: Any, others: Any, trials: int, alpha: float, delta: float) -> Any:
    """Return ln((p - δ) / q) for a lower bound p and an upper bound q; both hold with probability 1 - alpha."""
    low = stats.beta.ppf(alpha / 2, hits, trials - hits + 1)
    high = stats.beta.ppf(1 - alpha / 2, others + 1, trials - others)
    low, high = np.where(hits == 0, 0.0, low) - delta, np.where(others == trials, 1.0, high)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(low > 0, np.log(np.maximum(low, 1e-300)) - np.log(high), -np.inf)


def _best_event(learn: Any, judge: Any, delta: float) -> tuple[Callable[[Any], Any], bool]:
    """Return the event with the largest bound on the judging part, and whether the second sample has it more often."""
    candidates = []
    for classify in (_whole_rows(*learn), *_orthants(*learn), _likelihood(*learn), _projection(*learn)):
        if classify is None:
            continue
        learnt, judged = ([classify(sample) for sample in part] for part in (learn, judge))
        size = max(codes.max() for codes in (*learnt, *judged)) + 1
        counts = [[np.bincount(codes, minlength=size) for codes in part] for part in (learnt, judged)]
        for swapped in (False, True):
            ordered = [part[::-1] if swapped else part for part in counts]
            candidates.append((*_best_union(*ordered, delta), classify, swapped))
    _, classes, classify, swapped = max(candidates, key=lambda each: each[0])
    return (lambda sample: np.isin(classify(sample), classes)), swapped


def _best_union(learnt: Any, judged: Any, delta: float) -> tuple[float, Any]:
    """Return the best bound of a union of classes, and its classes: those with the largest likelihood ratios."""
    one, other = learnt
    order = np.argsort(-np.log((one + 0.5) / (other + 0.5)), kind="stable")
    ours, theirs = (np.cumsum(counts[order]) for counts in judged)
    sizes = np.unique(np.linspace(0, order.size - 1, min(order.size, 300)).astype(int))
    values = bound(ours[sizes], theirs[sizes], int(ours[-1]), _CAUTION, delta)
    best = int(np.argmax(values))
    return float(values[best]), order[: sizes[best] + 1]


def _whole_rows(first: Any, second: Any) -> Callable[[Any], Any] | None:
    """Return a classifier with a class for every outcome, if there are few; all new outcomes are one more class."""
    rows = np.unique(np.concatenate([first, second])[:2000], axis=0)
    if len(rows) > 300:
        return None
    known = {row.tobytes(): i for i, row in enumerate(np.unique(np.concatenate([first, second]), axis=0))}

    def classify(sample: Any) -> Any:
        distinct, place = np.unique(sample, axis=0, return_inverse=True)
        return np.array([known.get(row.tobytes(), len(known)) for row in distinct])[place.ravel()]

    return classify


def _orthants(first: Any, second: Any) -> Iterator[Callable[[Any], Any]]:
    """Yield classifiers by products of events: each of the clearest columns is low, between or high."""
    ranked = _clear_columns(first, second)[:_DIGITS]
    for number in range(1, ranked.size + 1):
        digits = _digits(first, second, ranked[:number])
        yield lambda sample, digits=digits, number=number: digits(sample) @ 3 ** np.arange(number)


def _clear_columns(first: Any, second: Any) -> Any:
    """Return the columns whose means clearly differ, the clearest first; at least one column."""
    error = np.maximum(first.std(axis=0), 1e-9) * math.sqrt(2 / len(first))
    clear = np.abs(first.mean(axis=0) - second.mean(axis=0)) / error
    return np.argsort(-clear, kind="stable")[: max(1, int((clear > _CLEAR).sum()))]


def _digits(first: Any, second: Any, columns: Any) -> Callable[[Any], Any]:
    """Return a function that says for each column whether it is low, between or high, relative to the two means."""
    means = first[:, columns].mean(axis=0), second[:, columns].mean(axis=0)
    low, high = np.minimum(*means), np.maximum(*means)
    lower, upper = low + 0.1 * (high - low), high - 0.1 * (high - low)
    return lambda sample: (sample[:, columns] > lower).astype(np.int64) + (sample[:, columns] >= upper)


def _likelihood(first: Any, second: Any) -> Callable[[Any], Any]:
    """Return a classifier by slices of the likelihood ratio of all clear columns, as if they were independent.

    If a mechanism spends its budget on many numbers, they are hardly ever all on the side that proves most.
    """
    columns = _clear_columns(first, second)
    digits, places = _digits(first, second, columns), np.arange(columns.size)
    seen = [[(digits(sample) == value).sum(axis=0) + 0.5 for value in range(3)] for sample in (first, second)]
    ratios = np.log(np.array(seen[1])) - np.log(np.array(seen[0]))

    def score(sample: Any) -> Any:
        return ratios[digits(sample), places].sum(axis=1)

    edges = np.unique(np.quantile(score(np.concatenate([first, second])), _SLICES))
    return lambda sample: np.searchsorted(edges, score(sample), side="right")


def _projection(first: Any, second: Any) -> Callable[[Any], Any]:
    """Return a classifier by slices along Fisher's direction, in which the two samples differ most."""
    both = np.concatenate([first - first.mean(axis=0), second - second.mean(axis=0)])
    covariance = both.T @ both / len(both)
    ridge = 1e-9 * max(float(np.trace(covariance)), 1e-9) * np.eye(len(covariance))
    direction = np.linalg.solve(covariance + ridge, second.mean(axis=0) - first.mean(axis=0))
    projected = np.concatenate([first, second]) @ direction
    edges = np.unique(np.quantile(projected, np.linspace(0, 1, 201)[1:-1]))
    return lambda sample: np.searchsorted(edges, sample @ direction, side="right")
