"""`spatialdp map`: a picture of a release."""

from __future__ import annotations

from pathlib import Path

import click

from spatialdp.cli.options import Numbers, Target, output_options

__all__ = ["command"]


@click.command("map")
@click.argument("release", type=click.Path(path_type=Path))
@click.option("--limits", type=Numbers("LOW", "HIGH"), help="Colour scale; from the released estimates by default.")
@click.option("--log", is_flag=True, help="Colours by log(1 + estimate), for counts over orders of magnitude.")
@click.option("--level", type=int, help="Of a tree: show the nodes of this depth.")
@click.option("--caption/--no-caption", default=True, help="Write the privacy statement below.  [default: on]")
@click.option("--dpi", type=click.IntRange(20, 1200), default=100, show_default=True, help="Dots per inch of a PNG.")
@output_options((".png", ".svg"), "The picture")
def command(
    release: Path,
    limits: tuple[float, float] | None,
    log: bool,
    level: int | None,
    caption: bool,
    dpi: int,
    target: Target,
) -> None:
    r"""Draw a release as a map.

    \b
    Example:
      spatialdp map homes.parquet -o homes.png --log
    """
    import matplotlib

    matplotlib.use("Agg")
    from spatialdp.files import load
    from spatialdp.maps import save_figure

    axes = load(release).plot(limits=limits, log=log, level=level, caption=caption)
    save_figure(axes.figure, target.file, dpi=dpi, overwrite=target.force)  # type: ignore[arg-type]  # no subfigure
