"""Do intervals of adaptive trees cover the noise as often as they say, and is the total unbiased? Measured.

Counts decide how an adaptive tree goes on, so its noise is not that of a fixed tree: this script checks that the
unbiased reading is honest all the same. For each data set and ε, 128 x 128 cells are released 2,000 times. Each
release answers 30 boxes of each family along the grid's lines, and the whole domain. An interval about noise covers if
it contains what the same tree would answer without noise: its true leaf counts, spread evenly. The total is compared
with the number of records, in standard errors of its mean error; that of a least-squares fit of the same counts is
shown beside it.

Run it as ``python scripts/adaptive_coverage.py --output figures`` for the data sets that ship and made-up maps;
``--data FOLDER`` adds other Parquet files: of points (columns lon and lat, or x and y), each within the box around its
own points, which must be public, or of counts (columns dataset, i, j and count). Case and number of the release seed
the noise, so results can be made again. A line with a * misses a bar: coverage within 1.5, 1 and 0.7 points of 90, 95
and 99 %, and a mean error of the total within 3 standard errors.

The result is private-only for real data: it depends on the records. Here all data sets are public.
"""

from __future__ import annotations

import argparse
import csv
import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import cast

import numpy as np
import pandas as pd

import spatialdp as sdp
from spatialdp._support.arrays import Array, Floats, Integers
from spatialdp.datasets import DATASETS
from spatialdp.estimates.answers import About, Answers
from spatialdp.estimates.decomposition import Decomposition
from spatialdp.estimates.fields.field import Field
from spatialdp.records.counting import count_cells
from spatialdp.space.boxes.subdivision import block_sums, summed_areas
from spatialdp.space.domain import Domain, Grid
from spatialdp.trees.least_squares import two_pass

SIDE = 128
BOXES = 30  # of each family
FAMILIES = ("random", "1 %", "0.1 %", "total")
LEVELS = (0.9, 0.95, 0.99)
BARS = (0.015, 0.01, 0.007)  # how far coverage may be from the levels
MOST_ERRORS = 3.0  # standard errors that the mean error of the total may be from 0
EPSILONS = {"highways-us": (0.01, 0.1, 1), "roads_osm_rome": (0.01, 0.1, 1), "uniform": (0.02, 0.1)}
USUAL = (0.1,)  # ε of the other data sets


@dataclass(frozen=True, eq=False)
class Case:
    """Public records in a domain, and an ε."""

    name: str
    points: sdp.Points
    domain: Domain
    epsilon: float

    @property
    def seed(self) -> int:
        """The seed of its noise, with the number of the release."""
        return zlib.crc32(f"{self.name}, {self.epsilon}".encode())


@dataclass(frozen=True)
class Row:
    """What was measured of one case and one family of boxes; errors of the total are those of the case."""

    data: str
    epsilon: float
    boxes: str
    coverage_90: float
    coverage_95: float
    coverage_99: float
    unbiased_total: float
    least_squares_total: float

    @property
    def holds(self) -> bool:
        """Whether no bar is missed."""
        coverage = (self.coverage_90, self.coverage_95, self.coverage_99)
        near = all(abs(c - level) <= bar for c, level, bar in zip(coverage, LEVELS, BARS, strict=True))
        return near and abs(self.unbiased_total) <= MOST_ERRORS


# --- data ------------------------------------------------------------------------------------------


def made_up() -> Iterator[tuple[str, sdp.Points, Domain]]:
    """Maps that are hard on one thing each."""
    rng, unit = np.random.default_rng(1), Domain((0, 0, 1, 1))
    rows = rng.integers(SIDE, size=5)[rng.integers(5, size=20_000)]
    heavy = np.stack([rng.random(20_000), (rows + 0.5) / SIDE], axis=1)
    yield "uniform", sdp.Points(rng.random((50_000, 2))), unit
    yield "empty", sdp.Points(np.empty((0, 2))), unit
    yield "one cell", sdp.Points(np.full((100_000, 2), 0.3)), unit
    yield "heavy rows", sdp.Points(np.concatenate([heavy, rng.random((10_000, 2))])), unit


def from_folder(folder: Path) -> Iterator[tuple[str, sdp.Points, Domain]]:
    """Points of the Parquet files of a folder, and counts of cells as points in the cells' centres."""
    for path in sorted(folder.glob("*.parquet")):
        frame = pd.read_parquet(path)
        names = [pair for pair in (("lon", "lat"), ("x", "y")) if set(pair) <= set(frame.columns)]
        if names:
            xy = frame[list(names[0])].to_numpy(dtype=np.float64)
            xy = xy[np.isfinite(xy).all(axis=1)]
            yield path.stem, sdp.Points(xy), Domain((*xy.min(axis=0), *xy.max(axis=0)))
        elif {"dataset", "i", "j", "count"} <= set(frame.columns):
            for name, some in frame.groupby("dataset", observed=True):
                places = some[["j", "i"]].to_numpy(dtype=np.float64) + 0.5
                yield str(name), sdp.Points(np.repeat(places, some["count"], axis=0)), Domain((0, 0, 256, 256))


def cases(folder: Path | None, words: list[str]) -> Iterator[Case]:
    """Every data set whose name begins with one of the words, or every one, at each ε."""
    shipped = ((name, dataset.points(), dataset.domain) for name, dataset in DATASETS.items())
    for sets in (shipped, made_up(), from_folder(folder) if folder else ()):
        for name, points, domain in sets:
            if not words or name.startswith(tuple(words)):
                yield from (Case(name, points, domain, epsilon) for epsilon in EPSILONS.get(name, USUAL))


# --- boxes -----------------------------------------------------------------------------------------


def boxes_of(seed: int) -> Integers:
    """Boxes along the grid's lines, as first and last columns and rows: of each family, then the total; (91, 4)."""
    rng = np.random.default_rng(seed)
    parts = [np.sort(_distinct(rng), axis=1).reshape(-1, 4)]
    for area in (0.01, 0.001):
        stretch = np.exp(rng.uniform(-0.7, 0.7, BOXES))
        size = np.sqrt(area) * SIDE * np.stack([stretch, 1 / stretch], axis=1)
        size = np.clip(np.rint(size), 1, SIDE).astype(np.int64)
        low = rng.integers(SIDE - size + 1)
        parts.append(np.concatenate([low, low + size], axis=1))
    return np.concatenate([*parts, [[0, 0, SIDE, SIDE]]])


def _distinct(rng: np.random.Generator) -> Integers:
    """Two different lines along each axis for each box, (boxes, 2, 2)."""
    first = rng.integers(SIDE + 1, size=(BOXES, 2))
    return np.stack([first, (first + rng.integers(1, SIDE + 1, size=(BOXES, 2))) % (SIDE + 1)], axis=1)


# --- measuring -------------------------------------------------------------------------------------


def noise_of(field: Field, sums: Integers, grid: Grid) -> tuple[Decomposition, float, float]:
    """Return a tree with nothing but noise, and the errors of both totals.

    The answers of a tree are linear in its estimates, so those of its estimates less the true counts are the noise.
    """
    tree = field.basis.tree
    exact = block_sums(sums, blocks_of(tree.boxes, grid)).astype(np.float64)
    noise = replace(field.basis, values=field.basis.values - exact)
    fitted = two_pass(tree, field.measured, field.basis.variances).estimates
    return noise, float(noise.values[0]), float(fitted[0] - exact[0])


def blocks_of(boxes: Array, grid: Grid) -> Integers:
    """First and last columns and rows of lattice boxes that lie along a grid's lines."""
    lines = grid.lattice_boxes(np.repeat(np.arange(SIDE + 1), 4).reshape(-1, 4))
    return np.stack([np.searchsorted(lines[:, side], boxes[:, side]) for side in range(4)], axis=1)


def covered(noise: Decomposition, boxes: Integers, widths: float = 1.0) -> Floats:
    """Whether the intervals about noise contain the answer without noise, (levels, boxes).

    `widths` stretches the intervals, to see whether wrong ones are noticed.
    """
    answers = Answers.of_boxes(noise, boxes, About.NOISE)
    ends = np.stack([answers.ends(level) for level in LEVELS])
    half = widths * (ends[..., 1] - ends[..., 0]) / 2
    return cast(Floats, (np.abs(answers.values) <= half).astype(np.float64))


def measured(case: Case, releases: int, first: int = 0, widths: float = 1.0) -> list[Row]:
    """Release a case many times, with noise numbered from `first`; return a row for each family."""
    prepared = sdp.Adaptive((SIDE, SIDE)).prepare(case.domain, epsilon=case.epsilon)
    grid = case.domain.grid((SIDE, SIDE))
    sums, boxes = summed_areas(count_cells(case.points, grid)), grid.lattice_boxes(boxes_of(case.seed))
    inside, errors = np.zeros((len(LEVELS), len(boxes))), np.empty((releases, 2))
    for trial in range(releases):
        release = prepared.release(case.points, noise=sdp.SeededNoise((case.seed, first + trial)))
        noise, *errors[trial] = noise_of(cast(Field, release.estimate), sums, grid)
        inside += covered(noise, boxes, widths)
    totals = errors.mean(axis=0) / (errors.std(axis=0, ddof=1) / np.sqrt(releases))
    parts = np.split(inside / releases, BOXES * np.arange(1, len(FAMILIES)), axis=1)
    return [
        Row(case.name, case.epsilon, family, *part.mean(axis=1).tolist(), *totals.tolist())
        for family, part in zip(FAMILIES, parts, strict=True)
    ]


# --- tables ----------------------------------------------------------------------------------------


def table(rows: list[Row]) -> str:
    """The table of the documentation, as Markdown."""
    lines = [
        f"| data set | ε | {' | '.join(FAMILIES)} | total: mean error | by least squares |",
        "|---|---|" + "---|" * (len(FAMILIES) + 2),
    ]
    for first in rows[:: len(FAMILIES)]:
        same = [row for row in rows if (row.data, row.epsilon) == (first.data, first.epsilon)]
        coverage = [" / ".join(f"{100 * c:.1f}" for c in list(asdict(row).values())[3:6]) for row in same]
        marked = ("" if row.holds else " *" for row in same)
        cells = [f"{text}{mark}" for text, mark in zip(coverage, marked, strict=True)]
        totals = f"{first.unbiased_total:+.1f} | {first.least_squares_total:+.1f}"
        lines.append(f"| {first.data} | {first.epsilon:g} | {' | '.join(cells)} | {totals} |")
    return "\n".join([*lines, ""])


def main() -> None:
    """Measure, and write `adaptive_coverage.csv` and the table `adaptive_coverage.md`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("figures"))
    parser.add_argument("--data", type=Path, help="folder of Parquet files, beside the data sets that ship")
    parser.add_argument("--releases", type=int, default=2000, help="releases for each data set and ε")
    parser.add_argument("--first", type=int, default=0, help="number of the first release; another gives other noise")
    parser.add_argument("--sets", default="", help="only data sets whose names begin so, separated by commas")
    settings = parser.parse_args()
    settings.output.mkdir(parents=True, exist_ok=True)
    rows: list[Row] = []
    for case in cases(settings.data, [word for word in settings.sets.split(",") if word]):
        rows += measured(case, settings.releases, settings.first)
        print(table(rows[-len(FAMILIES) :]).splitlines()[-1], flush=True)
        with (settings.output / "adaptive_coverage.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(asdict(rows[0])))
            writer.writeheader()
            writer.writerows(asdict(row) for row in rows)
        (settings.output / "adaptive_coverage.md").write_text(table(rows), encoding="utf-8")
    print(f"{sum(not row.holds for row in rows)} of {len(rows)} lines miss a bar")


if __name__ == "__main__":
    main()
