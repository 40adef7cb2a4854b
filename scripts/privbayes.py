"""How good are synthetic tables of places and categories? PrivBayes beside maps of each category, at several ε.

Records have a place and three attributes. Compared are: PrivBayes without levels, whose parents are whole attributes,
as published; PrivBayes with blocks of cells as possible parents; a map of each category, one `Table` for each attribute
at ε / 3, sampled jointly; one `Table` of all attributes; and a table of all cells whose negative counts are set to 0.

Errors are means over releases: of (box, category) counts, in records, from the release's own answers and from synthetic
records; and the total variation of two-way tables of synthetic records, with and without space. "Half the records,
doubled" says what a random half of the true records would give. Records are made up by a public rule; ``--records
FILE.parquet`` takes others, with the columns lon, lat and those that ``--attributes`` names, and public bounds.
``python scripts/privbayes.py --output figures`` writes a table. The noise is seeded: nothing here is private.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import spatialdp as sdp
from spatialdp._support.atomic import write_all
from spatialdp._support.tables import markdown
from spatialdp.estimates.tables.counts import sums_of
from spatialdp.records.rows.rows import count_rows

BLOCKS = (16, 8, 4, 2)  # that may be parents
MAP_BLOCKS = (4,)  # of tables: what is best for boxes of 32 x 32 cells, from noise alone
BOXES = 200
UNIT = (0.0, 0.0, 1.0, 1.0)


@dataclass(frozen=True)
class Data:
    """Records with a place and attributes, the public frame, and the exact counts of its cells."""

    table: pd.DataFrame
    bounds: tuple[float, ...]
    lists: dict[str, list[str]]
    side: int

    def frame(self, *names: str, blocks: Sequence[int] = BLOCKS) -> sdp.Frame:
        """The frame of some attributes."""
        axes = {name: sdp.Categories(self.lists[name]) for name in names or self.lists}
        inside = tuple(block for block in blocks if block < self.side)
        return sdp.Frame(sdp.Domain(self.bounds).grid((self.side, self.side)), blocks=inside, **axes)

    @property
    def rows(self) -> sdp.Rows:
        """The records."""
        return rows_of(self.table, list(self.lists))

    def boxes(self, seed: int) -> list[tuple[float, ...]]:
        """Random boxes along the lines of the grid."""
        rng = np.random.default_rng(seed)
        low, high = np.array(self.bounds[:2]), np.array(self.bounds[2:])
        ends = np.sort([rng.choice(self.side + 1, (2, 2), replace=False) for _ in range(BOXES)], axis=1)
        corners = low + (high - low) * ends / self.side
        return [tuple(corner.ravel().tolist()) for corner in corners]


def rows_of(table: pd.DataFrame, names: Sequence[str]) -> sdp.Rows:
    """Records of a table with the columns x, y and attributes."""
    return sdp.Rows(table[["x", "y"]].to_numpy(), **{name: table[name].astype(str).to_numpy() for name in names})


def made_up(count: int, side: int) -> Data:
    """Three towns; kinds follow places, severities follow kinds, and hours follow both, by a public rule."""
    rng = np.random.default_rng(7)
    town = rng.choice(3, count, p=[0.6, 0.3, 0.1])
    centres, spreads = np.array([[0.3, 0.4], [0.7, 0.65], [0.6, 0.15]]), np.array([0.1, 0.06, 0.03])
    xy = np.clip(centres[town] + spreads[town, None] * rng.normal(size=(count, 2)), 0.001, 0.999)
    distance = np.hypot(*(xy - centres[town]).T) / spreads[town]
    kind = (rng.integers(0, 3, count) + 3 * (distance > 1.2) + town) % 8
    severity = (rng.random(count) < 0.1 + 0.1 * kind).astype(int) + (rng.random(count) < 0.05 * (town + 1))
    hour = (kind // 2 + rng.integers(0, 3, count) + 2 * (distance < 0.8)) % 6
    columns = {"kind": kind, "severity": severity, "hour": hour}
    lists = {
        name: [f"{name} {number}" for number in range(size)] for name, size in zip(columns, (8, 3, 6), strict=True)
    }
    named = {name: np.array(lists[name], dtype=object)[values] for name, values in columns.items()}
    return Data(pd.DataFrame({"x": xy[:, 0], "y": xy[:, 1]} | named), UNIT, lists, side)


def from_file(path: Path, bounds: Sequence[float], attributes: Sequence[str], side: int) -> Data:
    """Records of a file; their lists of categories count as public here."""
    table = pd.read_parquet(path).rename(columns={"lon": "x", "lat": "y"})
    for name in attributes:
        if name == "hour":
            table[name] = table[name].floordiv(4)
        table[name] = table[name].astype(str)
    xlo, ylo, xhi, yhi = bounds
    table = table[table["x"].between(xlo, xhi, "left") & table["y"].between(ylo, yhi, "left")]
    lists = {name: sorted(table[name].unique()) for name in attributes}
    return Data(table.reset_index(drop=True), tuple(bounds), lists, side)


# --- methods ---------------------------------------------------------------------------------------

Answers = Callable[[str, list[Any]], Any]  # of an attribute in boxes
Made = tuple[Answers, pd.DataFrame]  # answers of the release itself, and synthetic records


def one_release(mechanism: Any, blocks: Sequence[int], *, clipped: bool = False) -> Callable[..., Made]:
    """A method that releases one table of all attributes."""

    def make(data: Data, epsilon: float, seed: int) -> Made:
        frame = data.frame(blocks=blocks)
        release = mechanism.release(data.rows, frame, epsilon=epsilon, noise=sdp.SeededNoise(seed))
        release = release.non_negative() if clipped else release
        drawn = release.sample(noise=sdp.SeededNoise(seed))
        return lambda name, asked: release.answer(box=asked, **{name: data.lists[name]}), drawn

    return make


def maps(data: Data, epsilon: float, seed: int) -> Made:
    """A table of places and categories for each attribute, each at its share of ε."""
    noise = sdp.SeededNoise(seed)
    share = epsilon / len(data.lists)
    frames = {name: data.frame(name, blocks=MAP_BLOCKS) for name in data.lists}
    releases: dict[str, Any] = {
        name: sdp.Table().release(data.rows, frame, epsilon=share, noise=noise) for name, frame in frames.items()
    }
    drawn = sdp.sample_jointly(list(releases.values()), noise=noise)
    return lambda name, boxes: releases[name].answer(box=boxes, **{name: data.lists[name]}), drawn


METHODS: dict[str, Callable[..., Made]] = {
    "PrivBayes, whole attributes": one_release(sdp.PrivBayes(), ()),
    "PrivBayes": one_release(sdp.PrivBayes(), BLOCKS),
    "maps of each category": maps,
    "one table of all": one_release(sdp.Table(), MAP_BLOCKS),
    "one table of cells, clipped": one_release(sdp.Table(budget="cells"), (), clipped=True),
}


# --- errors ----------------------------------------------------------------------------------------


def errors(data: Data, truth: Any, made: Made, boxes: list[Any]) -> list[float]:
    """Errors of boxes by answers and by synthetic records, and of two-way tables without and with space."""
    frame, (answers, drawn) = data.frame(), made
    synthetic = count_rows(rows_of(drawn, list(data.lists)), frame).astype(float)
    true_answers = {name: answers_of(frame, truth, data, name, boxes) for name in data.lists}
    own = [np.abs(answers(name, boxes) - known).mean() for name, known in true_answers.items()]
    by_records = [np.abs(answers_of(frame, synthetic, data, name, boxes) - known).mean()
                  for name, known in true_answers.items()]  # fmt: skip
    pairs = {each: variation(truth, synthetic, each) for each in combinations(range(len(frame.axes)), 2)}
    space = len(frame.axes) - 1
    return [
        float(np.mean(own)),
        float(np.mean(by_records)),
        float(np.mean([value for pair, value in pairs.items() if space not in pair])),
        float(np.mean([value for pair, value in pairs.items() if space in pair])),
    ]


def answers_of(frame: sdp.Frame, counts: Any, data: Data, name: str, boxes: list[Any]) -> Any:
    """Counts of boxes and categories of one attribute, in the order of answers."""
    sums = sums_of(counts, frame.select({"box": boxes, name: data.lists[name]}))
    return np.moveaxis(sums, -1, 0).reshape(len(boxes), -1)


def variation(truth: Any, synthetic: Any, pair: tuple[int, int]) -> float:
    """Total variation between two-way tables, as shares of their totals."""
    others = tuple(place for place in range(truth.ndim) if place not in pair)
    one, other = (each.sum(axis=others) / max(each.sum(), 1) for each in (truth, synthetic))
    return float(np.abs(one - other).sum() / 2)


def half(data: Data, truth: Any, boxes: list[Any], seed: int) -> list[float]:
    """Errors of a random half of the records, doubled."""
    sample = data.table.sample(frac=0.5, random_state=seed)
    doubled = pd.concat([sample, sample])
    frame = data.frame()
    counts = 2.0 * count_rows(rows_of(sample, list(data.lists)), frame)
    return errors(data, truth, (lambda name, asked: answers_of(frame, counts, data, name, asked), doubled), boxes)


def lines(data: Data, epsilons: Sequence[float], trials: int) -> Iterator[list[str]]:
    """A line for each ε and method."""
    truth, boxes = count_rows(data.rows, data.frame()).astype(float), data.boxes(3)
    for epsilon in epsilons:
        for name, method in METHODS.items():
            found = [errors(data, truth, method(data, epsilon, seed), boxes) for seed in range(1, trials + 1)]
            yield [f"{epsilon:g}", name, *shown(np.mean(found, axis=0))]
    yield ["", "half the records, doubled", *shown(half(data, truth, boxes, 1))]


def shown(values: Sequence[float]) -> list[str]:
    """Errors of boxes in three digits, and variations in three places."""
    return [*(f"{value:,.3g}" for value in values[:2]), *(f"{value:.3f}" for value in values[2:])]


def main() -> None:
    """Measure, and write the table."""
    given = options()
    data = made_up(20_000, given.side)
    if given.records is not None:
        data = from_file(given.records, given.bounds, given.attributes, given.side)
    heads = ["ε", "method", "boxes, answers", "boxes, synthetic", "pairs of attributes", "place and attribute"]
    given.output.mkdir(parents=True, exist_ok=True)
    text = markdown([heads, *lines(data, given.epsilons, given.trials)])
    name = "privbayes.md" if given.records is None else "privbayes_more.md"
    write_all({given.output / name: f"{text}\n".encode()}, overwrite=True)


def options() -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=Path, help="Parquet file of records")
    parser.add_argument("--attributes", nargs="+", default=["crash_type", "severity", "hour"])
    parser.add_argument("--bounds", type=float, nargs=4, default=(138.4, -35.3, 138.85, -34.6))
    parser.add_argument("--side", type=int, default=32, help="cells along each side")
    parser.add_argument("--epsilons", type=float, nargs="+", default=(0.1, 0.5, 1, 2))
    parser.add_argument("--trials", type=int, default=5)
    parser.add_argument("--output", type=Path, default=Path("figures"))
    return parser.parse_args()


if __name__ == "__main__":
    main()
