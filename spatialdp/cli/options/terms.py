"""What the curator grants: `--epsilon`, `--delta`, `--neighbours`."""

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
    """ε, δ and neighbours, as mechanisms take them."""

    epsilon: Fraction
    delta: Fraction
    neighbours: str

    def __post_init__(self) -> None:
        from spatialdp.privacy.budget import Budget

        Budget(self.epsilon, self.delta)  # says what is wrong with them

    @property
    def options(self) -> dict[str, Any]:
        """Keyword arguments of `release` and `plan`."""
        return {"epsilon": self.epsilon, "delta": self.delta, "neighbours": self.neighbours}


terms_options = bundled(
    "terms",
    TermsOptions,
    click.option("--epsilon", type=Exact(), required=True, help="Privacy budget: 0.01 is strong privacy, 10 is weak."),
    click.option("--delta", type=Exact(), default="0", help="For Gaussian noise, such as 1e-9.  [default: 0]"),
    click.option(
        "--neighbours",
        type=click.Choice(["add-remove", "replace"]),
        default="add-remove",
        show_default=True,
        help="Whether data sets that are compared differ by a record more or less, or by a record's value.",
    ),
)
