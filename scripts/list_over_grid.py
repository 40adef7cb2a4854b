"""Do listed hot spots make sums over boxes more accurate? A list on top of a map, against maps alone.

A hybrid spends a share of ε on a list of cells, and the rest on a map: a hierarchy of a coarse grid, or an adaptive
tree. Both are released, and the hybrid is made of them without any record: a block of the map holds its listed cells at
their places, and what is not listed, its estimate minus their counts, evenly spread. That adds up to the map's
estimates and is unbiased given the list. It is compared with `Hierarchy` and `Adaptive` at the whole ε. Parameters are
the best in hindsight, for each data set, ε and size of boxes, so the comparison is one of what is possible. The noise
is seeded, so no release is private; records are public.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import click
import numpy as np
import numpy.typing as npt
from hot_spots import folder_of

import spatialdp as sdp
from spatialdp._support.atomic import write_all
from spatialdp._support.tables import markdown
from spatialdp.estimates.decomposition import Decomposition
from spatialdp.estimates.sparse.listed import ListedCells
from spatialdp.outputs.maps.values import box_raster
from spatialdp.records.truth import Counter
from spatialdp.space.fine_grid import FineGrid
from spatialdp.space.lattice import cells_of

SHIPPED = ("highways-us", "liege", "auckland")
EPSILONS = (Fraction(1, 10), Fraction(1))
GRIDS = (32, 64, 128, 256)
LISTS = (2**12, 2**16, 2**30)
SHARES = (Fraction(1, 4), Fraction(1, 2))
AREAS = {"0.01 %": 0.0001, "1 %": 0.01, "10 %": 0.1}
BOXES = 300

TREE = 2048  # columns and rows of the adaptive tree's cells

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Boxes = dict[str, Floats]


def boxes_of(domain: sdp.Domain, share: float) -> Floats:
    """Return boxes with a share of the domain's area, of several proportions and anywhere in it."""
    random = np.random.default_rng(1)
    stretch = 4 ** random.uniform(-1, 1, BOXES)
    sides = np.minimum(np.sqrt(share) * np.stack([stretch**0.5, stretch**-0.5], axis=1), 1.0)
    low = random.random((BOXES, 2)) * (1 - sides)
    scale, corner = np.array(domain.size), np.array(domain.bounds[:2])
    return np.hstack([corner + low * scale, corner + (low + sides) * scale])


def moved(listed: ListedCells, blocks: Integers, domain: sdp.Domain, boxes: Floats) -> Floats:
    """Return what answers gain if listed cells lie at their places and not anywhere in their blocks, (n, 4)."""
    cells, asked = listed.leaf_boxes(), domain.boxes(boxes)
    return np.array([listed.values @ (covered(cells, box) - covered(blocks, box)) for box in asked])


def covered(areas: Integers, box: Integers) -> Floats:
    """Return the share of each lattice box that another one covers."""
    sides = np.minimum(areas[:, 2:], box[2:]) - np.maximum(areas[:, :2], box[:2])
    return np.asarray((np.maximum(sides, 0) / (areas[:, 2:] - areas[:, :2])).prod(axis=1))


def grid_blocks(listed: ListedCells, side: int) -> Integers:
    """Return the block of a coarse grid that the middle of each listed cell lies in."""
    grid = FineGrid(listed.grid.domain, (side, side))
    return grid.lattice_boxes(*(cells_of(middle, side) for middle in middles(listed)))


def leaf_blocks(listed: ListedCells, tree: Decomposition) -> Integers:
    """Return the leaf of a tree that the middle of each listed cell lies in."""
    leaves = tree.leaf_boxes()
    raster = box_raster(leaves, (TREE, TREE))
    columns, rows = (cells_of(middle, TREE) for middle in middles(listed))
    return leaves[raster[rows, columns]]


def middles(listed: ListedCells) -> Integers:
    """Return the lattice columns and rows of the middles of listed cells."""
    boxes = listed.leaf_boxes()
    return np.asarray((boxes[:, :2] + boxes[:, 2:]).T // 2)


def answers(
    points: sdp.Points, domain: sdp.Domain, epsilon: Fraction, boxes: Boxes, seed: int
) -> Iterator[tuple[str, str, Boxes]]:
    """Yield kind, parameters and answers of every release, made once."""

    def released(mechanism: sdp.mechanisms.Mechanism, cost: Fraction, *number: int) -> sdp.Release:
        return mechanism.release(points, domain, epsilon=cost, noise=sdp.SeededNoise((seed, *number)))

    def asked(release: sdp.Release) -> Boxes:
        return {size: release.answer(some, extrapolate=False) for size, some in boxes.items()}

    for side in GRIDS:
        yield "Hierarchy", str(side), asked(released(sdp.Hierarchy((side, side)), epsilon, 1, side))
    yield "Adaptive", str(TREE), asked(released(sdp.Adaptive((TREE, TREE)), epsilon, 2))
    for share in SHARES:
        rest = epsilon * (1 - share)
        tree = released(sdp.Adaptive((TREE, TREE), estimate="unbiased"), rest, 3)
        grids = {side: released(sdp.Hierarchy((side, side)), rest, 4, side) for side in GRIDS}
        assert isinstance(tree.estimate, Decomposition)
        of_grids, of_tree = {side: asked(grid) for side, grid in grids.items()}, asked(tree)
        for fine in LISTS:
            listed = released(sdp.Sparse((fine, fine)), epsilon * share, 5, fine).estimate
            assert isinstance(listed, ListedCells)
            maps = [(str(side), grid_blocks(listed, side), of_grids[side]) for side in GRIDS if side < fine]
            for name, blocks, found in [*maps, ("tree", leaf_blocks(listed, tree.estimate), of_tree)]:
                gained = {size: each + moved(listed, blocks, domain, boxes[size]) for size, each in found.items()}
                yield "hybrid", f"{share} of ε, {fine} over {name}", gained


def measured(name: str, points: sdp.Points, domain: sdp.Domain, releases: int) -> list[dict[str, Any]]:
    """Return the least mean error of each kind of release, over its parameters, for each ε and size of boxes."""
    boxes = {size: boxes_of(domain, share) for size, share in AREAS.items()}
    counter = Counter.of(points, domain)
    truth = {size: counter.count(domain.boxes(asked)) for size, asked in boxes.items()}
    rows = []
    for epsilon in EPSILONS:
        errors: dict[tuple[str, str, str], list[float]] = {}
        for seed in range(releases):
            for kind, parameters, found in answers(points, domain, epsilon, boxes, seed):
                for size, each in found.items():
                    errors.setdefault((size, kind, parameters), []).append(float(np.abs(each - truth[size]).mean()))
        for size in AREAS:
            best: dict[str, float] = {}
            chosen: dict[str, str] = {}
            for (of, kind, parameters), some in errors.items():
                if of == size and np.mean(some) < best.get(kind, np.inf):
                    best[kind], chosen[kind] = float(np.mean(some)), parameters
            rows.append(
                {"data": name, "epsilon": float(epsilon), "area": size} | best | {"parameters": chosen["hybrid"]}
            )
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    """Return the rows as a table in Markdown; the best of each row is in bold."""
    kinds = ("Hierarchy", "Adaptive", "hybrid")
    lines = []
    for row in rows:
        least = min(row[kind] for kind in kinds)
        numbers = [f"**{row[kind]:.3g}**" if row[kind] == least else f"{row[kind]:.3g}" for kind in kinds]
        lines.append([row["data"], f"{row['epsilon']:g}", row["area"], *numbers, row["parameters"]])
    head = ["data", "ε", "area of a box", *kinds, "best hybrid: share for the list, its side, the map"]
    return markdown([head, *lines]) + "\n"


@click.command()
@click.option("--output", type=click.Path(path_type=Path), default=Path("figures"), show_default=True)
@click.option("--releases", type=click.IntRange(1), default=3, show_default=True)
@click.option("--sets", default=",".join(SHIPPED), show_default=True, help="Names of shipped data sets.")
@click.option("--data", type=click.Path(path_type=Path, exists=True), help="Folder of further data sets.")
def main(output: Path, releases: int, sets: str, data: Path | None) -> None:
    """Write tables: list_over_grid and, of a folder, list_over_grid_more."""
    shipped = [(name, sdp.datasets.DATASETS[name]) for name in sets.split(",")]
    given = {"list_over_grid": [(name, each.points(), each.domain) for name, each in shipped]}
    if data is not None:
        given["list_over_grid_more"] = folder_of(data)
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
