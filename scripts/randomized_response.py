"""What does it cost not to trust a curator? Randomized response on the cells of the traffic histogram.

Without a curator, each person's own device changes the answer before it is sent, so that nobody ever holds a true
record. There are two classic ways for k cells:

- one of k answers: the device sends its true cell with probability e^ε / (e^ε + k - 1), and otherwise another one;
- unary encoding: the device sends a bit for each cell. The bit of the true cell is 1 with probability 1/2, and each
  other bit with probability 1 / (e^ε + 1).

Both are ε-differentially private for a device's whole answer, whoever reads it. The receiver adds the answers up and
takes out their bias. The table shows what is left of a map, and what a curator who holds the records can publish for
the same ε. The records are the highway junctions of the contiguous United States, each taken for a person. What the
receiver sees is drawn from its exact law, with a seed; nothing here is private.

Run it as ``python scripts/randomized_response.py --output figures``.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from spatialdp import Adaptive, Flat, SeededNoise, datasets
from spatialdp._support.arrays import Floats, Integers
from spatialdp._support.tables import markdown
from spatialdp.evaluation.traffic import BOXES, traffic_grid
from spatialdp.mechanisms import Mechanism
from spatialdp.records.counting import count_cells
from spatialdp.space.domain import Grid
from spatialdp.workload import random_boxes


def one_of_many(counts: Integers, epsilon: float, rng: np.random.Generator) -> Floats:
    """Estimated counts from devices that send one cell each."""
    k, n = counts.size, int(counts.sum())
    honest = math.exp(epsilon) / (math.exp(epsilon) + k - 1)
    other = (1 - honest) / (k - 1)
    cells = np.repeat(np.arange(k), counts)
    lies = rng.random(n) >= honest
    # One of the other cells, all equally likely: the true cell is stepped over.
    drawn = rng.integers(0, k - 1, int(lies.sum()))
    cells[lies] = drawn + (drawn >= cells[lies])
    return np.asarray((np.bincount(cells, minlength=k) - n * other) / (honest - other))


def unary_encoding(counts: Integers, epsilon: float, rng: np.random.Generator) -> Floats:
    """Estimated counts from devices that send a bit for each cell."""
    n, other = int(counts.sum()), 1 / (math.exp(epsilon) + 1)
    ones = rng.binomial(counts, 0.5) + rng.binomial(n - counts, other)
    return np.asarray((ones - n * other) / (0.5 - other))


def deviation_of_one_of_many(n: float, cells: int, epsilon: float) -> float:
    """Standard deviation of the estimate of an empty cell, if n devices send one cell each.

    Examples
    --------
    >>> round(deviation_of_one_of_many(10**6, 64909, 1))
    148272
    """
    honest = math.exp(epsilon) / (math.exp(epsilon) + cells - 1)
    other = (1 - honest) / (cells - 1)
    return math.sqrt(n * other * (1 - other)) / (honest - other)


def deviation_of_unary_encoding(n: float, epsilon: float) -> float:
    """Standard deviation of the estimate of an empty cell, if n devices send a bit for each cell.

    Examples
    --------
    >>> round(deviation_of_unary_encoding(10**6, 1))
    1919
    """
    return 2 * math.sqrt(n * math.exp(epsilon)) / (math.exp(epsilon) - 1)


def rows(epsilon: float, seed: int) -> Iterator[list[str]]:
    """The lines of the table."""
    grid, points = traffic_grid(), datasets.us_highway_junctions()
    truth = count_cells(points, grid)
    counts, rng = truth[grid.mask], np.random.default_rng(seed)
    n, boxes = int(counts.sum()), _blocks(grid)

    def line(who: str, deviation: str, values: Floats) -> list[str]:
        off = np.zeros(grid.mask.shape)
        off[grid.mask] = values - counts
        return [who, deviation, f"{np.abs(off[grid.mask]).mean():,.1f}", f"{_box_error(off, boxes):,.0f}"]

    yield line("nobody: a map of zeros", "0", np.zeros(counts.size))
    many = deviation_of_one_of_many(n, counts.size, epsilon)
    unary = deviation_of_unary_encoding(n, epsilon)
    yield line("each person: one of 64,909 answers", f"{many:,.0f}", one_of_many(counts, epsilon, rng))
    yield line("each person: a bit for each cell", f"{unary:,.0f}", unary_encoding(counts, epsilon, rng))
    mechanisms: dict[str, Mechanism] = {"independent noise": Flat(grid.shape), "adaptive tree": Adaptive(grid.shape)}
    for name, mechanism in mechanisms.items():
        release = mechanism.release(points, grid.domain, epsilon=epsilon, noise=SeededNoise(seed))
        deviation = (
            f"{math.sqrt(2 * math.exp(-epsilon)) / (1 - math.exp(-epsilon)):.2f}" if name != "adaptive tree" else ""
        )
        yield line(f"a curator: {name}", deviation, release.estimate.values[grid.mask])


def _blocks(grid: Grid) -> Integers:
    """Public boxes of whole cells, as first and last column and row."""
    boxes = random_boxes(grid.domain, BOXES, shape=grid.shape).boxes
    assert boxes is not None
    columns, rows_ = np.searchsorted(grid.x_edges, boxes[:, [0, 2]]), np.searchsorted(grid.y_edges, boxes[:, [1, 3]])
    return np.concatenate([columns, rows_], axis=1)


def _box_error(off: Floats, blocks: Integers) -> float:
    sums = np.pad(off.cumsum(axis=0).cumsum(axis=1), ((1, 0), (1, 0)))
    left, right, low, high = blocks.T
    return float(np.abs(sums[high, right] - sums[low, right] - sums[high, left] + sums[low, left]).mean())


def main() -> None:
    """Draw the answers, and write `randomized_response.md`."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("figures"))
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=1)
    settings = parser.parse_args()
    header = ["who adds the noise", "sd of a cell", "average error of a cell", "average error of a random box"]
    table = markdown([header, *rows(settings.epsilon, settings.seed)])
    note = f"ε = {settings.epsilon:g}; seeded draws, not private. The sd is that of an empty cell, from theory."
    settings.output.mkdir(parents=True, exist_ok=True)
    (settings.output / "randomized_response.md").write_text(f"{table}\n\n{note}\n", encoding="utf-8")
    print(table)


if __name__ == "__main__":
    main()
