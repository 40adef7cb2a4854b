"""All mechanisms against ε on five real data sets: the worked example of the evaluator.

Writes `error_vs_epsilon.csv`, `error_vs_epsilon.png` (error against ε, a panel for each data set),
`error_vs_size.png` (against the area of the box), `error_vs_records.png` (against the number of records) and
`error_vs_epsilon.md` (rankings). The data are public; what is done here with sensitive records has seen them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import matplotlib
import pandas as pd

import spatialdp as sdp
from spatialdp.datasets import DATASETS
from spatialdp.evaluation import write_frame
from spatialdp.figures import summary
from spatialdp.files import write_whole
from spatialdp.maps import save_figure
from spatialdp.mechanisms import Mechanism

SHAPE = (256, 256)
EPSILONS = (0.01, 0.03, 0.1, 0.3, 1, 3, 10)
FEW_EPSILONS = (0.1, 1)
SIZES = (1000, 3000, 10_000, 30_000)
LARGEST = "highways-us"


def mechanisms() -> dict[str, Mechanism]:
    """Every kind, on 256 x 256 cells or as many leaves at most; chosen before any of these data were looked at."""
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
@click.option("--trials", type=click.IntRange(1), default=10, show_default=True, help="Releases for each setting.")
@click.option("--queries", type=click.IntRange(1), default=1000, show_default=True, help="Random boxes.")
@click.option("--data", "names", type=click.Choice(sorted(DATASETS)), multiple=True, help="By default all that ship.")
@click.option("--epsilon", "epsilons", type=float, multiple=True, default=EPSILONS, show_default=True)
@click.option("--processes", type=click.IntRange(1), default=2, show_default=True)
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True)
@click.option("--cache", type=click.Path(file_okay=False, path_type=Path), help="Folder to keep trials in.")
def main(
    output: Path,
    trials: int,
    queries: int,
    names: tuple[str, ...],
    epsilons: tuple[float, ...],
    processes: int,
    seed: int,
    cache: Path | None,
) -> None:
    """Run the evaluator and draw its figures."""
    matplotlib.use("Agg")
    for folder in (output, *([cache] if cache else [])):
        folder.mkdir(parents=True, exist_ok=True)
    frames = []
    for name in names or DATASETS:
        data = DATASETS[name]
        frames.append(
            sdp.evaluate(
                mechanisms(),
                data.points(),
                data.domain,
                sdp.workload.random_boxes(data.domain, queries, seed=seed),
                epsilons,
                trials,
                seed=seed,
                dataset=data.title,
                processes=processes,
                cache=cache / f"{name}.jsonl" if cache else None,
                progress=True,
            )
        )
    frame = pd.concat(frames, ignore_index=True)
    by = ["dataset", "records", "mechanism", "epsilon", "workload", "queries", "floor", "metric", "note"]
    write_frame(summary(frame, by), output / "error_vs_epsilon.csv")
    title = "Error of random boxes against ε"
    save_figure(sdp.plot_errors(frame, panels="dataset", title=title), output / "error_vs_epsilon.png")
    tables = "\n\n".join(sdp.ranking(part, metric) for part in frames for metric in ("rmse", "median_relative_error"))
    write_whole(output / "error_vs_epsilon.md", lambda path: _write(path, f"{tables}\n"), overwrite=True)
    click.echo(tables)
    few = [epsilon for epsilon in FEW_EPSILONS if epsilon in epsilons] or epsilons
    _sizes_and_records(output, names[0] if names else LARGEST, few, trials, processes, seed)


def _sizes_and_records(
    output: Path, name: str, epsilons: Sequence[float], trials: int, processes: int, seed: int
) -> None:
    """Error against the area of the box and against the number of records, on one data set."""
    data = DATASETS[name]
    shared: dict[str, Any] = {
        "trials": trials,
        "seed": seed,
        "processes": processes,
        "dataset": data.title,
        "progress": True,
    }
    points, domain, area = data.points(), data.domain, sdp.workload.area_boxes(data.domain, seed=seed)
    sizes = sdp.evaluate(mechanisms(), points, domain, area, epsilons, **shared)
    title = f"{data.title}: error against the area of the box"
    figure = sdp.plot_errors(sizes, x="size", panels="epsilon", title=title)
    save_figure(figure, output / "error_vs_size.png")
    most = int(sizes["records"].max())
    parts = sdp.evaluate_subsamples(
        mechanisms(),
        points,
        domain,
        sdp.workload.random_boxes(domain, 1000, seed=seed),
        epsilons,
        records=[count for count in SIZES if count <= most],
        **shared,
    )
    title = f"{data.title}: scaled error of random boxes against the number of records"
    figure = sdp.plot_errors(parts, "scaled_error", x="records", panels="epsilon", title=title)
    save_figure(figure, output / "error_vs_records.png")


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
