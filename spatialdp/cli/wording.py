"""How does an error of the library read on the command line? With options in place of Python's parameters.

The error says which parameters it means (`spatialdp.wording`); the command that ran says which options it has. A
parameter without an option of its own is one that stands within another option, such as the height in
`evaluate -m quadtree:height=8`, and keeps its name.
"""

from __future__ import annotations

from collections.abc import Iterable

import click

from spatialdp.errors import SpatialDPError
from spatialdp.wording import Mention

__all__ = ["in_options"]


def in_options(error: SpatialDPError, params: Iterable[click.Parameter]) -> str:
    """Return the message of an error in the words of a command with these parameters.

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
    """Return the parameter of Python that an option stands for; options of methods have a prefix."""
    return (param.name or "").removeprefix("parameter_")


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
