"""What does a private count-sketch get for boxes? Dyadic rectangles in hashed counters, beside trees and grids.

A sketch keeps few counters for many cells: each cell is hashed to a counter and added to it with a random sign, and
several rows of counters outvote collisions. Boxes need sums, so all dyadic rectangles of a 1,024 x 1,024 grid are
sketched, one pair of sizes at a time: a box is a sum of some hundred of them. Pairs of sizes with no more rectangles
than counters are counted as they are. One record is in 121 dyadic rectangles, and each touches a counter of each row:
the noise of every counter pays for that.

Hashes are public and seeded; the noise is our exact discrete Laplace noise, seeded as well, so nothing here is private.
Run it as ``python scripts/count_sketch.py --output figures`` for one data set that ships; ``--sets`` names others, and
``--data FOLDER`` adds Parquet files of points, as in `adaptive_errors.py`.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path

import numpy as np
from adaptive_errors import data_sets

import spatialdp as sdp
from spatialdp._support.arrays import Booleans, Floats, Integers
from spatialdp._support.atomic import write_all
from spatialdp._support.tables import markdown
from spatialdp.datasets import DATASETS
from spatialdp.evaluation.peers.mwem import blocks_of
from spatialdp.mechanisms import Mechanism
from spatialdp.privacy.noise.source import SeededNoise
from spatialdp.records.counting import count_cells
from spatialdp.space.coverage import prefix_sums
from spatialdp.space.domain import Domain
from spatialdp.workload import random_boxes

BITS = 10
SIDE = 2**BITS
QUERIES = 2000
SHIPPED = "highways-us"


@dataclass(frozen=True)
class Sketch:
    """A count-sketch of all dyadic rectangles: `rows` rows of `width` counters for each pair of sizes.

    Examples
    --------
    >>> Sketch(rows=3, width=2**14).sensitivity, Sketch(rows=1, width=2**20).sensitivity
    (163, 121)
    """

    rows: int
    width: int

    @cached_property
    def sizes(self) -> list[tuple[int, int]]:
        """All pairs of sizes, as powers of two: of columns, of rows."""
        return [(i, j) for i in range(BITS + 1) for j in range(BITS + 1)]

    def hashed(self, i: int, j: int) -> bool:
        """Whether a pair of sizes has more rectangles than counters."""
        return 1 << (2 * BITS - i - j) > self.width

    @property
    def sensitivity(self) -> int:
        """How far one record more or less moves all counters together."""
        return sum(self.rows if self.hashed(i, j) else 1 for i, j in self.sizes)

    @property
    def counters(self) -> int:
        """How many counters there are."""
        return sum(self.rows * self.width if self.hashed(i, j) else 1 << (2 * BITS - i - j) for i, j in self.sizes)

    def answers(self, counts: Integers, boxes: Integers, epsilon: Fraction, noise: SeededNoise | None) -> Floats:
        """Estimated counts of boxes of cells; without noise, collisions alone make them wrong."""
        total, scale = np.zeros(len(boxes)), self.sensitivity / epsilon
        x, y = (list(dyadic(boxes[:, axis], boxes[:, axis + 2])) for axis in (0, 1))
        for i, j in self.sizes:
            sums = counts.reshape(SIDE >> j, 2**j, SIDE >> i, 2**i).sum(axis=(1, 3))
            places = [
                (row * (SIDE >> i) + column, has_column & has_row)
                for column, has_column in x[i]
                for row, has_row in y[j]
            ]
            estimates = self._estimates(sums.ravel(), (i, j), places, scale, noise)
            for (_, wanted), values in zip(places, estimates, strict=True):
                total += np.where(wanted, values, 0.0)
        return total

    def _estimates(
        self,
        sums: Integers,
        size: tuple[int, int],
        places: list[tuple[Integers, Booleans]],
        scale: Fraction,
        noise: SeededNoise | None,
    ) -> list[Floats]:
        """Estimates of some rectangles of one size: as they are counted, or the medians of all rows."""
        if not self.hashed(*size):
            noisy = sums.astype(np.float64)
            if noise is not None:
                noisy += noise.laplace(scale, sums.size)
            return [noisy[np.where(wanted, place, 0)] for place, wanted in places]
        found = []
        for row in range(self.rows):
            bucket, sign = hashes(np.arange(sums.size), self.width, (*size, row))
            counters = np.bincount(bucket, weights=sign * sums, minlength=self.width)
            if noise is not None:
                counters += noise.laplace(scale, self.width)
            at = [np.where(wanted, place, 0) for place, wanted in places]
            found.append([sign[place] * counters[bucket[place]] for place in at])
        return [np.median(rows, axis=0) for rows in zip(*found, strict=True)]


def hashes(keys: Integers, width: int, stream: tuple[int, ...]) -> tuple[Integers, Integers]:
    """Public, seeded counters and signs of keys, by multiplication modulo 2^64."""
    a, b, c, d = SeededNoise((2024, *stream)).uniform_words(4)
    words = keys.astype(np.uint64)
    bucket = (words * (a | np.uint64(1)) + b) >> np.uint64(65 - width.bit_length())
    sign = (words * (c | np.uint64(1)) + d) >> np.uint64(63)
    return bucket.astype(np.int64), 2 * sign.astype(np.int64) - 1


def dyadic(low: Integers, high: Integers) -> Iterator[list[tuple[Integers, Booleans]]]:
    """For each size, the at most two dyadic intervals of that size in [low, high): their numbers, and where they are.

    Examples
    --------
    >>> parts = dyadic(np.array([1]), np.array([6]))
    >>> [[int(number[0]) for number, there in size if there[0]] for size in parts][:3]
    [[1], [1, 2], []]
    """
    for _ in range(BITS + 1):
        inside = low < high
        yield [(low, inside & (low % 2 == 1)), (high - 1, inside & (high % 2 == 1))]
        low, high = (low + 1) // 2, high // 2


SKETCHES = [Sketch(rows, 2**bits) for rows in (1, 3, 5) for bits in (12, 16)]


def others() -> dict[str, Mechanism]:
    """What one would use instead."""
    return {
        "Quadtree(10)": sdp.Quadtree(BITS),
        "Hierarchy, 256 x 256": sdp.Hierarchy((256, 256)),
        "Flat, 256 x 256": sdp.Flat((256, 256)),
        "Adaptive, 256 x 256": sdp.Adaptive((256, 256)),
    }


def rows(name: str, points: sdp.Points, domain: Domain, epsilon: Fraction, trials: int) -> Iterator[list[str]]:
    """A line for each sketch and mechanism: its size, its sensitivity, and its mean errors."""
    grid = domain.grid((SIDE, SIDE))
    counts, queries = count_cells(points, grid), random_boxes(domain, QUERIES, seed=1, shape=grid.shape).boxes
    assert queries is not None
    boxes, sums = blocks_of(grid, queries), prefix_sums(counts)
    x0, y0, x1, y1 = boxes.T
    truth = sums[y1, x1] - sums[y0, x1] - sums[y1, x0] + sums[y0, x0]
    yield [name, f"the truth: {counts.sum():,} records", "", "", f"{truth.mean():,.0f} in a box", ""]
    for number, sketch in enumerate(SKETCHES):
        noises = (SeededNoise((number, trial)) for trial in range(trials))
        errors = [np.abs(sketch.answers(counts, boxes, epsilon, noise) - truth).mean() for noise in noises]
        collisions = np.abs(sketch.answers(counts, boxes, epsilon, None) - truth).mean()
        label = f"sketch, {sketch.rows} x {sketch.width:,} a size"
        yield [
            name,
            label,
            f"{sketch.counters:,}",
            f"{sketch.sensitivity}",
            f"{np.mean(errors):,.0f}",
            f"{collisions:,.0f}",
        ]
    for number, (label, mechanism) in enumerate(others().items()):
        releases = (
            mechanism.release(points, domain, epsilon=epsilon, noise=SeededNoise((100 + number, trial)))
            for trial in range(trials)
        )
        off = np.mean([np.abs(release.answer(queries) - truth).mean() for release in releases])
        yield [name, label, "", "", f"{off:,.0f}", ""]


def main() -> None:
    """Measure, and write the tables: of data sets that ship, and of others."""
    settings = options()
    words = [word for word in settings.sets.split(",") if word]
    heads = ["data set", "method", "counters", "sensitivity", "mean error, ε = 1", "of collisions alone"]
    settings.output.mkdir(parents=True, exist_ok=True)
    lines: dict[str, list[list[str]]] = {"count_sketch": [], "count_sketch_more": []}
    for name, points, domain in data_sets(settings.data):
        if any(word in name for word in words):
            shipped = "count_sketch" if name in DATASETS else "count_sketch_more"
            lines[shipped] += rows(name, points, domain, Fraction(1), settings.trials)
            print(name, flush=True)
    files = {
        settings.output / f"{stem}.md": f"{markdown([heads, *found])}\n".encode()
        for stem, found in lines.items()
        if found
    }
    write_all(files, overwrite=True)


def options() -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("figures"))
    parser.add_argument("--data", type=Path, help="folder of Parquet files of points, beside the data sets that ship")
    parser.add_argument("--trials", type=int, default=3, help="releases of each method")
    parser.add_argument("--sets", default=SHIPPED, help="only data sets with one of these words, separated by commas")
    return parser.parse_args()


if __name__ == "__main__":
    main()
