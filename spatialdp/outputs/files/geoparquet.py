"""How is a complete release stored, and how is a file checked that claims to hold one? GeoParquet: see `load`.

The file has one row for each cell of a grid, node of a tree or zone: place, estimate, polygon. The metadata hold, as
JSON, everything else that is needed to rebuild the release (frame, noise, privacy statement), and a digest of all rows
and metadata, so that `load` notices a truncated, damaged or carelessly altered file. (A digest is not a signature:
someone who forges a file on purpose can forge the digest too.) Loading parses numbers and text; it must never execute
anything.

Estimates are neither compressed nor dictionary-encoded: if the structure of a release is public, the size of the file
must depend on public parameters only. A change of the format needs another `FORMAT_VERSION`.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from spatialdp._support.arrays import Array, Floats, Objects
from spatialdp._support.json_values import parsed
from spatialdp._support.terminal import printable
from spatialdp.errors import FileFormatError
from spatialdp.estimates.flows.counts import FlowCounts
from spatialdp.estimates.networks.counts import NetworkCounts
from spatialdp.estimates.tables.counts import TableCounts
from spatialdp.estimates.trajectories.model import PathModel
from spatialdp.estimates.zones.counts import ZoneCounts
from spatialdp.flows.release import FlowRelease
from spatialdp.networks.release import NetworkRelease
from spatialdp.outputs.files.flows.complete import rebuild_flows
from spatialdp.outputs.files.formats import FORMATS
from spatialdp.outputs.files.frames.domains import domain_from_json, domain_to_json
from spatialdp.outputs.files.frames.zones import zone_counts
from spatialdp.outputs.files.layouts import Layout, lay_out, rebuild
from spatialdp.outputs.files.networks.complete import rebuild_network
from spatialdp.outputs.files.rows import map_rows
from spatialdp.outputs.files.statement import read_statement, statement_members
from spatialdp.outputs.files.tables.complete import rebuild_table
from spatialdp.outputs.files.trajectories.complete import rebuild_paths
from spatialdp.privacy.statement import Privacy
from spatialdp.release import Release
from spatialdp.space import crs as crs_
from spatialdp.space.domain import Domain
from spatialdp.table_release import TableRelease
from spatialdp.trajectories.release import TrajectoryRelease
from spatialdp.wording import either, quoted
from spatialdp.zone_release import ZoneRelease

if TYPE_CHECKING:
    import geopandas
    import pyarrow as pa

__all__ = ["MONTHS", "layout_bytes", "load", "rebuilt_from", "statement_of", "to_geodataframe"]

FORMAT = "spatialdp-release"
FORMAT_VERSION = 1
_KEY = b"spatialdp"
MONTHS = "months"  # the kind of a file of the months of a series
_AREA = "area"  # the column of a table's zones
_MOST_BYTES_PER_ROW = 512  # before compression; boxes and numbers take less than half of it
_MOST_INFLATED = 32  # times the size of the file, before compression; polygons of zones are compressed to a third


def to_geodataframe(release: Release) -> geopandas.GeoDataFrame:
    """Return the cells, leaves or zones of a release as polygons, with their place, estimate and interval; see `rows`.

    ``attrs["privacy"]`` is the whole privacy statement.
    """
    import geopandas

    rows = map_rows(release)
    polygons = _polygons(rows.boxes) if rows.polygons is None else rows.polygons
    frame = geopandas.GeoDataFrame(rows.columns, geometry=polygons, crs=release.domain.crs)
    frame.attrs["privacy"] = statement_members(release.privacy)
    return frame


def load(path: str | os.PathLike[str]) -> Release:
    """Read a release from a GeoParquet file, and check that the file is a release and is intact.

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
    release: Release = rebuilt_from(Path(path), _rebuild)
    return release


def rebuilt_from(source: Path, rebuild_it: Callable[..., Any], kind: str | None = None) -> Any:
    """Read a file that is intact, and return what a function rebuilds from its parts.

    Parameters
    ----------
    source : Path
    rebuild_it : callable
        Takes the header, the columns, the privacy statement and the polygons of zones; for releases, also the table.
    kind : str, optional
        ``MONTHS`` for the months of a series, which are no single release.
    """
    table, header = _read(source)
    try:
        intact = header.get("sha256") == _digest(header, table)
        of_months = intact and header["estimate"]["kind"] == MONTHS
        if of_months != (kind == MONTHS) and intact:
            raise _other_kind(source, of_months=of_months)
        parts = (header, _columns(table), Privacy.from_json(header["privacy"]), _areas_in(table)) if intact else None
        if parts is not None:
            return rebuild_it(*parts) if of_months else rebuild_it(*parts, table)
    except FileFormatError:
        raise
    except Exception as error:  # many kinds: each says that the contents are not those of a release
        raise _damaged(source) from error
    raise _damaged(source)


def _other_kind(source: Path, *, of_months: bool) -> FileFormatError:
    what, how = ("the released months of a series", "RunningRelease.load") if of_months else ("a release", "load")
    return FileFormatError(f"{source} holds {what}; read it with {either(how, 'the library')}.")


def statement_of(path: Path) -> Privacy:
    """Return the privacy statement of a release's file, in any format that releases are saved in."""
    return (
        load(path).privacy if FORMATS.get(path.suffix.lower(), "GeoParquet") == "GeoParquet" else read_statement(path)
    )


def _polygons(boxes: Floats) -> Objects:
    import shapely

    polygons: Objects = shapely.box(*boxes.T)
    return polygons


def _digest(header: dict[str, Any], table: pa.Table) -> str:
    """Return the SHA-256 of everything that readers use: header, map metadata, and names, types and rows of columns."""
    hashed_header = {key: value for key, value in header.items() if key != "sha256"}
    digest = hashlib.sha256(json.dumps(hashed_header, sort_keys=True).encode())
    digest.update((table.schema.metadata or {}).get(b"geo", b""))
    for name in table.column_names:
        column = table[name].combine_chunks()
        digest.update(f"{name} {column.type} {len(column)} {column.null_count};".encode())
        digest.update(_content(column))
    return digest.hexdigest()


def _content(column: pa.Array) -> bytes:
    """Return the values of a column as bytes, independent of how the column lies in memory."""
    if str(column.type) == "binary":
        return b"".join(column.drop_null().to_pylist())
    if str(column.type) == "string":
        return _texts(column)
    return np.ascontiguousarray(column.to_numpy(zero_copy_only=False)).tobytes()


def _texts(column: pa.Array) -> bytes:
    """Return a column of text as bytes, with the length of each text, so that no part can be moved to the next row."""
    import pyarrow.compute as pc

    texts = column.fill_null("")
    _, offsets, content = texts.buffers()
    places = np.frombuffer(offsets, dtype=np.int32)[texts.offset : texts.offset + len(texts) + 1]
    lengths: bytes = pc.binary_length(texts).to_numpy(zero_copy_only=False).astype("<i8").tobytes()
    return lengths if content is None or not len(texts) else lengths + bytes(content[places[0] : places[-1]])


def _read(source: Path) -> tuple[pa.Table, dict[str, Any]]:
    """Read the table and the header. The header comes first: rows of a file that fails its checks are never read."""
    import pyarrow.parquet as pq

    kind = FORMATS.get(source.suffix.lower(), "GeoParquet")
    if kind != "GeoParquet" and source.is_file():
        raise FileFormatError(
            f"{source} is {kind}, which holds the map of a release but not the complete release; load the GeoParquet "
            "file (.parquet) of this release, or ask its publisher for that file."
        )
    if not source.is_file():
        raise FileNotFoundError(f"{source} is not a file; give the path of a saved release (.parquet).")
    try:
        file = pq.ParquetFile(source)
        header = _header(file.schema_arrow.metadata or {}, source)
        parquet_copy = file.metadata.metadata or {}  # Parquet keeps a second copy, which other readers use
        copies_agree = all(parquet_copy.get(key) == file.schema_arrow.metadata.get(key) for key in (b"geo", _KEY))
        if file.metadata.num_rows != header.get("rows") or not copies_agree or _inflated(file.metadata, source):
            raise _damaged(source)
        return file.read(), header
    except FileFormatError:
        raise
    except Exception:  # of Arrow and of Python, many kinds: each says that spatialdp did not write this file
        raise FileFormatError(
            f"{source} is not a readable release: not Parquet, or truncated, or damaged; ask for the original file."
        ) from None


def _inflated(metadata: Any, source: Path) -> bool:
    """Whether a file claims more rows or bytes than its size allows: an estimate takes 8 bytes, never compressed."""
    groups = [metadata.row_group(index) for index in range(metadata.num_row_groups)]
    rows, uncompressed = metadata.num_rows, sum(group.total_byte_size for group in groups)
    size = source.stat().st_size
    most = max(_MOST_BYTES_PER_ROW * (rows + 1024), _MOST_INFLATED * size)
    return bool(8 * rows > size or uncompressed > most or metadata.num_columns > 64)


def _header(metadata: dict[bytes, bytes], source: Path) -> dict[str, Any]:
    try:
        header = parsed(metadata[_KEY])
        version = header["format"], header["format_version"]
    except (KeyError, ValueError, TypeError):
        raise FileFormatError(
            f"{source} is a Parquet file but not a spatialdp release; give a file that "
            f"{either('Release.save', '`spatialdp release`')} wrote."
        ) from None
    if version != (FORMAT, FORMAT_VERSION):
        raise FileFormatError(
            f"{source} has release format {printable(repr(version))[:100]}; this version of spatialdp reads "
            f"{quoted((FORMAT, FORMAT_VERSION))}. "
            "Install the version of spatialdp that wrote the file, or save the release again."
        )
    return dict(header)


def _columns(table: pa.Table) -> dict[str, Array]:
    """Return the columns of numbers or texts without gaps; a release needs no others."""
    import pyarrow.types as kinds

    sound = (kinds.is_integer, kinds.is_float64, kinds.is_boolean, kinds.is_string)
    return {
        name: table[name].to_numpy()
        for name, kind in zip(table.column_names, table.schema.types, strict=True)
        if not table[name].null_count and any(fits(kind) for fits in sound)
    }


def _rebuild(
    header: dict[str, Any],
    columns: dict[str, Array],
    privacy: Privacy,
    areas: list[bytes | None] | None,
    table: pa.Table,
) -> Release:
    if header["estimate"]["kind"] == ZoneCounts.kind:
        geometry = table["geometry"].to_pylist() if "geometry" in table.column_names else None
        return ZoneRelease.of(zone_counts(header["zones"], header["estimate"], columns, geometry), privacy)
    if header["estimate"]["kind"] == TableCounts.kind:
        return _table_release(header, columns, privacy, areas)
    if header["estimate"]["kind"] == FlowCounts.kind:
        domain = None if header["domain"] is None else domain_from_json(header["domain"])
        return FlowRelease(domain, privacy, rebuild_flows(header["estimate"], columns, domain))  # type: ignore[arg-type]
    if header["estimate"]["kind"] == NetworkCounts.kind:
        domain = None if header["domain"] is None else domain_from_json(header["domain"])
        return NetworkRelease(domain, privacy, rebuild_network(header["estimate"], columns, domain))  # type: ignore[arg-type]
    domain = domain_from_json(header["domain"])
    if header["estimate"]["kind"] == PathModel.kind:
        return TrajectoryRelease(domain, privacy, rebuild_paths(header["estimate"], columns, domain))  # type: ignore[return-value]
    return Release(domain, privacy, rebuild(header["estimate"], columns, domain))


def _table_release(
    header: dict[str, Any], columns: dict[str, Array], privacy: Privacy, areas: list[bytes | None] | None
) -> TableRelease:
    """Rebuild a table; one over zones without areas has no domain."""
    domain = None if header["domain"] is None else domain_from_json(header["domain"])
    estimate = rebuild_table(header["estimate"], columns, domain, areas)
    return TableRelease(domain, privacy, estimate)  # type: ignore[arg-type]


def _areas_in(table: pa.Table) -> list[bytes | None] | None:
    """Return the polygons that the first rows hold; None if there are none, as in earlier files."""
    if _AREA not in table.column_names:
        return None
    column = table[_AREA]
    areas: list[bytes | None] = column.slice(0, len(column) - column.null_count).to_pylist()
    return areas


def _damaged(source: Path) -> FileFormatError:
    return FileFormatError(
        f"{source} was altered or damaged: its contents do not agree with each other; ask for the original file."
    )


def geoparquet_bytes(release: Release) -> bytes:
    """Return the complete file of a release."""
    return layout_bytes(lay_out(release.estimate, release.domain), release.privacy, release.domain)


def layout_bytes(layout: Layout, privacy: Privacy, domain: Domain | None) -> bytes:
    """Return the complete file of what has been laid out."""
    import pyarrow.parquet as pq

    table, buffer = _table(layout, privacy, domain), io.BytesIO()
    compression = {name: "none" if name == "estimate" else "zstd" for name in table.column_names}
    pq.write_table(table, buffer, compression=compression, use_dictionary=False)
    return buffer.getvalue()


def _table(layout: Layout, privacy: Privacy, domain: Domain | None) -> pa.Table:
    import pyarrow as pa

    frame = layout.frame
    if frame is None:
        assert domain is not None  # other layouts have frames of their own
        frame = {"domain": domain_to_json(domain)}
    header = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "privacy": privacy.to_json(),
        **frame,
        "estimate": layout.header,
        "rows": len(layout.columns["estimate"]),
    }
    columns = {name: _as_arrow(values) for name, values in layout.columns.items()}
    table = pa.table(columns | _geometry(layout) | _areas(layout))
    if "geometry" in table.column_names:
        table = table.replace_schema_metadata({b"geo": _geo_metadata(domain, layout)})
    header["sha256"] = _digest(header, table)
    metadata = {**(table.schema.metadata or {}), _KEY: json.dumps(header, allow_nan=False).encode()}
    return table.replace_schema_metadata(metadata)


def _as_arrow(values: Array) -> pa.Array:
    import pyarrow as pa

    return pa.array(values, pa.string()) if values.dtype == object else pa.array(np.ascontiguousarray(values))


def _geometry(layout: Layout) -> dict[str, pa.Array]:
    """Return the column of polygons, if the rows have any."""
    import pyarrow as pa
    import shapely

    polygons = layout.polygons
    return {} if polygons is None else {"geometry": pa.array(shapely.to_wkb(polygons, byte_order=1), pa.binary())}


def _areas(layout: Layout) -> dict[str, pa.Array]:
    """Return the column of polygons that are not the rows' places, if there are any: in the first rows."""
    import pyarrow as pa
    import shapely

    if layout.areas is None:
        return {}
    polygons = pa.array(shapely.to_wkb(layout.areas, byte_order=1), pa.binary())
    others = pa.nulls(len(layout.columns["estimate"]) - len(polygons), pa.binary())
    return {_AREA: pa.concat_arrays([polygons, others])}


def _geo_metadata(domain: Domain | None, layout: Layout) -> bytes:
    assert domain is not None  # rows with places have one
    column = {
        "encoding": "WKB",
        "geometry_types": layout.geometry_types,
        "crs": crs_.to_projjson(domain.crs),
        "bbox": layout.bounds or list(domain.bounds),
    }
    return json.dumps({"version": "1.1.0", "primary_column": "geometry", "columns": {"geometry": column}}).encode()
