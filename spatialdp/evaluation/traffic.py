"""Do our releases have the errors of Dwork and McSherry's traffic histogram? Their experiment, then and now.

Their slides show the counts of traffic intersections in 64,909 cells, released with independent noise at ε = 1, 0.1,
0.01 and 0.001, and tabulate the largest and the average error. Here the highway junctions of the contiguous United
States are counted in exactly 64,909 public cells and released many times. The tables show the errors beside the slides'
numbers and beside theory. The same cells are released by an adaptive tree at the same ε, and both are compared by the
errors of cells and of boxes.

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
from functools import cached_property, lru_cache
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from spatialdp import datasets
from spatialdp._support.arrays import Floats
from spatialdp._support.atomic import write_all
from spatialdp._support.tables import markdown
from spatialdp.errors import ParameterError
from spatialdp.mechanisms import Adaptive, Flat, Mechanism
from spatialdp.privacy.noise.laws import Law
from spatialdp.privacy.noise.source import SeededNoise
from spatialdp.records.counting import count_cells
from spatialdp.records.points import Points
from spatialdp.release import Release
from spatialdp.space.coverage import Coverage, coverages, prefix_sums, weighted_sums
from spatialdp.space.domain import Domain, Grid
from spatialdp.wording import parameter
from spatialdp.workload import area_boxes, random_boxes

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure

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
    "zeros_note",
]

Step = tuple[Mechanism, Fraction]

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

BOXES = 1000  # public, seeded boxes of each family
_ADAPTIVE_STREAM = 100  # the number of the adaptive tree's noise; that of independent noise is its law's number

# Errors of the table that compares mechanisms: name in `Row`, words, digits after the point.
_ERRORS = {
    "average": ("a cell, average", 3),
    "maximum": ("a cell, largest", 1),
    "random_box": ("a random box, average", 1),
    "one_percent_box": ("a box of 1 % of the area, average", 1),
}

# A public colour scale, the same for every map.
CLASS_BREAKS = (0.5, 1.5, 3.5, 6.5, 10.5, 20.5)
_LARGE, _SMALL = 28, 23  # letters in points; they stay legible when a page shows the picture at 40 % of its size
CLASS_NAMES = ("none or fewer", "1", "2 to 3", "4 to 6", "7 to 10", "11 to 20", "more than 20")


@dataclass(frozen=True)
class Row:
    """Errors of the releases at one ε by one mechanism with one law of noise, beside the slides and theory.

    Names with `low` and `high` are the smallest and the largest value of all releases; for theory, they are the ends of
    an interval that contains 95 % of the values. `average` and `maximum` are errors of cells, `random_box` and
    `one_percent_box` mean errors of boxes. There is no theory of the errors of an adaptive tree.
    """

    epsilon: float
    law: str
    releases: int
    slides_average: float | None
    theory_average: float | None
    theory_standard_error: float | None
    average: float
    average_low: float
    average_high: float
    slides_maximum: float | None
    theory_maximum: float | None
    theory_maximum_low: float | None
    theory_maximum_high: float | None
    maximum: float
    maximum_low: float
    maximum_high: float
    mechanism: str
    random_box: float
    random_box_low: float
    random_box_high: float
    one_percent_box: float
    one_percent_box_low: float
    one_percent_box_high: float


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


@dataclass(frozen=True, eq=False)
class _Truth:
    """The junctions, their true counts in the cells of the public grid, and public boxes of whole cells."""

    grid: Grid
    points: Points

    @classmethod
    def known(cls) -> _Truth:
        return cls(traffic_grid(), datasets.us_highway_junctions())

    @cached_property
    def counts(self) -> Floats:
        """The true count of each cell, (rows, columns)."""
        return count_cells(self.points, self.grid).astype(np.float64)

    @cached_property
    def boxes(self) -> tuple[tuple[Coverage, Coverage], ...]:
        """Random boxes, and boxes of 1 % of the area; both have their sides on lines between cells."""
        domain, (nx, ny) = self.grid.domain, self.grid.shape
        families = []
        for workload in (random_boxes(domain, BOXES, shape=(nx, ny)), *area_boxes(domain, [0.01], BOXES)):
            assert workload.boxes is not None
            shares = (workload.boxes - np.tile(domain.bounds[:2], 2)) / np.tile(domain.size, 2)
            blocks = np.rint(shares * (nx, ny, nx, ny)).astype(np.int64)
            families.append(coverages(self.grid, self.grid.lattice_boxes(blocks)))
        return tuple(families)

    def errors(self, values: Floats) -> Floats:
        """Average and largest error of a cell, and mean errors of random boxes and of boxes of 1 % of the area."""
        differences = np.where(self.grid.mask, values - self.counts, 0.0)
        cells, sums = np.abs(differences[self.grid.mask]), prefix_sums(differences)
        boxes = [np.abs(weighted_sums(sums, *family, 1)).mean() for family in self.boxes]
        return np.array([cells.mean(), cells.max(), *boxes])

    def release(self, mechanism: Mechanism, epsilon: Fraction, seed: tuple[int, ...]) -> Release:
        """Make one release; every mechanism, law, ε and trial has its own stream of noise."""
        number = list(Law).index(mechanism.law) if isinstance(mechanism, Flat) else _ADAPTIVE_STREAM
        noise = SeededNoise((*seed, number, epsilon.numerator, epsilon.denominator))
        return mechanism.release(self.points, self.grid.domain, epsilon=epsilon, noise=noise)


def run(
    epsilons: Sequence[Fraction] = EPSILONS,
    *,
    releases: int = 20,
    seed: int = 1,
    progress: Callable[[Iterable[Step]], Iterable[Step]] = iter,
) -> list[Row]:
    """Release the histogram `releases` times for each mechanism, law of noise and ε, and measure the errors.

    Parameters
    ----------
    epsilons : sequence of Fraction
    releases : int
        Number of releases for each mechanism, law and ε.
    seed : int
        The noise is `SeededNoise`, so that the table can be made again. The releases are not private.
    progress : callable, optional
        Wraps the iterable of (mechanism, ε), to show a progress bar.

    Returns
    -------
    list of Row
        Independent Laplace noise, independent discrete Laplace noise, and adaptive trees; of each, one row for each ε.
    """
    if releases < 1:
        raise ParameterError(f"{parameter('releases')} is {releases}; give at least 1.")
    truth = _Truth.known()
    shape = truth.grid.shape
    mechanisms = (Flat(shape, law=Law.LAPLACE), Flat(shape, law=Law.DISCRETE_LAPLACE), Adaptive(shape))
    rows = []
    for mechanism, epsilon in progress(list(product(mechanisms, epsilons))):
        made = (truth.release(mechanism, epsilon, (seed, trial)) for trial in range(releases))
        rows.append(_row(mechanism, epsilon, np.array([truth.errors(release.estimate.values) for release in made])))
    return rows


def _row(mechanism: Mechanism, epsilon: Fraction, errors: Floats) -> Row:
    """Summarise the errors, (releases, 4), of the releases at one ε."""
    slides = SLIDES.get(epsilon) if mechanism.law is Law.LAPLACE else None
    names = ("average", "maximum", "random_box", "one_percent_box")
    ours = {
        f"{name}{ending}": float(summary)
        for name, values in zip(names, errors.T, strict=True)
        for ending, summary in (("", values.mean()), ("_low", values.min()), ("_high", values.max()))
    }
    return Row(
        epsilon=float(epsilon),
        law=str(mechanism.law),
        releases=len(errors),
        mechanism=mechanism.name,
        slides_average=slides[1] if slides else None,
        slides_maximum=slides[0] if slides else None,
        **_theory(mechanism, float(1 / epsilon)),
        **ours,
    )


def _theory(mechanism: Mechanism, scale: float) -> dict[str, Any]:
    """Return what theory says about the errors of cells; nothing if their noise is not independent."""
    law = mechanism.law
    if not isinstance(mechanism, Flat):
        return dict.fromkeys(name for name in Row.__annotations__ if name.startswith("theory"))
    mean, deviation = _theory_of_average(law, scale)
    return {
        "theory_average": mean,
        "theory_standard_error": deviation / math.sqrt(CELLS),
        "theory_maximum": _mean_maximum(law, scale),
        "theory_maximum_low": _maximum_quantile(law, scale, 0.025),
        "theory_maximum_high": _maximum_quantile(law, scale, 0.975),
    }


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
    """Return the experiment as Markdown tables: slides, theory and our releases, and then what one would publish today.

    The last table has independent Laplace noise, as on the slides, beside the adaptive tree.
    """
    flat = [row for row in rows if row.mechanism == Flat.name]
    average = _table(flat, "theory", _average_cells)
    largest = _table(flat, "theory (95 % band)", _largest_cells)
    return (
        f"Average error of a cell\n\n{average}\n\nLargest error of any cell\n\n{largest}\n\n"
        f"Then and now, {rows[0].releases} releases each (lowest to highest)\n\n{_then_and_now(rows)}"
    )


def _table(rows: Sequence[Row], theory: str, cells: Callable[[Row], list[str]]) -> str:
    head = ["noise", "ε", "slides", theory, f"ours, {rows[0].releases} releases (lowest to highest)"]
    return markdown([head, *([row.law, f"{row.epsilon:g}", *cells(row)] for row in rows)])


def _average_cells(row: Row) -> list[str]:
    return [
        "" if row.slides_average is None else f"{row.slides_average:,.2f}",
        f"{row.theory_average:,.3f} ± {row.theory_standard_error:.2g}",
        _summary(row, "average", 3),
    ]


def _largest_cells(row: Row) -> list[str]:
    return [
        "" if row.slides_maximum is None else f"{row.slides_maximum:,.0f}",
        _summary(row, "theory_maximum", 1),
        _summary(row, "maximum", 1),
    ]


def _summary(row: Row, name: str, digits: int) -> str:
    value, low, high = (f"{getattr(row, name + ending):,.{digits}f}" for ending in ("", "_low", "_high"))
    return f"{value} ({low} to {high})"


def _then_and_now(rows: Sequence[Row]) -> str:
    then = [row for row in rows if row.mechanism == Flat.name and row.law == Law.LAPLACE]
    now = [row for row in rows if row.mechanism == Adaptive.name]
    lines = [["error of", "ε", "then: independent noise", "now: adaptive tree"]]
    for name, (words, digits) in _ERRORS.items():
        for before, after in zip(then, now, strict=True):
            lines.append([words, f"{before.epsilon:g}", *(_summary(row, name, digits) for row in (before, after))])
    return markdown(lines)


def zeros_note() -> str:
    """Say how wrong a map of zeros would be, which costs no privacy: a release with larger errors is useless."""
    truth = _Truth.known()
    average, largest, random, one_percent = truth.errors(np.zeros(truth.counts.shape))
    return (
        f"For comparison: a map of zeros is off by {average:.3f} in an average cell, by {largest:.0f} in the worst "
        f"cell, by {random:,.0f} in an average random box and by {one_percent:,.0f} in an average box of 1 % of the "
        "area."
    )


def write_csv(rows: Sequence[Row], path: Path) -> None:
    """Write every number of the tables as CSV, one row for each law and ε."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, fieldnames=list(asdict(rows[0])))
    writer.writeheader()
    writer.writerows(asdict(row) for row in rows)
    write_all({path: text.getvalue().encode()}, overwrite=True)


def draw_maps(epsilons: Sequence[Fraction] = EPSILONS, *, seed: int = 1) -> Figure:
    """Draw the true map, a row of releases with independent noise and a row of adaptive trees, in the same colours."""
    import matplotlib.pyplot as plt
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    from spatialdp.outputs.maps.colours import Classes
    from spatialdp.outputs.maps.drawing import draw_cells

    truth, classes = _Truth.known(), Classes(CLASS_BREAKS)
    figure = plt.figure(figsize=(21.6, 14.6), layout=ConstrainedLayoutEngine(h_pad=0.1, rect=(0, 0.01, 1, 0.98)))
    top, then, now = figure.subfigures(3, 1, squeeze=False, height_ratios=(1.7, 1, 1)).flat
    left, right = top.subplots(1, 2)
    draw_cells(left, truth.grid, truth.counts, classes=classes)
    left.set_title("True counts (public data)", fontsize=_LARGE)
    right.set_axis_off()
    classes.legend(right, "Junctions in a cell", CLASS_NAMES, fontsize=_LARGE)
    shape = truth.grid.shape
    _draw_row(then, truth, Flat(shape, law=Law.LAPLACE), epsilons, seed)
    then.suptitle("Then: independent noise for each cell", fontsize=_LARGE)
    _draw_row(now, truth, Adaptive(shape), epsilons, seed)
    now.suptitle("Now: adaptive tree, at the same ε", fontsize=_LARGE)
    return figure


def _draw_row(part: SubFigure, truth: _Truth, mechanism: Mechanism, epsilons: Sequence[Fraction], seed: int) -> None:
    """Draw one release for each ε, side by side."""
    from spatialdp.outputs.maps.colours import Classes
    from spatialdp.outputs.maps.drawing import draw_cells

    for ax, epsilon in zip(part.subplots(1, len(epsilons), squeeze=False).flat, epsilons, strict=True):
        values = truth.release(mechanism, epsilon, (seed,)).estimate.values
        draw_cells(ax, truth.grid, values, classes=Classes(CLASS_BREAKS))
        average = truth.errors(values)[0]
        error = f"{average:.1f}" if average < 9.95 else f"{average:,.0f}"
        ax.set_title(f"ε = {float(epsilon):g}: average error {error}", fontsize=_SMALL)
