"""Values that options take, and options whose values reach a command as one."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from fractions import Fraction


__all__ = ["Exact", "Numbers"]

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


def bundled(name: str, make: Callable[..., Any], *options: Decorator) -> Decorator:
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
