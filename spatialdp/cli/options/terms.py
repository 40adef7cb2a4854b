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


__all__ = ["TermsOptions", "terms_options"]


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


terms_options = bundled(
    "terms",
    TermsOptions,
    click.option(
        "--epsilon",
        type=Exact(),
        required=True,
        help="Privacy budget ε: 0.01 gives strong privacy, 10 gives weak privacy.",
    ),
    click.option(
        "--delta",
        type=Exact(),
        default="0",
        help="Privacy parameter δ, for Gaussian noise, such as 1e-9.  [default: 0]",
    ),
    click.option(
        "--neighbours",
        type=click.Choice(["add-remove", "replace"]),
        default="add-remove",
        show_default=True,
        help="Which change of the data the release hides: one record added or removed, or one record replaced.",
    ),
)
