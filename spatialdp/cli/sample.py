"""`spatialdp sample`: synthetic points, for tools that only eat points."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from spatialdp.cli.options import Target, output_options

__all__ = ["command"]

_DRIVERS = {".gpkg": "GPKG", ".geojson": "GeoJSON"}


@click.command("sample")
@click.argument("release", type=click.Path(path_type=Path))
@click.option("-n", "count", type=click.IntRange(0), help="How many; as many as the released total by default.")
@click.option("--seed", type=click.IntRange(0), help="The same points each time; no less private than the release.")
@output_options((".parquet", ".csv", *_DRIVERS), "The points, their format by its ending")
def command(release: Path, count: int | None, seed: int | None, target: Target) -> None:
    r"""Draw synthetic points that follow a release: free of charge, and none of them is a record.

    \b
    Example:
      spatialdp sample homes.parquet -o synthetic.gpkg
    """
    from spatialdp.files import load, write_whole
    from spatialdp.privacy.noise import SeededNoise

    noise = None if seed is None else SeededNoise(seed)
    points = load(release).sample(count, noise=noise, as_geodataframe=True)
    write_whole(
        target.file, lambda partial: _write(points, partial, target.file.suffix.lower()), overwrite=target.force
    )


def _write(points: Any, partial: Path, suffix: str) -> None:
    if suffix == ".csv":
        points.get_coordinates().to_csv(partial, index=False)
    elif suffix == ".parquet":
        points.to_parquet(partial)
    else:
        points.to_file(partial, driver=_DRIVERS[suffix])
