"""Which strategies does the package ship? Compute them: for all ranges, usual numbers of cells, both kinds of noise.

    python scripts/optimise_strategies.py [--output spatialdp/strategies/shipped]

The script optimises each size alone, and then again from the results of the next smaller and the next larger size. It
keeps the better result.
"""

from __future__ import annotations

import time
from pathlib import Path

import click

from spatialdp.privacy.noise.laws import Law
from spatialdp.strategies.axis_workload import ALL_RANGES
from spatialdp.strategies.objective import mean_variance
from spatialdp.strategies.store import SHIPPED, SHIPPED_SIZES, file_name, save_axis
from spatialdp.strategies.windows import optimised_windows
from spatialdp.transforms.matrices import WindowAxis


@click.command()
@click.option("--output", type=click.Path(path_type=Path), default=SHIPPED, help="Folder for the strategies.")
def main(output: Path) -> None:
    """Optimise, save, and print the mean box variance of each square grid (ε = 1, or ρ = 1 for Gaussian noise)."""
    output.mkdir(parents=True, exist_ok=True)
    for law, unit in ((Law.LAPLACE, 2.0), (Law.GAUSSIAN, 0.5)):
        optimised = {size: _optimise(size, law) for size in SHIPPED_SIZES}
        for size, axis in optimised.items():
            neighbours = [optimised[n] for n in _next_to(size)]
            from_neighbours = optimised_windows(size, ALL_RANGES, law, neighbours, search=False)
            best, error, other = _better(axis, from_neighbours, law)
            save_axis(output / file_name(size, ALL_RANGES, law), best, ALL_RANGES, law)
            print(
                f"{law!s:8} {size:4} cells, {len(best.windows):3} windows: {unit * error**2:9.2f} "
                f"(alone {mean_variance(axis, ALL_RANGES, law) / error - 1:+.2%}, worse {other / error - 1:+.2%})",
                flush=True,
            )


def _optimise(size: int, law: Law) -> WindowAxis:
    start = time.perf_counter()
    axis = optimised_windows(size, ALL_RANGES, law)
    print(f"{law!s:8} {size:4} cells optimised in {time.perf_counter() - start:.1f} s", flush=True)
    return axis


def _next_to(size: int) -> list[int]:
    place = SHIPPED_SIZES.index(size)
    return [*SHIPPED_SIZES[max(0, place - 1) : place], *SHIPPED_SIZES[place + 1 : place + 2]]


def _better(first: WindowAxis, second: WindowAxis, law: Law) -> tuple[WindowAxis, float, float]:
    errors = [mean_variance(axis, ALL_RANGES, law) for axis in (first, second)]
    return (first if errors[0] <= errors[1] else second), min(errors), max(errors)


if __name__ == "__main__":
    main()
