"""Which ε can be proved from releases alone? The black-box audit makes many releases of two neighbours.

`events` searches for the event that proves most and certifies a lower bound on ε. Most combinations place many copies
of a tiny problem next to each other in one release. Each measurement lies within one copy (cells; blocks; subtrees
below levels without budget; rows of a transform along x; nodes of a level of medians), so the mechanism treats each
copy as if it were alone, with noise of its own: every copy is a trial of the true `release`. For other mechanisms each
trial is one release (`one_by_one`). Zones, tables, lists and whatever else is no map have both: copies (`copies`), and
every case of every family with one release a trial (`families`, `trials`).

The names of mechanisms and pairs seed the noise: other names give other numbers in `docs/audit.md`.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

import spatialdp as sdp
from spatialdp.mechanisms import Mechanism
from spatialdp.privacy.neighbours import Neighbours
from spatialdp.privacy.noise.medians import Median, medians
from spatialdp.privacy.noise.source import SeededNoise
from spatialdp.space.domain import Domain
from spatialdp.space.lattice import LATTICE_BITS
from tests.audit.copies import COPIES_IN, CopiesIn
from tests.audit.events import certified
from tests.audit.families import MAPS, OTHER_FAMILIES, delta_of
from tests.audit.one_by_one import SINGLE, Data, Single
from tests.audit.trials import trial
from tests.helpers.cases import terms

FALSE_ALARM = 1e-3  # probability that any bound of the whole audit is wrong

PAIRS: dict[str, tuple[str, Data, Data]] = {
    "empty and one": ("add-remove", (), ((0, 0),)),
    "one and two": ("add-remove", ((0, 0),), ((0, 0), (0, 0))),
    "a crowd and one more": ("add-remove", ((0, 0),) * 5, ((0, 0),) * 6),
    "beside another": ("add-remove", ((1, 0), (1, 0)), ((0, 0), (1, 0), (1, 0))),
    "far corner": ("add-remove", ((0, 0),), ((0, 0), (3, 3))),
    "moved": ("replace", ((0, 0),), ((3, 3),)),
    "moved out of a crowd": ("replace", ((0, 0),) * 4, ((0, 0),) * 3 + ((1, 0),)),
}
# Neighbours that differ by a whole person, to whom all records of the second data set belong, with a bound of two.
PERSON_PAIRS: dict[str, tuple[str, Data, Data]] = {
    "nobody and someone in one cell": ("add-remove", (), ((0, 0),) * 3),
    "nobody and someone in two cells": ("add-remove", (), ((0, 0), (1, 0))),
    "nobody and someone in many cells": ("add-remove", (), ((0, 0), (1, 0), (3, 3), (2, 1))),
    "someone else": ("replace", ((0, 0),) * 3, ((3, 3),) * 2),
}
PERSONS = {"records": sdp.Person(records=2), "cells": sdp.Person(cells=2), "shares": sdp.Person(shares=True)}
EPSILONS = (Fraction(1, 2), Fraction(1), Fraction(2), Fraction(4))


@dataclass(frozen=True)
class Combination:
    """A mechanism, an ε and a pair of neighbours.

    Attributes
    ----------
    mechanism, pair : str
    epsilon : Fraction
    delta : float
    draw : callable
        Maps (data, ε, relation, trials, seed) to samples, (trials, numbers).
    counts : bool
        Whether the mechanism releases plain noisy counts; the audit must certify most of ε for these.
    costly : bool
        Whether each trial is one release.
    family : str
        What is released, in words.
    """

    mechanism: str
    pair: str
    epsilon: Fraction
    draw: Callable[..., Any]
    delta: float = 0.0
    counts: bool = False
    costly: bool = False
    family: str = MAPS

    def certify(self, trials: int, alpha: float, seed: int = 1) -> float:
        """Return a lower bound on ε that is wrong with probability `alpha` at most."""
        relation, first, second = (PAIRS | PERSON_PAIRS)[self.pair]
        stream = seed, zlib.crc32(str(self).encode())
        samples = [
            self.draw(data, self.epsilon, relation, trials, (*stream, side))
            for side, data in enumerate((first, second))
        ]
        return certified(*samples, alpha=alpha, delta=self.delta)

    def __str__(self) -> str:
        return f"{self.mechanism}, ε = {self.epsilon}, {self.pair}"


# --- copies in one release -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Copies:
    """Releases with many copies of a problem of 4 × 4 cells.

    Attributes
    ----------
    make : callable
        Maps the numbers of copies along x and y to a mechanism for that grid.
    view : callable
        Maps a release and the number of copies to samples, (copies, numbers).
    across, along : int
        Numbers of copies along x and y in one release.
    person : Person, optional
        The bound, if persons are the unit: the records of a copy are one person's.
    """

    make: Callable[[int, int], Mechanism]
    view: Callable[[Any, int], Any]
    across: int = 128
    along: int = 128
    person: sdp.Person | None = None

    def draw(self, data: Data, epsilon: Fraction, relation: str, trials: int, seed: tuple[int, ...]) -> Any:
        """Return the samples of as many releases as the trials need."""
        mechanism, copies = self.make(self.across, self.along), self.across * self.along
        domain = Domain((0, 0, 4 * self.across, 4 * self.along))
        owners = None if self.person is None else np.repeat(np.arange(copies), len(data))
        points = sdp.Points(_spread(data, self.across, self.along), person=owners)
        options = terms(mechanism, relation, epsilon) | {"person": self.person}
        prepared, parts = mechanism.prepare(domain, **options), []
        for part in range(-(-trials // copies)):
            release = prepared.release(points, noise=SeededNoise((*seed, part)))
            parts.append(self.view(release, copies))
        return np.concatenate(parts)[:trials]


def _spread(data: Data, across: int, along: int) -> Any:
    """Return the records of all copies."""
    corners = np.stack(np.meshgrid(np.arange(across), np.arange(along)), axis=-1).reshape(-1, 1, 2) * 4
    return (corners + np.array(data, dtype=float).reshape(1, -1, 2) + 0.5).reshape(-1, 2)


def _cells(release: Any, copies: int) -> Any:
    """Return the estimates of the cells of every copy."""
    values = release.estimate.values
    rows, columns = values.shape
    return values.reshape(rows // 4, 4, columns // 4, 4).swapaxes(1, 2).reshape(copies, 16)


def _rows(release: Any, copies: int) -> Any:
    """Return the Haar coefficients of the rows of every copy, which an adversary can compute."""
    cells = release.estimate.values.reshape(-1, 4)
    pairs = np.column_stack([cells[:, 0] - cells[:, 1], cells[:, 2] - cells[:, 3]])
    halves = np.column_stack([cells[:, 0] + cells[:, 1], cells[:, 2] + cells[:, 3]])
    both = np.column_stack([halves.sum(axis=1), halves[:, 0] - halves[:, 1], pairs, cells])
    return both.reshape(copies, 4 * 8)


def _listed(release: Any, copies: int) -> Any:
    """Return the counts of the listed cells of every copy, and a number below all of them for cells that are not."""
    estimate = release.estimate
    nx, ny = estimate.grid.shape
    values = np.full((ny, nx), -1.0)
    values[estimate.rows, estimate.columns] = estimate.values
    return values.reshape(ny // 4, 4, nx // 4, 4).swapaxes(1, 2).reshape(copies, 16)


def _nodes(levels: int) -> Callable[[Any, int], Any]:
    """Return a view of the estimates of the nodes in every copy's subtree."""

    def view(release: Any, copies: int) -> Any:
        tree, values = release.estimate.tree, release.estimate.values
        depths = range(tree.height - levels + 1, tree.height + 1)
        return np.hstack([values[tree.level(depth)].reshape(copies, -1) for depth in depths])

    return view


def _answers(release: Any, copies: int) -> Any:
    """Return the answers for the cells of every copy, for any tree: a leaf is spread evenly over its cells."""
    tree, values, side = release.estimate.tree, release.estimate.values, 4 * int(np.sqrt(copies))
    cells = np.empty((side, side))
    for depth in range(tree.height + 1):
        leaves = np.flatnonzero(tree.leaves[tree.level(depth)]) + tree.offsets[depth]
        column, row = (tree.boxes[leaves, :2] >> (LATTICE_BITS - depth)).T
        block = side >> depth
        cells.reshape(2**depth, block, 2**depth, block)[row, :, column] = values[leaves, None, None] / block**2
    return cells.reshape(side // 4, 4, side // 4, 4).swapaxes(1, 2).reshape(copies, 16)


def _subtrees(weights: tuple[int, int, int], **options: Any) -> Callable[[int, int], Mechanism]:
    return lambda across, _: sdp.Quadtree(
        across.bit_length() + 1, budget=(0,) * (across.bit_length() - 1) + weights, **options
    )


def _shape(across: int, along: int) -> tuple[int, int]:
    return 4 * across, 4 * along


COPIES: dict[str, Copies] = {
    "flat": Copies(lambda a, b: sdp.Flat(_shape(a, b)), _cells),
    "flat, fine": Copies(lambda a, b: sdp.Flat(_shape(a, b), law="laplace"), _cells),
    "flat, gaussian": Copies(lambda a, b: sdp.Flat(_shape(a, b), law="gaussian"), _cells),
    "flat, truncated": Copies(lambda a, b: sdp.Flat(_shape(a, b), truncate=4), _cells),
    "quadtree, raw": Copies(_subtrees((1, 1, 1), consistent=False), _nodes(3)),
    "quadtree, raw, cells and root": Copies(_subtrees((1, 0, 2), consistent=False), _nodes(3)),
    "quadtree": Copies(_subtrees((1, 1, 1)), _nodes(1)),
    "quadtree, gaussian": Copies(_subtrees((1, 1, 1), law="gaussian", consistent=False), _nodes(3)),
    "quadtree, stop": Copies(_subtrees((1, 1, 1), stop=2), _answers, 32, 32),
    "hierarchy, raw": Copies(
        lambda a, b: sdp.Hierarchy(_shape(a, b), levels=(1, 2, 4), budget=(2, 1, 1), consistent=False), _nodes(3)
    ),
    "hierarchy": Copies(lambda a, b: sdp.Hierarchy(_shape(a, b), levels=(1, 4), budget=(1, 1)), _nodes(2)),
    "wavelet along x": Copies(lambda a, b: sdp.Wavelet((4, 4 * b), axis="x"), _rows, 1, 2**14),
    "wavelet along x, optimised": Copies(
        lambda a, b: sdp.Wavelet((4, 4 * b), axis="x", budget="optimised"), _rows, 1, 2**14
    ),
    "wavelet along x, gaussian": Copies(
        lambda a, b: sdp.Wavelet((4, 4 * b), axis="x", law="gaussian"), _rows, 1, 2**14
    ),
    "tailored, rows": Copies(lambda a, b: sdp.Tailored((4, 4 * b), workload=("ranges", "cells")), _rows, 1, 2**10),
}
# Lists of cells, of which many pass by their noise alone, so that counts of a few records are listed, too.
LISTED_COPIES: dict[str, Copies] = {
    "sparse": Copies(lambda a, b: sdp.Sparse(_shape(a, b), false=20_000), _listed),
    "sparse, slides": Copies(lambda a, b: sdp.Sparse(_shape(a, b), false=20_000, remeasure=0), _listed),
}
COUNTS = {"flat", "flat, fine", "quadtree, raw", "quadtree, raw, cells and root", "hierarchy, raw"}


def lines(method: Median) -> Callable[..., Any]:
    """Return a function that draws medians of many equal nodes with 16 lines; the values are the data's columns."""

    def draw(data: Data, epsilon: Fraction, relation: str, trials: int, seed: tuple[int, ...]) -> Any:
        values, width = np.sort([4 * column + 1 for column, _ in data]).astype(np.int64), 17
        split_lines = medians(
            np.tile(values, trials),
            np.arange(trials + 1) * values.size,
            np.zeros(trials, dtype=int),
            np.full(trials, width),
            method=method,
            epsilon=epsilon,
            neighbours=Neighbours.parse(relation),
            noise=SeededNoise(seed),
        )
        return split_lines.reshape(-1, 1).astype(float)

    return draw


# --- the audit -----------------------------------------------------------------------------------------


def combinations() -> Iterator[Combination]:
    """Yield the cheap combinations, with copies or many nodes, for every pair and ε."""
    for name, copies in COPIES.items():
        delta = 1e-6 if "gaussian" in name else 0.0
        for pair in PAIRS:
            for epsilon in EPSILONS:
                yield Combination(name, pair, epsilon, copies.draw, delta, name in COUNTS)
    for method in Median:
        for pair in PAIRS:
            yield Combination(f"median, {method}", pair, Fraction(1), lines(method))
            yield Combination(f"median, {method}", pair, Fraction(4), lines(method))


PERSON_COPIES: dict[str, Copies] = {
    f"{name}, {bound}": replace(COPIES[name], across=64, along=64, person=person)
    for name in ("flat", "flat, gaussian", "quadtree, raw")
    for bound, person in PERSONS.items()
}
PERSON_SINGLE: dict[str, Single] = {
    f"{name}, {bound}": replace(SINGLE[name], person=person)
    for name in ("quadtree, geometric", "kd", "adaptive")
    for bound, person in PERSONS.items()
}


def person_combinations(epsilon: Fraction = Fraction(2)) -> Iterator[Combination]:
    """Yield the combinations of neighbours that differ by a whole person; those with one release a trial come last."""
    for name, copies in PERSON_COPIES.items():
        for pair in PERSON_PAIRS:
            yield Combination(name, pair, epsilon, copies.draw, 1e-6 if "gaussian" in name else 0.0)
    for name, single in PERSON_SINGLE.items():
        yield Combination(name, "nobody and someone in one cell", epsilon, single.draw, costly=True)


def costly_combinations() -> Iterator[Combination]:
    """Yield the combinations where each trial is one release, for the other mechanisms, with one or two pairs."""
    for name, single in SINGLE.items():
        for pair in single.pairs:
            for epsilon in single.epsilons:
                yield Combination(name, pair, Fraction(epsilon), single.draw, costly=True)


# --- whatever is no map ----------------------------------------------------------------------------------

OTHER_PAIRS = ("empty and one", "a crowd and one more", "moved")
OTHER_COUNTS = {"zones, raw", "table, cells"}
OTHER_COPIES: dict[str, Copies | CopiesIn] = LISTED_COPIES | COPIES_IN


def other_combinations() -> Iterator[Combination]:
    """Yield combinations of zones, tables, lists, flows and months with copies."""
    family_of = {case: family.name for family in OTHER_FAMILIES for case in family.cases}
    for name, copies in OTHER_COPIES.items():
        delta = 1e-6 if "gaussian" in name or name == "running" else 0.0
        for pair in OTHER_PAIRS:
            for epsilon in (Fraction(1), Fraction(4)):
                yield Combination(name, pair, epsilon, copies.draw, delta, name in OTHER_COUNTS, family=family_of[name])


def family_combinations(epsilon: Fraction = Fraction(2)) -> Iterator[Combination]:
    """Yield combinations of all cases of all families but maps, with one release a trial."""
    for family in OTHER_FAMILIES:
        for setting in family.few:
            draw = partial(_one_by_one, setting)
            yield Combination(
                named(setting), pair_of(setting), epsilon, draw, delta_of(setting), costly=True, family=family.name
            )


def named(setting: Any) -> str:
    """Return the name of a setting without its relation, which the pair says."""
    return str(setting).replace(f", {setting.relation}", "")


def pair_of(setting: Any) -> str:
    """Return the pair of neighbours that suits a setting; where totals are exact, nothing can be added."""
    added = setting.relation == "add-remove" and not getattr(getattr(setting, "mechanism", None), "invariants", None)
    if setting.person is not None:
        return "nobody and someone in one cell" if added else "someone else"
    return "empty and one" if added else "moved"


def _one_by_one(setting: Any, data: Data, epsilon: Fraction, relation: str, trials: int, seed: tuple[int, ...]) -> Any:
    """Return the samples of one release for each trial; the relation is the setting's."""
    once, noise = trial(setting, data, epsilon), SeededNoise(seed)
    return np.array([once(noise) for _ in range(trials)])
