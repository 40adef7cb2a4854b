"""How far should a field go away from zero? The share of `estimates/fields/gaussian.py`, fitted on public data sets.

A field leans to zero where there are few records. A second field with a stronger pull shows by how much, and a share of
the difference of both is added to the first. For each data set and ε, this script releases adaptive trees, finds both
fields, and fits the share by least squares: it makes the squared errors of 6,000 boxes smallest, each release and
family of boxes over its own mean square. Shares fade for many records (`away_from_zero`); what is fitted is the share
where there are few.

Each data set is judged with a share that was fitted without it and without all other data sets of the same place. The
table shows the mean absolute error with this share over that without any, as geometric means over data sets.

Run it as ``python scripts/field_share.py --output figures --data FOLDER``; `FOLDER` has Parquet files, as for
``adaptive_errors.py``. Noise is seeded by the name of the data set, ε and the number of the release, which `--first`
sets; no release is one of those of ``adaptive_errors.py``. Private-only for real data. Here all data sets are public.
"""

from __future__ import annotations

import argparse
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np
import pandas as pd
from adaptive_errors import SHAPE, data_sets, geometric_mean, workloads

import spatialdp as sdp
from spatialdp._support.arrays import Floats, Integers
from spatialdp.estimates.fields import gaussian
from spatialdp.estimates.fields.coarse import coarse_counts, coarse_lines
from spatialdp.estimates.fields.field import Field
from spatialdp.records.counting import count_cells
from spatialdp.space.boxes.subdivision import Subdivision
from spatialdp.space.domain import Grid
from spatialdp.workload import Workload

EPSILONS = (0.01, 0.1, 1)
FAMILIES = ("random", "1 %", "0.1 %")
# Data sets of one place, by a part of their names.
PLACES = ("auckland", "liege", "rome", "seattle", "chattanooga", "highways", "crashes", "slc", "salt-lake")
SAME = {"salt-lake": "slc"}


@dataclass(frozen=True, eq=False)
class Errors:
    """Errors of one release: of boxes of each family, without a share, and by how much a share of 1 changes them."""

    data: str
    epsilon: float
    plain: Floats
    change: Floats

    @property
    def place(self) -> str:
        """The place of the data set; its name, if no other data set has the place."""
        place = next((word for word in PLACES if word in self.data), self.data)
        return SAME.get(place, place)

    def squares(self) -> tuple[float, float]:
        """The two sums whose ratio is the best share, each family over its own mean square."""
        scale = (self.plain**2).mean(axis=1, keepdims=True)
        return float(-(self.plain * self.change / scale).sum()), float((self.change**2 / scale).sum())

    def means(self, share: float) -> Floats:
        """Mean absolute error of each family, with a share."""
        return cast(Floats, np.abs(self.plain + share * self.change).mean(axis=1))


def fields(field: Field) -> tuple[Floats, Floats]:
    """Counts of cells without a share, and by how much a share of 1 changes them, as far as shares have not faded."""
    counts = coarse_counts(field._nodes, Subdivision(field.grid), coarse_lines(field.grid.shape))
    density, noise = gaussian.pilot(counts), float(np.sqrt(field.basis.variances.min()))
    left = gaussian.away_from_zero(float(counts.fitted.sum()), noise) / gaussian.SHARE
    plain = gaussian.gaussian_field(counts, density)
    return plain, gaussian.gaussian_field(counts, density, share=left) - plain


def measured(folder: Path | None, words: list[str], releases: int, first: int) -> Iterator[Errors]:
    """Yield the errors of every release."""
    for name, points, domain in data_sets(folder):
        if words and not any(word in name for word in words):
            continue
        grid = domain.grid(SHAPE)
        blocks, truth = [_blocks(each, grid) for each in workloads(domain)], count_cells(points, grid)
        for epsilon in EPSILONS:
            prepared = sdp.Adaptive(SHAPE).prepare(domain, epsilon=epsilon)
            for number in range(first, first + releases):
                noise = sdp.SeededNoise((zlib.crc32(f"share, {name}, {epsilon}".encode()), number))
                plain, change = fields(cast(Field, prepared.release(points, noise=noise).estimate))
                parts = (np.array([_sums(each, some) for some in blocks]) for each in (plain - truth, change))
                yield Errors(name, epsilon, *parts)


def _blocks(workload: Workload, grid: Grid) -> Integers:
    """First and last columns and rows of boxes along the grid's lines."""
    assert workload.boxes is not None
    low, size = np.tile(grid.domain.bounds[:2], 2), np.tile(grid.domain.size, 2)
    return np.asarray(np.rint((workload.boxes - low) / size * np.tile(grid.shape, 2)), dtype=np.int64)


def _sums(cells: Floats, blocks: Integers) -> Floats:
    """Sums of cells over blocks."""
    sums = np.zeros((cells.shape[0] + 1, cells.shape[1] + 1))
    np.cumsum(np.cumsum(cells, axis=0), axis=1, out=sums[1:, 1:])
    x0, y0, x1, y1 = blocks.T
    return np.asarray(sums[y1, x1] - sums[y0, x1] - sums[y1, x0] + sums[y0, x0])


def best_share(errors: Sequence[Errors]) -> float:
    """The share with the least squared errors."""
    above, below = np.sum([each.squares() for each in errors], axis=0)
    return float(above / below)


def judged(errors: list[Errors]) -> tuple[dict[str, float], pd.DataFrame]:
    """The share without each place, and the ratios of mean errors with it to those without any share."""
    shares = {
        place: best_share([each for each in errors if each.place != place]) for place in {e.place for e in errors}
    }
    rows = [
        {"data": each.data, "epsilon": each.epsilon, "boxes": boxes, "with": with_share, "without": without}
        for each in errors
        for boxes, with_share, without in zip(FAMILIES, each.means(shares[each.place]), each.means(0.0), strict=True)
    ]
    found = pd.DataFrame(rows).groupby(["boxes", "epsilon", "data"], sort=False).mean()
    return shares, (found["with"] / found["without"]).rename("ratio").reset_index()


def table(errors: list[Errors]) -> str:
    """The fitted shares and the ratios, as Markdown."""
    shares, ratios = judged(errors)
    low, high, sets = min(shares.values()), max(shares.values()), len({each.data for each in errors})
    lines = [
        f"The best share for all {sets} data sets is {best_share(errors):.3f}; without one place it is {low:.3f} to "
        f"{high:.3f}.",
        "",
        "| boxes | ε | error with the share over that without | worst data set |",
        "|---|---|---|---|",
    ]
    for (boxes, epsilon), some in ratios.groupby(["boxes", "epsilon"], sort=False):
        worst = some.loc[some["ratio"].idxmax()]
        mean = geometric_mean(some["ratio"])
        lines.append(f"| {boxes} | {epsilon:g} | {mean:.3f} | {worst['ratio']:.2f} ({worst['data']}) |")
    return "\n".join([*lines, ""])


def main() -> None:
    """Measure, and write the table `field_share.md`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("figures"))
    parser.add_argument("--data", type=Path, help="folder of Parquet files, beside the data sets that ship")
    parser.add_argument("--releases", type=int, default=2, help="releases for each data set and ε")
    parser.add_argument("--first", type=int, default=0, help="number of the first release; another gives other noise")
    parser.add_argument("--sets", default="", help="only data sets with one of these words, separated by commas")
    settings = parser.parse_args()
    words = [word for word in settings.sets.split(",") if word]
    errors = []
    for each in measured(settings.data, words, settings.releases, settings.first):
        errors.append(each)
        print(each.data, each.epsilon, flush=True)
    settings.output.mkdir(parents=True, exist_ok=True)
    (settings.output / "field_share.md").write_text(table(errors), encoding="utf-8")
    print(table(errors))


if __name__ == "__main__":
    main()
