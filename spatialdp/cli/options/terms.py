"""How much privacy may a release spend, and whose? Options `--epsilon`, `--delta`, `--neighbours` and `--person`.

Numbers are read exactly as they are typed, and checked before any file is opened.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from spatialdp._support.override import override
from spatialdp.cli.options.values import Exact, bundled

if TYPE_CHECKING:
    from fractions import Fraction

    from spatialdp.privacy.unit import Person


__all__ = [
    "PersonBound",
    "TermsOptions",
    "delta_option",
    "neighbours_option",
    "person_option",
    "terms_options",
    "typed_bound",
]


class PersonBound(click.ParamType):  # type: ignore[type-arg]  # generic only in recent versions
    """A click type for what is bounded of a person: records=L, cells=L (L may be "chosen") or shares."""

    name = "records=L|cells=L|shares"
    example = "cells=50"

    @override
    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:  # noqa: ARG002 (click gives them)
        return self.name

    @override
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Person:
        from spatialdp.cli.wording import in_options
        from spatialdp.errors import ParameterError
        from spatialdp.privacy.chosen import Chosen
        from spatialdp.privacy.unit import Person

        if isinstance(value, Person):
            return value
        kind, _, most = str(value).replace(" ", "").partition("=")
        if kind == "shares" and not most:
            return Person(shares=True)
        limit = Chosen() if most == "chosen" else int(most) if most.removeprefix("-").isdecimal() else None
        if kind not in ("records", "cells") or limit is None:
            self.fail(
                f"{value!r} was given; a bound {self.name} is required, with a whole number L, such as {self.example}, "
                "or with the word chosen, for a number that is chosen privately.",
                param,
                ctx,
            )
        try:
            return Person(records=limit) if kind == "records" else Person(cells=limit)
        except ParameterError as error:
            self.fail(in_options(error, []), param, ctx)


@dataclass(frozen=True)
class TermsOptions:
    """The values of ε, δ, the neighbour relation and the bound on persons, checked."""

    epsilon: Fraction
    delta: Fraction
    neighbours: str
    person: Person | None = None

    def __post_init__(self) -> None:
        from spatialdp.privacy.budget import Budget

        Budget(self.epsilon, self.delta)  # raises an error that says what is wrong with the numbers

    @property
    def options(self) -> dict[str, Any]:
        """The keyword arguments for `Mechanism.release` and `Mechanism.plan`."""
        return {"epsilon": self.epsilon, "delta": self.delta, "neighbours": self.neighbours, "person": self.person}

    def typed(self, law: str) -> str:
        """Return the options of a release with this law; only Gaussian noise takes a δ, and defaults are left out."""
        from spatialdp.privacy.noise.laws import Law

        delta = f" --delta {_typed(self.delta)}" if law == Law.GAUSSIAN else ""
        neighbours = f" --neighbours {self.neighbours}" if self.neighbours != "add-remove" else ""
        person = "" if self.person is None else f" --person {typed_bound(self.person)}"
        return f"--epsilon {_typed(self.epsilon)}{delta}{neighbours}{person}"


def typed_bound(person: Person) -> str:
    """Return a bound on persons as it is typed.

    Examples
    --------
    >>> from spatialdp.privacy.chosen import Chosen
    >>> from spatialdp.privacy.unit import Person
    >>> typed_bound(Person(cells=50)), typed_bound(Person(shares=True)), typed_bound(Person(cells=Chosen()))
    ('cells=50', 'shares', 'cells=chosen')
    """
    limit = "chosen" if person.choice is not None else person.most
    return "shares" if person.shares else f"{person.bound}={limit}"


def _typed(number: Fraction) -> str:
    """Return a number as it can be typed again, exactly: as a decimal number if it is a short one."""
    from spatialdp.cli.parameters import read_number

    decimal = f"{float(number):.12g}"
    return decimal if read_number(decimal) == number else str(number)


epsilon_option = click.option(
    "--epsilon",
    type=Exact(),
    required=True,
    help="Privacy budget ε: 0.01 gives strong privacy, 10 gives weak privacy.",
)
delta_option = click.option(
    "--delta",
    type=Exact(),
    default="0",
    help="Privacy parameter δ, for Gaussian noise, such as 1e-9.  [default: 0]",
)
neighbours_option = click.option(
    "--neighbours",
    type=click.Choice(["add-remove", "replace"]),
    default="add-remove",
    show_default=True,
    help="Which change of the data the release hides: one record (with --person, one person) added or removed, or "
    "replaced.",
)
person_option = click.option(
    "--person",
    type=PersonBound(),
    help="Protect persons instead of records, by a public bound on what each one contributes: at most L records, at "
    "most L cells, once each, or one unit that is divided over the places of the person's records. A column of the "
    "points must say which person each record belongs to. With the word chosen for L, the release chooses L "
    "privately for a twentieth of the budget.",
)
terms_options = bundled("terms", TermsOptions, epsilon_option, delta_option, neighbours_option, person_option)
