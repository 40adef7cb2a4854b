"""Which checks must catch planted bugs? The audit's checks as functions without arguments, for `mutants`.

A check raises AssertionError if it finds a mistake. Equal arguments give the same function, so that `test_mutants` runs
each check only once without a bug, even if it must catch several.
"""

from __future__ import annotations

import itertools
import multiprocessing
import tempfile
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from spatialdp.privacy.noise.medians import Median
from spatialdp.privacy.noise.source import SeededNoise, SystemNoise
from spatialdp.privacy.unit import Person
from tests.audit import black_box, contract, replay
from tests.audit.enumeration import exponential_law, log_ratio, worst_line_ratio
from tests.audit.sensitivity import declared_is_the_maximum
from tests.helpers.cases import CASES, DOMAINS, LARGE, Setting
from tests.helpers.zone_cases import ZoneSetting

Check = Callable[[], None]

CLAUSES = {
    "plan": contract.plan_is_what_is_recorded,
    "opposite": contract.opposite_noise_gives_opposite_estimates,
    "lattice": contract.raw_values_lie_on_the_lattice,
    "strays": contract.strays_count_nowhere,
    "marked": contract.seeded_releases_are_marked,
    "texts": contract.texts_show_nothing_private,
    "blocks": contract.blocks_do_not_matter,
    "terms": contract.terms_are_not_mixed_up,
}


def replayed(
    case: str, pairs: int = 25, relation: str = "add-remove", region: str = "whole", person: Person | None = None
) -> Check:
    return replay.replayed(Setting(case, region, relation, person), pairs, 1)


def replayed_on_zones(case: str, frame: str = "lopsided", pairs: int = 12) -> Check:
    return replay.replayed(ZoneSetting(case, frame, "add-remove", by_code=True), pairs, 1)


@cache
def contract_of(clause: str, case: str) -> Check:
    return lambda: CLAUSES[clause](Setting(case, "whole", "add-remove"))


@cache
def sensitivity_of(case: str, relation: str = "add-remove") -> Check:
    mechanism = CASES[case]
    shape = (2**mechanism.height,) * 2 if hasattr(mechanism, "height") else mechanism.shape
    return lambda: declared_is_the_maximum(mechanism, DOMAINS["whole"], shape, relation)


@cache
def files_and_maps(case: str) -> Check:
    def check() -> None:
        with tempfile.TemporaryDirectory() as folder:
            replay.replay(Setting(case, "whole", "add-remove"), 1, folder=Path(folder))

    return check


@cache
def ratios(method: Median) -> Check:
    """Return a check that no log-ratio of lines exceeds ε."""

    def check() -> None:
        for epsilon in (Fraction(1), Fraction(3)):
            worst = worst_line_ratio(method, epsilon, "add-remove")
            assert worst <= epsilon + 1e-9, f"a log-ratio of {worst} at ε = {epsilon}"

    return check


def choices() -> None:
    """Check that no log-ratio of a choice exceeds ε."""
    one, moves = Fraction(1), list(itertools.product((-1, 1), repeat=3))
    for scores in itertools.product((0, 9), repeat=3):
        for move in moves:
            moved = tuple(a + b for a, b in zip(scores, move, strict=True))
            worst = log_ratio(exponential_law(scores, one, one), exponential_law(moved, one, one))
            assert worst <= 1 + 1e-9, f"a log-ratio of {worst}"


@cache
def no_violation(mechanism: str, pair: str, epsilon: int, trials: int = 100_000) -> Check:
    """Return a check that the black-box audit certifies nothing above ε."""
    combination = black_box.Combination(mechanism, pair, Fraction(epsilon), black_box.COPIES[mechanism].draw)

    def check() -> None:
        certified = combination.certify(trials, alpha=1e-6)
        assert certified <= epsilon, f"ε is at least {certified}"

    return check


@cache
def unbiased_total(case: str, releases: int = 300) -> Check:
    """Return a check that the errors of the total average out, if all records lie in one place; seeds are fixed."""
    records = np.full((3000, 2), 0.3)

    def check() -> None:
        prepared = LARGE[case].prepare(DOMAINS["whole"], epsilon=Fraction(1, 10))
        totals = [prepared.release(records, noise=SeededNoise((3, each))).total for each in range(releases)]
        mean, error = np.mean(totals) - len(records), np.std(totals) / np.sqrt(releases)
        assert abs(mean) < 4 * error, f"the mean error of the total is {mean / error:.1f} standard errors"

    return check


def forks() -> None:
    """Check that a process and its forks draw different random bits."""
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    children = [context.Process(target=_draw, args=(queue,)) for _ in range(2)]
    for child in children:
        child.start()
    bits = {SystemNoise().random_bytes(16), *(queue.get() for _ in children)}
    for child in children:
        child.join()
    assert len(bits) == 3, "two processes drew the same bits"


def _draw(queue: Any) -> None:
    queue.put(SystemNoise().random_bytes(16))
