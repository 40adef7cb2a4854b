"""By which queries are releases judged? Workloads of boxes or polygons, public and seeded.

Boxes are half-open and in domain coordinates, as everywhere. Where a workload is random, equal seeds
give equal queries, because the design of an experiment is public. A workload must not depend on the
records, because nothing here protects them.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from spatialdp._support.arrays import Floats, Integers, Objects
from spatialdp._support.checks import positive_pair, whole_number, whole_pair
from spatialdp.errors import ParameterError
from spatialdp.privacy.noise.source import SeededNoise
from spatialdp.space import crs as crs_
from spatialdp.space.domain import Domain
from spatialdp.space.polygons import read_polygons
from spatialdp.space.public_files import EDGES, boxes_of, read_frame
from spatialdp.wording import either, parameter, quoted

__all__ = [
    "Workload",
    "all_cells",
    "area_boxes",
    "placed",
    "polygons",
    "prefix_boxes",
    "random_boxes",
    "read_boxes",
    "sized_boxes",
    "slabs",
    "squares",
]


MOST = 10**7  # queries in one workload


@dataclass(frozen=True, eq=False)
class Workload:
    """A set of queries, boxes or polygons, with a name.

    Parameters
    ----------
    name : str
    boxes : (m, 4) array-like, optional
        xmin, ymin, xmax, ymax in domain coordinates.
    polygons : sequence of shapely polygons, optional
        Instead of boxes; polygons are answered by area weighting.
    size : float, optional
        Share of the domain's area that each query has, if all queries have the same.

    Raises
    ------
    ParameterError
        If there are no queries, or they are not boxes.

    Examples
    --------
    >>> Workload("centre", boxes=[(0.4, 0.4, 0.6, 0.6)])
    <Workload 'centre' of 1 box>
    """

    name: str
    boxes: Floats | None = None
    polygons: Objects | None = None
    size: float | None = None

    def __post_init__(self) -> None:
        if (self.boxes is None) == (self.polygons is None):
            number = "neither" if self.boxes is None else "both"
            raise ParameterError(
                f"workload {self.name!r} got {number} of boxes and polygons, but needs exactly one; give either boxes "
                "or polygons."
            )
        queries = np.array(self.polygons, dtype=object) if self.boxes is None else _boxes(self.boxes)
        if not len(queries):
            raise ParameterError(f"workload {self.name!r} has no queries; give at least one.")
        queries.setflags(write=False)
        object.__setattr__(self, "polygons" if self.boxes is None else "boxes", queries)

    def __len__(self) -> int:
        return len(self.polygons if self.boxes is None else self.boxes)  # type: ignore[arg-type]  # one is not None

    def __repr__(self) -> str:
        noun = ("polygon", "polygons") if self.boxes is None else ("box", "boxes")
        return f"<Workload {self.name!r} of {len(self)} {noun[len(self) > 1]}>"

    def digest(self) -> str:
        """SHA-256 of the name and the queries.

        Examples
        --------
        >>> Workload("a", [(0, 0, 1, 1)]).digest() == Workload("a", [(0, 0, 1, 2)]).digest()
        False
        """
        digest = hashlib.sha256(f"{self.name} {self.size} ".encode())
        if self.boxes is not None:
            digest.update(self.boxes.tobytes())
        else:
            import shapely

            digest.update(b"".join(shapely.to_wkb(self.polygons)))
        return digest.hexdigest()


def random_boxes(domain: Domain, count: int = 2000, *, seed: int = 0, shape: Sequence[int] | None = None) -> Workload:
    """Boxes between two uniformly random corners; all boxes are equally likely.

    Parameters
    ----------
    domain : Domain
    count : int
    seed : int
    shape : (nx, ny), optional
        If given, boxes are made of whole cells of the grid of this shape, all equally likely.

    Examples
    --------
    >>> random_boxes(Domain((0, 0, 1, 1)), 5)
    <Workload 'random boxes' of 5 boxes>
    """
    draws = _uniform(_count(count) * 4, seed, "random boxes").reshape(-1, 2, 2)
    if shape is None:
        return Workload("random boxes", placed(np.sort(draws, axis=1).reshape(-1, 4), domain))
    nx, ny = whole_pair(shape, "shape")
    grid = domain.grid((nx, ny))
    x0, x1 = _intervals(draws[:, :, 0], nx)
    y0, y1 = _intervals(draws[:, :, 1], ny)
    x, y = grid.x_edges, grid.y_edges
    return Workload(f"random boxes of {nx} × {ny} cells", np.stack([x[x0], y[y0], x[x1], y[y1]], axis=1))


def sized_boxes(domain: Domain, width: float, height: float, count: int = 2000, *, seed: int = 0) -> Workload:
    """Boxes of one width and height, in domain units, placed uniformly at random inside the domain.

    Examples
    --------
    >>> sized_boxes(Domain((0, 0, 60, 26)), 15, 0.2, 3)
    <Workload '15 × 0.2' of 3 boxes>
    """
    sides = np.array(positive_pair((width, height), "width and height"))
    if np.any(sides > domain.size):
        raise ParameterError(
            f"boxes of {width:g} x {height:g} do not fit into the domain of {domain.size[0]:g} x {domain.size[1]:g}; "
            "give smaller sides, in domain units."
        )
    name = f"{width:g} × {height:g}"
    low = domain.bounds[:2] + _uniform(_count(count) * 2, seed, name).reshape(-1, 2) * (domain.size - sides)
    share = float(np.prod(sides / domain.size))
    return Workload(name, np.concatenate([low, np.minimum(low + sides, domain.bounds[2:])], axis=1), size=share)


def area_boxes(
    domain: Domain, shares: Sequence[float] | None = None, count: int = 500, *, seed: int = 0
) -> list[Workload]:
    """Boxes with given shares of the domain's area and its proportions: one workload for each share.

    Parameters
    ----------
    domain : Domain
    shares : sequence of float, optional
        Above 0, at most 1; by default eight from 0.0001 to 0.3, evenly spaced on a logarithmic scale.
    count : int
        Number of boxes for each share.
    seed : int

    Examples
    --------
    >>> area_boxes(Domain((0, 0, 1, 1)), [0.01, 0.1], 50)
    [<Workload '1 % of the area' of 50 boxes>, <Workload '10 % of the area' of 50 boxes>]
    """
    areas = np.geomspace(1e-4, 0.3, 8) if shares is None else np.asarray(shares, dtype=np.float64)
    if areas.ndim != 1 or not areas.size or not np.all((areas > 0) & (areas <= 1)):
        raise ParameterError(
            f"{parameter('shares')} are {quoted(shares)}; give one or more shares of the area, above 0 and up to 1."
        )
    return [_area(domain, float(area), _count(count), seed) for area in areas]


def _area(domain: Domain, share: float, count: int, seed: int) -> Workload:
    name = f"{100 * share:.3g} % of the area"
    side = math.sqrt(share)
    low = _uniform(count * 2, seed, name).reshape(-1, 2) * (1 - side)
    return Workload(name, placed(np.concatenate([low, low + side], axis=1), domain), size=share)


def squares(domain: Domain, side: float, anchors: int | npt.ArrayLike = 20) -> Workload:
    """Squares of one side around public places.

    Parameters
    ----------
    domain : Domain
    side : float
        In domain units.
    anchors : int or (m, 2) array-like
        Centres of the squares: a regular grid of this many columns and rows, such that no square leaves the
        domain; or public places, such as stations. Never records.

    Examples
    --------
    >>> squares(Domain((0, 0, 10, 10)), 2, anchors=[(5, 5), (1, 9)]).boxes.tolist()
    [[4.0, 4.0, 6.0, 6.0], [0.0, 8.0, 2.0, 10.0]]
    """
    half = positive_pair(side, "side")[0] / 2
    if np.ndim(anchors) == 0:
        columns = whole_number(anchors, "anchors", 1, math.isqrt(MOST))
        if 2 * half > min(domain.size):
            raise ParameterError(
                f"{parameter('side')} is {side:g}, but the domain is {domain.size[0]:g} x {domain.size[1]:g}; give a "
                "smaller side."
            )
        xmin, ymin, xmax, ymax = domain.bounds
        at = np.meshgrid(*(np.linspace(a + half, b - half, columns) for a, b in ((xmin, xmax), (ymin, ymax))))
        centres = np.stack([part.ravel() for part in at], axis=1)
    else:
        centres = np.asarray(anchors, dtype=np.float64)
        if centres.ndim != 2 or centres.shape[1] != 2:
            raise ParameterError(
                f"{parameter('anchors')} have shape {quoted(centres.shape)}; give "
                f"{either('(m, 2) coordinates', 'X,Y;X,Y')}, or a number of columns and rows."
            )
    name = f"squares of {2 * half:g}"
    return Workload(name, np.concatenate([centres - half, centres + half], axis=1), size=4 * half**2 / _area_of(domain))


def all_cells(domain: Domain, shape: Sequence[int]) -> Workload:
    """The cells of the region, on the grid of a shape.

    Examples
    --------
    >>> all_cells(Domain((0, 0, 1, 1)), (3, 2))
    <Workload 'cells of 3 × 2' of 6 boxes>
    """
    grid = domain.grid(shape)
    rows, columns = np.nonzero(grid.mask)
    x, y = grid.x_edges, grid.y_edges
    boxes = np.stack([x[columns], y[rows], x[columns + 1], y[rows + 1]], axis=1)
    return Workload("cells of {} × {}".format(*grid.shape), boxes, size=1 / (grid.shape[0] * grid.shape[1]))


def prefix_boxes(domain: Domain, shape: Sequence[int]) -> Workload:
    """Boxes from the domain's lower left corner to every corner of a grid: cumulative counts in two dimensions.

    Examples
    --------
    >>> prefix_boxes(Domain((0, 0, 1, 1)), (2, 1)).boxes.tolist()
    [[0.0, 0.0, 0.5, 1.0], [0.0, 0.0, 1.0, 1.0]]
    """
    grid = domain.grid(shape)
    x, y = (part.ravel() for part in np.meshgrid(grid.x_edges[1:], grid.y_edges[1:]))
    low = np.broadcast_to(domain.bounds[:2], (x.size, 2))
    return Workload("prefixes of {} × {}".format(*grid.shape), np.column_stack([low, x, y]))


def slabs(domain: Domain, axis: str = "x", count: int = 500, *, width: float | None = None, seed: int = 0) -> Workload:
    """Slabs across the whole domain: random intervals along one axis, and the whole of the other axis.

    Parameters
    ----------
    domain : Domain
    axis : {"x", "y"}
        The axis that is cut: "x" makes vertical slabs, "y" horizontal ones.
    count : int
    width : float, optional
        In domain units; by default slabs lie between two uniformly random lines.
    seed : int

    Examples
    --------
    >>> slabs(Domain((0, 0, 8, 4)), "y", 2, width=1).size
    0.25
    """
    if axis not in ("x", "y"):
        raise ParameterError(
            f"{parameter('axis')} is {axis!r}; it must be 'x' (vertical slabs) or 'y' (horizontal slabs)."
        )
    index = "xy".index(axis)
    name = f"{('vertical', 'horizontal')[index]} slabs"
    draws = _uniform(_count(count) * 2, seed, name).reshape(-1, 2)
    share = None
    if width is None:
        ends = np.sort(draws, axis=1)
    else:
        share = positive_pair(width, "width")[0] / domain.size[index]
        if share > 1:
            raise ParameterError(
                f"width is {width:g}, but the domain's side is {domain.size[index]:g}; give a smaller width."
            )
        name = f"{name} of {width:g}"
        low = draws[:, 0] * (1 - share)
        ends = np.stack([low, low + share], axis=1)
    boxes = np.tile([0.0, 0.0, 1.0, 1.0], (len(ends), 1))
    boxes[:, [index, index + 2]] = ends
    return Workload(name, placed(boxes, domain), size=share)


def read_boxes(source: str | PathLike[str] | Any, domain: Domain, *, name: str | None = None) -> Workload:
    """Boxes from a file or a frame.

    Parameters
    ----------
    source : path, DataFrame, GeoDataFrame or GeoSeries
        A CSV or Parquet file, or a frame, with columns xmin, ymin, xmax and ymax in domain coordinates; or
        geometries (a GeoDataFrame, or a file that geopandas reads), of which the bounding boxes are used.
    domain : Domain
        Geometries must have the domain's CRS.
    name : str, optional
        Name of the workload; by default that of the file.

    Examples
    --------
    >>> import pandas
    >>> frame = pandas.DataFrame({"xmin": [0], "ymin": [0], "xmax": [1], "ymax": [2]})
    >>> read_boxes(frame, Domain((0, 0, 4, 4)), name="mine")
    <Workload 'mine' of 1 box>
    """
    frame, label = _frame(source)
    if set(EDGES) <= set(getattr(frame, "columns", ())):
        return Workload(name or label, boxes_of(frame, label))
    if not hasattr(frame, "geometry"):
        raise ParameterError(
            f"{label} has neither columns xmin, ymin, xmax and ymax nor geometries; give one of them, with these names."
        )
    crs_.require_same("boxes", frame.crs, domain.crs)
    return Workload(name or label, frame.geometry.bounds.to_numpy())


def polygons(source: str | PathLike[str] | Any, domain: Domain, *, name: str | None = None) -> Workload:
    """Polygons, such as administrative areas, from a GeoDataFrame, a GeoSeries or a file that geopandas reads.

    Examples
    --------
    >>> import geopandas, shapely
    >>> areas = geopandas.GeoSeries([shapely.Point(1, 1).buffer(0.5)])
    >>> polygons(areas, Domain((0, 0, 4, 4)), name="a disc")
    <Workload 'a disc' of 1 polygon>
    """
    frame, label = _frame(source)
    if not hasattr(frame, "geometry"):
        raise ParameterError(
            f"{label} has no geometries; give {either('a GeoDataFrame, a GeoSeries or a', 'a')} file with polygons."
        )
    return Workload(name or label, polygons=read_polygons(frame, domain))


# --- shared ----------------------------------------------------------------------------------------


def _frame(source: Any) -> tuple[Any, str]:
    """The frame of a source, and a label for messages and workloads."""
    if not isinstance(source, str | PathLike):
        return source, "boxes" if hasattr(source, "columns") else type(source).__name__
    path = Path(source)
    return read_frame(path), path.stem


def _uniform(count: int, seed: int, stream: str) -> Floats:
    """Uniform numbers in [0, 1), equal for equal seeds; every kind of workload has its own stream."""
    number = int.from_bytes(hashlib.sha256(stream.encode()).digest()[:8], "little")
    words = SeededNoise((seed, number)).uniform_words(count)
    return np.asarray((words >> np.uint64(11)) * 2.0**-53)


def _intervals(draws: Floats, count: int) -> Integers:
    """Two different edges out of count + 1, lower one first, from two uniform numbers; all pairs are equally likely."""
    first = (draws[:, 0] * (count + 1)).astype(np.int64)
    second = (draws[:, 1] * count).astype(np.int64)
    second += second >= first
    return np.stack([np.minimum(first, second), np.maximum(first, second)])


def placed(boxes: Floats, domain: Domain) -> Floats:
    """Boxes in the unit square, stretched and moved to the domain.

    Examples
    --------
    >>> placed(np.array([[0, 0, 0.5, 1]]), Domain((10, 20, 14, 22))).tolist()
    [[10.0, 20.0, 12.0, 22.0]]
    """
    low, high = np.tile(domain.bounds[:2], 2), np.tile(domain.bounds[2:], 2)
    return np.asarray(np.clip(low + boxes * np.tile(domain.size, 2), low, high))


def _area_of(domain: Domain) -> float:
    return domain.size[0] * domain.size[1]


def _count(count: int) -> int:
    return whole_number(count, "count", 1, MOST)


def _boxes(boxes: npt.ArrayLike) -> Floats:
    array = np.array(boxes, dtype=np.float64)
    if array.ndim != 2 or array.shape[1] != 4:
        raise ParameterError(f"boxes have shape {array.shape}; give an (m, 4) array of xmin, ymin, xmax, ymax.")
    return array
