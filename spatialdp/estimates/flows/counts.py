"""Estimated flows between places: of all pairs, or of listed ones; and of margins. The kind of estimate ``"flows"``.

If all pairs were counted, pairs and margins are fitted, and every sum of pairs is answered with its noise. If pairs are
listed, a sum over pairs is about listed pairs alone; sums over all origins or all destinations are the margins, which
were counted by themselves and miss nothing. This module reads no record.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NoReturn

import numpy as np

from spatialdp._support.arrays import Floats, Integers
from spatialdp._support.override import override
from spatialdp.errors import ReleaseError
from spatialdp.estimates.base import moments_of
from spatialdp.estimates.flows.fit import CountNoise, product_moments
from spatialdp.estimates.intervals import half_width
from spatialdp.estimates.tables.boxes import ManyMaps
from spatialdp.space.frames.frame import Frame
from spatialdp.space.frames.selection import Selection, everything
from spatialdp.trees.adjust import NonNegative
from spatialdp.wording import either

__all__ = ["Answers", "FlowCounts", "Listing", "margins_of", "pairs_not_places"]


def pairs_not_places() -> NoReturn:
    """Refuse a question about a single map.

    Examples
    --------
    >>> pairs_not_places()
    Traceback (most recent call last):
    spatialdp.errors.ReleaseError: flows are between places, and this needs a map of single places; take ...
    """
    raise ReleaseError(
        "flows are between places, and this needs a map of single places; take the margins, "
        f"{either('release.places()', 'with --origin or --destination alone')}, or ask about pairs."
    )


@dataclass(frozen=True)
class Listing:
    """By what rule pairs were listed.

    Attributes
    ----------
    threshold : float
        The noisy count from which on a pair is listed.
    false : float
        How many pairs without trips are expected on the list, if all are without.
    """

    threshold: float
    false: float


@dataclass(frozen=True, eq=False)
class Answers:
    """Answers for products of sets, (sets of origins, sets of destinations), and their noise.

    Attributes
    ----------
    values, variance, kurtosis : arrays
    step : float
        Width of the lattice that the noise lies on.
    whole : bool
        Whether the noise of each answer is a whole multiple of the step.
    """

    values: Floats
    variance: Floats
    kurtosis: Floats
    step: float
    whole: bool

    def ends(self, level: float) -> Floats:
        """Return the ends of the intervals, in the last dimension."""
        half = half_width(self.variance, self.kurtosis, self.step, level, whole=self.whole)
        return np.stack([self.values - half, self.values + half], axis=-1)


@dataclass(frozen=True, eq=False)
class FlowCounts(ManyMaps):
    """Estimated counts of trips between the places of a frame.

    Attributes
    ----------
    frame : Frame
        Of one axis: space.
    numbers : int array or None
        The listed pairs, origin x places + destination, in order; None if all pairs are there.
    values : float array
        Estimated counts of the listed pairs, or of all.
    origins, destinations : (places,) float arrays
        Estimated counts of trips that begin, and that end, in each place.
    pair, margin : CountNoise
        The noise of single counts, before a fit. The margin is None if all pairs were counted, and nothing else.
    listing : Listing or None
        The rule of the list, if pairs are listed.
    biased : bool
        Whether the errors of the estimates no longer average out.
    """

    kind: ClassVar[str] = "flows"

    frame: Frame
    numbers: Integers | None
    values: Floats
    origins: Floats
    destinations: Floats
    pair: CountNoise
    margin: CountNoise | None
    listing: Listing | None = None
    biased: bool = False

    def __post_init__(self) -> None:
        for name in ("values", "origins", "destinations"):
            values = np.asarray(getattr(self, name), dtype=np.float64).view()
            values.setflags(write=False)
            object.__setattr__(self, name, values)

    @override
    def _refuse(self) -> NoReturn:
        pairs_not_places()

    @property
    def places(self) -> int:
        """Number of places."""
        return int(self.frame.space.size)

    @property
    def n_cells(self) -> int:
        """Number of published pairs."""
        return self.values.size

    @property
    def consistent(self) -> bool:
        """Whether pairs add up to margins: only if all pairs are there."""
        return self.numbers is None

    @property
    def total(self) -> float:
        """Estimated number of trips: the mean of what both margins say."""
        return float(self.origins.sum() + self.destinations.sum()) / 2

    @property
    def step(self) -> float:
        """Width of the lattice on which the noise of pairs lies."""
        return self.pair.step

    def ends_of_pairs(self) -> tuple[Integers, Integers]:
        """Return the places where the published pairs begin and end."""
        numbers = np.arange(self.places**2) if self.numbers is None else self.numbers
        origins, destinations = np.divmod(numbers, self.places)
        return origins, destinations

    def answers(self, origins: Selection | None, destinations: Selection | None) -> Answers:
        """Return the answers for all products of sets; None for all places."""
        every = everything(self.frame.space)
        if self.numbers is None:
            return self._of_all(origins or every, destinations or every)
        if origins is not None and destinations is not None:
            return self._of_listed(origins, destinations)
        if origins is None and destinations is None:
            noise = self._of_margins
            variance, fourth = (2 * self.places * each for each in (noise.variance / 4, noise.fourth / 16))
            moments = moments_of(np.full((1, 1), variance), np.full((1, 1), fourth))
            return Answers(np.full((1, 1), self.total), *moments, noise.step / 2, whole=True)
        if destinations is None:
            assert origins is not None
            return self._of_margin(origins, self.origins, (-1, 1))
        return self._of_margin(destinations, self.destinations, (1, -1))

    @property
    def _of_margins(self) -> CountNoise:
        assert self.margin is not None, "a list has margins that were counted"
        return self.margin

    @property
    def _in_steps(self) -> bool:
        """Whether the noise of each pair is that of its own count alone, and not of a fit."""
        return self.numbers is not None or self.margin is None

    @property
    def one_place(self) -> Selection:
        """The first place by itself; noise is the same for all."""
        return Selection(self.places, np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64))

    @property
    def pair_moments(self) -> tuple[float, float]:
        """Variance and excess kurtosis of the noise in one published pair."""
        if self.numbers is not None:
            return self.pair.variance, self.pair.kurtosis
        variance, kurtosis = product_moments(self.one_place, self.one_place, self.pair, self.margin)
        return float(variance.item()), float(kurtosis.item())

    @property
    def plain_variances(self) -> tuple[float, float, float]:
        """Variance of the noise in one pair, in one origin or destination, and in the count of all trips."""
        of_place, of_all = (self.answers(place, None).variance.item() for place in (self.one_place, None))
        return self.pair_moments[0], of_place, of_all

    def pair_answers(self) -> Answers:
        """Return the answers of all published pairs, in order."""
        variance, kurtosis = (np.full(self.values.size, each) for each in self.pair_moments)
        return Answers(self.values, variance, kurtosis, self.step, whole=self._in_steps)

    def place_answers(self, *, origins: bool) -> Answers:
        """Return the answers of the margins, one for each place: of origins, or of destinations."""
        of_one = self.answers(self.one_place, None)
        values = self.origins if origins else self.destinations
        variance, kurtosis = (np.full(values.size, each.item()) for each in (of_one.variance, of_one.kurtosis))
        return Answers(values, variance, kurtosis, of_one.step, of_one.whole)

    def non_negative(self, method: NonNegative = NonNegative.FAMILIES) -> FlowCounts:  # noqa: ARG002 - one way
        """Flows with negative counts set to 0; biased."""
        return self._with(lambda values: np.maximum(values, 0.0))

    def rounded(self) -> FlowCounts:
        """Flows of whole counts, each the nearest to the estimate; biased."""
        return self._with(np.rint)

    def _with(self, change: Any) -> FlowCounts:
        values, biased = change(self.values), True
        if self.numbers is None:
            origins, destinations = margins_of(values)
        else:
            origins, destinations = change(self.origins), change(self.destinations)
        return replace(self, values=values, origins=origins, destinations=destinations, biased=biased)

    def _of_all(self, origins: Selection, destinations: Selection) -> Answers:
        table = self.values.reshape(self.places, self.places)
        values = _as_matrix(destinations, 1) @ (_as_matrix(origins, 1) @ table).T
        moments = product_moments(origins, destinations, self.pair, self.margin)
        whole = self._in_steps and origins.shares is None and destinations.shares is None
        return Answers(values.T, *moments, self.step, whole=whole)

    def _of_listed(self, origins: Selection, destinations: Selection) -> Answers:
        values, squares, fourths = (self._over_list(origins, destinations, power) for power in (1, 2, 4))
        moments = moments_of(self.pair.variance * squares, self.pair.fourth * fourths)
        return Answers(values, *moments, self.step, whole=origins.shares is None and destinations.shares is None)

    def _over_list(self, origins: Selection, destinations: Selection, power: int) -> Floats:
        """Sum the listed counts, or powers of how much of each pair is covered, over products of sets."""
        from scipy.sparse import csr_array

        assert self.numbers is not None
        places = np.divmod(self.numbers, self.places)
        listed = self.values if power == 1 else np.ones(self.values.size)
        table = csr_array((listed, places), shape=(self.places, self.places))
        first, second = (_as_matrix(each, power) for each in (origins, destinations))
        return np.asarray((first @ table @ second.T).toarray())

    def _of_margin(self, sets: Selection, margin: Floats, shape: tuple[int, int]) -> Answers:
        shares = np.ones(sets.cells.size) if sets.shares is None else sets.shares
        owner = np.repeat(np.arange(sets.count), sets.sizes)
        squares, fourths = (
            np.bincount(owner, weights=shares**power, minlength=sets.count).astype(np.float64) for power in (2, 4)
        )
        noise = self._of_margins
        variance, kurtosis = moments_of(noise.variance * squares, noise.fourth * fourths)
        # A set of origins is a row of answers; one of destinations is a column.
        values, variance, kurtosis = (part.reshape(shape) for part in (sets.sums(margin), variance, kurtosis))
        return Answers(values, variance, kurtosis, noise.step, whole=sets.shares is None)


def margins_of(values: Floats) -> tuple[Floats, Floats]:
    """Return the sums of all pairs by origin, and by destination.

    Examples
    --------
    >>> [each.tolist() for each in margins_of(np.array([1.0, 2.0, 3.0, 4.0]))]
    [[3.0, 7.0], [4.0, 6.0]]
    """
    table = values.reshape(2 * (math.isqrt(values.size),))
    return table.sum(axis=1), table.sum(axis=0)


def _as_matrix(sets: Selection, power: int) -> Any:
    """Return how much of each place each set covers, to a power, as a sparse matrix."""
    from scipy.sparse import csr_array

    shares = np.ones(sets.cells.size) if sets.shares is None else sets.shares**power
    return csr_array((shares, sets.cells, np.append(sets.starts, sets.cells.size)), shape=(sets.count, sets.size))
