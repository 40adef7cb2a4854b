"""How are synthetic records drawn from a table? Cells in proportion to estimates, then a place and a time in each.

This is post-processing of released numbers; it reads no record.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from spatialdp._support.arrays import Floats, Integers
from spatialdp.estimates.sampling import draw_leaves, draw_parts, sample_size
from spatialdp.estimates.tables.counts import drawable
from spatialdp.privacy.noise.source import Noise, SystemNoise
from spatialdp.space.frames.frame import Frame
from spatialdp.space.frames.time import Time
from spatialdp.space.frames.zone_axis import ZoneAxis

if TYPE_CHECKING:
    import pandas as pd

    from spatialdp.table_release import TableRelease

__all__ = ["columns_of", "records_of", "sampled_table"]


def sampled_table(release: TableRelease, n: int | None, noise: Noise | None, *, as_geodataframe: bool) -> pd.DataFrame:
    """Draw synthetic records; see `TableRelease.sample`."""
    frame, source = release.frame, SystemNoise() if noise is None else noise
    count = sample_size(release.estimate.total, n)
    cells = draw_leaves(drawable(frame, release.estimate.values).ravel(), count, source)
    places = dict(zip(frame.axes, np.unravel_index(cells, frame.shape), strict=True))
    leaves = places.pop(frame.space_name)
    return records_of(frame, leaves, columns_of(frame, places, source), source, as_geodataframe=as_geodataframe)


def columns_of(frame: Frame, places: Mapping[str, Integers], source: Noise) -> dict[str, Any]:
    """Return the values of drawn cells along axes beside space, by their names."""
    return {name: _values(frame.axes[name], places[name], source) for name in frame.names[1:]}


def records_of(
    frame: Frame, leaves: Integers, values: Mapping[str, Any], source: Noise, *, as_geodataframe: bool
) -> pd.DataFrame:
    """Return a table of records: a place in each drawn cell of space, and their values beside it."""
    import pandas as pd

    columns = _places(frame.space, leaves, source) | dict(values)
    if not as_geodataframe or "zone" in columns:
        return pd.DataFrame(columns)
    import geopandas

    geometry = geopandas.points_from_xy(columns.pop("x"), columns.pop("y"))
    return geopandas.GeoDataFrame(columns, geometry=geometry, crs=frame.space.domain.crs)


def _places(space: Any, leaves: Integers, source: Noise) -> dict[str, Any]:
    """Return coordinates within drawn cells of a grid, or the codes of drawn zones."""
    if isinstance(space, ZoneAxis):
        return {"zone": np.array(space.labels(), dtype=object)[leaves]}
    xy = _positions(space, leaves, source)
    return {"x": xy[:, 0], "y": xy[:, 1]}


def _positions(space: Any, leaves: Integers, source: Noise) -> Floats:
    """Return a place for each drawn cell, evenly within it and the region."""
    row, column = np.divmod(space.cells, space.grid.shape[0])
    boxes = space.grid.lattice_boxes(np.stack([column, row, column + 1, row + 1], axis=1))
    drawn = draw_parts(boxes, space.domain, leaves, source)
    axes = space.domain.axes
    return np.stack(
        [axis.centres(drawn[:, i] + source.below(drawn[:, i + 2] - drawn[:, i])) for i, axis in enumerate(axes)], axis=1
    )


def _values(axis: Any, places: Integers, source: Noise) -> Any:
    """Return the values of drawn cells along an axis: instants for times that are not folded, and names otherwise."""
    if not isinstance(axis, Time) or axis.fold is not None:
        return np.array(axis.labels(), dtype=object)[places]
    import pandas as pd

    low, high = axis.edges[places], axis.edges[places + 1]
    instants = low + source.below(high - low)
    return pd.to_datetime(instants, unit="us", utc=True).tz_convert(axis.zone)
