"""How does a release look? `spatialdp map` draws a picture of it, or writes a web page to explore it.

The command reads a release and public boundaries, and never a record.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from spatialdp.cli.options.axes import AxisCommand, axis_queries
from spatialdp.cli.options.output import Target, output_options
from spatialdp.cli.options.table import Moments
from spatialdp.cli.options.values import Level, Numbers

__all__ = ["command"]

_PICTURE_OPTIONS = (
    "view",
    "per",
    "limits",
    "log",
    "cmap",
    "level",
    "lines",
    "mark_noise",
    "scale_bar",
    "caption",
    "dpi",
)


@click.command("map", cls=AxisCommand)
@click.argument("release", type=click.Path(path_type=Path))
@click.option(
    "--view",
    type=click.Choice(("estimate", "uncertainty", "half-width")),
    default="estimate",
    show_default=True,
    help="What the colours show: estimated counts, the half-width of their 95 % intervals relative to the estimates, "
    "or the half-width in records (or whatever is counted).",
)
@click.option(
    "--per",
    type=click.Choice(("cell", "km2", "map")),
    help="Show numbers per cell, per square kilometre on the ground, or per 1/1000 of the map. By default per cell if "
    "all cells have one size, and otherwise per km², or per 1/1000 of the map where there is no CRS.",
)
@click.option(
    "--limits", type=Numbers("LOW", "HIGH"), help="Ends of the colour scale; by default from the released estimates."
)
@click.option(
    "--log/--linear",
    default=None,
    help="Colour scale: logarithmic for large numbers, as on the web page, or linear throughout.  [default: log]",
)
@click.option("--cmap", metavar="NAME", help="Colours of matplotlib, such as viridis, instead of the usual ones.")
@click.option(
    "--level",
    type=Level(),
    help="For trees: show the nodes at this depth; by default the leaves. For zones: the name of the level to show.",
)
@click.option("--lines", type=int, help="For trees and zones: outline the nodes down to this depth; 0 for none.")
@click.option("--mark-noise/--no-mark-noise", default=True, help="Fade cells that may be noise alone.  [default: on]")
@click.option(
    "--time",
    "times",
    type=Moments(both=False),
    multiple=True,
    help="For a table: draw the map at this time, such as 2024-03-01 or 08:00, or between two, such as 08:00 10:00 "
    "(each day). Other axes have options of their names, such as --kind theft; those that are not named are summed. "
    "Several times, or several categories with commas between them, are drawn beside each other.",
)
@click.option("--together", is_flag=True, help="For a table: draw each list of categories as one.")
@click.option("--boundaries", type=click.Path(path_type=Path), help="File of public polygons or lines to draw on top.")
@click.option("--scale-bar/--no-scale-bar", default=True, help="Draw a scale bar below the map.  [default: on]")
@click.option(
    "--caption/--no-caption",
    default=True,
    help="Write the privacy statement below the map; a release that is not private is always marked.  [default: on]",
)
@click.option(
    "--dpi",
    type=click.IntRange(20, 1200),
    default=100,
    show_default=True,
    help="Resolution of the picture, in dots per inch.",
)
@click.option("--title", help="Heading of the map or the web page.")
@output_options((".png", ".svg", ".pdf", ".html"), "File for the picture or the web page; its name ends in one of")
@click.pass_context
def command(
    context: click.Context,
    /,
    release: Path,
    dpi: int,
    title: str | None,
    boundaries: Path | None,
    times: tuple[tuple[str, ...], ...],
    together: bool,
    asked: tuple[tuple[str, str], ...],
    target: Target,
    **look: Any,
) -> None:
    r"""Draw a release as a map, or write a web page to explore it.

    \b
    Examples:
      spatialdp map homes.parquet -o homes.png --title "Homes" --boundaries counties.gpkg
      spatialdp map homes.parquet -o homes.pdf --per km2
      spatialdp map homes.parquet -o doubts.svg --view uncertainty
      spatialdp map counties.parquet -o states.png --level state
      spatialdp map table.parquet -o thefts.png --time 08:00 10:00 --kind theft
      spatialdp map table.parquet -o kinds.png --kind theft,assault --level state
      spatialdp map homes.parquet -o homes.html --title "Homes" --boundaries counties.gpkg
    """
    from spatialdp.outputs.files.geoparquet import load

    target.spare(release, boundaries)
    source: Any = load(release)
    on_axes = (*(("time", ",".join(each)) for each in times), *asked)
    if together and not on_axes:
        raise click.UsageError("--together is for categories of a table, such as --kind theft,assault; leave it out.")
    queries = axis_queries(getattr(source, "frame", None), on_axes, together=together)
    parts = {name: query[0] if len(query) == 1 else query for name, query in queries.items()}
    if target.file.suffix.lower() == ".html":
        _refuse(context, _PICTURE_OPTIONS, "pictures")
        shown = source.at(**parts) if parts else source
        shown.explore(target.file, title=title, boundaries=boundaries, overwrite=target.force)
        return
    import matplotlib
    import numpy as np

    matplotlib.use("Agg")
    from spatialdp.outputs.maps.save import save_figure

    if source.estimate.kind == "flows":
        _refuse(context, (*_PICTURE_OPTIONS[:-1], "boundaries"), "maps of places, and these are flows", "")
        axes = source.plot(title=title or "Flows")
    else:
        axes = source.plot(title=title, boundaries=boundaries, **look, **parts)
    figure = axes.flat[0].figure if isinstance(axes, np.ndarray) else axes.figure
    save_figure(figure, target.file, dpi=dpi, overwrite=target.force)


def _refuse(
    context: click.Context,
    names: tuple[str, ...],
    kind: str,
    instead: str = ", or choose another suffix for the output",
) -> None:
    """Refuse options that would have no effect on this kind of output."""
    for name in names:
        if context.get_parameter_source(name) is not ParameterSource.DEFAULT:
            raise click.UsageError(f"--{name.replace('_', '-')} is for {kind}; leave it out{instead}.")
