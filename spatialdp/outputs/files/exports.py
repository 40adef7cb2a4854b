"""Releases for tools that do not read GeoParquet: GeoPackage, GeoTIFF, GeoJSON and CSV.

They hold the map (the cells of a grid or the leaves of a tree, with their estimates) and the privacy statement. What
intervals need stays with the GeoParquet file, which is the complete one.

Every function returns the bytes of a file, which depend on the release alone: no date, no statistics but those of
released numbers, nothing compressed.
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

__all__ = ["geojson", "geopackage", "geotiff", "table", "written"]

_NO_DATE = "1970-01-01T00:00:00.000Z"
_SIDE_PARTS = 4  # of a cell's side that becomes a curve when it is reprojected
_ROWS_AT_ONCE = 2**20


def geopackage(release: Release) -> bytes:
    """One layer of polygons; the statement is in the layer's metadata."""
    return written(to_geodataframe(release), driver="GPKG", layer_metadata={STATEMENT: statement(release)})


def geojson(release: Release) -> bytes:
    """Polygons in WGS 84, as RFC 7946 wants them; the statement is the member ``privacy`` of the collection.

    Cells of another CRS are reprojected, with their sides cut into four parts because they become curves.
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
    collection = written(frame, driver="GeoJSON", RFC7946="YES")
    return b'{\n"privacy": ' + statement(release).encode() + b"," + collection.lstrip().removeprefix(b"{")


def table(release: Release) -> bytes:
    """Comma-separated values: corners, place and estimate of each cell."""
    import pyarrow as pa
    from pyarrow import csv

    frame = to_geodataframe(release)
    corners = frame.geometry.bounds.set_axis(["xmin", "ymin", "xmax", "ymax"], axis=1)
    buffer = io.BytesIO()
    csv.write_csv(pa.Table.from_pandas(corners.join(frame.drop(columns="geometry")), preserve_index=False), buffer)
    return buffer.getvalue()


def geotiff(release: Release, shape: tuple[int, int] | None = None) -> bytes:
    """A Cloud-Optimized GeoTIFF, north up, NaN outside the region; the statement is among the tags.

    Parameters
    ----------
    release : Release
    shape : (nx, ny), optional
        Pixels to divide the domain into; their values are estimated counts of the pixels' areas. Needed for trees;
        without it, the pixels of a grid are its cells.
    """
    try:
        import rasterio
        from rasterio.io import MemoryFile
    except ImportError:
        raise ParameterError(
            "GeoTIFF files need rasterio, which is not installed; pip install 'spatialdp[raster]', or save as .gpkg."
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
    """Pixels, and the estimated count of each."""
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
    """The grid that an estimate is made on, and the estimates of its cells."""
    raise ParameterError(f"a release of kind {estimate.kind!r} has no pixels of its own; give shape=(nx, ny).")


@own_pixels.register
def _(estimate: Histogram) -> tuple[Grid, Floats]:
    return estimate.grid, estimate.values


@own_pixels.register
def _(estimate: Decomposition) -> tuple[Grid, Floats]:
    raise ParameterError(
        f"this release is a {estimate.kind}, and a GeoTIFF has equal pixels; say how many: save(path, shape=(nx, ny)), "
        "or save as .gpkg, which keeps the leaves as they are."
    )


def written(frame: geopandas.GeoDataFrame, *, layer: str = "release", **options: Any) -> bytes:
    """What GDAL writes of a layer, without the date."""
    import pyogrio

    buffer = io.BytesIO()
    with configured({"OGR_CURRENT_DATE": _NO_DATE}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="'crs' was not provided")  # a domain may have none
        pyogrio.write_dataframe(frame, buffer, layer=layer, **options)
    return buffer.getvalue()
