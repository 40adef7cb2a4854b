"""Releases as files: GeoParquet that any GIS opens and that carries the privacy statement.

One row for each cell of a grid or node of a tree: place, estimate, polygon. The metadata holds what else is needed to
rebuild the release (domain, noise, privacy statement) as JSON, and a digest of all rows and metadata, so that a
truncated, damaged or carelessly altered file is noticed. (A digest is no signature: who forges a file on purpose can
forge that too.) Loading parses numbers and text; it never executes anything.

Estimates are stored plainly, not compressed or dictionary-encoded, so that the size of a file whose structure is
public depends on public parameters only.
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
from spatialdp.domain import Domain
from spatialdp.errors import FileFormatError, ParameterError, SpatialDPError
from spatialdp.layouts import lay_out, rebuild
from spatialdp.privacy.statement import Privacy
from spatialdp.release import Release

if TYPE_CHECKING:
    import geopandas
    import pyarrow as pa

__all__ = ["load", "save", "to_geodataframe"]

FORMAT = "spatialdp-release"
FORMAT_VERSION = 1
_KEY = b"spatialdp"

# Columns a reader of the map has no use for.
_INTERNAL = {"inside", "children", "xlo", "ylo", "xhi", "yhi"}


def to_geodataframe(release: Release) -> geopandas.GeoDataFrame:
    """Cells or leaves as polygons, with their place and estimate."""
    import geopandas

    layout = lay_out(release.estimate, release.domain)
    keep = layout.columns.get("children", np.zeros(len(layout.boxes))) == 0  # leaves
    keep &= layout.columns.get("inside", np.ones(len(layout.boxes), dtype=bool))  # cells of the region
    return geopandas.GeoDataFrame(
        {name: values[keep] for name, values in layout.columns.items() if name not in _INTERNAL},
        geometry=_polygons(layout.boxes[keep]),
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
    table, header = _read(source)
    if header.get("sha256") != _digest(header, table):
        raise _damaged(source)
    try:
        return _rebuild(table, header)
    except FileFormatError:
        raise
    except (SpatialDPError, LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise _damaged(source) from error


def write_whole(target: Path, write: Callable[[Path], None], *, overwrite: bool) -> None:
    """Let `write` fill a file beside the target, then put it in place: all of it or none."""
    if target.exists() and not overwrite:
        raise FileExistsError(f"{target} exists; choose another name, or pass overwrite=True to replace it.")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {target.parent}; make it first.")
    partial = target.with_name(f".{target.name}.{os.getpid()}-{threading.get_ident()}.partial")
    try:
        write(partial)
        if overwrite:
            os.replace(partial, target)
        else:
            os.link(partial, target)  # fails if the target has come into being meanwhile
    finally:
        partial.unlink(missing_ok=True)


# --- writing ---------------------------------------------------------------------------------------


def _table(release: Release) -> pa.Table:
    import pyarrow as pa
    import shapely

    layout = lay_out(release.estimate, release.domain)
    header = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "privacy": release.privacy.to_json(),
        "domain": _domain_to_json(release.domain),
        "estimate": layout.header,
        "rows": len(layout.boxes),
    }
    geometry = {"geometry": pa.array(shapely.to_wkb(_polygons(layout.boxes)), pa.binary())}
    columns = {name: pa.array(np.ascontiguousarray(values)) for name, values in layout.columns.items()}
    table = pa.table(columns | geometry).replace_schema_metadata({b"geo": _geo_metadata(release)})
    header["sha256"] = _digest(header, table)
    return table.replace_schema_metadata({**table.schema.metadata, _KEY: json.dumps(header, allow_nan=False).encode()})


def _geo_metadata(release: Release) -> bytes:
    column = {
        "encoding": "WKB",
        "geometry_types": ["Polygon"],
        "crs": crs_.to_projjson(release.domain.crs),
        "bbox": list(release.domain.bounds),
    }
    return json.dumps({"version": "1.1.0", "primary_column": "geometry", "columns": {"geometry": column}}).encode()


def _polygons(boxes: npt.NDArray[np.float64]) -> npt.NDArray[np.object_]:
    import shapely

    polygons: npt.NDArray[np.object_] = shapely.box(*boxes.T)
    return polygons


def _domain_to_json(domain: Domain) -> dict[str, Any]:
    region = None
    if domain.region is not None:
        import shapely

        region = base64.b64encode(shapely.to_wkb(domain.region)).decode()
    return {"bounds": list(domain.bounds), "crs": domain.crs, "region": region}


def _digest(header: dict[str, Any], table: pa.Table) -> str:
    """SHA-256 of everything a reader of the file may look at: header, map metadata, names, types and rows."""
    stated = {key: value for key, value in header.items() if key != "sha256"}
    digest = hashlib.sha256(json.dumps(stated, sort_keys=True).encode())
    digest.update((table.schema.metadata or {}).get(b"geo", b""))
    for name in table.column_names:
        column = table[name].combine_chunks()
        digest.update(f"{name} {column.type} {len(column)} {column.null_count};".encode())
        digest.update(_content(column))
    return digest.hexdigest()


def _content(column: pa.Array) -> bytes:
    """The bytes of a column, whatever its place in memory."""
    if str(column.type) == "binary":
        return b"".join(value or b"" for value in column.to_pylist())
    return np.ascontiguousarray(column.to_numpy(zero_copy_only=False)).tobytes()


# --- reading ---------------------------------------------------------------------------------------


def _read(source: Path) -> tuple[pa.Table, dict[str, Any]]:
    """Header first: what is no release, or announces more rows than it says, is not read further."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not source.is_file():
        raise FileNotFoundError(f"{source} is not a file; give the path of a saved release (.parquet).")
    try:
        file = pq.ParquetFile(source)
        header = _header(file.schema_arrow.metadata or {}, source)
        stored = file.metadata.metadata or {}  # Parquet's own copy of the metadata, which other readers look at
        copies = all(stored.get(key) == file.schema_arrow.metadata.get(key) for key in (b"geo", _KEY))
        if file.metadata.num_rows != header.get("rows") or not copies:
            raise _damaged(source)
        return file.read(), header
    except (pa.ArrowException, OSError, ValueError) as error:
        if isinstance(error, FileFormatError):
            raise
        raise FileFormatError(
            f"{source} is not a readable release (not Parquet, truncated or damaged); ask for the original."
        ) from None


def _header(metadata: dict[bytes, bytes], source: Path) -> dict[str, Any]:
    try:
        header = json.loads(metadata[_KEY])
        stated = header["format"], header["format_version"]
    except (KeyError, ValueError, TypeError, RecursionError):
        raise FileFormatError(
            f"{source} is Parquet but no spatialdp release; give a file written by Release.save."
        ) from None
    if stated != (FORMAT, FORMAT_VERSION):
        raise FileFormatError(f"{source} has release format {stated}; this version reads {(FORMAT, FORMAT_VERSION)}.")
    return dict(header)


def _columns(table: pa.Table) -> dict[str, npt.NDArray[Any]]:
    return {name: table[name].to_numpy() for name in table.column_names if name != "geometry"}


def _rebuild(table: pa.Table, header: dict[str, Any]) -> Release:
    domain = _domain_from_json(header["domain"])
    estimate = rebuild(header["estimate"], _columns(table), domain)
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
