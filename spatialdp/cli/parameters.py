"""How do the parameters of a method become options? Names, types and help come from its dataclass and docstring.

There must be no second list of parameters: a mechanism in the registry has its options and their help at once. A change
of the docstrings' numpydoc format must be followed here.
"""

from __future__ import annotations

import difflib
import inspect
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from fractions import Fraction
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Union, get_args, get_origin, get_type_hints

import click

from spatialdp._support.override import override
from spatialdp.cli.wording import describe_kind, describe_parameter
from spatialdp.errors import SpatialDPError
from spatialdp.wording import as_typed

if TYPE_CHECKING:
    from spatialdp.mechanisms import Mechanism

__all__ = [
    "INPUTS",
    "Parameter",
    "build",
    "counts_in_tables",
    "counts_trips",
    "find_method",
    "methods",
    "options_of",
    "parameters_of",
    "read_number",
    "read_value",
    "summary",
]

# Where a context keeps the files that options name as inputs, which no output may replace.
INPUTS = "spatialdp.inputs"

# The separators of the items of a list, of a list of lists, and of a list of those.
_SEPARATORS = ",;/"


@dataclass(frozen=True)
class Parameter:
    """One public parameter of a method.

    Attributes
    ----------
    name : str
        Name in Python; the option has hyphens in place of underscores.
    hint : type
        Type hint of the dataclass field.
    default : object
        Default value; None if there is none.
    required : bool
    kind : str
        Type, in the words of the docstring.
    text : str
        Description, from the docstring.
    """

    name: str
    hint: Any
    default: Any
    required: bool
    kind: str
    text: str

    @property
    def flag(self) -> str:
        """Name of the option, such as ``--cell-size``."""
        return f"--{self.name.replace('_', '-')}"

    @property
    def choices(self) -> list[str]:
        """The allowed names, if the parameter allows nothing else."""
        from spatialdp._support.options import Choice

        if get_origin(self.hint) is not Choice:
            return []
        (options,) = get_args(self.hint)
        assert issubclass(options, StrEnum)
        return [str(option) for option in options]

    def option(self) -> click.Option:
        """Return the parameter as a click option."""
        name, text = f"parameter_{self.name}", f"{self.text}{'  [required]' if self.required else ''}"
        if self.metavar == "VALUE" and not self.choices:
            text = f"{describe_kind(self.kind)}. {text}"
        default = as_typed(self.default) if self.default is not None and not isinstance(self.default, bool) else None
        if self.hint is bool:
            flags = f"{self.flag}/--no-{self.flag[2:]}"
            return click.Option(
                [name, flags], default=None, help=f"{text}  [default: {'on' if self.default else 'off'}]"
            )
        if default is not None:
            text = f"{text}  [default: {default}]"
        kind = click.Choice(self.choices, case_sensitive=False) if self.choices else _Value(self.hint, self.metavar)
        return click.Option([name, self.flag], type=kind, metavar=None if self.choices else self.metavar, help=text)

    @property
    def metavar(self) -> str:
        """The word for the value in the help, such as NX,NY or INTEGER, from the type in the docstring."""
        if named := re.fullmatch(r"\(([\w, ]+)\)(?:, optional)?", self.kind):
            return named[1].replace(" ", "").upper()
        return {"int": "INTEGER", "float": "NUMBER", "number": "NUMBER", "bool": ""}.get(
            self.kind.split(",")[0], "VALUE"
        )


class _Value(click.ParamType):  # type: ignore[type-arg]  # generic only in recent versions
    """A click type that reads text as a type hint requires."""

    name = "value"

    def __init__(self, hint: Any, metavar: str) -> None:
        self._hint = hint
        self.count = metavar.count(",") + 1

    @override
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        if ctx is not None and _names_boxes(value):  # text for a list of names, but never a table of records
            ctx.meta.setdefault(INPUTS, []).append(Path(value))
        try:
            return read_value(value, self._hint)
        except SpatialDPError:
            raise
        except ValueError:
            metavar = getattr(param, "metavar", None) or "value"
            self.fail(f"{value!r} was given; {metavar} is required, such as {_example(self._hint)}.", param, ctx)


def read_value(text: str, hint: Any) -> Any:
    """Read text as a type hint requires; where any value is allowed, the name of a file stands for the boxes in it.

    Examples
    --------
    >>> from collections.abc import Sequence
    >>> read_value("64,32", Sequence[int] | None), read_value("uniform", str | Sequence[int])
    ((64, 32), 'uniform')
    >>> read_value("zone=0,1;time=1,1", str | Mapping[str, Sequence[int]])
    {'zone': (0, 1), 'time': (1, 1)}
    """
    mapping = next((member for member in get_args(hint) if get_origin(member) is Mapping), None)
    if mapping is not None and get_args(mapping)[1] is Any:
        from spatialdp.space.public_files import read_totals

        return read_totals(Path(text))
    if mapping is not None and "=" in text:
        return _read_pairs(text, get_args(mapping)[1])
    if hint is Any:
        if _names_boxes(text):
            from spatialdp.space.public_files import read_boxes

            return read_boxes(Path(text))
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


def _read_pairs(text: str, hint: Any) -> dict[str, Any]:
    """Read NAME=VALUE with semicolons between them."""
    pairs = [part.partition("=") for part in text.split(";")]
    if not all(equals for _, equals, _ in pairs):
        raise ValueError
    return {name.strip(): read_value(value.strip(), hint) for name, _, value in pairs}


def _names_boxes(text: str) -> bool:
    return Path(text).suffix.lower() in (".csv", ".parquet")


def _read_items(text: str, hint: Any) -> tuple[Any, ...]:
    items = get_args(hint)
    parts = [part.strip() for part in text.split(_SEPARATORS[_depth(hint) - 1])]
    if get_origin(hint) is not tuple or Ellipsis in items:  # any number of items of one type
        items = items[:1] * len(parts)
    return tuple(read_value(part, item) for part, item in zip(parts, items, strict=True))


def _depth(hint: Any) -> int:
    """Return how deeply lists are nested in a type hint."""
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
    """Read a number exactly as it is typed: 0.1, 1e-6 or 1/3.

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
    except ArithmeticError:  # not a decimal number, or a division by zero
        raise ValueError from None


# --- methods ---------------------------------------------------------------------------------------


def methods() -> dict[str, type[Mechanism]]:
    """Return all methods by name: maps, then lists, those of zones and tables, and those of trips last."""
    from spatialdp.mechanisms import BETWEEN_PLACES, LISTS, MECHANISMS, ON_OTHER_FRAMES

    return MECHANISMS | LISTS | ON_OTHER_FRAMES | BETWEEN_PLACES


def counts_trips(name: str | None) -> bool:
    """Whether the records of a method have two places; False for a name that no method has."""
    from spatialdp.mechanisms import BETWEEN_PLACES

    return (name or "").lower() in BETWEEN_PLACES


def counts_in_tables(name: str | None) -> bool:
    """Whether the public frame of a method is that of a table; False for a name that no method has."""
    from spatialdp.space.frames.frame import Frame

    method = methods().get((name or "").lower())
    return method is not None and method.frame is Frame


def find_method(name: str) -> type[Mechanism]:
    """Return the method with this name; the error for an unknown name lists the methods and suggests a similar one."""
    known = methods()
    if name.lower() in known:
        return known[name.lower()]
    close = difflib.get_close_matches(name.lower(), known, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else " See `spatialdp methods`."
    if name.lower() == "trajectories":
        hint = " Trajectories have a command of their own, `spatialdp trajectories`."
    raise click.BadParameter(f"{name!r} was given; it must be one of {', '.join(known)}.{hint}", param_hint="--method")


def build(method: type[Mechanism], values: Mapping[str, Any]) -> Mechanism:
    """Make a mechanism with these parameters; the others keep their defaults."""
    known = {parameter.name: parameter for parameter in parameters_of(method)}
    for name in values:
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            hint = f" Did you mean {close[0]!r}?" if close else f" See `spatialdp methods {method.name}`."
            raise click.UsageError(f"{method.name} has no parameter {name!r}; it has {', '.join(known)}.{hint}")
    missing = [parameter for parameter in known.values() if parameter.required and parameter.name not in values]
    if missing:
        raise click.UsageError(f"{method.name} needs {missing[0].flag} {missing[0].metavar}: {missing[0].text}")
    return method(**values)


def options_of(mechanism: Mechanism, boxes: Path | None = None) -> str:
    """Return the options that make a mechanism on the command line; defaults are left out.

    A mechanism that is optimised for boxes needs the file that they come from.

    Examples
    --------
    >>> import spatialdp as sdp
    >>> options_of(sdp.Hierarchy((64, 32), workload="cells", root=True))
    '--method hierarchy --shape 64,32 --root --workload cells'
    """
    words = [f"--method {mechanism.name}"]
    for parameter in parameters_of(type(mechanism)):
        value = getattr(mechanism, parameter.name)
        if value == parameter.default:
            continue
        if isinstance(value, bool):
            words.append(parameter.flag if value else f"--no-{parameter.flag[2:]}")
        else:
            typed = as_typed(value) if parameter.hint is not Any or isinstance(value, str | tuple) else str(boxes)
            words.append(f"{parameter.flag} {shlex.quote(typed)}")
    return " ".join(words)


def summary(method: type[Mechanism]) -> str:
    """Return the first line of a method's docstring."""
    return (inspect.getdoc(method) or "").partition("\n")[0]


@cache
def parameters_of(method: type[Mechanism]) -> tuple[Parameter, ...]:
    """Return the parameters of a method in the order of its signature."""
    from spatialdp._support.options import defaults_of

    hints, described, defaults = get_type_hints(method), _described(method), defaults_of(method)
    parameters = []
    for field in fields(method):  # type: ignore[arg-type]  # every mechanism is a dataclass
        kind, text = described.get(field.name, ("", ""))
        text = describe_parameter(text, hints)
        default, required = defaults.get(field.name), field.name not in defaults
        parameters.append(Parameter(field.name, hints[field.name], default, required, kind, text))
    return tuple(parameters)


def _described(method: type[Mechanism]) -> dict[str, tuple[str, str]]:
    """Return type and text of each parameter in a numpydoc docstring; "As for `Other`" is replaced by Other's text."""
    section = re.search(
        r"^Parameters\n-+\n(.*?)(?=\n\S[^\n]*\n-+\n|\Z)", inspect.getdoc(method) or "", re.DOTALL | re.M
    )
    descriptions = {}
    for entry in re.split(r"\n(?=\S)", section[1].strip()) if section else ():
        head, _, text = entry.partition("\n")
        names, _, kind = head.partition(" : ")
        for name in names.split(", "):
            descriptions[name] = _without_reference(name, kind, " ".join(text.split()))
    return descriptions


def _without_reference(name: str, kind: str, text: str) -> tuple[str, str]:
    import spatialdp.mechanisms

    reference = re.match(r"As for `(\w+)`[.;]?\s*", text)
    if reference:
        other_kind, other_text = _described(getattr(spatialdp.mechanisms, reference[1])).get(name, ("", ""))
        kind, text = kind or other_kind, f"{other_text} {text[reference.end() :]}".strip()
    return kind, text
