"""Work out the strategies that ship with the package, all ranges of the usual numbers of cells for both kinds of noise.

python scripts/optimise_strategies.py [--output spatialdp/_strategies]
"""

from __future__ import annotations

import time
from pathlib import Path

import click

from spatialdp.privacy.laws import Law
from spatialdp.strategies import ALL_RANGES, mean_variance, optimised_windows
from spatialdp.strategy_store import SHIPPED, SHIPPED_SIZES, file_name, save_axis


@click.command()
@click.option("--output", type=click.Path(path_type=Path), default=SHIPPED, help="Folder to write into.")
def main(output: Path) -> None:
    """Optimise, save, and print the mean box variance of each square grid (ε = 1, or ρ = 1 for Gaussian noise)."""
    output.mkdir(parents=True, exist_ok=True)
    for law, unit in ((Law.LAPLACE, 2.0), (Law.GAUSSIAN, 0.5)):
        for size in SHIPPED_SIZES:
            began = time.perf_counter()
            axis = optimised_windows(size, ALL_RANGES, law)
            save_axis(output / file_name(size, ALL_RANGES, law), axis, ALL_RANGES, law)
            variance = unit * mean_variance(axis, ALL_RANGES, law) ** 2
            took = time.perf_counter() - began
            print(f"{law!s:8} {size:4} cells, {len(axis.windows):3} windows: {variance:9.2f} ({took:.1f} s)")


if __name__ == "__main__":
    main()
