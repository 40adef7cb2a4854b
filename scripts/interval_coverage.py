"""How often do intervals about the truth cover it, and how wide are they? Measured on public data sets.

For each data set, mechanism, ε and family of boxes or polygons, over one or more releases: the share of intervals
that contain the true count, about the truth and about noise alone, and the width ratio (mean half-width
over the 95th percentile of the absolute error). Half of the boxes lie on a record and half anywhere, except
those of the family "random". Run it as ``python scripts/interval_coverage.py --output figures`` for the data sets that
ship; ``--data FOLDER`` adds other Parquet files of points (columns lon and lat, or x and y). Boxes of one release share
its noise, so with few releases a low coverage may be chance: ``--again 40`` asks what was covered in less than 90 % of
cases of as many other releases.

The result is private-only for real data: it depends on the records. Here all data sets are public.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, product
from pathlib import Path

import numpy as np
import shapely

import spatialdp as sdp
from spatialdp._support.arrays import Array, Floats, Integers, Objects
from spatialdp.datasets import DATASETS
from spatialdp.estimates.answers import About, Answers
from spatialdp.estimates.base import Estimate
from spatialdp.mechanisms import Mechanism
from spatialdp.records.points import Points, lattice_points
from spatialdp.records.truth import Counter, count_polygons
from spatialdp.space.domain import Domain
from spatialdp.space.lattice import LATTICE
from spatialdp.space.polygons import read_polygons

LEVELS = (0.8, 0.9, 0.95, 0.99)
EPSILONS = (0.1, 1.0, 10.0)
BOXES, POLYGONS = 250, 100  # of each family, the same ones for all releases
LARGEST = 200_000  # records; larger data sets are thinned to this many


@dataclass(frozen=True)
class Case:
    """A mechanism with the side of its grid in cells, and how it is released."""

    name: str
    mechanism: Mechanism
    side: float
    neighbours: str = "add-remove"
    delta: float = 0.0
    region: bool = False


CASES = (
    Case("Flat 32", sdp.Flat((32, 32)), 32),
    Case("Flat 128", sdp.Flat((128, 128)), 128),
    Case("Flat 512", sdp.Flat((512, 512)), 512),
    Case("Quadtree 128", sdp.Quadtree(7), 128),
    Case("Hierarchy 256", sdp.Hierarchy((256, 256)), 256),
    Case("Tailored 64", sdp.Tailored((64, 64)), 64),
    Case("Wavelet 128", sdp.Wavelet((128, 128)), 128),
    Case("KdTree 5", sdp.KdTree(5), 32),
    Case("KdTree 7", sdp.KdTree(7), 128),
    Case("Adaptive 256", sdp.Adaptive((256, 256), estimate="unbiased"), 128),
    Case("Flat 200 x 75", sdp.Flat((200, 75)), 120),
    Case("Flat 128, Gaussian", sdp.Flat((128, 128), law="gaussian"), 128, delta=1e-6),
    Case("Quadtree 128, replace", sdp.Quadtree(7), 128, neighbours="replace"),
    Case("Quadtree 128, raw", sdp.Quadtree(7, consistent=False), 128),
    Case("Quadtree 128, pruned", sdp.Quadtree(7, prune=32), 64),
    Case("KdTree 6, pruned", sdp.KdTree(6, prune=32), 64),
    Case("Flat 128, region", sdp.Flat((128, 128)), 128, region=True),
    Case("Quadtree 128, region", sdp.Quadtree(7), 128, region=True),
)


def boxes_of(family: str, side: float, places: Floats, seed: int) -> Floats:
    """Boxes of one family in the unit square; half of them around places of records."""
    rng = np.random.default_rng([seed, len(family)])
    if family == "random":
        ends = np.sort(rng.random((BOXES, 2, 2)), axis=1)
        return ends.reshape(BOXES, 4)
    area = {"0.01 %": 1e-4, "0.1 %": 1e-3, "1 %": 1e-2, "10 %": 0.1}.get(family)
    if area is not None:
        stretch = np.exp(rng.uniform(-0.7, 0.7, BOXES))
        size = np.stack([np.sqrt(area) * stretch, np.sqrt(area) / stretch], axis=1)
    elif family == "thin":
        size = np.array([15, 0.2]) / side * np.ones((BOXES, 1))
        size[::2] = size[::2, ::-1]
    else:
        size = rng.uniform(0.1, 0.9, (BOXES, 2)) / side
    size = np.minimum(size, 0.95)
    centre = rng.random((BOXES, 2))
    half = centre[::2].shape
    centre[::2] = places[rng.integers(len(places), size=half[0])] + (rng.random(half) - 0.5) * size[::2]
    low = np.clip(centre - size / 2, 0, 1 - size)
    return np.concatenate([low, low + size], axis=1)


BOX_FAMILIES = ("random", "0.01 %", "0.1 %", "1 %", "10 %", "thin", "below a cell")
POLYGON_FAMILIES = ("hexagons of 5 cells", "hexagons of 100 cells", "districts")


def polygons_of(family: str, side: float, places: Floats, seed: int) -> Objects:
    """Polygons of one family in the unit square."""
    rng = np.random.default_rng([seed, len(family), 1])
    if family == "districts":
        return _districts(rng)
    radius = np.sqrt((5 if "5 cells" in family else 100) / 2.598) / side
    centre = rng.random((POLYGONS, 2))
    centre[::2] = places[rng.integers(len(places), size=(POLYGONS + 1) // 2)]
    angle = np.arange(6) * np.pi / 3 + 0.3
    corners = centre[:, None] + radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return np.asarray(shapely.intersection(shapely.polygons(corners), shapely.box(0, 0, 1, 1)))


def _districts(rng: np.random.Generator) -> Objects:
    """Voronoi cells with edges that wiggle."""
    seeds = shapely.multipoints(rng.random((POLYGONS, 2)))
    cells = shapely.get_parts(shapely.voronoi_polygons(seeds, extend_to=shapely.box(0, 0, 1, 1)))
    fine = shapely.segmentize(shapely.intersection(cells, shapely.box(0, 0, 1, 1)), 0.01)
    wiggle = lambda xy: np.clip(xy + 0.004 * np.sin(xy[:, ::-1] * 300), 0, 1)  # noqa: E731
    return np.asarray(shapely.make_valid(shapely.transform(fine, wiggle)))


@dataclass(frozen=True)
class Truth:
    """Public records, for which the true counts may be shown."""

    name: str
    points: Points
    domain: Domain
    places: Floats

    @classmethod
    def of(cls, name: str, xy: Floats, domain: Domain) -> Truth:
        """Thin large data sets, and note where the records lie in the domain."""
        if len(xy) > LARGEST:
            xy = xy[np.random.default_rng(1).choice(len(xy), LARGEST, replace=False)]
        xmin, ymin, xmax, ymax = domain.bounds
        unit = (xy - (xmin, ymin)) / (xmax - xmin, ymax - ymin)
        return cls(name, Points(xy, crs=domain.crs), domain, unit[((unit >= 0) & (unit < 1)).all(axis=1)])

    def within_circle(self) -> Truth:
        """The records within a circle, which is a public region."""
        inside = np.hypot(*(self.places - 0.5).T) < 0.44
        (xmin, ymin), size = self.domain.bounds[:2], np.array(self.domain.size)
        region = shapely.transform(shapely.Point(0.5, 0.5).buffer(0.45), lambda xy: xy * size + (xmin, ymin))
        domain = Domain(self.domain.bounds, self.domain.crs, region)
        return Truth.of(self.name, self.places[inside] * size + (xmin, ymin), domain)


def shipped() -> Iterator[Truth]:
    """The data sets that ship."""
    for name, dataset in DATASETS.items():
        domain = dataset.domain
        places = (np.stack(lattice_points(dataset.points(), domain), axis=1) + 0.5) / LATTICE
        yield Truth.of(name, places * domain.size + domain.bounds[:2], domain)


def from_folder(folder: Path) -> Iterator[Truth]:
    """Points of the Parquet files of a folder, in round bounds."""
    import pyarrow.parquet as pq

    for path in sorted(folder.glob("*.parquet")):
        names = pq.read_schema(path).names
        columns = next((pair for pair in (["lon", "lat"], ["x", "y"]) if set(pair) <= set(names)), None)
        if columns is None:
            continue
        table = pq.read_table(path, columns=columns)
        xy = np.stack([table[column].to_numpy() for column in columns], axis=1)
        xy = xy[np.isfinite(xy).all(axis=1)]
        low, high = xy.min(axis=0), xy.max(axis=0)
        unit = 10 ** np.floor(np.log10((high - low).max()) - 1)
        yield Truth.of(path.stem, xy, Domain((*(np.floor(low / unit) * unit), *(np.ceil(high / unit) * unit))))


def made_up() -> Iterator[Truth]:
    """Uniform points, and a mixture of wide normal laws."""
    rng = np.random.default_rng(7)
    yield Truth.of("uniform", rng.random((100_000, 2)), Domain((0, 0, 1, 1)))
    centres = rng.random((20, 2))
    mixture = centres[rng.integers(20, size=150_000)] + 0.08 * rng.standard_normal((150_000, 2))
    yield Truth.of("smooth mixture", mixture[((mixture >= 0) & (mixture < 1)).all(axis=1)], Domain((0, 0, 1, 1)))


@dataclass(frozen=True)
class Question:
    """One family of boxes or polygons, and the true counts."""

    family: str
    asked: Array
    counts: Integers

    def answers(self, estimate: Estimate) -> tuple[Answers, Answers]:
        """What a release answers, about the truth and about noise."""
        ask = Answers.of_boxes if self.asked.ndim == 2 else Answers.of_polygons
        truth = ask(estimate, self.asked, About.TRUTH)
        return truth, replace(truth, allowance=None)


def questions(truth: Truth, side: float, seed: int) -> list[Question]:
    """All families, for cells of which `side` make up a side of the domain."""
    domain, counter = truth.domain, Counter.of(truth.points, truth.domain)
    (xmin, ymin), size = domain.bounds[:2], np.array(domain.size)
    found = []
    for family in BOX_FAMILIES:
        boxes = domain.boxes(boxes_of(family, side, truth.places, seed) * np.tile(size, 2) + (xmin, ymin, xmin, ymin))
        found.append(Question(family, boxes, counter.count(boxes)))
    for family in POLYGON_FAMILIES if side <= 200 else ():
        squares = polygons_of(family, side, truth.places, seed)
        shapes = shapely.transform(squares[shapely.area(squares) > 0], lambda xy: xy * size + (xmin, ymin))
        counts = count_polygons(truth.points, domain, shapes)
        found.append(Question(family, read_polygons(shapes, domain), counts))
    return found


def measure(truth: Truth, case: Case, asked: Sequence[Question], epsilon: float, seed: int) -> list[dict[str, object]]:
    """The coverage of each family in one release."""
    domain = truth.domain
    prepared = case.mechanism.prepare(domain, epsilon=epsilon, delta=case.delta, neighbours=case.neighbours)
    estimate = prepared.release(truth.points, noise=sdp.SeededNoise(seed)).estimate
    return [row(truth, case, epsilon, each.family, each.counts, each.answers(estimate)) for each in asked]


def row(
    truth: Truth, case: Case, epsilon: float, family: str, counts: Integers, answers: Sequence[Answers]
) -> dict[str, object]:
    """The coverage of one family's answers, about the truth and about noise, and how wide the intervals are."""
    result: dict[str, object] = {"data": truth.name, "mechanism": case.name, "epsilon": epsilon, "family": family}
    for about, each in zip(About, answers, strict=True):
        for level in LEVELS:
            low, high = each.ends(level).T
            result[f"{about} {level}"] = float(((low <= counts) & (counts <= high)).mean())
    allowance = answers[0].allowance
    assert allowance is not None
    centre = answers[0].values + allowance.shift
    error = np.abs(centre - counts)
    half = answers[0].ends(0.95)[:, 1] - centre
    result["width ratio"] = float(half.mean() / max(np.quantile(error, 0.95), 0.5))
    result["error"] = float(error.mean())
    result["error without correction"] = float(np.abs(answers[1].values - counts).mean())
    return result


def mean(rows: Sequence[dict[str, object]]) -> dict[str, object]:
    """The mean over releases of the numbers of one data set, mechanism, ε and family."""
    labels = ("data", "mechanism", "epsilon", "family")
    return {key: rows[0][key] if key in labels else float(np.mean([each[key] for each in rows])) for key in rows[0]}


def once_more(few: dict[str, object], more: Sequence[dict[str, object]]) -> str:
    """A line of the table of low cells: the coverage in a few releases, and in others with its standard error."""
    found, noise = (np.array([float(str(each[name])) for each in more]) for name in ("truth 0.95", "noise 0.95"))
    error = found.std(ddof=1) / np.sqrt(found.size)
    labels = [few["data"], few["mechanism"], f"{few['epsilon']:g}", few["family"]]
    numbers = [f"{100 * float(str(few['truth 0.95'])):.1f}", f"{100 * found.mean():.1f} ± {100 * error:.1f}"]
    return f"| {' | '.join(map(str, [*labels, *numbers, f'{100 * noise.mean():.0f}']))} |"


def summary(rows: list[dict[str, object]]) -> str:
    """Coverage at 95 %: lowest, tenth percentile and median cell, cells below 90 and 85 %, above 99 %, width ratio."""
    truth, noise, width = (
        np.array([float(str(each[name])) for each in rows]) for name in ("truth 0.95", "noise 0.95", "width ratio")
    )
    low, tenth, middle = 100 * np.quantile(truth, [0, 0.1, 0.5])
    below = [f"{100 * np.mean(truth < bound):.1f} %" for bound in (0.9, 0.85)]
    return (
        f"{len(rows)} | {100 * noise.min():.0f} / {100 * np.median(noise):.0f} | "
        f"{low:.1f} / {tenth:.1f} / {middle:.1f} | "
        f"{below[0]} | {below[1]} | {100 * np.mean(truth > 0.99):.0f} % | {np.median(width):.2f}"
    )


def tables(rows: list[dict[str, object]]) -> str:
    """The tables of the documentation, as Markdown."""
    heads = ("", "cells", "about noise: lowest / median", "about the truth: lowest / 10th percentile / median")
    lines = [
        f"| {' | '.join((*heads, 'below 90 %', 'below 85 %', 'above 99 %', 'width ratio'))} |",
        "|" + "---|" * 8,
        f"| **all** | {summary(rows)} |",
    ]
    order = [case.name for case in CASES]
    rows = sorted(rows, key=lambda each: order.index(str(each["mechanism"])))
    for name in ("mechanism", "family", "epsilon", "data"):
        for value in dict.fromkeys(each[name] for each in rows):
            label = f"ε = {value:g}" if name == "epsilon" else value
            lines.append(f"| {label} | {summary([each for each in rows if each[name] == value])} |")
    return "\n".join([*lines, "", *corrections(rows), ""])


def corrections(rows: list[dict[str, object]]) -> list[str]:
    """How much the correction changes the mean absolute error of kd-trees: geometric mean over data sets, and worst."""
    trees = [each for each in rows if str(each["mechanism"]) in ("KdTree 5", "KdTree 7")]
    lines = [f"| | {' | '.join(f'ε = {epsilon:g}' for epsilon in EPSILONS)} |", "|" + "---|" * (1 + len(EPSILONS))]
    for family in (*BOX_FAMILIES, *POLYGON_FAMILIES):
        cells = []
        for epsilon in EPSILONS:
            same = [each for each in trees if (each["family"], each["epsilon"]) == (family, epsilon)]
            ratios = [float(str(each["error"])) / float(str(each["error without correction"])) for each in same]
            cells.append(f"{np.exp(np.mean(np.log(ratios))):.2f} ({max(ratios):.2f})" if ratios else "-")
        lines.append(f"| {family} | {' | '.join(cells)} |")
    return lines


def table_of_low(lines: Sequence[str], again: int) -> str:
    """The table of cells that a few releases cover in less than 90 % of cases, asked of others."""
    heads = ("data", "mechanism", "ε", "family", "a few releases, %", f"{again} others, %", "of these, about noise")
    return "\n".join([f"| {' | '.join(heads)} |", "|" + "---|" * len(heads), *lines, ""])


@dataclass(frozen=True)
class Measured:
    """What one data set gave: the rows of all cells, and lines about those that were low."""

    rows: list[dict[str, object]]
    low: list[str]


def measure_set(
    everywhere: Truth, cases: Sequence[Case], seed: int, seeds: Sequence[int], others: Sequence[int]
) -> Measured:
    """Measure all cells of one data set in a few releases, and those below 90 % in others."""
    result = Measured([], [])
    same_cells = lambda case: (case.region, case.side)  # noqa: E731
    for (region, side), some in groupby(sorted(cases, key=same_cells), same_cells):
        truth = everywhere.within_circle() if region else everywhere
        asked = questions(truth, side, seed)
        for case, epsilon in product(some, EPSILONS):
            releases = [measure(truth, case, asked, epsilon, seed) for seed in seeds]
            found = [mean(same) for same in zip(*releases, strict=True)]
            result.rows.extend(found)
            low = [place for place, each in enumerate(found) if float(str(each["truth 0.95"])) < 0.9]
            more = [measure(truth, case, [asked[i] for i in low], epsilon, seed) for seed in others if low]
            pairs = zip(low, zip(*more, strict=True), strict=True) if more else ()
            result.low.extend(once_more(found[place], same) for place, same in pairs)
    return result


def main() -> None:
    """Measure, and write `interval_coverage.csv` and the tables `interval_coverage.md`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("figures"))
    parser.add_argument("--data", type=Path, help="folder of Parquet files of points, beside the data sets that ship")
    parser.add_argument("--releases", type=int, default=1, help="releases of each cell; large boxes of one share noise")
    parser.add_argument("--again", type=int, default=0, help="other releases of cells below 90 %%; 0 for none")
    parser.add_argument("--only", default="", help="only mechanisms with one of these words, separated by commas")
    parser.add_argument("--sets", default="", help="only data sets with one of these words, separated by commas")
    settings = parser.parse_args()
    words = [word for word in settings.only.split(",") if word]
    cases = [case for case in CASES if not words or any(word in case.name for word in words)]
    truths = [*shipped(), *made_up(), *(from_folder(settings.data) if settings.data else ())]
    wanted = [word for word in settings.sets.split(",") if word]
    rows: list[dict[str, object]] = []
    low: list[str] = []
    for number, truth in enumerate(truths):  # numbers of chosen sets too, so that parts of a run are as the whole
        if wanted and not any(word in truth.name for word in wanted):
            continue
        seeds = [number + len(truths) * release for release in range(settings.releases + settings.again)]
        found = measure_set(truth, cases, number, seeds[: settings.releases], seeds[settings.releases :])
        rows.extend(found.rows)
        low.extend(found.low)
        print(f"{number + 1} of {len(truths)} data sets", flush=True)
    settings.output.mkdir(parents=True, exist_ok=True)
    with (settings.output / "interval_coverage.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(
            {key: f"{value:.4g}" if isinstance(value, float) else value for key, value in row.items()} for row in rows
        )
    (settings.output / "interval_coverage.md").write_text(tables(rows), encoding="utf-8")
    if settings.again:
        (settings.output / "interval_coverage_again.md").write_text(table_of_low(low, settings.again), encoding="utf-8")
    print(settings.output / "interval_coverage.md")


if __name__ == "__main__":
    main()
