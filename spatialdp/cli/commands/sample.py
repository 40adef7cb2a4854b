"""How do tools that only read points use a release? `spatialdp sample` draws synthetic points from it.

The points are drawn from the released estimates, never from records; the privacy statement goes into a file beside
them.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import click

from spatialdp.cli.options.output import Target, check_output, output_options

__all__ = ["command"]

_DRIVERS = {".gpkg": "GPKG", ".geojson": "GeoJSON"}


@click.command("sample")
@click.argument("release", type=click.Path(path_type=Path))
@click.option(
    "-n",
    "count",
    type=click.IntRange(0),
    help="Number of points, or of trajectories; by default the estimated total of the release.",
)
@click.option(
    "--seed", type=click.IntRange(0), help="Draw the same points each time; they are as private as the release."
)
@output_options((".parquet", ".csv", *_DRIVERS), "File for the points; its name ends in one of")
def command(release: Path, count: int | None, seed: int | None, target: Target) -> None:
    r"""Draw synthetic points that follow a release. They cost no privacy budget, and none of them is a record.

    Of released trajectories, synthetic trajectories are drawn: points with the columns `tid` and `time`. Points of a
    release by zones have the codes of their zones, in the column `zone`. Those of a table have columns
    for its other axes; zones of a table are codes alone, without points.

    The privacy statement of the release is written beside them, into a file whose name ends in .privacy.json.

    \b
    Example:
      spatialdp sample homes.parquet -o synthetic.gpkg
    """
    from spatialdp._support.atomic import write_all
    from spatialdp.outputs.files.geoparquet import load
    from spatialdp.outputs.files.statement import statement_beside, statement_with_digest
    from spatialdp.privacy.noise.source import SeededNoise

    target.spare(release)
    statement_path = check_output(statement_beside(target.file), (".json",), force=target.force)
    source = load(release)
    points, what = _drawn(source, count, None if seed is None else SeededNoise(seed))
    statement = {"summary": f"synthetic {what}, drawn from: {source.privacy}", **source.privacy.to_json()}
    content = _file_content(points, target.file.suffix.lower())
    write_all({statement_path: statement_with_digest(content, statement), target.file: content}, overwrite=target.force)


def _drawn(source: Any, count: int | None, noise: Any) -> tuple[Any, str]:
    """Return synthetic records as a frame, and what they are called."""
    if source.estimate.kind != "trajectories":
        return source.sample(count, noise=noise, as_geodataframe=True), "points"
    frame = source.sample(count, noise=noise).drop(columns=["x", "y"])  # which the points have
    frame.attrs.clear()
    return frame, "trajectories"


def _file_content(points: Any, suffix: str) -> bytes:
    from spatialdp.outputs.files.exports import layer_bytes

    if not hasattr(points, "to_crs"):
        return _table_content(points, suffix)
    if suffix in _DRIVERS:
        return layer_bytes(points, driver=_DRIVERS[suffix], layer="synthetic")
    buffer = io.BytesIO()
    if suffix == ".csv":
        points.drop(columns="geometry").join(points.get_coordinates()).to_csv(buffer, index=False)
    else:
        points.to_parquet(buffer)
    return buffer.getvalue()


def _table_content(records: Any, suffix: str) -> bytes:
    """Return records whose places are codes of zones."""
    if suffix in _DRIVERS:
        raise click.UsageError(
            f"the records of this table have codes of zones and no points, which {suffix} files need; write a .csv or "
            "a .parquet."
        )
    buffer = io.BytesIO()
    if suffix == ".csv":
        records.to_csv(buffer, index=False)
    else:
        records.to_parquet(buffer)
    return buffer.getvalue()
