"""`--method NAME`, and the parameters of that method as options."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from spatialdp.mechanisms import Mechanism

__all__ = ["MethodCommand"]


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
