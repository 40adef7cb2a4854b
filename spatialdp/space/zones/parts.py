"""How do areas that cut the hierarchy, such as cities across counties, get counts of their own? As parts of zones.

A level of parts is put into the tree: below each county, say, the part in each city and the rest. Zones below are
divided too: a tract that a city cuts becomes two zones, each the child of one part. So a city consists of parts of its
counties, which are few nodes and measured themselves, and a tract that is cut consists of two leaves. Both are sets of
nodes, and `Zones.areas_of` finds them.

An area may be given by polygons, and leaves are then cut, or by a column of codes that says in which area each leaf
lies. Of a leaf, a piece below one millionth of its area is left with the rest of the leaf.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from spatialdp._support.arrays import Integers, Objects
from spatialdp.errors import ParameterError
from spatialdp.space import crs as crs_
from spatialdp.space.zones.hierarchy import code_column
from spatialdp.space.zones.outlines import areas_of_zones, polygons_alone
from spatialdp.space.zones.overlaps import check_overlaps, overlaps_of
from spatialdp.wording import either, parameter

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Parts", "parted"]

_REST = "-"  # stands for the part of a zone that is in no area
_SLIVER = 1e-6  # of a leaf


@dataclass(frozen=True, eq=False)
class Parts:
    """Leaves that are parted by areas, a row each.

    Attributes
    ----------
    columns : dict of str to Arrow text
        The codes of each level, with the level of parts.
    rows : integer array
        The row of the undivided leaf.
    geometry : object array or None
        The area of each piece; None if no leaf was cut.
    sets : dict of str to object array
        For each level whose zones are sets of leaves, the code of each piece's zone, None if it has none.
    """

    columns: dict[str, pa.Array]
    rows: Integers
    geometry: Objects | None
    sets: dict[str, Objects]


def parted(columns: Mapping[str, pa.Array], areas: Any, also: Any, under: str | None) -> Parts:
    """Part leaves by areas.

    Parameters
    ----------
    columns : mapping of str to Arrow text
        The codes of each level, root first, a row for each leaf.
    areas : GeoDataFrame or DataFrame
        The leaves.
    also : str or GeoDataFrame
        The column of `areas` with the code of each leaf's area, or polygons with one column of codes.
    under : str, optional
        The level whose zones are parted; by default the one above the lowest.
    """
    levels = list(columns)
    under = (levels[-2] if len(levels) > 1 else None) if under is None else under
    if under is not None and under not in levels[:-1]:
        raise ParameterError(
            f"{parameter('under')} is {under!r}; it must be a level above the lowest, one of "
            f"{', '.join(levels[:-1]) or 'none'}."
        )
    _check_depths(columns, under)
    if isinstance(also, str):
        if also not in areas.columns:
            raise ParameterError(
                f"the zones have no column {also!r}; {parameter('also')} names one, or gives polygons."
            )
        rows, name, geometry = np.arange(len(areas)), also, None
        of_area = _objects(code_column(areas[also], also))
    else:
        rows, of_area, geometry, name = _cut(columns, areas, also)
    if name in levels:
        raise ParameterError(f"{parameter('also')} is named like the level {name!r}; give its column another name.")
    return _with_parts(
        {level: _objects(codes)[rows] for level, codes in columns.items()}, rows, of_area, geometry, name, under
    )


def _with_parts(
    codes: dict[str, Objects], rows: Integers, of_area: Objects, geometry: Objects | None, name: str, under: str | None
) -> Parts:
    """Put the level of parts below `under`, and give the zones below that are in several parts a code in each."""
    levels = list(codes)
    place = 0 if under is None else levels.index(under) + 1
    part = np.array([_REST if area is None else area for area in of_area], dtype=object)
    above = part if under is None else codes[under] + "/" + part
    columns, sets = {level: codes[level] for level in levels[:place]}, {name: of_area}
    columns[name if under is None else f"{under} and {name}"] = above
    for level in levels[place:]:
        cut = _in_several(codes[level], part)
        if cut.any():
            sets[level] = codes[level]
        columns[level] = codes[level].copy()
        columns[level][cut] += "/" + part[cut]
    return Parts({level: code_column(values, level) for level, values in columns.items()}, rows, geometry, sets)


def _in_several(codes: Objects, part: Objects) -> Any:
    """Whether the zone of each row is in several parts."""
    import pandas as pd

    return (pd.Series(part).groupby(pd.Series(codes)).transform("nunique") > 1).to_numpy()


def _cut(columns: Mapping[str, pa.Array], areas: Any, also: Any) -> tuple[Integers, Objects, Objects, str]:
    """Cut leaves along areas: return the leaf of each piece, the code of its area, its polygon, and the areas' name."""
    import shapely

    if not hasattr(areas, "geometry"):
        raise ParameterError(
            f"the zones have no geometries, so that {parameter('also')} cannot cut them; give the name of a column "
            "with the code of each zone's area."
        )
    codes, shapes, name = _checked_areas(also, crs_.canonical(areas.crs))
    leaf_codes = _objects(columns[list(columns)[-1]])
    leaves, _ = areas_of_zones(np.asarray(areas.geometry), leaf_codes, crs_.canonical(areas.crs))
    leaf, area = shapely.STRtree(shapes).query(leaves, predicate="intersects")
    order = np.lexsort((area, leaf))
    leaf, area = leaf[order], area[order]
    pieces = polygons_alone(shapely.intersection(leaves[leaf], shapes[area]))
    sizes = shapely.area(leaves)
    real = shapely.area(pieces) > _SLIVER * sizes[leaf]
    leaf, area, pieces = leaf[real], area[real], pieces[real]
    rest = leaves.copy()
    turn = np.arange(leaf.size) - np.searchsorted(leaf, leaf)  # 0 for the first area of a leaf, 1 for the second, …
    for number in range(int(turn.max(initial=-1)) + 1):
        now = turn == number
        rest[leaf[now]] = polygons_alone(shapely.difference(rest[leaf[now]], shapes[area[now]]))
    left = np.flatnonzero(shapely.area(rest) > _SLIVER * sizes)
    rows = np.concatenate([leaf, left])
    of_area = np.concatenate([codes[area], np.full(left.size, None, dtype=object)])
    order = np.argsort(rows, kind="stable")
    return rows[order], of_area[order], np.concatenate([pieces, rest[left]])[order], name


def _checked_areas(also: Any, crs: str | None) -> tuple[Objects, Objects, str]:
    """Return codes and polygons of areas that cut zones, and the name of their column of codes."""
    names = [str(each) for each in getattr(also, "columns", ())]
    names = [each for each in names if each != getattr(also, "active_geometry_name", None)]
    if not hasattr(also, "geometry") or len(names) != 1:
        raise ParameterError(
            f"{parameter('also')} is a {type(also).__name__}{f' with the columns {names}' if names else ''}; give the "
            f"name of a column, or a {either('GeoDataFrame', 'file')} with one column of codes beside its geometry"
            f"{either(', such as cities[[*columns]]', '')}."
        )
    column = code_column(also[names[0]], names[0])
    codes = _objects(column)
    if column.null_count or len(set(codes.tolist())) < codes.size or _REST in codes:
        raise ParameterError(
            f"the codes of {parameter('also')} must all be there, be different, and not be {_REST!r}; correct column "
            f"{names[0]!r}."
        )
    crs_.require_same(f"areas of {parameter('also')}", also.crs, crs)
    shapes, _ = areas_of_zones(np.asarray(also.geometry), codes, crs)
    check_overlaps(overlaps_of(shapes, shapes), shapes, codes)
    return codes, shapes, names[0]


def _check_depths(columns: Mapping[str, pa.Array], under: str | None) -> None:
    """Refuse leaves that do not lie below the level which is parted."""
    levels = list(columns)
    below = columns[levels[0 if under is None else levels.index(under) + 1]]
    if below.null_count:
        raise ParameterError(
            f"a zone has no code below level {under!r}, whose zones {parameter('also')} parts; all leaves must lie "
            f"below it. Give an upper level: {parameter('under', levels[0])}."
        )


def _objects(codes: pa.Array) -> Objects:
    found = np.empty(len(codes), dtype=object)
    found[:] = codes.to_pylist()
    return found
