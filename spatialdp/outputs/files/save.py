"""A release under a name: the format follows from the ending."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

from spatialdp._support.atomic import check_place, write_all
from spatialdp.errors import ParameterError
from spatialdp.outputs.files.formats import FORMATS
from spatialdp.outputs.files.geoparquet import geoparquet_bytes
from spatialdp.outputs.files.statement import stated_of, statement, statement_beside
from spatialdp.release import Release

__all__ = ["check_target", "contents", "save"]


def save(
    release: Release,
    path: str | os.PathLike[str],
    *,
    overwrite: bool = False,
    shape: tuple[int, int] | None = None,
) -> None:
    """Write a release in the format its name ends in: the whole file or nothing; see `Release.save`."""
    target = check_target(path, overwrite=overwrite)
    write_all(contents(release, target, shape=shape), overwrite=overwrite)


def contents(release: Release, target: Path, *, shape: tuple[int, int] | None = None) -> dict[Path, bytes]:
    """The files that a release becomes under a name: one, and a statement beside it where the format holds none."""
    from spatialdp.outputs.files import exports

    kind = FORMATS[target.suffix.lower()]
    if shape is not None and kind != "GeoTIFF":
        raise ParameterError(f"shape is for GeoTIFF files; {target.name} is {kind}, which keeps the cells as they are.")
    if kind == "CSV":
        table = exports.table(release)
        return {statement_beside(target): stated_of(table, json.loads(statement(release))), target: table}
    makers: dict[str, Callable[[], bytes]] = {
        "GeoParquet": lambda: geoparquet_bytes(release),
        "GeoPackage": lambda: exports.geopackage(release),
        "GeoTIFF": lambda: exports.geotiff(release, shape),
        "GeoJSON": lambda: exports.geojson(release),
    }
    return {target: makers[kind]()}


def check_target(path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
    """Refuse names that `save` would refuse, before anything is spent.

    Raises
    ------
    ParameterError
        If the name does not end in one of `FORMATS`.
    OSError
        If the file exists, is a folder, or can not be made there.

    Examples
    --------
    >>> check_target("map.gpkg", overwrite=True).name
    'map.gpkg'
    """
    target = Path(path)
    if target.suffix.lower() not in FORMATS:
        known = ", ".join(f"{suffix} ({kind})" for suffix, kind in FORMATS.items())
        raise ParameterError(f"{target.name} does not end in a format that is known; it must be one of {known}.")
    files = [target, statement_beside(target)] if FORMATS[target.suffix.lower()] == "CSV" else [target]
    for file in files:
        check_place(file, overwrite=overwrite)
    return target
