"""What does the same adversary get from differentially private releases? Guesses from noisy counts, and their bounds.

The adversary knows where a person is and adds up, over all releases, the noisy counts of each sensitive value in the
person's cell. The largest sum is the guess. Whatever the adversary does, R releases of ε each bound it:

- **presence**: odds that a person is in the data change by at most e^(R ε);
- **value**: odds of one value against another change by at most e^(2 R ε) if neighbours differ by a record more or
  less, because another value is another record: one is removed and one is added. If neighbours replace a record, the
  bound is e^(R ε) for both.

With even odds before, guesses are right with probability 1 / (1 + 1 / odds) at most. An event that tells members from
others has an advantage of (odds - 1) / (odds + 1) at most. Where members and non-members are drawn at random, a
non-member is on average a member who was left out, so this bounds their difference, but for its sampling error. These
bounds hold for adversaries who know all other records; `known_others` computes what the best of them achieves against
counts with discrete Laplace noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from spatialdp._support.arrays import Floats, Integers
from spatialdp._support.checks import whole_number
from spatialdp.privacy.budget import Budget, Number
from spatialdp.privacy.neighbours import Neighbours

__all__ = ["Bounds", "bounds", "guesses_from_counts", "known_others"]

_LARGEST = 700.0  # exp of more is infinite


@dataclass(frozen=True)
class Bounds:
    """Limits that no adversary exceeds, whatever else is known, for a number of releases.

    Attributes
    ----------
    budget : Fraction
        ε of all releases together.
    presence_odds, value_odds : float
        By how much odds can change at most: that a person is in the data, and of one value against another.
    presence_right, value_right : float
        The largest probability of a right guess, if both answers are equally likely before.
    advantage : float
        The most by which guesses about members can be better than about others.
    """

    budget: Fraction
    presence_odds: float
    value_odds: float
    presence_right: float
    value_right: float
    advantage: float


def bounds(epsilon: Number, releases: int = 1, neighbours: str = Neighbours.ADD_REMOVE) -> Bounds:
    """Return the bounds for a number of releases of ε each.

    Examples
    --------
    >>> limits = bounds(0.1, releases=2)
    >>> round(limits.presence_right, 3), round(limits.value_right, 3), round(limits.advantage, 3)
    (0.55, 0.599, 0.1)
    >>> round(bounds(0.1, releases=2, neighbours="replace").value_right, 3)
    0.55
    """
    total = Budget(epsilon).epsilon * whole_number(releases, "releases", 1, 2**31)
    apart = 2 if Neighbours.parse(neighbours) is Neighbours.ADD_REMOVE else 1  # steps between two values
    one, two = float(total), float(total * apart)
    return Bounds(total, _exp(one), _exp(two), _right(one), _right(two), math.tanh(one / 2))


def _exp(power: float) -> float:
    return math.exp(power) if power < _LARGEST else math.inf


def _right(power: float) -> float:
    return 1 / (1 + math.exp(-power)) if power < _LARGEST else 1.0


def known_others(epsilon: Number, releases: int = 1) -> tuple[float, float]:
    """Return how often the best adversary, who knows all other records, guesses presence and value right.

    The counts have discrete Laplace noise of ε for each release, and both answers are equally likely before. A count
    that is 1 higher is seen as such with probability p = 1 / (1 + e^-ε), and all that matters of it is whether it is:
    presence is guessed by the majority of R such signs, a value by that of 2 R, half of them in each of two cells.

    Examples
    --------
    >>> [round(right, 3) for right in known_others(0.1, releases=2)]
    [0.525, 0.537]
    >>> [round(right, 3) for right in known_others(1, releases=2)]
    [0.731, 0.822]
    """
    count = whole_number(releases, "releases", 1, 2**20)
    chance = _right(float(Budget(epsilon).epsilon))
    return _majority(count, chance), _majority(2 * count, chance)


def _majority(signs: int, chance: float) -> float:
    """Return the probability that most of a number of signs are right; a tie is guessed."""
    from scipy.stats import binom

    half = signs // 2
    tie = float(binom.pmf(half, signs, chance)) / 2 if signs % 2 == 0 else 0.0
    return float(binom.sf(half, signs, chance)) + tie


def guesses_from_counts(counts: Floats) -> Integers:
    """Return the value with the largest noisy count, added up over the releases so far.

    Parameters
    ----------
    counts : (releases, people, values) array
        The noisy count of each value in the cell of each person.

    Returns
    -------
    (releases, people) int array

    Examples
    --------
    >>> guesses_from_counts(np.array([[[1.0, 0.0]], [[0.0, 3.0]]])).tolist()
    [[0], [1]]
    """
    return np.asarray(np.cumsum(counts, axis=0).argmax(axis=2))
