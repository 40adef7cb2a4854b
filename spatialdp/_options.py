"""Options that are one of a few names, with one parsing rule for code, files and command line."""

from __future__ import annotations

from enum import StrEnum
from typing import Self

from spatialdp.errors import ParameterError


class Option(StrEnum):
    """A string enumeration whose `parse` lists the valid names when it fails.

    Examples
    --------
    >>> class Fruit(Option):
    ...     APPLE = "apple"
    ...     BLOOD_ORANGE = "blood-orange"
    >>> Fruit.parse("Blood_Orange") is Fruit.BLOOD_ORANGE
    True
    """

    @classmethod
    def parse(cls, value: str | Self) -> Self:
        """Turn a name into the option it stands for."""
        name = value.lower().replace("_", "-") if isinstance(value, str) else value
        try:
            return cls(name)
        except ValueError:
            names = ", ".join(repr(str(option)) for option in cls)
            raise ParameterError(f"{cls.__name__} is {value!r}; it must be one of {names}.") from None
