"""Options that commands share. Each group reaches its command as one value that has been checked.

What is public is checked here, before a command runs and so before a file of points is opened: no domain, a budget
that is no number or an output that exists already are refused while nothing has been read or spent.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from fractions import Fraction

    from spatialdp.mechanisms import Mechanism
    from spatialdp.records.points import Points
    from spatialdp.space.domain import Domain

__all__ = [
    "Exact",
    "MethodCommand",
    "Numbers",
    "PointsFile",
    "Target",
    "Terms",
    "check_output",
    "domain_options",
    "folder_options",
    "optional_domain_options",
    "output_options",
    "points_options",
    "quiet_option",
    "terms_options",
]

Command = Callable[..., Any]
Decorator = Callable[[Command], Command]


class Numbers(click.ParamType):  # type: ignore[type-arg]  # generic only in recent versions
    """Numbers with commas between them."""

    def __init__(self, *names: str) -> None:
        self.name = ",".join(names)
        self._count = len(names)

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:  # noqa: ARG002 (click gives them)
        """What the help shows for the value."""
        return self.name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[float, ...]:
        """Read the numbers."""
        if isinstance(value, tuple):
            return value
        try:
            numbers = tuple(float(part) for part in value.split(","))
        except ValueError:
            numbers = ()
        if len(numbers) != self._count:
            self.fail(
                f"{value!r} was given; {self._count} numbers {self.name} are required. "
                "Write them with commas and without spaces.",
                param,
                ctx,
            )
        return numbers


class Exact(click.ParamType):  # type: ignore[type-arg]  # generic only in recent versions
    """A number as typed, exactly: 0.1, 1e-6 or 1/3."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Fraction:
        """Read the number."""
        from spatialdp.cli.parameters import read_number
        from spatialdp.errors import BudgetError

        try:
            return read_number(str(value))
        except BudgetError as error:  # a number, but what a number
            self.fail(str(error), param, ctx)
        except ValueError:
            self.fail(f"{value!r} was given; a number is required, such as 0.5 or 1/2.", param, ctx)


def _bundled(name: str, make: Callable[..., Any], *options: Decorator) -> Decorator:
    """Options whose values reach the command as one: `make` of them all."""

    def decorate(command: Command) -> Command:
        bare: Any = lambda: None  # noqa: E731 - only there to learn what the options are called
        for option in options:
            option(bare)
        names = [option.name for option in bare.__click_params__]

        @functools.wraps(command)
        def wrapped(**given: Any) -> Any:
            value = make(**{each: given.pop(each) for each in names})
            return command(**{name: value}, **given)

        for option in reversed(options):
            option(wrapped)
        return wrapped

    return decorate


# --- domain ----------------------------------------------------------------------------------------


def _domain(bounds: tuple[float, ...] | None, region: Path | None, crs: str | None) -> Domain:
    from spatialdp.space.domain import Domain

    if bounds is None and region is None:
        raise click.UsageError(
            "no domain was given; a public area is required and is never taken from the points. "
            "Give --bounds XMIN,YMIN,XMAX,YMAX or --region FILE."
        )
    if region is None:
        return Domain(bounds or (), crs=crs)
    area = _region(region)
    return Domain.around(area, crs=crs) if bounds is None else Domain(bounds, crs=crs or area.crs, region=area)


def _region(path: Path) -> Any:
    """The polygons of a public file."""
    from spatialdp.space.public_files import read_geometries

    area = read_geometries(path).geometry
    if area.empty or not area.geom_type.isin(["Polygon", "MultiPolygon"]).all():
        raise click.UsageError(f"{path} does not hold polygons alone; the region must be one or more polygons.")
    return area


def _domain_if_given(bounds: tuple[float, ...] | None, region: Path | None, crs: str | None) -> Domain | None:
    return None if bounds is None and region is None and crs is None else _domain(bounds, region, crs)


_DOMAIN = (
    click.option(
        "--bounds",
        type=Numbers("XMIN", "YMIN", "XMAX", "YMAX"),
        help="Public bounds; records outside count nowhere. Across the antimeridian, use longitudes from 0 to 360.",
    ),
    click.option(
        "--region",
        type=click.Path(path_type=Path),
        help="File of public polygons (GeoPackage, GeoJSON, Shapefile, GeoParquet); its bounding box if no --bounds.",
    ),
    click.option("--crs", metavar="CRS", help="CRS of the bounds, such as EPSG:4326; the region's by default."),
)
domain_options = _bundled("domain", _domain, *_DOMAIN)
optional_domain_options = _bundled("domain", _domain_if_given, *_DOMAIN)


# --- points ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PointsFile:
    """Where the records are; nothing is opened until `read`."""

    path: Path
    options: dict[str, Any]

    def assumption(self, domain: Domain) -> str:
        """What is taken for granted of columns whose CRS nobody stated; the user may know better."""
        if self.options["x"] is None or self.options["crs"] is not None or domain.crs is None:
            return ""
        return f" ({self.options['x']} and {self.options['y']} are taken to be in the domain's CRS, {domain.crs})"

    def read(self, domain: Domain) -> Points:
        """Read the records, for a domain."""
        from spatialdp.records.files import read_points

        return read_points(self.path, domain, **self.options)


def _points_file(points: Path, x: str | None, y: str | None, layer: str | None, points_crs: str | None) -> PointsFile:
    if (x is None) != (y is None):
        raise click.UsageError("only one of --x and --y was given; name both columns, or neither to use the geometry.")
    return PointsFile(points, {"x": x, "y": y, "layer": layer, "crs": points_crs})


points_options = _bundled(
    "points",
    _points_file,
    click.argument("points", type=click.Path(path_type=Path)),
    click.option("--x", metavar="COLUMN", help="Column of the x coordinate or longitude; else the geometry is used."),
    click.option("--y", metavar="COLUMN", help="Column of the y coordinate or latitude."),
    click.option("--layer", metavar="NAME", help="Layer of a GeoPackage with several."),
    click.option("--points-crs", metavar="CRS", help="CRS of the points, if their file does not state it."),
)


# --- privacy ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Terms:
    """ε, δ and neighbours, as mechanisms take them."""

    epsilon: Fraction
    delta: Fraction
    neighbours: str

    def __post_init__(self) -> None:
        from spatialdp.privacy.budget import Budget

        Budget(self.epsilon, self.delta)  # says what is wrong with them

    @property
    def options(self) -> dict[str, Any]:
        """Keyword arguments of `release` and `plan`."""
        return {"epsilon": self.epsilon, "delta": self.delta, "neighbours": self.neighbours}


terms_options = _bundled(
    "terms",
    Terms,
    click.option("--epsilon", type=Exact(), required=True, help="Privacy budget: 0.01 is strong privacy, 10 is weak."),
    click.option("--delta", type=Exact(), default="0", help="For Gaussian noise, such as 1e-9.  [default: 0]"),
    click.option(
        "--neighbours",
        type=click.Choice(["add-remove", "replace"]),
        default="add-remove",
        show_default=True,
        help="Whether data sets that are compared differ by a record more or less, or by a record's value.",
    ),
)


# --- output ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Target:
    """Where to write: files that may be written, or none for standard output."""

    files: tuple[Path, ...]
    force: bool

    @property
    def path(self) -> Path | None:
        """The file, or None for standard output."""
        return self.files[0] if self.files else None

    @property
    def file(self) -> Path:
        """The file of a command that does not write to standard output."""
        return self.files[0]

    def spare(self, *inputs: Path | None) -> None:
        """Refuse to write over what is read: not even --force means that."""
        from spatialdp.outputs.files.geoparquet import statement_beside

        for path in self.files:
            for each in inputs:
                if each is not None and any(_same(each, written) for written in (path, statement_beside(path))):
                    raise click.UsageError(f"output {path} would replace the input {each}; choose another name.")


def output_options(suffixes: Sequence[str], what: str, *, stdout: bool = False, several: bool = False) -> Decorator:
    """`-o FILE` with one of these endings and `--force`; `-o -`, the default, is standard output where allowed."""

    def check(output: tuple[str, ...] | str | None, force: bool) -> Target:
        if stdout and output in (None, "-"):
            return Target((), force)
        names = output if isinstance(output, tuple) else (output or "",)
        target = Target(tuple(check_output(Path(name), suffixes, force=force) for name in names), force)
        if len({path.resolve() for path in target.files}) < len(target.files):
            raise click.UsageError(f"an output was given twice: {', '.join(names)}; name each file once.")
        return target

    default = " Standard output by default, or by `-`." if stdout else " May be repeated." if several else ""
    return _bundled(
        "target",
        check,
        click.option(
            "-o",
            "--output",
            required=not stdout,
            multiple=several,
            metavar="FILE",
            help=f"{what}: {', '.join(suffixes)}.{default}",
        ),
        click.option("--force", is_flag=True, help="Replace the file if it exists."),
    )


def check_output(path: Path, suffixes: Sequence[str], *, force: bool) -> Path:
    """Refuse a file that could not be written, or that exists, in the words of the command line."""
    import os

    if path.suffix.lower() not in suffixes:
        raise click.UsageError(f"output {str(path)!r} was given; its name must end in one of {', '.join(suffixes)}.")
    if path.is_dir():
        raise click.UsageError(f"output {path} is a folder; give the name of a file.")
    if os.path.lexists(path) and not force:  # also a link to nowhere
        raise click.UsageError(f"output {path} exists; choose another name, or replace it with --force.")
    if not path.parent.is_dir():
        raise click.UsageError(f"there is no folder {path.parent} for the output; make it first.")
    if not os.access(path.parent, os.W_OK):
        raise click.UsageError(f"the folder {path.parent} can not be written to; choose another for the output.")
    return path


def folder_options(*names: str) -> Decorator:
    """`-o FOLDER` for files of these names, none of which is replaced without `--force`."""

    def check(output: Path, force: bool) -> Path:
        for name in names:
            if (output / name).exists() and not force:
                raise click.UsageError(
                    f"output {output / name} exists; choose another folder, or replace it with --force."
                )
        return output

    return _bundled(
        "folder",
        check,
        click.option(
            "-o",
            "--output",
            type=click.Path(file_okay=False, path_type=Path),
            default=Path("out"),
            show_default=True,
            help=f"Folder for {', '.join(names)}; made if it does not exist.",
        ),
        click.option("--force", is_flag=True, help="Replace these files if they exist."),
    )


def _same(one: Path, other: Path) -> bool:
    """One file, maybe by two names."""
    return one.exists() and other.exists() and one.samefile(other)


quiet_option = click.option("--quiet", "-q", is_flag=True, help="Only errors on standard error.")


# --- methods ---------------------------------------------------------------------------------------


class _Method(click.ParamType):  # type: ignore[type-arg]  # generic only in recent versions
    """The name of a method, completed by the shell."""

    name = "name"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:  # noqa: ARG002 (click)
        from click.shell_completion import CompletionItem

        from spatialdp.mechanisms import MECHANISMS

        return [CompletionItem(name) for name in MECHANISMS if name.startswith(incomplete)]


class MethodCommand(click.Command):
    """A command with `--method NAME` and that method's own parameters as options; receives the built `mechanism`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Look for the method first, because it decides which options there are."""
        name = _given_method(args)
        ctx.meta["spatialdp.method"] = name if not ctx.resilient_parsing or _exists(name) else None
        try:
            rest = super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            raise _explained(error, name, ctx) from None
        given = {key: ctx.params.pop(key) for key in list(ctx.params) if key.startswith("parameter_")}
        if not ctx.resilient_parsing:
            ctx.params["mechanism"] = self._mechanism(ctx.params.pop("method"), given)
        return rest

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """The command's own, and the method's."""
        method = click.Option(
            ["--method", "-m"], type=_Method(), help="How to publish; see `spatialdp methods`.  [required]"
        )
        *own, help_option = super().get_params(ctx)
        return [*own, method, *_parameter_options(ctx), help_option]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the method's options below the others."""
        mine = {option.name for option in _parameter_options(ctx)}
        options = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        records = [(param.name in mine, param.get_help_record(ctx)) for param in options]
        title = f"Options of {ctx.meta['spatialdp.method']}" if mine else "Options of the method"
        theirs = [record for of_method, record in records if of_method and record is not None]
        with formatter.section("Options"):
            formatter.write_dl([record for of_method, record in records if not of_method and record is not None])
        with formatter.section(title):
            if theirs:
                formatter.write_dl(theirs)
            else:
                formatter.write_text(f"Each method has its own: `{ctx.command_path} --method NAME --help` shows them.")

    @staticmethod
    def _mechanism(name: str | None, given: dict[str, Any]) -> Mechanism:
        from spatialdp.cli.parameters import build, find_method
        from spatialdp.mechanisms import MECHANISMS

        if name is None:
            raise click.UsageError(
                f"no --method was given; it must be one of {', '.join(MECHANISMS)}. "
                "If in doubt: --method quadtree --height 8."
            )
        chosen = {key.removeprefix("parameter_"): value for key, value in given.items() if value is not None}
        return build(find_method(name), chosen)


def _given_method(args: Sequence[str]) -> str | None:
    """What follows `--method`, before the options are known that depend on it."""
    for word, following in zip(args, [*args[1:], ""], strict=True):
        if word in ("--method", "-m"):
            return following
        if word.startswith("--method="):
            return word.partition("=")[2]
    return None


def _exists(name: str | None) -> bool:
    from spatialdp.mechanisms import MECHANISMS

    return name in MECHANISMS


def _parameter_options(ctx: click.Context) -> list[click.Option]:
    name = ctx.meta.get("spatialdp.method")
    if name is None:
        return []
    if "spatialdp.options" not in ctx.meta:
        from spatialdp.cli.parameters import find_method, parameters_of

        ctx.meta["spatialdp.options"] = [parameter.option() for parameter in parameters_of(find_method(name))]
    options: list[click.Option] = ctx.meta["spatialdp.options"]
    return options


def _explained(error: click.NoSuchOption, name: str | None, ctx: click.Context) -> click.UsageError:
    """Whose parameter it is, if it is another method's, or that no method was given."""
    from spatialdp.cli.parameters import parameters_of
    from spatialdp.mechanisms import MECHANISMS

    owners = [n for n, each in MECHANISMS.items() if error.option_name in {p.flag for p in parameters_of(each)}]
    if not owners:
        return error
    whose = f"{error.option_name} is a parameter of {', '.join(owners)}"
    remedy = "say which with --method NAME" if name is None else f"and not of {name}; see `spatialdp methods {name}`"
    return click.UsageError(f"{whose}; {remedy}." if name is None else f"{whose} {remedy}.", ctx=ctx)
