"""How accurate is the adaptive tree, beside our other mechanisms and published ones? Measured on public data sets.

For each data set, ε and family of boxes: the mean absolute error of each mechanism on 256 x 256 cells, over the error
of the best of the others. Boxes lie along the grid's lines. Run it as ``python scripts/adaptive_errors.py --output
figures`` for the data sets that ship, which are also drawn. ``--data FOLDER`` adds other Parquet files of points
(columns lon and lat, or x and y), each within the box around its own points, which must be public; points with a column
`degree` are taken once more without those of degree 1 and 2. They have a table of their own.

All noise is seeded by the name of the data set and the number of the trial, so results can be made again, and data sets
do not share their noise. The best of seven others is too good by chance, the more so the fewer trials there are. The
column "best by other trials" is free of that: half of the trials choose the best, and it is compared in the other half.

The result is private-only for real data: it depends on the records. Here all data sets are public.
"""

from __future__ import annotations

import argparse
import csv
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib
import numpy as np
import pandas as pd

import spatialdp as sdp
from spatialdp.datasets import DATASETS
from spatialdp.evaluation.peers import AdaptiveGrid, PrivTree, UniformGrid
from spatialdp.mechanisms import Mechanism
from spatialdp.outputs.maps.save import save_figure
from spatialdp.space.domain import Domain
from spatialdp.workload import Workload, area_boxes, random_boxes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIDE = 256
SHAPE = (SIDE, SIDE)
BOXES = 2000
OURS, UNBIASED = "Adaptive", "Adaptive, unbiased"


def mechanisms() -> dict[str, Mechanism]:
    """The adaptive tree in both readings, published methods, and the best of our others."""
    return {
        OURS: sdp.Adaptive(SHAPE),
        UNBIASED: sdp.Adaptive(SHAPE, estimate="unbiased"),
        "AGrid, n public": AdaptiveGrid(SHAPE, records="public"),
        "AGrid": AdaptiveGrid(SHAPE),
        "UGrid, n public": UniformGrid(SHAPE, records="public"),
        "PrivTree": PrivTree(SHAPE),
        "Quadtree": sdp.Quadtree(8),
        "Hierarchy": sdp.Hierarchy(SHAPE),
        "Tailored": sdp.Tailored(SHAPE),
    }


def along_lines(workload: Workload, domain: Domain, name: str) -> Workload:
    """The boxes of a workload, moved to the nearest lines of the grid."""
    assert workload.boxes is not None
    low, size = np.tile(domain.bounds[:2], 2), np.tile(domain.size, 2)
    lines = np.rint((workload.boxes - low) / size * SIDE)
    lines[:, 2:] = np.maximum(lines[:, 2:], lines[:, :2] + 1)
    lines = np.minimum(lines, (SIDE - 1, SIDE - 1, SIDE, SIDE))
    return Workload(name, lines / SIDE * size + low)


def workloads(domain: Domain) -> list[Workload]:
    """Random boxes, and boxes of 1 % and 0.1 % of the area."""
    return [
        along_lines(random_boxes(domain, BOXES, shape=SHAPE), domain, "random"),
        along_lines(area_boxes(domain, [0.01], BOXES)[0], domain, "1 %"),
        along_lines(area_boxes(domain, [0.001], BOXES)[0], domain, "0.1 %"),
    ]


def data_sets(folder: Path | None) -> Iterator[tuple[str, sdp.Points, Domain]]:
    """Name, points and domain of each data set."""
    for name, dataset in DATASETS.items():
        yield name, dataset.points(), dataset.domain
    for path in sorted(folder.glob("*.parquet")) if folder else ():
        frame = pd.read_parquet(path)
        if {"dataset", "i", "j", "count"} <= set(frame.columns):
            yield from _histograms(frame)
        names = [pair for pair in (("lon", "lat"), ("x", "y")) if set(pair) <= set(frame.columns)]
        if not names:
            continue
        yield path.stem, *_within_own_box(frame, names[0])
        if "degree" in frame.columns:
            yield f"{path.stem}, junctions", *_within_own_box(frame[frame["degree"] >= 3], names[0])


def _histograms(frame: pd.DataFrame) -> Iterator[tuple[str, sdp.Points, Domain]]:
    """Data sets that are given as counts of 256 x 256 cells: a record is put at the middle of its cell."""
    for name, some in frame.groupby("dataset", observed=True):
        cells = np.repeat(some[["i", "j"]].to_numpy(dtype=np.float64) + 0.5, some["count"], axis=0)
        yield str(name), sdp.Points(cells), Domain((0, 0, SIDE, SIDE))


def _within_own_box(frame: pd.DataFrame, names: tuple[str, str]) -> tuple[sdp.Points, Domain]:
    xy = frame[list(names)].to_numpy(dtype=np.float64)
    xy = xy[np.isfinite(xy).all(axis=1)]
    return sdp.Points(xy), Domain((*xy.min(axis=0), *xy.max(axis=0)))


def measured(
    name: str,
    points: sdp.Points,
    domain: Domain,
    epsilons: Sequence[float],
    trials: int,
    processes: int,
    cache: Path | None = None,
) -> pd.DataFrame:
    """Mean absolute error of each mechanism, ε, family and trial."""
    results = sdp.evaluate(
        mechanisms(),
        points,
        domain,
        workloads(domain),
        epsilons,
        trials,
        metrics=["mean_error"],
        seed=zlib.crc32(name.encode()),
        dataset=name,
        processes=processes,
        cache=cache and cache / f"{name}.trials",
    )
    return results[results["mechanism"].isin(mechanisms())]


def means(results: pd.DataFrame) -> pd.DataFrame:
    """Mean over trials of each mechanism, ε and family."""
    return results.groupby(["dataset", "mechanism", "epsilon", "workload"], sort=False)["value"].mean().reset_index()


def picture(results: pd.DataFrame) -> Figure:
    """Error of random boxes against ε, a panel for each data set that ships."""
    shown = results[(results["workload"] == "random") & ~results["mechanism"].isin([UNBIASED, "Hierarchy"])]
    titles = {name: dataset.title for name, dataset in DATASETS.items()}
    return sdp.plot_errors(
        shown.assign(dataset=shown["dataset"].map(titles)),
        "mean_error",
        panels="dataset",
        title="The adaptive tree, published methods and our fixed grids: error of random boxes against ε",
    )


def ratios(found: pd.DataFrame, label: str, chosen_by: pd.DataFrame | None = None) -> pd.DataFrame:
    """The error of one mechanism over that of the best of those which are not adaptive trees."""
    errors, chosen = (_by_mechanism(each) for each in (found, found if chosen_by is None else chosen_by))
    best = chosen.drop(columns=[OURS, UNBIASED]).idxmin(axis=1)
    least = [errors.at[row, mechanism] for row, mechanism in best.items()]
    return pd.DataFrame({"ratio": errors[label] / least, "best": best})


def _by_mechanism(found: pd.DataFrame) -> pd.DataFrame:
    return found.pivot_table(index=["dataset", "epsilon", "workload"], columns="mechanism", values="value", sort=False)


def halved(results: pd.DataFrame) -> pd.Series:
    """The field's ratio to the best in each half of the trials, the best being chosen by the other half."""
    halves = [means(results[results["trial"] % 2 == half]) for half in (0, 1)]
    if any(half.empty for half in halves):
        return ratios(halves[0], OURS)["ratio"] * np.nan
    parts = [ratios(halves[half], OURS, chosen_by=halves[1 - half])["ratio"] for half in (0, 1)]
    return np.exp((np.log(parts[0]) + np.log(parts[1])) / 2)


def relative_errors(results: pd.DataFrame) -> pd.Series:
    """For each data set, ε and family: the standard error of the ratio to the best, over the ratio."""
    groups = results.groupby(["dataset", "epsilon", "workload", "mechanism"], sort=False)["value"]
    squares = ((groups.std() / groups.mean()) ** 2 / groups.count()).unstack()
    best = ratios(means(results), OURS)["best"]
    return pd.Series({row: np.sqrt(squares.at[row, OURS] + squares.at[row, name]) for row, name in best.items()})


def geometric_mean(values: pd.Series) -> float:
    """The geometric mean."""
    return float(np.exp(np.log(values).mean()))


def summary(results: pd.DataFrame) -> list[str]:
    """A line for each family of boxes and ε: ratios to the best of the others."""
    lines = [
        "| boxes | ε | field: geometric mean | best by other trials | worst | above 1 | unbiased: geometric mean |",
        "|---|---|---|---|---|---|---|",
    ]
    found = means(results)
    field, unbiased, fair, off = ratios(found, OURS), ratios(found, UNBIASED), halved(results), relative_errors(results)
    for (workload, epsilon), some in field.groupby(["workload", "epsilon"], sort=False):
        ratio, worst = some["ratio"], some["ratio"].idxmax()
        error = geometric_mean(ratio) * np.sqrt((off.loc[some.index] ** 2).sum()) / len(some)
        lines.append(
            f"| {workload} | {epsilon:g} | {geometric_mean(ratio):.3f} ± {error:.3f} | "
            f"{geometric_mean(fair.loc[some.index]):.3f} | {ratio.max():.2f} ± {ratio.max() * off[worst]:.2f} "
            f"({worst[0]}) | {(ratio > 1).sum()} of {len(some)} | "
            f"{geometric_mean(unbiased.loc[some.index, 'ratio']):.3f} |"
        )
    return lines


def tables(results: pd.DataFrame) -> str:
    """The tables of the documentation, as Markdown."""
    trials, table = results["trial"].nunique(), _by_mechanism(means(results)).xs("random", level="workload")
    lines = [f"The error over that of the best of the others, {trials} releases each:", "", *summary(results)]
    lines += ["", "Mean absolute errors of random boxes, in records:", ""]
    lines += [f"| data set | ε | {' | '.join(table.columns)} |", "|" + "---|" * (2 + len(table.columns))]
    for (dataset, epsilon), row in table.iterrows():
        lines.append(f"| {dataset} | {epsilon:g} | {' | '.join(f'{value:,.3g}' for value in row)} |")
    return "\n".join([*lines, ""])


def main() -> None:
    """Measure, and write errors, tables and the picture of the data sets that ship, and errors and tables of others."""
    matplotlib.use("Agg")
    settings = options()
    words = [word for word in settings.sets.split(",") if word]
    epsilons = [float(epsilon) for epsilon in settings.epsilons.split(",")]
    parts = []
    for name, points, domain in data_sets(settings.data):
        if words and not any(word in name for word in words):
            continue
        parts.append(measured(name, points, domain, epsilons, settings.trials, settings.processes, settings.cache))
        print(name, flush=True)
    results = pd.concat(parts)
    settings.output.mkdir(parents=True, exist_ok=True)
    shipped = results["dataset"].isin(DATASETS)
    for stem, some in (("adaptive_errors", results[shipped]), ("adaptive_errors_more", results[~shipped])):
        if len(some):
            write(some, settings.output / stem)
    if shipped.any():
        save_figure(picture(results[shipped]), settings.output / "adaptive_errors.png")


def write(results: pd.DataFrame, stem: Path) -> None:
    """Write the mean errors as CSV, and the tables."""
    found = means(results)
    found.to_csv(stem.with_suffix(".csv"), index=False, float_format="%.5g", quoting=csv.QUOTE_MINIMAL)
    stem.with_suffix(".md").write_text(tables(results), encoding="utf-8")
    print(stem.with_suffix(".md"))


def options() -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("figures"))
    parser.add_argument("--data", type=Path, help="folder of Parquet files of points, beside the data sets that ship")
    parser.add_argument("--trials", type=int, default=5, help="releases for each data set, mechanism and ε")
    parser.add_argument("--epsilons", default="0.01,0.1,1", help="privacy budgets, separated by commas")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--cache", type=Path, help="folder that keeps the errors of trials, to go on from")
    parser.add_argument("--sets", default="", help="only data sets with one of these words, separated by commas")
    return parser.parse_args()


if __name__ == "__main__":
    main()
