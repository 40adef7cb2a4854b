"""A method's parameters as command-line options: names, types and help from its dataclass and docstring.

There is no second list: a mechanism that enters the registry has its options, with their help, at once.
"""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from enum import StrEnum
from fractions import Fraction
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Union, get_args, get_origin, get_type_hints

import click

if TYPE_CHECKING:
    from spatialdp.mechanisms import Mechanism

__all__ = ["Parameter", "build", "find_method", "parameters_of", "read_number", "read_value", "summary"]

# Between the items of a list, of a list of lists, and so on.
_SEPARATORS = ",;/"


@dataclass(frozen=True)
class Parameter:
    """One public parameter of a method.

    Attributes
    ----------
    name : str
        As in Python; on the command line with hyphens.
    hint : type
    default : object
        None if it may be left out without one.
    required : bool
    kind : str
        Type as the docstring words it.
    text : str
        What the docstring says of it.
    """

    name: str
    hint: Any
    default: Any
    required: bool
    kind: str
    text: str

    @property
    def flag(self) -> str:
        """The option: ``--cell-size``."""
        return f"--{self.name.replace('_', '-')}"

    @property
    def choices(self) -> list[str]:
        """The names it takes, if they are all it takes."""
        from spatialdp._support.options import Choice

        if get_origin(self.hint) is not Choice:
            return []
        (options,) = get_args(self.hint)
        assert issubclass(options, StrEnum)
        return [str(option) for option in options]

    def option(self) -> click.Option:
        """The click option."""
        name, text = f"parameter_{self.name}", f"{self.text}{'  [required]' if self.required else ''}"
        if self.metavar == "VALUE" and not self.choices:
            text = f"{self.kind.removesuffix(', optional')}. {text}"
        default = str(self.default) if self.default is not None and not isinstance(self.default, bool) else None
        if self.hint is bool:
            flags = f"{self.flag}/--no-{self.flag[2:]}"
            return click.Option(
                [name, flags], default=None, help=f"{text}  [default: {'on' if self.default else 'off'}]"
            )
        if default is not None:
            text = f"{text}  [default: {default}]"
        kind = click.Choice(self.choices, case_sensitive=False) if self.choices else _Value(self.hint)
        return click.Option([name, self.flag], type=kind, metavar=None if self.choices else self.metavar, help=text)

    @property
    def metavar(self) -> str:
        """NX,NY or INTEGER or NAME..., after the docstring's type."""
        if named := re.match(r"\(([\w, ]+)\)", self.kind):
            return named[1].replace(" ", "").upper()
        return {"int": "INTEGER", "float": "NUMBER", "number": "NUMBER", "bool": ""}.get(
            self.kind.split(",")[0], "VALUE"
        )


class _Value(click.ParamType):  # type: ignore[type-arg]  # generic only in recent versions
    """Text that becomes what a type hint asks for."""

    name = "value"

    def __init__(self, hint: Any) -> None:
        self._hint = hint

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return read_value(value, self._hint)
        except ValueError:
            wanted = getattr(param, "metavar", None) or "value"
            self.fail(f"{value!r} was given; {wanted} is required, such as {_example(self._hint)}.", param, ctx)


def read_value(text: str, hint: Any) -> Any:
    """Read a value as a type hint asks for.

    Examples
    --------
    >>> from collections.abc import Sequence
    >>> read_value("64,32", Sequence[int] | None), read_value("uniform", str | Sequence[int])
    ((64, 32), 'uniform')
    """
    if hint is Any:
        separator = next((each for each in reversed(_SEPARATORS) if each in text), None)
        return (
            read_value(text, int | float | str)
            if separator is None
            else tuple(read_value(part.strip(), Any) for part in text.split(separator))
        )
    members = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    if Fraction in members:
        return read_number(text)
    readers = [*(kind for kind in (int, float) if kind in members), *(m for m in members if get_args(m))]
    for member in readers:
        try:
            return member(text) if member in (int, float) else _read_items(text, member)
        except ValueError:
            continue
    if str not in members:
        raise ValueError
    return text


def _read_items(text: str, hint: Any) -> tuple[Any, ...]:
    items = get_args(hint)
    parts = [part.strip() for part in text.split(_SEPARATORS[_depth(hint) - 1])]
    if get_origin(hint) is not tuple or Ellipsis in items:  # any number of one kind
        items = items[:1] * len(parts)
    return tuple(read_value(part, item) for part, item in zip(parts, items, strict=True))


def _depth(hint: Any) -> int:
    """How deeply lists are nested in it."""
    if hint is Any:
        return 1
    inner = max((_depth(part) for part in get_args(hint)), default=0)
    return inner if get_origin(hint) in (None, Union, UnionType) else inner + 1


def _example(hint: Any) -> str:
    members = {NoneType, *get_args(hint), hint}
    if members & {int, float, Fraction}:
        return "8" if int in members and Fraction not in members else "0.5"
    return "64,64"


def read_number(text: str) -> Fraction:
    """A number as typed: 0.1, 1e-6 or 1/3, exactly.

    Examples
    --------
    >>> read_number("0.1"), read_number("1/3")
    (Fraction(1, 10), Fraction(1, 3))
    """
    from decimal import Decimal

    from spatialdp.privacy.budget import exact

    numerator, slash, denominator = text.partition("/")
    try:
        parts = [exact(Decimal(part), "number") for part in ([numerator, denominator] if slash else [numerator])]
        return parts[0] / parts[1] if slash else parts[0]
    except ArithmeticError:  # of decimals, and of division by zero
        raise ValueError from None


# --- methods ---------------------------------------------------------------------------------------


def find_method(name: str) -> type[Mechanism]:
    """The method of a name, or an error that says which there are and which may have been meant."""
    from spatialdp.mechanisms import MECHANISMS

    if name.lower() in MECHANISMS:
        return MECHANISMS[name.lower()]
    close = difflib.get_close_matches(name.lower(), MECHANISMS, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else " See `spatialdp methods`."
    raise click.BadParameter(
        f"{name!r} was given; it must be one of {', '.join(MECHANISMS)}.{hint}", param_hint="--method"
    )


def build(method: type[Mechanism], given: Mapping[str, Any]) -> Mechanism:
    """The method with the given parameters; those left out keep their defaults."""
    known = {parameter.name: parameter for parameter in parameters_of(method)}
    for name in given:
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            hint = f" Did you mean {close[0]!r}?" if close else f" See `spatialdp methods {method.name}`."
            raise click.UsageError(f"{method.name} has no parameter {name!r}; it has {', '.join(known)}.{hint}")
    missing = [parameter for parameter in known.values() if parameter.required and parameter.name not in given]
    if missing:
        raise click.UsageError(f"{method.name} needs {missing[0].flag} {missing[0].metavar}: {missing[0].text}")
    return method(**given)


def summary(method: type[Mechanism]) -> str:
    """First line of the docstring."""
    return (inspect.getdoc(method) or "").partition("\n")[0]


def parameters_of(method: type[Mechanism]) -> list[Parameter]:
    """Parameters in the order of the docstring's signature."""
    hints, described = get_type_hints(method), _described(method)
    found = []
    for field in fields(method):  # type: ignore[arg-type]  # every mechanism is a dataclass
        kind, text = described.get(field.name, ("", ""))
        default = None if field.default is MISSING else field.default
        found.append(Parameter(field.name, hints[field.name], default, field.default is MISSING, kind, text))
    return found


def _described(method: type[Mechanism]) -> dict[str, tuple[str, str]]:
    """Type and text of each parameter in a numpydoc docstring, with "As for `Other`" looked up there."""
    section = re.search(
        r"^Parameters\n-+\n(.*?)(?=\n\S[^\n]*\n-+\n|\Z)", inspect.getdoc(method) or "", re.DOTALL | re.M
    )
    found = {}
    for entry in re.split(r"\n(?=\S)", section[1].strip()) if section else ():
        head, _, text = entry.partition("\n")
        names, _, kind = head.partition(" : ")
        for name in names.split(", "):
            found[name] = _looked_up(name, kind, " ".join(text.split()))
    return found


def _looked_up(name: str, kind: str, text: str) -> tuple[str, str]:
    import spatialdp.mechanisms

    reference = re.match(r"As for `(\w+)`[.;]?\s*", text)
    if reference:
        there, words = _described(getattr(spatialdp.mechanisms, reference[1])).get(name, ("", ""))
        kind, text = kind or there, f"{words} {text[reference.end() :]}".strip()
    return kind, text.replace("``", "").replace("`", "")
