"""What is asked of a table along each axis? Options that are called like the axes, such as `--kind theft`.

The names of the axes are in the release and not known before it is read, so any option that a command does not have is
taken for an axis, and refused afterwards, in click's words, if the release has none of that name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from spatialdp._support.override import override
from spatialdp.cli.options.table import Moments
from spatialdp.cli.options.values import is_number

if TYPE_CHECKING:
    from spatialdp.space.frames.frame import Frame

__all__ = ["AxisCommand", "Levels", "axis_queries"]

_AXIS = re.compile(r"--([a-z][a-z_-]*)(?:=(.*))?", re.DOTALL)
_EXAMPLE = "kind,time=day"
Asked = tuple[tuple[str, str], ...]


class Levels(click.ParamType):  # type: ignore[type-arg]  # generic only in recent versions
    """A click type for axes, each perhaps with one of its levels: AXIS or AXIS=LEVEL, with commas between them."""

    name = "AXIS[=LEVEL],..."

    @override
    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:  # noqa: ARG002 (click gives them)
        return self.name

    @override
    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[tuple[str, str | None], ...]:
        if isinstance(value, tuple):
            return value
        pairs = [part.partition("=") for part in str(value).split(",")]
        found = tuple((name.strip(), level.strip() if equals else None) for name, equals, level in pairs)
        if not all(name and level != "" for name, level in found):
            self.fail(f"{value!r} was given; axes of the table are required, such as {_EXAMPLE}.", param, ctx)
        return found


class AxisCommand(click.Command):
    """A command with options that are called like the axes of a table; it gets them as `asked`, with their texts."""

    @override
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        known = {flag for param in self.get_params(ctx) for flag in (*param.opts, *param.secondary_opts)}
        rest, asked = _divided(args, known)
        left = super().parse_args(ctx, rest)
        ctx.params["asked"] = asked
        return left


def _divided(args: Sequence[str], known: set[str]) -> tuple[list[str], Asked]:
    """Return the words of options that a command has, and the others with their values."""
    rest: list[str] = []
    asked: list[tuple[str, str]] = []
    words = list(args)
    while words:
        word = words.pop(0)
        match = _AXIS.fullmatch(word)
        if word == "--":
            return [*rest, word, *words], tuple(asked)
        if match is None or f"--{match[1]}" in known or (match[2] is None and not words):
            rest.append(word)
            continue
        value = words.pop(0) if match[2] is None else match[2]
        while _goes_on(value, words):
            value = f"{value},{words.pop(0)}"
        asked.append((match[1], value))
    return rest, tuple(asked)


def _goes_on(value: str, words: Sequence[str]) -> bool:
    """Whether the next word belongs to the value too: the second of two times, or another number."""
    return bool(words) and (
        (Moments.accepts(value) and Moments.accepts(words[0]))
        or (is_number(value.split(",")[0]) and is_number(words[0]))
    )


def axis_queries(frame: Frame | None, asked: Asked, *, together: bool) -> dict[str, list[Any]]:
    """Return what is asked along each axis of a table, as `TableRelease.answer` takes it.

    Parameters
    ----------
    frame : Frame or None
        None for a release that is no table, which has no such axes.
    asked : tuple of pairs
        Names of options without their hyphens, and their texts.
    together : bool
        Whether several categories in one text are taken together; else each is answered by itself.
    """
    from spatialdp.space.frames.time import Time

    queries: dict[str, list[Any]] = {}
    for flag, text in asked:
        name = flag.replace("-", "_")
        if frame is None or name not in frame.names[1:]:
            raise _no_axis(flag, [] if frame is None else list(frame.names[1:]))
        axis: Any = frame.axes[name]
        if isinstance(axis, Time):
            moments = Moments(both=False).convert(text, None, None)
            found: list[Any] = [moments if len(moments) == 2 else moments[0]]
        else:
            names = [text] if text in axis.nodes else [part.strip() for part in text.split(",")]
            found = [tuple(names)] if together and len(names) > 1 else list(names)
        queries.setdefault(name, []).extend(found)
    return queries


def _no_axis(flag: str, axes: list[str]) -> click.UsageError:
    """Return the error for an axis that a release does not have, in click's words if no option is called so."""
    context = click.get_current_context()
    known = [each for param in context.command.get_params(context) for each in param.opts]
    if f"--{flag}" not in known:
        return click.NoSuchOption(f"--{flag}", possibilities=[*known, *(f"--{each}" for each in axes)], ctx=context)
    held = f"its axes beside space are {', '.join(axes)}" if axes else "it has no axes beside space"
    return click.UsageError(f"--{flag} was given, but is no axis of this release; {held}. Leave it out.")
