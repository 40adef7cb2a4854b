"""How noisy are running totals of months as they come? The table of variances in `docs/design/running.md`.

    python scripts/running_totals.py --output figures

Variances are in units of that of a single count with the whole budget ρ (Gaussian noise). They are computed, not
simulated. Compared are months that are released one by one; sums over a dyadic tree, of which a total uses those that
are complete at that time; the same tree, fitted by least squares when all months are over; and the square root of
summation, which `Running` uses.
"""

from __future__ import annotations

import argparse
from fractions import Fraction
from pathlib import Path

import numpy as np

from spatialdp._support.tables import markdown
from spatialdp.space.frames.nesting import nested
from spatialdp.strategies.frames.square_root import SquareRoot
from spatialdp.transforms.tree_axis import TreeAxis

HORIZONS = (12, 60, 365)


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("figures"))
    folder = parser.parse_args().output
    folder.mkdir(parents=True, exist_ok=True)
    header = ["months", "one by one", "dyadic, online", "dyadic, fitted afterwards", "square root",
              "one month: one by one", "one month: fitted", "one month: square root"]  # fmt: skip
    rows = [[str(months), *_row(months)] for months in HORIZONS]
    text = markdown([header, *rows])
    head = (
        "Variances of running totals (mean, largest) and of single months (mean), by `scripts/running_totals.py`.\n\n"
    )
    (folder / "running_totals.md").write_text(head + text + "\n", encoding="utf-8")


def _row(months: int) -> list[str]:
    totals, month = fitted(months)
    root = SquareRoot(months)
    variances = [np.arange(1.0, months + 1), online(months), totals, root.variances_of_totals()]
    alone = [np.ones(months), month, root.variances_of_months()]
    return [*(f"{each.mean():.1f}, {each.max():.1f}" for each in variances), *(f"{each.mean():.1f}" for each in alone)]


def online(months: int) -> np.ndarray:
    """Return the variances of totals that add up the complete parts of a dyadic tree, all levels with equal budgets."""
    levels = (months - 1).bit_length() + 1
    return np.array([float(levels * total.bit_count()) for total in range(1, months + 1)])


def fitted(months: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the variances of totals and of single months after a least-squares fit of the whole dyadic tree."""
    height = (months - 1).bit_length()
    places = np.arange(months)
    shape = nested([places >> bits for bits in range(height - 1, 0, -1)], months)
    axis = TreeAxis(shape, (Fraction(1, height + 1),) * (height + 1), 1)
    unit = np.array([1 / float(share) for share in axis.group_shares])
    prefixes, _ = axis.powers(iter([np.tri(months)]))
    alone, _ = axis.powers(iter([np.eye(months)]))
    return unit @ prefixes, unit @ alone


if __name__ == "__main__":
    main()
