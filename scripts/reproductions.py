"""Four published findings, measured again beside exact theory: what noise costs, and what lowers it.

Writes `reproduction_budgets`, `reproduction_wavelet`, `reproduction_consistency` and `reproduction_exchange`, each as
CSV and PNG. Lines are what theory gives, computed without data; points are releases of real records, with 95 %
confidence intervals. `docs/reproductions.md` says what they are to be compared with.
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
from spatialdp.evaluation.figures import STYLES, dress, finish, label_lines, summary
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
ENDS = "all but the two ends"  # a single range, not drawn
CAPTION = f"Lines: exact, from public parameters. Points: {{trials}} releases with 95 % confidence intervals; {NOTE}."


@dataclass(frozen=True)
class Point:
    """Root-mean-square error of a workload: what theory expects, and what releases showed."""

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
    """Scaled error of so many copies of the records at a smaller ε, over that of the records themselves."""

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
class Question:
    """A workload, and where its errors are drawn."""

    load: Workload
    panel: str
    x: float


@dataclass(frozen=True)
class Study:
    """Records, and how often they are released."""

    data: Data
    trials: int
    seed: int

    def points(self, mechanisms: Mechanisms, questions: Sequence[Question]) -> Iterator[Point]:
        """Errors of mechanisms whose structure is public, at ε = 1; the same releases answer all questions."""
        held = {"one cell": sdp.Flat((1, 1)), "uniform": sdp.Uniform(), **mechanisms}  # in place of larger baselines
        loads = [question.load for question in questions]
        options: dict[str, Any] = {"metrics": ("noise_rmse",), "seed": self.seed}
        frame = sdp.evaluate(held, self.data.points, self.data.domain, loads, EPSILON, self.trials, **options)
        means = summary(frame.assign(value=frame["value"] ** 2), ["mechanism", "workload"])
        for question, (name, mechanism) in product(questions, mechanisms.items()):
            (row,) = means[(means["mechanism"] == name) & (means["workload"] == question.load.name)].itertuples()
            factor = np.exp((row.high - row.mean) / row.mean)  # of the logarithm's interval, which stays above zero
            low, middle, high = (float(np.sqrt(end)) for end in (row.mean / factor, row.mean, row.mean * factor))
            assert question.load.boxes is not None
            expected = mechanism.expected_error(self.data.domain, question.load.boxes, epsilon=EPSILON)
            size = len(question.load)
            yield Point(question.panel, name, question.x, expected, middle, low, high, size, self.trials)


# --- the four studies ------------------------------------------------------------------------------


def budgets(study: Study, *, small: bool) -> list[Point]:
    """Four quadtrees against their height: budgets equal or growing, with and without least squares."""
    domain = study.data.domain
    points: list[Point] = []
    loads = [sdp.workload.random_boxes(domain, 500, seed=study.seed), *sdp.workload.area_boxes(domain, [0.01], 500)]
    for height in progress(range(3, (6 if small else HEIGHT) + 1)):
        points += study.points(quadtrees(height), [Question(load, load.name, height) for load in loads])
    return points


def quadtrees(height: int) -> Mechanisms:
    """Under the names that Cormode et al. gave them."""
    return {
        "quad-baseline": sdp.Quadtree(height, budget="uniform", consistent=False),
        "quad-geo": sdp.Quadtree(height, consistent=False),
        "quad-post": sdp.Quadtree(height, budget="uniform"),
        "quad-opt": sdp.Quadtree(height),
    }


def wavelet(study: Study, *, small: bool) -> list[Point]:
    """Flat noise and the Haar wavelet as the domain grows, on a row of cells and on a square."""
    domain = study.data.domain
    rows = [(2**k, 1) for k in range(3, (8 if small else ROW.bit_length() - 1) + 1)]
    squares = [(2**k, 2**k) for k in range(2, (5 if small else SQUARE.bit_length() - 1) + 1)]
    points: list[Point] = []
    for shape in progress([*rows, *squares]):
        load = sdp.workload.random_boxes(domain, 1000, shape=shape, seed=study.seed)
        panel = "a row of cells" if shape[1] == 1 else "a square of cells"
        held: Mechanisms = {"Flat": sdp.Flat(shape), "Wavelet": sdp.Wavelet(shape)}
        points += study.points(held, [Question(load, panel, shape[0] * shape[1])])
    return points


def consistency(study: Study, *, small: bool) -> list[Point]:
    """A binary hierarchy over a row of cells, as measured and made consistent, against the length of the range."""
    cells = 2**8 if small else ROW
    shape, domain = (cells, 1), study.data.domain
    held = {"Flat": sdp.Flat(shape)} | {
        name: sdp.Hierarchy(shape, branching=2, levels="uniform", root=True, consistent=fit)
        for name, fit in (("as measured", False), ("consistent", True))
    }
    lengths = [2**k for k in range(cells.bit_length() - 1)]
    questions = [Question(ranges(domain, cells, length, study.seed), "ranges", length) for length in lengths]
    inner = Question(ranges(domain, cells, cells - 2, study.seed), ENDS, cells - 2)
    return list(study.points(held, [*questions, inner]))


def ranges(domain: sdp.Domain, cells: int, length: int, seed: int) -> Workload:
    """Ranges of so many cells of a row, at random places; all but the two ends is one range only."""
    starts = np.unique(np.random.default_rng((seed, length)).integers(0, cells - length + 1, 1000))
    starts = np.array([1]) if length == cells - 2 else starts
    edges, (_, ymin, _, ymax) = domain.grid((cells, 1)).x_edges, domain.bounds
    low, high = np.full(starts.size, ymin), np.full(starts.size, ymax)
    return Workload(f"ranges of {length}", np.stack([edges[starts], low, edges[starts + length], high], axis=1))


def exchange(study: Study, *, small: bool) -> list[Ratio]:
    """The same records in 1, 10 and 100 copies, at ε, ε/10 and ε/100: scaled errors should agree."""
    data = study.data
    base = 500 if small else 10_000
    chosen = np.random.default_rng(study.seed).permutation(data.records)[:base]
    load = sdp.workload.random_boxes(data.domain, 1000, seed=study.seed)
    shape = (16, 16) if small else (256, 256)
    height = 4 if small else 8
    held = {
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
        found = [
            _scaled(study, held, np.repeat(chosen, copies), load, strength) for copies in COPIES[: 2 if small else 3]
        ]
        for name in held:
            rows += [_ratio(name, strength, found[0][name], line[name]) for line in found]
    return rows


@dataclass(frozen=True)
class Scaled:
    """Scaled errors of the releases of so many records."""

    records: int
    epsilon: Fraction
    values: npt.NDArray[np.float64]

    @property
    def mean(self) -> float:
        """Over releases."""
        return float(self.values.mean())

    @property
    def half(self) -> float:
        """Half of the mean's 95 % confidence interval (Student's t), over the mean."""
        if self.values.size < 2:
            return 0.0
        deviation = self.values.std(ddof=1) / self.values.size**0.5
        return float(t.ppf(0.975, self.values.size - 1) * deviation / self.mean)


def _scaled(
    study: Study, mechanisms: Mechanisms, chosen: npt.NDArray[np.int64], load: Workload, strength: int
) -> dict[str, Scaled]:
    columns, rows = study.data.lattice
    epsilon = Fraction(strength, chosen.size)
    frame = sdp.evaluate(
        mechanisms,
        LatticePoints([(columns[chosen], rows[chosen])], study.data.domain),
        study.data.domain,
        load,
        epsilon,
        study.trials,
        metrics=("scaled_error",),
        seed=study.seed,
    )
    return {
        str(name): Scaled(chosen.size, epsilon, part["value"].to_numpy()) for name, part in frame.groupby("mechanism")
    }


def _ratio(name: str, strength: int, first: Scaled, other: Scaled) -> Ratio:
    """The interval of a ratio of two means, from those of their logarithms."""
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
    """One panel for each kind of query: theory as lines, releases as points with intervals."""
    import matplotlib.pyplot as plt

    panels = [panel for panel in dict.fromkeys(point.panel for point in points) if panel != ENDS]
    size = (1.8 + 4.6 * len(panels), 5)
    figure, axes = plt.subplots(1, len(panels), figsize=size, squeeze=False, sharey=len(panels) > 1)
    for ax, panel in zip(axes[0], panels, strict=True):
        here = [point for point in points if point.panel == panel]
        _panel(ax, here)
        ax.set(xlabel=label, title=panel if len(panels) > 1 else "")
    held = [point for point in points if point.panel in panels]
    limits = min(min(p.expected, p.low) for p in held) / 1.2, max(max(p.expected, p.high) for p in held) * 1.2
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
    dress(ax)


def draw_ratios(rows: Sequence[Ratio], trials: int) -> Figure:
    """One row for each mechanism: the ratio of scaled errors, which should be one."""
    import matplotlib.pyplot as plt

    strengths, methods = (list(dict.fromkeys(getattr(row, name) for row in rows)) for name in ("strength", "method"))
    figure, axes = plt.subplots(1, len(strengths), figsize=(10, 4.6), sharey=True, squeeze=False)
    records = sorted({row.records for row in rows})[1:]
    for ax, strength in zip(axes[0], strengths, strict=True):
        for number, (count, (colour, marker, _)) in enumerate(zip(records, STYLES[:2], strict=False)):
            here = [row for row in rows if row.strength == strength and row.records == count]
            y = np.arange(len(methods)) + 0.24 * (number - (len(records) - 1) / 2)
            middle = np.array([row.ratio for row in here])
            ends = [middle - [row.ratio_low for row in here], [row.ratio_high for row in here] - middle]
            name = f"{count:,} records at ε = {here[0].epsilon:g}"
            ax.errorbar(middle, y, xerr=ends, color=colour, marker=marker, linestyle="none", capsize=3, label=name)
        ax.axvline(1, color="0.6", linewidth=1)
        first = next(row for row in rows if row.strength == strength)
        ax.set(xlabel=f"scaled error over that of\n{first.records:,} records at ε = {first.epsilon:g}")
        ax.set_yticks(range(len(methods)), methods)
        dress(ax)
        ax.legend(fontsize="small", loc="lower center", bbox_to_anchor=(0.5, 1), frameon=False)
    axes[0, 0].invert_yaxis()
    caption = f"Means of {trials} releases with 95 % confidence intervals; {NOTE}. Every record in 1, 10 or 100 copies."
    figure.set_layout_engine("constrained")
    figure.suptitle("Scale and ε are exchangeable", fontsize="large")
    figure.supxlabel(caption, fontsize="small", x=0.01, ha="left")
    return figure


# --- all together ----------------------------------------------------------------------------------


@click.command(help=__doc__)
@click.option("--output", type=click.Path(file_okay=False, path_type=Path), default=Path("out"), show_default=True)
@click.option("--trials", type=click.IntRange(1), default=10, show_default=True, help="Releases for each point.")
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True)
@click.option("--small", is_flag=True, help="Small domains only, in seconds.")
def main(output: Path, trials: int, seed: int, small: bool) -> None:
    """Measure, write and draw."""
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
