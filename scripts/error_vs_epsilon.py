"""Which mechanism has the smallest error on real data, at which ε? A worked example of the evaluator.

The script compares all mechanisms on five data sets. It writes `error_vs_epsilon.csv`, `error_vs_epsilon.png` (error
against ε, a panel for each data set) and `error_vs_epsilon.md` (rankings). As CSV and PNG it also writes
`error_vs_size` (error against the area of the box) and `error_vs_records` (error against the number of records). With
`--more FOLDER`, it also evaluates the data sets of `MORE` whose Parquet files are in the folder, which are not part of
spatialdp, and writes `error_vs_epsilon_more`.

The data are public. Results for sensitive records would be as private as the records.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click
import matplotlib
import pandas as pd
from common import read_points

import spatialdp as sdp
from spatialdp._support.atomic import write_all
from spatialdp.datasets import DATASETS, Dataset
from spatialdp.evaluation.evaluate import write_frame
from spatialdp.evaluation.figures import summary
from spatialdp.mechanisms import Mechanism
from spatialdp.outputs.maps.save import save_figure

SHAPE = (256, 256)
EPSILONS = (0.01, 0.03, 0.1, 0.3, 1, 3, 10)
FEW_EPSILONS = (0.1, 1)
SIZES = (1000, 3000, 10_000, 30_000)
LARGEST = "highways-us"
MORE = {  # names of files, with titles and rounded public bounds
    "accidents_uk": ("Road accidents in Great Britain", (-8, 49, 2, 61)),
    "checkins_gowalla_nyc": ("Check-ins in New York", (-74.3, 40.4, -73.7, 41.0)),
    "crashes_australia": ("Road crashes in Australia", (112, -44, 154, -9)),
    "roads_california_li": ("Road nodes of California", (-125, 32, -114, 43)),
    "taxi_nyc_pickups_2015": ("Taxi pick-ups in Manhattan", (-74.1, 40.6, -73.8, 40.9)),
}


def mechanisms() -> dict[str, Mechanism]:
    """Return mechanisms with at most 256 × 256 cells; they were chosen before anybody looked at these data."""
    return {
        "tailored": sdp.Tailored(SHAPE),
        "hierarchy": sdp.Hierarchy(SHAPE),
        "quadtree": sdp.Quadtree(8),
        "kd-hybrid": sdp.KdTree(6, data_levels=3),
        "wavelet": sdp.Wavelet(SHAPE),
        "fourier": sdp.Fourier(SHAPE),
    }


@click.command()
@click.option("--output", type=click.Path(path_type=Path), default=Path("out"), show_default=True)
@click.option(
    "--trials", type=click.IntRange(1), default=10, show_default=True, help="Number of releases for each setting."
)
@click.option("--queries", type=click.IntRange(1), default=1000, show_default=True, help="Number of random boxes.")
@click.option(
    "--data",
    "names",
    type=click.Choice(sorted(DATASETS)),
    multiple=True,
    help="Data set; may be repeated. By default all.",
)
@click.option("--epsilon", "epsilons", type=float, multiple=True, default=EPSILONS, show_default=True)
@click.option("--processes", type=click.IntRange(1), default=2, show_default=True)
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True)
@click.option("--cache", type=click.Path(file_okay=False, path_type=Path), help="Folder that keeps results of trials.")
@click.option("--more", type=click.Path(exists=True, file_okay=False, path_type=Path), help="Folder of more data sets.")
def main(
    output: Path,
    trials: int,
    queries: int,
    names: tuple[str, ...],
    epsilons: tuple[float, ...],
    processes: int,
    seed: int,
    cache: Path | None,
    more: Path | None,
) -> None:
    """Run the evaluator and draw its figures."""
    matplotlib.use("Agg")
    for folder in (output, *([cache] if cache else [])):
        folder.mkdir(parents=True, exist_ok=True)
    shared: dict[str, Any] = {"trials": trials, "seed": seed, "processes": processes, "progress": True}
    data_sets = {name: DATASETS[name] for name in names or DATASETS}
    _against_epsilon(data_sets, output / "error_vs_epsilon", queries, epsilons, cache, shared)
    if more is not None:
        _against_epsilon(_data_sets_in(more), output / "error_vs_epsilon_more", queries, epsilons, cache, shared)
    few = [epsilon for epsilon in FEW_EPSILONS if epsilon in epsilons] or epsilons
    _sizes_and_records(output, names[0] if names else LARGEST, few, shared)


def _data_sets_in(folder: Path) -> dict[str, Dataset]:
    """Return the data sets of `MORE` that are in a folder."""
    data_sets = {
        name: Dataset(title, bounds, partial(read_points, folder / f"{name}.parquet", "lon", "lat"))
        for name, (title, bounds) in MORE.items()
        if (folder / f"{name}.parquet").exists()
    }
    if not data_sets:
        names = ", ".join(f"{name}.parquet" for name in MORE)
        raise click.UsageError(f"--more: none of {names} is in that folder; give a folder with one of these files.")
    return data_sets


def _against_epsilon(
    data_sets: Mapping[str, Dataset],
    stem: Path,
    queries: int,
    epsilons: Sequence[float],
    cache: Path | None,
    shared: dict[str, Any],
) -> None:
    """Evaluate error against ε on every data set; write table, figure and rankings."""
    frames = []
    for name, data in data_sets.items():
        load = sdp.workload.random_boxes(data.domain, queries, seed=shared["seed"])
        trials = cache / f"{name}.jsonl" if cache else None
        frames.append(
            sdp.evaluate(
                mechanisms(), data.points(), data.domain, load, epsilons, dataset=data.title, cache=trials, **shared
            )
        )
    frame = pd.concat(frames, ignore_index=True)
    _table(frame, stem.with_suffix(".csv"))
    title = "Error of random boxes against ε"
    save_figure(sdp.plot_errors(frame, panels="dataset", title=title), stem.with_suffix(".png"))
    tables = "\n\n".join(sdp.ranking(part, metric) for part in frames for metric in ("rmse", "median_relative_error"))
    write_all({stem.with_suffix(".md"): f"{tables}\n".encode()}, overwrite=True)
    click.echo(tables)


def _sizes_and_records(output: Path, name: str, epsilons: Sequence[float], shared: dict[str, Any]) -> None:
    """Evaluate error against the area of the box, and against the number of records, on one data set."""
    data, seed = DATASETS[name], shared["seed"]
    points, domain, area = data.points(), data.domain, sdp.workload.area_boxes(data.domain, seed=seed)
    sizes = sdp.evaluate(mechanisms(), points, domain, area, epsilons, dataset=data.title, **shared)
    _table(sizes, output / "error_vs_size.csv")
    title = f"{data.title}: error against the area of the box"
    save_figure(sdp.plot_errors(sizes, x="size", panels="epsilon", title=title), output / "error_vs_size.png")
    most = int(sizes["records"].max())
    load = sdp.workload.random_boxes(domain, 1000, seed=seed)
    counts = [count for count in SIZES if count <= most]
    parts = sdp.evaluate_subsamples(
        mechanisms(), points, domain, load, epsilons, records=counts, dataset=data.title, **shared
    )
    _table(parts, output / "error_vs_records.csv")
    title = f"{data.title}: scaled error of random boxes against the number of records"
    figure = sdp.plot_errors(parts, "scaled_error", x="records", panels="epsilon", title=title)
    save_figure(figure, output / "error_vs_records.png")


def _table(frame: pd.DataFrame, path: Path) -> None:
    """Write the means over trials of every metric, with confidence intervals."""
    by = ["dataset", "records", "mechanism", "epsilon", "workload", "size", "queries", "floor", "metric", "note"]
    means = summary(frame, by)
    for name in ("mean", "low", "high"):
        means[name] = [float(f"{value:.5g}") for value in means[name]]
    write_frame(means, path)


if __name__ == "__main__":
    main()
