"""Questions of a curator whose answers are choices, or come from a function of the user's own.

They are methods of `session.Curator`, which has this class as a base.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction

import numpy.typing as npt

from spatialdp._support.checks import whole_number
from spatialdp.curator.aggregate.aggregation import Aggregate, SampleAndAggregate
from spatialdp.curator.aggregate.processes import Function, check_function
from spatialdp.curator.answers import Answers
from spatialdp.curator.asks import Spending
from spatialdp.curator.base import Holder
from spatialdp.curator.counts import read_areas
from spatialdp.curator.selections.choice import Choice, Selection, Weights
from spatialdp.curator.selections.threshold import AboveThreshold, Threshold
from spatialdp.errors import ParameterError
from spatialdp.privacy.budget import Number, exact
from spatialdp.wording import parameter, quoted

__all__ = ["SelectionQuestions"]

_MOST_REGIONS = 100_000
_MOST_BLOCKS = 10_000
_FURTHEST = 2**62
_LONGEST = 10**6  # seconds


class SelectionQuestions(Holder):
    """The questions `choose`, `above_threshold` and `sample_and_aggregate`."""

    def choose(
        self,
        regions: npt.ArrayLike,
        weights: Iterable[Number] | None = None,
        *,
        epsilon: Number,
        selection: str = Selection.PERMUTE_AND_FLIP,
    ) -> Answers:
        """Choose the region with the most records, or with the largest weight times the number of records.

        The price of a choice does not depend on how many regions there are: ask for one of 100,000 rather than for
        100,000 counts.

        Parameters
        ----------
        regions : (m, 4) array-like of boxes, or a list, GeoSeries or GeoDataFrame of polygons
            Public; at most 100,000. They may overlap, and a record counts in each that contains it.
        weights : iterable of numbers, optional
            Public; one for each region. Positive and negative ones together are allowed, and cost accuracy.
        epsilon : int, float, Decimal or Fraction
            What the question spends; floats are taken as typed.
        selection : {"permute-and-flip", "exponential"}
            How the region is drawn. Permute-and-flip is never worse on average. In an account that pays for choices
            from its pot of zCDP, the exponential mechanism costs a quarter.

        Returns
        -------
        Answers
            With the place of a region among `regions`, from 0.

        Examples
        --------
        The best of four quarters:

        >>> import spatialdp as sdp
        >>> curator = sdp.Curator.rehearsal([[0.1, 0.2]] * 50 + [[0.8, 0.9]] * 80, sdp.Domain((0, 0, 1, 1)))
        >>> quarters = [(0, 0, 0.5, 0.5), (0.5, 0, 1, 0.5), (0, 0.5, 0.5, 1), (0.5, 0.5, 1, 1)]
        >>> curator.choose(quarters, epsilon=1).values
        3

        Which price brings in most? Bids are points along x. Who bids at least r pays r, so the region of the price r
        is where bids of at least r are, and its weight is r. Here 300 bid 2 and 100 bid 5, and 2 brings in 800:

        >>> bids = sdp.Curator.rehearsal([[2, 0.5]] * 300 + [[5, 0.5]] * 100, sdp.Domain((0, 0, 10, 1)))
        >>> prices = [1, 2, 3, 4, 5, 6]
        >>> prices[bids.choose([(price, 0, 10, 1) for price in prices], prices, epsilon=1).values]
        2
        """
        spending, drawn = Spending.of(epsilon), Selection.parse(selection, "selection")
        areas = read_areas(regions, self._frame.domain)
        if areas.single or areas.size > _MOST_REGIONS:
            raise ParameterError(
                f"{parameter('regions')} has {areas.size} {areas.noun}; give a list of at most {_MOST_REGIONS:,} to "
                "choose from."
            )
        return self._answer(Choice(self._frame, spending, areas, Weights.of(weights, areas.size), drawn))

    def above_threshold(self, threshold: Number, limit: int = 1, *, epsilon: Number) -> AboveThreshold:
        """Open a threshold, and ask of one area after the other whether its count is above it.

        All of ε is paid when the threshold is opened. Answers "below" cost nothing more, however many there are; after
        `limit` answers "above", no more questions are answered. No counts are given: ask for the count of an area that
        is above, which costs again.

        **If all areas are known beforehand, use `choose`**, several times if you look for several areas. Among 1000
        areas with some 20 records, this finds 3 areas with 80 records in half of all cases at ε = 1, and three choices
        for the same ε always do (``docs/choices.md``). It is for questions that follow from earlier answers, or that
        come one by one.

        Parameters
        ----------
        threshold : number
            Public. A count is above if it is at least so large, up to noise.
        limit : int
            How many answers "above" there are. Noise grows with it.
        epsilon : int, float, Decimal or Fraction
            What all answers together spend; floats are taken as typed.

        Returns
        -------
        AboveThreshold
            To use in a ``with`` statement; its method ``ask`` takes an area. Other questions may be asked in between.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> curator = sdp.Curator.rehearsal([[0.1, 0.2]] * 500 + [[0.8, 0.9]] * 20, sdp.Domain((0, 0, 1, 1)))
        >>> with curator.above_threshold(200, epsilon=1) as above:
        ...     above.ask((0.5, 0.5, 1, 1)), above.ask((0, 0, 0.5, 0.5))
        (False, True)
        """
        spending, least = Spending.of(epsilon), math.ceil(exact(threshold, "threshold"))
        if abs(least) > _FURTHEST:
            raise ParameterError(f"{parameter('threshold')} is {quoted(threshold)}; give a count, such as 500.")
        most = whole_number(limit, "limit", 1, 10**6)
        ask = Threshold(self._frame, spending, least, most)
        return self._answer(ask)

    def sample_and_aggregate(
        self,
        function: Function,
        *,
        blocks: int,
        bounds: tuple[Number, Number],
        aggregate: str = Aggregate.MEDIAN,
        epsilon: Number,
        columns: Sequence[str] = (),
        seconds: float = 60,
    ) -> Answers:
        """Run a function of your own on blocks of the records, and publish the noisy median of its results.

        Each record tosses a coin for its block. The function is called for each block, in a process of its own, and
        one record changes what one block returns; so nobody has to know how sensitive the function is.

        Parameters
        ----------
        function : callable
            Takes an array with a row for each record of a block, x and y and then `columns`, and returns a number. It
            is loaded in new processes, so it must be defined with ``def`` in a module or a script. Try it on public
            points first: nothing is said if it fails.
        blocks : int
            Public. More blocks need less noise, and each has fewer records: its result is further from that of all
            records.
        bounds : (low, high)
            Public. Results are clipped to them. Where a block is empty, fails, takes too long or returns no finite
            number, its result is the middle.
        aggregate : {"median", "mean"}
            What is published of the results. The mean has an interval, about the mean of the blocks' results alone.
        epsilon : int, float, Decimal or Fraction
            What the question spends; floats are taken as typed.
        columns : sequence of str
            Columns beside the points that the function gets, as numbers.
        seconds : float
            How long a block may take. Public.

        Returns
        -------
        Answers
            With one number between the bounds.

        Notes
        -----
        The function must not read anything private but its argument. How long all blocks take together is not hidden.
        A function that was written to attack could leave a file for other blocks, or use up the machine so that they
        take too long; then one record would change several results. Read a function before you run it.

        Examples
        --------
        >>> import numpy as np
        >>> import spatialdp as sdp
        >>> rows = sdp.Rows(sdp.Points(np.full((500, 2), 0.5)), price=np.arange(500))
        >>> curator = sdp.Curator.rehearsal(rows, sdp.Domain((0, 0, 1, 1)), noise=sdp.SeededNoise(1))
        >>> answer = curator.sample_and_aggregate(np.max, blocks=4, bounds=(0, 1000), columns=["price"], epsilon=20)
        >>> bool(400 < answer.values < 500)
        True
        """
        spending, combined = Spending.of(epsilon), Aggregate.parse(aggregate, "aggregate")
        number = whole_number(blocks, "blocks", 1, _MOST_BLOCKS)
        names = tuple(self._frame.column(name) for name in columns)
        limit = exact(seconds, "seconds")
        if not 0 < limit <= _LONGEST:
            raise ParameterError(
                f"{parameter('seconds')} is {quoted(seconds)}; give a number above 0, at most {_LONGEST:,}, such as 60."
            )
        checked = _checked_bounds(bounds)
        check_function(function)
        ask = SampleAndAggregate(self._frame, spending, function, number, checked, combined, float(limit), names)
        return self._answer(ask)


def _checked_bounds(bounds: tuple[Number, Number]) -> tuple[Fraction, Fraction]:
    try:
        low, high = bounds
    except (TypeError, ValueError):
        low = high = 0
    ends = exact(low, "bounds"), exact(high, "bounds")
    if not float(ends[0]) < float(ends[1]) or not math.isfinite(float(ends[1]) - float(ends[0])):
        raise ParameterError(
            f"{parameter('bounds')} is {quoted(bounds)}; give two numbers, the lower one first, such as "
            f"{quoted((0, 100))}."
        )
    return ends
