"""Zones that are H3 cells: hexagons, and twelve pentagons, of a public region, with their parents.

A cell belongs to the region if the region contains its centre. A record is in the cell that H3 gives for the centre of
its lattice square, so that points in memory and in files are located alike; a record in another cell counts nowhere.
Parents are parents by **index**: the cell of a coarser resolution that a cell belongs to need not contain all of it. So
the area of a zone above the leaves is the union of its leaves, and never the coarse hexagon.

An index has 64 bits: four of them state the resolution, and three bits for each resolution choose a child. Parents are
found from these bits. The package `h3` is needed (``pip install 'spatialdp[h3]'``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, repeat
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from spatialdp._support.arrays import Floats, Integers32, Objects
from spatialdp._support.checks import whole_number
from spatialdp.errors import DomainError, ParameterError
from spatialdp.space import crs as crs_
from spatialdp.space.domain import Domain
from spatialdp.space.zones.frame import Zones
from spatialdp.space.zones.hierarchy import code_column, hierarchy
from spatialdp.space.zones.outlines import cut_at_half_turn, polygons_alone
from spatialdp.wording import either, parameter

__all__ = ["H3", "Cells", "cells_in", "parents"]

Cells = npt.NDArray[np.uint64]

_CRS = "EPSG:4326"
_FINEST = 15
_LARGEST = 2**28  # leaves
_RESOLUTION_AT, _DIGITS = 52, 3  # the first bit of the resolution; bits for each resolution's digit
_BLOCK = 2**18  # places at a time, of which Python makes objects
_TILE, _MARGIN = 60.0, 0.5  # degrees: width of the parts of a region that H3 is asked about, and their overlap


class H3(Zones):
    """The H3 cells of a public region, at one or more resolutions.

    Parameters
    ----------
    region : polygon, GeoSeries or GeoDataFrame
        Public area, in longitude and latitude (WGS 84). Its cells are those whose centre it contains.
    resolutions : sequence of int
        Resolutions of the levels, coarsest first, from 0 to 15; the last one is the leaves'.
    name : str, optional

    Raises
    ------
    ParameterError
        If the region contains no centre, if it has more than 2^28 cells, or if the package `h3` is missing.
    DomainError
        If the region is not an area, or is in another CRS.

    Notes
    -----
    Codes are the cells' indexes as H3 writes them. Parents are by index, and so the cells of a coarse resolution are
    drawn as unions of leaves: a coarse hexagon does not contain just the records that are counted for it.

    Examples
    --------
    >>> import shapely
    >>> zones = H3(shapely.box(-0.2, 51.4, 0.0, 51.6), resolutions=(5, 7))
    >>> zones
    H3(all zones: 1, resolution 5: 4, resolution 7: 65)
    >>> zones.codes[1]
    '85194ad3fffffff'
    """

    def __init__(self, region: Any, resolutions: Sequence[int] = (4, 8), *, name: str | None = None) -> None:
        wanted = _checked_resolutions(resolutions)
        _library()
        domain = Domain.around(region, _CRS) if getattr(region, "crs", None) is None else Domain.around(region)
        if domain.crs is None or not crs_.same(domain.crs, _CRS):
            raise DomainError(
                f"the region is in CRS {domain.crs}; H3 divides the earth in longitude and latitude, EPSG:4326. "
                f"Reproject it{either(f' with to_crs({_CRS!r})', '')}."
            )
        cells = cells_in(domain.region, wanted[-1])
        columns = {f"resolution {each}": code_column(texts(parents(cells, each)), "H3") for each in wanted}
        tree = hierarchy(columns)
        self._set(tree.levels, tree.shape, tree.codes, None, domain.crs, Domain(domain.bounds, domain.crs), name)
        self._set_more(tree.rows, np.zeros(tree.rows.size, dtype=bool), {})
        object.__setattr__(self, "cells", cells[tree.rows])
        object.__setattr__(self, "resolutions", wanted)
        del self.__dict__["geometry"]  # drawn when it is asked for

    def __repr__(self) -> str:
        return f"H3{super().__repr__().removeprefix('Zones')}"

    @cached_property
    def geometry(self) -> Objects:
        """The area of each leaf; cells across the antimeridian are cut there."""
        return drawn(self.cells)  # type: ignore[attr-defined]

    @cached_property
    def locator(self) -> _CellLocator:
        """Finds the cell of each lattice square."""
        assert self.domain is not None
        return _CellLocator(self.cells, self.resolutions[-1], self.domain)  # type: ignore[attr-defined]


@dataclass(frozen=True, eq=False)
class _CellLocator:
    """Finds the leaf of a square by the cell of the square's centre."""

    cells: Cells
    resolution: int
    domain: Domain

    def leaves(self, columns: Integers32, rows: Integers32) -> Integers32:
        """Return the number of the leaf that each square is in, and the number of leaves for none."""
        import pandas as pd

        found = np.full(columns.size, self.cells.size, dtype=np.int32)
        inside = np.flatnonzero(columns >= 0)
        x, y = self.domain.axes
        centres = x.centres(columns[inside].astype(np.int64)), y.centres(rows[inside].astype(np.int64))
        places = pd.Index(self.cells).get_indexer(cells_of(*centres, self.resolution))
        found[inside] = np.where(places < 0, self.cells.size, places)
        return found


def cells_of(longitude: Floats, latitude: Floats, resolution: int) -> Cells:
    """Return the cells of places, as numbers.

    Examples
    --------
    >>> texts(cells_of(np.array([-0.1]), np.array([51.5]), 5)).tolist()
    ['85194ad3fffffff']
    """
    locate = _library().latlng_to_cell  # H3 has no function for arrays
    cells = np.empty(longitude.size, dtype=np.uint64)
    for start in range(0, cells.size, _BLOCK):
        block = slice(start, start + _BLOCK)
        found = map(locate, latitude[block].tolist(), longitude[block].tolist(), repeat(resolution))
        cells[block] = np.fromiter(found, dtype=np.uint64)
    return cells


def parents(cells: Cells, resolution: int) -> Cells:
    """Return the cells of a coarser resolution that cells belong to, by index.

    Examples
    --------
    >>> cells = cells_of(np.array([-0.1]), np.array([51.5]), 9)
    >>> bool(parents(cells, 5) == cells_of(np.array([-0.1]), np.array([51.5]), 5))
    True
    """
    fine = _DIGITS * (_FINEST - resolution)  # bits of the digits of finer resolutions, all of which are 7
    keep = ~(np.uint64(0xF) << np.uint64(_RESOLUTION_AT))
    found: Cells = (cells & keep) | (np.uint64(resolution) << np.uint64(_RESOLUTION_AT))
    found |= (np.uint64(1) << np.uint64(fine)) - np.uint64(1)
    return found


def texts(cells: Cells) -> Objects:
    """Return cells as H3 writes them: in hexadecimal digits.

    Examples
    --------
    >>> texts(np.array([0x85194ad3fffffff], dtype=np.uint64)).tolist()
    ['85194ad3fffffff']
    """
    return np.array([*map("{:x}".format, cells.tolist())], dtype=object)


def cells_in(region: Any, resolution: int) -> Cells:
    """Return the cells whose centre lies in a region in degrees, sorted.

    H3 is asked about parts of the region, because it takes an edge of more than 180 degrees to cross the antimeridian;
    the parts overlap, and each centre is then tested against the region itself.
    """
    import shapely

    library = _library()
    found = [np.empty(0, dtype=np.uint64)]
    if (most := _expected(region, resolution)) > _LARGEST:
        raise ParameterError(_too_many(resolution, most))
    for west in np.arange(-180.0, 180.0, _TILE):
        for south in np.arange(-90.0, 90.0, _TILE):
            tile = shapely.box(
                max(west - _MARGIN, -180),
                max(south - _MARGIN, -90),
                min(west + _TILE + _MARGIN, 180),
                min(south + _TILE + _MARGIN, 90),
            )
            part = shapely.intersection(region, tile)
            if shapely.area(part) > 0:
                (areas,) = polygons_alone(np.array([part], dtype=object))
                found.append(np.array(library.geo_to_cells(areas, resolution), dtype=np.uint64))
    cells: Cells = np.unique(np.concatenate(found))
    latitude, longitude = _centres(cells)
    inside: Cells = cells[shapely.contains_xy(region, longitude, latitude)]
    if not inside.size:
        raise ParameterError(
            f"the region contains the centre of no cell of resolution {resolution}; give a larger "
            f"{parameter('region')}, or a finer resolution."
        )
    return inside


def drawn(cells: Cells) -> Objects:
    """Return the polygons of cells in degrees, cut at 180 degrees; a cell around a pole reaches up to it.

    Examples
    --------
    >>> drawn(np.array([0x85194ad3fffffff], dtype=np.uint64))[0].geom_type
    'Polygon'
    """
    import shapely

    outline = _library().cell_to_boundary
    corners = [np.array(outline(cell))[:, ::-1] for cell in cells.tolist()]
    rings = [_unwound(each) for each in corners]
    owner = np.repeat(np.arange(cells.size), [len(each) for each in rings])
    shapes: Objects = shapely.polygons(shapely.linearrings(np.concatenate(rings), indices=owner))
    low, _, high, _ = shapely.bounds(shapes).T
    across = (low < -180) | (high > 180)
    if across.any():
        shapes[across] = cut_at_half_turn(shapes[across])
    return shapes


def _unwound(corners: Floats) -> Floats:
    """Return corners whose longitudes go on beyond 180 degrees; around a pole, the ring is closed over the pole."""
    longitude = np.unwrap(corners[:, 0], period=360)
    turn = np.unwrap(np.append(longitude, longitude[0]), period=360)[-1] - longitude[0]
    ring = np.stack([longitude, corners[:, 1]], axis=1)
    if abs(turn) > 180:
        pole = np.copysign(90.0, corners[:, 1].sum())
        ends = [[longitude[0] + turn, corners[0, 1]], [longitude[0] + turn, pole], [longitude[0], pole]]
        ring = np.concatenate([ring, ends])
    ring[:, 0] -= 360 * np.round(ring[:, 0].mean() / 360)
    return ring


def _centres(cells: Cells) -> tuple[Floats, Floats]:
    """Return latitudes and longitudes of the centres of cells."""
    place = _library().cell_to_latlng
    both = np.array([*map(place, cells.tolist())], dtype=np.float64).reshape(-1, 2)
    return both[:, 0], both[:, 1]


def _expected(region: Any, resolution: int) -> int:
    """Return about how many cells a region in degrees has, by its share of the earth's surface."""
    import shapely

    def equal_areas(places: Floats) -> Floats:
        return np.stack([places[:, 0] / 360, np.sin(np.radians(places[:, 1])) / 2], axis=1)

    share = float(shapely.area(shapely.transform(shapely.segmentize(region, 1.0), equal_areas)))
    return int(share * _library().get_num_cells(resolution))


def _too_many(resolution: int, number: int) -> str:
    return (
        f"the region has about {number:.2g} cells of resolution {resolution}; a release may have {_LARGEST} zones. Use "
        "a coarser resolution or a smaller region."
    )


def _checked_resolutions(resolutions: Sequence[int]) -> tuple[int, ...]:
    given = (resolutions,) if isinstance(resolutions, int) else tuple(resolutions)
    wanted = tuple(whole_number(each, "resolutions", 0, _FINEST) for each in given)
    if not wanted or any(second <= first for first, second in pairwise(wanted)):
        raise ParameterError(
            f"{parameter('resolutions')} are {given}; give at least one, coarsest first, such as "
            f"{parameter('resolutions', (4, 8))}."
        )
    return wanted


def _library() -> ModuleType:
    """Return the interface of H3 whose cells are whole numbers."""
    try:
        from h3.api import basic_int
    except ImportError:
        raise ParameterError(
            "zones of H3 need the package h3, which is not installed; install it with pip install 'spatialdp[h3]'."
        ) from None
    found: ModuleType = basic_int
    return found
