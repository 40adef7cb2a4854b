"""Releases as files: GeoParquet that any GIS opens and that carries the privacy statement.

One row for each cell of the region: column, row, estimate, polygon. The metadata holds what is needed to
rebuild the release (domain, grid, noise, privacy statement) as JSON, and a digest of it all, so that a
truncated or altered file is noticed. Loading parses numbers and text; it never executes anything.

The estimates are stored plainly, not compressed or dictionary-encoded, so that a file's size depends on
public parameters only.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from spatialdp import crs as crs_
from spatialdp.domain import Domain, Grid
from spatialdp.errors import FileFormatError, ParameterError, SpatialDPError
from spatialdp.histogram import Histogram
from spatialdp.privacy.statement import Privacy
from spatialdp.release import Release

if TYPE_CHECKING:
    import geopandas
    import pyarrow as pa

__all__ = ["load", "save", "to_geodataframe"]

FORMAT = "spatialdp-release"
FORMAT_VERSION = 1
_KEY = b"spatialdp"


def to_geodataframe(release: Release) -> geopandas.GeoDataFrame:
    """The cells of the region as polygons, with column, row and estimate."""
    import geopandas

    rows, columns = np.nonzero(release.estimate.grid.mask)
    return geopandas.GeoDataFrame(
        {"column": columns, "row": rows, "estimate": release.estimate.values[rows, columns]},
        geometry=_polygons(release.estimate.grid, rows, columns),
        crs=release.domain.crs,
    )


def save(release: Release, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Write a release as GeoParquet: the whole file or nothing."""
    import pyarrow.parquet as pq

    target = Path(path)
    if target.suffix != ".parquet":
        raise ParameterError(f"{target.name} does not end in .parquet; releases are saved as GeoParquet.")
    table = _table(release)

    def write(partial: Path) -> None:
        pq.write_table(
            table,
            partial,
            compression={name: "none" if name == "estimate" else "zstd" for name in table.column_names},
            use_dictionary=False,
        )

    write_whole(target, write, overwrite=overwrite)


def load(path: str | os.PathLike[str]) -> Release:
    """Read a release, checking that it is one and that it is intact.

    Raises
    ------
    FileFormatError
        If the file is not a release, is truncated, or was altered.

    Examples
    --------
    >>> import spatialdp as sdp, tempfile, pathlib
    >>> domain = sdp.Domain(bounds=(0, 0, 1, 1))
    >>> release = sdp.Flat(shape=(2, 2)).release([[0.1, 0.1]], domain, epsilon=1)
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "release.parquet"
    >>> release.save(path)
    >>> sdp.load(path).answer((0, 0, 1, 1)) == release.answer((0, 0, 1, 1))
    True
    """
    source = Path(path)
    table = _read(source)
    header = _header(table, source)
    try:
        release = _rebuild(table, header)
    except FileFormatError:
        raise
    except (SpatialDPError, KeyError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError) as error:
        raise _damaged(source) from error
    if header.get("sha256") != _digest(header, release.estimate):
        raise _damaged(source)
    return release


def write_whole(target: Path, write: Callable[[Path], None], *, overwrite: bool) -> None:
    """Let `write` fill a file beside the target, then put it in place: all of it or none."""
    if target.exists() and not overwrite:
        raise FileExistsError(f"{target} exists; choose another name, or pass overwrite=True to replace it.")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {target.parent}; make it first.")
    partial = target.with_name(f".{target.name}.{os.getpid()}-{threading.get_ident()}.partial")
    try:
        write(partial)
        os.replace(partial, target)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


# --- writing ---------------------------------------------------------------------------------------


def _table(release: Release) -> pa.Table:
    import pyarrow as pa
    import shapely

    grid = release.estimate.grid
    rows, columns = np.nonzero(grid.mask)
    geometry = shapely.to_wkb(_polygons(grid, rows, columns))
    metadata = {b"geo": _geo_metadata(release), _KEY: json.dumps(_metadata(release)).encode()}
    return pa.table(
        {
            "column": pa.array(columns, pa.int32()),
            "row": pa.array(rows, pa.int32()),
            "estimate": pa.array(release.estimate.values[rows, columns], pa.float64()),
            "geometry": pa.array(geometry, pa.binary()),
        }
    ).replace_schema_metadata(metadata)


def _metadata(release: Release) -> dict[str, Any]:
    estimate = release.estimate
    header: dict[str, Any] = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "privacy": release.privacy.to_json(),
        "domain": _domain_to_json(release.domain),
        "grid": {"shape": list(estimate.grid.shape)},
        "noise": {"variance": estimate.variance, "kurtosis": estimate.kurtosis, "step": estimate.step},
        "biased": estimate.biased,
    }
    return header | {"sha256": _digest(header, estimate)}


def _geo_metadata(release: Release) -> bytes:
    column = {
        "encoding": "WKB",
        "geometry_types": ["Polygon"],
        "crs": crs_.to_projjson(release.domain.crs),
        "bbox": list(release.domain.bounds),
    }
    return json.dumps({"version": "1.1.0", "primary_column": "geometry", "columns": {"geometry": column}}).encode()


def _polygons(grid: Grid, rows: npt.NDArray[np.intp], columns: npt.NDArray[np.intp]) -> npt.NDArray[np.object_]:
    import shapely

    x, y = grid.x_edges, grid.y_edges
    boxes: npt.NDArray[np.object_] = shapely.box(x[columns], y[rows], x[columns + 1], y[rows + 1])
    return boxes


def _domain_to_json(domain: Domain) -> dict[str, Any]:
    region = None
    if domain.region is not None:
        import shapely

        region = base64.b64encode(shapely.to_wkb(domain.region)).decode()
    return {"bounds": list(domain.bounds), "crs": domain.crs, "region": region}


def _digest(header: dict[str, Any], estimate: Histogram) -> str:
    stated = {key: value for key, value in header.items() if key != "sha256"}
    digest = hashlib.sha256(json.dumps(stated, sort_keys=True).encode())
    digest.update(np.ascontiguousarray(estimate.values, dtype="<f8").tobytes())
    return digest.hexdigest()


# --- reading ---------------------------------------------------------------------------------------


def _read(source: Path) -> pa.Table:
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not source.is_file():
        raise FileNotFoundError(f"{source} is not a file; give the path of a saved release (.parquet).")
    try:
        return pq.read_table(source, columns=["column", "row", "estimate"], partitioning=None)
    except (pa.ArrowException, OSError, ValueError):
        raise FileFormatError(
            f"{source} is not a readable release (not Parquet, truncated, or without the columns of one); "
            "ask for the original."
        ) from None


def _header(table: pa.Table, source: Path) -> dict[str, Any]:
    try:
        header = json.loads((table.schema.metadata or {})[_KEY])
        stated = header["format"], header["format_version"]
    except (KeyError, ValueError, TypeError):
        raise FileFormatError(
            f"{source} is Parquet but no spatialdp release; give a file written by Release.save."
        ) from None
    if stated != (FORMAT, FORMAT_VERSION):
        raise FileFormatError(f"{source} has release format {stated}; this version reads {(FORMAT, FORMAT_VERSION)}.")
    return dict(header)


def _rebuild(table: pa.Table, header: dict[str, Any]) -> Release:
    domain = _domain_from_json(header["domain"])
    grid = domain.grid((header["grid"]["shape"][0], header["grid"]["shape"][1]))
    rows, columns, estimates = (table[name].to_numpy() for name in ("row", "column", "estimate"))
    if not np.array_equal(np.stack([rows, columns]), np.stack(np.nonzero(grid.mask))):
        raise ValueError("the rows of the file are not the cells of its region")
    values = np.zeros((grid.shape[1], grid.shape[0]))
    values[grid.mask] = estimates
    noise = header["noise"]
    estimate = Histogram(
        grid, values, float(noise["variance"]), float(noise["kurtosis"]), float(noise["step"]), bool(header["biased"])
    )
    return Release(domain, Privacy.from_json(header["privacy"]), estimate)


def _domain_from_json(data: dict[str, Any]) -> Domain:
    region = data["region"]
    if region is not None:
        import shapely

        try:
            region = shapely.from_wkb(base64.b64decode(region, validate=True))
        except shapely.errors.ShapelyError:
            raise ValueError("the region is not a geometry") from None
    return Domain(data["bounds"], crs=data["crs"], region=region)


def _damaged(source: Path) -> FileFormatError:
    return FileFormatError(
        f"{source} was altered or damaged: its contents do not agree with each other; ask for the original."
    )
