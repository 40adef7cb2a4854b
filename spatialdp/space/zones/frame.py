"""The public frame of a release by zones: which zones there are, on which levels, and which area each one has.

A frame comes from columns of codes, root first, from codes whose prefixes are the parents' codes, or from a file. It
takes the place that a `Domain` has in other releases, and everything about it is public: never draw zones from records,
leave out zones without records, or take the list of codes from the data. How codes become a tree is decided in
`hierarchy`, what areas are in `outlines`, and in which zone a record lies in `location`.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from spatialdp._support.arrays import Booleans, Floats, Integers, Objects, read_only
from spatialdp._support.terminal import printable
from spatialdp.errors import ParameterError
from spatialdp.space import crs as crs_
from spatialdp.space.domain import Domain
from spatialdp.space.zones.chains import Chains, merged
from spatialdp.space.zones.hierarchy import code_column, hierarchy, prefix_columns
from spatialdp.space.zones.location import Locator, OutlineLocator
from spatialdp.space.zones.outlines import areas_of_zones, snapped
from spatialdp.space.zones.overlaps import Overlaps, ZoneCheck, check_overlaps, checked, overlaps_of
from spatialdp.space.zones.parts import parted
from spatialdp.space.zones.reading import read_zone_frame
from spatialdp.space.zones.search import Search
from spatialdp.trees.shape import TreeShape
from spatialdp.wording import either, parameter, quoted

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Zones"]

MOST_OUTLINES = 1_000_000  # which take a minute to prepare, every time that some millions of records are located


@dataclass(frozen=True, eq=False, repr=False)
class Zones(Search):
    """A public hierarchy of zones, such as states and their counties.

    Parameters
    ----------
    areas : GeoDataFrame or DataFrame
        A row for each zone that is not divided further: a leaf. Without geometries, records must come as codes.
    levels : sequence of str
        The columns with the codes of each level, root first. Codes are text and belong to one parent. They may be
        missing from some level on: the row is then a leaf of the level above. If the first level has several zones, a
        root, ``"all zones"``, is added.
    also : str or GeoDataFrame, optional
        Areas that cut the hierarchy, such as cities across counties: polygons with one column of codes, which cut the
        leaves, or the column of `areas` that says in which area each leaf lies. A level of parts is put into the tree,
        so that an area consists of few nodes; `areas_of` finds them.
    under : str, optional
        The level whose zones are divided by `also`; by default the one above the lowest.
    name : str, optional
        What the frame is called, such as ``"US counties 2020"``: say of which year, because codes change.

    Attributes
    ----------
    levels : tuple of str
        Names of the levels, root first.
    shape : TreeShape
        The tree; a node is a zone. Zones of a level follow each other by their parents and then by their codes.
    codes : object array
        The code of each node.
    geometry : object array or None
        The area of each leaf, in the order of the nodes: valid polygons. Invalid ones have been repaired; see `check`.
    crs : str or None
    domain : Domain or None
        The bounding box of all areas; None without geometries.
    sets : mapping of str to object array
        For each kind of area that is a set of leaves, the code of each leaf's area, None if it has none.

    Raises
    ------
    ParameterError
        If codes are not text, a code has two parents, a zone occurs twice or has no area, or two zones have more than
        one per cent of the smaller one in common. Slivers, gaps and smaller overlaps are reported by `check`.

    Notes
    -----
    A record is in the zone that contains the centre of its lattice square, with zones snapped to the lattice of
    `domain`. In several zones, it is in the one that comes first in `areas`; in none, it counts nowhere, silently. In a
    geographic CRS a zone beyond 180 degrees is cut there, unless all zones have longitudes from 0 to 360; an edge of
    more than 180 degrees is refused.

    Examples
    --------
    >>> import geopandas, shapely
    >>> areas = geopandas.GeoDataFrame(
    ...     {"state": ["A", "A", "B"], "county": ["A1", "A2", "B1"]},
    ...     geometry=[shapely.box(0, 0, 1, 1), shapely.box(1, 0, 2, 1), shapely.box(2, 0, 4, 1)],
    ... )
    >>> zones = Zones(areas, ["state", "county"])
    >>> zones
    Zones(all zones: 1, state: 2, county: 3)
    >>> zones.nodes_of(["B", "A2"]).tolist(), zones.domain.bounds
    ([2, 4], (0.0, 0.0, 4.0, 1.0))
    """

    levels: tuple[str, ...]
    shape: TreeShape
    codes: Objects
    geometry: Objects | None
    crs: str | None
    domain: Domain | None
    name: str | None
    sets: Mapping[str, Objects]

    def __init__(
        self, areas: Any, levels: Sequence[str], *, also: Any = None, under: str | None = None, name: str | None = None
    ) -> None:
        levels = [levels] if isinstance(levels, str) else list(levels)
        _require_columns(areas, levels)
        self._build({level: code_column(areas[level], level) for level in levels}, areas, also, under, name)

    @classmethod
    def from_codes(
        cls,
        areas: Any,
        column: str | None = None,
        prefixes: Mapping[str, int] | None = None,
        *,
        also: Any = None,
        under: str | None = None,
        name: str | None = None,
    ) -> Zones:
        """Make a frame of zones whose codes begin with their parents' codes.

        Parameters
        ----------
        areas : GeoDataFrame, DataFrame or array-like of text
            The leaves, or their codes alone.
        column : str, optional
            The column of the codes, in a frame.
        prefixes : mapping of str to int
            Number of characters of the codes of each level, root first. A code that is as long as an upper level's is
            a leaf of that level.
        also, under, name
            As for `Zones`.

        Examples
        --------
        >>> Zones.from_codes(["37063", "37001", "11"], None, {"state": 2, "county": 5})
        Zones(all zones: 1, state: 2, county: 2)
        """
        if not isinstance(prefixes, Mapping):
            raise ParameterError(
                f"{parameter('prefixes')} are {prefixes!r}; give the number of characters of each level's codes, such "
                f"as {parameter('prefixes', {'state': 2, 'county': 5}, typed='state=2,county=5')}."
            )
        if hasattr(areas, "columns") != (column is not None):
            raise ParameterError(
                f"{parameter('column')} is {quoted(column)}; name the column of the codes of a frame, and none for "
                f"{either('an array', 'codes alone')}."
            )
        if column is not None:
            _require_columns(areas, [column])
        codes = code_column(areas if column is None else areas[column], column or "codes")
        if codes.null_count:
            raise ParameterError("a code is missing; every leaf needs one. Correct the column.")
        zones = object.__new__(Zones)
        zones._build(prefix_columns(codes, prefixes), areas, also, under, name)
        return zones

    @classmethod
    def read(
        cls,
        path: str | os.PathLike[str],
        *,
        levels: Sequence[str] | None = None,
        column: str | None = None,
        prefixes: Mapping[str, int] | None = None,
        layer: str | None = None,
        also: Any = None,
        under: str | None = None,
        name: str | None = None,
    ) -> Zones:
        r"""Read a frame of zones from a file: GeoParquet, GeoPackage, GeoJSON, TopoJSON or Shapefile; or codes alone.

        Parameters
        ----------
        path : str or path
            Codes without geometries are read from CSV, where all values are text, or from Parquet.
        levels : sequence of str
            The columns with the codes of each level, root first, as for `Zones`.
        column, prefixes
            Given instead of `levels`: one column of codes that begin with their parents' codes, as for `from_codes`.
        layer : str, optional
            Name of the layer, in a file with more than one.
        also, under
            As for `Zones`.
        name : str, optional
            What the frame is called; by default the name of the file.

        Examples
        --------
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "counties.csv"
        >>> _ = path.write_text("GEOID\n06037\n37063\n")
        >>> Zones.read(path, column="GEOID", prefixes={"state": 2, "county": 5})
        Zones('counties', all zones: 1, state: 2, county: 2)
        """
        if (levels is None) == (column is None):
            raise ParameterError(
                f"{'neither' if levels is None else 'both'} of {parameter('levels')} and {parameter('column')} "
                f"{'was' if levels is None else 'were'} given; name the columns of all levels, root first, or the one "
                f"column of codes with {parameter('prefixes')}."
            )
        areas = read_zone_frame(path, layer)
        name = Path(path).stem if name is None else name
        if levels is not None:
            return Zones(areas, levels, also=also, under=under, name=name)
        return Zones.from_codes(areas, column, prefixes, also=also, under=under, name=name)

    @classmethod
    def published(
        cls,
        levels: Sequence[str],
        shape: TreeShape,
        codes: npt.ArrayLike,
        *,
        geometry: Objects | None = None,
        crs: str | None = None,
        domain: Domain | None = None,
        name: str | None = None,
        sets: Mapping[str, Objects] | None = None,
    ) -> Zones:
        """Make the frame of a release that exists: nothing is repaired, and its place is not questioned.

        Parameters
        ----------
        levels, shape, codes, geometry, crs, domain, name, sets
            As the attributes.

        Examples
        --------
        >>> Zones.published(["all", "half"], TreeShape([0, 1, 3], [2, 0, 0]), ["all", "east", "west"])
        Zones(all: 1, half: 2)
        """
        zones = object.__new__(Zones)
        texts = np.empty(shape.n_nodes, dtype=object)
        texts[:] = list(codes)  # type: ignore[arg-type]
        zones._set(tuple(levels), shape, texts, geometry, crs, domain, name)
        zones._set_more(np.arange(shape.n_leaves), np.zeros(shape.n_leaves, dtype=bool), sets or {})
        return zones

    def _build(
        self, columns: Mapping[str, pa.Array], areas: Any, also: Any, under: str | None, name: str | None
    ) -> None:
        """Set all fields, given the codes of each level and a frame of the leaves."""
        if also is None and under is not None:
            raise ParameterError(
                f"{parameter('under')} is given without {parameter('also')}; give the areas that part zones of that "
                "level, or leave it out."
            )
        parts = None if also is None else parted(columns, areas, also, under)
        tree = hierarchy(columns if parts is None else parts.columns)
        rows = tree.rows if parts is None else parts.rows[tree.rows]
        geometry = crs = domain = None
        repaired = np.zeros(tree.rows.size, dtype=bool)
        codes = tree.codes[tree.shape.leaves]
        if hasattr(areas, "geometry"):
            crs = crs_.canonical(areas.crs)
            whole = np.asarray(areas.geometry)[rows]
            shapes = whole if parts is None or parts.geometry is None else parts.geometry[tree.rows]
            geometry, repaired = areas_of_zones(shapes, codes, crs)
            domain = Domain(_bounds(geometry), crs=crs)
        self._set(tree.levels, tree.shape, tree.codes, geometry, crs, domain, name)
        sets = {} if parts is None else {level: each[tree.rows] for level, each in parts.sets.items()}
        self._set_more(tree.rows, repaired, sets)
        if geometry is not None:
            check_overlaps(self._overlaps, geometry, codes)

    def _set(
        self,
        levels: tuple[str, ...],
        shape: TreeShape,
        codes: Objects,
        geometry: Objects | None,
        crs: str | None,
        domain: Domain | None,
        name: str | None,
    ) -> None:
        if name is not None and (not isinstance(name, str) or name != printable(name)):
            raise ParameterError(f"{parameter('name')} is {printable(name)!r}; it must be text that can be seen.")
        values = {"levels": levels, "shape": shape, "codes": read_only(codes, object), "crs": crs, "domain": domain}
        values |= {"geometry": None if geometry is None else read_only(geometry, object), "name": name}
        for field, value in values.items():
            object.__setattr__(self, field, value)

    def _set_more(self, places: Integers, repaired: Booleans, sets: Mapping[str, Objects]) -> None:
        object.__setattr__(self, "_places", places)
        object.__setattr__(self, "_repaired", repaired)
        object.__setattr__(self, "sets", dict(sets))  # not a proxy, which could not be sent to another process

    def __getstate__(self) -> dict[str, Any]:
        """Return what is sent to another process: all but what is large and soon made again."""
        return {name: value for name, value in self.__dict__.items() if name not in ("locator", "chains")}

    def __repr__(self) -> str:
        sizes = np.diff(self.shape.offsets)
        parts = [] if self.name is None else [repr(self.name)]
        parts += [f"{level}: {size}" for level, size in zip(self.levels, sizes, strict=True)]
        return f"Zones({', '.join(parts)})"

    @cached_property
    def chains(self) -> Chains:
        """The tree in which each chain of only children is one node."""
        return merged(self.shape)

    @cached_property
    def leaf_areas(self) -> Floats:
        """The area of each leaf, in squares of the domain's lattice; 1 without geometries."""
        import shapely

        if self.geometry is None or self.domain is None:
            return np.ones(self.n_leaves)
        x, y = self.domain.axes
        return np.asarray(shapely.area(self.geometry) / x.spacing / y.spacing)

    @cached_property
    def outlines(self) -> Objects:
        """The areas of the leaves, snapped to the lattice of the domain."""
        if self.geometry is None or self.domain is None:
            raise ParameterError(
                "the zones have no geometries, so that records can be located by their codes alone; "
                f"{either('give spatialdp.Codes', 'name the column of codes with --code-column')}, or a frame with "
                "geometries."
            )
        return snapped(self.geometry, self.domain)

    @cached_property
    def _overlaps(self) -> Overlaps:
        """The pairs of leaves that have an area in common."""
        return overlaps_of(cast(Objects, self.geometry), self.outlines)

    def check(self) -> ZoneCheck:
        """Return how well the areas fit together: repaired polygons, overlaps, gaps and slivers.

        The result is printed as a table. Drawing the union of many zones takes a while.

        Examples
        --------
        >>> import geopandas, shapely
        >>> areas = geopandas.GeoDataFrame(
        ...     {"zone": ["A", "B"]}, geometry=[shapely.box(0, 0, 1, 1), shapely.box(1, 0, 2, 1)]
        ... )
        >>> Zones(areas, ["zone"]).check().overlaps
        []
        """
        self.outlines  # noqa: B018 - refuses zones without geometries
        codes, repaired = self.codes[self.leaf_nodes], self._repaired  # type: ignore[attr-defined]
        return checked(cast(Objects, self.geometry), codes, repaired, self._overlaps)

    @cached_property
    def locator(self) -> Locator:
        """Finds the leaf of each lattice square."""
        if self.n_leaves > MOST_OUTLINES:
            raise ParameterError(
                f"the frame has {self.n_leaves} leaves with areas, and points can be located in at most "
                f"{MOST_OUTLINES}: each area is prepared first. Give records as codes "
                f"({either('spatialdp.Codes', '--code-column')}), or a frame of larger zones."
            )
        return OutlineLocator(self.outlines, self._places)  # type: ignore[attr-defined]

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of levels, codes, tree and snapped areas; the order of the rows does not matter."""
        import shapely

        total = hashlib.sha256(json.dumps([self.levels, self.crs, self.codes.tolist()]).encode())
        arrays: list[Any] = [self.shape.offsets, self.shape.n_children]
        if self.geometry is not None and self.domain is not None:
            _, places, offsets = shapely.to_ragged_array(_as_multipolygons(self.outlines))
            arrays += [np.array(self.domain.bounds), places, *offsets]
        for array in arrays:
            total.update(np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<")).tobytes())
        return total.hexdigest()


def _as_multipolygons(shapes: Objects) -> Objects:
    import shapely

    parts, owner = shapely.get_parts(shapes, return_index=True)
    collected: Objects = shapely.multipolygons(parts, indices=owner)
    return collected


def _bounds(geometry: Objects) -> tuple[float, float, float, float]:
    import shapely

    xmin, ymin, xmax, ymax = shapely.total_bounds(geometry).tolist()
    return xmin, ymin, xmax, ymax


def _require_columns(areas: Any, names: Sequence[str]) -> None:
    columns = [str(column) for column in getattr(areas, "columns", ())]
    if not columns:
        raise ParameterError(
            f"the zones are a {type(areas).__name__}; give a {either('GeoDataFrame', 'file')} with a row for each zone "
            f"and columns of codes{either(', or codes to Zones.from_codes', '')}."
        )
    for name in names:
        if columns.count(name) != 1:
            raise ParameterError(
                f"the zones have {'more than one' if name in columns else 'no'} column {name!r}; their columns are "
                f"{printable(', '.join(columns))}."
            )
