"""How GDAL is kept from reading anything but the file that it was asked to open.

GDAL recognises a format by a file's content, whatever its name, and some formats are programs: a virtual layer or a
streamed algorithm names other files and addresses to read, and old GeoJSON may name an address to fetch its CRS from.
So a file is opened only if its content begins as its suffix says (`content_fits_suffix`), and with network access
turned off (`offline`). ``docs/design/files.md`` says what else is refused.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

__all__ = ["ALGORITHM", "configured", "content_fits_suffix", "offline"]

_HEAD = 2**16  # bytes, more than GDAL looks at to recognise a format
_FIRST_BYTES = {
    ".gpkg": b"SQLite format 3\0",
    ".shp": b"\0\0\x27\x0a",
    ".fgb": b"fgb",
    ".geojson": b"{",
    ".json": b"{",
}
ALGORITHM = b"gdal_streamed_alg"  # marks a JSON file that GDAL would run as a streamed algorithm

# GDAL has one set of options for the whole process, so one thread at a time may change them.
_lock = threading.RLock()
_OFFLINE = {
    "GDAL_HTTP_PROXY": "127.0.0.1:0",  # where nobody can listen
    "GDAL_HTTPS_PROXY": "127.0.0.1:0",
    "CPL_VSIL_CURL_ALLOWED_FILENAME": "none",
}


def content_fits_suffix(path: Path) -> bool:
    """Whether the first bytes of a file are those of the format that its suffix names.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "homes.geojson"
    >>> _ = path.write_text("<OGRVRTDataSource>...</OGRVRTDataSource>")
    >>> content_fits_suffix(path)
    False
    """
    with path.open("rb") as file:
        head = file.read(_HEAD)
    is_json = path.suffix.lower() in (".geojson", ".json")
    if is_json:
        head = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    return head.startswith(_FIRST_BYTES[path.suffix.lower()]) and not (is_json and ALGORITHM in head)


@contextmanager
def configured(options: Mapping[str, str | None]) -> Iterator[None]:
    """Set GDAL options within a ``with`` block; other threads that do the same wait for its end."""
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
    """Keep GDAL from fetching anything over the network within a ``with`` block.

    Hosts that the user's ``no_proxy`` variable names can still be reached.
    """
    with configured(_OFFLINE):
        yield
