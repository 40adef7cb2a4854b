"""How are flows between places published? All pairs where they fit; else a list of those whose noisy count is large.

Trips that begin, and trips that end, in each place are counted by themselves, so that sums over all places miss
nothing. Pairs are all counted, and fitted to the margins; or there are too many of them, and those that are listed are
drawn by `privacy.noise.filter` without visiting empty ones, and counted afresh. Everything but the trips is public. See
``docs/mechanisms/flows.md`` and ``docs/design/flows.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from spatialdp._support.arrays import Integers, lookup
from spatialdp._support.options import Choice, Option
from spatialdp._support.override import override
from spatialdp.errors import ParameterError
from spatialdp.estimates.flows.counts import FlowCounts, margins_of
from spatialdp.estimates.flows.counts import Listing as ListedBy
from spatialdp.estimates.flows.fit import CountNoise, fitted, noise_ratio
from spatialdp.flows.release import FlowRelease
from spatialdp.mechanisms.base import Mechanism, Terms
from spatialdp.mechanisms.plan import Listing, Plan
from spatialdp.privacy.budget import Number, exact
from spatialdp.privacy.neighbours import Sensitivity, count_sensitivity
from spatialdp.privacy.noise.filter import MOST_FALSE, Filter
from spatialdp.privacy.noise.laws import Law, NoiseLaw, calibrate
from spatialdp.privacy.noise.source import Noise
from spatialdp.privacy.noise.stated import StatedNoise, stated
from spatialdp.privacy.statement import Privacy
from spatialdp.privacy.unit import Person
from spatialdp.records.rows.trips import Trips, as_trips, occupied_pairs
from spatialdp.release import Release
from spatialdp.space.domain import Grid
from spatialdp.space.frames.frame import Frame
from spatialdp.space.zones.frame import Zones
from spatialdp.wording import either, parameter, quoted

__all__ = ["FlowDesign", "Flows"]

MOST_PAIRS = 10**7  # that are all published
_LEAST_FALSE = Fraction(1, 10**12)
_BYTES_OF_A_TRIP = 60
_VISIBLE = 0.95  # a flow is called visible if it is listed with at least this probability


class Pairs(Option):
    """Which pairs are published: all, those listed, or whichever fits."""

    AUTO = "auto"
    ALL = "all"
    LISTED = "listed"


@dataclass(frozen=True)
class FlowDesign:
    """All that is public about a release of flows.

    Attributes
    ----------
    frame : Frame
    margin : NoiseLaw
        Noise of the counts of origins, and of destinations.
    pair : NoiseLaw
        Noise of the counts of pairs that are published.
    filter : Filter or None
        The rule by which pairs are listed, in steps of the counts; None if all pairs are published.
    costs : dict of str to Fraction
        Cost of each step.
    person : Person or None
        The bound on what one person contributes.
    fresh : bool
        Whether listed pairs are counted afresh.
    """

    frame: Frame
    margin: NoiseLaw
    pair: NoiseLaw
    filter: Filter | None
    costs: dict[str, Fraction]
    person: Person | None
    fresh: bool

    @property
    def steps(self) -> int:
        """Steps that make up one count."""
        return 1 if self.person is None else self.person.steps

    @property
    def noise(self) -> dict[str, StatedNoise]:
        """Law and parameter of the noise of each step."""
        choosing = [] if self.filter is None else [replace(self.pair, parameter=self.filter.scale)]
        pairs = [self.pair] if self.filter is None or self.fresh else []
        return stated(dict(zip(self.costs, [self.margin, self.margin, *choosing, *pairs], strict=True)))

    @property
    def listing(self) -> ListedBy | None:
        """The threshold in trips, and how many pairs without trips are expected on the list."""
        if self.filter is None:
            return None
        return ListedBy(self.filter.threshold / self.steps, self.filter.expected)

    def chance_of(self, count: int) -> float:
        """Return the probability with which a flow of a given size is listed."""
        return 1.0 if self.filter is None else self.filter.chance_of(count * self.steps)

    @property
    def smallest_visible(self) -> int:
        """The smallest flow that is listed with a probability of 95 %; 1 if all pairs are published."""
        low, high = 0, 1 if self.filter is None else 2 * math.ceil(self.filter.threshold / self.steps) + 2
        while self.chance_of(high) < _VISIBLE:
            high *= 2
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.chance_of(middle) >= _VISIBLE else (middle, high)
        return high


@dataclass(frozen=True)
class Flows(Mechanism):
    """Trips between places: counts of pairs of an origin and a destination, and of each by itself.

    Parameters
    ----------
    pairs : {"auto", "all", "listed"}
        ``"all"``: all pairs are counted, up to ten million, and fitted to the margins. ``"listed"``: pairs whose noisy
        count is at least a threshold are listed; the others are not published. ``"auto"``: all if there are no more
        than ten million, else those listed.
    false : number
        How many pairs without trips may be expected on the list, at most. It is public, and gives the threshold: the
        least whole number of trips at which no more are expected.
    remeasure : number
        Share of the pairs' budget that counts listed pairs afresh, from 0 up to 1. With 0 the published counts are
        those by which pairs were listed: the threshold is lower, but counts are too high on average and there are no
        intervals.
    margins : number
        Share of the budget for counts of origins and of destinations, half for each; between 0 and 1.

    Privacy
    -------
    A trip is in one pair, begins in one place and ends in one. If one trip is added or removed, each of the three
    groups of counts (origins, destinations, pairs) changes by 1 in L1 norm; if one is replaced, by 2 (1 if there is
    only one place). A person of at most k trips or pairs moves each group by k times as much, whichever places the
    trips share. Each group gets discrete Laplace noise of scale (L1 sensitivity) / (its share of ε), and the shares add
    up to ε. Listing is post-processing of noise on all pairs: `privacy.noise.filter` has that argument and its tests.
    Fresh counts are noisy counts of a list that is fixed before; they pay for themselves. There is no δ. Cormode,
    Procopiuc, Srivastava, Tran (ICDT 2012). ``tests/audit/test_flows.py`` computes sensitivities by brute force,
    enumerates lists, and replays neighbours.

    Notes
    -----
    A flow below about ln(pairs) / ε cannot be seen: choose places so coarse that the flows that matter are above.

    Examples
    --------
    >>> import spatialdp as sdp
    >>> grid = sdp.Domain((0, 0, 1, 1)).grid((4, 4))
    >>> trips = sdp.Trips([[0.1, 0.1]] * 500, [[0.9, 0.9]] * 500)
    >>> release = sdp.Flows().release(trips, grid, epsilon=1)
    >>> bool(450 < release.answer(origin=(0, 0, 0.25, 0.25), destination=(0.75, 0.75, 1, 1)) < 550)
    True
    """

    name: ClassVar[str] = "flows"
    frame: ClassVar[type] = Frame
    law: ClassVar[Law] = Law.DISCRETE_LAPLACE  # type: ignore[misc]  # its tails are known exactly

    pairs: Choice[Pairs] = Choice(Pairs.AUTO)
    false: Number = Fraction(1)
    remeasure: Number = Fraction(1, 4)
    margins: Number = Fraction(1, 5)

    def __post_init__(self) -> None:
        for name in ("false", "remeasure", "margins"):
            object.__setattr__(self, name, exact(getattr(self, name), name))
        if not _LEAST_FALSE <= self._number("false") <= MOST_FALSE:
            raise ParameterError(
                f"{parameter('false')} is {self.false}; it is how many pairs without trips may be expected on the "
                f"list, and must lie between 1e-12 and {MOST_FALSE:,}. Give 1, or a share of those you expect there."
            )
        if not 0 <= self._number("remeasure") < 1:
            raise ParameterError(
                f"{parameter('remeasure')} is {self.remeasure}; it is the share of the pairs' budget for fresh counts, "
                "and must be from 0 up to, not including, 1. Give 1/4, or 0 to publish the counts by which pairs were "
                "listed."
            )
        if not 0 < self._number("margins") < 1:
            raise ParameterError(
                f"{parameter('margins')} is {self.margins}; it is the share of the budget for counts of origins and of "
                "destinations, and must lie between 0 and 1. Give 1/5, for example."
            )

    def _number(self, name: str) -> Fraction:
        return exact(getattr(self, name), name)

    @override
    def _checked_frame(self, domain: Any) -> Frame:
        if isinstance(domain, Zones | Grid):
            return Frame(domain)
        if not isinstance(domain, Frame) or len(domain.axes) > 1:
            given = "a Frame with further axes" if isinstance(domain, Frame) else f"a {type(domain).__name__}"
            raise ParameterError(
                f"flows were given {given} as their places; give zones or a grid, such as "
                f"{either('domain.grid((32, 32))', '--zones FILE')}. Places are never taken from the trips."
            )
        return domain

    @override
    def _design(self, domain: Frame, terms: Terms) -> FlowDesign:
        places, listed = domain.space.size, self._lists(domain.space.size)
        whole = terms.spendable(self.law)
        margins = whole * self._number("margins")
        rest = whole - margins
        fresh = rest * self._number("remeasure") if listed else Fraction(0)
        costs = {"trips that begin in each place": margins / 2, "trips that end in each place": margins / 2}
        choosing = calibrate(self.law, rest - fresh, _sensitivity(places**2, terms))
        margin, person = calibrate(self.law, margins / 2, _sensitivity(places, terms)), terms.person
        if not listed:
            return FlowDesign(domain, margin, choosing, None, costs | {"trips of each pair": rest}, person, fresh=False)
        costs["choice of the listed pairs"] = rest - fresh
        if fresh:
            costs["trips of the listed pairs"] = fresh
        rule = Filter.expecting(self._number("false"), scale=choosing.parameter, cells=places**2)
        pair = calibrate(self.law, fresh, _sensitivity(places**2, terms)) if fresh else choosing
        return FlowDesign(domain, margin, pair, rule, costs, person, fresh=bool(fresh))

    def _lists(self, places: int) -> bool:
        """Whether pairs are listed; refuses to publish more than fit."""
        if self.pairs is Pairs.ALL and places**2 > MOST_PAIRS:
            raise ParameterError(
                f"{parameter('pairs')} is {quoted('all')}, but {places:,} places have {places**2:,} pairs, and at most "
                f"{MOST_PAIRS:,} are all published; choose {quoted('listed')}, or fewer places."
            )
        return self.pairs is Pairs.LISTED or places**2 > MOST_PAIRS

    @override
    def _plan(self, design: FlowDesign) -> Plan:
        pairs, listing = design.frame.space.size**2, None
        if design.filter is not None and design.listing is not None:
            threshold = math.ceil(design.listing.threshold)
            counts = sorted({max(1, threshold), design.smallest_visible, max(1, math.ceil(1.5 * threshold))})
            chances = {count: design.chance_of(count) for count in counts}
            listing = Listing(design.listing.threshold, design.listing.false, chances, _BYTES_OF_A_TRIP, "pairs")
        published = pairs if design.filter is None else math.ceil(design.filter.expected)
        return Plan(
            mechanism=self.name,
            cells=pairs,
            currency="epsilon",
            budget=design.costs,
            noise=design.noise,
            standard_deviation=math.sqrt(design.pair.variance),
            memory=100 * published,
            errors_of="flows",
            listing=listing,
        )

    @override
    def _errors(self, design: FlowDesign, domain: Frame) -> tuple[float, dict[str, float]]:
        """Standard deviation of the noise in one pair, and the errors to expect of a pair and of margins."""
        blank = self._estimate_of(design, None, np.zeros(0 if design.filter else domain.space.size**2))
        names = ("pair", "origin or destination", "all trips")
        roots = {name: math.sqrt(each) for name, each in zip(names, blank.plain_variances, strict=True)}
        return roots["pair"], roots

    @override
    def _missed(self, domain: Any) -> float | None:  # noqa: ARG002 - flows miss what their frame leaves out
        return None

    @override
    def _blank(self, design: FlowDesign) -> None:  # noqa: ARG002 - flows answer pairs and no boxes
        return None

    @override
    def _records(self, points: Any, domain: Frame, person: Person | None) -> Any:
        return as_trips(points, domain, person)

    @override
    def _published(self, domain: Frame, statement: Privacy, estimate: Any) -> Release:
        return FlowRelease(domain.domain, statement, estimate)  # type: ignore[arg-type]  # None for zones of codes

    @override
    def _estimate(self, points: Any, design: FlowDesign, noise: Noise) -> Any:
        trips: Trips = points
        places = design.frame.space.size
        occupied, counts = occupied_pairs(trips, design.frame, design.person)
        ends = np.divmod(occupied, places)
        origins, destinations = (design.margin.add_to(_sums(each, counts, places), noise) for each in ends)
        if design.filter is None:
            exact_counts = np.zeros(places**2, dtype=np.int64)
            exact_counts[occupied] = counts
            noisy = design.pair.add_to(exact_counts, noise).reshape(places, places)
            table = fitted(noisy, origins, destinations, noise_ratio(*map(_noise_of, (design.pair, design.margin))))
            return self._estimate_of(design, None, table.ravel())
        numbers, passing = design.filter.passing(occupied, counts, noise)
        if not design.fresh:
            return self._estimate_of(design, numbers, passing / design.steps, origins, destinations)
        fresh = design.pair.add_to(_counts_of(numbers, occupied, counts), noise)
        return self._estimate_of(design, numbers, fresh, origins, destinations)

    def _estimate_of(
        self, design: FlowDesign, numbers: Integers | None, values: Any, origins: Any = None, destinations: Any = None
    ) -> FlowCounts:
        """Return the estimate of published pairs; margins of a table that is all there are its sums."""
        places = design.frame.space.size
        if design.filter is None:
            origins, destinations = margins_of(values)
        elif numbers is None:
            numbers, origins, destinations = np.zeros(0, dtype=np.int64), np.zeros(places), np.zeros(places)
        pair, margin = map(_noise_of, (design.pair, design.margin))
        biased = design.filter is not None and not design.fresh
        return FlowCounts(design.frame, numbers, values, origins, destinations, pair, margin, design.listing, biased)


def _noise_of(law: NoiseLaw) -> CountNoise:
    return CountNoise(law.variance, law.kurtosis, law.step)


def _sensitivity(cells: int, terms: Terms) -> Sensitivity:
    """How far one trip, or one person, moves a group of so many disjoint counts."""
    one_trip = count_sensitivity(terms.neighbours, cells)
    return one_trip if terms.person is None else terms.person.sensitivity(one_trip)


def _sums(places: Integers, counts: Integers, size: int) -> Integers:
    """Return the exact sums of counts by place."""
    sums = np.zeros(size, dtype=np.int64)
    np.add.at(sums, places, counts)
    return sums


def _counts_of(numbers: Integers, occupied: Integers, counts: Integers) -> Integers:
    """Return the exact counts of listed pairs, of which the occupied ones are known."""
    found, places = lookup(numbers, occupied)
    exact_counts = np.zeros(numbers.size, dtype=np.int64)
    exact_counts[found] = counts[places[found]]
    return exact_counts
