"""Which release is the map of a table at one time, of one category? An ordinary one, under the table's own promise.

The table was paid for as a whole, so a map of it has the privacy statement of the whole table. Everything here is
computed from a release, which is public.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from spatialdp.errors import ParameterError
from spatialdp.estimates.tables.slices import map_of
from spatialdp.estimates.zones.counts import ZoneCounts
from spatialdp.release import Release
from spatialdp.space.frames.frame import Frame
from spatialdp.space.frames.time import Time
from spatialdp.wording import either, parameter
from spatialdp.zone_release import ZoneRelease

if TYPE_CHECKING:
    from spatialdp.table_release import TableRelease

__all__ = ["in_words", "single_map"]


def single_map(release: TableRelease, queries: Mapping[str, Any]) -> Release:
    """Return a table's map for one set along each axis beside space; see `TableRelease.at`."""
    frame = release.frame
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
    estimate = map_of(release.estimate, selections[:-1])
    # A new kind of map is a new kind of release here.
    kinds = {ZoneCounts.kind: ZoneRelease}
    return kinds.get(estimate.kind, Release)(release.domain, release.privacy, estimate, account=release.account)  # type: ignore[arg-type]


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
