"""What are noisy counts likely to be, if it is known what to expect of each? Empirical Bayes, from released numbers.

A count is its expectation times a ratio, and the ratios of all counts of a kind follow one law. The law is not known,
so it is fitted: of all laws on some classes of ratios, that under which the noisy counts are likeliest (Robbins; Kiefer
and Wolfowitz), by the EM algorithm. Each count is then estimated by its mean, given the law and its noisy value. Where
noise is small that is the noisy value; where noise is large it is what was expected, as far as expectations proved
right. One count in 10,000 may be anything, so that a large count which nobody expected is believed. See
``docs/design/trajectories.md``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from spatialdp._support.arrays import Floats

__all__ = ["BELL", "LAPLACE", "NoiseShape", "likely"]

_RATIOS = np.concatenate([[0.0], np.geomspace(0.03, 40.0, 37)])  # between classes of ratios
_COUNTS = 3.0 ** np.arange(14)  # between classes of counts, in scales of the noise
_UNEXPECTED = 1e-4  # share of the counts that may be anything
_ROUNDS = 60
_FITTED_ON = 2**14  # counts that the law is fitted on: those of the largest expectations
_AT_ONCE = 2**16  # counts that are estimated at a time


@dataclass(frozen=True)
class NoiseShape:
    """The law of noise of scale 1: how much of it lies below a value, and the part of its mean that lies there."""

    below: Callable[[Floats], Floats]
    mean_below: Callable[[Floats], Floats]


def _laplace_below(values: Floats) -> Floats:
    tail = np.exp(-np.abs(values)) / 2
    return np.where(values < 0, tail, 1 - tail)


def _laplace_mean_below(values: Floats) -> Floats:
    return np.asarray(-np.exp(-np.abs(values)) * (np.abs(values) + 1) / 2)


def _bell_below(values: Floats) -> Floats:
    from scipy.special import ndtr

    return np.asarray(ndtr(values))


def _bell_mean_below(values: Floats) -> Floats:
    return np.asarray(-np.exp(-(values**2) / 2) / np.sqrt(2 * np.pi))


LAPLACE = NoiseShape(_laplace_below, _laplace_mean_below)
BELL = NoiseShape(_bell_below, _bell_mean_below)  # of a sum of many


def likely(expected: Floats, noisy: Floats, scale: float, shape: NoiseShape = LAPLACE) -> Floats:
    """Return what counts are likely to be, given what is expected of each and its noisy value; none is negative.

    Parameters
    ----------
    expected, noisy : (n,) arrays
    scale : float
        Of the noise in each count: the scale of Laplace noise, or the standard deviation of a bell.
    shape : NoiseShape

    Examples
    --------
    >>> likely(np.array([5.0, 5.0]), np.array([7.0, -0.5]), 1e-3).round(2).tolist()
    [7.0, 0.0]
    >>> surely = np.full(100, 50.0)
    >>> likely(surely, surely + 10 * (-1.0) ** np.arange(100), 10.0, BELL).round().tolist()[:2]
    [51.0, 49.0]
    """
    if not expected.size:
        return np.zeros(0)
    most = np.argsort(-expected, kind="stable")[:_FITTED_ON]
    chances, _ = _classes(expected[most], noisy[most], scale, shape)
    ratios, counts = _RATIOS.size - 1, _COUNTS.size - 1
    weights = np.full(ratios, 1 / ratios)
    for _ in range(_ROUNDS):
        weights = _shares(chances[:, :ratios] * weights).sum(axis=0)
        weights /= max(weights.sum(), 1e-300)
    weights = np.concatenate([weights, np.full(counts, _UNEXPECTED / counts)])
    result = np.empty(expected.size)
    for low in range(0, expected.size, _AT_ONCE):
        part = slice(low, low + _AT_ONCE)
        chances, means = _classes(expected[part], noisy[part], scale, shape)
        weighed = chances * weights
        explained = weighed.sum(axis=1) > 0
        result[part] = np.where(explained, (_shares(weighed) * means).sum(axis=1), np.maximum(noisy[part], 0.0))
    return result


def _shares(weighed: Floats) -> Floats:
    """Return the share of each class in each count; zero where no class explains it."""
    sums = weighed.sum(axis=1, keepdims=True)
    return weighed / np.where(sums > 0, sums, 1.0)


def _classes(expected: Floats, noisy: Floats, scale: float, shape: NoiseShape) -> tuple[Floats, Floats]:
    """Return how likely each noisy count is in each class, (counts, classes), and the mean of the count then.

    Counts are spread evenly over a class.
    """
    ratios = np.maximum(expected, 1e-12)[:, None] * _RATIOS
    counts = np.broadcast_to(scale * _COUNTS, (expected.size, _COUNTS.size))
    low, high = (np.hstack([ratios[:, cut], counts[:, cut]]) for cut in (slice(None, -1), slice(1, None)))
    below, above = ((edge - noisy[:, None]) / scale for edge in (low, high))
    chances = np.maximum(shape.below(above) - shape.below(below), 0.0)
    partial = shape.mean_below(above) - shape.mean_below(below)
    means = noisy[:, None] + scale * partial / np.where(chances > 0, chances, 1.0)
    return chances / np.maximum((high - low) / scale, 1e-12), np.clip(means, low, high)
