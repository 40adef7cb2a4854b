"""Which table does a text mean: the address of one in a database, or files of Parquet? It is opened here.

Databases are opened to be read only. An address may hold a password, so it is neither shown in an error nor kept in
anything that prints; tables are called by their own names. The embedded DuckDB, for files of Parquet and for database
files, spills rows into a fresh folder that nobody else may read and that is removed with the connection.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import warnings
import weakref
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from spatialdp.errors import PointsError, SpatialDPError
from spatialdp.records.engines.drivers import closed_at_the_end
from spatialdp.records.files import paths_of
from spatialdp.records.formats.base import Source, quietly
from spatialdp.wording import either

__all__ = ["database_files", "is_address", "open_table", "table_name"]

_PARQUET = (".parquet", ".geoparquet", ".pq")
_MAGIC = set("*?[")
_SHARE_OF_MEMORY = 0.6  # of the machine's, for the embedded DuckDB; the rest is spilled
_OURS = ("table", "schema")


def is_address(text: str) -> bool:
    """Whether a text is the address of a database rather than the path of a file.

    Examples
    --------
    >>> is_address("duckdb:///crashes.db?table=crashes"), is_address("crashes.csv")
    (True, False)
    """
    return "://" in text


def table_name(address: str) -> str:
    """Return the name of the table that an address ends in; the rest of the address may hold a password.

    Examples
    --------
    >>> table_name("postgresql://ann:secret@host/city?table=visits")
    'visits'
    """
    return _own_options(_split(address))["table"]


def database_files(address: str) -> list[Path]:
    """Return the files that an address stands for, which no output may replace.

    Examples
    --------
    >>> database_files("postgresql://host/city?table=visits")
    []
    """
    parts = _split(address)
    return [_duckdb_file(parts)] if parts.scheme == "duckdb" else []


def open_table(text: str) -> Any:
    """Open the table that an address, or a path, pattern or folder of Parquet, means; return it as a table of Ibis."""
    return _open(lambda: _of_address(text)) if is_address(text) else _of_files(text)


def _of_address(address: str) -> Any:
    parts = _split(address)
    asked = _own_options(parts)
    backend = _OPENERS.get(parts.scheme, _refused)(parts, _driver_options(parts))
    return backend.table(asked["table"], database=asked.get("schema"))


def _open(work: Callable[[], Any]) -> Any:
    """Open something; what a library says of it may hold a password."""
    failure: Exception
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return work()
    except SpatialDPError as error:
        failure = error
    except ImportError:
        failure = PointsError(
            "tables in databases are read with Ibis, and it or the engine's own package is not installed; run pip "
            "install 'spatialdp[tables]', or, for these engines, 'spatialdp[postgres]' or 'spatialdp[spark]'."
        )
    except Exception as error:
        failure = PointsError(
            f"the table cannot be opened ({type(error).__name__}); check the address, that the table exists, that you "
            "may read it, and that nobody else holds its file open for writing. If it has columns of types that Ibis "
            "does not know, make a view of the columns that you need."
        )
    failure.__cause__ = failure.__context__ = None
    raise failure.with_traceback(None)


# --- addresses -------------------------------------------------------------------------------------


def _split(address: str) -> SplitResult:
    parts = urlsplit(address)
    if not _own_options(parts).get("table"):
        raise PointsError(
            f"the address of the database ({parts.scheme}://...) names no table; add it at the end: ?table=NAME."
        )
    return parts


def _own_options(parts: SplitResult) -> dict[str, str]:
    return {name: value for name, value in parse_qsl(parts.query) if name in _OURS}


def _driver_options(parts: SplitResult) -> dict[str, str]:
    return {name: value for name, value in parse_qsl(parts.query) if name not in _OURS}


def _duckdb(parts: SplitResult, options: dict[str, str]) -> Any:
    return _embedded(_duckdb_file(parts), options)


def _duckdb_file(parts: SplitResult) -> Path:
    """Return the file of a database: ``duckdb:///`` begins an absolute path, or one below the current folder."""
    path = unquote(parts.netloc + parts.path)
    choices = {Path(path), Path(path.lstrip("/") or ".")} if path.startswith("/") else {Path(path)}
    files = [choice for choice in choices if choice.is_file()]
    if len(files) != 1:
        shown = " or ".join(sorted(str(choice) for choice in choices))
        raise PointsError(
            f"{'more than one' if files else 'no'} file is meant by the address: {shown}; give the path of one, such "
            "as duckdb:////data/FILE?table=NAME or duckdb://./FILE?table=NAME."
        )
    return files[0]


def _postgresql(parts: SplitResult, options: dict[str, str]) -> Any:
    import ibis

    place = {
        "host": parts.hostname and unquote(parts.hostname),
        "port": parts.port,
        "user": parts.username and unquote(parts.username),
        "password": parts.password and unquote(parts.password),
        "database": unquote(parts.path.lstrip("/")),
    }
    return closed_at_the_end(
        ibis.postgres.connect(**{name: value for name, value in place.items() if value}, **options)
    )


def _refused(parts: SplitResult, options: dict[str, str]) -> Any:  # noqa: ARG001 - nothing is opened
    raise PointsError(
        f"the address is one of {parts.scheme}, but tables are read from duckdb:// and postgresql://; for Spark and "
        f"others, {either('give a table of Ibis', 'use the library, with a table of Ibis')}."
    )


_OPENERS: dict[str, Callable[[SplitResult, dict[str, str]], Any]] = {
    "duckdb": _duckdb,
    "postgresql": _postgresql,
    "postgres": _postgresql,
}


# --- the embedded DuckDB ---------------------------------------------------------------------------


def _of_files(text: str) -> Any:
    paths = paths_of(text)
    other = [path for path in paths if path.suffix.lower() not in _PARQUET or not path.is_file()]
    if other:
        raise PointsError(
            f"{other[0]} is not a file of Parquet; read it {either('with read_points', 'as a file')}, or "
            "give files of Parquet, a pattern or a folder of them, or the address of a database."
        )
    _check_types(paths)
    if any(_MAGIC & set(str(path)) for path in paths):
        raise PointsError(f"{paths[0]} has *, ? or [ in its path, which DuckDB takes for a pattern; rename it.")
    return _open(lambda: _embedded(None, {}).read_parquet([str(path) for path in paths], hive_partitioning=False))


def _check_types(paths: list[Path]) -> None:
    """Refuse files whose columns differ: DuckDB would cast the values of all files to the types of the first one."""
    import pyarrow.parquet as pq

    first, *others = (quietly(partial(pq.read_schema, path), Source(str(path), ".parquet")) for path in paths)
    for path, schema in zip(paths[1:], others, strict=True):
        if {field.name: field.type for field in schema} != {field.name: field.type for field in first}:
            raise PointsError(
                f"{path} has other columns, or columns of other types, than {paths[0]}; DuckDB reads files of one "
                f"schema together. Read them {either('with read_points', 'as files, in a list')}, or write them anew."
            )


def _embedded(database: Path | None, options: dict[str, str]) -> Any:
    """Open DuckDB within this process, in memory or on a file that is only read."""
    import ibis

    folder = tempfile.mkdtemp(prefix="spatialdp-")  # for this user alone
    limit = int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * _SHARE_OF_MEMORY)
    settings = {
        "temp_directory": folder,
        "memory_limit": f"{limit // 2**20}MiB",
        "autoinstall_known_extensions": "false",
        **options,
    }
    place = {} if database is None else {"database": str(database), "read_only": True}
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        backend = ibis.duckdb.connect(**place, **settings)
        stack.callback(backend.con.close)
        # Geometries stay bytes: Ibis does not know their type. DuckDB 1 takes this setting from a connection alone.
        backend.con.execute("SET enable_geoparquet_conversion = false")
        weakref.finalize(backend, stack.pop_all().close)
    return backend
