"""Which rows do answers of a released table become? One for each combination of what is asked along its axes.

An axis is asked for certain sets (a time, a category, a zone, a box), for all parts of one of its levels, or not at
all, and then it is summed. Answers come from a release, never from a record.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import click

from spatialdp.cli.answers import with_answers
from spatialdp.outputs.files.formats import WITH_AXES

if TYPE_CHECKING:
    from spatialdp._support.arrays import Floats
    from spatialdp.space.frames.selection import Selection
    from spatialdp.table_release import TableRelease

__all__ = ["answer_table", "require_table"]

_MOST_ROWS = 2**24


@dataclass(frozen=True, eq=False)
class _Part:
    """What is asked along one axis: the sets, and the columns that name them, one value for each set."""

    selection: Selection
    columns: dict[str, Any]


def require_table(release: Any) -> TableRelease:
    """Return a release, checked to be a table."""
    if release.estimate.kind not in WITH_AXES:
        raise click.UsageError("this release is no table, and has no axes; leave --by out, and ask for boxes or zones.")
    table: TableRelease = release
    return table


def answer_table(
    source: TableRelease,
    queries: Mapping[str, list[Any]],
    by: Sequence[tuple[str, str | None]],
    level: float,
    about: str = "truth",
) -> Any:
    """Return the answers to all combinations of queries and of parts of levels, with polygons if these are boxes."""
    import numpy as np
    import pandas as pd

    parts = _parts(source, queries, by)
    frame = source.frame
    selections = tuple(
        parts[name].selection if name in parts else every
        for (name, _), every in zip(frame.axes.items(), source.estimate.every(), strict=True)
    )
    names = [name for name in frame.names if name in parts]
    sizes = [parts[name].selection.count for name in names]
    if prod(sizes) > _MOST_ROWS:
        raise click.UsageError(
            f"{prod(sizes):,} answers were asked for, but at most {_MOST_ROWS:,} are given at once; name coarser "
            "levels with --by AXIS=LEVEL, or ask for parts of an axis."
        )
    places = np.meshgrid(*(np.arange(size) for size in sizes), indexing="ij")
    columns = {
        column: np.asarray(values, dtype=None if column in _EDGES else object)[place.ravel()]
        for name, place in zip(names, places, strict=True)
        for column, values in parts[name].columns.items()
    }
    answers = _in_order(source.estimate.sums(selections))
    table = pd.DataFrame(columns, index=range(answers.size))
    return with_answers(_with_places(table, source), source, answers, lambda: _ends(source, selections, level, about))


_EDGES = ("xmin", "ymin", "xmax", "ymax")


def _in_order(values: Floats) -> Floats:
    """Return values of products of sets as a column, with space as the slowest dimension."""
    import numpy as np

    return np.asarray(np.moveaxis(values, -1, 0).ravel())


def _ends(source: TableRelease, selections: tuple[Selection, ...], level: float, about: str) -> Floats:
    import numpy as np

    from spatialdp.estimates.answers import About

    ends = source.estimate.ends(selections, level, About.parse(about))
    return np.stack([_in_order(ends[..., side]) for side in range(2)], axis=1)


def _parts(
    source: TableRelease, queries: Mapping[str, list[Any]], by: Sequence[tuple[str, str | None]]
) -> dict[str, _Part]:
    from spatialdp.space.frames.selection import parts_of, select

    axes, space = source.frame.axes, source.frame.space_name
    if {"box", "zone"} - {space} & {*queries, *(name for name, _ in by)}:
        kinds = {"box": "cells, so --codes and --zones do not apply; ask with --bbox or --by box"}
        kinds["zone"] = "zones, so --bbox and --boxes do not apply; ask with --codes or --by zone"
        raise click.UsageError(f"the space of this table is {kinds[space]}.")
    parts = {name: _Part(select(axes[name], asked), _named(name, asked)) for name, asked in queries.items()}
    for name, level in by:
        if name not in axes:
            raise click.UsageError(
                f"--by {name} was given, but the axes of this table are {', '.join(source.frame.names)}; name these."
            )
        if name in parts:
            raise click.UsageError(
                f"the axis {name} was asked for twice; give either --by or an option for parts of it."
            )
        finest = axes[name].names[-1] if level is None else level
        parts[name] = _Part(parts_of(axes[name], finest), _labelled(source, name, finest))
    return parts


def _named(name: str, asked: list[Any]) -> dict[str, Any]:
    """Return the columns that name what was asked along an axis."""
    import numpy as np

    if name == "box":
        return dict(zip(_EDGES, np.array(asked, dtype=np.float64).T, strict=True))
    return {name: [_text(each, " to " if name != "zone" and _is_interval(each) else " + ") for each in asked]}


def _text(asked: Any, between: str) -> str:
    return between.join(asked) if isinstance(asked, tuple) else str(asked)


def _is_interval(asked: Any) -> bool:
    from spatialdp.cli.options.table import Moments

    return isinstance(asked, tuple) and len(asked) == 2 and all(map(Moments.accepts, asked))


def _labelled(source: TableRelease, name: str, level: str) -> dict[str, Any]:
    """Return the columns that name the parts of a level: edges for cells and blocks of a grid, or labels."""
    import numpy as np

    axis: Any = source.frame.axes[name]
    labels = axis.part_labels(level)
    if name != "box" or level == axis.names[0]:
        return {name: labels}
    side = 1 if level == axis.names[-1] else axis.blocks[axis.names.index(level) - 1]
    low = np.array([label.split(",") for label in labels], dtype=np.int64)
    columns, rows = axis.grid.shape
    x, y = axis.grid.x_edges, axis.grid.y_edges
    high = np.minimum(low + side, [columns, rows])
    return dict(zip(_EDGES, (x[low[:, 0]], y[low[:, 1]], x[high[:, 0]], y[high[:, 1]]), strict=True))


def _with_places(table: Any, source: TableRelease) -> Any:
    """Return the table with polygons, if its rows are boxes."""
    if not set(_EDGES) <= set(table.columns):
        return table
    import geopandas
    import numpy as np
    import shapely

    edges = table[list(_EDGES)].to_numpy()
    bounds = source.domain.bounds  # edges may be infinite, but a polygon cannot be
    inside = np.clip(edges, np.tile(bounds[:2], 2), np.tile(bounds[2:], 2))
    return geopandas.GeoDataFrame(table, geometry=shapely.box(*inside.T), crs=source.domain.crs)
