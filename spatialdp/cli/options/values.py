"""How are the values of options read? As several numbers, as exact numbers, and in groups.

`bundled` joins several options into one value, so that a command gets, for instance, one domain instead of three texts.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

from spatialdp._support.override import override

if TYPE_CHECKING:
    from fractions import Fraction


__all__ = ["Exact", "Integers", "Level", "Numbers", "added", "bundled", "is_number", "join_numbers"]

Command = Callable[..., Any]
Decorator = Callable[[Command], Command]


class Numbers(click.ParamType):  # type: ignore[type-arg]  # generic only in recent versions
    """A click type for a fixed number of numbers: as one word with commas, or as separate words (`join_numbers`)."""

    def __init__(self, *names: str) -> None:
        self.name = ",".join(names)
        self.count = len(names)

    @override
    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:  # noqa: ARG002 (click gives them)
        return self.name

    @override
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[float, ...]:
        if isinstance(value, tuple):
            return value
        try:
            numbers = tuple(float(part) for part in (value.split(",") if "," in value else value.split()))
        except ValueError:
            numbers = ()
        if len(numbers) != self.count:
            self.fail(
                f"{value!r} was given; {self.count} numbers {self.name} are required. "
                "Write them with either commas or spaces between them.",
                param,
                ctx,
            )
        return numbers


def join_numbers(args: Sequence[str], params: Iterable[click.Parameter]) -> list[str]:
    """Join the separate numbers after an option into one word with commas, before click parses the words.

    Only options whose type has a `count` take several numbers, and they take at most that many; a type may have other
    words than numbers, which it `accepts`. A number may be negative, although click would take a word that begins with
    a hyphen for an option.

    Examples
    --------
    >>> bounds = click.Option(["--bounds"], type=Numbers("XMIN", "YMIN", "XMAX", "YMAX"))
    >>> join_numbers(["--bounds", "-79.7", "43.5", "-79.1", "43.9", "-o", "map.png"], [bounds])
    ['--bounds', '-79.7,43.5,-79.1,43.9', '-o', 'map.png']
    """
    types = {flag: param.type for param in params for flag in param.opts}
    words: list[str] = []
    rest = list(args)
    while rest and rest[0] != "--":
        words.append(rest.pop(0))
        numbers: list[str] = []
        kind = types.get(words[-1])
        count, accepts = getattr(kind, "count", 1 if kind else 0), getattr(kind, "accepts", is_number)
        while rest and len(numbers) < count and accepts(rest[0]):
            numbers.append(rest.pop(0))
        words += [",".join(numbers)] if numbers else []
    return words + rest


def is_number(word: str) -> bool:
    """Whether a word is a number, negative ones too."""
    try:
        float(word)
    except ValueError:
        return False
    return True


class Integers(click.ParamType):  # type: ignore[type-arg]  # generic only in recent versions
    """A click type for whole numbers with commas between them."""

    name = "INTEGER,INTEGER..."

    @override
    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:  # noqa: ARG002 (click gives them)
        return self.name

    @override
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        if isinstance(value, tuple):
            return value
        parts = [part.strip() for part in str(value).split(",")]
        if not all(part.isdecimal() for part in parts):
            self.fail(f"{value!r} was given; whole numbers with commas between them are required.", param, ctx)
        return tuple(map(int, parts))


class Level(click.ParamType):  # type: ignore[type-arg]  # generic only in recent versions
    """A click type for a level: the number of a depth, or the name of a level of zones."""

    name = "LEVEL"

    @override
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | str:  # noqa: ARG002 (click)
        return int(value) if str(value).removeprefix("-").isdecimal() else value


class Exact(click.ParamType):  # type: ignore[type-arg]  # generic only in recent versions
    """A click type for a number that is read exactly as it is typed: 0.1, 1e-6 or 1/3."""

    name = "number"

    @override
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Fraction:
        from spatialdp.cli.parameters import read_number
        from spatialdp.cli.wording import in_options
        from spatialdp.errors import BudgetError

        try:
            return read_number(str(value))
        except BudgetError as error:  # a number, but not finite or far too large or small
            self.fail(in_options(error, []), param, ctx)
        except ValueError:
            self.fail(f"{value!r} was given; a number is required, such as 0.5 or 1/2.", param, ctx)


def added(option: click.Option) -> Decorator:
    """Return a decorator that adds an existing option to a command."""

    def decorate(command: Command) -> Command:
        params = getattr(command, "__click_params__", None)
        if params is None:
            params = command.__click_params__ = []  # type: ignore[attr-defined]  # where click's decorators keep them
        params.append(option)
        return command

    return decorate


def bundled(name: str, make: Callable[..., Any], *options: Decorator) -> Decorator:
    """Join options into one value: the command gets `name`, which `make` builds from the values of the options."""

    def decorate(command: Command) -> Command:
        bare: Any = lambda: None  # noqa: E731 - serves only to learn the names of the options
        for option in options:
            option(bare)
        names = [option.name for option in bare.__click_params__]

        @functools.wraps(command)
        def wrapped(**values: Any) -> Any:
            value = make(**{each: values.pop(each) for each in names})
            return command(**{name: value}, **values)

        for option in reversed(options):
            option(wrapped)
        return wrapped

    return decorate
