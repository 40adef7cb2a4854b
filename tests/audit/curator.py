"""Do a curator's answers keep their promise? Replays of neighbours, exact losses of all pairs, and who pays when.

Pairs of neighbours are those of `pairs`, with values beside the points, among them those that ever caused a mistake.
Their replay (`replay`) measures the exact loss. `losses` does the same for all pairs of tiny data sets, so that no
record moves a question further than it pays for. `worst_line_ratio` enumerates the law of drawn quantiles.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any
from unittest import mock

import numpy as np

import spatialdp as sdp
from spatialdp.curator.answers import Answers
from spatialdp.curator.asks import Frame, Spending
from spatialdp.curator.counts import one_area
from spatialdp.curator.medians import Quantile
from spatialdp.errors import BudgetError, ReleaseError, SpatialDPError
from spatialdp.privacy.neighbours import Neighbours
from spatialdp.privacy.noise.source import SeededNoise
from spatialdp.records.rows.held import hold
from tests.audit.enumeration import Words, boundaries
from tests.audit.pairs import pairs, person_pairs
from tests.audit.replay import captured_messages, content_of, neighbours_of, replayed, seen, share_lost
from tests.audit.tape import Tape
from tests.helpers.curator_cases import DELTA, DOMAIN, CuratorSetting

Check = Callable[[], None]

PRICES = (0.0, 10.0, -10.0, 2.0, 3.3, math.nan, math.inf, -1e300, None, "7.5", "dear", 10**400, True)
LABELS = ("Iowa", "Ohio", "Guam", None, "")


@neighbours_of.register
def curator_pairs(setting: CuratorSetting, count: int, seed: int) -> Iterator[tuple[str, Any, Any]]:
    """Yield pairs of neighbours with their names; records that both have are the same in all columns."""
    if setting.person is not None:
        yield from person_pairs(DOMAIN, setting.relation, count, seed)
        return
    rng = np.random.default_rng(seed)
    for name, first, second in pairs(DOMAIN, setting.relation, count, seed):
        beside: dict[int, tuple[Any, Any]] = {}

        def rows(records: list[Any], known: dict[int, tuple[Any, Any]] = beside) -> sdp.Rows:
            drawn = [known.setdefault(id(each), _drawn(rng)) for each in records]
            return sdp.Rows(records, price=[price for price, _ in drawn], state=[state for _, state in drawn])

        yield name, rows(first), rows(second)


def _drawn(rng: np.random.Generator) -> tuple[Any, Any]:
    return PRICES[int(rng.integers(len(PRICES)))], LABELS[int(rng.integers(len(LABELS)))]


@dataclass(frozen=True)
class Promise:
    """What the answers to a question may cost together, in the words of a statement."""

    epsilon: Fraction
    delta: Fraction
    currency: str

    @property
    def privacy(self) -> Promise:
        return self


def promise_of(setting: CuratorSetting, epsilon: Fraction) -> Promise:
    """Return what the answers to a question may cost at some ε."""
    if "gaussian" in setting.case:
        return Promise(epsilon, DELTA, "rho")
    return Promise(epsilon, Fraction(0), "epsilon")


@seen.register
def _(setting: CuratorSetting, records: Any, noise: Any, epsilon: Fraction) -> tuple[Any, ...]:
    return promise_of(setting, epsilon), _observed(setting, records, noise, epsilon)


def _observed(setting: CuratorSetting, records: Any, noise: Any, epsilon: Fraction) -> Any:
    """Return everything that is published of a question's answers, and what was said meanwhile."""
    with captured_messages() as messages:
        try:
            curator = setting.curator(records, noise)
            answers = setting.asked(curator, epsilon)
        except SpatialDPError as error:  # whoever asks sees it
            return str(error)
        entries = [(entry.kind, entry.facts["what"]) for entry in _account(curator).entries if entry.kind == "spend"]
    return messages, repr(curator), entries, [_published(each) for each in answers]


def _account(curator: sdp.Curator) -> Any:
    return curator._purse.spender


def _published(answer: Any) -> Any:
    if not isinstance(answer, Answers):
        return content_of(answer)
    try:
        interval = answer.interval(0.9).tobytes()
    except ReleaseError as error:
        interval = str(error)
    return repr(answer), answer._repr_html_(), content_of(answer), interval


# --- all pairs of tiny data sets ------------------------------------------------------------------------

PLACES = ((0.5, 0.5), (3.5, 1.0), (4.0, 4.0), (7.5, 7.5), (99.0, 99.0))
VALUES = (-10.0, 10.0, 1.0, 3.0, 25.0, math.nan)


def losses(setting: CuratorSetting) -> list[Fraction]:
    """The share of the promise that each pair of tiny neighbours loses: a record more, or another one in its place."""
    beside = [(place, value) for place in PLACES for value in (VALUES if setting.needs_columns else VALUES[:1])]
    others = [((3.5, 1.0), 1.0), ((5.0, 5.0), 2.0)]
    found = []
    with Tape() as tape:
        for crowd in ([], others):
            sets = [(_rows([*crowd, each]), _rows(crowd)) for each in beside]
            if setting.relation == "replace":
                sets += [(_rows([*crowd, a]), _rows([*crowd, b])) for a, b in itertools.combinations(beside, 2)]
            for first, second in sets:
                setting.asked(setting.curator(first, tape.record(1)), Fraction(1))
                setting.asked(setting.curator(second, tape.play()), Fraction(1))
                tape.finish()
                found.append(share_lost(tape, promise_of(setting, Fraction(1))))
    return found


def _rows(records: list[tuple[tuple[float, float], float]]) -> sdp.Rows:
    places = np.array([place for place, _ in records]).reshape(-1, 2)
    states = ["Iowa" if x < 4 else "Ohio" for x, _ in places]
    return sdp.Rows(places, price=[value for _, value in records], state=states)


# --- the law of drawn lines -----------------------------------------------------------------------------

WIDTH = 3  # lattice positions; lines are twice as fine
LINES = range(1, 2 * WIDTH)


def line_law(share: Fraction, values: tuple[int, ...], relation: str) -> dict[int, float]:
    """P(line) of a quantile of values on a tiny lattice at ε = 1, from the sampler: by bisecting its first word."""
    frame = Frame(DOMAIN, Neighbours.parse(relation))
    ask = Quantile(frame, Spending.of(1), "x", share, None, one_area(None, DOMAIN))
    held = hold([[1, 1]] * len(values), DOMAIN)
    held.columns = np.array(values, dtype=np.int32)
    statement = ask.statement({}, private=False, receipt=None)

    def lines(words: Any) -> list[int]:
        with mock.patch.object(Quantile, "_range", (0, WIDTH)):
            answers = [ask.answer(held, Words([word]), statement).values for word in words]
        return [round(each / 8 * 2**31) for each in answers]

    # Lines with the same values below them are drawn as one run, and then one of them evenly, by another word.
    below = {line: tuple(2 * v < line for v in values) + tuple(2 * v + 1 < line for v in values) for line in LINES}
    law = dict.fromkeys(LINES, 0.0)
    for low, high, drawn in boundaries(lines, 2**64 - 1):
        run = [line for line in LINES if below[line] == below[drawn]]
        for line in run:
            law[line] += (high - low + 1) / 2**64 / len(run)
    return law


@cache
def worst_line_ratio(share: Fraction, relation: str, most: int = 2) -> float:
    """The largest log-ratio of a drawn quantile at ε = 1, over all neighbours of up to so many values."""
    sizes = range(most + 1)
    data = [each for size in sizes for each in itertools.combinations_with_replacement(range(WIDTH), size)]
    laws = {each: line_law(share, each, relation) for each in data}
    worst = 0.0
    for one, place in ((each, number) for each in data for number in range(len(each))):
        rest = one[:place] + one[place + 1 :]
        others = [rest]
        if relation == "replace":
            others += [tuple(sorted((*rest, value))) for value in range(WIDTH)]
        for other in others:
            worst = max(worst, *(abs(math.log(laws[one][line] / laws[other][line])) for line in LINES))
    return worst


# --- checks that must catch mutants ---------------------------------------------------------------------


class Unpaid(SeededNoise):
    """A source that refuses to draw: nothing was paid for."""

    def random_bytes(self, count: int) -> bytes:
        raise AssertionError("noise was drawn that was not paid for")


def refused_questions_draw_nothing() -> None:
    """Check that a question beyond the account is refused before noise is drawn or a record is looked at."""
    curator = sdp.Curator.rehearsal([[1, 1]], DOMAIN, epsilon=Fraction(1, 10), noise=Unpaid(1))
    try:
        curator.count(epsilon=1)
    except BudgetError:
        return
    raise AssertionError("a question was answered that nobody paid for")


def only_the_systems_noise_is_private() -> None:
    """Check that answers with seeded noise say that they are not private."""
    curator = sdp.Curator.rehearsal([[1, 1]], DOMAIN, noise=SeededNoise(1))
    assert not curator.count(epsilon=1).privacy.private, "a seeded answer is called private"


def curator_replayed(case: str, pairs: int = 30, person: Any = None) -> Check:
    """Return a check that nothing unpaid shows in the answers to a question."""
    return replayed(CuratorSetting(case, "add-remove", person), pairs, 1)


@cache
def curator_losses(case: str, relation: str = "add-remove") -> Check:
    """Return a check that no tiny pair of neighbours loses more than a question costs."""

    def check() -> None:
        worst = max(losses(CuratorSetting(case, relation)))
        assert worst <= 1, f"the loss is {float(worst):.4f} times the promise"

    return check


def quantiles_are_private() -> None:
    """Check that no log-ratio of a drawn quantile exceeds ε."""
    worst = worst_line_ratio.__wrapped__(Fraction(4, 5), "add-remove")
    assert worst <= 1 + 1e-9, f"a log-ratio of {worst} at ε = 1"
