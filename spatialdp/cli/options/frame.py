"""Which public frame does a command count in? A domain, zones by a file of them, or a table over one of these.

Zones are public, as bounds are: a file of zones must never be made from the records. Options of a domain and of zones
exclude each other; those of H3 take the area of a domain. `options.table` has the times and categories of a table.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spatialdp._support.override import override
from spatialdp.cli.options.domain import DOMAIN_OPTIONS, domain_of, read_region
from spatialdp.cli.options.table import GRID_OPTIONS, TABLE_OPTIONS, table_axes, table_frame
from spatialdp.cli.options.values import Integers, added, bundled
from spatialdp.cli.parameters import INPUTS

if TYPE_CHECKING:
    from spatialdp.mechanisms import Mechanism
    from spatialdp.space.domain import Domain
    from spatialdp.space.frames.frame import Frame as Table
    from spatialdp.space.zones.frame import Zones

    Frame = Domain | Zones | Table

__all__ = [
    "GRID",
    "ZONES_FLAGS",
    "Names",
    "Prefixes",
    "axes_of",
    "check_frame",
    "domain_in",
    "frame_options",
    "is_table",
    "optional_frame_options",
    "optional_space_options",
    "places_options",
]

_PREFIXES = "state=2,county=5"  # an example
ZONES_FLAG, H3_FLAG = "--zones", "--h3"
ZONES_FLAGS = (ZONES_FLAG, H3_FLAG)  # with one of them, the default method is the one for zones
GRID = "spatialdp.grid"  # where a context keeps what the options of the method say about the grid of a table


class Names(click.ParamType):  # type: ignore[type-arg]  # generic only in recent versions
    """A click type for names with commas between them."""

    name = "NAME,NAME..."

    @override
    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:  # noqa: ARG002 (click gives them)
        return self.name

    @override
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        if isinstance(value, tuple):
            return value
        names = tuple(part.strip() for part in str(value).split(","))
        if not all(names) or len(set(names)) < len(names):
            self.fail(
                f"{value!r} was given; different names with commas between them are required, such as state,county.",
                param,
                ctx,
            )
        return names


class Prefixes(click.ParamType):  # type: ignore[type-arg]  # generic only in recent versions
    """A click type for levels and the lengths of their codes, such as state=2,county=5."""

    name = "LEVEL=LENGTH,..."

    @override
    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:  # noqa: ARG002 (click gives them)
        return self.name

    @override
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> dict[str, int]:
        if isinstance(value, dict):
            return value
        pairs = [part.strip().partition("=") for part in str(value).split(",")]
        lengths = {name.strip(): int(length) for name, _, length in pairs if length.strip().isdecimal()}
        if len(lengths) < len(pairs) or not all(lengths):
            self.fail(
                f"{value!r} was given; levels with the lengths of their codes are required, root first, such as "
                f"{_PREFIXES}.",
                param,
                ctx,
            )
        return lengths


def _frame(grid: Mapping[str, Any] | None = None, *, table: bool | None = None, **options: Any) -> Frame:
    """Return the frame that options describe: a domain, zones, or a table over one of these.

    `table` says whether the method counts in a table; None if there is no method yet.
    """
    axes = table_axes(
        **{name: options.pop(name) for name in ("time", "step", "zone", "fold", "time_levels", "categories")}
    )
    if table is None:
        table = bool(axes)
    if axes and not table:
        flag = "--time" if "time" in axes else "--categories"
        raise click.UsageError(f"{flag} is for tables; leave --method out, or name the method table.")
    space = _space(**options)
    return table_frame(space, grid or {}, axes) if table else space


def _space(
    zones: Path | None,
    levels: tuple[str, ...] | None,
    prefixes: dict[str, int] | None,
    code: str | None,
    also: str | None,
    under: str | None,
    h3: tuple[int, ...] | None,
    **place: Any,
) -> Domain | Zones:
    """Return the frame of space: zones by a file or of H3, or else a domain."""
    named = {"--levels": levels, "--prefixes": prefixes, "--code": code, "--also": also, "--under": under}
    if zones is None:
        given = [flag for flag, value in named.items() if value is not None]
        if given:
            raise click.UsageError(f"{given[0]} is for zones, but {ZONES_FLAG} was not given; give {ZONES_FLAG} FILE.")
        return domain_of(**place) if h3 is None else _hexagons(h3, **place)
    bounds = [name for name, value in {"h3": h3, **place}.items() if value is not None]
    if bounds:
        flag = f"--{bounds[0].replace('_', '-')}"
        raise click.UsageError(
            f"{ZONES_FLAG} and {flag} were given, but zones have bounds of their own; leave one of the two out."
        )
    if under is not None and also is None:
        raise click.UsageError("--under is for --also; leave it out, or give --also.")
    return _zones(zones, levels, prefixes, code, also=_areas(also), under=under)


def _hexagons(
    resolutions: tuple[int, ...],
    bounds: tuple[float, ...] | None,
    region: Path | None,
    region_cells: str | None,
    crs: str | None,
) -> Zones:
    """Return the H3 cells of a region, or of bounds."""
    from spatialdp.space.zones.h3 import H3

    if (bounds is None) == (region is None) or region_cells is not None:
        raise click.UsageError(
            f"{H3_FLAG} takes the cells whose centre lies in a public area; give either --region FILE or --bounds "
            "XMIN,YMIN,XMAX,YMAX, and leave --region-cells out."
        )
    if region is None:
        import geopandas
        import shapely

        return H3(geopandas.GeoSeries([shapely.box(*bounds or ())], crs=crs or "EPSG:4326"), resolutions)
    area = read_region(region)
    return H3(area if crs is None else area.set_crs(crs), resolutions)


def _areas(also: str | None) -> Any:
    """Return areas that cut the zones: the polygons of a file, or the name of a column of the zones."""
    if also is None or not Path(also).suffix:
        return also
    from spatialdp.space.public_files import read_geometries

    click.get_current_context().meta.setdefault(INPUTS, []).append(Path(also))
    return read_geometries(Path(also))


def _zones(
    path: Path, levels: tuple[str, ...] | None, prefixes: dict[str, int] | None, code: str | None, **cut: Any
) -> Zones:
    from spatialdp.space.zones.frame import Zones

    if (levels is None) == (prefixes is None):
        raise click.UsageError(
            "none or both of --levels and --prefixes were given, but exactly one must say how zones lie in each other; "
            "give the columns of codes, root first, such as --levels state,county, or the lengths of the parts of one "
            f"code, such as --prefixes {_PREFIXES} --code GEOID."
        )
    click.get_current_context().meta.setdefault(INPUTS, []).append(path)  # which no output may replace
    if levels is not None:
        if code is not None:
            raise click.UsageError("--code is for --prefixes; leave it out, because --levels names the columns.")
        return Zones.read(path, levels=levels, **cut)
    if code is None:
        raise click.UsageError("--prefixes was given without --code; give the column of the code with --code COLUMN.")
    return Zones.read(path, column=code, prefixes=prefixes, **cut)


def is_table(frame: Frame) -> bool:
    """Whether a frame has further axes, or is divided into cells, for a table."""
    from spatialdp.space.frames.frame import Frame as Table

    return isinstance(frame, Table)


def axes_of(frame: Any) -> dict[str, Any]:
    """Return the axes of a table beside space, by name; none for another frame."""
    return {name: frame.axes[name] for name in frame.names[1:]} if is_table(frame) else {}


def domain_in(frame: Frame) -> Domain | None:
    """Return the domain in which a frame lies; None for zones that are codes alone."""
    from spatialdp.space.domain import Domain

    return frame if isinstance(frame, Domain) else frame.domain


def check_frame(frame: Frame, mechanism: Mechanism, *, codes: bool = False) -> None:
    """Refuse a method that needs another frame, and records that are codes without zones."""
    if not mechanism.takes(frame):
        given, remedy = _described(frame)
        raise click.UsageError(
            f"--method {mechanism.name} counts in {_needed(mechanism)}, but {given} given; {remedy}, or choose another "
            "method."
        )
    if codes and not _has_zones(frame):
        raise click.UsageError(f"--code-column is for codes of zones, but a domain was given; give {ZONES_FLAG} FILE.")


def _needed(mechanism: Mechanism) -> str:
    return {"Domain": "a domain", "Zones": "zones"}.get(mechanism.frame.__name__, "a table")


def _described(frame: Frame) -> tuple[str, str]:
    """Return what was given, and what to do if something else is needed."""
    if is_table(frame):
        return "times or categories were", "leave --time and --categories out"
    if _has_zones(frame):
        return "zones were", f"leave {ZONES_FLAG} and {H3_FLAG} out"
    return "a domain was", f"give {ZONES_FLAG} FILE"


def _has_zones(frame: Frame) -> bool:
    from spatialdp.space.frames.zone_axis import ZoneAxis
    from spatialdp.space.zones.frame import Zones

    return isinstance(frame, Zones) or isinstance(getattr(frame, "space", None), ZoneAxis)


def _frame_of_method(**options: Any) -> Frame:
    """Return the frame for a command with a method, whose options may describe the grid of a table."""
    from spatialdp.cli.parameters import counts_in_tables

    meta = click.get_current_context().meta
    return _frame(meta.get(GRID), table=counts_in_tables(meta["spatialdp.method"]), **options)


def _places(grid_shape: Any = None, grid_cell_size: Any = None, **options: Any) -> Table:
    """Return the places between which trips go, as a frame of space alone."""
    return table_frame(_space(**options), {"shape": grid_shape, "cell_size": grid_cell_size}, {})


def _space_if_given(**options: Any) -> Domain | Zones | None:
    return None if all(value is None for value in options.values()) else _space(**options)


def _frame_if_given(
    grid_shape: Any = None, grid_cell_size: Any = None, grid_blocks: Any = None, **options: Any
) -> Frame | None:
    if all(value in (None, ()) for value in options.values()):
        return None
    return _frame({"shape": grid_shape, "cell_size": grid_cell_size, "blocks": grid_blocks}, **options)


_ZONES = (
    click.option(
        ZONES_FLAG,
        "zones",
        type=click.Path(path_type=Path),
        help="File of public zones (GeoParquet, GeoPackage, GeoJSON, TopoJSON, Shapefile), instead of bounds: counts "
        "are of zones, on every level. Needs --levels or --prefixes.",
    ),
    click.option(
        "--levels",
        type=Names(),
        help="Columns of the codes of zones, root first, such as state,county; the last one names each row.",
    ),
    click.option(
        "--prefixes",
        type=Prefixes(),
        help="Levels and the lengths of their codes, root first, if codes begin with those of their parents, such as "
        "length 2 for states and 5 for counties. Needs --code.",
    ),
    click.option("--code", metavar="COLUMN", help="Column of the code of each zone, for --prefixes."),
    click.option(
        "--also",
        metavar="FILE|COLUMN",
        help="Public areas that cut the zones, such as cities across counties, which get counts of their own: a file "
        "of polygons with one column of codes, or the column of the zones that names the area of each.",
    ),
    click.option(
        "--under",
        metavar="LEVEL",
        help="Level whose zones are divided by --also; by default the one above the lowest.",
    ),
    click.option(
        H3_FLAG,
        "h3",
        type=Integers(),
        help="Count in the H3 cells whose centre lies in the --region or --bounds, at these resolutions from 0 to 15, "
        "coarsest first, such as 4,8, instead of --zones (needs pip install 'spatialdp[h3]').",
    ),
)
frame_options = bundled("frame", _frame_of_method, *DOMAIN_OPTIONS, *_ZONES, *TABLE_OPTIONS)
# Places of flows: zones, or the cells of a domain.
places_options = bundled("frame", _places, *DOMAIN_OPTIONS, *_ZONES, *map(added, GRID_OPTIONS[:2]))
optional_space_options = bundled("frame", _space_if_given, *DOMAIN_OPTIONS, *_ZONES)
optional_frame_options = bundled(
    "frame", _frame_if_given, *DOMAIN_OPTIONS, *_ZONES, *TABLE_OPTIONS, *map(added, GRID_OPTIONS)
)
