"""How do tools that do not read GeoParquet get a release? As GeoPackage, GeoTIFF, GeoJSON or CSV.

These files hold the map (the cells of a grid or the leaves of a tree, with estimates and their intervals) and the
privacy statement. What intervals of other areas need is in the GeoParquet file only, which is the complete one.

Every function returns the bytes of a file. The bytes must depend on the release alone: the functions write no date, no
statistics except those of released numbers, and they do not compress.
"""

from __future__ import annotations

import io
import json
import tempfile
import warnings
from collections.abc import Mapping
from functools import singledispatch
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from spatialdp._support.arrays import Array, Floats, Integers
from spatialdp._support.foreign.gdal import configured
from spatialdp.errors import ParameterError
from spatialdp.estimates.base import Estimate
from spatialdp.estimates.zones.counts import ZoneCounts
from spatialdp.outputs.files.geoparquet import to_geodataframe
from spatialdp.outputs.files.rows import (
    LEVEL,
    CellNumbers,
    cell_groups,
    cell_numbers,
    described,
    finest_shape,
    level_rows,
    map_rows,
    measures,
)
from spatialdp.outputs.files.statement import STATEMENT, statement
from spatialdp.outputs.zones.tables import zone_columns, zone_numbers
from spatialdp.space import crs as crs_
from spatialdp.space.domain import Grid
from spatialdp.space.public_files import EDGES
from spatialdp.wording import either

if TYPE_CHECKING:
    import geopandas

    from spatialdp.release import Release

__all__ = ["description", "geojson", "geopackage", "geotiff", "layer_bytes", "pixel_bands", "table"]

_NO_DATE = "1970-01-01T00:00:00.000Z"
_SIDE_PARTS = 4  # parts that a cell's side is cut into before it is reprojected, which bends it
_EXACT_DEGREES = 17  # decimals that give degrees back as they are
_CLOSE_DEGREES = 9  # decimals of reprojected corners: a tenth of a millimetre
_BOXES_AT_ONCE = 2**17
_KINDS = {"zones": "one of zones, which"}  # what a refusal says of a release; others are trees

# Key of the description of columns or bands in the metadata of a file.
DESCRIPTION = "SPATIALDP_COLUMNS"


def geopackage(release: Release) -> bytes:
    """Return a GeoPackage: layers of polygons, with the privacy statement in the metadata of each layer.

    Cells and leaves are one layer; zones have a layer for each level.
    """
    metadata = {STATEMENT: statement(release), DESCRIPTION: description(release)}
    layers = _layers(release.estimate, release)
    if len(layers) == 1:
        ((name, frame),) = layers.items()
        return layer_bytes(frame, layer=name, driver="GPKG", layer_metadata=metadata)
    with tempfile.TemporaryDirectory() as folder:  # GDAL adds layers to files alone
        path = Path(folder) / "layers.gpkg"
        for name, frame in layers.items():
            _write_layer(frame, path, layer=name, append=path.exists(), driver="GPKG", layer_metadata=metadata)
        return path.read_bytes()


@singledispatch
def _layers(estimate: Estimate, release: Release) -> dict[str, geopandas.GeoDataFrame]:  # noqa: ARG001 - decides
    return {"release": to_geodataframe(release)}


@_layers.register(ZoneCounts)
def _(estimate: ZoneCounts, release: Release) -> dict[str, geopandas.GeoDataFrame]:  # noqa: ARG001 - zones know all
    import geopandas

    crs, layers = estimate.zones.crs, {}
    for depth, name in enumerate(estimate.zones.levels):
        rows = level_rows(estimate, depth)
        layers[name] = geopandas.GeoDataFrame(rows.columns, geometry=rows.polygons, crs=crs)
    return layers


def geojson(release: Release) -> bytes:
    """Return GeoJSON: polygons in WGS 84, as RFC 7946 requires, and the privacy statement in the member ``privacy``.

    Cells in another CRS are reprojected. Their straight sides become curves, so each side is cut into four parts first.
    """
    frame, decimals = to_geodataframe(release), _EXACT_DEGREES
    if release.domain.crs is None:
        raise ParameterError(
            "the domain has no CRS, and GeoJSON is always in WGS 84; give the domain its CRS, "
            f"{either('Domain(bounds, crs=...)', 'with --crs')}, or save as .gpkg or .parquet."
        )
    if not crs_.geographic(release.domain.crs):
        bounds = frame.geometry.bounds
        sides = np.maximum(bounds.maxx - bounds.minx, bounds.maxy - bounds.miny)
        frame = frame.set_geometry(frame.geometry.segmentize(sides.to_numpy() / _SIDE_PARTS))
        decimals = _CLOSE_DEGREES
    collection = layer_bytes(frame, driver="GeoJSON", RFC7946="YES", COORDINATE_PRECISION=str(decimals))
    members = f'"privacy": {statement(release)},\n"columns": {description(release)},'
    return b"{\n" + members.encode() + collection.lstrip().removeprefix(b"{")


def table(release: Release) -> bytes:
    """Return comma-separated values: one row for each cell, with its corners, its place, estimate and interval.

    Of zones, all levels have rows, and the codes of zones take the place of corners.
    """
    return comma_separated(_columns(release.estimate, release))


def comma_separated(columns: Mapping[str, Any]) -> bytes:
    """Return columns as comma-separated values, with their names in the first line."""
    import pyarrow as pa
    from pyarrow import csv

    buffer = io.BytesIO()
    csv.write_csv(pa.table({name: pa.array(values) for name, values in columns.items()}), buffer)
    return buffer.getvalue()


@singledispatch
def _columns(estimate: Estimate, release: Release) -> dict[str, Array]:  # noqa: ARG001 - decides
    rows = map_rows(release)
    return {name: rows.boxes[:, index] for index, name in enumerate(EDGES)} | rows.columns


@_columns.register(ZoneCounts)
def _(estimate: ZoneCounts, release: Release) -> dict[str, Array]:  # noqa: ARG001 - places are in the files of zones
    nodes = np.arange(estimate.zones.shape.n_nodes)
    return zone_columns(estimate, nodes) | zone_numbers(estimate, nodes, LEVEL)


def geotiff(release: Release, shape: tuple[int, int] | None = None) -> bytes:
    """Return a Cloud-Optimized GeoTIFF, north up, NaN outside the region, with the privacy statement in a tag.

    The bands are the numbers of `rows.COLUMNS`. A biased release has the estimate alone, and pixels that are not the
    release's own cells have no standard deviation.

    Parameters
    ----------
    release : Release
    shape : (nx, ny), optional
        Number of pixels to divide the domain into; the value of a pixel is the estimated count of its area. Required
        for trees whose leaves follow no grid. By default the pixels are the cells of the grid, or those of the finest
        leaves.
    """
    try:
        import rasterio
        from rasterio.io import MemoryFile
    except ImportError:
        raise ParameterError(
            "a GeoTIFF file was asked for, which needs rasterio, and rasterio is not installed; run pip install "
            "'spatialdp[raster]', or save as .gpkg."
        ) from None
    grid, bands = pixel_bands(release, shape)
    (nx, ny), (width, height), (xmin, _, _, ymax) = grid.shape, release.domain.size, release.domain.bounds
    profile = {
        "driver": "COG",
        "width": nx,
        "height": ny,
        "count": len(bands),
        "dtype": "float64",
        "crs": release.domain.crs,
        "transform": rasterio.Affine(width / nx, 0, xmin, 0, -height / ny, ymax),
        "nodata": np.nan,
        "compress": "none",
        "blocksize": 256,
        "overview_resampling": "average",
        "statistics": "no",
    }
    with rasterio.Env(), MemoryFile() as memory:
        with memory.open(**profile) as raster:
            for number, (name, values) in enumerate(bands.items(), 1):
                raster.write(values[::-1], number)
                raster.set_band_description(number, name)
            raster.update_tags(**{STATEMENT: statement(release), DESCRIPTION: description(release)})
        return bytes(memory.getbuffer())


def description(release: Release) -> str:
    """Return what the columns of a map hold as one line of JSON, for the metadata of files."""
    return json.dumps(described(release.estimate, release.privacy), ensure_ascii=False)


def pixel_bands(release: Release, shape: tuple[int, int] | None = None) -> tuple[Grid, dict[str, Floats]]:
    """Return the pixels of a release as a grid, and for each number of `rows.COLUMNS` an array (rows, columns).

    Row 0 is in the south. Pixels outside the region are NaN.

    Parameters
    ----------
    release : Release
    shape : (nx, ny), optional
        Number of pixels, if they are not the cells of the release's own grid.

    Raises
    ------
    ParameterError
        If the leaves of the release follow no grid and no shape was given.
    """
    own = cell_numbers(release.estimate)
    if own is not None and (shape is None or tuple(shape) == own.grid.shape):
        return own.grid, {name: own.raster(values) for name, values in measures(release.estimate).items()}
    shape = shape or finest_shape(release.estimate)
    if shape is None:
        raise ParameterError(
            f"this release is {_KINDS.get(release.estimate.kind, 'a tree whose leaves')} follow no grid, and a raster "
            f"needs equal pixels; give their number with {either('shape=(nx, ny)', '--pixels NX,NY')}, or save as "
            ".gpkg, which keeps the areas as they are."
        )
    grid = release.domain.grid(shape)
    cells = CellNumbers(grid, np.flatnonzero(grid.mask))
    some, group = cell_groups(release.estimate, grid)
    return grid, {name: cells.raster(values) for name, values in _answers_for(release, cells, some, group).items()}


def _answers_for(release: Release, cells: CellNumbers, some: Integers, group: Integers) -> dict[str, Floats]:
    """Ask a release for cells that need not be its own: their estimates and, unless it is biased, their intervals.

    Cells of a group have the same interval; it is asked of `some` cells, one for each group.
    """
    boxes, estimates, ends = cells.boxes, np.empty(group.size), np.empty((some.size, 2))
    for start in range(0, group.size, _BOXES_AT_ONCE):
        part = slice(start, start + _BOXES_AT_ONCE)
        estimates[part] = release.answer(boxes[part], extrapolate=False)  # pixels add up
    if release.estimate.biased:
        return {"estimate": estimates}
    for start in range(0, some.size, _BOXES_AT_ONCE):
        part = slice(start, start + _BOXES_AT_ONCE)
        ends[part] = release.interval(boxes[some[part]], LEVEL)
    return {"estimate": estimates, "lower": ends[group, 0], "upper": ends[group, 1]}


def layer_bytes(frame: geopandas.GeoDataFrame, *, layer: str = "release", **options: Any) -> bytes:
    """Return the file that GDAL writes for a table of polygons or points, with a fixed date."""
    buffer = io.BytesIO()
    _write_layer(frame, buffer, layer=layer, **options)
    return buffer.getvalue()


def _write_layer(frame: geopandas.GeoDataFrame, target: Any, **options: Any) -> None:
    """Write a layer to a file or a buffer, with a fixed date."""
    import pyogrio

    with configured({"OGR_CURRENT_DATE": _NO_DATE}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="'crs' was not provided")  # a domain may have no CRS
        try:
            pyogrio.write_dataframe(frame, target, **options)
        except pyogrio.errors.CRSError:
            raise ParameterError(
                "the CRS of the domain cannot be written to this format, which knows fewer than pyproj does; give the "
                "domain another CRS, or save as .parquet or .csv."
            ) from None
        except pyogrio.errors.FeatureError:
            raise ParameterError(
                "an area cannot be written to this format, such as one beyond 90 degrees of latitude to GeoJSON; give "
                "other bounds, or save as .parquet or .csv."
            ) from None
