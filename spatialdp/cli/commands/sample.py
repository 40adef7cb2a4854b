"""`spatialdp sample`: synthetic points, for tools that only eat points."""

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
@click.option("-n", "count", type=click.IntRange(0), help="How many; as many as the released total by default.")
@click.option("--seed", type=click.IntRange(0), help="The same points each time; no less private than the release.")
@output_options((".parquet", ".csv", *_DRIVERS), "The points, their format by its ending")
def command(release: Path, count: int | None, seed: int | None, target: Target) -> None:
    r"""Draw synthetic points that follow a release: free of charge, and none of them is a record.

    The release's privacy statement goes beside them, into a file that ends in .privacy.json.

    \b
    Example:
      spatialdp sample homes.parquet -o synthetic.gpkg
    """
    from spatialdp._support.atomic import write_all
    from spatialdp.outputs.files.geoparquet import load
    from spatialdp.outputs.files.statement import stated_of, statement_beside
    from spatialdp.privacy.noise.source import SeededNoise

    target.spare(release)
    beside = check_output(statement_beside(target.file), (".json",), force=target.force)
    source = load(release)
    points = source.sample(count, noise=None if seed is None else SeededNoise(seed), as_geodataframe=True)
    words = {"summary": f"synthetic points, drawn from: {source.privacy}", **source.privacy.to_json()}
    written = _written(points, target.file.suffix.lower())
    write_all({beside: stated_of(written, words), target.file: written}, overwrite=target.force)


def _written(points: Any, suffix: str) -> bytes:
    from spatialdp.outputs.files.exports import written

    if suffix in _DRIVERS:
        return written(points, driver=_DRIVERS[suffix], layer="synthetic")
    buffer = io.BytesIO()
    if suffix == ".csv":
        points.get_coordinates().to_csv(buffer, index=False)
    else:
        points.to_parquet(buffer)
    return buffer.getvalue()
