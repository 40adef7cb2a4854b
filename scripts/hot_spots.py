"""Which places does a list of cells find, and what does it miss? A picture and a table.

The table counts, over seeded releases of public records, how many hot cells are listed, how many empty ones, and which
share of all records lies in listed cells. The records are those of the highway junctions that ship, on grids from
coarse to the lattice itself; `--data` names a folder of Parquet files with columns lon and lat, whose bounds are
rounded outwards to a tenth of a degree, for a second table. The noise is seeded, so no release is private.
"""

from __future__ import annotations

import csv
import io
from fractions import Fraction
from pathlib import Path
from typing import Any

import click
import matplotlib
import numpy as np
import numpy.typing as npt

import spatialdp as sdp
from spatialdp._support.atomic import write_all
from spatialdp._support.tables import markdown
from spatialdp.estimates.sparse.listed import ListedCells
from spatialdp.outputs.maps.colours import colour_scale, palette
from spatialdp.outputs.maps.drawing import draw_dots
from spatialdp.outputs.maps.save import save_figure
from spatialdp.records.counting import occupied_cells

SIDES = (10, 14, 20, 30)  # powers of two: columns and rows
EPSILONS = (Fraction(1, 10), Fraction(1), Fraction(3))
PICTURED = sdp.Sparse((2**11, 2**10))
HOT = Fraction(3, 2)  # times the threshold

Integers = npt.NDArray[np.int64]
Row = dict[str, Any]


def measured(name: str, points: sdp.Points, domain: sdp.Domain, releases: int) -> list[Row]:
    """Release lists of a data set at all sizes of cells and all ε."""
    rows = []
    for side in SIDES:
        for epsilon in EPSILONS:
            prepared = sdp.Sparse((2**side, 2**side)).prepare(domain, epsilon=epsilon)
            estimates = [
                prepared.release(points, noise=sdp.SeededNoise((side, seed))).estimate for seed in range(releases)
            ]
            rows.append({"data": name, "side": side, "epsilon": str(float(epsilon))} | found(points, estimates))
    return rows


def found(points: sdp.Points, estimates: list[Any]) -> Row:
    """Compare lists with the true counts of all occupied cells."""
    grid, threshold = estimates[0].grid, estimates[0].threshold
    occupied, counts = occupied_cells(points, grid)
    hot = occupied[counts >= float(HOT) * threshold]
    listed = [grid.numbers(each.columns, each.rows) for each in estimates]
    share = [counts[np.isin(occupied, each)].sum() / counts.sum() for each in listed]
    return {
        "threshold": threshold,
        "hot": len(hot),
        "hot listed": float(np.mean([np.isin(hot, each).mean() for each in listed])) if len(hot) else None,
        "listed": float(np.mean([len(each) for each in listed])),
        "empty listed": float(np.mean([np.isin(each, occupied, invert=True).sum() for each in listed])),
        "share of records": float(np.mean(share)),
        "noise": "seeded noise, not private",
    }


def table(rows: list[Row]) -> str:
    """Return the rows as a table in Markdown."""
    head = ["data", "cells", "ε", "threshold", "hot cells", "of them listed", "listed", "empty", "records in them"]
    lines = [
        [
            row["data"],
            f"2^{2 * row['side']}",
            row["epsilon"],
            f"{row['threshold']:g}",
            f"{row['hot']:,}",
            "" if row["hot listed"] is None else f"{100 * row['hot listed']:.0f} %",
            f"{row['listed']:,.1f}",
            f"{row['empty listed']:.1f}",
            f"{100 * row['share of records']:.2g} %",
        ]
        for row in rows
    ]
    return markdown([head, *lines]) + "\n"


def picture(points: sdp.Points, domain: sdp.Domain) -> Any:
    """Draw the cells with at least as many records as the threshold, and a list of them."""
    import matplotlib.pyplot as plt

    release = PICTURED.release(points, domain, epsilon=1, noise=sdp.SeededNoise(1))
    estimate = release.estimate
    assert isinstance(estimate, ListedCells)
    occupied, counts = occupied_cells(points, estimate.grid)
    hot = counts >= estimate.threshold
    figure, axes = plt.subplots(1, 2, figsize=(11, 3.6), layout="constrained")
    norm = colour_scale((0.0, float(counts.max())), log=True)
    parts = [
        (*estimate.grid.columns_and_rows(occupied[hot]), counts[hot].astype(float)),
        (estimate.columns, estimate.rows, estimate.values),
    ]
    titles = (
        f"true: {np.count_nonzero(hot)} of {estimate.grid.n_cells:,} cells have {estimate.threshold:g} or more",
        f"released at ε = 1: {estimate.n_cells} listed, {estimate.false:.1f} empty ones expected",
    )
    for ax, (columns, rows, values), title in zip(axes, parts, titles, strict=True):
        boxes = estimate.grid.boxes(columns, rows)
        sizes = 2 + 7 * np.sqrt(np.maximum(values, 0) / counts.max())
        rings = np.zeros(values.size, dtype=bool)
        drawn = draw_dots(
            ax, domain, ((boxes[:, :2] + boxes[:, 2:]) / 2, sizes), values, rings, norm=norm, colours=palette()
        )
        ax.set_facecolor("white")
        ax.set_title(title, fontsize=10, loc="left")
    figure.colorbar(drawn, ax=axes, label="junctions in a cell", shrink=0.9, format="{x:,g}")
    return figure


def folder_of(path: Path) -> list[tuple[str, sdp.Points, sdp.Domain]]:
    """Read the Parquet files of a folder; bounds are rounded outwards, which would not be private for private data."""
    import pyarrow.parquet as pq

    sets = []
    for file in sorted(path.glob("*.parquet")):
        columns = pq.read_table(file, columns=["lon", "lat"])
        xy = np.stack([columns[name].to_numpy() for name in ("lon", "lat")], axis=1)
        low, high = np.floor(10 * xy.min(axis=0)) / 10, np.ceil(10 * xy.max(axis=0)) / 10
        sets.append((file.stem, sdp.Points(xy), sdp.Domain((*low, *high))))
    return sets


@click.command()
@click.option("--output", type=click.Path(path_type=Path), default=Path("figures"), show_default=True)
@click.option("--releases", type=click.IntRange(1), default=10, show_default=True)
@click.option("--data", type=click.Path(path_type=Path, exists=True), help="Folder of further data sets.")
def main(output: Path, releases: int, data: Path | None) -> None:
    """Write mechanism_sparse.png and tables: hot_spots and, of a folder, hot_spots_more."""
    matplotlib.use("Agg")
    highways = sdp.datasets.DATASETS["highways-us"]
    junctions = highways.points()
    sets = {"hot_spots": measured("highway junctions", junctions, highways.domain, releases)}
    if data is not None:
        rows = [row for each in folder_of(data) for row in measured(*each, releases)]
        sets["hot_spots_more"] = rows
    output.mkdir(parents=True, exist_ok=True)
    for stem, rows in sets.items():
        text = io.StringIO()
        writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        files = {output / f"{stem}.csv": text.getvalue().encode(), output / f"{stem}.md": table(rows).encode()}
        write_all(files, overwrite=True)
    save_figure(picture(junctions, highways.domain), output / "mechanism_sparse.png")


if __name__ == "__main__":
    main()
