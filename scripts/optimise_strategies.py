"""Work out the strategies that ship with the package, all ranges of the usual numbers of cells for both kinds of noise.

python scripts/optimise_strategies.py [--output spatialdp/strategies/shipped]

Every size is searched by itself, and then starting from the sizes next to it; the better result is kept.
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
@click.option("--output", type=click.Path(path_type=Path), default=SHIPPED, help="Folder to write into.")
def main(output: Path) -> None:
    """Optimise, save, and print the mean box variance of each square grid (ε = 1, or ρ = 1 for Gaussian noise)."""
    output.mkdir(parents=True, exist_ok=True)
    for law, unit in ((Law.LAPLACE, 2.0), (Law.GAUSSIAN, 0.5)):
        alone = {size: _timed(size, law) for size in SHIPPED_SIZES}
        for size, axis in alone.items():
            near = [alone[n] for n in _next_to(size)]
            again = optimised_windows(size, ALL_RANGES, law, near, search=False)
            best, error, other = _better(axis, again, law)
            save_axis(output / file_name(size, ALL_RANGES, law), best, ALL_RANGES, law)
            print(
                f"{law!s:8} {size:4} cells, {len(best.windows):3} windows: {unit * error**2:9.2f} "
                f"(by itself {mean_variance(axis, ALL_RANGES, law) / error - 1:+.2%}, other {other / error - 1:+.2%})",
                flush=True,
            )


def _timed(size: int, law: Law) -> WindowAxis:
    began = time.perf_counter()
    axis = optimised_windows(size, ALL_RANGES, law)
    print(f"{law!s:8} {size:4} cells searched in {time.perf_counter() - began:.1f} s", flush=True)
    return axis


def _next_to(size: int) -> list[int]:
    place = SHIPPED_SIZES.index(size)
    return [*SHIPPED_SIZES[max(0, place - 1) : place], *SHIPPED_SIZES[place + 1 : place + 2]]


def _better(first: WindowAxis, second: WindowAxis, law: Law) -> tuple[WindowAxis, float, float]:
    errors = [mean_variance(axis, ALL_RANGES, law) for axis in (first, second)]
    return (first if errors[0] <= errors[1] else second), min(errors), max(errors)


if __name__ == "__main__":
    main()
