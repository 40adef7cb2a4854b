"""The public frame of a release by zones: which zones there are, on which levels, and which area each one has.

A frame comes from columns of codes, root first, from codes whose prefixes are the parents' codes, or from a file. It
takes the place that a `Domain` has in other releases, and everything about it is public: never draw zones from records,
leave out zones without records, or take the list of codes from the data. How codes become a tree is decided in
`hierarchy`, what areas are in `outlines`, and in which zone a record lies in `location`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from spatialdp._support.arrays import Booleans, Floats, Integers, Integers32, Objects, read_only
from spatialdp._support.terminal import printable
from spatialdp._support.tree_shape import TreeShape, sums
from spatialdp.errors import ParameterError
from spatialdp.space import crs as crs_
from spatialdp.space.domain import Domain
from spatialdp.space.zones.chains import first_leaves
from spatialdp.space.zones.hierarchy import Hierarchy, code_column, hierarchy, prefix_columns
from spatialdp.space.zones.location import Locator, OutlineLocator
from spatialdp.space.zones.outlines import areas_of_zones, snapped
from spatialdp.wording import either, parameter

__all__ = ["Zones"]


@dataclass(frozen=True, eq=False, repr=False)
class Zones:
    """A public hierarchy of zones, such as states and their counties.

    Parameters
    ----------
    areas : GeoDataFrame or DataFrame
        A row for each zone that is not divided further: a leaf. Without geometries, records must come as codes.
    levels : sequence of str
        The columns with the codes of each level, root first. Codes are text and belong to one parent. They may be
        missing from some level on: the row is then a leaf of the level above. If the first level has several zones, a
        root, ``"all zones"``, is added.
    name : str, optional
        What the frame is called, such as ``"US counties 2020"``; codes are codes of a vintage.

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

    def __init__(self, areas: Any, levels: Sequence[str], *, name: str | None = None) -> None:
        levels = [levels] if isinstance(levels, str) else list(levels)
        _require_columns(areas, levels)
        columns = {level: code_column(areas[level], level) for level in levels}
        self._build(hierarchy(columns), areas, name)

    @classmethod
    def from_codes(
        cls, areas: Any, column: str | None = None, prefixes: Mapping[str, int] | None = None, *, name: str | None = None
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
                f"{parameter('column')} is {column!r}; name the column of the codes of a frame, and none for an array."
            )
        if column is not None:
            _require_columns(areas, [column])
        codes = code_column(areas if column is None else areas[column], column or "codes")
        if codes.null_count:
            raise ParameterError("a code is missing; every leaf needs one. Correct the column.")
        zones = object.__new__(cls)
        zones._build(hierarchy(prefix_columns(codes, prefixes)), areas, name)
        return zones

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
        zones = object.__new__(cls)
        texts = np.empty(shape.n_nodes, dtype=object)
        texts[:] = list(codes)  # type: ignore[arg-type]
        zones._set(tuple(levels), shape, texts, geometry, crs, domain, name)
        zones._set_more(np.arange(shape.n_leaves), np.zeros(shape.n_leaves, dtype=bool), sets or {})
        return zones

    def _build(self, tree: Hierarchy, areas: Any, name: str | None) -> None:
        """Set all fields, given the tree and a frame of its leaves."""
        geometry = crs = domain = None
        repaired = np.zeros(tree.rows.size, dtype=bool)
        codes = tree.codes[tree.shape.leaves]
        if hasattr(areas, "geometry"):
            crs = crs_.canonical(areas.crs)
            geometry, repaired = areas_of_zones(np.asarray(areas.geometry)[tree.rows], codes, crs)
            domain = Domain(_bounds(geometry), crs=crs)
        self._set(tree.levels, tree.shape, tree.codes, geometry, crs, domain, name)
        self._set_more(tree.rows, repaired, {})

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
        object.__setattr__(self, "sets", MappingProxyType(dict(sets)))

    def __repr__(self) -> str:
        sizes = np.diff(self.shape.offsets)
        parts = [] if self.name is None else [repr(self.name)]
        parts += [f"{level}: {size}" for level, size in zip(self.levels, sizes, strict=True)]
        return f"Zones({', '.join(parts)})"

    @property
    def n_leaves(self) -> int:
        """Number of zones that are not divided further."""
        return self.shape.n_leaves

    @cached_property
    def leaf_nodes(self) -> Integers:
        """The nodes that are leaves, in order; leaf k is node ``leaf_nodes[k]``."""
        return np.flatnonzero(self.shape.leaves)

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
    def locator(self) -> Locator:
        """Finds the leaf of each lattice square."""
        return OutlineLocator(self.outlines, self._places)  # type: ignore[attr-defined]

    def leaves_of_codes(self, codes: Any) -> Integers32:
        """Return the leaf of each code in an Arrow array of text, and the number of leaves for any other code.

        Examples
        --------
        >>> import pyarrow as pa
        >>> zones = Zones.from_codes(["37063", "37001"], None, {"state": 2, "county": 5})
        >>> zones.leaves_of_codes(pa.array(["37063", "37", None], pa.large_string())).tolist()
        [1, 2, 2]
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        leaf_codes = pa.array(self.codes[self.leaf_nodes], pa.large_string())
        places = pc.index_in(codes, leaf_codes, skip_nulls=True)
        return np.asarray(pc.fill_null(places, self.n_leaves), dtype=np.int32)

    def check_leaf_codes(self) -> None:
        """Refuse to locate records by codes if two leaves, on different levels, have the same code."""
        import pandas as pd

        codes = pd.Index(self.codes[self.leaf_nodes])
        if not codes.is_unique:
            raise ParameterError(
                f"two leaves have the code {printable(codes[codes.duplicated()][0])!r}, on different levels; records "
                "cannot be located by such codes. Use longer codes on the lower level, or locate records by points."
            )

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

    @cached_property
    def _index(self) -> Any:
        """The codes of all nodes as a hash table."""
        import pandas as pd

        return pd.Index(self.codes)

    def nodes_of(self, codes: Any, level: str | None = None) -> Integers:
        """Return the nodes of zones, by their codes.

        Parameters
        ----------
        codes : str or array-like of str
        level : str, optional
            The level of the zones; needed for a code that several levels have.

        Raises
        ------
        ParameterError
            If there is no such zone, or several levels have one.

        Examples
        --------
        >>> zones = Zones.from_codes(["37063", "37001"], None, {"state": 2, "county": 5})
        >>> zones.nodes_of(["37063", "37"]).tolist()
        [2, 0]
        """
        import pandas as pd

        wanted = np.atleast_1d(np.asarray(codes, dtype=object))
        index, start = self._index, 0
        if level is not None or not index.is_unique:
            part = self.shape.level(self.depth_of(level)) if level is not None else slice(None)
            index, start = pd.Index(self.codes[part]), part.start or 0
        if not index.is_unique:
            self._check_unambiguous(wanted)
            index = index[~index.duplicated()]
            return self._first_places[index.get_indexer(self._known(index, wanted))]
        return np.asarray(index.get_indexer(self._known(index, wanted, level)), dtype=np.int64) + start

    @cached_property
    def _first_places(self) -> Integers:
        return np.flatnonzero(~self._index.duplicated())

    def _known(self, index: Any, wanted: Objects, level: str | None = None) -> Objects:
        unknown = np.flatnonzero(index.get_indexer(wanted) < 0)
        if unknown.size:
            of = "" if level is None else f" of level {level!r}"
            raise ParameterError(
                f"there is no zone {printable(wanted[unknown[0]])!r}{of}; codes are text, and the levels are "
                f"{', '.join(self.levels)}. Correct the code."
            )
        return wanted

    def _check_unambiguous(self, wanted: Objects) -> None:
        import pandas as pd

        double = pd.Index(wanted).isin(self.codes[self._index.duplicated()])
        if double.any():
            code = wanted[np.flatnonzero(double)[0]]
            depths = self.shape.depth[np.flatnonzero(self.codes == code)]
            raise ParameterError(
                f"zone {printable(code)!r} is on the levels {' and '.join(self.levels[d] for d in depths)}; say which "
                f"one is meant: {parameter('level', self.levels[depths[0]])}."
            )

    def depth_of(self, level: str) -> int:
        """Return the depth of a level, by its name.

        Examples
        --------
        >>> Zones.from_codes(["37063", "37001"], None, {"state": 2, "county": 5}).depth_of("county")
        1
        """
        if level not in self.levels:
            raise ParameterError(f"there is no level {printable(level)!r}; the levels are {', '.join(self.levels)}.")
        return self.levels.index(level)

    @cached_property
    def _ranges(self) -> tuple[Integers, Integers, Integers]:
        """The leaves from left to right, and for each node where its own begin and how many they are."""
        sizes = sums(self.shape, np.ones(self.n_leaves, dtype=np.int64))
        left = first_leaves(self.shape)
        leaves = np.argsort(left[self.leaf_nodes])
        return leaves, left, sizes

    def leaves_of(self, nodes: npt.ArrayLike) -> Integers:
        """Return the leaves below some nodes, one node after the other, as numbers of leaves (not of nodes).

        Examples
        --------
        >>> zones = Zones.from_codes(["37063", "37001", "11"], None, {"state": 2, "county": 5})
        >>> zones.leaves_of(zones.nodes_of("37")).tolist()
        [1, 2]
        """
        leaves, left, sizes = self._ranges
        numbers = np.atleast_1d(np.asarray(nodes, dtype=np.int64))
        counts = sizes[numbers]
        place = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        return leaves[np.repeat(left[numbers], counts) + place]

    def under(self, node: int, level: str | None = None) -> Integers:
        """Return the children of a node, or all nodes of a level that lie below it.

        Examples
        --------
        >>> zones = Zones.from_codes(["37063", "37001", "11"], None, {"state": 2, "county": 5})
        >>> zones.codes[zones.under(0)].tolist(), zones.codes[zones.under(0, "county")].tolist()
        (['11', '37'], ['37001', '37063'])
        """
        nodes = np.array([node])
        depth = int(self.shape.depth[node])
        for _ in range((depth + 1 if level is None else self.depth_of(level)) - depth):
            first = self.shape.first_child[nodes].astype(np.int64)
            counts = self.shape.n_children[nodes].astype(np.int64)
            place = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
            nodes = np.repeat(first, counts) + place
        return nodes


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
            f"the zones are a {type(areas).__name__}; give a GeoDataFrame with a row for each zone and columns of "
            "codes, or codes to Zones.from_codes."
        )
    for name in names:
        if columns.count(name) != 1:
            raise ParameterError(
                f"the zones have {'more than one' if name in columns else 'no'} column {name!r}; their columns are "
                f"{printable(', '.join(columns))}."
            )
