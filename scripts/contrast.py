"""What becomes of the poster's claims about k-anonymity when they are measured again? Tables and pictures of attacks.

The poster (Ganta, Kasiviswanathan and Smith, KDD 2008) says that of 70,000 people, split at random into two releases
that share 5,000 people, the sensitive value of 40 % of these is learnt from two 30-anonymous releases. The script
measures this on public tables of people, then l-diversity and t-closeness, many releases, and maps of crashes beside
private ones. `docs/contrast.md` and `docs/reproductions.md` show the results.

The data do not ship. The folder needs ``people_adult.parquet`` (UCI Adult, complete cases),
``people_census_income.parquet`` (UCI Census-Income) and ``crashes_south_australia.parquet``. Everything is computed
from true records of public data, with seeded splits and noise: the results are for study, and no releases.

Run it as ``python scripts/contrast.py --data FOLDER --output figures``.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from spatialdp import Domain, Flat, SeededNoise, contrast
from spatialdp._support.arrays import Integers
from spatialdp._support.atomic import write_all
from spatialdp._support.tables import markdown, percent
from spatialdp.contrast.figures import draw_band
from spatialdp.outputs.maps.save import save_figure

KS = (2, 5, 10, 20, 30, 50)
OVERLAP = 5000
PEOPLE = 70_000
SPLITS = 5
MOST_LEFT = (1, 2, 5)  # sensitive values
NOTE = "Computed from true records of public data, with seeded splits: for study, and no private release."
ADELAIDE = Domain((138.4, -35.3, 138.85, -34.6), crs="EPSG:4326")
CONDITIONS: dict[str, dict[str, Any]] = {
    "k only": {},
    "distinct 5": {"diversity": contrast.Distinct(5)},
    "entropy 5": {"diversity": contrast.Entropy(5)},
    "recursive (3, 5)": {"diversity": contrast.Recursive(3, 5)},
    "t = 0.6": {"closeness": contrast.Closeness(0.6)},
    "t = 0.4": {"closeness": contrast.Closeness(0.4)},
    "t = 0.2": {"closeness": contrast.Closeness(0.2)},
}


@dataclass(frozen=True)
class Population:
    """A table of people: what an adversary knows of each, and what is sensitive."""

    name: str
    known: contrast.QuasiIdentifiers
    secrets: contrast.Secrets

    def part(self, chosen: Integers) -> tuple[contrast.QuasiIdentifiers, contrast.Secrets]:
        """Return some of the people."""
        return self.known.some(chosen), self.secrets.some(chosen)


def shuffled(number: int, *seed: int) -> Integers:
    """Return the numbers below `number` in a seeded random order."""
    return np.argsort(SeededNoise(seed).uniform_words(number), kind="stable")


def populations(folder: Path) -> list[Population]:
    """Read the three tables: all persons, those who are employed, and Adult."""
    census = pd.read_parquet(folder / "people_census_income.parquet")
    columns = ["age", "worker", "education", "marital", "race", "sex", "birth"]
    people = census.iloc[np.sort(shuffled(len(census), 1)[:PEOPLE])]
    employed = census[census["occ"] != 0]
    employed = employed.iloc[np.sort(shuffled(len(employed), 2)[:PEOPLE])]
    adult = pd.read_parquet(folder / "people_adult.parquet").query("train")
    known = ["age", "workclass", "education", "marital", "race", "sex", "country"]
    pair = employed["industry"].astype(str) + " " + employed["occ"].astype(str)
    return [
        _population("all persons", people[columns], people["occ"]),
        _population("employed persons", employed[columns], employed["occ"]),
        _population("Adult", adult[known], adult["occupation"]),
        _population("employed, industry and occupation", employed[columns], pair),
    ]


def _population(name: str, known: pd.DataFrame, secret: pd.Series) -> Population:
    """Return a table whose categories are in the order of the alphabet."""
    plain = {
        column: known[column].to_numpy(dtype=None if known[column].dtype.kind in "iuf" else object) for column in known
    }
    return Population(name, contrast.QuasiIdentifiers.of(plain), contrast.Secrets.of(secret.to_numpy()))


# --- two releases ----------------------------------------------------------------------------------


def two_releases(
    people: Population, mondrian: contrast.Mondrian, seed: int
) -> tuple[contrast.Intersection, contrast.Groups]:
    """Split people into two releases that share the overlap alone, and attack the overlap."""
    order = shuffled(len(people.secrets), 3, seed)
    shared, rest = order[:OVERLAP], order[OVERLAP:]
    halves = rest[: rest.size // 2], rest[rest.size // 2 :]
    releases = [mondrian.group(*people.part(np.concatenate([shared, half]))) for half in halves]
    return contrast.intersection(releases, people.known.some(shared)), releases[0]


def by_k(people: Population) -> dict[str, list[float]]:
    """Measure the attack on two releases for each k, over several splits."""
    rows: dict[str, list[float]] = {}
    for k in KS:
        attacks = [two_releases(people, contrast.Mondrian(k), split)[0] for split in range(SPLITS)]
        measured = {
            "first release alone": [attack.single for attack in attacks],
            "either release alone": [attack.either for attack in attacks],
            "intersection": [attack.perfect for attack in attacks],
            "of those not known from one": [attack.new for attack in attacks],
            "partial, confidence 1/2": [attack.partial(1 / 2) for attack in attacks],
            "partial, confidence 1/4": [attack.partial(1 / 4) for attack in attacks],
            "presumed values": [attack.presumed["values in the group"] for attack in attacks],
            "effective values": [attack.effective for attack in attacks],
        }
        for name, shares in measured.items():
            rows.setdefault(name, []).append(float(np.mean(shares)))
    return rows


def poster_table(measured: dict[str, dict[str, list[float]]]) -> str:
    """Return the table of the attack by k."""
    head = ["people", "what is learnt", *(f"k = {k}" for k in KS)]
    body = []
    for name, rows in measured.items():
        for what, values in rows.items():
            cells = [f"{value:.1f}" if "values" in what else percent(value) for value in values]
            body.append([name, what, *cells])
    return markdown([head, *body])


def draw_poster(measured: dict[str, dict[str, list[float]]], path: Path) -> None:
    """Draw what is learnt against k, from one release and from two; and values presumed and left."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.4), layout="constrained")
    breaches, values = figure.subplots(1, 2)
    for (name, rows), colour, marker in zip(measured.items(), ("#D55E00", "#0072B2", "#009E73"), "so^", strict=True):
        style = {"color": colour, "marker": marker, "markersize": 4}
        shares = {what: 100 * np.array(rows[what]) for what in ("intersection", "first release alone")}
        breaches.plot(KS, shares["intersection"], **style, label=f"{name}, two releases")
        breaches.plot(KS, shares["first release alone"], **style, linestyle=":", label=f"{name}, one alone")
        values.plot(KS, rows["presumed values"], **style, linestyle=":", label=f"{name}, in one group")
        values.plot(KS, rows["effective values"], **style, label=f"{name}, left after two")
    breaches.plot([30], [40], "k*", markersize=11, label="the poster: 40 % at k = 30")
    breaches.set(xlabel="k", ylabel="% of the 5,000 in both releases", title="sensitive value known for certain")
    values.set(xlabel="k", ylabel="mean number of values", title="values that are presumed and left")
    for ax in (breaches, values):
        ax.legend(fontsize="x-small", frameon=False)
        ax.spines[["top", "right"]].set_visible(False)
    draw_band(figure)
    save_figure(figure, path)


# --- diversity and closeness -----------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    """What the attack on two releases finds at k = 10 under a condition, and how large the groups are."""

    people: str
    condition: str
    left: tuple[float, ...]  # shares of the people with at most `MOST_LEFT` values left
    average: float
    of_a_person: float

    def row(self) -> list[str]:
        """Return the cells of a table."""
        shares = [percent(share) for share in self.left]
        return [self.people, self.condition, *shares, f"{self.average:,.0f}", f"{self.of_a_person:,.0f}"]


def outcomes(people: Population) -> Iterator[Outcome]:
    """Attack two releases under each condition."""
    for name, condition in CONDITIONS.items():
        attack, groups = two_releases(people, replace(contrast.Mondrian(10), **condition), 0)
        checks = groups.checks()
        left = tuple(float((attack.left[-1] <= most).mean()) for most in MOST_LEFT)
        yield Outcome(people.name, name, left, checks.average, checks.person_average)


def draw_diversity(results: Sequence[Outcome], path: Path) -> None:
    """Draw what is learnt under each condition, and the sizes of groups that pay for it."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.4), layout="constrained")
    learnt, sizes = figure.subplots(1, 2)
    names = list(dict.fromkeys(each.people for each in results))
    places = np.arange(len(CONDITIONS))
    for number, (name, colour) in enumerate(zip(names, ("#D55E00", "#0072B2", "#009E73"), strict=True)):
        own = [each for each in results if each.people == name]
        at = places + 0.27 * (number - 1)
        for place, most in reversed(list(enumerate(MOST_LEFT))):
            shares = [100 * each.left[place] for each in own]
            words = "known" if most == 1 else f"{most} or fewer values left"
            style = {"color": colour, "alpha": (1.0, 0.6, 0.25)[place], "label": f"{name}: {words}"}
            learnt.bar(at, shares, 0.25, **style)
        sizes.bar(at, [each.of_a_person for each in own], 0.25, color=colour, label=name)
    learnt.set(ylabel="% of the 5,000 in both releases", title="what is learnt from two releases, k = 10")
    learnt.set(ylim=(0, 140), yticks=range(0, 101, 20))  # with room for the legend
    sizes.set(yscale="log", ylabel="records", title="size of the group that a person is in")
    for ax in (learnt, sizes):
        ax.set_xticks(places, list(CONDITIONS), rotation=30, ha="right", fontsize="small")
        ax.legend(fontsize="x-small", frameon=False)
        ax.spines[["top", "right"]].set_visible(False)
    draw_band(figure)
    save_figure(figure, path)


# --- many releases ---------------------------------------------------------------------------------


def many_releases(people: Population, k: int, numbers: Sequence[int]) -> list[str]:
    """Return perfect breaches after so many releases: the overlap and random halves of the others."""
    order = shuffled(len(people.secrets), 4)
    shared, rest = order[:OVERLAP], order[OVERLAP:]
    releases = []
    for number in range(max(numbers)):
        half = rest[shuffled(rest.size, 5, number)[: rest.size // 2]]
        releases.append(contrast.Mondrian(k).group(*people.part(np.concatenate([shared, half]))))
    attack = contrast.intersection(releases, people.known.some(shared))
    return [percent(attack.perfect_after[number - 1]) for number in numbers]


# --- maps ------------------------------------------------------------------------------------------


def adelaide(folder: Path, output: Path) -> str:
    """Compare maps of crashes, and draw them; return the tables."""
    crashes = pd.read_parquet(folder / "crashes_south_australia.parquet")
    places, kinds = crashes[["lon", "lat"]], crashes["crash_type"]
    compared = contrast.compare(places, kinds, ADELAIDE, k=(5, 10, 30))
    save_figure(contrast.plot_attack(compared), output / "contrast_attack.png")
    save_figure(contrast.plot_maps(compared), output / "contrast_maps.png")
    fine = contrast.compare(places, kinds, ADELAIDE, mechanism=Flat((256, 256)))
    last = [row for row in fine.attacks if row.number == 12 and row.budget is not None]
    head = ["release, 256 × 256 cells", "number", "guessed right: members", "non-members", "advantage (points)"]
    rows = [
        [row.release, str(row.number), percent(row.members), percent(row.others), f"{100 * row.advantage:.1f}"]
        for row in last
    ]
    return "\n\n".join([NOTE, compared.table(), "## Private maps with finer cells", markdown([head, *rows])])


def main() -> None:
    """Write all tables and pictures."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, required=True, help="Folder of the three Parquet files.")
    parser.add_argument("--output", type=Path, default=Path("out"), help="Folder for the results.")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    every, employed, adult, pairs = populations(options.data)
    measured = {people.name: by_k(people) for people in (every, employed, adult)}
    draw_poster(measured, options.output / "contrast_poster.png")
    head = ["people, k = 10", "condition", "known", "2 or fewer left", "5 or fewer", "mean group", "group of a person"]
    results = [each for people in (every, employed, adult) for each in outcomes(people)]
    draw_diversity(results, options.output / "contrast_diversity.png")
    diversity = markdown([head, *(each.row() for each in results)])
    numbers = (1, 2, 5, 10, 20)
    head = ["people", "k", *(f"after {number}" for number in numbers)]
    many = [
        [people.name, str(k), *many_releases(people, k, numbers)]
        for people in (adult, employed, pairs)
        for k in (5, 30)
    ]
    parts = [NOTE, "## Two releases", poster_table(measured), "## l-diversity and t-closeness", diversity]
    parts += ["## Many releases", markdown([head, *many])]
    files = {"contrast_people.md": "\n\n".join(parts), "contrast_maps.md": adelaide(options.data, options.output)}
    write_all({options.output / name: f"{text}\n".encode() for name, text in files.items()}, overwrite=True)
    for text in files.values():
        print(text)


if __name__ == "__main__":
    main()
