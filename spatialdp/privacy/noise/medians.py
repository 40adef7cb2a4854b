"""Private medians: where to split every node of one tree level, drawn in one call.

A node is a public range [low, high) of lattice coordinates and the records in it. A split line s has low < s < high;
records with a value below s go left. Any of the high - low - 1 lines can be drawn, whatever the records are. `medians`
draws by one of three methods.

One rule covers both neighbour relations. A level is analysed for adding or removing one record, which touches one node.
Replacing a record removes it from one node and adds it to another (or the same), two such steps, so *replace at ε is
add-remove at ε / 2*. For a single node, more than ε / 2 would sometimes be possible; for a level, where the record can
change nodes, it would not.

Draws are exact. Doubles only filter: each draw comes with an interval that is proven to contain the true value, and if
the interval does not lie on one side of every boundary, the draw is decided again in integers, with more random bits if
necessary. A change here must keep the error bounds in `_choose` and in `smooth`. See ``docs/design/noise.md``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from spatialdp._support.arrays import Booleans, Floats, Integers
from spatialdp._support.options import Option
from spatialdp.errors import BudgetError, ParameterError, PointsError
from spatialdp.privacy.neighbours import Neighbours
from spatialdp.privacy.noise import thresholds
from spatialdp.privacy.noise.selection import amplified_epsilon, decide
from spatialdp.privacy.noise.smooth import smooth_lines
from spatialdp.privacy.noise.source import WIDEST, Noise
from spatialdp.wording import parameter

__all__ = ["Median", "check_epsilon", "medians"]

_WIDEST = 2**40  # lattice lines in a node

# Exponential method. Node totals are scaled to at most 2^61, so sums of a node never overflow.
_TOTAL_BITS = 61
_DIGIT_BITS = 12  # bits of a gap that one table of exponentials covers
_VANISHING = 90  # 2^40 lines times exp(-90) times 2^61 is below one unit
_TABLE_PRECISION = 256
_MARGIN = 2**15  # see `_choose`
_LEAST = Fraction(1, 10**15)  # ε of a level

# Noisy mean: each node's range is divided into this many public steps.
_STEPS = 2**16

# An upper bound of the noise scale of the sum, times ε, under both relations.
_NOISY_MEAN_SCALE = 4 * _STEPS


class Median(Option):
    """The method by which a split line is drawn privately."""

    EXPONENTIAL = "exponential"
    SMOOTH = "smooth"
    NOISY_MEAN = "noisy-mean"


@dataclass(frozen=True)
class _Nodes:
    """The nodes of one level and their records, as in `medians`; every node has at least one line to split at."""

    values: Integers
    starts: Integers
    low: Integers
    high: Integers
    weights: Integers | None = None

    @property
    def counts(self) -> Integers:
        return np.diff(self.starts)

    @property
    def weights_before(self) -> Integers:
        """Sum of the weights of all values before each one, in all nodes; one entry more than values."""
        if self.weights is None:
            return np.arange(self.values.size + 1)
        return np.concatenate([[0], np.cumsum(self.weights)])


def medians(
    values: npt.ArrayLike,
    starts: npt.ArrayLike,
    low: npt.ArrayLike,
    high: npt.ArrayLike,
    *,
    method: Median,
    epsilon: Fraction,
    neighbours: Neighbours,
    noise: Noise,
    sampling: Fraction | None = None,
    weights: Integers | None = None,
) -> Integers:
    """Draw one private split line for each node of a level.

    Parameters
    ----------
    values : int array
        Lattice coordinates of all records, node after node, sorted within each node.
    starts : int array
        Where each node begins in `values`, and at the end the number of values: one entry more than nodes.
    low, high : int array
        Public range [low, high) of each node, at most 2^40 wide; it contains the node's values.
    method : Median
    epsilon : Fraction
        Cost of the whole level.
    neighbours : Neighbours
    noise : Noise
    sampling : Fraction, optional
        Use only a secret sample, which includes each record with this probability, and spend correspondingly more on
        it. For speed; with add-remove neighbours only.
    weights : int array, optional
        How much each value counts, instead of 1; then ε is the cost for neighbours that differ by a weight of 1. For
        the exponential method without sampling only.

    Returns
    -------
    int64 array
        A line s for each node, low < s < high. A node less than two wide cannot be split: it gets s = high.

    Privacy
    -------
    Cost ε under the given relation, for all nodes together; the number of records is used only inside the mechanisms.
    The arguments are with `_exponential`, `smooth.smooth_lines`, `_noisy_mean` and `selection.amplified_epsilon`.

    Examples
    --------
    >>> from spatialdp.privacy.noise.source import SystemNoise
    >>> medians([3, 4, 5, 9], [0, 4, 4], [0, 16], [16, 18], method=Median.EXPONENTIAL, epsilon=Fraction(1000),
    ...         neighbours=Neighbours.ADD_REMOVE, noise=SystemNoise())
    array([ 5, 17])
    """
    method, neighbours = Median.parse(method), Neighbours.parse(neighbours)
    check_epsilon(method, epsilon)
    nodes, splittable = _checked(values, starts, low, high)
    nodes = replace(nodes, weights=_checked_weights(weights, nodes, method, sampling))
    if sampling is not None:
        nodes, epsilon = _sampled(nodes, epsilon, sampling, neighbours, noise)
    one_step = epsilon if neighbours is Neighbours.ADD_REMOVE else epsilon / 2
    if not splittable.size:
        return nodes.low
    lines = _METHODS[method](nodes, Fraction(one_step), noise)
    return np.where(splittable, lines, np.asarray(high, dtype=np.int64))


def check_epsilon(method: Median, epsilon: Fraction) -> None:
    """Refuse an ε that is too small for a method, as `medians` does; for callers that have not read records yet.

    Examples
    --------
    >>> check_epsilon(Median.SMOOTH, Fraction(1, 10**20))
    """
    if epsilon <= 0:
        raise ParameterError(f"epsilon is {epsilon}; it must be above 0.")
    if method is Median.EXPONENTIAL and epsilon < _LEAST:
        raise BudgetError(
            f"{parameter('epsilon')} is below 1e-15 for the split lines of a level ({float(epsilon):.2g}), too "
            f"little for the records to matter; choose a larger {parameter('epsilon')} or "
            f"{parameter('median_share')}, or {parameter('data_levels', 0)} for midpoints."
        )
    if method is Median.NOISY_MEAN and _NOISY_MEAN_SCALE / epsilon > WIDEST:
        raise BudgetError(
            f"{parameter('epsilon')} is too small for noisy means; choose {parameter('median', 'exponential')}, or a "
            f"larger {parameter('epsilon')}."
        )


# --- checks of the input ---------------------------------------------------------------------------


def _checked(
    values: npt.ArrayLike, starts: npt.ArrayLike, low: npt.ArrayLike, high: npt.ArrayLike
) -> tuple[_Nodes, Booleans]:
    """Return the nodes, and which of them can be split; the others are widened to one line, which is not used."""
    lower, upper = np.asarray(low, dtype=np.int64), np.asarray(high, dtype=np.int64)
    begin, records = np.asarray(starts, dtype=np.int64), _lattice(values)
    if begin.shape != (lower.size + 1,) or lower.shape != upper.shape or lower.ndim != 1 or records.ndim != 1:
        raise ParameterError(
            "starts, low and high do not fit each other; give flat arrays, starts with one entry more than the others."
        )
    if begin[0] != 0 or begin[-1] != records.size or (np.diff(begin) < 0).any():
        raise ParameterError(
            "starts does not rise from 0 to the number of values; give where each node begins, and their number."
        )
    if lower.size and not 0 <= (upper - lower).min() <= (upper - lower).max() <= _WIDEST:
        raise ParameterError(f"a node is too wide or of negative width; high - low must lie between 0 and {_WIDEST}.")
    nodes = _Nodes(records, begin, lower, np.maximum(upper, lower + 2))
    if not _in_order(nodes):
        raise PointsError(
            "values are not sorted within each node, or lie outside its range; sort them, and give their ranges."
        )
    return nodes, upper - lower >= 2


def _checked_weights(
    weights: Integers | None, nodes: _Nodes, method: Median, sampling: Fraction | None
) -> Integers | None:
    if weights is not None and (method is not Median.EXPONENTIAL or sampling is not None):
        raise ParameterError(
            "values have weights, which only the exponential method without sampling knows; give each value as often "
            "as it counts."
        )
    if weights is not None and weights.shape != nodes.values.shape:
        raise ParameterError("weights and values have different lengths; give one weight for each value.")
    return weights


def _lattice(values: npt.ArrayLike) -> Integers:
    """Return values as signed integers; int32 stays as it is, to save memory."""
    records = np.asarray(values)
    if records.size and not np.issubdtype(records.dtype, np.integer):
        raise PointsError("values are not integers; give lattice coordinates: snap the records to the lattice first.")
    return records if records.dtype in (np.int32, np.int64) else records.astype(np.int64)


def _in_order(nodes: _Nodes) -> bool:
    # Values may fall only where another node begins.
    falls = np.flatnonzero(nodes.values[1:] < nodes.values[:-1]) + 1
    occupied = np.flatnonzero(nodes.counts)
    first, last = nodes.values[nodes.starts[occupied]], nodes.values[nodes.starts[occupied + 1] - 1]
    inside = (first >= nodes.low[occupied]).all() and (last < nodes.high[occupied]).all()
    return bool(inside and np.isin(falls, nodes.starts).all())


def _sampled(
    nodes: _Nodes, epsilon: Fraction, rate: Fraction, neighbours: Neighbours, noise: Noise
) -> tuple[_Nodes, Fraction]:
    """Return the nodes with a secret sample of their records, and the ε that may be spent on the sample."""
    if neighbours is not Neighbours.ADD_REMOVE:
        raise ParameterError(
            f"{parameter('sampling')} was given with replace neighbours; it amplifies privacy only if data sets "
            "differ by adding or removing a record. Leave sampling out, or use add-remove neighbours."
        )
    spend = amplified_epsilon(epsilon, rate)
    kept = noise.bernoulli(rate, nodes.values.size)
    starts = np.concatenate([[0], np.cumsum(kept)])[nodes.starts]
    return _Nodes(nodes.values[kept], starts, nodes.low, nodes.high), spend


# --- exponential mechanism -------------------------------------------------------------------------


@dataclass(frozen=True)
class _Intervals:
    """Runs of lines of equal rank, as long as possible, node after node; runs without lines are left out.

    A run has `sizes` lines, the first of which is `before` + 1. The rank of its lines is `gaps` further away from the
    median's rank than that of the node's best run. Node i has the runs starts[i] to starts[i+1].
    """

    before: Integers
    sizes: Integers
    gaps: Integers
    starts: Integers


def _exponential(nodes: _Nodes, epsilon: Fraction, noise: Noise) -> Integers:
    """Draw lines by the exponential mechanism: line s of rank r = #{values < s} has weight exp(-ε |r - n/2|).

    If values have weights, ranks and n are sums of weights.

    Privacy
    -------
    Neighbours: add or remove one record, or values with a weight of 1 together. That moves n/2 by 1/2 and r by 0 to 1
    in the same direction, so the score |r - n/2| has sensitivity 1/2, and exp(-ε |r - n/2|) is the exponential
    mechanism at ε. Nodes are disjoint: a record touches one. Worst ratios over random neighbours, both relations:
    ``tests/privacy/noise/test_medians.py::test_exponential_median_ratio``.

    Notes
    -----
    Lines between two neighbouring records have the same rank: a run of lines is drawn first, and then a line
    uniformly in it.
    """
    runs = _intervals(nodes)
    chosen = _choose(runs, epsilon, noise)
    return runs.before[chosen] + 1 + noise.below(runs.sizes[chosen])


def _intervals(nodes: _Nodes) -> _Intervals:
    # Entry starts[i] + i + r is rank r of node i: its lines end at the node's value r (from 0), or at high - 1.
    ends = np.insert(nodes.values.astype(np.int64), nodes.starts[1:], nodes.high - 1)
    firsts = nodes.starts[:-1] + np.arange(nodes.low.size)
    # The lines of a rank begin behind those of the rank before, the first of a node behind low.
    sizes = np.empty_like(ends)
    np.subtract(ends[1:], ends[:-1], out=sizes[1:])
    sizes[firsts] = ends[firsts] - nodes.low
    kept = np.flatnonzero(sizes)
    starts = np.append(np.searchsorted(kept, firsts), kept.size)
    sizes = sizes[kept]
    # |2 r - n|, twice the distance of a rank from the median's, and by how much it exceeds the node's least.
    node, before = np.repeat(np.arange(firsts.size), np.diff(starts)), nodes.weights_before
    distance = np.abs(2 * before[kept - node] - (before[nodes.starts[:-1]] + before[nodes.starts[1:]])[node])
    distance -= np.repeat(np.minimum.reduceat(distance, starts[:-1]), np.diff(starts))
    return _Intervals(ends[kept] - sizes, sizes, distance >> 1, starts)


def _choose(runs: _Intervals, rate: Fraction, noise: Noise) -> Integers:
    """Draw one run for each node, with probability proportional to size * exp(-rate * gap), exactly.

    Notes
    -----
    Weights become integers, scaled by a power of two so that a node's sum Q is between 2^59 and 2^61; integer sums are
    exact, also those that wrap around in earlier nodes. Errors, in units: a weight is the product of a size and at most
    five table values, each correctly rounded, and is off by 2^-49 of itself; rounding down costs 1. So each cumulative
    sum of c runs is off by at most c + 2^12, and so is Q. The target is off by another 2^10 + 1 for its own rounding in
    doubles. A target farther than 2c + 2^15 from the ends of its run is therefore in the right run. Other targets
    (about 2^-44 of the words for each boundary of a small node, 2^-38 in a node of two million records) are decided by
    `selection.decide`.
    """
    sums, weights = _integer_weights(runs, rate)
    begin, end = runs.starts[:-1], runs.starts[1:] - 1
    base = sums[begin] - weights[begin]
    words = noise.uniform_words(begin.size)
    target = (words.astype(np.float64) * 2.0**-64 * (sums[end] - base)).astype(np.int64)
    chosen = _bisect(sums, base, target, begin, end)
    margin = 2 * (end - begin) + _MARGIN
    above = sums[chosen] - base
    unsure = (above - target < margin) & (chosen < end)
    unsure |= (target - above + weights[chosen] < margin) & (chosen > begin)
    for node in np.flatnonzero(unsure):
        chosen[node] = begin[node] + _decide_node(runs, int(node), rate, int(words[node]), noise)
    return chosen


def _integer_weights(runs: _Intervals, rate: Fraction) -> tuple[Integers, Integers]:
    """Return the cumulative sums of the runs' weights over all nodes, and the weights, as scaled integers."""
    weights = runs.sizes.astype(np.float64)
    last, digits = _decay(rate)
    gaps = np.minimum(runs.gaps, last)
    for shift, table in digits:
        weights *= table.take((gaps >> shift) & (2**_DIGIT_BITS - 1))
    # Each node is scaled by a power of two, so that its sum lies below 2^61.
    _, exponents = np.frexp(np.add.reduceat(weights, runs.starts[:-1]))
    weights *= np.repeat(np.ldexp(1.0, _TOTAL_BITS - exponents), np.diff(runs.starts))
    integers = weights.astype(np.int64)
    return np.cumsum(integers), integers


@lru_cache(maxsize=64)
def _decay(rate: Fraction) -> tuple[int, tuple[tuple[int, Floats], ...]]:
    """Return the gap from which on weights vanish, and tables of exp(-rate g) for each 12 binary digits of a gap g."""
    last = math.ceil(_VANISHING / rate)
    shifts = range(0, last.bit_length(), _DIGIT_BITS)
    assert len(shifts) <= 5, "more tables, and weights would be less precise than `_choose` says"
    return last, tuple((shift, _powers(rate * 2**shift, min(2**_DIGIT_BITS, (last >> shift) + 1))) for shift in shifts)


def _powers(rate: Fraction, count: int) -> Floats:
    """Return exp(-rate k) for k below count: down to exp(-90) correctly rounded but for 2^-100, from exp(-177) zero."""
    ratio, power = thresholds.exp_floor(rate, _TABLE_PRECISION), 1 << _TABLE_PRECISION
    powers = np.zeros(count)
    for k in range(count):
        powers[k] = power / (1 << _TABLE_PRECISION)
        power = power * ratio >> _TABLE_PRECISION
    return powers


def _bisect(sums: Integers, base: Integers, target: Integers, begin: Integers, end: Integers) -> Integers:
    """Return for each node the first run whose cumulative sum exceeds the target, or the node's last run."""
    low, high = begin.copy(), end.copy()
    for _ in range(int((end - begin).max()).bit_length()):
        middle = (low + high) >> 1
        exceeds = sums[middle] - base > target
        high = np.where(exceeds, middle, high)
        low = np.where(exceeds, low, np.minimum(middle + 1, high))
    return low


def _decide_node(runs: _Intervals, node: int, rate: Fraction, word: int, noise: Noise) -> int:
    part = slice(runs.starts[node], runs.starts[node + 1])
    sizes, gaps = runs.sizes[part].tolist(), runs.gaps[part].tolist()
    return decide(sizes, gaps, rate, word, lambda: int(noise.uniform_words(1)[0]))


# --- noisy mean ------------------------------------------------------------------------------------


def _noisy_mean(nodes: _Nodes, epsilon: Fraction, noise: Noise) -> Integers:
    """Draw the noisy mean in place of a median (Inan et al. 2010), from a noisy sum and a noisy count.

    Privacy
    -------
    Neighbours: add or remove one record. A node's range is divided into R = 2^16 public steps and a value
    becomes the odd integer 2 step + 1 - R, its distance from the middle, so the sum has sensitivity R - 1 and the
    count 1, whatever the width. Each costs ε/2: exact discrete Laplace noise of scale 2 (R - 1) / ε and
    2 / ε. The rest is post-processing. Brute force:
    ``tests/privacy/noise/test_medians.py::test_noisy_mean_sensitivity``.

    Notes
    -----
    A noisy count below about two of its standard deviations says nothing, so the sum is divided by at least 4 / ε. This
    pulls the line of a small node to the middle.
    """
    width = nodes.high - nodes.low
    sums = _centred_sums(nodes) + noise.laplace(2 * (_STEPS - 1) / epsilon, width.size)
    counts = nodes.counts + noise.laplace(2 / epsilon, width.size)
    offset = sums / np.maximum(counts, float(4 / epsilon)) / (2 * _STEPS)
    lines = np.floor((0.5 + np.clip(offset, -0.5, 0.5)) * width + 0.5).astype(np.int64)
    return np.asarray(np.clip(nodes.low + lines, nodes.low + 1, nodes.high - 1))


def _centred_sums(nodes: _Nodes) -> Integers:
    """Return for each node the sum over its records of 2 step + 1 - R, as in `_noisy_mean`."""
    counts = nodes.counts
    offset = nodes.values - np.repeat(nodes.low, counts)
    steps = (2 * offset + 1) * _STEPS // np.repeat(2 * (nodes.high - nodes.low), counts)
    sums = np.concatenate([[0], np.cumsum(2 * steps + 1 - _STEPS)])
    return np.diff(sums[nodes.starts])


def _smooth(nodes: _Nodes, epsilon: Fraction, noise: Noise) -> Integers:
    return smooth_lines(nodes.values, nodes.starts, nodes.low, nodes.high, epsilon, noise)


_METHODS: dict[Median, Callable[[_Nodes, Fraction, Noise], Integers]] = {
    Median.EXPONENTIAL: _exponential,
    Median.SMOOTH: _smooth,
    Median.NOISY_MEAN: _noisy_mean,
}
