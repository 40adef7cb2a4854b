"""How do errors and docstrings of the library read on the command line? With options in place of Python's parameters.

An error says which parameters it means (`spatialdp.wording`); the command that ran says which options it has. A
parameter without an option of its own is one that stands within another option, such as the height in
`evaluate -m quadtree:height=8`, and keeps its name. A docstring has its code between backticks.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable

import click

from spatialdp.wording import Mention, Worded, as_typed

__all__ = ["describe_kind", "describe_parameter", "in_options"]


def in_options(error: Worded, params: Iterable[click.Parameter]) -> str:
    """Return the message of an error or a warning in the words of a command with these parameters.

    Examples
    --------
    >>> from spatialdp.errors import ParameterError
    >>> from spatialdp.wording import parameter
    >>> error = ParameterError(f"{parameter('cell_size')} is 3; use {parameter('consistent', False)}.")
    >>> print(error)
    cell_size is 3; use consistent=False.
    >>> in_options(error, [click.Option(["--cell-size"]), click.Option(["--consistent/--no-consistent"])])
    '--cell-size is 3; use --no-consistent.'
    >>> in_options(error, [])
    'cell-size is 3; use consistent=no.'
    """
    options = {_name(param): param for param in params if isinstance(param, click.Option)}
    return "".join(_words(part, options) if isinstance(part, Mention) else part for part in error.parts)


def _name(param: click.Parameter) -> str:
    """Return the parameter of Python that an option stands for; options of methods and of grids have a prefix."""
    return (param.name or "").removeprefix("parameter_").removeprefix("grid_")


def _words(mention: Mention, options: dict[str, click.Option]) -> str:
    if not mention.name:
        return mention.typed
    option = options.get(mention.name)
    if option is None:
        name = mention.name.replace("_", "-")
        return f"{name}={mention.typed}" if mention.typed else name
    flag = max(option.opts, key=len)
    if option.is_flag and mention.typed:
        return flag if mention.typed == "yes" else next(iter(option.secondary_opts), flag)
    return f"{flag} {mention.typed}" if mention.typed else flag


# --- docstrings ------------------------------------------------------------------------------------


def describe_parameter(text: str, names: Collection[str]) -> str:
    """Return the description of a parameter, from a docstring, in the words of a command with options of these names.

    Examples
    --------
    >>> describe_parameter('For ``median="cell"``, such as ``(1, 8)``; see `median`.', ["median"])
    'For --median cell, such as 1,8; see --median.'
    """

    def translated(code: re.Match[str]) -> str:
        name, equals, value = code[1].partition("=")
        if name not in names:
            return _typed(code[1])
        return f"--{name.replace('_', '-')}{' ' if equals else ''}{_typed(value).strip(chr(34))}"

    return re.sub(r"``?([^`]+)``?", translated, text)


def describe_kind(kind: str) -> str:
    """Return the type of a parameter, from a docstring, in words for the command line.

    Examples
    --------
    >>> describe_kind('{"geometric", "uniform"} or sequence of numbers'), describe_kind("float or (width, height)")
    ('geometric, uniform or NUMBERS with commas', 'NUMBER or WIDTH,HEIGHT')
    """
    for pattern, words in _KINDS:
        kind = re.sub(pattern, words, kind)
    kind = re.sub(r"\([^()]*\)", lambda pair: _typed(pair[0]), kind)
    return kind.replace('"', "")


# Types as docstrings name them, and as the help names them; longer ones first.
_KINDS = [
    (r", optional$", ""),
    (r"\(m, 4\) array-like", "a .csv or .parquet file of boxes"),
    (r"[{}]", ""),
    (r"list of (.*?)(?=, or|$)", r"several \1 with semicolons"),
    (r"\bor mapping of weights", "or NAME=NUMBERS with semicolons"),
    (r"sequence of numbers", "NUMBERS with commas"),
    (r"sequence of int\b", "INTEGERS with commas"),
    (r"sequence of blocks", "BLOCKS with semicolons"),
    (r"sequence of str\b", "NAMES with commas"),
    (r"mapping of totals", "a .csv file with the columns level, zone and total"),
    (r"\bfloat\b", "NUMBER"),
    (r"\bint\b", "INTEGER"),
    (r"\bstr\b", "NAME"),
]


def _typed(code: str) -> str:
    """Return code as it is typed: values as they are, and names in tuples, which stand for any value, in capitals."""
    try:
        return as_typed(ast.literal_eval(code)) if code.startswith(("(", "{")) else code
    except ValueError:
        parts = (part.strip() for part in code.strip("()").split(","))
        return ",".join(part.strip('"') if part.startswith('"') else part.upper() for part in parts)
