"""GDAL, kept to the file that it is given.

GDAL looks at what a file holds, whatever its name, and some of what it knows are programs: a virtual layer or a
streamed algorithm names other files and addresses to read, and old GeoJSON may name an address to fetch its CRS from.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

__all__ = ["ALGORITHM", "configured", "is_what_it_is_called", "offline"]

_HEAD = 2**16  # bytes, more than GDAL looks at to recognise a format
_FIRST = {".gpkg": b"SQLite format 3\0", ".shp": b"\0\0\x27\x0a", ".fgb": b"fgb", ".geojson": b"{", ".json": b"{"}
ALGORITHM = b"gdal_streamed_alg"

# Options are those of the process.
_lock = threading.RLock()
_OFFLINE = {
    "GDAL_HTTP_PROXY": "127.0.0.1:0",  # where nobody can listen
    "GDAL_HTTPS_PROXY": "127.0.0.1:0",
    "CPL_VSIL_CURL_ALLOWED_FILENAME": "none",
}


def is_what_it_is_called(path: Path) -> bool:
    """Whether a file begins as files with its ending do.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "homes.geojson"
    >>> _ = path.write_text("<OGRVRTDataSource>...</OGRVRTDataSource>")
    >>> is_what_it_is_called(path)
    False
    """
    with path.open("rb") as file:
        head = file.read(_HEAD)
    text = path.suffix.lower() in (".geojson", ".json")
    if text:
        head = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    return head.startswith(_FIRST[path.suffix.lower()]) and not (text and ALGORITHM in head)


@contextmanager
def configured(options: Mapping[str, str | None]) -> Iterator[None]:
    """Set GDAL's options for a moment; one thread at a time, because they hold for all."""
    import pyogrio

    with _lock:
        before = {name: pyogrio.get_gdal_config_option(name) for name in options}
        pyogrio.set_gdal_config_options(dict(options))
        try:
            yield
        finally:
            pyogrio.set_gdal_config_options(before)


@contextmanager
def offline() -> Iterator[None]:
    """Let GDAL open a file without fetching anything (but from hosts that the user's ``no_proxy`` names)."""
    with configured(_OFFLINE):
        yield
