"""How many ways are there to generalise Adult? Incognito with three sets of taxonomies, beside published counts.

The nine columns, and how many levels each has, are those that Incognito is commonly tried on: age in ranges of 5, 10
and 20 years; sex, race and salary suppressed; trees for the rest. The counts of an earlier prototype were made with
trees that were not kept. "ARX" are those of the ARX tool's example for the same columns, in whose ages a range
called 15-19 holds 16 to 20; "ARX, ages in multiples" has plain ranges, and England beside the rest of Europe; "by
names" are trees of our own, made from the names of the values before any count was seen. No set was changed to come
nearer to a count.

``python scripts/full_domain.py --data FOLDER --output figures`` takes a folder with people_adult.parquet (45,222
complete cases of UCI Adult). It writes a table. Nothing here is private.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pandas as pd

from spatialdp._support.atomic import write_all
from spatialdp._support.tables import markdown
from spatialdp.contrast import Taxonomy
from spatialdp.contrast.incognito import incognito

TASKS = ((5, 10), (7, 2), (9, 2), (9, 10))  # how many columns, and k
GIVEN = {(5, 10): (37, 12), (7, 2): (93, 18), (9, 2): (211, 46), (9, 10): (113, 33)}  # by taxonomies that are not given

# Labels of level 1, and the values below each; then, for education, labels of level 2.
ARX = {
    "marital": "spouse present: Married-civ-spouse Married-AF-spouse; spouse not present: Divorced Never-married "
    "Separated Widowed Married-spouse-absent",
    "education": "Primary: Preschool 1st-4th 5th-6th; High School: 7th-8th 9th 10th 11th 12th HS-grad; Professional: "
    "Prof-school Assoc-acdm Assoc-voc; Undergraduate: Bachelors Some-college; Graduate: Masters Doctorate",
    "country": "Asia: Cambodia India Japan China Iran Philippines Vietnam Laos Taiwan Thailand Hong; North America: "
    "United-States Puerto-Rico Canada Outlying-US(Guam-USVI-etc) Cuba Honduras Jamaica Mexico Dominican-Republic Haiti "
    "Guatemala El-Salvador; South America: Ecuador Columbia Nicaragua Trinadad&Tobago Peru; Europe: Germany Greece "
    "Italy Poland Portugal Ireland France Hungary Scotland Yugoslavia Holand-Netherlands; Europa: England; "
    "Africa: South",
    "workclass": "Non-Government: Private Self-emp-not-inc Self-emp-inc; Government: Federal-gov Local-gov State-gov; "
    "Unemployed: Without-pay",
    "occupation": "Technical: Tech-support Craft-repair Prof-specialty Machine-op-inspct; Nontechnical: Sales "
    "Exec-managerial Handlers-cleaners; Other: Other-service Adm-clerical Farming-fishing Transport-moving "
    "Priv-house-serv Protective-serv Armed-Forces",
}
ARX_ABOVE = {"Primary": "Primary", "High School": "Secondary"}  # all others: Higher
ONE_EUROPE = {"country": ARX["country"].replace("; Europa:", "")}
BY_NAMES = {
    "marital": "married: Married-civ-spouse Married-AF-spouse Married-spouse-absent; was married: Divorced Separated "
    "Widowed; never: Never-married",
    "education": "1st-4th: Preschool 1st-4th; 5th-8th: 5th-6th 7th-8th; 9th-12th: 9th 10th 11th 12th; "
    "HS-grad: HS-grad; college: Some-college Assoc-acdm Assoc-voc; Bachelors: Bachelors; "
    "advanced: Masters Prof-school Doctorate",
    "workclass": "private: Private; self-employed: Self-emp-not-inc Self-emp-inc; government: Federal-gov Local-gov "
    "State-gov; without pay: Without-pay",
    "occupation": "white collar: Exec-managerial Prof-specialty Adm-clerical Sales Tech-support; blue collar: "
    "Craft-repair Machine-op-inspct Transport-moving Handlers-cleaners Farming-fishing; service: Other-service "
    "Priv-house-serv Protective-serv Armed-Forces",
}
BY_NAMES_ABOVE = {"HS-grad": "diploma", "college": "diploma", "Bachelors": "degree", "advanced": "degree"}


def tree(text: str, above: Mapping[str, str] | None = None, other: str = "") -> Taxonomy:
    """The taxonomy that a text of groups describes; `above` has the labels of another level, and `other` the rest."""
    labels: dict[str, list[str]] = {}
    for group in text.split("; "):
        name, _, values = group.partition(": ")
        higher = [] if above is None else [above.get(name, other)]
        labels |= {value: [name, *higher, "*"] for value in values.split()}
    return Taxonomy(labels)


def ages(first: int) -> Taxonomy:
    """Ranges of 5, 10 and 20 years that begin `first` years after the multiples of these."""
    widths = (5, 10, 20)
    return Taxonomy({age: [*(f"{(age - first) // each * each}" for each in widths), "*"] for age in range(17, 91)})


def taxonomies(table: pd.DataFrame) -> Iterator[tuple[str, dict[str, Taxonomy]]]:
    """The three sets."""
    flat = {name: Taxonomy.flat(sorted(table[name].unique())) for name in ("sex", "race", "income")}
    for name, first, trees, above, other in (
        ("ARX", 1, ARX, ARX_ABOVE, "Higher"),
        ("ARX, ages in multiples", 0, ARX | ONE_EUROPE, ARX_ABOVE, "Higher"),
        ("by names", 0, ARX | ONE_EUROPE | BY_NAMES, BY_NAMES_ABOVE, "no diploma"),
    ):
        made = {each: tree(text, *((above, other) if each == "education" else ())) for each, text in trees.items()}
        columns = ("age", "sex", "race", "marital", "education", "country", "workclass", "occupation", "income")
        yield name, {each: (flat | made | {"age": ages(first)})[each] for each in columns}


def lines(table: pd.DataFrame) -> Iterator[list[str]]:
    """A line for each set: k-anonymous and minimal vectors of each task."""
    yield ["prototype, trees not kept", *(f"{every} / {least}" for every, least in GIVEN.values())]
    for name, chosen in taxonomies(table):
        yield [name, *_counts(table, chosen)]


def _counts(table: pd.DataFrame, chosen: Mapping[str, Taxonomy]) -> Sequence[str]:
    found = [incognito(table, dict(islice(chosen.items(), count)), k=k) for count, k in TASKS]
    return [f"{len(each.anonymous)} / {len(each.minimal)}" for each in found]


def main() -> None:
    """Count, and write the table."""
    settings = options()
    table: Any = pd.read_parquet(settings.data / "people_adult.parquet")
    heads = ["k-anonymous / minimal vectors", *(f"{count} columns, k = {k}" for count, k in TASKS)]
    rows = [heads, *lines(table.assign(income=table["income"].str.rstrip(".")))]
    settings.output.mkdir(parents=True, exist_ok=True)
    write_all({settings.output / "full_domain.md": f"{markdown(rows)}\n".encode()}, overwrite=True)


def options() -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with people_adult.parquet")
    parser.add_argument("--output", type=Path, default=Path("figures"))
    return parser.parse_args()


if __name__ == "__main__":
    main()
