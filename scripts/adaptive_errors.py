"""How accurate is the adaptive tree, beside our other mechanisms and published ones? Measured on public data sets.

For each data set, ε and family of boxes: the mean absolute error of each mechanism on 256 x 256 cells, over the error
of the best of the others. Boxes lie along the grid's lines. Run it as ``python scripts/adaptive_errors.py --output
figures`` for the data sets that ship, which are also drawn. ``--data FOLDER`` adds other Parquet files of points
(columns lon and lat, or x and y), each within the box around its own points, which must be public; points with a column
`degree` are taken once more without those of degree 1 and 2. All noise is seeded, and the seeds are numbers of trials,
so results can be made again.

The result is private-only for real data: it depends on the records. Here all data sets are public.
"""

from __future__ import annotations

import argparse
import csv
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
        "UGrid": UniformGrid(SHAPE),
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
    name: str, points: sdp.Points, domain: Domain, epsilons: Sequence[float], trials: int, processes: int
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
        dataset=name,
        processes=processes,
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


def ratios(found: pd.DataFrame, label: str) -> pd.DataFrame:
    """The error of one mechanism over that of the best of those which are not adaptive trees."""
    table = found.pivot_table(index=["dataset", "epsilon", "workload"], columns="mechanism", values="value", sort=False)
    others = table.drop(columns=[OURS, UNBIASED])
    return pd.DataFrame({"ratio": table[label] / others.min(axis=1), "best": others.idxmin(axis=1)})


def tables(found: pd.DataFrame) -> str:
    """The tables of the documentation, as Markdown."""
    lines = [
        "| boxes | ε | field: geometric mean | worst | data sets above 1 | unbiased: geometric mean |",
        "|---|---|---|---|---|---|",
    ]
    field, unbiased = ratios(found, OURS), ratios(found, UNBIASED)
    for (workload, epsilon), some in field.groupby(["workload", "epsilon"], sort=False):
        plain = unbiased.xs((epsilon, workload), level=("epsilon", "workload"))["ratio"]
        worst = some["ratio"].idxmax()
        lines.append(
            f"| {workload} | {epsilon} | {np.exp(np.log(some['ratio']).mean()):.3f} | "
            f"{some['ratio'].max():.2f} ({worst[0]}) | {(some['ratio'] > 1).sum()} of {len(some)} | "
            f"{np.exp(np.log(plain).mean()):.3f} |"
        )
    lines += ["", "Mean absolute errors of random boxes, in records:", ""]
    random = found[found["workload"] == "random"]
    table = random.pivot_table(index=["dataset", "epsilon"], columns="mechanism", values="value", sort=False)
    lines += [f"| data set | ε | {' | '.join(table.columns)} |", "|" + "---|" * (2 + len(table.columns))]
    for (dataset, epsilon), row in table.iterrows():
        lines.append(f"| {dataset} | {epsilon} | {' | '.join(f'{value:,.3g}' for value in row)} |")
    return "\n".join([*lines, ""])


def main() -> None:
    """Measure, and write `adaptive_errors.csv`, the tables `adaptive_errors.md` and the picture."""
    matplotlib.use("Agg")
    settings = options()
    words = [word for word in settings.sets.split(",") if word]
    epsilons = [float(epsilon) for epsilon in settings.epsilons.split(",")]
    parts = []
    for name, points, domain in data_sets(settings.data):
        if words and not any(word in name for word in words):
            continue
        parts.append(measured(name, points, domain, epsilons, settings.trials, settings.processes))
        print(name, flush=True)
    results = pd.concat(parts)
    settings.output.mkdir(parents=True, exist_ok=True)
    stem = settings.output / "adaptive_errors"
    found = means(results)
    found.to_csv(stem.with_suffix(".csv"), index=False, float_format="%.5g", quoting=csv.QUOTE_MINIMAL)
    stem.with_suffix(".md").write_text(tables(found), encoding="utf-8")
    shipped = results[results["dataset"].isin(DATASETS)]
    if len(shipped):
        save_figure(picture(shipped), stem.with_suffix(".png"))
    print(stem.with_suffix(".md"))


def options() -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("figures"))
    parser.add_argument("--data", type=Path, help="folder of Parquet files of points, beside the data sets that ship")
    parser.add_argument("--trials", type=int, default=5, help="releases for each data set, mechanism and ε")
    parser.add_argument("--epsilons", default="0.01,0.1,1", help="privacy budgets, separated by commas")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--sets", default="", help="only data sets with one of these words, separated by commas")
    return parser.parse_args()


if __name__ == "__main__":
    main()
