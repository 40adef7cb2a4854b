"""The public frame of a release: a rectangle, an optional region in it, and grids of cells over it.

Bounds, CRS, region and grids are public parameters, checked once, when a `Domain` or a `Grid` is made. Nothing here may
be inferred from records. In which cell a record lies is decided in `lattice` (``docs/design/lattice.md``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from spatialdp._support.arrays import Array, Booleans, Floats, Integers, Integers32
from spatialdp._support.checks import positive_pair, whole_pair
from spatialdp.errors import DomainError, ParameterError
from spatialdp.space import crs as crs_
from spatialdp.space.lattice import LATTICE_BITS, Axis, box_array, edge_lines
from spatialdp.space.placement import check_place
from spatialdp.space.regions.cells import RegionCells, cells_touching, cells_with_centre
from spatialdp.space.reprojection import in_crs
from spatialdp.wording import as_typed, either, parameter, quoted

__all__ = ["Domain", "Grid", "most_cells"]

LARGEST_GRID = 2**28  # cells
_SMALL_GRID = 2**22  # cells that any grid may have: 32 MiB for each array
_SPARSEST = 256  # cells of a larger grid for each one that is filled
_LARGEST_COORDINATE = 1e60  # and one over the shortest side
_CRUMB = 1e-6  # of a cell, which rounding may leave when sides are divided into cells

# Trees whose split lines follow no grid take the region at this resolution: 1024 x 1024 cells of the domain.
RASTER_BITS = 10
RASTER_SIDE = 2**RASTER_BITS
RASTER_SHIFT = LATTICE_BITS - RASTER_BITS


@dataclass(frozen=True)
class Domain:
    """A public rectangle, with an optional CRS and an optional public region.

    Parameters
    ----------
    bounds : (xmin, ymin, xmax, ymax)
        Public knowledge, never the bounding box of the records. A record on the far edge belongs to the last cell; a
        record outside the bounds counts nowhere.
    crs : str, int or pyproj.CRS, optional
        CRS of the bounds, such as ``"EPSG:4326"`` (then x is longitude). Bounds that cannot be meant in it are refused.
    region : polygon, GeoSeries or GeoDataFrame, optional
        Public area within the bounds. Cells that do not belong to it are known to be empty and cost nothing. A
        GeoSeries or GeoDataFrame in another CRS is reprojected.
    region_cells : {"touching", "centres"}
        Which cells belong to the region. ``"touching"``: every cell in which a place of the region, its border
        included, lies; no record in the region is dropped. ``"centres"``: every cell whose centre lies in the region;
        records in the rest of the region count nowhere.

    Raises
    ------
    DomainError
        If the bounds are not a finite rectangle, if they cannot be meant in the CRS (degrees where it is in metres,
        latitudes beyond 90, bounds outside its area of use), or if the region is not a valid area in the bounds.

    Examples
    --------
    >>> domain = Domain(bounds=(-125, 24, -66, 50), crs="EPSG:4326")
    >>> domain.grid(shape=(59, 26)).n_cells
    1534
    """

    bounds: tuple[float, float, float, float]
    crs: str | None = None
    region: Any = None
    region_cells: RegionCells = RegionCells.TOUCHING

    def __init__(
        self, bounds: Sequence[float], crs: Any = None, region: Any = None, region_cells: str = RegionCells.TOUCHING
    ) -> None:
        object.__setattr__(self, "bounds", _checked_bounds(bounds))
        object.__setattr__(self, "crs", crs_.canonical(crs))
        if self.crs is not None:
            check_place(self.bounds, self.crs)
        object.__setattr__(self, "region", None if region is None else self._checked_region(region))
        object.__setattr__(self, "region_cells", _checked_rule(region_cells, region))

    @classmethod
    def around(cls, region: Any, crs: Any = None, region_cells: str = RegionCells.TOUCHING) -> Domain:
        """Make the domain of a public region: the bounds are the region's bounding box.

        Examples
        --------
        >>> import shapely
        >>> Domain.around(shapely.box(0, 0, 2, 1)).bounds
        (0.0, 0.0, 2.0, 1.0)
        """
        region_crs = crs_.canonical(getattr(region, "crs", None) if crs is None else crs)
        geometry = _geometry(region, region_crs)
        return cls(geometry.bounds, crs=region_crs, region=geometry, region_cells=region_cells)

    @classmethod
    def published(cls, bounds: Sequence[float], crs: Any, region: Any, region_cells: str) -> Domain:
        """Make a domain whose place is not questioned: that of a release which exists, or one made from another domain.

        Examples
        --------
        >>> Domain.published((0, 0, 10, 93), "EPSG:4326", None, "touching").bounds
        (0.0, 0.0, 10.0, 93.0)
        """
        domain = cls(bounds, region=region, region_cells=region_cells)
        object.__setattr__(domain, "crs", crs_.canonical(crs))
        return domain

    @property
    def axes(self) -> tuple[Axis, Axis]:
        """The x axis and the y axis."""
        xmin, ymin, xmax, ymax = self.bounds
        return Axis(xmin, xmax), Axis(ymin, ymax)

    @property
    def size(self) -> tuple[float, float]:
        """Width and height, in units of the bounds."""
        xmin, ymin, xmax, ymax = self.bounds
        return xmax - xmin, ymax - ymin

    def fitted(self, cell_size: float | Sequence[float]) -> Domain:
        """Return a domain with the same lower left corner that whole cells of this size fill exactly.

        The cells cover the bounds. With ``region_cells="centres"`` a row or column is kept if its centre lies within
        the bounds.

        Examples
        --------
        >>> Domain((0, 0, 10, 9)).fitted(4.0).bounds
        (0.0, 0.0, 12.0, 12.0)
        """
        (width, height), (xmin, ymin, _, _) = positive_pair(cell_size, "cell_size"), self.bounds
        counts = (side / cell for side, cell in zip(self.size, (width, height), strict=True))
        nx, ny = (self._whole_cells(count) for count in counts)
        if not nx or not ny:
            raise DomainError(
                f"{parameter('cell_size')} {quoted(cell_size)} is too large for bounds {quoted(self.bounds)}; no "
                "cell has its centre within them. Give a smaller size."
            )
        bounds = (xmin, ymin, xmin + nx * width, ymin + ny * height)
        return Domain.published(bounds, self.crs, self.region, self.region_cells)

    def grid(
        self,
        shape: Sequence[int] | None = None,
        *,
        cell_size: float | Sequence[float] | None = None,
    ) -> Grid:
        """Divide the domain into cells, by their number or by their size.

        Parameters
        ----------
        shape : (nx, ny), optional
            Number of columns and rows.
        cell_size : float or (width, height), optional
            Size of a cell in units of the bounds; it must divide the sides of the domain (see `fitted`).

        Examples
        --------
        >>> Domain((0, 0, 10, 5)).grid(cell_size=2.5).shape
        (4, 2)
        """
        if (shape is None) == (cell_size is None):
            problem = "neither shape nor cell_size was" if shape is None else "both shape and cell_size were"
            raise DomainError(f"{problem} given; give either shape=(nx, ny) or cell_size=..., and not both.")
        if shape is None:
            return Grid(self, self.shape_of(positive_pair(cell_size, "cell_size")))
        return Grid(self, shape)  # type: ignore[arg-type]  # a grid checks its shape

    @property
    def region_raster(self) -> Booleans | None:
        """The region as 1024 x 1024 cells of the domain, for trees that follow no grid; None if there is no region."""
        return None if self.region is None else self.grid((RASTER_SIDE, RASTER_SIDE)).mask

    def boxes(self, boxes: npt.ArrayLike) -> Integers:
        """Snap boxes (xmin, ymin, xmax, ymax) to lattice lines and clip them to the domain.

        Examples
        --------
        >>> (Domain((0, 0, 1, 1)).boxes([(0.25, 0, 0.5, 9)]) / 2**30).tolist()
        [[0.25, 0.0, 0.5, 1.0]]
        """
        box = box_array(boxes)
        x, y = self.axes
        return np.stack([axis.positions(box[:, i]) for i, axis in enumerate((x, y, x, y))], axis=1)

    def _whole_cells(self, count: float) -> int:
        """Round a number of rows or columns by the rule of `fitted`; what rounding leaves of a cell does not count."""
        if self.region_cells is RegionCells.CENTRES:
            return math.floor(count + 0.5)
        return math.ceil(count - _CRUMB)

    def shape_of(self, cell: tuple[float, float]) -> tuple[int, int]:
        """Return the numbers of columns and rows of cells of a size; raise an error if it does not divide the sides.

        Examples
        --------
        >>> Domain((0, 0, 10, 5)).shape_of((2.5, 0.5))
        (4, 10)
        """
        counts = [side / length for side, length in zip(self.size, cell, strict=True)]
        nx, ny = (max(1, round(count)) for count in counts)
        if any(abs(count - n) > _CRUMB for count, n in zip(counts, (nx, ny), strict=True)):
            fitted = either("domain.fitted(cell_size)", f"--bounds {as_typed(self.fitted(cell).bounds)}")
            raise DomainError(
                f"{parameter('cell_size')} {quoted(cell)} does not divide the domain's {self.size[0]:g} x "
                f"{self.size[1]:g}; use {fitted}, which keeps the lower left corner, or give "
                f"{parameter('shape', '(nx, ny)', typed='NX,NY')}."
            )
        return nx, ny

    def _checked_region(self, region: Any) -> Any:
        import shapely

        geometry = _geometry(region, self.crs, middle=(self.bounds[0] + self.bounds[2]) / 2)
        if not shapely.intersects(geometry, shapely.box(*self.bounds)):
            raise DomainError(
                f"the region lies in {quoted(geometry.bounds)}, outside the bounds {quoted(self.bounds)}; "
                "give both in the same CRS and axis order (x = longitude)."
            )
        return geometry


@dataclass(frozen=True)
class Grid:
    """The cells of a domain: nx columns by ny rows, row 0 in the south.

    Examples
    --------
    >>> grid = Domain((0, 0, 3, 2)).grid(shape=(3, 2))
    >>> grid.shape, grid.n_cells
    ((3, 2), 6)
    >>> grid.x_edges
    array([0., 1., 2., 3.])
    """

    domain: Domain
    shape: tuple[int, int]

    def __post_init__(self) -> None:
        nx, ny = whole_pair(self.shape, "shape")
        if nx * ny > LARGEST_GRID:
            raise ParameterError(
                f"{parameter('shape')} is {quoted((nx, ny))}; the product may be at most {LARGEST_GRID}. Use larger "
                "cells."
            )
        object.__setattr__(self, "shape", (nx, ny))

    @cached_property
    def x_lines(self) -> Integers:
        """Lattice lines of the nx + 1 column edges."""
        return edge_lines(self.shape[0])

    @cached_property
    def y_lines(self) -> Integers:
        """Lattice lines of the ny + 1 row edges."""
        return edge_lines(self.shape[1])

    @cached_property
    def x_edges(self) -> Floats:
        """Coordinates of the nx + 1 column edges."""
        return self.domain.axes[0].edges(self.shape[0])

    @cached_property
    def y_edges(self) -> Floats:
        """Coordinates of the ny + 1 row edges."""
        return self.domain.axes[1].edges(self.shape[1])

    @cached_property
    def mask(self) -> Booleans:
        """Which cells belong to the region, as an (ny, nx) array; all cells if the domain has no region."""
        return _region_mask(self)

    def lattice_boxes(self, blocks: Integers | Integers32, dtype: type[np.integer[Any]] = np.int64) -> Array:
        """Return the lattice boxes of blocks of cells, given as (m, 4): first column and row, and those after the last.

        Their lines fit into 32 bits, but products of them do not.

        Examples
        --------
        >>> (Domain((0, 0, 1, 1)).grid((4, 2)).lattice_boxes(np.array([[0, 0, 1, 2]])) / 2**30).tolist()
        [[0.0, 0.0, 0.25, 1.0]]
        """
        lines, boxes = (self.x_lines, self.y_lines), np.empty(blocks.shape, dtype=dtype)
        for side in range(4):
            boxes[:, side] = lines[side % 2].astype(dtype).take(blocks[:, side])
        return boxes

    @cached_property
    def n_cells(self) -> int:
        """Number of cells in the region."""
        return int(self.mask.sum())


def most_cells(filled: int) -> int:
    """Return how many cells a grid may have of which so many are filled: 2^22, or 256 for each filled cell.

    Whatever lays a grid out takes memory for all its cells. A file could otherwise state a large grid and few cells of
    it; so releases are refused when they are planned, and files when they are loaded.

    Examples
    --------
    >>> most_cells(1), most_cells(10**6)
    (4194304, 256000000)
    """
    return max(_SMALL_GRID, _SPARSEST * filled)


@lru_cache(maxsize=16)
def _region_mask(grid: Grid) -> Booleans:
    """Which cells belong to the region; cached, because finding them can take longer than a release."""
    domain, (nx, ny) = grid.domain, grid.shape
    if domain.region is None:
        mask = np.ones((ny, nx), dtype=bool)
    else:
        rule = cells_touching if domain.region_cells is RegionCells.TOUCHING else cells_with_centre
        mask = rule(domain.region, domain.axes, grid.shape)
    mask.setflags(write=False)
    return mask


def _checked_rule(region_cells: str, region: Any) -> RegionCells:
    rule = RegionCells.parse(region_cells)
    if region is None and rule is not RegionCells.TOUCHING:
        raise DomainError(
            f"{parameter('region_cells')} is {quoted(str(rule))} but there is no region; give {parameter('region')} as "
            "well, or leave it out."
        )
    return rule


def _checked_bounds(bounds: Sequence[float]) -> tuple[float, float, float, float]:
    try:
        xmin, ymin, xmax, ymax = () if isinstance(bounds, str) else (float(value) for value in bounds)
    except (TypeError, ValueError, OverflowError):
        raise DomainError(f"bounds are {bounds!r}; they must be four numbers (xmin, ymin, xmax, ymax).") from None
    for low, high, axis in ((xmin, xmax, "x"), (ymin, ymax, "y")):
        if not low < high:
            raise DomainError(
                f"{parameter('bounds')} are {quoted((xmin, ymin, xmax, ymax))}; {axis}min must be below {axis}max. "
                "For an area across the antimeridian use longitudes from 0 to 360, or two domains."
            )
        # Areas, and products of areas, must be normal doubles.
        if not (max(abs(low), abs(high)) <= _LARGEST_COORDINATE and high - low >= 1 / _LARGEST_COORDINATE):
            raise DomainError(
                f"{parameter('bounds')} are {quoted((xmin, ymin, xmax, ymax))}; they must be finite, and neither "
                "side may be absurdly large or small. Use another unit of length."
            )
    return xmin, ymin, xmax, ymax


def _geometry(region: Any, crs: str | None, middle: float | None = None) -> Any:
    """Return a region given in any accepted form as one valid, two-dimensional polygon or multipolygon, in a CRS."""
    import shapely

    if getattr(region, "active_geometry_name", "geometry") is None:
        raise DomainError("the region is a GeoDataFrame without an active geometry; choose one with set_geometry.")
    if hasattr(region, "geometry") and hasattr(region, "crs"):
        own, region = region.crs, region.geometry.union_all()
        if isinstance(region, shapely.Polygon | shapely.MultiPolygon) and region.is_valid:
            (region,) = in_crs("region's geometries", np.array([region]), own, crs, middle)
    if not isinstance(region, shapely.Polygon | shapely.MultiPolygon) or region.is_empty:
        wanted = either("shapely Polygon or MultiPolygon, or a GeoSeries or GeoDataFrame of them", "polygon")
        raise DomainError(
            f"the region is {either(f'a {type(region).__name__}', 'empty')}; it must be a non-empty {wanted}."
        )
    if not region.is_valid:
        raise DomainError(
            f"the region is not a valid polygon ({shapely.is_valid_reason(region)}); repair it "
            f"{either('with shapely.make_valid', 'in a GIS')}."
        )
    return shapely.force_2d(region)
