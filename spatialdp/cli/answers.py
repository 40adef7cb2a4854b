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
    from spatialdp._support.arrays import Floats, Objects
    from spatialdp.estimates.sparse.listed import ListedCells
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
            "note: this release was truncated, rounded, made non-negative, smoothed, modelled, listed by its own "
            "noise or stopped where counts were small. Its errors do not average out, so it has no intervals, and "
            "lower and upper are left empty.",
            err=True,
        )
        ends = np.full((len(frame), 2), np.nan)
    else:
        ends = intervals()
    if release.estimate.kind == "listed":
        words = cast("ListedCells", release.estimate).in_words(release.privacy.counted)
        click.echo(f"note: estimates are of {release.privacy.counted} in listed cells. {words}", err=True)
    if release.privacy.person is not None:
        counted, bounded = release.privacy.counted, release.privacy.person.in_words()
        click.echo(f"note: estimates are of {counted}: {bounded}. {release.privacy.counted_in_words()}", err=True)
    marks = {} if release.privacy.private else {_MARK: NOT_PRIVATE}
    return frame.assign(estimate=answers, lower=ends[:, 0], upper=ends[:, 1], **marks)


def answer_codes(
    release: Release, lists: tuple[tuple[str, ...], ...], at: str | None, ask: Ask, *, together: bool
) -> Any:
    """Answer zones by their codes: each one, or each list of them as one area."""
    source = _of_zones(release)
    sets = [list(codes) for codes in lists] if together else [[code] for codes in lists for code in codes]
    polygons = _outlines(source, sets, at) if ask.places else None
    options: dict[str, Any] = {"about": ask.about, "at": at}
    if together:
        frame = _frame(source, {"zones": [" ".join(codes) for codes in sets]}, polygons)
        ends = lambda: source.interval_set(sets, ask.level, **options)  # noqa: E731 - only if there are any
        return with_answers(frame, release, source.answer_set(sets, at=at), ends)
    codes = [code for (code,) in sets]
    frame = _frame(source, {"zone": codes}, polygons)
    return with_answers(
        frame, release, source.answer(codes, at=at), lambda: source.interval(codes, ask.level, **options)
    )


def answer_level(release: Release, name: str, ask: Ask) -> Any:
    """Answer all zones of a level."""
    from spatialdp.estimates.answers import About
    from spatialdp.outputs.zones.areas import ZoneAreas
    from spatialdp.outputs.zones.tables import node_answers, zone_columns

    source = _of_zones(release)
    areas = ZoneAreas.of(source.zones, name)
    answers = node_answers(source.estimate, areas.nodes, About.parse(ask.about))
    frame = _frame(source, zone_columns(source.estimate, areas.nodes), areas.geometry if ask.places else None)
    return with_answers(frame, source, answers.values, lambda: answers.ends(ask.level))


def _of_zones(release: Release) -> ZoneRelease:
    if release.estimate.kind != "zones":
        raise click.UsageError(
            "this release is not by zones, and has no codes; ask it with --bbox, --boxes or --polygons."
        )
    return cast("ZoneRelease", release)


def _outlines(source: ZoneRelease, sets: list[list[str]], at: str | None) -> Objects:
    """Return the area of each list of zones as one polygon."""
    import numpy as np
    import shapely

    from spatialdp.outputs.zones.areas import require_domain

    require_domain(source.zones)
    leaves = np.asarray(source.zones.geometry, dtype=object)
    polygons: Objects = np.empty(len(sets), dtype=object)
    for number, codes in enumerate(sets):
        nodes = np.concatenate([source.zones.areas_of(code, at) for code in codes])
        polygons[number] = shapely.union_all(leaves[np.unique(source.zones.leaves_of(nodes))])
    return polygons


def _frame(source: ZoneRelease, columns: dict[str, Any], polygons: Objects | None) -> Any:
    """Return a table of zones, with polygons if there are any."""
    import geopandas
    import pandas as pd

    frame = pd.DataFrame(columns)
    return frame if polygons is None else geopandas.GeoDataFrame(frame, geometry=polygons, crs=source.zones.crs)
