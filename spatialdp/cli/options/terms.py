"""How much privacy may a release spend? The options `--epsilon`, `--delta` and `--neighbours`.

Numbers are read exactly as they are typed, and checked before any file is opened.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from spatialdp.cli.options.values import Exact, bundled

if TYPE_CHECKING:
    from fractions import Fraction


__all__ = ["TermsOptions", "delta_option", "neighbours_option", "terms_options"]


@dataclass(frozen=True)
class TermsOptions:
    """The values of ε, δ and the neighbour relation, checked."""

    epsilon: Fraction
    delta: Fraction
    neighbours: str

    def __post_init__(self) -> None:
        from spatialdp.privacy.budget import Budget

        Budget(self.epsilon, self.delta)  # raises an error that says what is wrong with the numbers

    @property
    def options(self) -> dict[str, Any]:
        """The keyword arguments for `Mechanism.release` and `Mechanism.plan`."""
        return {"epsilon": self.epsilon, "delta": self.delta, "neighbours": self.neighbours}

    def typed(self, law: str) -> str:
        """Return the options of a release with this law; only Gaussian noise takes a δ, and defaults are left out."""
        from spatialdp.privacy.noise.laws import Law

        delta = f" --delta {_typed(self.delta)}" if law == Law.GAUSSIAN else ""
        neighbours = f" --neighbours {self.neighbours}" if self.neighbours != "add-remove" else ""
        return f"--epsilon {_typed(self.epsilon)}{delta}{neighbours}"


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
    help="Which change of the data the release hides: one record added or removed, or one record replaced.",
)
terms_options = bundled("terms", TermsOptions, epsilon_option, delta_option, neighbours_option)
