"""Which privacy promise belongs to a file? The statement is inside the file, or beside it if the format has no room.

GeoPackage, GeoTIFF and GeoJSON files hold the statement. A CSV file cannot, so ``roads.csv`` has its statement in
``roads.privacy.json``, with a digest of the table, so that a statement of another table is never taken for its own.
Files come from anywhere: reading must open them in their own format only, and never follow what they point to.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spatialdp._support.foreign.gdal import content_fits_suffix, offline
from spatialdp._support.json_values import parsed
from spatialdp.errors import FileFormatError
from spatialdp.outputs.files.formats import FORMATS
from spatialdp.privacy.statement import Privacy

if TYPE_CHECKING:
    from spatialdp.release import Release

__all__ = [
    "STATEMENT",
    "read_statement",
    "statement",
    "statement_beside",
    "statement_members",
    "statement_with_digest",
]


def statement_beside(target: Path) -> Path:
    """Return the path of the privacy statement beside a file: ``roads.privacy.json`` beside ``roads.csv``."""
    return target.with_suffix(".privacy.json")


def statement_with_digest(content: bytes, statement: Mapping[str, Any]) -> bytes:
    """Return the file that holds a privacy statement, with the SHA-256 of the file that the statement is about.

    Two files cannot be replaced at the same instant. A process that is killed in between leaves the new statement
    beside the old table; the digest tells that they do not belong together.

    Examples
    --------
    >>> json.loads(statement_with_digest(b"x,y", {"epsilon": "1"}))["sha256"][:8]
    '968e772c'
    """
    members = {**statement, "sha256": hashlib.sha256(content).hexdigest()}
    return (json.dumps(members, indent=2, ensure_ascii=False) + "\n").encode()


# Key of the privacy statement in the metadata of a file.
STATEMENT = "SPATIALDP_PRIVACY"


def statement(release: Release) -> str:
    """Return the privacy statement of a release as one line of JSON; its member ``summary`` is the promise in words."""
    return json.dumps(statement_members(release.privacy), ensure_ascii=False)


def statement_members(privacy: Privacy) -> dict[str, Any]:
    """Return a privacy statement as plain values; the member ``summary`` is the promise in words."""
    return {"summary": str(privacy), **privacy.to_json()}


def read_statement(path: Path) -> Privacy:
    """Read the privacy statement of a GeoPackage, GeoTIFF, GeoJSON or CSV file, from inside the file or from beside it.

    Raises
    ------
    FileFormatError
        If there is no statement, or the one beside the file belongs to another file.
    """
    try:
        return Privacy.from_json(_statement_json(path))
    except FileFormatError:
        raise
    except Exception:  # GDAL, SQLite and JSON raise many kinds: each says that spatialdp did not write this file
        raise FileFormatError(
            f"{path} holds no privacy statement of spatialdp, and no file beside it holds one; ask for the original "
            "files."
        ) from None


def _statement_json(path: Path) -> Any:
    kind = FORMATS.get(path.suffix.lower())
    if kind == "GeoPackage":
        import pyogrio

        if not content_fits_suffix(path):
            raise ValueError("not a GeoPackage")
        with offline():
            layer = pyogrio.list_layers(path)[0][0]  # each layer has the statement
            return parsed(pyogrio.read_info(path, layer=layer)["layer_metadata"][STATEMENT])
    if kind == "GeoTIFF":
        import rasterio

        with rasterio.open(
            path, driver="GTiff"
        ) as raster:  # no other driver: a virtual raster could point to other files
            return parsed(raster.tags()[STATEMENT])
    if kind == "GeoJSON":
        return parsed(path.read_bytes())["privacy"]
    return _read_beside(path)


def _read_beside(path: Path) -> Any:
    """Read the statement beside a file; raise an error if it was written for another content of the file."""
    beside = statement_beside(path)
    statement = parsed(beside.read_bytes())
    if statement["sha256"] != hashlib.sha256(path.read_bytes()).hexdigest():
        raise FileFormatError(
            f"{beside} does not belong to the present content of {path}: one of the two was altered, or the program "
            "was stopped while it wrote them. Ask for the original files, or save the release again."
        )
    return statement
