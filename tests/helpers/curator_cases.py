"""The one list of a curator's questions: a question in it gets every check of the audit.

Each case asks one question, or several that together may cost no more than ε, of a curator that holds `price` and
`state` beside the points, unless it says that persons are asked about, whose points come alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import shapely

import spatialdp as sdp
from tests.helpers.selection_cases import SELECTION_ASKS

DOMAIN = sdp.Domain((0, 0, 8, 8))
DELTA = Fraction(1, 10**6)
OVERLAPPING = [(0, 0, 5, 8), (3, 0, 8, 8), (3, 3, 6, 6), (0, 0, 8, 8)]
APART = [(0, 0, 4, 8), (4, 0, 8, 8)]
POLYGONS = [shapely.Polygon([(0, 0), (8, 0), (0, 8)]), shapely.box(2, 2, 8, 8), shapely.box(0, 0, 8, 8)]
STATES = ["Iowa", "Ohio"]

Ask = Callable[[sdp.Curator, Fraction], Any]


def _prepaid(curator: sdp.Curator, epsilon: Fraction) -> list[Any]:
    with curator.prepaid(epsilon=epsilon) as prepaid:
        return [prepaid.count(box, epsilon=epsilon / 4) for box in OVERLAPPING]


def _parts(curator: sdp.Curator, epsilon: Fraction) -> list[Any]:
    """Each part costs ε, and all together what the worst of them costs: two of them if a record is replaced."""
    share = epsilon / (1 if curator._frame.neighbours == "add-remove" else 2)
    parts = curator.partition("state", of=STATES) | curator.partition("zone", boxes=dict(zip("ab", APART, strict=True)))
    return [part.count(epsilon=share / 2) for part in parts.values()]


# By name; the first word of the name is the method of the curator.
ASKS: dict[str, Ask] = {
    "count": lambda curator, epsilon: curator.count(epsilon=epsilon),
    "count, box": lambda curator, epsilon: curator.count((1, 1, 5, 5), epsilon=epsilon),
    "count, laplace": lambda curator, epsilon: curator.count(epsilon=epsilon, law="laplace"),
    "counts, apart": lambda curator, epsilon: curator.counts(APART, epsilon=epsilon),
    "counts, overlapping": lambda curator, epsilon: curator.counts(OVERLAPPING, epsilon=epsilon),
    "counts, gaussian": lambda curator, epsilon: curator.counts(
        OVERLAPPING, epsilon=epsilon, delta=DELTA, law="gaussian"
    ),
    "counts, polygons": lambda curator, epsilon: curator.counts(POLYGONS, epsilon=epsilon),
    "sum": lambda curator, epsilon: curator.sum("price", (-10, 10), epsilon=epsilon),
    "sum, one side": lambda curator, epsilon: curator.sum("price", (2, 10), epsilon=epsilon),
    "sum, overlapping": lambda curator, epsilon: curator.sum("price", (-10, 10), OVERLAPPING, epsilon=epsilon),
    "sum, gaussian": lambda curator, epsilon: curator.sum(
        "price", (-4, 10), OVERLAPPING, epsilon=epsilon, delta=DELTA, law="gaussian"
    ),
    "mean": lambda curator, epsilon: curator.mean("price", (-10, 10), epsilon=epsilon),
    "mean, overlapping": lambda curator, epsilon: curator.mean("price", (0, 10), OVERLAPPING, epsilon=epsilon),
    "mean, gaussian": lambda curator, epsilon: curator.mean(
        "price", (0, 10), epsilon=epsilon, delta=DELTA, law="gaussian"
    ),
    "median": lambda curator, epsilon: curator.median("x", epsilon=epsilon),
    "median, area": lambda curator, epsilon: curator.median("y", area=(1, 1, 5, 5), epsilon=epsilon),
    "quantile": lambda curator, epsilon: curator.quantile(0.9, "price", (-10, 10), epsilon=epsilon),
    "quantile, low": lambda curator, epsilon: curator.quantile(Fraction(1, 3), "x", epsilon=epsilon),
    "histogram": lambda curator, epsilon: curator.histogram("price", [-5, 0, 2, 5], epsilon=epsilon),
    "histogram, one bin": lambda curator, epsilon: curator.histogram("price", [-5, 5], epsilon=epsilon),
    "release, flat": lambda curator, epsilon: curator.release(sdp.Flat(shape=(4, 4)), epsilon=epsilon),
    "release, quadtree": lambda curator, epsilon: curator.release(sdp.Quadtree(height=2), epsilon=epsilon),
    "prepaid": _prepaid,
    "partition": _parts,
    **SELECTION_ASKS,
}
WITH_COLUMNS = ("sum", "mean", "quantile", "histogram", "partition")


@dataclass(frozen=True)
class CuratorSetting:
    """A question, which neighbours its promise compares, and the bound on persons, if they are the unit."""

    case: str
    relation: str = "add-remove"
    person: sdp.Person | None = None

    def __str__(self) -> str:
        return f"{self.case}, {self.relation}" + ("" if self.person is None else f", {self.person.in_short()}")

    @property
    def needs_columns(self) -> bool:
        """Whether the question is about a column beside the points."""
        return self.case.split(",")[0] in WITH_COLUMNS and self.case != "quantile, low"

    def curator(self, records: Any, noise: Any) -> sdp.Curator:
        """Return a curator of some records that draws noise from a source of the audit."""
        terms = {"neighbours": self.relation, "person": self.person, "epsilon": 1000, "delta": 0.5, "pure": 999}
        return sdp.Curator.rehearsal(records, DOMAIN, noise=noise, **terms)

    def asked(self, curator: sdp.Curator, epsilon: Fraction) -> list[Any]:
        """Return the answers of the question."""
        answers = ASKS[self.case](curator, epsilon)
        return answers if isinstance(answers, list) else [answers]


RELATIONS = ("add-remove", "replace")
CURATOR_SETTINGS = [CuratorSetting(case, relation) for case in ASKS for relation in RELATIONS]
THREE = sdp.Person(records=3)
CURATOR_PERSON_SETTINGS = [
    each for case in ASKS for relation in RELATIONS if not (each := CuratorSetting(case, relation, THREE)).needs_columns
]
