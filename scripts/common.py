"""Code that the experiments share: options, data, boxes with their true counts, errors and tables.

Experiments compare releases with the truth, so their results are for people who may see the records. All noise is
seeded: the figures can be made again, and the releases behind them are not private.
"""

from __future__ import annotations

import csv
import io
import sys
import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any, TypeVar

import click
import numpy as np
import numpy.typing as npt
from tqdm import tqdm

from spatialdp import Domain, KdTree, Points, Quadtree, Release, SeededNoise, datasets
from spatialdp._support.atomic import write_all
from spatialdp.records.points import lattice_points
from spatialdp.records.truth import Counter
from spatialdp.space.crs import geographic

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Shape = tuple[float, float]
T = TypeVar("T")

FLOOR = 0.001  # relative errors divide by at least this share of the records
UNITED_STATES = (-125.0, 24.0, -66.0, 50.0)
LINES = 0.3  # share of ε that kd-trees spend on split lines, as in the paper
NOTE = "seeded noise, not private"
MOST_TRIES = 1000  # rounds of drawing boxes that hold a record


# --- options ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Settings:
    """The values of the command line's options; `options` says what each option means."""

    output: Path
    seed: int
    releases: int
    queries: int
    epsilons: tuple[Fraction, ...]
    shapes: tuple[Shape, ...]
    points: Path | None
    x: str
    y: str
    bounds: tuple[float, ...] | None
    crs: str | None

    @cached_property
    def data(self) -> Data:
        """The records: the highway junctions of spatialdp, or those of the user's Parquet file."""
        if self.points is None:
            domain = Domain(UNITED_STATES, crs="EPSG:4326")
            return Data("US highway junctions", datasets.us_highway_junctions(), domain)
        if self.bounds is None:
            raise click.UsageError(
                "--points was given without --bounds; give --bounds XMIN,YMIN,XMAX,YMAX. Bounds must be public and "
                "must never come from the records."
            )
        return Data(self.points.stem, read_points(self.points, self.x, self.y), Domain(self.bounds, crs=self.crs))

    def stream(self, *place: int) -> SeededNoise:
        """Return a source of noise; each place in the experiment has its own stream."""
        return SeededNoise((self.seed, *place))


def options(*, releases: int, epsilons: str, queries: int = 300) -> Callable[[Callable[..., None]], click.Command]:
    """Turn a function of `Settings` into a command with the options that all experiments share."""
    shared: list[tuple[tuple[str, ...], dict[str, Any]]] = [
        (
            ("--output",),
            {"type": click.Path(path_type=Path), "default": Path("out"), "help": "Folder for the results."},
        ),
        (("--seed",), {"type": click.IntRange(0), "default": 1, "help": "Seed of the noise."}),
        (
            ("--releases",),
            {"type": click.IntRange(1), "default": releases, "help": "Number of releases for each setting."},
        ),
        (("--queries",), {"type": click.IntRange(1), "default": queries, "help": "Number of boxes of each shape."}),
        (("--epsilons",), {"default": epsilons, "callback": _parsed(Fraction, "0.1,1"), "help": "Privacy budgets."}),
        (
            ("--shapes",),
            {
                "default": "1x1,5x5,10x10,15x0.2",
                "callback": _parsed(_shape, "1x1,15x0.2"),
                "help": "Shapes of the boxes, width x height.",
            },
        ),
        (("--points",), {"type": click.Path(exists=True, path_type=Path), "help": "Parquet file of points."}),
        (("--x",), {"default": "lon", "help": "Column of x in --points."}),
        (("--y",), {"default": "lat", "help": "Column of y in --points."}),
        (
            ("--bounds",),
            {"callback": _parsed(float, "-125,24,-66,50"), "help": "XMIN,YMIN,XMAX,YMAX: public bounds for --points."},
        ),
        (("--crs",), {"help": "CRS of --points, such as EPSG:4326."}),
    ]

    def wrap(body: Callable[..., None]) -> click.Command:
        def run(**values: Any) -> None:
            import matplotlib

            matplotlib.use("Agg")
            settings = Settings(**values)
            settings.output.mkdir(parents=True, exist_ok=True)
            body(settings)

        run.__doc__ = body.__doc__
        command: Any = run
        for names, details in reversed(shared):
            command = click.option(*names, show_default=True, **details)(command)
        return click.command()(command)

    return wrap


def _parsed(read: Callable[[str], Any], example: str) -> Callable[[click.Context, click.Parameter, str | None], Any]:
    """Return a click callback that reads comma-separated values; its error message shows an example."""

    def parse(_context: click.Context, _option: click.Parameter, text: str | None) -> Any:
        try:
            return None if text is None else tuple(read(part) for part in text.split(","))
        except (ValueError, ZeroDivisionError):
            raise click.BadParameter(
                f"{text!r} was given; give values with commas between them, such as {example}"
            ) from None

    return parse


def _shape(text: str) -> Shape:
    width, height = text.split("x")
    return float(width), float(height)


# --- data and exact answers ------------------------------------------------------------------------


def read_points(path: Path, x: str, y: str) -> Points:
    """Read two columns of a Parquet file as points."""
    import pyarrow.parquet as pq

    table = pq.read_table(path, columns=[x, y])
    return Points(table[x].to_numpy(), table[y].to_numpy())


@dataclass(frozen=True, eq=False)
class Data:
    """Records in a public domain, and their true counts."""

    name: str
    points: Points
    domain: Domain

    @cached_property
    def lattice(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """Lattice columns and rows of the records in the domain."""
        return lattice_points(self.points, self.domain)

    @property
    def records(self) -> int:
        """Number of records in the domain."""
        return self.lattice[0].size

    @property
    def floor(self) -> float:
        """Least count that a relative error divides by."""
        return FLOOR * self.records

    @cached_property
    def _counter(self) -> Counter:
        return Counter(*self.lattice)

    def count(self, boxes: Floats) -> Integers:
        """Return the true counts of boxes in domain coordinates, with the library's rule for records on edges."""
        return self._counter.count(self.domain.boxes(boxes))

    def __str__(self) -> str:
        bounds = ", ".join(f"{bound:g}" for bound in self.domain.bounds)
        return f"{self.name}, {self.records:,} records in ({bounds})"


@dataclass(frozen=True, eq=False)
class Workload:
    """Boxes of one shape and their true counts, which are all above zero."""

    shape: Shape
    boxes: Floats
    truth: Integers

    @property
    def name(self) -> str:
        """Name of the shape, such as 15 × 0.2."""
        return " × ".join(f"{side:g}" for side in self.shape)


def workload(data: Data, shape: Shape, count: int, seed: int) -> Workload:
    """Draw boxes at uniformly random places inside the domain, until enough of them have a true count above zero."""
    random = np.random.default_rng((seed, *(round(1e6 * side) for side in shape)))
    room = np.array(data.domain.size) - shape
    if room.min() < 0:
        raise click.UsageError(
            f"boxes of {shape[0]:g} x {shape[1]:g} do not fit into the domain; choose other --shapes."
        )
    boxes, truth = np.empty((0, 4)), np.empty(0, dtype=np.int64)
    for _ in range(MOST_TRIES):
        corner = data.domain.bounds[:2] + random.random((count, 2)) * room
        candidates = np.hstack([corner, corner + shape])
        counts = data.count(candidates)
        boxes, truth = np.vstack([boxes, candidates[counts > 0]]), np.concatenate([truth, counts[counts > 0]])
        if truth.size >= count:
            return Workload(shape, boxes[:count], truth[:count])
    raise click.UsageError(f"hardly any box of {shape[0]:g} x {shape[1]:g} holds a record; choose other --shapes.")


# --- errors ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A mechanism and its name in the literature."""

    name: str
    mechanism: Quadtree | KdTree


@dataclass(frozen=True)
class Row:
    """Errors of one mechanism at one ε for one shape of boxes.

    The error of a release is the median over queries of |estimate - truth| / max(truth, floor), in per cent. The
    columns are the quartiles of this error over releases.
    """

    data: str
    method: str
    private_by_design: bool
    height: int
    epsilon: float
    shape: str
    queries: int
    releases: int
    floor: float
    error_lower: float
    error: float
    error_upper: float
    noise: str = NOTE


def relative_errors(release: Release, loads: Sequence[Workload], floor: float) -> Floats:
    """Return the median relative error for each workload, in per cent."""
    estimates = release.answer(np.concatenate([load.boxes for load in loads]))
    truth = np.concatenate([load.truth for load in loads])
    errors = 100 * np.abs(estimates - truth) / np.maximum(truth, floor)
    ends = np.cumsum([load.truth.size for load in loads])[:-1]
    return np.array([np.median(part) for part in np.split(errors, ends)])


def run(cases: Sequence[Case], settings: Settings) -> list[Row]:
    """Release every case at every ε, `settings.releases` times, and measure the errors."""
    data = settings.data
    print(f"{data}; floor of relative errors: {data.floor:.1f} records ({100 * FLOOR:g} %); {NOTE}")
    loads = [workload(data, shape, settings.queries, settings.seed) for shape in settings.shapes]
    steps = list(product(enumerate(cases), settings.epsilons))
    rows: list[Row] = []
    for (number, case), epsilon in progress(steps):
        errors = np.empty((settings.releases, len(loads)))
        for trial in range(settings.releases):
            noise = settings.stream(number, epsilon.numerator, epsilon.denominator, trial)
            release = case.mechanism.release(data.points, data.domain, epsilon=epsilon, noise=noise)
            errors[trial] = relative_errors(release, loads, data.floor)
        rows += [_row(case, epsilon, load, part, settings) for load, part in zip(loads, errors.T, strict=True)]
    return rows


def _row(case: Case, epsilon: Fraction, load: Workload, errors: Floats, settings: Settings) -> Row:
    lower, middle, upper = np.quantile(errors, (0.25, 0.5, 0.75))
    return Row(
        data=settings.data.name,
        method=case.name,
        private_by_design=case.mechanism.private,
        height=case.mechanism.height,
        epsilon=float(epsilon),
        shape=load.name,
        queries=load.truth.size,
        releases=errors.size,
        floor=round(settings.data.floor, 3),
        error_lower=round(float(lower), 4),
        error=round(float(middle), 4),
        error_upper=round(float(upper), 4),
    )


def progress(steps: Sequence[T]) -> Iterable[T]:
    """Show a progress bar on standard error; the number of steps is public."""
    bar: Iterable[T] = tqdm(steps, file=sys.stderr, desc="settings")
    return bar


def write_csv(rows: Sequence[Any], path: Path) -> None:
    """Write dataclass instances as the rows of a CSV file."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, fieldnames=list(asdict(rows[0])), lineterminator="\n")
    writer.writeheader()
    writer.writerows(asdict(row) for row in rows)
    write_all({path: text.getvalue().encode()}, overwrite=True)


def wrapped(text: str, width: int = 165) -> str:
    """Break a caption into lines."""
    return "\n".join(textwrap.wrap(text, width))


def _unit(domain: Domain) -> str:
    return "; box sides in degrees" if geographic(domain.crs) else ""


def error_caption(rows: Sequence[Row], settings: Settings) -> str:
    """Return the caption of an error figure: data, definition of the error, bands, ε and seed."""
    row, data, epsilons = rows[0], settings.data, [float(epsilon) for epsilon in settings.epsilons]
    return wrapped(
        f"Data: {data}{_unit(data.domain)}. Relative error: median over {row.queries} random boxes with a true count "
        f"above zero, |estimate − truth| / max(truth, {data.floor:.1f}), a floor of {100 * FLOOR:g} % of the records. "
        f"Line: median of {row.releases} releases; band: their quartiles. ε from {min(epsilons):g} to "
        f"{max(epsilons):g}. Seed {settings.seed}: {NOTE}."
    )
