"""The privacy statement of a file: inside it where its format can hold one, and beside it elsewhere."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spatialdp._support.gdal import is_what_it_is_called, offline
from spatialdp.errors import FileFormatError
from spatialdp.outputs.files.formats import FORMATS
from spatialdp.privacy.statement import Privacy
from spatialdp.release import Release

if TYPE_CHECKING:
    from spatialdp.release import Release


__all__ = ["STATEMENT", "read_statement", "stated_of", "statement", "statement_beside"]


def statement_beside(target: Path) -> Path:
    """Where the privacy statement of a file goes that can not hold it: ``roads.csv`` has ``roads.privacy.json``."""
    return target.with_suffix(".privacy.json")


def stated_of(content: bytes, statement: Mapping[str, Any]) -> bytes:
    """A statement that lies beside a file, and says which one by its digest.

    Two files can not be replaced at once: a process that is killed in between leaves the new statement beside the old
    table, and nobody should take one for the other's.

    Examples
    --------
    >>> json.loads(stated_of(b"x,y", {"epsilon": "1"}))["sha256"][:8]
    '968e772c'
    """
    words = {**statement, "sha256": hashlib.sha256(content).hexdigest()}
    return (json.dumps(words, indent=2, ensure_ascii=False) + "\n").encode()


# What the privacy statement is called among a file's metadata.
STATEMENT = "SPATIALDP_PRIVACY"


def statement(release: Release) -> str:
    """The privacy statement as one line of JSON; `summary` says it in words."""
    return json.dumps({"summary": str(release.privacy), **release.privacy.to_json()}, ensure_ascii=False)


def read_statement(path: Path) -> Privacy:
    """The privacy statement of a file that holds a map, or of the file beside it.

    Raises
    ------
    FileFormatError
        If there is none, or the one beside the file is another's.
    """
    try:
        return Privacy.from_json(_stated(path))
    except FileFormatError:
        raise
    except Exception:  # of GDAL, SQLite, JSON, ...: the file is another's
        raise FileFormatError(
            f"{path} carries no privacy statement of spatialdp, nor is there one beside it; ask for the original."
        ) from None


def _stated(path: Path) -> Any:
    kind = FORMATS.get(path.suffix.lower())
    if kind == "GeoPackage":
        import pyogrio

        if not is_what_it_is_called(path):
            raise ValueError("no GeoPackage")
        with offline():
            return json.loads(pyogrio.read_info(path)["layer_metadata"][STATEMENT])
    if kind == "GeoTIFF":
        import rasterio

        with rasterio.open(path, driver="GTiff") as raster:  # and no other, such as virtual rasters
            return json.loads(raster.tags()[STATEMENT])
    if kind == "GeoJSON":
        return json.loads(path.read_bytes())["privacy"]
    return _beside(path)


def _beside(path: Path) -> Any:
    """The statement beside a file, if it was written for this one."""
    beside = statement_beside(path)
    stated = json.loads(beside.read_bytes())
    if stated["sha256"] != hashlib.sha256(path.read_bytes()).hexdigest():
        raise FileFormatError(
            f"{beside} is not the statement of {path} as it is now: either was altered, or writing both was cut short. "
            "Ask for the originals, or save the release again."
        )
    return stated
