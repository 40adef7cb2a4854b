"""What does a release hold, and how exact is it? In words and in figures, for every kind of numbers that releases have.

Each function knows every kind of estimate, or refuses it in words (``tests/contract/test_publishers.py``). Errors to
expect come from the noise of the released numbers themselves. Where the structure is public, these are the errors of
the plan, which was known before a record was read (``tests/outputs/certificate/test_numbers.py``).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import singledispatch
from itertools import pairwise, product
from typing import Any

import numpy as np

from spatialdp.errors import ReleaseError
from spatialdp.estimates.decomposition import Decomposition
from spatialdp.estimates.expected_error import expected_error, sized_boxes
from spatialdp.estimates.fields.field import Field
from spatialdp.estimates.flows.counts import FlowCounts
from spatialdp.estimates.histogram import Histogram
from spatialdp.estimates.networks.counts import NetworkCounts
from spatialdp.estimates.sparse.listed import ListedCells
from spatialdp.estimates.sparse.over_map import ListOverMap
from spatialdp.estimates.tables.counts import TableCounts
from spatialdp.estimates.trajectories.model import PathModel
from spatialdp.estimates.zones.counts import ZoneCounts
from spatialdp.networks.release import composed_in_words
from spatialdp.running_release import RunningRelease
from spatialdp.space.domain import Domain
from spatialdp.table_release import disjoint_in_words

__all__ = ["Exactness", "contents", "disjoint", "exactness", "numbers_of"]

_FLOWS = ("one pair", "the trips that begin, or end, in one place", "all trips")
_SHARES = {"1 % of the domain's area": 0.01, "10 % of the domain's area": 0.1, "the whole domain": 1.0}

_CUT = (
    "Where an area cuts a {part}, its records are assumed to be evenly spread there. Intervals about the truth have an "
    "allowance for that, which is estimated from the released numbers and calibrated on public data sets; it is not a "
    "guarantee. For areas made of whole {part}s there is nothing to allow for."
)
_BY_TOTAL = (
    "Only the total was measured; it is divided evenly over the area. Where the records lie within it, the release "
    "does not say."
)
_SMOOTHED = (
    "Estimates are smoothed, which biases them by a little. Intervals and the errors above are those of the unbiased "
    "estimates behind them."
)


@dataclass(frozen=True)
class Exactness:
    """The errors to expect from noise, and what intervals cover.

    Attributes
    ----------
    of : str
        What the errors are errors of, as the head of a column.
    errors : tuple of (str, float)
        The root-mean-square error that noise causes, by name; empty if errors do not average out.
    notes : tuple of str
        What intervals cover and what they do not.
    """

    of: str
    errors: tuple[tuple[str, float], ...]
    notes: tuple[str, ...]


def numbers_of(release: Any) -> Any:
    """Return the released numbers: the estimate of a release, or a running release itself."""
    return getattr(release, "estimate", release)


# --- what there is ---------------------------------------------------------------------------------


@singledispatch
def contents(numbers: Any) -> str:
    """Return which numbers there are, as the end of a sentence.

    Examples
    --------
    >>> import spatialdp as sdp
    >>> release = sdp.Flat(shape=(4, 2)).release([], sdp.Domain((0, 0, 1, 1)), epsilon=1)
    >>> contents(release.estimate)
    'in the 8 cells of a grid of 4 × 2'
    """
    raise _unknown(numbers)


@contents.register
def _(numbers: Histogram) -> str:
    nx, ny = numbers.grid.shape
    return f"in the {_cells(numbers.n_cells, nx * ny)} of a grid of {nx:,} × {ny:,}"


@contents.register
def _(numbers: Decomposition) -> str:
    height = numbers.tree.height
    levels = f"{height} level{'s' * (height != 1)}"
    return f"in the {numbers.n_cells:,} leaves of a tree of {levels}, and in larger areas"


@contents.register
def _(numbers: Field) -> str:
    nx, ny = numbers.grid.shape
    return f"in {numbers.n_cells:,} blocks of a grid of {nx:,} × {ny:,} cells"


@contents.register
def _(numbers: ListedCells) -> str:
    nx, ny = numbers.grid.shape
    every = _cells(numbers.grid.n_cells, nx * ny)
    return f"in {numbers.n_cells:,} listed cells, out of {every} of a grid of {nx:,} × {ny:,}"


@contents.register
def _(numbers: ListOverMap) -> str:
    return f"{contents(numbers.map)}, and {contents(numbers.listed)}"


@contents.register
def _(numbers: ZoneCounts) -> str:
    zones = numbers.zones
    sizes = (stop - start for start, stop in pairwise(zones.shape.offsets.tolist()))
    levels = ", ".join(f"{size:,} of level {name}" for name, size in zip(zones.levels, sizes, strict=True))
    if numbers.listed:
        return f"in those zones of a public frame whose noisy count passed a threshold ({levels})"
    return f"in the zones of a public list ({levels})"


@contents.register
def _(numbers: TableCounts) -> str:
    return f"in the {_sizes(numbers.frame)} of a table"


@contents.register
def _(numbers: NetworkCounts) -> str:
    return f"in the {_sizes(numbers.frame)} of a table, by a model of tables of each axis and its parents"


@contents.register
def _(numbers: RunningRelease) -> str:
    months = f"up to month {numbers.months} of {numbers.root.horizon}"
    return f"in the {_sizes(numbers.frame)} of a table, for single months and running totals {months}"


@contents.register
def _(numbers: FlowCounts) -> str:
    pairs = f"in the {numbers.n_cells:,} pairs of {numbers.places:,} places"
    if numbers.listing is not None:
        pairs = f"in {numbers.n_cells:,} listed pairs of {numbers.places:,} places"
    return f"{pairs}, and in the trips that begin, and that end, in each place"


@contents.register
def _(numbers: PathModel) -> str:
    return (
        f"as whole trajectories (a record is one of them): of {numbers.ends.n_cells:,} pairs of ends, of lengths, of "
        f"extents, and of moves in {numbers.system.side:,} × {numbers.system.side:,} cells, from which synthetic "
        "trajectories are drawn"
    )


def _cells(inside: int, every: int) -> str:
    return f"{inside:,} cells" if inside == every else f"{inside:,} cells in the region"


def _sizes(frame: Any) -> str:
    sizes = " × ".join(f"{frame.axes[name].size:,} ({name})" for name in frame.names)
    return f"{frame.n_cells:,} cells, {sizes}," if len(frame.names) > 1 else f"{frame.n_cells:,} cells"


@singledispatch
def disjoint(numbers: Any) -> str:  # noqa: ARG001 - most releases need no such words
    """Return why all parts of a table cost ε once; nothing for releases that are no tables.

    Examples
    --------
    >>> import spatialdp as sdp
    >>> release = sdp.Flat(shape=(4, 2)).release([], sdp.Domain((0, 0, 1, 1)), epsilon=1)
    >>> disjoint(release.estimate)
    ''
    """
    return ""


@disjoint.register
def _(numbers: TableCounts) -> str:
    return disjoint_in_words(numbers.frame)


@disjoint.register
def _(numbers: NetworkCounts) -> str:  # noqa: ARG001 - the same for every network
    return composed_in_words()


@disjoint.register
def _(numbers: RunningRelease) -> str:
    return (
        f"A record is in one cell of one month at most, so all {numbers.root.horizon} months together cost ε once. A "
        "record that occurs in several months counts as several."
    )


# --- how exact it is -------------------------------------------------------------------------------


@singledispatch
def exactness(numbers: Any, domain: Domain | None) -> Exactness:  # noqa: ARG001 - every kind takes both
    """Return the errors to expect from noise, and what intervals cover.

    Examples
    --------
    >>> import spatialdp as sdp
    >>> domain = sdp.Domain((0, 0, 1, 1))
    >>> release = sdp.Flat(shape=(64, 64)).release([], domain, epsilon=1)
    >>> [round(error, 1) for _, error in exactness(release.estimate, domain).errors]
    [8.2, 27.0, 86.8]
    """
    raise _unknown(numbers)


@exactness.register
def _(numbers: Histogram, domain: Domain) -> Exactness:
    return _of_boxes(numbers, domain, _BY_TOTAL if numbers.noise.by_total else _CUT.format(part="cell"))


@exactness.register
def _(numbers: Decomposition, domain: Domain) -> Exactness:
    return _of_boxes(numbers, domain, _CUT.format(part="block"))


@exactness.register
def _(numbers: Field, domain: Domain) -> Exactness:
    return _of_boxes(numbers, domain, _SMOOTHED, _CUT.format(part="block"))


@exactness.register
def _(numbers: FlowCounts, domain: Domain | None) -> Exactness:  # noqa: ARG001 - places may be codes alone
    errors = () if numbers.biased else tuple(zip(_FLOWS, map(math.sqrt, numbers.plain_variances), strict=True))
    if numbers.listing is None:
        return Exactness("one count of", errors, ("Pairs add up to what begins and ends in each place.",))
    note = (
        f"Pairs are listed whose noisy count is at least {numbers.listing.threshold:,.6g}; of all others nothing is "
        f"said. About {numbers.listing.false:,.2g} listed pairs are expected to be without trips. What begins and ends "
        "in each place was counted by itself and misses nothing."
    )
    return Exactness("one count of", errors, (note,))


@exactness.register
def _(numbers: PathModel, domain: Domain) -> Exactness:  # noqa: ARG001 - the model has no answers of boxes
    deviations = {
        "one pair of ends": numbers.ends.pair.variance,
        "one class of lengths": float(numbers.lengths.by_length.variance[0]),
        "one class of extents": float(numbers.extents.by_kind.variance[0]),
        "all trajectories": float(numbers.lengths.total.variance[0]),
    }
    note = (
        "Counts of ends, lengths and extents have intervals. Synthetic trajectories, and what is counted in them, have "
        "none: pairs of ends and moves are drawn towards what is expected of them, and a trajectory of many positions "
        "weighs as much as one of few. The method is experimental."
    )
    return Exactness("one number of", tuple((name, math.sqrt(each)) for name, each in deviations.items()), (note,))


@exactness.register
def _(numbers: ListedCells, domain: Domain) -> Exactness:  # noqa: ARG001 - the list knows its domain
    errors = () if numbers.biased else (("one listed cell", math.sqrt(numbers.variance)),)
    note = (
        "Estimates and intervals of an area are about the records in its listed cells, and say nothing of the others. "
        "Where an area cuts a listed cell, intervals about the truth allow for records that all lie in one place of it."
    )
    return Exactness("counts of", errors, (numbers.in_words(), note))


@exactness.register
def _(numbers: ListOverMap, domain: Domain) -> Exactness:
    return _of_boxes(numbers, domain, numbers.in_words(), _CUT.format(part="block"))


def _of_boxes(numbers: Any, domain: Domain, *notes: str) -> Exactness:
    shares = () if numbers.biased else _SHARES.items()
    errors = ((name, expected_error(numbers.unbiased, sized_boxes(domain, share))) for name, share in shares)
    return Exactness("boxes that cover", tuple(errors), notes)


@exactness.register
def _(numbers: ZoneCounts, domain: Domain | None) -> Exactness:  # noqa: ARG001 - zones may have no place
    zones = numbers.zones
    levels = () if numbers.biased else enumerate(zones.levels)
    errors = ((name, _mean_deviation(numbers.of_nodes(_nodes(zones, depth)).variance)) for depth, name in levels)
    note = (
        "Intervals about the truth are guaranteed, also those of areas that cut zones: they go from what lies in the "
        "zones inside to what lies in the zones that the area touches. Estimates of such areas assume that records "
        "are evenly spread within a zone, which they need not be."
    )
    return Exactness("one zone of the level", tuple(errors), (note,))


@exactness.register
def _(numbers: TableCounts, domain: Domain | None) -> Exactness:  # noqa: ARG001 - as above
    errors = () if numbers.biased else _errors_of_parts(numbers)
    return Exactness("one part of the table", tuple(errors), (_OF_TABLES,))


@exactness.register
def _(numbers: NetworkCounts, domain: Domain | None) -> Exactness:  # noqa: ARG001 - as above
    return Exactness("one part of the table", (), (_OF_MODELS,))


@exactness.register
def _(numbers: RunningRelease, domain: Domain | None) -> Exactness:  # noqa: ARG001 - as above
    last = numbers.months
    firsts = {f"month {last} alone": last, f"the total of months 1 to {last}": 1}
    weights = {name: numbers.root.weights(first - 1, last) for name, first in firsts.items()}
    errors = ((name, math.sqrt(numbers.variance * float((each**2).sum()))) for name, each in weights.items())
    return Exactness("one cell", tuple(errors), (_OF_TABLES,))


_OF_TABLES = (
    "Intervals are about the noise. For whole cells, times and categories, and sums of them, they cover the true "
    "counts. For a box that cuts cells, the records of a cell are assumed to be evenly spread there, and intervals do "
    "not allow for the error of that."
)
_OF_MODELS = (
    "Answers and synthetic records are those of a model, which leaves out how most axes depend on each other. They "
    "have no intervals. The measured counts of each axis and its parents have."
)


def _errors_of_parts(numbers: TableCounts) -> Iterable[tuple[str, float]]:
    """Return the errors of the products of levels that a plan shows, finest last."""
    frame, squares = numbers.frame, numbers.noise.level_variances()
    levels = [
        [level for level, counted in enumerate(frame.axes[name].counted) if counted or not level]
        for name in frame.names
    ]
    for chosen in product(*levels):
        of_axis = dict(zip(frame.names, chosen, strict=True))
        named = " × ".join(frame.axes[name].names[level] for name, level in of_axis.items())
        yield named, math.sqrt(squares[tuple(of_axis[name] for name in frame.axes)])


def _nodes(zones: Any, depth: int) -> Any:
    level = zones.shape.level(depth)
    return np.arange(level.start, level.stop)


def _mean_deviation(variances: Any) -> float:
    return math.sqrt(float(np.mean(variances)))


def _unknown(numbers: Any) -> ReleaseError:
    return ReleaseError(
        f"a certificate cannot describe a release of kind {numbers.kind!r}; save the release, and describe it in words "
        "of your own."
    )
