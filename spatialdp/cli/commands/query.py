"""How many records lie in boxes or polygons, by the estimate of a release? `spatialdp query` answers.

The command reads a release and public queries, and never a record.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spatialdp.cli.answers import ANSWERS, Ask, answer_codes, answer_level, with_answers
from spatialdp.cli.flows import answer_flows, require_flows
from spatialdp.cli.options.axes import AxisCommand, Levels, axis_queries
from spatialdp.cli.options.frame import Names
from spatialdp.cli.options.output import Target, output_options
from spatialdp.cli.options.table import Moments
from spatialdp.cli.options.values import Numbers
from spatialdp.cli.tables import answer_table, require_table
from spatialdp.outputs.files.formats import WITH_AXES

if TYPE_CHECKING:
    import geopandas

    from spatialdp.release import Release

__all__ = ["command"]


@click.command("query", cls=AxisCommand)
@click.argument("release", type=click.Path(path_type=Path))
@click.option(
    "--bbox", type=Numbers("XMIN", "YMIN", "XMAX", "YMAX"), multiple=True, help="A box to count in; may be repeated."
)
@click.option(
    "--boxes",
    type=click.Path(path_type=Path),
    help="File of boxes: CSV or Parquet with the columns xmin, ymin, xmax and ymax.",
)
@click.option(
    "--polygons",
    type=click.Path(path_type=Path),
    help="File of polygons (GeoPackage, GeoJSON, Shapefile or GeoParquet); those in another CRS are reprojected. The "
    "output keeps their columns.",
)
@click.option(
    "--codes",
    type=Names(),
    multiple=True,
    help="Codes of zones to count in, with commas between them, for a release by zones; may be repeated.",
)
@click.option("--zones", "of_level", metavar="LEVEL", help="Count in all zones of a level, for a release by zones.")
@click.option("--at", metavar="LEVEL", help="Level of the --codes, if a code occurs on several levels.")
@click.option(
    "--together",
    is_flag=True,
    help="Answer each list of --codes as one area, and each list of categories, or of the codes of an end, as one.",
)
@click.option(
    "--origin",
    "origins",
    multiple=True,
    metavar="CODES|BOX",
    help="For flows: count those that begin in these zones, by their codes with commas between them, or in a box "
    "XMIN,YMIN,XMAX,YMAX, if they are between cells of a grid; may be repeated.",
)
@click.option(
    "--destination",
    "destinations",
    multiple=True,
    metavar="CODES|BOX",
    help="For flows: the same for where they end. An end that is not named is summed over all places.",
)
@click.option(
    "--time",
    "times",
    type=Moments(both=False),
    multiple=True,
    help="For a table: count at this time, such as 2024-03-01 or 08:00, or between two, such as 08:00 10:00 (each "
    "day); may be repeated. Other axes have options of their names, such as --kind theft; those that are not named are "
    "summed.",
)
@click.option(
    "--by",
    type=Levels(),
    multiple=True,
    help="For a table: count in all parts of an axis, or of one of its levels.",
)
@click.option("--layer", metavar="NAME", help="Layer to read, if the file of polygons has several.")
@click.option(
    "--level",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    help="Confidence level of the intervals.",
)
@click.option(
    "--about",
    type=click.Choice(["truth", "noise"]),
    default="truth",
    show_default=True,
    help="What intervals cover: the true count, with an allowance for records that are not evenly spread within the "
    "cells that a query cuts; or the answer without noise.",
)
@click.option("--format", "kind", type=click.Choice(["csv", "json"]), help="Format of standard output; CSV by default.")
@output_options(
    (".csv", ".json", ".gpkg", ".parquet"),
    "File for the answers, in GeoPackage and GeoParquet with their boxes or polygons; its name ends in one of",
    stdout=True,
)
def command(
    release: Path,
    bbox: tuple[tuple[float, ...], ...],
    boxes: Path | None,
    polygons: Path | None,
    codes: tuple[tuple[str, ...], ...],
    of_level: str | None,
    at: str | None,
    together: bool,
    origins: tuple[str, ...],
    destinations: tuple[str, ...],
    times: tuple[tuple[str, ...], ...],
    by: tuple[tuple[tuple[str, str | None], ...], ...],
    asked: tuple[tuple[str, str], ...],
    layer: str | None,
    level: float,
    about: str,
    kind: str | None,
    target: Target,
) -> None:
    r"""Answer boxes, polygons, zones, times, categories or flows from a release.

    The answers are estimated counts, with intervals about the true counts. If persons are the unit of privacy, a note
    on standard error says what is counted. Queries cost no privacy budget: a release
    answers any number of them. If the release is not private, a column `privacy` says so.

    \b
    Examples:
      spatialdp query homes.parquet --bbox -85.33,35.03,-85.28,35.07
      spatialdp query homes.parquet --boxes boxes.csv --format json | jq .
      spatialdp query homes.parquet --polygons districts.gpkg -o districts.csv
      spatialdp query homes.parquet --polygons districts.gpkg -o counted.gpkg
      spatialdp query counties.parquet --codes 37063,37135
      spatialdp query counties.parquet --zones state -o states.gpkg
      spatialdp query table.parquet --time 08:00 10:00 --kind theft
      spatialdp query table.parquet --by time,kind -o hours.csv
      spatialdp query table.parquet --polygons districts.gpkg --kind theft -o thefts.csv
      spatialdp query flows.parquet --origin 37063,37135 --destination 37183
    """
    from spatialdp.outputs.files.geoparquet import load

    on_axes = (*(("time", ",".join(each)) for each in times), *asked)
    ends = {"origin": origins, "destination": destinations}
    places = sum(map(bool, (bbox, boxes, polygons, codes, of_level, origins or destinations)))
    if places > 1 or not (places or on_axes or by):
        raise click.UsageError(
            "none or several of --bbox, --boxes, --polygons, --codes and --zones were given; give exactly one of them, "
            "for a table --by, --time or another axis, or for flows --origin, --destination or both."
        )
    if polygons is not None and by:
        raise click.UsageError("--by was given, but polygons are answered for one map; leave --by or --polygons out.")
    if (at is not None or together) and not (codes or on_axes or any(ends.values())):
        raise click.UsageError("--at and --together are for --codes; leave them out.")
    if kind is not None and target.path is not None:
        raise click.UsageError(
            "--format was given with an output file; the suffix of the file decides its format. Leave --format out."
        )
    target.spare(release, boxes, polygons)
    source, drawn = load(release), target.path is not None and target.path.suffix.lower() in (".gpkg", ".parquet")
    of_table = axis_queries(getattr(source, "frame", None), on_axes, together=together)
    with _outside_noted():
        if any(ends.values()):
            answers = answer_flows(require_flows(source), ends, level, together=together)
        elif source.estimate.kind == "flows":
            raise click.UsageError("this release is of flows between places; ask with --origin, --destination or both.")
        elif (of_table or by or source.estimate.kind in WITH_AXES) and polygons is None:
            asked_of_space = _asked_of_space(bbox, boxes, codes, together=together)
            levels = [pair for pairs in by for pair in pairs] + ([] if of_level is None else [("zone", of_level)])
            answers = answer_table(require_table(source), of_table | asked_of_space, levels, level, about)
        elif codes:
            answers = answer_codes(source, codes, at, Ask(level, about, drawn), together=together)
        elif of_level is not None:
            answers = answer_level(source, of_level, Ask(level, about, drawn))
        elif polygons is not None:
            answers = _answer_polygons(_single_map(source, of_table), polygons, layer, level, about)
        else:
            answers = _answer_boxes(source, bbox, boxes, level, about)
    if len(answers) and answers["estimate"].isna().all():
        raise click.UsageError("no question lies in the domain, so none can be answered; ask for places in the domain.")
    _write(answers, source, target, kind or (target.path.suffix[1:].lower() if target.path else "csv"))


def _single_map(source: Release, queries: dict[str, list[Any]]) -> Release:
    """Return the map of a table at the time and of the category that was asked for; another release as it is."""
    if source.estimate.kind not in WITH_AXES:
        return source
    several = [name for name, query in queries.items() if len(query) > 1]
    if several:
        raise click.UsageError(
            f"--{several[0].replace('_', '-')} was given several parts, but polygons are answered for one map; give "
            "one part, or a list of categories with --together."
        )
    return require_table(source).at(**{name: query[0] for name, query in queries.items()})


def _asked_of_space(
    bbox: tuple[tuple[float, ...], ...], boxes: Path | None, codes: tuple[tuple[str, ...], ...], *, together: bool
) -> dict[str, list[Any]]:
    """Return what is asked along a table's axis of space: boxes, or zones by their codes."""
    from spatialdp.space.public_files import read_boxes

    if codes:
        return {"zone": list(codes) if together else [code for each in codes for code in each]}
    asked = list(bbox) if boxes is None else [tuple(box) for box in read_boxes(boxes).tolist()]
    return {"box": asked} if asked else {}


@contextlib.contextmanager
def _outside_noted() -> Iterator[None]:
    """Turn the warning about questions outside the domain into a note on standard error."""
    from spatialdp.cli.wording import in_options
    from spatialdp.errors import OutsideDomainWarning

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", OutsideDomainWarning)
        yield
    outside = (each.message for each in caught if isinstance(each.message, OutsideDomainWarning))
    for text in {in_options(warning, []) for warning in outside}:
        click.echo(f"note: {text}", err=True)


def _answer_boxes(
    release: Release, bbox: tuple[tuple[float, ...], ...], path: Path | None, level: float, about: str
) -> geopandas.GeoDataFrame:
    import geopandas
    import numpy as np
    import shapely

    from spatialdp.space.public_files import EDGES, read_boxes

    boxes = np.array(bbox) if path is None else read_boxes(path)
    answers = release.answer(boxes)  # first, because zones that are codes alone have no places and refuse boxes
    # Edges may be infinite, but a polygon cannot be: it ends where the domain ends.
    polygons = shapely.box(*np.where(np.isfinite(boxes), boxes, release.domain.bounds).T)
    frame = geopandas.GeoDataFrame(dict(zip(EDGES, boxes.T, strict=True)), geometry=polygons, crs=release.domain.crs)
    return with_answers(frame, release, answers, lambda: release.interval(boxes, level, about=about))


def _answer_polygons(
    release: Release, path: Path, layer: str | None, level: float, about: str
) -> geopandas.GeoDataFrame:
    from spatialdp.space.public_files import read_geometries

    areas = read_geometries(path, layer)
    clashes = [name for name in ANSWERS if name in areas.columns]
    if clashes:
        raise click.UsageError(
            f"{path.name} has a column {clashes[0]!r}, which is a column of the answers; rename it in the file first."
        )
    geometry = areas.geometry
    answers = release.answer_polygons(geometry)
    return with_answers(areas, release, answers, lambda: release.interval_polygons(geometry, level, about=about))


def _write(answers: Any, release: Release, target: Target, kind: str) -> None:
    import sys

    import pandas as pd

    from spatialdp._support.atomic import write_all
    from spatialdp._support.terminal import printable

    table = pd.DataFrame(answers.drop(columns=answers.geometry.name) if hasattr(answers, "to_crs") else answers)
    makers: dict[str, Callable[[], bytes]] = {
        "csv": lambda: table.to_csv(index=False).encode(),
        "json": lambda: table.to_json(orient="records", indent=2, double_precision=15).encode() + b"\n",
        "gpkg": lambda: _geopackage(answers, release),
        "parquet": lambda: _geoparquet(answers, release),
    }
    if kind == "gpkg" and not hasattr(answers, "to_crs"):
        raise click.UsageError("these answers have no places, which a GeoPackage needs; write a .csv or a .parquet.")
    content = makers[kind]()
    if target.path is None:  # names of areas come from a file; programs get them as they are
        text = content.decode()
        click.echo(printable(text, keep="\n") if sys.stdout.isatty() else text, nl=False)
    else:
        write_all({target.path: content}, overwrite=target.force)


def _geopackage(answers: geopandas.GeoDataFrame, release: Release) -> bytes:
    from spatialdp.outputs.files.exports import layer_bytes
    from spatialdp.outputs.files.statement import STATEMENT, statement

    return layer_bytes(answers, layer="answers", driver="GPKG", layer_metadata={STATEMENT: statement(release)})


def _geoparquet(answers: geopandas.GeoDataFrame, release: Release) -> bytes:
    """Return GeoParquet with the privacy statement in the metadata of the file."""
    import io

    import pyarrow.parquet as pq

    from spatialdp.outputs.files.statement import STATEMENT, statement

    plain, buffer = io.BytesIO(), io.BytesIO()
    answers.to_parquet(plain, index=False)
    table = pq.read_table(plain)
    pq.write_table(table.replace_schema_metadata({**table.schema.metadata, STATEMENT: statement(release)}), buffer)
    return buffer.getvalue()
