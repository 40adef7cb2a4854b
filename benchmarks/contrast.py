"""How fast are k-anonymous maps and tables made? Mondrian against one sort, Incognito against one grouping.

Mondrian is measured on made points. Incognito takes nine columns of made people with the numbers of values, the
heights of taxonomies and the skew of UCI Adult; or Adult itself, if the variable `SPATIALDP_DATA` names a folder with
``people_adult.parquet``. Its yardstick is one ``groupby`` of pandas over the nine columns. Of the made people, three
times as many vectors are 2-anonymous as of Adult and twice as many are looked at, so their target is higher.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import Result, cpu_ratio
from spatialdp.contrast import Mondrian, QuasiIdentifiers, Secrets, Taxonomy
from spatialdp.contrast.incognito import incognito

POINTS = 10**6
PEOPLE = 45_222
# Values of each column, and groups of values at the levels between them and one label for all.
COLUMNS: dict[str, tuple[int, Sequence[int]]] = {
    "age": (74, (15, 8, 4)),
    "race": (5, ()),
    "sex": (2, ()),
    "marital": (7, (3,)),
    "education": (16, (6, 3)),
    "country": (41, (4,)),
    "workclass": (7, (4,)),
    "occupation": (14, (3,)),
    "income": (2, ()),
}
ADULT = "people_adult.parquet"


def mondrian() -> Iterator[Result]:
    """Time the groups of a million points against one lexsort of them."""
    points = np.random.default_rng(1).random((POINTS, 2))
    known, secrets = QuasiIdentifiers.of(points), Secrets(np.zeros(POINTS, dtype=np.int64), ("all",))
    x, y = points.T.copy()
    for k in (10, 30):
        ratio = cpu_ratio(partial(Mondrian(k).group, known, secrets), partial(np.lexsort, (x, y)), 3)
        yield Result(f"Mondrian of 10^6 points, k = {k}, over np.lexsort of them", ratio, 12, at_least=False)


def incognito_of_nine_columns() -> Iterator[Result]:
    """Time the search of 12,960 vectors against one grouping of all records."""
    folder = os.environ.get("SPATIALDP_DATA")
    table, what = (made_people(), "made people") if folder is None else (adult(Path(folder)), "Adult")
    taxonomies = {name: taxonomy(sorted(table[name].unique()), sizes) for name, (_, sizes) in COLUMNS.items()}
    grouping = partial(_grouped, table)
    grouping()
    target = 100 if folder is None else 40
    for k in (2, 10):
        ratio = cpu_ratio(partial(incognito, table, taxonomies, k), grouping, 3)
        yield Result(f"Incognito, nine columns of {what}, k = {k}, over one groupby", ratio, target, at_least=False)


def _grouped(table: Any) -> Any:
    return table.groupby(list(COLUMNS), observed=True).size()


def taxonomy(values: Sequence[Any], sizes: Sequence[int]) -> Taxonomy:
    """Return levels in which neighbouring values share a label; each level is made of the labels below it."""
    places = np.arange(len(values))
    levels: list[list[str]] = []
    for size in sizes:
        places = places * size // (int(places.max()) + 1)
        levels.append([f"{len(levels)}:{place}" for place in places])
    return Taxonomy({value: [*(level[at] for level in levels), "*"] for at, value in enumerate(values)})


def made_people(seed: int = 1) -> Any:
    """Return a table of texts, most of whose values are rare."""
    import pandas as pd

    rng = np.random.default_rng(seed)
    columns = {}
    for name, (values, _) in COLUMNS.items():
        skew = 1 / np.arange(1, values + 1) ** (0.3 if name == "age" else 1.5)
        codes = rng.choice(values, PEOPLE, p=skew / skew.sum())
        columns[name] = (
            codes + 17 if name == "age" else np.array([f"{name} {code:02}" for code in range(values)])[codes]
        )
    return pd.DataFrame(columns)


def adult(folder: Path) -> Any:
    """Return the nine columns of Adult."""
    import pandas as pd

    table = pd.read_parquet(folder / ADULT)[list(COLUMNS)]
    return table.assign(income=table["income"].str.rstrip("."))


BENCHMARKS = (mondrian, incognito_of_nine_columns)
