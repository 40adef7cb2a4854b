"""How does a command get its mechanism? From `--method NAME` and one option for each parameter of that method.

The options depend on the method, so the method is looked for before the options are parsed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import click

from spatialdp._support.override import override
from spatialdp.cli.options.frame import GRID, ZONES_FLAGS
from spatialdp.cli.options.table import GRID_OPTIONS, TABLE_FLAGS, grid_of
from spatialdp.cli.options.values import join_numbers

if TYPE_CHECKING:
    from spatialdp.mechanisms import Mechanism

__all__ = ["MethodCommand", "PlanCommand", "ReleaseCommand"]

_FOR_ZONES, _FOR_TABLES = "zone-tree", "table"


class _Method(click.ParamType):  # type: ignore[type-arg]  # generic only in recent versions
    """A click type for the name of a method, which the shell can complete."""

    name = "name"

    @override
    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:  # noqa: ARG002 (click)
        from click.shell_completion import CompletionItem

        from spatialdp.cli.parameters import methods

        return [CompletionItem(name) for name in methods() if name.startswith(incomplete)]


class MethodCommand(click.Command):
    """A command with `--method NAME` and the parameters of that method as options; it gets the `mechanism`."""

    default_method: ClassVar[str | None] = None
    remark: ClassVar[str] = ""
    reads_points: ClassVar[bool] = True

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Find the method first, because it decides which options there are; then parse the arguments."""
        typed = list(args)  # click takes words out of the list
        ctx.meta["spatialdp.default"] = self._default(typed)
        name = _find_method_name(typed) or ctx.meta["spatialdp.default"]
        ctx.meta["spatialdp.method"] = name if not ctx.resilient_parsing or _exists(name) else None
        if self.reads_points:
            _check_points(name)
        try:
            rest = super().parse_args(ctx, join_numbers(typed, _parameter_options(ctx)))
        except click.NoSuchOption as error:
            raise _explained(error, name, ctx) from None
        values = {key: ctx.params.pop(key) for key in list(ctx.params) if key.startswith("parameter_")}
        ctx.meta[GRID] = grid_of({key: ctx.params.pop(key) for key in list(ctx.params) if key.startswith("grid_")})
        if not ctx.resilient_parsing:
            ctx.params["mechanism"] = self._mechanism(ctx.params.pop("method"), self._completed(ctx, typed, values))
        return rest

    def _default(self, args: Sequence[str]) -> str | None:  # noqa: ARG002 (subclasses)
        """The method if none is named."""
        return self.default_method

    def _completed(self, ctx: click.Context, args: Sequence[str], values: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002 (subclasses)
        """The values of the method's options, with those that follow from other options."""
        return values

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the options of the command, `--method`, and the options of the method."""
        method = click.Option(
            ["--method", "-m"],
            type=_Method(),
            default=ctx.meta.get("spatialdp.default", self.default_method),
            help=f"Method of the release; `spatialdp methods` lists them.{self.remark}"
            + (f"  [default: {self.default_method}]" if self.default_method else "  [required]"),
        )
        *own, help_option = super().get_params(ctx)
        return [*own, method, *_parameter_options(ctx), help_option]

    @override
    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        method_options = {option.name for option in _parameter_options(ctx)}
        options = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        rows = [(param.name in method_options, param.get_help_record(ctx)) for param in options]
        title = f"Options of {ctx.meta['spatialdp.method']}" if method_options else "Options of the method"
        method_rows = [row for of_method, row in rows if of_method and row is not None]
        with formatter.section("Options"):
            formatter.write_dl([row for of_method, row in rows if not of_method and row is not None])
        with formatter.section(title):
            if method_rows:
                formatter.write_dl(method_rows)
            else:
                formatter.write_text(
                    f"Each method has its own options: `{ctx.command_path} --method NAME --help` shows them."
                )

    @staticmethod
    def _mechanism(name: str | None, values: dict[str, Any]) -> Mechanism:
        from spatialdp.cli.parameters import build, find_method, methods

        if name is None:
            raise click.UsageError(
                f"no --method was given; it must be one of {', '.join(methods())}. "
                "If you are not sure, use --method quadtree --height 8."
            )
        parameters = {key.removeprefix("parameter_"): value for key, value in values.items() if value is not None}
        return build(find_method(name), parameters)


def _check_points(name: str | None) -> None:
    """Refuse a method for trips in a command that reads points."""
    from spatialdp.cli.parameters import counts_trips

    if counts_trips(name):
        raise click.UsageError(
            f"--method {name} counts trips, which have two places, but here records have one; use `spatialdp flows`, "
            "or choose another method."
        )


class ReleaseCommand(MethodCommand):
    """A command with a default method: the adaptive tree, for zones a tree of zones, for times a table."""

    default_method: ClassVar[str | None] = "adaptive"
    remark: ClassVar[str] = (
        f" With {' or '.join(ZONES_FLAGS)}, it is {_FOR_ZONES}; with {' or '.join(TABLE_FLAGS)}, it is {_FOR_TABLES}."
    )

    @override
    def _default(self, args: Sequence[str]) -> str | None:
        flags = {word.partition("=")[0] for word in args}
        if flags & set(TABLE_FLAGS):
            return _FOR_TABLES
        return _FOR_ZONES if flags & set(ZONES_FLAGS) else self.default_method

    @override
    def _completed(self, ctx: click.Context, args: Sequence[str], values: dict[str, Any]) -> dict[str, Any]:
        """Take Gaussian noise for a δ if neither a method nor a law is named, as `publish` does."""
        if ctx.params.get("delta") and _find_method_name(args) is None and values.get("parameter_law") is None:
            return {**values, "parameter_law": "gaussian"}
        return values


class PlanCommand(ReleaseCommand):
    """A command that reads no records, so that the method may count trips as well."""

    reads_points: ClassVar[bool] = False


def _find_method_name(args: Sequence[str]) -> str | None:
    """Return the word after `--method`, before click parses the options that depend on it."""
    for word, following in zip(args, [*args[1:], ""], strict=True):
        if word in ("--method", "-m"):
            return following
        if word.startswith("--method="):
            return word.partition("=")[2]
    return None


def _exists(name: str | None) -> bool:
    from spatialdp.cli.parameters import methods

    return name in methods()


def _parameter_options(ctx: click.Context) -> list[click.Option]:
    name = ctx.meta.get("spatialdp.method")
    if name is None:
        return []
    if "spatialdp.options" not in ctx.meta:
        from spatialdp.cli.parameters import counts_in_tables, counts_trips, find_method, parameters_of

        of_grid = GRID_OPTIONS[:2] if counts_trips(name) else GRID_OPTIONS if counts_in_tables(name) else []
        ctx.meta["spatialdp.options"] = [*of_grid, *(each.option() for each in parameters_of(find_method(name)))]
    options: list[click.Option] = ctx.meta["spatialdp.options"]
    return options


def _explained(error: click.NoSuchOption, name: str | None, ctx: click.Context) -> click.UsageError:
    """Return an error that names the methods with this option, if there are any; else the error itself."""
    from spatialdp.cli.parameters import methods, parameters_of

    owners = [n for n, each in methods().items() if error.option_name in {p.flag for p in parameters_of(each)}]
    if not owners:
        return error
    fact = f"{error.option_name} is a parameter of {', '.join(owners)}"
    remedy = (
        "; choose one with --method NAME" if name is None else f" and not of {name}; see `spatialdp methods {name}`"
    )
    return click.UsageError(f"{fact}{remedy}.", ctx=ctx)
