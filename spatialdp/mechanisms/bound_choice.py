"""Which bound on a person's contribution is chosen? The first one at which a larger one would cost more than it saves.

A bound L cuts off whatever persons contribute beyond it. One more in L saves one record, or cell, of each of the N(L)
persons above L, and costs noise. So L should grow as long as N(L) is above a public threshold. The exponential
mechanism finds where N crosses the threshold. See ``docs/design/persons.md``.

Only `BoundChoice.draw` gets records. Thresholds must follow from public values alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise

from spatialdp._support.arrays import Integers
from spatialdp.privacy.noise.selection import exponential
from spatialdp.privacy.noise.source import Noise
from spatialdp.privacy.unit import Bound
from spatialdp.records.codes import Codes
from spatialdp.records.persons.contributions import persons_above
from spatialdp.records.points import Points
from spatialdp.records.zones import zone_persons_above
from spatialdp.space.domain import Grid
from spatialdp.space.zones.frame import Zones

__all__ = ["BoundChoice", "between", "crossing_scores", "handicaps", "thresholds"]

# Records crowd in few places, so boxes that matter miss more of what is cut off than their area says: about twice as
# much. The number was tuned on made-up data (``docs/design/persons.md``); it decides on accuracy alone.
CROWDING = 2

SENSITIVITY = Fraction(1)


@dataclass(frozen=True, eq=False)
class BoundChoice:
    """A private choice among public bounds: all that is public about it.

    Attributes
    ----------
    cells : Grid or Zones
        The cells, or the leaf zones, that persons are counted in.
    bound : Bound
        What is bounded: records or cells.
    epsilon : Fraction
        ε of the exponential mechanism.
    middles : tuple of int
        A number between each two neighbouring candidates; persons above it would gain from the larger candidate.
    thresholds : tuple of int
        For each two neighbouring candidates, how many persons must gain to make the larger one worth its noise.
    handicaps : tuple of int
        What is taken off the score of each candidate.

    Privacy
    -------
    Neighbours differ by one person with all of their records, added or removed, or replaced by another person. Let N(l)
    be the number of persons with more than l records (or cells, or leaf zones) in the frame. A person has one number of
    records, so adding or removing the person changes N(l) by 0 or 1. Replacing a person changes it by -1, 0 or 1,
    because one person leaves and one enters. So each gain N(l) - threshold moves by at most 1. The score of a candidate
    is the least of the gains of all steps up to it and of the losses of all steps beyond it (`crossing_scores`), less a
    public handicap. Of numbers that move by at most 1, the least moves by at most 1. So scores have sensitivity 1 under
    both relations, whatever the number of records that a person has, and the draw costs ε
    (`privacy.noise.selection.exponential`), or ρ = ε²/8 for Gaussian noise. Records without a person, and those outside
    the region, change nothing. Scores are checked by brute force in ``tests/mechanisms/test_bound_choice.py``, exact
    log-ratios of the choice, and of releases with it, in ``tests/audit/test_enumeration.py``.

    Notes
    -----
    A score by the number of records that are cut off would move by as much as one person has records: far more noise
    for the same cost.
    """

    cells: Grid | Zones
    bound: Bound
    epsilon: Fraction
    middles: tuple[int, ...]
    thresholds: tuple[int, ...]
    handicaps: tuple[int, ...]

    def scores(self, points: Points | Codes) -> list[Fraction]:
        """Return the exact score of each candidate; private."""
        above = _above(points, self.cells, self.bound, self.middles)
        scores = crossing_scores(above.tolist(), self.thresholds)
        return [score - handicap for score, handicap in zip(scores, self.handicaps, strict=True)]

    def draw(self, points: Points | Codes, noise: Noise) -> int:
        """Choose a bound privately; returns its place among the candidates."""
        return exponential(self.scores(points), self.epsilon, SENSITIVITY, noise)


def _above(points: Points | Codes, cells: Grid | Zones, bound: Bound, amounts: Sequence[int]) -> Integers:
    if isinstance(cells, Zones):
        return zone_persons_above(points, cells, bound, amounts)
    assert isinstance(points, Points), "codes are for zones"
    return persons_above(points, cells, bound, amounts)


def crossing_scores(above: Sequence[int], thresholds: Sequence[int]) -> list[Fraction]:
    """Return a score for each candidate: how clearly all steps up to it are worthwhile, and none beyond it.

    Parameters
    ----------
    above : sequence of int
        For each two neighbouring candidates, the number of persons who gain from the larger one.
    thresholds : sequence of int
        How many must gain to make the larger one worthwhile.

    Examples
    --------
    >>> [int(score) for score in crossing_scores([900, 300, 20], [100, 100, 100])]  # the third candidate is best
    [-800, -200, 80, -80]
    >>> [int(score) for score in crossing_scores([5, 3, 0], [100, 90, 80])]  # no step is worthwhile
    [80, -95, -95, -95]
    """
    gains = [Fraction(number - threshold) for number, threshold in zip(above, thresholds, strict=True)]
    up_to = list(accumulate(gains, min))
    beyond = list(accumulate((-gain for gain in reversed(gains)), min))[::-1]
    return [beyond[0], *map(min, up_to[:-1], beyond[1:]), up_to[-1]]


def between(candidates: Sequence[int]) -> tuple[int, ...]:
    """Return a number between each two neighbouring candidates, their geometric mean rounded down.

    Examples
    --------
    >>> between((1, 2, 5, 10, 20))
    (1, 3, 7, 14)
    """
    return tuple(math.isqrt(low * high) for low, high in pairwise(candidates))


def handicaps(candidates: Sequence[int], epsilon: Fraction) -> tuple[int, ...]:
    """Return what is taken off the score of each candidate, so that its odds are divided by the square root of it.

    A bound that is too large by a factor has that many times the noise. If few persons decide, the draw is a close
    one, and far too large a bound would be drawn too often.

    Examples
    --------
    >>> handicaps((1, 10, 100), Fraction(1, 20))  # e^(46/40) is √10
    (0, 46, 92)
    """
    return tuple(round(math.log(each / candidates[0]) / float(epsilon)) for each in candidates)


def thresholds(candidates: Sequence[int], deviations: Sequence[float], area: Fraction) -> tuple[int, ...]:
    """Return how many persons must gain from each step between candidates to make the larger one worthwhile.

    Parameters
    ----------
    candidates : sequence of int
    deviations : sequence of float
        For each candidate, the standard deviation of the noise in a box with a share `area` of the domain.
    area : Fraction

    Notes
    -----
    The step from L to L' keeps about (L' - L) N more of what was cut off, if N persons are above both. A box misses
    `area` of that if records are evenly spread, and `CROWDING` times as much as they are. Its noise grows by
    s' - s. So the step is worthwhile if N > (s' - s) / ((L' - L) · area · CROWDING). For Laplace noise on K cells and
    boxes of one cell this is N > √2 K / (ε CROWDING).

    Examples
    --------
    >>> thresholds((1, 10, 100), (2.0, 20.0, 200.0), Fraction(1, 100))
    (100, 100)
    """
    steps = zip(pairwise(candidates), pairwise(deviations), strict=True)
    return tuple(
        max(0, math.floor((wider - narrower) / ((high - low) * float(area) * CROWDING)))
        for (low, high), (narrower, wider) in steps
    )
