"""Which public frame does a command count in? A domain by its bounds or region, or zones by a file of them.

Zones are public, as bounds are: a file of zones must never be made from the records. Options of the two kinds of frames
exclude each other.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spatialdp._support.override import override
from spatialdp.cli.options.domain import DOMAIN_OPTIONS, domain_of
from spatialdp.cli.options.values import bundled
from spatialdp.cli.parameters import INPUTS

if TYPE_CHECKING:
    from spatialdp.mechanisms import Mechanism
    from spatialdp.space.domain import Domain
    from spatialdp.space.zones.frame import Zones

    Frame = Domain | Zones

__all__ = ["ZONES_FLAG", "Names", "Prefixes", "check_frame", "domain_in", "frame_options", "optional_frame_options"]

_PREFIXES = "state=2,county=5"  # an example
ZONES_FLAG = "--zones"  # with it, the default method is the one for zones


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


def _frame(
    zones: Path | None,
    levels: tuple[str, ...] | None,
    prefixes: dict[str, int] | None,
    code: str | None,
    also: str | None,
    under: str | None,
    **place: Any,
) -> Frame:
    named = {"--levels": levels, "--prefixes": prefixes, "--code": code, "--also": also, "--under": under}
    if zones is None:
        given = [flag for flag, value in named.items() if value is not None]
        if given:
            raise click.UsageError(f"{given[0]} is for zones, but {ZONES_FLAG} was not given; give {ZONES_FLAG} FILE.")
        return domain_of(**place)
    bounds = [name for name, value in place.items() if value is not None]
    if bounds:
        flag = f"--{bounds[0].replace('_', '-')}"
        raise click.UsageError(
            f"{ZONES_FLAG} and {flag} were given, but zones have bounds of their own; leave one of the two out."
        )
    if under is not None and also is None:
        raise click.UsageError("--under is for --also; leave it out, or give --also.")
    return _zones(zones, levels, prefixes, code, also=_areas(also), under=under)


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


def domain_in(frame: Frame) -> Domain | None:
    """Return the domain in which a frame lies; None for zones that are codes alone."""
    from spatialdp.space.zones.frame import Zones

    return frame.domain if isinstance(frame, Zones) else frame


def check_frame(frame: Frame, mechanism: Mechanism, *, codes: bool = False) -> None:
    """Refuse a method that needs another frame, and records that are codes without zones."""
    from spatialdp.space.zones.frame import Zones

    of_zones = isinstance(frame, Zones)
    if not isinstance(frame, mechanism.frame):
        needed, given = ("a domain", "zones were") if of_zones else ("zones", "a domain was")
        remedy = f"leave {ZONES_FLAG} out" if of_zones else f"give {ZONES_FLAG} FILE"
        raise click.UsageError(
            f"--method {mechanism.name} counts in {needed}, but {given} given; {remedy}, or choose another method."
        )
    if codes and not of_zones:
        raise click.UsageError(f"--code-column is for codes of zones, but a domain was given; give {ZONES_FLAG} FILE.")


def _frame_if_given(**options: Any) -> Frame | None:
    return None if all(value is None for value in options.values()) else _frame(**options)


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
        help="Level whose zones are parted by --also; by default the one above the lowest.",
    ),
)
frame_options = bundled("frame", _frame, *DOMAIN_OPTIONS, *_ZONES)
optional_frame_options = bundled("frame", _frame_if_given, *DOMAIN_OPTIONS, *_ZONES)
