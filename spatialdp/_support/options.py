"""Options that are one of a few names, with one parsing rule for code, files and the command line.

`Option` is the enumeration of the names, and `Choice` a dataclass field that holds one of them.
"""

from __future__ import annotations

from dataclasses import MISSING, fields
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

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

    def __repr__(self) -> str:
        return repr(self._default)

    def __set__(self, instance: Any, value: T | str | Choice[T]) -> None:
        # A dataclass takes the class attribute, which is this object, for the default.
        option = self._default if isinstance(value, Choice) else type(self._default).parse(value, self._name)
        instance.__dict__[self._name] = option

    if TYPE_CHECKING:  # instances have the option in their dictionary, so that reading it takes no call

        def __get__(self, instance: Any, owner: type | None = None) -> T: ...


def defaults_of(dataclass: Any) -> dict[str, Any]:
    """Return the defaults of a dataclass's fields by name; that of a `Choice` is its option."""
    defaults = {field.name: field.default for field in fields(dataclass) if field.default is not MISSING}
    return {name: each._default if isinstance(each, Choice) else each for name, each in defaults.items()}
