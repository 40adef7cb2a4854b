"""Which laws do errors follow on public maps, and how good is it to follow `recommend`? Both are measured here.

First, on the data sets that ship: how far answers are off because records are not evenly spread within the cells of a
grid, and how far those of adaptive trees are off; the constants of ``spatialdp/planning/typical_map.py`` are the fit.
Second, for each data set, ε and family of boxes: the error of the mechanism that `recommend` puts first, with the
number of records rounded to one digit as the guess, over the least error of all mechanisms and sizes, chosen with the
truth.

Run it as ``python scripts/planning_laws.py --output figures``; ``--data FOLDER`` adds other data sets, as for
``adaptive_errors.py``, for the second part alone. Noise is seeded. The error of mechanisms with a public grid is exact:
that of their noise is known, and the rest is measured at an enormous ε. The results depend on the records; here all
data sets are public.
"""

from __future__ import annotations

import argparse
import math
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from adaptive_errors import data_sets

import spatialdp as sdp
from spatialdp._support.arrays import Floats
from spatialdp.datasets import DATASETS
from spatialdp.mechanisms import Mechanism
from spatialdp.mechanisms.adaptive.adaptive_tree import Reading
from spatialdp.planning.queries import all_boxes
from spatialdp.planning.recommend import SIZES, plain_mechanisms
from spatialdp.planning.typical_map import (
    GROWTH,
    OF_CELLS,
    ROUGH,
    TREE,
    UNEVEN,
    best_grid,
    mean_covered_powers,
    tree_shape,
)
from spatialdp.privacy.noise.laws import Law
from spatialdp.records.points import lattice_points
from spatialdp.records.truth import Counter
from spatialdp.space.domain import Domain
from spatialdp.workload import area_boxes

EPSILONS = (0.01, 0.03, 0.1, 0.3, 1)  # of the laws
SHARES = {"10 %": 0.1, "1 %": 0.01, "0.1 %": 0.001}
COARSE = 256  # grids with more cells along a side do not enter the fit: their errors are those of few records
ANY = "any box"
FOLLOWED = (ANY, "1 %")
ADAPTIVE = [
    sdp.Adaptive(),
    sdp.Adaptive(estimate="unbiased"),
    *(sdp.KdTree(height) for height in (4, 6, 8)),
    sdp.Fourier((64, 64)),
]


class Data:
    """Points of a public map, and how far answers about them are off."""

    def __init__(self, name: str, points: sdp.Points, domain: Domain) -> None:
        self.name, self.points, self.domain = name, points, domain
        self.boxes = {ANY: all_boxes(domain)}
        self.boxes |= {words: _boxes(domain, share) for words, share in SHARES.items()}

    @cached_property
    def counter(self) -> Counter:
        """Exact counts."""
        return Counter(*lattice_points(self.points, self.domain))

    @cached_property
    def records(self) -> int:
        """Number of records in the domain."""
        return int(self.counter.count(self.domain.boxes(np.array([self.domain.bounds])))[0])

    @property
    def guess(self) -> float:
        """The number of records, rounded to one digit."""
        return float(f"{self.records:.0e}")

    def errors(self, release: sdp.Release) -> dict[str, float]:
        """Mean square of the error of each family of boxes."""
        return {
            words: float(np.mean((release.answer(boxes) - self.counter.count(self.domain.boxes(boxes))) ** 2))
            for words, boxes in self.boxes.items()
        }

    def trials(self, mechanism: Mechanism, epsilon: float, trials: int) -> dict[str, float]:
        """Root of the mean square, over seeded releases."""
        squares = [
            self.errors(mechanism.release(self.points, self.domain, epsilon=epsilon, noise=sdp.SeededNoise(seed)))
            for seed in range(trials)
        ]
        return {words: math.sqrt(np.mean([each[words] for each in squares])) for words in self.boxes}

    @cached_property
    def uneven(self) -> dict[int, dict[str, float]]:
        """Mean squares without noise, for grids of each size: those of an enormous ε."""
        return {
            side: self.errors(sdp.Flat((side, side)).release(self.points, self.domain, epsilon=500))
            for side, _ in SIZES
        }


def _boxes(domain: Domain, share: float) -> Floats:
    boxes = area_boxes(domain, [share], 1000)[0].boxes
    assert boxes is not None
    return boxes


# --- laws ------------------------------------------------------------------------------------------


def unevenness(data: Data) -> pd.DataFrame:
    """What `UNEVEN * side**GROWTH` stands for, for each grid and family of boxes."""
    rows = []
    for side, squares in data.uneven.items():
        for words, square in squares.items():
            lengths = (data.boxes[words][:, 2:] - data.boxes[words][:, :2]) / data.domain.size * side
            one, rough, two = (mean_covered_powers(lengths, power).prod(axis=1).mean() for power in (1, ROUGH, 2))
            in_cell = data.records / side**2
            few = in_cell * (one - two)
            if side <= COARSE and square > 1.3 * few:
                rows.append((side, (square - few) / (rough - two) / in_cell**2))
    return pd.DataFrame(rows, columns=["side", "uneven"])


def trees(data: Data, reading: Reading, trials: int) -> pd.DataFrame:
    """Errors of adaptive trees over those of the best grid, for each ε and family of boxes."""
    rows = []
    for epsilon in EPSILONS:
        deviation = sdp.Adaptive().plan(data.domain, epsilon=epsilon).standard_deviation
        shape = tree_shape(data.domain, data.boxes[ANY], data.records, deviation)
        tree = sdp.Adaptive(shape, estimate=reading)
        grid = tree.leaf_grid(data.domain)
        for words, error in data.trials(tree, epsilon, trials).items():
            theory = math.sqrt(best_grid(grid, data.boxes[words], data.records, deviation)[0])
            share = SHARES.get(words, 1 / 9)  # a ninth is the mean of any box
            rows.append((share, data.records / deviation, error / theory))
    return pd.DataFrame(rows, columns=["share", "strength", "ratio"])


def power_law(x: pd.Series, y: pd.Series) -> tuple[float, float, float]:
    """Factor, exponent and the standard deviation of the logarithms about the law."""
    exponent, constant = np.polyfit(np.log(x), np.log(y), 1)
    rest = np.log(y) - constant - exponent * np.log(x)
    return math.exp(constant), exponent, float(rest.std())


def laws(measured: list[Data], trials: int) -> str:
    """The fitted constants, beside those in use."""
    uneven = pd.concat([unevenness(data) for data in measured])
    factor, growth, rest = power_law(uneven["side"], uneven["uneven"])
    lines = [
        f"UNEVEN {factor:.3g} (in use: {UNEVEN}), GROWTH {growth:.3g} ({GROWTH}); errors are off by {rest / 2:.0%}"
    ]
    for reading in Reading:
        found = pd.concat([trees(data, reading, trials) for data in measured])
        records, area = np.log(found["strength"]), np.log(found["share"])
        columns = np.stack([np.ones(len(found)), records, area, records * area], axis=1)
        fitted, *_ = np.linalg.lstsq(columns, np.log(found["ratio"]), rcond=None)
        rest = float((np.log(found["ratio"]) - columns @ fitted).std())
        lines.append(f"TREE, {reading}: {fitted.round(4)} (in use: {TREE[reading]}); errors are off by {rest:.0%}")
    return "\n".join(lines)


# --- following `recommend` -------------------------------------------------------------------------


class Hindsight:
    """Errors of all mechanisms on one data set at one ε; each is measured once."""

    def __init__(self, data: Data, epsilon: float, trials: int) -> None:
        self.data, self.epsilon, self.trials = data, epsilon, trials
        self._known: dict[str, dict[str, float]] = {}

    def error(self, mechanism: Mechanism, words: str) -> float:
        """Root-mean-square error of a mechanism for a family of boxes."""
        if isinstance(mechanism, OF_CELLS):
            grid = mechanism.leaf_grid(self.data.domain)
            noise = mechanism.expected_error(self.data.domain, self.data.boxes[words], epsilon=self.epsilon)
            return math.sqrt(noise**2 + self.data.uneven[grid.shape[0]][words])
        name = repr(mechanism)
        if name not in self._known:
            self._known[name] = self.data.trials(mechanism, self.epsilon, self.trials)
        return self._known[name][words]

    def followed(self, words: str) -> dict[str, Any]:
        """The error of following `recommend`, and the least error of all mechanisms and sizes."""
        workload = None if words == ANY else self.data.boxes[words]
        ranked = sdp.recommend(self.data.domain, self.epsilon, workload, records=self.data.guess)
        grids = [each for shape in SIZES for _, each in plain_mechanisms(shape, Law.DISCRETE_LAPLACE)]
        everything = [each.mechanism for each in ranked] + [*grids, *ADAPTIVE]
        errors = [self.error(mechanism, words) for mechanism in everything]
        best = int(np.argmin(errors))
        return {
            "dataset": self.data.name,
            "epsilon": self.epsilon,
            "boxes": words,
            "recommended": label(everything[0], self.data.domain),
            "foreseen": ranked[0].error,
            "error": errors[0],
            "best": label(everything[best], self.data.domain),
            "least": errors[best],
            "ratio": errors[0] / errors[best],
        }


def label(mechanism: Mechanism, domain: Domain) -> str:
    """Name of a mechanism with its number of cells along a side."""
    grid = mechanism.leaf_grid(domain)
    return mechanism.name if grid is None or mechanism.name == "adaptive" else f"{mechanism.name} {grid.shape[0]}"


def table(found: pd.DataFrame) -> str:
    """Geometric means and the worst, as Markdown."""
    lines = ["| boxes | ε | geometric mean | worst |", "|---|---|---|---|"]
    for (words, epsilon), some in found.groupby(["boxes", "epsilon"], sort=False):
        worst = some.loc[some["ratio"].idxmax()]
        mean = math.exp(np.log(some["ratio"]).mean())
        lines.append(f"| {words} | {epsilon:g} | {mean:.3f} | {worst['ratio']:.2f} ({worst['dataset']}) |")
    return "\n".join([*lines, f"| all | all | {math.exp(np.log(found['ratio']).mean()):.3f} | |", ""])


def main() -> None:
    """Measure; print the laws, and write `recommendations.csv` and `recommendations.md`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("figures"))
    parser.add_argument("--data", type=Path, help="folder of Parquet files of points, beside the data sets that ship")
    parser.add_argument("--trials", type=int, default=4, help="releases for each data set, adaptive mechanism and ε")
    parser.add_argument("--sets", default="", help="only data sets with one of these words, separated by commas")
    parser.add_argument("--no-laws", action="store_true", help="leave the fit of the laws out")
    settings = parser.parse_args()
    words = settings.sets.split(",")
    chosen = [Data(*each) for each in data_sets(settings.data) if any(word in each[0] for word in words)]
    if not settings.no_laws:
        print(laws([data for data in chosen if data.name in DATASETS], settings.trials))
    rows = []
    for data in chosen:
        for epsilon in (0.01, 0.1, 1):
            hindsight = Hindsight(data, epsilon, settings.trials)
            rows += [hindsight.followed(words) for words in FOLLOWED]
            print(*(f"{key} {value}" for key, value in rows[-1].items()), flush=True)
    found = pd.DataFrame(rows)
    settings.output.mkdir(parents=True, exist_ok=True)
    found.to_csv(settings.output / "recommendations.csv", index=False, float_format="%.5g")
    (settings.output / "recommendations.md").write_text(table(found), encoding="utf-8")


if __name__ == "__main__":
    main()
