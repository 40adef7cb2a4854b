"""Do our releases have the errors of Dwork and McSherry's traffic histogram? Their experiment, on real junctions.

Their slides show the counts of traffic intersections in 64,909 cells, released with independent noise at ε = 1, 0.1,
0.01 and 0.001, and tabulate the largest and the average error. Here the highway junctions of the contiguous United
States are counted in exactly 64,909 public cells and released many times. The tables show the errors beside the slides'
numbers and beside theory.

This module compares with the truth, as the evaluator does: its results are for people who may see the records. The
junctions are public data, so here everybody may see them.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from spatialdp import datasets
from spatialdp._support.arrays import Floats
from spatialdp._support.atomic import write_all
from spatialdp._support.tables import markdown
from spatialdp.errors import ParameterError
from spatialdp.mechanisms import Flat
from spatialdp.privacy.noise.laws import Law
from spatialdp.privacy.noise.source import SeededNoise
from spatialdp.records.counting import count_cells
from spatialdp.records.points import Points
from spatialdp.release import Release
from spatialdp.space.domain import Domain, Grid
from spatialdp.wording import parameter

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "CELLS",
    "EPSILONS",
    "SLIDES",
    "Row",
    "draw_maps",
    "find_cell_size",
    "run",
    "table",
    "traffic_grid",
    "write_csv",
]

CELLS = 64_909
EPSILONS = (Fraction(1), Fraction(1, 10), Fraction(1, 100), Fraction(1, 1000))

# (largest error, average error) as printed on the slides.
SLIDES = {
    Fraction(1): (13, 1.02),
    Fraction(1, 10): (109, 9.12),
    Fraction(1, 100): (1041, 98.56),
    Fraction(1, 1000): (9663, 1003.23),
}
SLIDES_NOTE = (
    "The slides' averages at epsilon 1, 0.1 and 0.01 are 5.1, 22.4 and 3.7 standard errors away from what "
    "64,909 independent Laplace draws give; ours are printed as they came."
)

# A public colour scale, the same for every map.
CLASS_BREAKS = (0.5, 1.5, 3.5, 6.5, 10.5, 20.5)
CLASS_NAMES = ("none or fewer", "1", "2 to 3", "4 to 6", "7 to 10", "11 to 20", "more than 20")


@dataclass(frozen=True)
class Row:
    """Errors of the releases at one ε with one law of noise, beside the slides and theory.

    Names with `low` and `high` are the smallest and the largest value of all releases; for theory, they are the ends of
    an interval that contains 95 % of the values.
    """

    epsilon: float
    law: str
    releases: int
    slides_average: float | None
    theory_average: float
    theory_standard_error: float
    average: float
    average_low: float
    average_high: float
    slides_maximum: float | None
    theory_maximum: float
    theory_maximum_low: float
    theory_maximum_high: float
    maximum: float
    maximum_low: float
    maximum_high: float


@lru_cache(maxsize=4)
def find_cell_size(cells: int = CELLS) -> float:
    """Return the side, in degrees, of square cells of which exactly `cells` have their centre in the contiguous US.

    The first cell lies at the lower left corner of the region's bounding box. The number of centres falls almost
    monotonically as cells grow, so bisection finds the side, starting from the side that the region's area suggests.
    """
    region = Domain.around(datasets.contiguous_us(), crs="EPSG:4326", region_cells="centres")
    guess = math.sqrt(region.region.area / cells)
    low, high = 0.98 * guess, 1.02 * guess
    for _ in range(60):
        size = (low + high) / 2
        count = region.fitted(size).grid(cell_size=size).n_cells
        if count == cells:
            return size
        low, high = (size, high) if count > cells else (low, size)
    raise ParameterError(f"no cell size gives exactly {cells} cells; try a neighbouring number.")


def traffic_grid() -> Grid:
    """Return the public grid of the experiment, with 64,909 cells whose centre lies in the region."""
    size = find_cell_size()
    region = Domain.around(datasets.contiguous_us(), crs="EPSG:4326", region_cells="centres")
    return region.fitted(size).grid(cell_size=size)


def run(
    epsilons: Sequence[Fraction] = EPSILONS,
    *,
    releases: int = 20,
    seed: int = 1,
    progress: Callable[[Iterable[tuple[Law, Fraction]]], Iterable[tuple[Law, Fraction]]] = iter,
) -> list[Row]:
    """Release the histogram `releases` times for each ε and law of noise, and measure the errors.

    Parameters
    ----------
    epsilons : sequence of Fraction
    releases : int
        Number of releases for each ε and law.
    seed : int
        The noise is `SeededNoise`, so that the table can be made again. The releases are not private.
    progress : callable, optional
        Wraps the iterable of (law, ε), to show a progress bar.
    """
    if releases < 1:
        raise ParameterError(f"{parameter('releases')} is {releases}; give at least 1.")
    grid, points = traffic_grid(), datasets.us_highway_junctions()
    truth = count_cells(points, grid)[grid.mask]
    steps = list(product((Law.LAPLACE, Law.DISCRETE_LAPLACE), epsilons))
    rows = []
    for law, epsilon in progress(steps):
        errors = np.empty((releases, truth.size))
        for trial in range(releases):
            release = _release(points, grid, law, epsilon, (seed, trial))
            errors[trial] = np.abs(release.estimate.values[grid.mask] - truth)
        rows.append(_row(law, epsilon, errors.mean(axis=1), errors.max(axis=1)))
    return rows


def _release(points: Points, grid: Grid, law: Law, epsilon: Fraction, seed: tuple[int, ...]) -> Release:
    """Make one release; every law, ε and trial has its own stream of noise."""
    stream = (*seed, list(Law).index(law), epsilon.numerator, epsilon.denominator)
    return Flat(grid.shape, law=law).release(points, grid.domain, epsilon=epsilon, noise=SeededNoise(stream))


def _row(law: Law, epsilon: Fraction, averages: Floats, maxima: Floats) -> Row:
    scale = float(1 / epsilon)
    mean, deviation = _theory_of_average(law, scale)
    slides = SLIDES.get(epsilon) if law is Law.LAPLACE else None
    return Row(
        epsilon=float(epsilon),
        law=str(law),
        releases=averages.size,
        slides_average=slides[1] if slides else None,
        theory_average=mean,
        theory_standard_error=deviation / math.sqrt(CELLS),
        average=float(averages.mean()),
        average_low=float(averages.min()),
        average_high=float(averages.max()),
        slides_maximum=slides[0] if slides else None,
        theory_maximum=_mean_maximum(law, scale),
        theory_maximum_low=_maximum_quantile(law, scale, 0.025),
        theory_maximum_high=_maximum_quantile(law, scale, 0.975),
        maximum=float(maxima.mean()),
        maximum_low=float(maxima.min()),
        maximum_high=float(maxima.max()),
    )


def _mean_maximum(law: Law, scale: float) -> float:
    """Return the mean of the largest of 64,909 absolute errors.

    Absolute Laplace errors are exponential, so this mean is scale times the 64,909th harmonic number. Absolute discrete
    Laplace errors have P(error > k) = 2 a^(k+1) / (1 + a), where a = exp(-1 / scale); the mean is Σ P(maximum > k).
    """
    if law is Law.LAPLACE:
        return scale * math.fsum(1 / k for k in range(1, CELLS + 1))
    beyond = np.arange(math.ceil(60 * scale))
    tail = 2 / (1 + math.exp(-1 / scale)) * np.exp(-(beyond + 1) / scale)
    return float(-np.expm1(CELLS * np.log1p(-np.minimum(tail, 1 - 1e-16))).sum())


def _maximum_quantile(law: Law, scale: float, probability: float) -> float:
    """Return a quantile of the largest of 64,909 absolute errors."""
    tail = -math.expm1(math.log(probability) / CELLS)  # probability that one error exceeds the quantile
    if law is Law.LAPLACE:
        return -scale * math.log(tail)
    return float(max(0, math.ceil(-scale * math.log(tail * (1 + math.exp(-1 / scale)) / 2)) - 1))


def _theory_of_average(law: Law, scale: float) -> tuple[float, float]:
    """Return mean and standard deviation of the absolute error of one cell."""
    if law is Law.LAPLACE:
        return scale, scale
    mean, square = 1 / math.sinh(1 / scale), 0.5 / math.sinh(0.5 / scale) ** 2
    return mean, math.sqrt(square - mean**2)


# --- tables and maps -------------------------------------------------------------------------------


def table(rows: Sequence[Row]) -> str:
    """Return the experiment as two Markdown tables, with slides, theory and our releases side by side."""
    average = _table(rows, "theory", _average_cells)
    largest = _table(rows, "theory (95 % band)", _largest_cells)
    return f"Average error of a cell\n\n{average}\n\nLargest error of any cell\n\n{largest}"


def _table(rows: Sequence[Row], theory: str, cells: Callable[[Row], list[str]]) -> str:
    head = ["noise", "ε", "slides", theory, f"ours, {rows[0].releases} releases (lowest to highest)"]
    return markdown([head, *([row.law, f"{row.epsilon:g}", *cells(row)] for row in rows)])


def _average_cells(row: Row) -> list[str]:
    return [
        "" if row.slides_average is None else f"{row.slides_average:,.2f}",
        f"{row.theory_average:,.3f} ± {row.theory_standard_error:.2g}",
        f"{row.average:,.3f} ({row.average_low:,.3f} to {row.average_high:,.3f})",
    ]


def _largest_cells(row: Row) -> list[str]:
    return [
        "" if row.slides_maximum is None else f"{row.slides_maximum:,.0f}",
        f"{row.theory_maximum:,.1f} ({row.theory_maximum_low:,.1f} to {row.theory_maximum_high:,.1f})",
        f"{row.maximum:,.1f} ({row.maximum_low:,.1f} to {row.maximum_high:,.1f})",
    ]


def write_csv(rows: Sequence[Row], path: Path) -> None:
    """Write every number of the tables as CSV, one row for each law and ε."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, fieldnames=list(asdict(rows[0])))
    writer.writeheader()
    writer.writerows(asdict(row) for row in rows)
    write_all({path: text.getvalue().encode()}, overwrite=True)


def draw_maps(epsilons: Sequence[Fraction] = EPSILONS, *, seed: int = 1) -> Figure:
    """Draw the true map and one release for each ε, on one public colour scale."""
    import matplotlib.pyplot as plt

    from spatialdp.outputs.maps.colours import Classes
    from spatialdp.outputs.maps.drawing import draw_cells

    grid = traffic_grid()
    maps = _maps(grid, epsilons, seed)
    figure, axes = plt.subplots(-(-(len(maps) + 1) // 2), 2, figsize=(11.4, 9.3), layout="constrained")
    classes = Classes(CLASS_BREAKS)
    for ax, (title, values) in zip(axes.flat, maps, strict=False):
        draw_cells(ax, grid, values, classes=classes)
        ax.set_title(title, fontsize="large")
    for ax in axes.flat[len(maps) :]:
        ax.set_axis_off()
    classes.legend(axes.flat[len(maps)], "junctions in a cell", CLASS_NAMES)
    return figure


def _maps(grid: Grid, epsilons: Sequence[Fraction], seed: int) -> list[tuple[str, Floats]]:
    points = datasets.us_highway_junctions()
    maps = [("true counts (public data)", count_cells(points, grid).astype(np.float64))]
    for epsilon in epsilons:
        release = _release(points, grid, Law.LAPLACE, epsilon, (seed,))
        noise = f"{float(1 / epsilon):,.0f}"
        maps.append((f"ε = {float(epsilon):g}: average error {noise}", release.estimate.values))
    return maps
