"""Options that are one of a few names, with one parsing rule for code, files and the command line.

`Option` is the enumeration of the names, and `Choice` a dataclass field that holds one of them.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Generic, Self, TypeVar

from spatialdp.errors import ParameterError
from spatialdp.wording import parameter

T = TypeVar("T", bound="Option")


class Option(StrEnum):
    """A string enumeration; its `parse` accepts a name in any case and lists the valid names when it fails.

    Examples
    --------
    >>> class Fruit(Option):
    ...     APPLE = "apple"
    ...     BLOOD_ORANGE = "blood-orange"
    >>> Fruit.parse("Blood_Orange") is Fruit.BLOOD_ORANGE
    True
    """

    @classmethod
    def parse(cls, value: str | Self, parameter_name: str = "") -> Self:
        """Return the option that a name stands for; upper case and underscores are accepted.

        The error names the parameter that has the value, or else the class.
        """
        name = value.lower().replace("_", "-") if isinstance(value, str) else value
        try:
            return cls(name)
        except ValueError:
            names = ", ".join(repr(str(option)) for option in cls)
            subject = parameter(parameter_name) if parameter_name else cls.__name__
            raise ParameterError(f"{subject} is {value!r}; it must be one of {names}.") from None


class Choice(Generic[T]):
    """A dataclass field that accepts an option or its name, and stores the option.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> class Size(Option):
    ...     SMALL = "small"
    ...     LARGE = "large"
    >>> @dataclass(frozen=True)
    ... class Box:
    ...     size: Choice[Size] = Choice(Size.SMALL)
    >>> Box(), Box("large").size is Size.LARGE
    (Box(size=<Size.SMALL: 'small'>), True)
    """

    def __init__(self, default: T) -> None:
        self._default = default

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type | None = None) -> T:
        if instance is None:  # dataclasses read the default from the class
            return self._default
        option: T = instance.__dict__[self._name]
        return option

    def __set__(self, instance: Any, value: T | str) -> None:
        instance.__dict__[self._name] = type(self._default).parse(value, self._name)
