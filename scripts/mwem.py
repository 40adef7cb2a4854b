"""Does MWEM win where there are few records for the budget? Measured against our hierarchy on coarse public grids.

For each data set and strength n ε: the mean absolute error of 2,000 random boxes along the lines of a 64 x 64 grid, in
1/10,000 of the records. MWEM has 100,000 random candidate boxes of that grid, and is shown with the best of four
numbers of rounds, in hindsight, and with its rule. `Hierarchy` is shown on the best of four coarse grids, in hindsight,
and `Adaptive` as it comes. Run it as ``python scripts/mwem.py --output figures`` for the data sets that ship; ``--data
FOLDER`` adds Parquet files of points, as in `adaptive_errors.py`.

MWEM pays for its number of records, with 5 % of ε; ``ε = n ε / n`` uses the true number, so the choice of ε is part of
the experiment and not of a release. All noise is seeded: nothing here is private.
"""

from __future__ import annotations

import argparse
import zlib
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
from adaptive_errors import data_sets

import spatialdp as sdp
from spatialdp._support.atomic import write_all
from spatialdp._support.tables import markdown
from spatialdp.evaluation.peers import MWEM
from spatialdp.mechanisms import Mechanism
from spatialdp.records.points import lattice_points
from spatialdp.space.domain import Domain
from spatialdp.workload import random_boxes

SIDE = 64
SHAPE = (SIDE, SIDE)
ROUNDS = (3, 6, 12, 24)
SIDES = (8, 16, 32, 64)
STRENGTHS = (100, 300, 1000, 3000, 10_000)
MWEM_BEST, MWEM_RULE, OURS_BEST, ADAPTIVE = "MWEM, best T", "MWEM, rule for T", "Hierarchy, best side", "Adaptive"


def mechanisms() -> dict[str, Mechanism]:
    """MWEM with several numbers of rounds and with its rule, hierarchies on several grids, and the adaptive tree."""
    return {
        MWEM_RULE: MWEM(SHAPE),
        **{f"MWEM, T = {rounds}": MWEM(SHAPE, rounds=rounds) for rounds in ROUNDS},
        **{f"Hierarchy, side {side}": sdp.Hierarchy((side, side)) for side in SIDES},
        ADAPTIVE: sdp.Adaptive(SHAPE),
    }


def errors(name: str, points: sdp.Points, domain: Domain, strengths: Sequence[int], trials: int) -> Iterator[dict]:
    """Yield the error of each mechanism and strength: the mean over boxes and releases, in 1/10,000 of the records."""
    n = lattice_points(points, domain)[0].size
    boxes = random_boxes(domain, 2000, seed=1, shape=SHAPE)
    epsilons = {strength: Fraction(strength, n) for strength in strengths}
    found = sdp.evaluate(
        {**mechanisms(), "one cell": sdp.Flat((1, 1)), "uniform": sdp.Uniform()},
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
        for label in mechanisms():
            yield {
                "dataset": name,
                "records": n,
                "strength": strength,
                "mechanism": label,
                "error": 10_000 * means[label, float(epsilon)] / n,
                "trials": trials,
            }


def tables(found: pd.DataFrame) -> str:
    """The table of the documentation, as Markdown, and how often MWEM is ahead."""
    rows = []
    ahead = {"in hindsight": 0, "by its rule": 0}
    for (name, strength), some in found.groupby(["dataset", "strength"], sort=False):
        error = some.set_index("mechanism")["error"]
        best, side = (error[[label for label in error.index if word in label]] for word in ("T = ", "side"))
        rows.append(
            [
                str(name),
                f"{strength:,}",
                f"{best.min():.0f} ({best.idxmin().split(' = ')[1]})",
                f"{error[MWEM_RULE]:.0f}",
                f"{side.min():.0f} ({side.idxmin().split('side ')[1]})",
                f"{error[ADAPTIVE]:.0f}",
                f"{best.min() / side.min():.2f}",
            ]
        )
        ahead["in hindsight"] += best.min() < side.min()
        ahead["by its rule"] += error[MWEM_RULE] < error[ADAPTIVE]
    heads = ["data set", "n ε", f"{MWEM_BEST}", MWEM_RULE, OURS_BEST, ADAPTIVE, "MWEM over Hierarchy, both best"]
    cells = len(rows)
    return (
        markdown(heads, rows)
        + f"\n\nMWEM with the best T is ahead of `Hierarchy` on the best grid in {ahead['in hindsight']} of {cells} cases,"
        f" and MWEM with its rule is ahead of `Adaptive` in {ahead['by its rule']} of {cells}.\n"
    )


def main() -> None:
    """Measure, and write the errors and the tables: of the data sets that ship, and of others."""
    settings = options()
    words = [word for word in settings.sets.split(",") if word]
    settings.output.mkdir(parents=True, exist_ok=True)
    rows: list[dict] = []
    for name, points, domain in data_sets(settings.data):
        if not words or any(word in name for word in words):
            rows += errors(name, points, domain, STRENGTHS, settings.trials)
            print(name, flush=True)
            found = pd.DataFrame(rows)
            files = {
                settings.output / f"{settings.stem}.csv": found.to_csv(index=False, float_format="%.5g").encode(),
                settings.output / f"{settings.stem}.md": tables(found).encode(),
            }
            write_all(files, overwrite=True)


def options() -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("figures"))
    parser.add_argument("--stem", default="mwem", help="name of the files of results")
    parser.add_argument("--data", type=Path, help="folder of Parquet files of points, beside the data sets that ship")
    parser.add_argument("--trials", type=int, default=4, help="releases for each data set, mechanism and strength")
    parser.add_argument("--sets", default="", help="only data sets with one of these words, separated by commas")
    return parser.parse_args()


if __name__ == "__main__":
    main()
