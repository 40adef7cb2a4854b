"""Does MWEM win where there are few records for the budget? Measured against our hierarchy on coarse public grids.

For each data set and strength n ε: the mean absolute error of 2,000 random boxes along the lines of a 64 x 64 grid, in
1/10,000 of the records. MWEM has 100,000 random candidate boxes of that grid, and is shown with the best of four
numbers of rounds, in hindsight, with its rule, and with its rule and the 2,000 boxes themselves as candidates (which a
publisher who knows the questions may do). `Hierarchy` is shown on the best of four coarse grids, in hindsight,
and `Adaptive` as it comes. Run it as ``python scripts/mwem.py --output figures`` for the data sets that ship; ``--data
FOLDER`` adds Parquet files of points, as in `adaptive_errors.py`.

MWEM pays for its number of records, with 5 % of ε; ``ε = n ε / n`` uses the true number, so the choice of ε is part of
the experiment and not of a release. All noise is seeded: nothing here is private.
"""

from __future__ import annotations

import argparse
import zlib
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
from adaptive_errors import data_sets

import spatialdp as sdp
from spatialdp._support.atomic import write_all
from spatialdp._support.tables import markdown
from spatialdp.datasets import DATASETS
from spatialdp.evaluation.peers import MWEM
from spatialdp.mechanisms import Mechanism
from spatialdp.records.points import lattice_points
from spatialdp.space.domain import Domain
from spatialdp.workload import Workload, random_boxes

SIDE = 64
SHAPE = (SIDE, SIDE)
ROUNDS = (3, 6, 12, 24)
SIDES = (8, 16, 32, 64)
STRENGTHS = (100, 300, 1000, 3000, 10_000)
RULE, ASKED, ADAPTIVE = "MWEM, rule for T", "MWEM, boxes asked", "Adaptive"


def mechanisms(asked: Workload) -> dict[str, Mechanism]:
    """MWEM with several numbers of rounds and with its rule, hierarchies on several grids, and the adaptive tree."""
    return {
        RULE: MWEM(SHAPE),
        ASKED: MWEM(SHAPE, candidates=asked.boxes),
        **{f"MWEM, T = {rounds}": MWEM(SHAPE, rounds=rounds) for rounds in ROUNDS},
        **{f"Hierarchy, side {side}": sdp.Hierarchy((side, side)) for side in SIDES},
        ADAPTIVE: sdp.Adaptive(SHAPE),
    }


def errors(name: str, points: sdp.Points, domain: Domain, trials: int) -> Iterator[dict[str, object]]:
    """Yield the error of each mechanism and strength: the mean over boxes and releases, in 1/10,000 of the records."""
    n = lattice_points(points, domain)[0].size
    boxes = random_boxes(domain, 2000, seed=1, shape=SHAPE)
    methods = mechanisms(boxes)
    epsilons = {strength: Fraction(strength, n) for strength in STRENGTHS}
    found = sdp.evaluate(
        {**methods, "one cell": sdp.Flat((1, 1)), "uniform": sdp.Uniform()},
        points,
        domain,
        boxes,
        list(epsilons.values()),
        trials,
        metrics=["mean_error"],
        seed=zlib.crc32(name.encode()),
    )
    means = found.groupby(["mechanism", "epsilon"])["value"].mean()
    for strength, epsilon in epsilons.items():
        for label in methods:
            yield {
                "dataset": name,
                "records": n,
                "strength": strength,
                "mechanism": label,
                "error": 10_000 * means[label, float(epsilon)] / n,
                "trials": trials,
            }


def compared(found: pd.DataFrame) -> pd.DataFrame:
    """A row for each data set and strength: what is best in hindsight, and what is not chosen in hindsight."""
    rows = []
    for (name, strength), some in found.groupby(["dataset", "strength"], sort=False):
        error = some.set_index("mechanism")["error"]
        theirs, ours = (error[[label for label in error.index if word in label]] for word in ("T = ", "side "))
        rows.append(
            {
                "dataset": name,
                "strength": strength,
                "theirs": theirs.min(),
                "T": theirs.idxmin().split(" = ")[1],
                "rule": error[RULE],
                "asked": error[ASKED],
                "ours": ours.min(),
                "side": ours.idxmin().split("side ")[1],
                "adaptive": error[ADAPTIVE],
                "hindsight": theirs.min() / ours.min(),
                "plain": error[RULE] / error[ADAPTIVE],
            }
        )
    return pd.DataFrame(rows)


def by_data_set(pairs: pd.DataFrame) -> str:
    """The errors of all data sets, as Markdown."""
    heads = ["data set", "n ε", "MWEM, best T", RULE, ASKED, "Hierarchy, best side", ADAPTIVE]
    rows = [
        [
            str(row.dataset),
            f"{row.strength:,}",
            f"{row.theirs:.0f} ({row.T})",
            f"{row.rule:.0f}",
            f"{row.asked:.0f}",
            f"{row.ours:.0f} ({row.side})",
            f"{row.adaptive:.0f}",
        ]
        for row in pairs.itertuples()
    ]
    return markdown([heads, *rows])


def by_strength(pairs: pd.DataFrame) -> str:
    """The errors of MWEM over ours: geometric mean and range over data sets, as Markdown."""
    rows = [["n ε", "both best in hindsight", "MWEM ahead", "rule over Adaptive", "MWEM ahead"]]
    for strength, some in pairs.groupby("strength"):
        cells = [f"{strength:,}"]
        for ratio in (some["hindsight"], some["plain"]):
            mean = np.exp(np.log(ratio).mean())
            cells += [
                f"{mean:.2f} ({ratio.min():.2f} to {ratio.max():.2f})",
                f"{(ratio < 1).sum()} of {len(ratio)}",
            ]
        rows.append(cells)
    return markdown(rows)


def main() -> None:
    """Measure, and write the errors and the tables: of the data sets that ship, and of others."""
    settings = options()
    words = [word for word in settings.sets.split(",") if word]
    settings.output.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, object]] = []
    for name, points, domain in data_sets(settings.data):
        if not words or any(word in name for word in words):
            rows += errors(name, points, domain, settings.trials)
            print(name, flush=True)
    found = pd.DataFrame(rows)
    shipped = found["dataset"].isin(DATASETS)
    for stem, some in (("mwem", found[shipped]), ("mwem_more", found[~shipped])):
        if len(some):
            pairs = compared(some)
            text = f"{by_strength(pairs)}\n\n{by_data_set(pairs)}\n"
            table = some.to_csv(index=False, float_format="%.5g")
            files = {f"{stem}.csv": table, f"{stem}.md": text}
            write_all({settings.output / file: text.encode() for file, text in files.items()}, overwrite=True)


def options() -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("figures"))
    parser.add_argument("--data", type=Path, help="folder of Parquet files of points, beside the data sets that ship")
    parser.add_argument("--trials", type=int, default=5, help="releases for each data set, mechanism and strength")
    parser.add_argument("--sets", default="", help="only data sets with one of these words, separated by commas")
    return parser.parse_args()


if __name__ == "__main__":
    main()
