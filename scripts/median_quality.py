"""How good are private medians, and how long do they take? Errors against ε and against time.

The medians are those of the records' x coordinates. The error of a split line is the distance of its rank from n / 2,
in per cent of the n records.
"""

from __future__ import annotations

import time
import timeit
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import product
from typing import TYPE_CHECKING

import common
import curves
import numpy as np
from cell_lines import cell_medians

from spatialdp import Flat, SeededNoise
from spatialdp.evaluation.figures import STYLES, finish, label_lines
from spatialdp.outputs.maps.save import save_figure
from spatialdp.privacy.neighbours import Neighbours
from spatialdp.privacy.noise.medians import Median, medians
from spatialdp.space.lattice import LATTICE, edge_lines

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SAMPLE = Fraction(1, 100)
CELLS, SIDE = 256, 64
TIMED = Fraction(1, 10)  # the ε of the comparison with time

Method = Callable[["Column", Fraction, SeededNoise], int]


@dataclass(frozen=True, eq=False)
class Column:
    """One coordinate of the records, sorted, on the lattice."""

    data: common.Data
    values: common.Integers

    def error(self, line: int) -> float:
        """Return the distance of a line's rank from the middle, in per cent of the records."""
        rank = np.searchsorted(self.values, line)
        return float(100 * abs(rank - self.values.size / 2) / self.values.size)

    @property
    def least_error(self) -> float:
        """Error of the best line, which may be above zero: a line cannot separate records with equal values."""
        middle = self.values[self.values.size // 2]
        return min(self.error(int(middle)), self.error(int(middle) + 1))


@dataclass(frozen=True)
class Row:
    """One method at one ε; quartiles of the rank error (per cent of the records) and of the time, over releases."""

    data: str
    method: str
    epsilon: float
    records: int
    releases: int
    error_lower: float
    error: float
    error_upper: float
    milliseconds_lower: float
    milliseconds: float
    milliseconds_upper: float
    noise: str = common.NOTE


def by_records(
    method: Median, column: Column, epsilon: Fraction, noise: SeededNoise, sampling: Fraction | None = None
) -> int:
    """Draw a private median from the records."""
    (line,) = medians(
        column.values,
        [0, column.values.size],
        [0],
        [LATTICE],
        method=method,
        epsilon=epsilon,
        neighbours=Neighbours.ADD_REMOVE,
        noise=noise,
        sampling=sampling,
    )
    return int(line)


def by_cells(shape: tuple[int, int], column: Column, epsilon: Fraction, noise: SeededNoise) -> int:
    """Find the median of a noisy grid, summed along y."""
    release = Flat(shape).release(column.data.points, column.data.domain, epsilon=epsilon, noise=noise)
    counts = release.estimate.values.sum(axis=0, keepdims=True)
    return int(cell_medians(counts, edge_lines(shape[0])[None])[0])


METHODS: dict[str, Method] = {
    "exponential": partial(by_records, Median.EXPONENTIAL),
    "smooth": partial(by_records, Median.SMOOTH),
    "noisy mean": partial(by_records, Median.NOISY_MEAN),
    f"cells, {CELLS} in 1D": partial(by_cells, (CELLS, 1)),
    f"cells, {SIDE} × {SIDE}": partial(by_cells, (SIDE, SIDE)),
    "exponential, 1 % sample": partial(by_records, Median.EXPONENTIAL, sampling=SAMPLE),
}


def measure(name: str, column: Column, epsilon: Fraction, settings: common.Settings) -> Row:
    """Draw a private median many times, and measure errors and times.

    The first call is not timed, because it makes tables. Times are processor times, because other programs on the
    machine change the time by the clock.
    """
    errors, times = np.empty(settings.releases), np.empty(settings.releases)
    place = (list(METHODS).index(name), epsilon.numerator, epsilon.denominator)
    METHODS[name](column, epsilon, settings.stream(*place))
    for trial in range(settings.releases):
        noise = settings.stream(*place, trial)
        start = time.process_time()
        line = METHODS[name](column, epsilon, noise)
        times[trial] = 1000 * (time.process_time() - start)
        errors[trial] = column.error(line)
    (e25, e50, e75), (t25, t50, t75) = (
        np.quantile(part, (0.25, 0.5, 0.75)).round(5).tolist() for part in (errors, times)
    )
    shared = (column.data.name, name, float(epsilon), column.values.size, settings.releases)
    return Row(*shared, e25, e50, e75, t25, t50, t75)


@common.options(releases=100, epsilons="0.001,0.003,0.01,0.03,0.1,0.3,1,3,10")
def main(settings: common.Settings) -> None:
    """Measure private medians; write `median_quality.csv` and `median_quality.png`.

    The options for queries and shapes have no effect here.
    """
    print(f"{settings.data}; {common.NOTE}")
    column = Column(settings.data, np.sort(settings.data.lattice[0]).astype(np.int64))
    steps = list(product(METHODS, settings.epsilons))
    rows = [measure(name, column, epsilon, settings) for name, epsilon in common.progress(steps)]
    common.write_csv(rows, settings.output / "median_quality.csv")
    save_figure(draw(rows, column, settings), settings.output / "median_quality.png")


def draw(rows: Sequence[Row], column: Column, settings: common.Settings) -> Figure:
    """Draw errors against ε on the left and against time on the right."""
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(12.5, 5.2))
    middle = column.error(LATTICE // 2)
    _draw_budgets(left, rows, column)
    timed = TIMED if TIMED in settings.epsilons else settings.epsilons[len(settings.epsilons) // 2]
    _draw_times(right, [row for row in rows if row.epsilon == float(timed)], float(timed), column)
    for ax in (left, right):
        ax.set_ylim(_on_axis(0.0, column) / 1.6, 90)
        ax.set_ylabel("rank error (% of the records)")
        ax.axhline(middle, color="0.5", linewidth=0.8, zorder=0)
        ax.axhline(_on_axis(column.least_error, column), color="0.5", linewidth=0.8, zorder=0)
    left.text(left.get_xlim()[1], middle, "middle of the domain, no data ", **_note(ha="right", va="bottom"))
    left.text(left.get_xlim()[0], _on_axis(column.least_error, column), " true median", **_note(va="bottom"))
    sorting = _sorting_time(column)
    right.axvline(sorting, color="0.5", linewidth=0.8, linestyle=":", zorder=1)
    right.text(sorting, 0.01, "sorting the column", rotation=90, **_note(ha="right", va="center"))
    finish(figure, "Private medians: quality against budget and time", _caption(rows, column, settings))
    for ax in (left, right):
        label_lines(ax, gap=0.05)
    return figure


def _sorting_time(column: Column) -> float:
    """Return the milliseconds to sort the records; all methods except the cells need them sorted, once."""
    return 200 * min(
        timeit.repeat(lambda: np.sort(column.data.lattice[0]), timer=time.process_time, number=5, repeat=5)
    )


def _note(**more: str) -> dict[str, str]:
    return {"color": "0.35", "fontsize": "small", **more}


def _on_axis(error: float, column: Column) -> float:
    """Return an error or half a record, whichever is larger: zero has no place on a logarithmic axis."""
    return max(error, 50 / column.values.size)


def _draw_budgets(ax: Axes, rows: Sequence[Row], column: Column) -> None:
    lines = []
    for name in METHODS:
        line = curves.curve([row for row in rows if row.method == name], "epsilon")
        parts = ([_on_axis(value, column) for value in part] for part in (line.lower, line.middle, line.upper))
        lines.append(curves.Curve(line.x, *parts))
    curves.draw_curves(ax, lines, list(METHODS))
    ax.set(xscale="log", xlabel="privacy budget ε of one median", title="against ε")


def _draw_times(ax: Axes, rows: Sequence[Row], epsilon: float, column: Column) -> None:
    """Draw a point for each method, with quartiles of time and of error."""
    from matplotlib.ticker import LogLocator

    for (colour, marker, _), row in zip(STYLES, rows, strict=False):
        x, y = row.milliseconds, _on_axis(row.error, column)
        across = [[x - row.milliseconds_lower], [row.milliseconds_upper - x]]
        up = [[y - min(_on_axis(row.error_lower, column), y)], [max(row.error_upper, y) - y]]
        bars = ax.errorbar(x, y, xerr=across, yerr=up, color=colour, marker=marker, markersize=6, linewidth=0.9)
        bars.lines[0].set_label(row.method)
    curves.draw_curves(ax, [])
    ax.set(xscale="log", xlabel="processor time for one median (ms)", title=f"against time, at ε = {epsilon:g}")
    ax.margins(x=0.25)
    ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))


def _caption(rows: Sequence[Row], column: Column, settings: common.Settings) -> str:
    epsilons = [row.epsilon for row in rows]
    return common.wrapped(
        f"Data: x coordinates of {settings.data}. Line or marker: median of {settings.releases} releases; band or "
        f"bars: their quartiles. ε from {min(epsilons):g} to {max(epsilons):g}, add-remove neighbours. Errors under "
        f"half a record are drawn at {50 / column.values.size:.1g} %. The error of the true median is that of the best "
        "line, which cannot separate equal values. Processor times are for sorted values, without the first call; the "
        f"values are sorted once, but cells need no sorting. Seed {settings.seed}: {common.NOTE}.",
        190,
    )


if __name__ == "__main__":
    main()
