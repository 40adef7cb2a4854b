"""`spatialdp map`: a picture of a release, or a page to explore it in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from spatialdp.cli.options.output import Target, output_options
from spatialdp.cli.options.values import Numbers

__all__ = ["command"]

_OF_PICTURES = ("view", "limits", "log", "level", "lines", "mark_noise", "boundaries", "scale_bar", "caption", "dpi")
_OF_PAGES = ("title",)


@click.command("map")
@click.argument("release", type=click.Path(path_type=Path))
@click.option(
    "--view",
    type=click.Choice(("estimate", "uncertainty", "half-width")),
    default="estimate",
    show_default=True,
    help="Estimated counts, the half-width of their 95 % intervals relative to them, or that in records.",
)
@click.option("--limits", type=Numbers("LOW", "HIGH"), help="Colour scale; from the released estimates by default.")
@click.option("--log", is_flag=True, help="Colours by log(1 + estimate), for counts over orders of magnitude.")
@click.option("--level", type=int, help="Of a tree: show the nodes of this depth.")
@click.option("--lines", type=int, help="Of a tree: outline nodes down to this depth; 0 for none.")
@click.option(
    "--mark-noise/--no-mark-noise", default=True, help="Fade and hatch cells that are only noise.  [default: on]"
)
@click.option("--boundaries", type=click.Path(path_type=Path), help="File of public polygons or lines to draw on top.")
@click.option("--scale-bar/--no-scale-bar", default=True, help="Draw a scale bar below.  [default: on]")
@click.option("--caption/--no-caption", default=True, help="Write the privacy statement below.  [default: on]")
@click.option("--dpi", type=click.IntRange(20, 1200), default=100, show_default=True, help="Dots per inch.")
@click.option("--title", help="Heading of a page.")
@output_options((".png", ".svg", ".html"), "The picture, or a page to explore offline")
@click.pass_context
def command(context: click.Context, /, release: Path, dpi: int, title: str | None, target: Target, **look: Any) -> None:
    r"""Draw a release as a map, or write a page to explore it in.

    \b
    Examples:
      spatialdp map homes.parquet -o homes.png --log --boundaries counties.gpkg
      spatialdp map homes.parquet -o doubts.svg --view uncertainty
      spatialdp map homes.parquet -o homes.html --title "Homes"
    """
    from spatialdp.outputs.files.geoparquet import load

    if target.file.suffix.lower() == ".html":
        _refuse(context, _OF_PICTURES, "pictures")
        load(release).explore(target.file, title=title, overwrite=target.force)
        return
    _refuse(context, _OF_PAGES, "pages")
    import matplotlib

    matplotlib.use("Agg")
    from spatialdp.outputs.maps.save import save_figure

    axes = load(release).plot(**look)
    save_figure(axes.figure, target.file, dpi=dpi, overwrite=target.force)  # type: ignore[arg-type]  # no subfigure


def _refuse(context: click.Context, names: tuple[str, ...], kind: str) -> None:
    """Options that would do nothing are not accepted in silence."""
    for name in names:
        if context.get_parameter_source(name) is not ParameterSource.DEFAULT:
            raise click.UsageError(
                f"--{name.replace('_', '-')} is for {kind}; leave it out, or choose another ending for the output."
            )
