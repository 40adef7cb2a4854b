"""How exact are sums of areas from a list over a map? `SparseMap` against `Hierarchy` and `Adaptive` at the same ε.

Parameters of `Hierarchy` and `SparseMap` are the best in hindsight, for each data set, ε and size of boxes. The boxes
are those of `list_over_grid.py`. The noise is seeded, so no release is private; records are public.
"""

from __future__ import annotations

import csv
import io
from fractions import Fraction
from pathlib import Path
from typing import Any

import click
import numpy as np
from hot_spots import folder_of
from list_over_grid import AREAS, EPSILONS, GRIDS, SHIPPED, TREE, boxes_of

import spatialdp as sdp
from spatialdp._support.atomic import write_all
from spatialdp._support.tables import markdown
from spatialdp.records.truth import Counter

CELLS = (2**12, 2**30)
SHARES = (Fraction(1, 4), Fraction(1, 2))
KINDS = ("Hierarchy", "Adaptive", "SparseMap")


def mechanisms() -> list[sdp.mechanisms.Mechanism]:
    """Return all mechanisms that are compared."""
    lists = [
        sdp.SparseMap((cells, cells), blocks=(side, side), share=share)
        for side in GRIDS
        for cells in CELLS
        for share in SHARES
    ]
    return [*(sdp.Hierarchy((side, side)) for side in GRIDS), sdp.Adaptive((TREE, TREE)), *lists]


def measured(name: str, points: sdp.Points, domain: sdp.Domain, releases: int) -> list[dict[str, Any]]:
    """Return the least mean error of each kind of release, for each ε and size of boxes."""
    boxes = {size: boxes_of(domain, area) for size, area in AREAS.items()}
    counter = Counter.of(points, domain)
    truth = {size: counter.count(domain.boxes(asked)) for size, asked in boxes.items()}
    rows = []
    for epsilon in EPSILONS:
        best: dict[str, dict[str, float]] = {size: {} for size in AREAS}
        for place, mechanism in enumerate(mechanisms()):
            errors: dict[str, list[float]] = {size: [] for size in AREAS}
            for seed in range(releases):
                release = mechanism.release(points, domain, epsilon=epsilon, noise=sdp.SeededNoise((seed, place)))
                for size, asked in boxes.items():
                    found = release.answer(asked, extrapolate=False)
                    errors[size].append(float(np.abs(found - truth[size]).mean()))
            kind = type(mechanism).__name__
            for size, some in errors.items():
                best[size][kind] = min(best[size].get(kind, np.inf), float(np.mean(some)))
        rows += [{"data": name, "epsilon": float(epsilon), "area": size} | found for size, found in best.items()]
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    """Return the rows as a table in Markdown; the best of each row is in bold."""
    lines = []
    for row in rows:
        least = min(row[kind] for kind in KINDS)
        numbers = [f"**{row[kind]:.3g}**" if row[kind] == least else f"{row[kind]:.3g}" for kind in KINDS]
        lines.append([row["data"], f"{row['epsilon']:g}", row["area"], *numbers])
    return markdown([["data", "ε", "area of a box", *KINDS], *lines]) + "\n"


@click.command()
@click.option("--output", type=click.Path(path_type=Path), default=Path("figures"), show_default=True)
@click.option("--releases", type=click.IntRange(1), default=2, show_default=True)
@click.option("--sets", default=",".join(SHIPPED), show_default=True, help="Names of shipped data sets.")
@click.option("--data", type=click.Path(path_type=Path, exists=True), help="Folder of further data sets.")
def main(output: Path, releases: int, sets: str, data: Path | None) -> None:
    """Write tables: sparse_map and, of a folder, sparse_map_more."""
    shipped = [(name, sdp.datasets.DATASETS[name]) for name in sets.split(",")]
    given = {"sparse_map": [(name, each.points(), each.domain) for name, each in shipped]}
    if data is not None:
        given["sparse_map_more"] = folder_of(data)
    output.mkdir(parents=True, exist_ok=True)
    for stem, some in given.items():
        rows = [row for each in some for row in measured(*each, releases)]
        text = io.StringIO()
        writer = csv.DictWriter(text, [*rows[0], "noise"], lineterminator="\n")
        writer.writeheader()
        writer.writerows(row | {"noise": "seeded noise, not private"} for row in rows)
        files = {output / f"{stem}.csv": text.getvalue().encode(), output / f"{stem}.md": table(rows).encode()}
        write_all(files, overwrite=True)


if __name__ == "__main__":
    main()
