"""Is the field of an adaptive tree ever much worse than its plain tree? Measured on maps that are hard to smooth.

For each made-up map and ε: the mean absolute error of the field on random boxes along the grid's lines, over that of a
least-squares fit of the same tree and the same noisy counts, on 256 x 256 cells. The number after ± is the standard
error of the ratio. Run it as ``python scripts/adaptive_worst_cases.py --output figures``. The number of the release
seeds the noise, so results can be made again. A ratio with a * is above 1.15.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import cast

import numpy as np

import spatialdp as sdp
from spatialdp._support.arrays import Floats, Integers
from spatialdp.estimates.fields.field import Field
from spatialdp.space.boxes.subdivision import block_sums, summed_areas
from spatialdp.space.domain import Domain
from spatialdp.trees.least_squares import two_pass

SIDE = 256
EPSILONS = (0.01, 0.1, 1)
BOXES = 2000
BAR = 1.15
UNIT = Domain((0, 0, 1, 1))


@dataclass(frozen=True)
class Row:
    """Mean absolute errors of one map at one ε, their ratio, and the ratio's standard error."""

    map: str
    epsilon: float
    releases: int
    field: float
    least_squares: float
    ratio: float
    error: float

    @property
    def holds(self) -> bool:
        """Whether the field is not much worse."""
        return self.ratio <= BAR


def made_maps(side: int = SIDE) -> Iterator[tuple[str, Integers]]:
    """Counts of cells, (side, side), of maps that a smooth density does not fit, and of even ones."""
    rng, cells = np.random.default_rng(1), np.arange(side)
    empty = np.zeros((side, side), dtype=np.int64)
    yield "empty", empty
    for records in (6_500, 650_000):
        yield f"uniform, {records:,} records", rng.multinomial(records, np.full(side**2, side**-2.0)).reshape(side, -1)
    cell, diagonal, cross, spikes = (empty.copy() for _ in range(4))
    cell[side // 3, side // 3] = 100_000
    yield "one cell", cell
    diagonal[cells, cells] = 400
    yield "diagonal line", diagonal
    cross[side // 3], cross[:, side // 5] = 200, 200
    yield "one row and one column", cross
    spikes.ravel()[rng.choice(side**2, 500, replace=False)] = 200
    yield "500 spikes", spikes
    yield "checkerboard", 10 * ((cells[:, None] + cells) % 2)
    yield "half full, half empty", np.where(cells < side // 2, rng.poisson(3, (side, side)), 0)


def random_boxes(side: int, seed: int) -> Integers:
    """Boxes along the grid's lines, as first and last columns and rows."""
    rng = np.random.default_rng(seed)
    first = rng.integers(side + 1, size=(BOXES, 2))
    second = (first + rng.integers(1, side + 1, size=(BOXES, 2))) % (side + 1)
    return np.concatenate([np.minimum(first, second), np.maximum(first, second)], axis=1)


def records_of(counts: Integers) -> sdp.Points:
    """As many points in the middle of each cell as it counts."""
    row, column = np.nonzero(counts)
    places = (np.stack([column, row], axis=1) + 0.5) / counts.shape[0]
    return sdp.Points(np.repeat(places, counts[row, column], axis=0))


def errors_of(field: Field, boxes: Integers, truth: Integers) -> tuple[float, float]:
    """Mean absolute errors of the field, and of least squares on the same tree and counts."""
    basis = field.basis
    fitted = two_pass(basis.tree, field.measured, basis.variances).estimates
    plain = replace(basis, values=fitted, own_weights=None)
    of_field, of_tree = (float(np.abs(each.answer(boxes) - truth).mean()) for each in (field, plain))
    return of_field, of_tree


def measured(name: str, counts: Integers, epsilon: float, releases: int, first: int = 0) -> Row:
    """Release a map some times; the noise is numbered from `first`."""
    side = counts.shape[0]
    prepared, points = sdp.Adaptive((side, side)).prepare(UNIT, epsilon=epsilon), records_of(counts)
    blocks = random_boxes(side, 1)
    boxes, truth = UNIT.grid((side, side)).lattice_boxes(blocks), block_sums(summed_areas(counts), blocks)
    errors = np.empty((releases, 2))
    for trial in range(releases):
        estimate = prepared.release(points, noise=sdp.SeededNoise((9, first + trial))).estimate
        errors[trial] = errors_of(cast(Field, estimate), boxes, truth)
    of_field, of_tree = errors.mean(axis=0).tolist()
    return Row(name, epsilon, releases, of_field, of_tree, *_ratio(errors))


def _ratio(errors: Floats) -> tuple[float, float]:
    """The ratio of the means of two columns, and its standard error from the pairs."""
    above, below = errors.mean(axis=0)
    spread = (errors[:, 0] - above / below * errors[:, 1]).std(ddof=1) if len(errors) > 1 else np.nan
    return float(above / below), float(spread / below / np.sqrt(len(errors)))


def table(rows: list[Row]) -> str:
    """The table of the documentation, as Markdown."""
    heads = [f"ε = {epsilon:g}" for epsilon in dict.fromkeys(row.epsilon for row in rows)]
    lines = [f"| map | {' | '.join(heads)} |", "|" + "---|" * (1 + len(heads))]
    for name in dict.fromkeys(row.map for row in rows):
        same = [row for row in rows if row.map == name]
        cells = [f"{row.ratio:.2f} ± {row.error:.2f}{'' if row.holds else ' *'}" for row in same]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def main() -> None:
    """Measure, and write `adaptive_worst_cases.csv` and the table `adaptive_worst_cases.md`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("figures"))
    parser.add_argument("--releases", type=int, default=6, help="releases for each map and ε")
    parser.add_argument("--first", type=int, default=0, help="number of the first release; another gives other noise")
    parser.add_argument("--maps", default="", help="only maps whose names begin so, separated by commas")
    settings = parser.parse_args()
    words, rows = tuple(word for word in settings.maps.split(",") if word), []
    for name, counts in made_maps():
        if words and not name.startswith(words):
            continue
        rows += [measured(name, counts, epsilon, settings.releases, settings.first) for epsilon in EPSILONS]
        print(table(rows[-len(EPSILONS) :]).splitlines()[-1], flush=True)
    settings.output.mkdir(parents=True, exist_ok=True)
    with (settings.output / "adaptive_worst_cases.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(asdict(rows[0])))
        writer.writeheader()
        writer.writerows(asdict(row) for row in rows)
    (settings.output / "adaptive_worst_cases.md").write_text(table(rows), encoding="utf-8")
    print(f"{sum(not row.holds for row in rows)} of {len(rows)} ratios are above {BAR}")


if __name__ == "__main__":
    main()
