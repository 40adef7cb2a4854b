"""Do four published findings about errors from noise hold? They are measured again, beside exact theory.

The script writes `reproduction_budgets`, `reproduction_wavelet`, `reproduction_consistency` and
`reproduction_exchange`, each as CSV and PNG. Lines are theory, computed without data; points are releases of real
records, with 95 % confidence intervals. `docs/reproductions.md` compares them with the published results.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import matplotlib
import numpy as np
import numpy.typing as npt
from common import NOTE, Data, progress, write_csv
from scipy.stats import t

import spatialdp as sdp
from spatialdp.datasets import DATASETS
from spatialdp.evaluation.figures import STYLES, finish, label_lines, style_axes, summary
from spatialdp.mechanisms import KdTree, Mechanism
from spatialdp.outputs.maps.save import save_figure
from spatialdp.records.points import LatticePoints
from spatialdp.workload import Workload

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Mechanisms = Mapping[str, Mechanism]

EPSILON = 1
ROW = 2**16  # cells of the longest row
HEIGHT = 10
SQUARE = 2**10  # cells along a side of the largest square
COPIES = (1, 10, 100)
STRENGTHS = (1000, 10_000)  # records times ε
ENDS = "all but the two ends"  # panel of a single range, which is in the table but not in the figure
CAPTION = f"Lines: exact, from public parameters. Points: {{trials}} releases with 95 % confidence intervals; {NOTE}."


@dataclass(frozen=True)
class Point:
    """Root-mean-square error of a workload, by theory and in releases."""

    panel: str
    method: str
    x: float
    expected: float
    measured: float
    low: float
    high: float
    queries: int
    trials: int
    noise: str = NOTE


@dataclass(frozen=True)
class Ratio:
    """Scaled error of copies of the records at a smaller ε, and its ratio to the error of one copy."""

    method: str
    strength: int
    records: int
    epsilon: float
    scaled_error: float
    low: float
    high: float
    ratio: float
    ratio_low: float
    ratio_high: float
    trials: int
    noise: str = NOTE


@dataclass(frozen=True)
class PlottedWorkload:
    """A workload, and the panel and place where its errors are drawn."""

    load: Workload
    panel: str
    x: float


@dataclass(frozen=True)
class Study:
    """Records, and the number and seed of their releases."""

    data: Data
    trials: int
    seed: int

    def points(self, mechanisms: Mechanisms, workloads: Sequence[PlottedWorkload]) -> Iterator[Point]:
        """Yield errors of mechanisms whose structure is public, at ε = 1; the same releases answer all workloads."""
        # Small baselines: without them, the evaluator would add larger ones.
        compared = {"one cell": sdp.Flat((1, 1)), "uniform": sdp.Uniform(), **mechanisms}
        loads = [plotted.load for plotted in workloads]
        options: dict[str, Any] = {"metrics": ("noise_rmse",), "seed": self.seed}
        frame = sdp.evaluate(compared, self.data.points, self.data.domain, loads, EPSILON, self.trials, **options)
        means = summary(frame.assign(value=frame["value"] ** 2), ["mechanism", "workload"])
        for plotted, (name, mechanism) in product(workloads, mechanisms.items()):
            (row,) = means[(means["mechanism"] == name) & (means["workload"] == plotted.load.name)].itertuples()
            factor = np.exp((row.high - row.mean) / row.mean)  # an interval of the logarithm stays above zero
            low, middle, high = (float(np.sqrt(end)) for end in (row.mean / factor, row.mean, row.mean * factor))
            assert plotted.load.boxes is not None
            expected = mechanism.expected_error(self.data.domain, plotted.load.boxes, epsilon=EPSILON)
            size = len(plotted.load)
            yield Point(plotted.panel, name, plotted.x, expected, middle, low, high, size, self.trials)


# --- the four studies ------------------------------------------------------------------------------


def budgets(study: Study, *, small: bool) -> list[Point]:
    """Measure four quadtrees of each height: budgets equal or growing, with and without least squares."""
    domain = study.data.domain
    points: list[Point] = []
    loads = [sdp.workload.random_boxes(domain, 500, seed=study.seed), *sdp.workload.area_boxes(domain, [0.01], 500)]
    for height in progress(range(3, (6 if small else HEIGHT) + 1)):
        points += study.points(quadtrees(height), [PlottedWorkload(load, load.name, height) for load in loads])
    return points


def quadtrees(height: int) -> Mechanisms:
    """Return four quadtrees under the names that Cormode et al. gave them."""
    return {
        "quad-baseline": sdp.Quadtree(height, budget="uniform", consistent=False),
        "quad-geo": sdp.Quadtree(height, consistent=False),
        "quad-post": sdp.Quadtree(height, budget="uniform"),
        "quad-opt": sdp.Quadtree(height),
    }


def wavelet(study: Study, *, small: bool) -> list[Point]:
    """Measure flat noise and the Haar wavelet as the number of cells grows, on a row and on a square of cells."""
    domain = study.data.domain
    rows = [(2**k, 1) for k in range(3, (8 if small else ROW.bit_length() - 1) + 1)]
    squares = [(2**k, 2**k) for k in range(2, (5 if small else SQUARE.bit_length() - 1) + 1)]
    points: list[Point] = []
    for shape in progress([*rows, *squares]):
        load = sdp.workload.random_boxes(domain, 1000, shape=shape, seed=study.seed)
        panel = "a row of cells" if shape[1] == 1 else "a square of cells"
        compared: Mechanisms = {"Flat": sdp.Flat(shape), "Wavelet": sdp.Wavelet(shape)}
        points += study.points(compared, [PlottedWorkload(load, panel, shape[0] * shape[1])])
    return points


def consistency(study: Study, *, small: bool) -> list[Point]:
    """Measure a binary hierarchy over a row of cells, as measured and made consistent, for each length of ranges."""
    cells = 2**8 if small else ROW
    shape, domain = (cells, 1), study.data.domain
    compared = {"Flat": sdp.Flat(shape)} | {
        name: sdp.Hierarchy(shape, branching=2, levels="uniform", root=True, consistent=fit)
        for name, fit in (("as measured", False), ("consistent", True))
    }
    lengths = [2**k for k in range(cells.bit_length() - 1)]
    workloads = [PlottedWorkload(ranges(domain, cells, length, study.seed), "ranges", length) for length in lengths]
    inner = PlottedWorkload(ranges(domain, cells, cells - 2, study.seed), ENDS, cells - 2)
    return list(study.points(compared, [*workloads, inner]))


def ranges(domain: sdp.Domain, cells: int, length: int, seed: int) -> Workload:
    """Return ranges of `length` cells of a row at random places; there is one range of all cells but the two ends."""
    starts = np.unique(np.random.default_rng((seed, length)).integers(0, cells - length + 1, 1000))
    starts = np.array([1]) if length == cells - 2 else starts
    edges, (_, ymin, _, ymax) = domain.grid((cells, 1)).x_edges, domain.bounds
    low, high = np.full(starts.size, ymin), np.full(starts.size, ymax)
    return Workload(f"ranges of {length}", np.stack([edges[starts], low, edges[starts + length], high], axis=1))


def exchange(study: Study, *, small: bool) -> list[Ratio]:
    """Measure 1, 10 and 100 copies of the same records at ε, ε/10 and ε/100: their scaled errors should agree."""
    data = study.data
    base = 500 if small else 10_000
    sample = np.random.default_rng(study.seed).permutation(data.records)[:base]
    load = sdp.workload.random_boxes(data.domain, 1000, seed=study.seed)
    shape = (16, 16) if small else (256, 256)
    height = 4 if small else 8
    compared = {
        "flat": sdp.Flat(shape),
        "uniform": sdp.Uniform(),
        "quadtree": sdp.Quadtree(height),
        "hierarchy": sdp.Hierarchy(shape),
        "wavelet": sdp.Wavelet(shape),
        "tailored": sdp.Tailored(shape),
        "kd-standard": KdTree(height - 2),
        "kd-hybrid": KdTree(height - 2, data_levels=height // 2 - 1),
    }
    rows: list[Ratio] = []
    for strength in progress(STRENGTHS):
        errors = [
            _scaled(study, compared, np.repeat(sample, copies), load, strength)
            for copies in COPIES[: 2 if small else 3]
        ]
        for name in compared:
            rows += [_ratio(name, strength, errors[0][name], line[name]) for line in errors]
    return rows


@dataclass(frozen=True)
class Scaled:
    """Scaled errors of releases of `records` records."""

    records: int
    epsilon: Fraction
    values: npt.NDArray[np.float64]

    @property
    def mean(self) -> float:
        """Mean over releases."""
        return float(self.values.mean())

    @property
    def half(self) -> float:
        """Half-width of the mean's 95 % confidence interval (Student's t), divided by the mean."""
        if self.values.size < 2:
            return 0.0
        deviation = self.values.std(ddof=1) / self.values.size**0.5
        return float(t.ppf(0.975, self.values.size - 1) * deviation / self.mean)


def _scaled(
    study: Study, mechanisms: Mechanisms, sample: npt.NDArray[np.int64], load: Workload, strength: int
) -> dict[str, Scaled]:
    columns, rows = study.data.lattice
    epsilon = Fraction(strength, sample.size)
    frame = sdp.evaluate(
        mechanisms,
        LatticePoints([(columns[sample], rows[sample])], study.data.domain),
        study.data.domain,
        load,
        epsilon,
        study.trials,
        metrics=("scaled_error",),
        seed=study.seed,
    )
    return {
        str(name): Scaled(sample.size, epsilon, part["value"].to_numpy()) for name, part in frame.groupby("mechanism")
    }


def _ratio(name: str, strength: int, first: Scaled, other: Scaled) -> Ratio:
    """Return the ratio of two means, with its interval from the intervals of their logarithms."""
    ratio = other.mean / first.mean
    factor = 1.0 if other is first else float(np.exp(np.hypot(first.half, other.half)))
    return Ratio(
        method=name,
        strength=strength,
        records=other.records,
        epsilon=float(other.epsilon),
        scaled_error=other.mean,
        low=other.mean * (1 - other.half),
        high=other.mean * (1 + other.half),
        ratio=ratio,
        ratio_low=ratio / factor,
        ratio_high=ratio * factor,
        trials=other.values.size,
    )


# --- drawing ---------------------------------------------------------------------------------------


def draw_points(points: Sequence[Point], title: str, label: str, trials: int, ending: str = "") -> Figure:
    """Draw one panel for each kind of query: theory as lines, releases as points with intervals."""
    import matplotlib.pyplot as plt

    panels = [panel for panel in dict.fromkeys(point.panel for point in points) if panel != ENDS]
    size = (1.8 + 4.6 * len(panels), 5)
    figure, axes = plt.subplots(1, len(panels), figsize=size, squeeze=False, sharey=len(panels) > 1)
    for ax, panel in zip(axes[0], panels, strict=True):
        _panel(ax, [point for point in points if point.panel == panel])
        ax.set(xlabel=label, title=panel if len(panels) > 1 else "")
    inside = [point for point in points if point.panel in panels]
    limits = min(min(p.expected, p.low) for p in inside) / 1.2, max(max(p.expected, p.high) for p in inside) * 1.2
    axes[0, 0].set_ylim(limits)
    axes[0, 0].set_ylabel("root-mean-square error (records)")
    finish(figure, title, f"{CAPTION.format(trials=trials)} {ending}")
    label_lines(axes[0, -1], gap=0.055)
    return figure


def _panel(ax: Axes, points: Sequence[Point]) -> None:
    from matplotlib.ticker import LogLocator

    ax.set_yscale("log")
    for (colour, marker, dash), name in zip(STYLES, dict.fromkeys(point.method for point in points), strict=False):
        line = sorted((point for point in points if point.method == name), key=lambda point: point.x)
        x, middle = [point.x for point in line], np.array([point.measured for point in line])
        ax.plot(x, [point.expected for point in line], color=colour, linestyle=dash, linewidth=1.3, label=name)
        ends = [middle - [point.low for point in line], [point.high for point in line] - middle]
        ax.errorbar(x, middle, ends, color=colour, marker=marker, markersize=4.5, linestyle="none", capsize=2)
    if max(point.x for point in points) > 100:
        ax.set_xscale("log", base=2)
        ax.xaxis.set_major_locator(LogLocator(base=16))
    else:
        ax.set_xticks(sorted({point.x for point in points}))
    style_axes(ax)


def draw_ratios(rows: Sequence[Ratio], trials: int) -> Figure:
    """Draw one row for each mechanism: the ratio of scaled errors, which should be one."""
    import matplotlib.pyplot as plt

    strengths, methods = (list(dict.fromkeys(getattr(row, name) for row in rows)) for name in ("strength", "method"))
    figure, axes = plt.subplots(1, len(strengths), figsize=(10, 4.6), sharey=True, squeeze=False)
    records = sorted({row.records for row in rows})[1:]
    for ax, strength in zip(axes[0], strengths, strict=True):
        for number, (count, (colour, marker, _)) in enumerate(zip(records, STYLES[:2], strict=False)):
            series = [row for row in rows if row.strength == strength and row.records == count]
            y = np.arange(len(methods)) + 0.24 * (number - (len(records) - 1) / 2)
            middle = np.array([row.ratio for row in series])
            ends = [middle - [row.ratio_low for row in series], [row.ratio_high for row in series] - middle]
            name = f"{count:,} records at ε = {series[0].epsilon:g}"
            ax.errorbar(middle, y, xerr=ends, color=colour, marker=marker, linestyle="none", capsize=3, label=name)
        ax.axvline(1, color="0.6", linewidth=1)
        first = next(row for row in rows if row.strength == strength)
        ax.set(xlabel=f"scaled error relative to\n{first.records:,} records at ε = {first.epsilon:g}")
        ax.set_yticks(range(len(methods)), methods)
        style_axes(ax)
        ax.legend(fontsize="small", loc="lower center", bbox_to_anchor=(0.5, 1), frameon=False)
    axes[0, 0].invert_yaxis()
    caption = f"Means of {trials} releases with 95 % confidence intervals; {NOTE}. Each record has 1, 10 or 100 copies."
    figure.set_layout_engine("constrained")
    figure.suptitle("Scale and ε are exchangeable", fontsize="large")
    figure.supxlabel(caption, fontsize="small", x=0.01, ha="left")
    return figure


# --- command line ----------------------------------------------------------------------------------


@click.command(help=__doc__)
@click.option("--output", type=click.Path(file_okay=False, path_type=Path), default=Path("out"), show_default=True)
@click.option(
    "--trials", type=click.IntRange(1), default=10, show_default=True, help="Number of releases for each point."
)
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True)
@click.option("--small", is_flag=True, help="Use small domains only; takes seconds.")
def main(output: Path, trials: int, seed: int, small: bool) -> None:
    """Run the four studies; write tables and figures."""
    matplotlib.use("Agg")
    output.mkdir(parents=True, exist_ok=True)
    data = DATASETS["highways-us"]
    study = Study(Data(data.title, data.points(), data.domain), trials, seed)
    title = "Quadtrees: growing budgets and least squares"
    _save(budgets(study, small=small), output / "reproduction_budgets", title, "height", trials, "ε = 1.")
    title = "Flat noise and the Haar wavelet as the domain grows"
    ending = "Any box of whole cells is equally likely; ε = 1."
    _save(wavelet(study, small=small), output / "reproduction_wavelet", title, "number of cells", trials, ending)
    points = consistency(study, small=small)
    cells = round(max(point.x for point in points)) + 2
    title = f"A binary hierarchy over a row of {cells:,} cells"
    ending = "Up to 1,000 ranges of each length; ε = 1, the same on all levels."
    _save(points, output / "reproduction_consistency", title, "length of the range in cells", trials, ending)
    ratios = exchange(study, small=small)
    write_csv(ratios, output / "reproduction_exchange.csv")
    save_figure(draw_ratios(ratios, trials), output / "reproduction_exchange.png")


def _save(points: Sequence[Point], stem: Path, title: str, label: str, trials: int, ending: str) -> None:
    write_csv(points, stem.with_suffix(".csv"))
    save_figure(draw_points(points, title, label, trials, ending), stem.with_suffix(".png"))


if __name__ == "__main__":
    main()
