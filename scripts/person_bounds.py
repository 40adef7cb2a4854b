"""How good is a privately chosen bound on persons? Its error against that of the best bound in hindsight.

For each data set, bound (cells or records), law, ε, grid and mechanism, this compares two releases: one whose bound is
chosen privately (``Person(cells=Chosen())``), with the choice paid for, and one whose bound is the candidate with the
least error in hindsight, which nobody can know, with the whole budget for the counts. Errors are against the counts of
all persons in a cell (cells), or of all records (records), for boxes that cover 1 % and 10 % of the domain and for
single cells. The law of the choice is computed exactly. For mechanisms with a public structure errors are exact too:
what the bound cuts off, and the variance of the noise. Adaptive trees are released with several seeds.

Run it as ``python scripts/person_bounds.py --output figures``. It makes heavy-tailed records of its own. ``--records
NAME,FILE,X,Y,PERSON,XMIN,YMIN,XMAX,YMAX`` adds a Parquet file with its columns and public bounds; ``--tuning`` takes
the made sets on which the rule was tuned instead, and is not for reports.

The result is private-only for real data: it depends on the records.
"""

from __future__ import annotations

import argparse
import csv
import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from functools import cache
from itertools import groupby, product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

import spatialdp as sdp
from spatialdp._support.arrays import Floats, Integers
from spatialdp.mechanisms import Mechanism
from spatialdp.mechanisms.prepared import PreparedChoice, PreparedRelease
from spatialdp.privacy.noise.laws import Law
from spatialdp.records.counting import count_cells
from spatialdp.space.domain import Domain, Grid

BOUNDS = ("cells", "records")
LAWS = ("discrete-laplace", "gaussian")
EPSILONS = (0.1, 1.0)
SIDES = (64, 256)
DELTA = 1e-6
CANDIDATES = sdp.Chosen().candidates
EVERYTHING = 10**9  # a bound that nobody reaches
BOXES = 400  # of each size
UNLIKELY = 0.01  # candidates that are chosen more rarely are not released
MECHANISMS = ("flat", "quadtree", "adaptive")
SIZES = {"1 %": 0.01, "10 %": 0.1, "cell": 0.0}  # of boxes, as shares of the domain; at least a cell


# --- records ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Data:
    """Records with persons, in a public domain."""

    name: str
    domain: Domain
    points: sdp.Points


@dataclass(frozen=True)
class Recipe:
    """Made records: how many persons, how their numbers of records are spread, and in how many towns they live."""

    persons: int
    tail: str
    towns: int
    seed: int


TUNING = {
    "Pareto, 5,000": Recipe(5000, "pareto", 30, 1),
    "Pareto, 100,000": Recipe(100_000, "pareto", 200, 2),
    "log-normal, 20,000": Recipe(20_000, "log-normal", 8, 3),
    "exponential, 1,000": Recipe(1000, "exponential", 50, 4),
    "log-normal, 500": Recipe(500, "log-normal", 20, 5),
}
REPORTED = {"made heavy tail": Recipe(50_000, "pareto", 60, 11)}


def made(name: str, recipe: Recipe) -> Data:
    """Persons who stay near a home in a town, with three records in ten in any town."""
    rng = np.random.default_rng(recipe.seed)
    number = recipe.persons
    records = {
        "pareto": lambda: rng.pareto(1.2, number) * 3 + 1,
        "log-normal": lambda: rng.lognormal(2.5, 1.2, number),
        "exponential": lambda: rng.exponential(20, number) + 1,
    }[recipe.tail]()
    numbers = np.minimum(np.ceil(records), 20_000).astype(np.int64)
    towns, sizes = rng.random((recipe.towns, 2)), rng.pareto(1, recipe.towns) + 0.1
    sizes, widths = sizes / sizes.sum(), 0.03 * rng.lognormal(0, 0.7, recipe.towns)
    town = rng.choice(recipe.towns, number, p=sizes)
    homes = towns[town] + rng.normal(size=(number, 2)) * widths[town][:, None]
    person = np.repeat(np.arange(number), numbers)
    places = homes[person] + rng.normal(size=(person.size, 2)) * 0.008
    away = rng.random(person.size) < 0.3
    visited = rng.choice(recipe.towns, away.sum(), p=sizes)
    places[away] = towns[visited] + rng.normal(size=(visited.size, 2)) * widths[visited][:, None]
    x, y = np.clip(places, 0, 1).T
    return Data(name, Domain((0, 0, 1, 1)), sdp.Points(x, y, person=person))


def read(text: str) -> Data:
    """The records of a Parquet file, as the option states them."""
    name, file, x, y, person, *bounds = text.split(",")
    table = pq.read_table(file, columns=[x, y, person])
    points = sdp.Points(table[x].to_numpy(), table[y].to_numpy(), person=table[person].to_numpy())
    return Data(name, Domain([float(bound) for bound in bounds]), points)


# --- boxes and errors ------------------------------------------------------------------------------


def boxes_of(grid: Grid, seed: int = 5) -> dict[str, Integers]:
    """Boxes of whole cells, by the name of their size: first and last columns and rows, last not included."""
    rng, (nx, ny) = np.random.default_rng(seed), grid.shape
    boxes = {}
    for name, share in SIZES.items():
        width, height = (max(1, round(math.sqrt(share) * size)) for size in (nx, ny))
        x, y = rng.integers(0, nx - width + 1, BOXES), rng.integers(0, ny - height + 1, BOXES)
        boxes[name] = np.stack([x, y, x + width, y + height], axis=1)
    return boxes


def sums(counts: Integers, boxes: Integers) -> Integers:
    """Sums of the counts in boxes of whole cells."""
    totals = np.zeros(np.add(counts.shape, 1), dtype=np.int64)
    totals[1:, 1:] = counts.cumsum(axis=0).cumsum(axis=1)
    x0, y0, x1, y1 = boxes.T
    answers: Integers = totals[y1, x1] - totals[y0, x1] - totals[y1, x0] + totals[y0, x0]
    return answers


def in_units(boxes: Integers, grid: Grid) -> Floats:
    """The same boxes in coordinates."""
    return np.stack([grid.x_edges[boxes[:, 0]], grid.y_edges[boxes[:, 1]],
                     grid.x_edges[boxes[:, 2]], grid.y_edges[boxes[:, 3]]], axis=1)  # fmt: skip


class Counted(sdp.Points):
    """Records whose counts are remembered, because many releases count the same cells with the same bounds."""

    def __init__(self, points: sdp.Points) -> None:
        for name in ("_x", "_y", "_persons", "_geometric", "crs"):
            setattr(self, name, getattr(points, name))
        self._remembered = cache(lambda grid, person: count_cells(points, grid, person))

    def _counts(self, grid: Grid, person: sdp.Person | None) -> Integers:
        counts: Integers = self._remembered(grid, person and sdp.Person(records=person.records, cells=person.cells))
        return counts.copy()


@dataclass(frozen=True)
class Row:
    """The errors of one mechanism on one data set, relative to the best bound in hindsight."""

    data: str
    bound: str
    law: str
    epsilon: float
    side: int
    mechanism: str
    chosen: int  # the likeliest bound
    probability: float
    best: int  # in hindsight, for boxes of 1 %
    best_share: float  # its error over the root mean square of the truth, for boxes of 1 %
    ratio_1: float
    ratio_10: float
    ratio_cell: float


@dataclass(frozen=True)
class Experiment:
    """One data set on one grid, with one kind of bound."""

    data: Data
    points: Counted
    grid: Grid
    bound: str
    seeds: int

    @property
    def truth(self) -> Integers:
        """Counts without a bound."""
        return count_cells(self.points, self.grid, person_of(self.bound, EVERYTHING))

    def row(self, name: str, law: str, epsilon: float) -> Row:
        """Compare the private choice with hindsight."""
        mechanism = mechanism_of(name, self.grid.shape[0], law)
        choice = self._prepared(mechanism, epsilon, sdp.Chosen())
        assert isinstance(choice, PreparedChoice)
        odds = self._law(choice)
        hindsight = [self._squares(self._prepared(mechanism, epsilon, most)) for most in CANDIDATES]
        likely = np.where(odds < UNLIKELY, 0, odds) / odds[odds >= UNLIKELY].sum()
        pairs = zip(likely, choice.candidates, strict=True)
        drawn = [(odd, self._squares(candidate)) for odd, candidate in pairs if odd]
        ratios = [
            math.sqrt(sum(odd * squares[size] for odd, squares in drawn) / min(each[size] for each in hindsight))
            for size in SIZES
        ]
        best, top = int(np.argmin([each["1 %"] for each in hindsight])), int(np.argmax(odds))
        truth = np.mean(sums(self.truth, boxes_of(self.grid)["1 %"]) ** 2.0)
        share = math.sqrt(hindsight[best]["1 %"] / truth)
        setting = (self.data.name, self.bound, law, epsilon, self.grid.shape[0], name)
        return Row(*setting, CANDIDATES[top], float(odds[top]), CANDIDATES[best], share, *ratios)

    def _prepared(self, mechanism: Mechanism, epsilon: float, limit: int | sdp.Chosen) -> PreparedRelease:
        delta = DELTA if str(mechanism.law) == "gaussian" else 0
        person = person_of(self.bound, limit)
        return mechanism.prepare(self.data.domain, epsilon=epsilon, delta=delta, person=person)

    def _law(self, choice: PreparedChoice) -> Floats:
        """The exact probabilities of the candidates."""
        scores = choice.design.scores(self.points)
        logits = [float(choice.design.epsilon / 2 * (score - max(scores))) for score in scores]
        weights = np.exp(logits)
        odds: Floats = weights / weights.sum()
        return odds

    def _squares(self, prepared: PreparedRelease) -> dict[str, float]:
        """Mean squared errors for each size of boxes."""
        boxes = boxes_of(self.grid)
        if prepared.is_foreseeable:
            missed = count_cells(self.points, self.grid, prepared.terms.person) - self.truth
            return {
                size: float(np.mean(sums(missed, each) ** 2.0))
                + prepared.expected_error(in_units(each, self.grid)) ** 2
                for size, each in boxes.items()
            }
        releases = [prepared.release(self.points, noise=sdp.SeededNoise(seed)) for seed in range(self.seeds)]
        return {
            size: float(
                np.mean([(r.answer(in_units(each, self.grid)) - sums(self.truth, each)) ** 2 for r in releases])
            )
            for size, each in boxes.items()
        }


def mechanism_of(name: str, side: int, law: str) -> Mechanism:
    """The mechanism on a square grid."""
    if name == "quadtree":
        return sdp.Quadtree(side.bit_length() - 1, law=Law.parse(law))
    return (sdp.Flat if name == "flat" else sdp.Adaptive)((side, side), law=Law.parse(law))


def person_of(bound: str, limit: int | sdp.Chosen) -> sdp.Person:
    """A bound on cells or on records."""
    return sdp.Person(cells=limit) if bound == "cells" else sdp.Person(records=limit)


def rows_of(data: Data, mechanisms: tuple[str, ...], seeds: int) -> Iterator[Row]:
    """All rows of a data set."""
    for side, bound in product(SIDES, BOUNDS):
        experiment = Experiment(data, Counted(data.points), data.domain.grid((side, side)), bound, seeds)
        for law, epsilon, name in product(LAWS, EPSILONS, mechanisms):
            yield experiment.row(name, law, epsilon)


# --- tables ----------------------------------------------------------------------------------------


def summary(rows: list[Row]) -> str:
    """One line for each data set and mechanism: geometric means of the ratios, and the worst ones."""
    lines = ["| data | mechanism | boxes of 1 %: mean, worst | boxes of 10 % | single cells |", "|---|---|---|---|---|"]
    ordered = sorted(rows, key=lambda row: (row.data, row.mechanism))
    for (data, mechanism), group in groupby(ordered, key=lambda row: (row.data, row.mechanism)):
        members = list(group)
        texts = [
            _mean_and_worst([getattr(row, name) for row in members]) for name in ("ratio_1", "ratio_10", "ratio_cell")
        ]
        lines.append(f"| {data} | {mechanism} | {' | '.join(texts)} |")
    return "\n".join(lines)


def _mean_and_worst(ratios: list[float]) -> str:
    return f"{math.exp(np.mean(np.log(ratios))):.2f}, {max(ratios):.1f}"


def details(rows: list[Row]) -> str:
    """One line for each setting, with all mechanisms: hindsight, choice, ratio for boxes of 1 %."""
    names = list(dict.fromkeys(row.mechanism for row in rows))
    lines = [f"| data | bound | law | ε | grid | {' | '.join(names)} |", "|---" * (len(names) + 5) + "|"]

    def setting(row: Row) -> tuple[Any, ...]:
        return row.data, row.bound, row.law, row.epsilon, row.side

    for key, group in groupby(sorted(rows, key=setting), key=setting):
        of = {row.mechanism: row for row in group}
        data, bound, law, epsilon, side = key
        texts = [f"{of[n].best:,} / {of[n].chosen:,} ({of[n].probability:.0%}): {of[n].ratio_1:.2f}" for n in names]
        lines.append(
            f"| {data} | {bound} | {law.removeprefix('discrete-')} | {epsilon:g} | {side}² | {' | '.join(texts)} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Measure and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("figures"))
    parser.add_argument("--records", action="append", default=[], metavar="NAME,FILE,X,Y,PERSON,XMIN,YMIN,XMAX,YMAX")
    parser.add_argument("--mechanisms", default=",".join(MECHANISMS))
    parser.add_argument("--seeds", type=int, default=3, help="releases of each adaptive tree")
    parser.add_argument("--persons", type=int, help="persons in each made set, for a quick look")
    parser.add_argument("--tuning", action="store_true", help="the made sets on which the rule was tuned")
    options = parser.parse_args()
    rows: list[Row] = []
    options.output.mkdir(parents=True, exist_ok=True)
    for name, recipe in (TUNING if options.tuning else REPORTED).items():
        few = recipe if options.persons is None else Recipe(options.persons, recipe.tail, recipe.towns, recipe.seed)
        rows += list(rows_of(made(name, few), tuple(options.mechanisms.split(",")), options.seeds))
    for text in options.records:
        rows += list(rows_of(read(text), tuple(options.mechanisms.split(",")), options.seeds))
    with (options.output / "person_bounds.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Row)])
        writer.writeheader()
        writer.writerows(asdict(row) for row in rows)
    text = f"{summary(rows)}\n\n{details(rows)}\n"
    (options.output / "person_bounds.md").write_text(text)
    print(summary(rows))


if __name__ == "__main__":
    main()
