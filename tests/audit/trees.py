"""What is the exact privacy loss of a whole mechanism? Enumerate every structure that can come out.

A mechanism runs once for every data set and every structure, with prescribed outcomes. Its private inputs then give the
log-probability of the structure, by enumerating the samplers, and the inputs of the noisy counts. The loss between two
neighbours is the difference of the log-probabilities plus the distance of the inputs in units of their noise, which is
the largest loss over all outcomes of the noise.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any
from unittest import mock

import numpy as np

from spatialdp.mechanisms import Mechanism, PreparedRelease
from spatialdp.privacy.noise.laws import Law, NoiseLaw
from spatialdp.privacy.noise.medians import amplified_epsilon, medians
from spatialdp.privacy.noise.selection import exponential
from spatialdp.privacy.unit import Person
from spatialdp.records.persons.identifiers import persons_of
from spatialdp.records.points import Points
from spatialdp.space.domain import Domain
from spatialdp.space.lattice import LATTICE
from tests.audit.enumeration import Words, boundaries, exponential_law, line_law, multisets, neighbours
from tests.audit.seams import coarser_fine_grid, everywhere
from tests.audit.tape import integers
from tests.helpers.cases import terms
from tests.helpers.sources import ZeroNoise

UNIT = Domain((0, 0, 1, 1))
FAR = 1000  # a noisy count so far from all true counts that a larger distance changes no log-ratio
Data = tuple[tuple[float, float], ...]
Outcome = tuple[float, list[tuple[NoiseLaw, Any]]]


def square(low: float, high: float) -> Data:
    """Return four places, one in each quarter of the unit square."""
    return tuple(itertools.product((low, high), repeat=2))


# Close to the corners: nearly all lines lie between two records, which is the worst case for a median.
CORNERS = square(2.0**-20, 1 - 2.0**-20)
# In the second and the fourth of five stretches of an axis.
INNER = square(0.3, 0.7)
# Kinds of persons: in one cell or in several, with one record or with many.
KINDS = (CORNERS[:1], CORNERS[:1] * 9, CORNERS[:2], CORNERS[2:], CORNERS)
OUTSIDE = ((2.0, 2.0),)  # a record may also be replaced by one outside the domain


@dataclass
class Forced:
    """Prescribed outcomes of one run, and the private inputs that the run had.

    Attributes
    ----------
    noisy, lines, choices : list
        Laws and inputs of the noisy counts, arguments of the lines, and arguments of the choices.
    """

    script: dict[str, list[Any]]

    def __post_init__(self) -> None:
        self.noisy: list[tuple[NoiseLaw, Any]] = []
        self.lines: list[dict[str, Any]] = []
        self.choices: list[tuple[Any, ...]] = []

    def _next(self, kind: str) -> Any:
        left = self.script.get(kind)
        return left.pop(0) if left else 0

    def count(self, law: NoiseLaw, counts: Any, noise: Any) -> Any:
        whole = integers(counts)
        self.noisy.append((law, whole.ravel()))
        outcome = np.asarray(self._next("counts"), dtype=float)
        return np.broadcast_to(outcome, whole.size).reshape(whole.shape).copy()

    def line(self, values: Any, starts: Any, low: Any, high: Any, **options: Any) -> Any:
        self.lines.append({"values": values, "starts": starts, "low": low, "high": high, **options})
        return np.clip(np.broadcast_to(self._next("lines"), low.shape), low + 1, high - 1)

    def choice(self, scores: Any, epsilon: Any, sensitivity: Any, noise: Any) -> int:
        self.choices.append((tuple(scores), epsilon, sensitivity))
        return int(self._next("choices"))


class Stage(contextlib.ExitStack):
    """A context in which a mechanism runs with prescribed outcomes, once for each data set and script."""

    def __init__(self, mechanism: Mechanism, relation: str, person: Person | None = None) -> None:
        super().__init__()
        self.mechanism, self.relation, self.person = mechanism, relation, person
        self._runs: dict[Any, Forced] = {}
        self._points: dict[Data, Points] = {}
        self.laws: dict[Any, Any] = {}
        self._now = Forced({})

    @cached_property
    def prepared(self) -> PreparedRelease:
        """Everything public, decided once for all data sets."""
        return self.mechanism.prepare(UNIT, person=self.person, **terms(self.mechanism, self.relation))

    def __enter__(self) -> Stage:
        super().__enter__()
        self.enter_context(everywhere(medians, lambda *args, **options: self._now.line(*args, **options)))
        self.enter_context(everywhere(exponential, lambda *args: self._now.choice(*args)))
        self.enter_context(mock.patch.object(NoiseLaw, "add_to", lambda *args: self._now.count(*args)))
        return self

    def run(self, data: Data, **script: Any) -> Forced:
        key = data, repr(script)
        if key not in self._runs:
            self._now = self._runs[key] = Forced({kind: list(outcomes) for kind, outcomes in script.items()})
            if data not in self._points:
                self._points[data] = self._made(data)
            self.prepared.release(self._points[data], noise=ZeroNoise())
        return self._runs[key]

    def _made(self, data: Data) -> Points:
        """Return records or, if persons are the unit, all records of persons; alike persons are numbered."""
        if self.person is None:
            return Points(np.array(data, dtype=float).reshape(-1, 2))
        names = [f"{person}, {data[:place].count(person)}" for place, person in enumerate(data)]
        places = [place for person in data for place in person]
        who = [name for name, person in zip(names, data, strict=True) for _ in person]
        return Points(*np.array(places, dtype=float).reshape(-1, 2).T, person=persons_of(who))


FIRST, LAST = CORNERS[0], CORNERS[3]
# All records of a person: within a bound of two, and above it; in one place, or in two places.
SOMEONE: tuple[Data, ...] = tuple(
    each for each in multisets((FIRST, LAST), 3) if each.count(LAST) > 0 or len(each) == 2
)
OTHERS = ((FIRST,), (FIRST,))  # two persons


def worst_person_loss(
    mechanism: Mechanism,
    relation: str,
    person: Person,
    outcomes: Callable[[Stage, list[Any]], dict[Any, dict[Any, Outcome]]],
    *,
    beside: bool = True,
) -> float:
    """Return the largest log-ratio over data sets that differ by a whole person, in both directions.

    Parameters
    ----------
    mechanism : Mechanism
    relation : str
        A person is added or removed, or replaced by another one.
    person : Person
    outcomes : callable
        As for `worst_loss`; data sets are persons, each with places.
    beside : bool
        Whether the person is also added to two others, which matters for medians.
    """
    crowds: list[Any] = [(), *([OTHERS] if beside else [])]
    data = [each for crowd in crowds for each in (crowd, *((*crowd, some) for some in SOMEONE))]
    with Stage(mechanism, relation, person) as stage, coarser_fine_grid():
        tables = {each: _table(of) for each, of in outcomes(stage, data).items()}
    assert len({laws for laws, _, _ in tables.values()}) == 1, "the noise depends on the records"
    pairs = [
        (one, other)
        for crowd in crowds
        for one, other in itertools.combinations([crowd, *((*crowd, some) for some in SOMEONE)], 2)
        if (one == crowd) == (relation == "add-remove")
    ]
    return max(_distance(tables[one], tables[other]) for one, other in pairs)


def _distance(one: Any, other: Any) -> float:
    """Return the largest loss over all outcomes of two data sets, from their tables."""
    (_, p, mine), (_, q, theirs) = one, other
    return float((np.abs(p - q) + np.abs(mine - theirs).sum(axis=1)).max())


def plain_outcomes(stage: Stage, data: list[Any]) -> dict[Any, dict[Any, Outcome]]:
    """Return the one outcome of a mechanism that chooses nothing: all its counts with noise."""
    return {each: {0: (0.0, stage.run(each).noisy)} for each in data}


def worst_loss(
    mechanism: Mechanism,
    relation: str,
    outcomes: Callable[[Stage, list[Data]], dict[Data, dict[Any, Outcome]]],
    *,
    most: int = 3,
    places: Any = CORNERS,
    person: Person | None = None,
) -> float:
    """Return the largest log-ratio over all neighbours of up to `most` records in four places, in both directions.

    Parameters
    ----------
    mechanism : Mechanism
    relation : str
    outcomes : callable
        Maps a stage and all data sets to the log-probability and the noisy counts of each structure.
    most : int
    places : tuple
        Where records may be; if persons are the unit, the places of a person's records, for all kinds of persons.
    person : Person, optional
    """
    outside = OUTSIDE if person is None else (OUTSIDE,)
    allowed = places if relation == "add-remove" else places + outside
    data = list(multisets(allowed, most))
    with Stage(mechanism, relation, person) as stage:
        tables = {each: _table(of) for each, of in outcomes(stage, data).items()}
    assert len({laws for laws, _, _ in tables.values()}) == 1, "the noise depends on the records"
    worst = 0.0
    for one in data:
        for other in {each for each in neighbours(one, allowed, relation) if each in tables}:
            worst = max(worst, _distance(tables[one], tables[other]))
    return worst


def _table(outcomes: dict[Any, Outcome]) -> tuple[Any, Any, Any]:
    """Return the laws, the log-probabilities, and the counts in units of their noise, with a row for each outcome."""
    ordered = [outcomes[key] for key in sorted(outcomes)]
    laws = tuple((key, *(law for law, _ in outcomes[key][1])) for key in sorted(outcomes))
    rows = [np.concatenate([[0.0], *(_in_units(law, counts) for law, counts in noisy)]) for _, noisy in ordered]
    table = np.zeros((len(rows), max(row.size for row in rows)))
    for place, row in zip(table, rows, strict=True):
        place[: row.size] = row
    return laws, np.array([log_p for log_p, _ in ordered]), table


def _in_units(law: NoiseLaw, counts: Any) -> Any:
    """Return counts divided by the scale of their noise: the difference of two such counts is the privacy loss."""
    assert law.law is not Law.GAUSSIAN
    return counts.astype(float) * float(Fraction(law.steps // law.counted) / law.parameter)


def log_density(law: NoiseLaw, counts: Any, outcome: Any) -> float:
    """Return the log-density of outcomes of noisy counts, up to a constant that is the same for all counts."""
    distances = np.abs(np.broadcast_to(outcome, counts.shape) - counts / law.counted)
    return -float(distances.sum() * float(law.steps / law.parameter))


# --- kd-trees ------------------------------------------------------------------------------------------


def log_weights(call: dict[str, Any], node: int) -> list[tuple[int, int, float]]:
    """Return the runs (first line, last line, log P(line)) of one node of a call, from the sampler itself."""
    starts, low, high = call["starts"], int(call["low"][node]), int(call["high"][node])
    values = np.asarray(call["values"][starts[node] : starts[node + 1]], dtype=np.int64)
    weights = None if call.get("weights") is None else call["weights"][starts[node] : starts[node + 1]]

    def lines(words: Any) -> Any:
        times = words.size
        return medians(
            np.tile(values, times),
            np.arange(times + 1) * values.size,
            np.full(times, low),
            np.full(times, high),
            method=call["method"],
            epsilon=call["epsilon"],
            neighbours=call["neighbours"],
            noise=Words(words),
            weights=None if weights is None else np.tile(weights, times),
        ).tolist()

    # The sampler returns the second line of a run, because the word after the first one is 1.
    runs = sorted((line - 1, last - first + 1) for first, last, line in boundaries(lines, 2**64 - 1))
    assert runs[0][0] == low + 1
    ends = [line for line, _ in runs[1:]] + [high]
    return [
        (line, end - 1, math.log(words / 2**64 / (end - line))) for (line, words), end in zip(runs, ends, strict=True)
    ]


def five_stretches(call: dict[str, Any], node: int) -> list[tuple[int, int, float]]:
    """Return the same runs for a node with five stretches and four lines between them, for any method."""
    starts, relation = call["starts"], str(call["neighbours"])
    assert (call["low"][node], call["high"][node]) == (0, LATTICE)
    values = np.asarray(call["values"][starts[node] : starts[node + 1]], dtype=np.int64)
    parts = [
        (weight, line_law(sample, 5, call["method"], epsilon, relation))
        for weight, sample, epsilon in _samples((values * 5 // LATTICE).tolist(), call["epsilon"], call["sampling"])
    ]
    edges = [-(-line * LATTICE // 5) for line in range(1, 6)]
    laws = {line: math.fsum(weight * law[line] for weight, law in parts) for line in range(1, 5)}
    return [(edges[line - 1], edges[line] - 1, math.log(p)) for line, p in laws.items()]


def _samples(values: list[int], epsilon: Fraction, rate: Fraction | None) -> Iterator[tuple[float, Any, Fraction]]:
    """Yield the probability of every secret sample, the sample, and the ε that is spent on it."""
    if rate is None:
        yield 1.0, tuple(values), epsilon
        return
    spent = amplified_epsilon(epsilon, rate)
    for sampled in itertools.product((False, True), repeat=len(values)):
        weight = math.prod(float(rate if each else 1 - rate) for each in sampled)
        yield weight, tuple(itertools.compress(values, sampled)), spent


def kd_outcomes(law_of: Callable[..., Any]) -> Callable[..., Any]:
    """Return the enumeration of a kd-tree of height 1: one x line and a y line in each half, one line of each run."""

    def outcomes(stage: Stage, data: list[Data]) -> dict[Data, dict[Any, Outcome]]:
        across = {each: _law(stage, law_of, stage.run(each).lines[0], 0) for each in data}
        firsts = sorted({first for law in across.values() for first, _, _ in law})
        halves = {
            (each, x): [_law(stage, law_of, stage.run(each, lines=[x]).lines[1], half) for half in (0, 1)]
            for each in data
            for x in firsts
        }
        along = sorted({first for pair in halves.values() for law in pair for first, _, _ in law})
        outcomes_of: dict[Data, dict[Any, Outcome]] = {each: {} for each in data}
        for each, x, left, right in itertools.product(data, firsts, along, along):
            log_p = sum(
                _at(law, line) for law, line in zip((across[each], *halves[each, x]), (x, left, right), strict=True)
            )
            outcomes_of[each][x, left, right] = log_p, stage.run(each, lines=[x, (left, right)]).noisy
        return outcomes_of

    return outcomes


def _law(stage: Stage, law_of: Callable[..., Any], call: dict[str, Any], node: int) -> Any:
    """Return the law of lines of a node of a call; each law is computed once."""
    options = {name: value for name, value in call.items() if name not in ("noise", "values", "starts", "low", "high")}
    key = tuple(call["values"][call["starts"][node] : call["starts"][node + 1]].tolist()), repr(options)
    if key not in stage.laws:
        stage.laws[key] = law_of(call, node)
    return stage.laws[key]


def _at(law: Any, line: int) -> float:
    return next(log_p for first, last, log_p in law if first <= line <= last)


def cell_outcomes(stage: Stage, data: list[Data]) -> dict[Data, dict[Any, Outcome]]:
    """Enumerate a kd-tree whose lines come from a noisy grid of 2 × 2 cells, over grids of extreme counts."""
    outcomes_of: dict[Data, dict[Any, Outcome]] = {each: {} for each in data}
    for each, grid in itertools.product(data, itertools.product((-FAR, FAR), repeat=4)):
        (law, counts), *noisy = stage.run(each, counts=[grid]).noisy
        outcomes_of[each][grid] = log_density(law, counts, grid), noisy
    return outcomes_of


# --- stopping quadtrees --------------------------------------------------------------------------------


def stop_outcomes(stage: Stage, data: list[Data]) -> dict[Data, dict[Any, Outcome]]:
    """Enumerate a quadtree of height 1 or 2 that may stop, over the noisy counts of all nodes that may be divided.

    A log-ratio is monotone in a noisy count. So it is largest at an end of the counts at which a node stops, or of the
    counts at which the node does not stop.
    """
    stop = int(stage.mechanism.stop)
    ended, divided = (-FAR, stop - 1), (stop, FAR)
    below = itertools.product((*ended, *divided), repeat=4) if stage.mechanism.height == 2 else [()]
    extremes = [(root,) for root in ended]
    extremes += [(root, *children) for root, children in itertools.product(divided, below)]
    return {each: {outcome: _stopped(stage, each, outcome, stop) for outcome in extremes} for each in data}


def _stopped(stage: Stage, data: Data, outcome: tuple[int, ...], stop: int) -> Outcome:
    """Run with these noisy counts; measurements depend on which nodes stop, the log-density on the exact counts."""
    sides = [stop if value >= stop else stop - 1 for value in outcome]
    noisy = list(stage.run(data, counts=[sides[0], *([sides[1:]] if sides[1:] else [])]).noisy)
    log_p = log_density(*noisy.pop(0), outcome[0])
    if outcome[1:]:
        log_p += log_density(*noisy.pop(0), outcome[1:])
    return log_p, noisy


# --- plain counts --------------------------------------------------------------------------------------


def count_outcomes(stage: Stage, data: list[Data]) -> dict[Data, dict[Any, Outcome]]:
    """Enumerate a mechanism that counts and does nothing else: there is one structure."""
    return {each: {0: (0.0, stage.run(each).noisy)} for each in data}


# --- chosen blocks and bounds -------------------------------------------------------------------------------------


def choice_outcomes(stage: Stage, data: list[Data]) -> dict[Data, dict[Any, Outcome]]:
    """Enumerate a mechanism that chooses once and then counts, over all choices."""
    outcomes_of: dict[Data, dict[Any, Outcome]] = {}
    for each in data:
        (call,) = stage.run(each).choices
        law = exponential_law(*call)
        outcomes_of[each] = {k: (math.log(p), stage.run(each, choices=[k]).noisy) for k, p in law.items()}
    return outcomes_of


# --- adaptive trees ------------------------------------------------------------------------------------


def adaptive_outcomes(stages: int) -> Callable[..., Any]:
    """Return the enumeration of an adaptive tree whose blocks are divided in so many stages, over extreme counts.

    Blocks in the four corners, where the records are, are divided or not, in all combinations; the twelve others have
    no record in either data set. In a second stage all new blocks have the same count. A log-ratio is monotone in a
    noisy count, so it is largest at extreme counts.
    """
    corners = np.array([0, 3, 12, 15])

    def outcomes(stage: Stage, data: list[Data]) -> dict[Data, dict[Any, Outcome]]:
        outcomes_of: dict[Data, dict[Any, Outcome]] = {each: {} for each in data}
        for each, extremes in itertools.product(data, itertools.product((-FAR, FAR), repeat=4 + stages)):
            first = np.zeros(16)
            first[corners] = extremes[1:5]
            prescribed = [extremes[0], first, *extremes[5:]]
            noisy = list(stage.run(each, counts=prescribed).noisy)
            log_p = sum(log_density(*noisy.pop(0), outcome) for outcome in prescribed)
            outcomes_of[each][extremes] = log_p, noisy
        return outcomes_of

    return outcomes
