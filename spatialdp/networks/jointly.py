"""How are records with several attributes drawn from several tables? A cell from all tables, then each attribute.

Each table has the same places and attributes of its own, such as kinds in one and severities in the other. Attributes
of different tables are drawn independently given the cell: how they depend on each other within a cell was not
measured. This is post-processing of released numbers; it reads no record.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from spatialdp._support.arrays import Floats, Integers
from spatialdp._support.checks import whole_number
from spatialdp.errors import ParameterError, ReleaseError
from spatialdp.estimates.sampling import LARGEST_SAMPLE, draw_in_rows, draw_leaves
from spatialdp.estimates.tables.counts import drawable
from spatialdp.privacy.noise.source import Noise, SystemNoise
from spatialdp.table_release import TableRelease

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["sample_jointly"]


def sample_jointly(
    releases: Sequence[TableRelease], n: int | None = None, *, noise: Noise | None = None, as_geodataframe: bool = False
) -> pd.DataFrame:
    """Draw synthetic records from several tables over the same places, each with attributes of its own.

    Parameters
    ----------
    releases : sequence of TableRelease
        Over one grid, or the same zones; no two with an attribute of the same name.
    n : int, optional
        Number of records; by default the mean of the released totals, rounded and not below 0.
    noise : Noise, optional
        Source of random bits. A `SeededNoise` makes the records repeatable.
    as_geodataframe : bool
        Whether to return point geometries in the place of the columns `x` and `y`; zones keep their codes.

    Returns
    -------
    DataFrame or GeoDataFrame
        Places, and a column for each attribute. Attributes of one table depend on each other as the table says; those
        of different tables are independent, given the cell. ``attrs["privacy"]`` lists the statements of all tables,
        whose costs add up.

    Raises
    ------
    ParameterError
        If the tables have different places, or attributes of the same name.

    Notes
    -----
    The map of places is the mean of the tables' maps. Negative estimates are removed family by family, so that totals
    of categories and blocks keep their accuracy.

    Examples
    --------
    >>> import spatialdp as sdp
    >>> grid = sdp.Domain((0, 0, 1, 1)).grid((2, 1))
    >>> kinds = sdp.Frame(grid, kind=sdp.Categories(["theft", "fraud"]))
    >>> days = sdp.Frame(grid, day=sdp.Categories(["workday", "weekend"]))
    >>> rows = sdp.Rows([[0.9, 0.1]] * 3, kind=["fraud"] * 3, day=["weekend"] * 3)
    >>> releases = [sdp.Table().release(rows, frame, epsilon=100) for frame in (kinds, days)]
    >>> sdp.sample_jointly(releases)[["kind", "day"]].values.tolist()
    [['fraud', 'weekend'], ['fraud', 'weekend'], ['fraud', 'weekend']]
    """
    from spatialdp.outputs.files.statement import statement_members
    from spatialdp.outputs.files.tables.sampling import columns_of, records_of

    _check(releases)
    source = SystemNoise() if noise is None else noise
    tables = [_by_place(release) for release in releases]
    total = max(0, round(float(np.mean([release.total for release in releases]))))
    count = whole_number(total if n is None else n, "n", 0, LARGEST_SAMPLE)
    leaves = draw_leaves(np.mean([table.sum(axis=1) for table in tables], axis=0), count, source)
    columns: dict[str, Any] = {}
    for release, table in zip(releases, tables, strict=True):
        frame, axes = release.frame, list(release.frame.axes)[:-1]
        numbers = np.unravel_index(_drawn_columns(table, leaves, source), frame.shape[:-1])
        columns |= columns_of(frame, dict(zip(axes, numbers, strict=True)), source)
    drawn = records_of(releases[0].frame, leaves, columns, source, as_geodataframe=as_geodataframe)
    drawn.attrs["privacy"] = [statement_members(release.privacy) for release in releases]
    return drawn


def _check(releases: Sequence[TableRelease]) -> None:
    if not releases or not all(isinstance(release, TableRelease) for release in releases):
        raise ParameterError(
            "the list of releases is empty, or not all of them are tables; give a list of at least one TableRelease."
        )
    first = releases[0].frame
    for release in releases[1:]:
        if not np.array_equal(release.frame.space.labels(), first.space.labels()) or release.domain != first.domain:
            raise ParameterError(
                "the tables have different places, but a record is drawn in one of them; give tables over one grid or "
                "the same zones."
            )
    names = [name for release in releases for name in release.frame.names[1:]]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ParameterError(
            f"two tables have the attribute {twice[0]!r}, but a record has one value of it; give tables with different "
            "attributes."
        )


def _by_place(release: TableRelease) -> Floats:
    """Return the estimates without negative ones, with a row for each place; (places, all else)."""
    return drawable(release.frame, release.estimate.values).reshape(-1, release.frame.space.size).T


def _drawn_columns(table: Floats, leaves: Integers, source: Noise) -> Integers:
    """Draw a column of the table for each place, in proportion to its row; to the table's sums where a row is empty."""
    if not leaves.size:
        return np.zeros(0, dtype=np.int64)
    if not table.any():
        raise ReleaseError(
            "a table has no estimate above zero, so nothing can be drawn from it; ask for 0 records, or release with a "
            "larger ε."
        )
    rows = np.where(table.sum(axis=1, keepdims=True) > 0, table, table.sum(axis=0))
    return draw_in_rows(rows, leaves, source)
