"""Which release is the map of a table at one time, of one category? An ordinary one, under the table's own promise.

The table was paid for as a whole, so a map of it has the privacy statement of the whole table; a map of some months has
that of all months. Everything here is
computed from a release, which is public.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from spatialdp.errors import ParameterError
from spatialdp.estimates.tables.slices import Map, each_cell, map_of, map_of_cells
from spatialdp.estimates.zones.counts import ZoneCounts
from spatialdp.release import Release
from spatialdp.space.frames.frame import Frame
from spatialdp.space.frames.time import Time
from spatialdp.wording import either, parameter
from spatialdp.zone_release import ZoneRelease

if TYPE_CHECKING:
    from spatialdp.privacy.ledger.account import Spender
    from spatialdp.running_release import RunningRelease
    from spatialdp.space.frames.selection import Selection
    from spatialdp.table_release import TableRelease

__all__ = ["in_words", "map_of_months", "single_map"]


def single_map(release: TableRelease, queries: Mapping[str, Any]) -> Release:
    """Return a table's map for one set along each axis beside space; see `TableRelease.at`."""
    return _release(release, map_of(release.estimate, _one_part(release.frame, queries)), release.account)


def map_of_months(release: RunningRelease, first: int, last: int | None, queries: Mapping[str, Any]) -> Release:
    """Return the map of some months, for one set along each axis beside space; see `RunningRelease.at`."""
    space = release.frame.space
    selections = (*_one_part(release.frame, queries), each_cell(space))
    values, variances, kurtosis = (part.ravel() for part in release.moments(selections, first=first, last=last))
    return _release(release, map_of_cells(space, values, float(variances[0]), float(kurtosis[0]), release.step), None)


def _one_part(frame: Frame, queries: Mapping[str, Any]) -> tuple[Selection, ...]:
    """Return one set along each axis beside space; lists and questions about space are refused."""
    if frame.space_name in queries:
        raise ParameterError(
            f"{parameter(frame.space_name)} was given, but a map shows all of space; leave it out, and ask the map "
            f"{either('that is returned', 'instead')}."
        )
    selections = frame.select(queries)
    lists = [name for name, each in zip(frame.axes, selections, strict=True) if not each.single]
    if lists:
        raise ParameterError(
            f"{parameter(lists[0])} is a list, which has a map for each part; give one part, several in a tuple that "
            f"are taken together, or {either('draw them beside each other with plot()', 'one at a time')}."
        )
    return selections[:-1]


def _release(release: TableRelease | RunningRelease, estimate: Map, account: Spender | None) -> Release:
    """Return the release of a map; a new kind of map is a new kind of release here."""
    kinds = {ZoneCounts.kind: ZoneRelease}
    return kinds.get(estimate.kind, Release)(release.frame.domain, release.privacy, estimate, account=account)  # type: ignore[arg-type]  # None for codes


def in_words(frame: Frame, queries: Mapping[str, Any]) -> str:
    """Return what a map shows, in words for a title.

    Examples
    --------
    >>> import spatialdp as sdp
    >>> day, kinds = sdp.Time("2024-01-01", "2024-01-02"), sdp.Categories(["theft", "fraud"])
    >>> frame = sdp.Frame(sdp.Domain((0, 0, 1, 1)).grid((2, 2)), time=day, kind=kinds)
    >>> in_words(frame, {"time": ("08:00", "10:00"), "kind": ("theft", "fraud")})
    'time 08:00 to 10:00, kind theft and fraud'
    >>> in_words(frame, {})
    ''
    """
    joints = {name: " to " if isinstance(axis, Time) else " and " for name, axis in frame.axes.items()}
    parts = {name: query if isinstance(query, tuple) else (query,) for name, query in queries.items()}
    return ", ".join(f"{name} {joints[name].join(map(str, part))}" for name, part in parts.items() if part != (None,))
