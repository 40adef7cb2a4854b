"""How do tools that do not read GeoParquet get a release? As GeoPackage, GeoTIFF, GeoJSON or CSV.

These files hold the map (the cells of a grid or the leaves of a tree, with their estimates) and the privacy statement.
The numbers that intervals need are in the GeoParquet file only, which is the complete one.

Every function returns the bytes of a file. The bytes must depend on the release alone: the functions write no date, no
statistics except those of released numbers, and they do not compress.
"""

from __future__ import annotations

import io
import warnings
from functools import singledispatch
from typing import TYPE_CHECKING, Any

import numpy as np

from spatialdp._support.arrays import Floats
from spatialdp._support.gdal import configured
from spatialdp.errors import ParameterError
from spatialdp.estimates.base import Estimate
from spatialdp.estimates.decomposition import Decomposition
from spatialdp.estimates.histogram import Histogram
from spatialdp.outputs.files.geoparquet import to_geodataframe
from spatialdp.outputs.files.statement import STATEMENT, statement
from spatialdp.space import crs as crs_
from spatialdp.space.domain import Grid

if TYPE_CHECKING:
    import geopandas

    from spatialdp.release import Release

__all__ = ["geojson", "geopackage", "geotiff", "layer_bytes", "table"]

_NO_DATE = "1970-01-01T00:00:00.000Z"
_SIDE_PARTS = 4  # parts that a cell's side is cut into before it is reprojected, which bends it
_ROWS_AT_ONCE = 2**20


def geopackage(release: Release) -> bytes:
    """Return a GeoPackage: one layer of polygons, with the privacy statement in the layer's metadata."""
    return layer_bytes(to_geodataframe(release), driver="GPKG", layer_metadata={STATEMENT: statement(release)})


def geojson(release: Release) -> bytes:
    """Return GeoJSON: polygons in WGS 84, as RFC 7946 requires, and the privacy statement in the member ``privacy``.

    Cells in another CRS are reprojected. Their straight sides become curves, so each side is cut into four parts first.
    """
    if release.domain.crs is None:
        raise ParameterError(
            "the domain has no CRS, and GeoJSON is always in WGS 84; give the domain its CRS, Domain(bounds, crs=...), "
            "or save as .gpkg or .parquet."
        )
    frame = to_geodataframe(release)
    if not crs_.geographic(release.domain.crs):
        bounds = frame.geometry.bounds
        sides = np.maximum(bounds.maxx - bounds.minx, bounds.maxy - bounds.miny)
        frame = frame.set_geometry(frame.geometry.segmentize(sides.to_numpy() / _SIDE_PARTS))
    collection = layer_bytes(frame, driver="GeoJSON", RFC7946="YES")
    return b'{\n"privacy": ' + statement(release).encode() + b"," + collection.lstrip().removeprefix(b"{")


def table(release: Release) -> bytes:
    """Return comma-separated values: one row for each cell, with its corners, its place and its estimate."""
    import pyarrow as pa
    from pyarrow import csv

    frame = to_geodataframe(release)
    corners = frame.geometry.bounds.set_axis(["xmin", "ymin", "xmax", "ymax"], axis=1)
    buffer = io.BytesIO()
    csv.write_csv(pa.Table.from_pandas(corners.join(frame.drop(columns="geometry")), preserve_index=False), buffer)
    return buffer.getvalue()


def geotiff(release: Release, shape: tuple[int, int] | None = None) -> bytes:
    """Return a Cloud-Optimized GeoTIFF, north up, NaN outside the region, with the privacy statement in a tag.

    Parameters
    ----------
    release : Release
    shape : (nx, ny), optional
        Number of pixels to divide the domain into; the value of a pixel is the estimated count of its area. Required
        for trees. By default the pixels are the cells of the grid.
    """
    try:
        import rasterio
        from rasterio.io import MemoryFile
    except ImportError:
        raise ParameterError(
            "a GeoTIFF file was asked for, which needs rasterio, and rasterio is not installed; run pip install "
            "'spatialdp[raster]', or save as .gpkg."
        ) from None
    grid, values = _raster(release, shape)
    (nx, ny), (width, height), (xmin, _, _, ymax) = grid.shape, release.domain.size, release.domain.bounds
    profile = {
        "driver": "COG",
        "width": nx,
        "height": ny,
        "count": 1,
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
            raster.write(np.where(grid.mask, values, np.nan)[::-1], 1)
            raster.set_band_description(1, "estimate")
            raster.update_tags(**{STATEMENT: statement(release)})
        return bytes(memory.getbuffer())


def _raster(release: Release, shape: tuple[int, int] | None) -> tuple[Grid, Floats]:
    """Return the pixels of a GeoTIFF as a grid, and the estimated count of each pixel."""
    estimate = release.estimate
    if shape is None:
        return own_pixels(estimate)
    grid = release.domain.grid(shape)
    nx, ny = grid.shape
    values = np.empty((ny, nx))
    rows = max(1, _ROWS_AT_ONCE // nx)
    for start in range(0, ny, rows):
        row, column = np.mgrid[start : min(start + rows, ny), :nx]
        x, y = grid.x_lines, grid.y_lines
        pixels = np.stack([x[column], y[row], x[column + 1], y[row + 1]], axis=-1)
        values[start : start + rows] = estimate.answer(pixels.reshape(-1, 4)).reshape(row.shape)
    return grid, values


@singledispatch
def own_pixels(estimate: Estimate) -> tuple[Grid, Floats]:
    """Return the grid of an estimate and the estimates of its cells; raise an error for estimates without a grid."""
    raise ParameterError(f"a release of kind {estimate.kind!r} has no pixels of its own; give shape=(nx, ny).")


@own_pixels.register
def _(estimate: Histogram) -> tuple[Grid, Floats]:
    return estimate.grid, estimate.values


@own_pixels.register
def _(estimate: Decomposition) -> tuple[Grid, Floats]:
    raise ParameterError(
        f"this release is a {estimate.kind}, and a GeoTIFF needs equal pixels; give their number with "
        "save(path, shape=(nx, ny)), or save as .gpkg, which keeps the leaves as they are."
    )


def layer_bytes(frame: geopandas.GeoDataFrame, *, layer: str = "release", **options: Any) -> bytes:
    """Return the file that GDAL writes for a table of polygons or points, with a fixed date."""
    import pyogrio

    buffer = io.BytesIO()
    with configured({"OGR_CURRENT_DATE": _NO_DATE}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="'crs' was not provided")  # a domain may have no CRS
        pyogrio.write_dataframe(frame, buffer, layer=layer, **options)
    return buffer.getvalue()
