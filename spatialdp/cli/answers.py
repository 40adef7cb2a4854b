"""Which table do answers to queries become? The queries, with estimates, intervals and notes, for `spatialdp query`.

Zones are asked by their codes, all zones of a level at once, or lists of zones as one area each. Answers come from a
release, never from a record.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import click

if TYPE_CHECKING:
    from spatialdp._support.arrays import Floats, Integers, Objects
    from spatialdp.release import Release
    from spatialdp.zone_release import ZoneRelease

__all__ = ["ANSWERS", "Ask", "answer_codes", "answer_level", "with_answers"]

_MARK = "privacy"  # the column that marks the answers of a release that is not private
ANSWERS = ["estimate", "lower", "upper", _MARK]


@dataclass(frozen=True)
class Ask:
    """What is asked about zones.

    Attributes
    ----------
    level : float
        Confidence level of the intervals.
    about : str
        "truth" or "noise".
    places : bool
        Whether the answers need polygons, because they go into a file that has them.
    """

    level: float
    about: str
    places: bool


def with_answers(frame: Any, release: Release, answers: Any, intervals: Callable[[], Floats]) -> Any:
    """Add estimates and intervals to the queries; biased releases get no intervals and a note on standard error.

    So do releases of persons: a note says what the estimates count.

    The answers of a release that is not private say so in a column of their own, in every format.
    """
    import numpy as np

    from spatialdp.privacy.statement import NOT_PRIVATE

    if release.estimate.biased:
        click.echo(
            "note: this release was truncated, rounded, made non-negative, smoothed or stopped where counts were "
            "small. Its errors do not average out, so it has no intervals, and lower and upper are left empty.",
            err=True,
        )
        ends = np.full((len(frame), 2), np.nan)
    else:
        ends = intervals()
    if release.privacy.person is not None:
        counted, bounded = release.privacy.counted, release.privacy.person.in_words()
        click.echo(f"note: estimates are of {counted}: {bounded}. {release.privacy.counted_in_words()}", err=True)
    marks = {} if release.privacy.private else {_MARK: NOT_PRIVATE}
    return frame.assign(estimate=answers, lower=ends[:, 0], upper=ends[:, 1], **marks)


def answer_codes(
    release: Release, lists: tuple[tuple[str, ...], ...], at: str | None, ask: Ask, *, together: bool
) -> Any:
    """Answer zones by their codes: each one, or each list of them as one area."""
    import numpy as np

    source = _of_zones(release)
    if not together:
        return _answer_nodes(source, source.zones.nodes_of([code for codes in lists for code in codes], at), ask)
    sets = [list(codes) for codes in lists]
    polygons = None
    if ask.places:
        polygons = np.array([_outline(source, codes, at) for codes in sets], dtype=object)
    frame = _frame(source, {"zones": [" ".join(codes) for codes in sets]}, polygons)
    ends = lambda: source.interval_set(sets, ask.level, about=ask.about, at=at)  # noqa: E731 - only if there are any
    return with_answers(frame, release, source.answer_set(sets, at=at), ends)


def answer_level(release: Release, name: str, ask: Ask) -> Any:
    """Answer all zones of a level."""
    from spatialdp.outputs.zones.areas import ZoneAreas

    source = _of_zones(release)
    return _answer_nodes(source, ZoneAreas.of(source.zones, name).nodes, ask)


def _answer_nodes(source: ZoneRelease, nodes: Integers, ask: Ask) -> Any:
    from spatialdp.estimates.answers import About
    from spatialdp.outputs.zones.tables import node_answers, zone_columns

    polygons = _polygons(source, nodes) if ask.places else None
    answers = node_answers(source.estimate, nodes, About.parse(ask.about))
    frame = _frame(source, zone_columns(source.estimate, nodes), polygons)
    return with_answers(frame, source, answers.values, lambda: answers.ends(ask.level))


def _polygons(source: ZoneRelease, nodes: Integers) -> Objects:
    """Return the areas of zones, each the union of its leaves; zones of different levels may lie in each other."""
    import numpy as np

    from spatialdp.outputs.zones.areas import ZoneAreas

    polygons: Objects = np.empty(nodes.size, dtype=object)
    depths = source.zones.shape.depth[nodes]
    for depth in np.unique(depths).tolist():
        areas = ZoneAreas.of(source.zones, depth)
        polygons[depths == depth] = areas.geometry[areas.of_nodes[nodes[depths == depth]]]
    return polygons


def _of_zones(release: Release) -> ZoneRelease:
    if release.estimate.kind != "zones":
        raise click.UsageError(
            "this release is not by zones, and has no codes; ask it with --bbox, --boxes or --polygons."
        )
    return cast("ZoneRelease", release)


def _outline(source: ZoneRelease, codes: list[str], at: str | None) -> Any:
    """Return the area of a list of zones as one polygon."""
    import numpy as np
    import shapely

    from spatialdp.outputs.zones.areas import require_domain

    require_domain(source.zones)
    leaves = np.unique(source.zones.leaves_of(source.zones.nodes_of(codes, at)))
    return shapely.union_all(np.asarray(source.zones.geometry, dtype=object)[leaves])


def _frame(source: ZoneRelease, columns: dict[str, Any], polygons: Objects | None) -> Any:
    """Return a table of zones, with polygons if there are any."""
    import geopandas
    import pandas as pd

    frame = pd.DataFrame(columns)
    return frame if polygons is None else geopandas.GeoDataFrame(frame, geometry=polygons, crs=source.zones.crs)
