"""The words and tables of `docs/audit.md`, which follow from a run alone: whoever changes them changes the page."""

from __future__ import annotations

import argparse
import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from spatialdp._version import __version__
from tests.audit import flow_bugs, network_bugs, sparse_bugs, table_bugs, trajectory_bugs
from tests.audit.black_box import FALSE_ALARM, PAIRS, PERSON_PAIRS, Combination
from tests.audit.families import FAMILIES, MAPS
from tests.audit.mutants import MUTANTS

FILES = 10  # in replay, the files of every tenth pair are compared
BUGS = {
    "": MUTANTS,
    "lists of cells": sparse_bugs.MUTANTS,
    "tables": table_bugs.MUTANTS,
    "networks of attributes": network_bugs.MUTANTS,
    "flows": flow_bugs.MUTANTS,
    "trajectories": trajectory_bugs.MUTANTS,
}


@dataclass
class Replayed:
    """What the replay of a mechanism found: its cases, pairs, and the largest share of the promise that was lost."""

    cases: set[str] = field(default_factory=set)
    pairs: int = 0
    share: float = 0.0

    def add(self, case: str, pairs: int, share: float) -> None:
        self.cases.add(case)
        self.pairs += pairs
        self.share = max(self.share, share)


@dataclass(frozen=True)
class Run:
    """A run: what was asked for, the commit, the seconds of one core, and what came out.

    Attributes
    ----------
    options : Namespace
    commit : str
    seconds : float
    certified : mapping of Combination to float
    replayed : mapping of (family, mechanism) to Replayed
    """

    options: argparse.Namespace
    commit: str
    seconds: float
    certified: Mapping[Combination, float]
    replayed: Mapping[tuple[str, str], Replayed]


def report(run: Run) -> str:
    """Return the page."""
    parts = [
        f"# The audit\n\nWritten by `python -m tests.audit` on {datetime.date.today()} for commit {run.commit} of "
        f"spatialdp {__version__}, in {run.seconds / 60:.0f} minutes of one core, with {run.options.workers} processes "
        f"and seed {run.options.seed}. To repeat it, run `make audit`.",
        _reduced(run.options),
        _INTRODUCTION.strip(),
        _families(),
        _black_box(run),
        "### From copies of a tiny problem in large releases",
        "Certified lower bounds on ε for maps:",
        _table({each: value for each, value in run.certified.items() if not each.costly and each.family == MAPS}),
        "Certified lower bounds on ε for what is no map:",
        _table({each: value for each, value in run.certified.items() if not each.costly and each.family != MAPS}),
        "### Where each trial is one release",
        *(_singles(run, family.name) for family in FAMILIES),
        _replay(run),
        _mutants(),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _reduced(options: argparse.Namespace) -> str:
    """Say what the run had less of than a full one."""
    given = [
        (options.trials, 10**6, "trials as copies"),
        (options.releases, 50_000, "trials where each is one release"),
        (options.pairs, 20_000, "pairs in the replay of each mechanism of maps"),
        (options.others, 2_000, "pairs in the replay of each other mechanism"),
    ]
    less = [f"{number:,} instead of {full:,} {what}" for number, full, what in given if number < full]
    if options.every > 1:
        less.append(f"one in {options.every} of the combinations with copies")
    return f"**This was a reduced run**: {'; '.join(less)}." if less else ""


_INTRODUCTION = """
Five kinds of checks look for five kinds of mistakes. The checks are in `tests/audit` and run on one list of families
with all their mechanisms and variants (`tests/audit/families.py`). The tests run them in a small size, `make audit`
runs them in full.

- **Contract**: duties of every mechanism. The plan agrees with the statement of the release, costs add up exactly to
  the budget, answers without noise are the true counts, files load as they were saved, releases that are not private
  say so, and texts show nothing private.
- **Sensitivity**: the change that each single record makes to the measurements, on up to 64 × 64 cells. If a record is
  added, the declared cost is exactly the largest, for every region and every mechanism whose measurements are fixed
  beforehand. If a record is replaced, all pairs of records are compared. The declared cost is again exactly the
  largest, except for waves, for windows with Gaussian noise and for wavelets in one region, where it is an upper bound
  (`tests/audit/test_sensitivity.py` lists these cases). The other families are computed by brute force, too: all zones
  and cells of small frames, all trips, all short trajectories, all small tables.
- **Replay**: a mechanism runs on one data set and then on a neighbour, where it gets the same noisy outcomes again.
  Neighbours differ by a record, or by a whole person with a bound on records, on cells or in shares.
  Calls, scales, sizes, structure, statement, rows, files, maps and messages must be the same, and the exact privacy
  loss must stay within ε or ρ.
- **Enumeration**: true output laws on tiny domains, for all neighbours of up to three records. They come from the
  samplers themselves, by bisecting their random words.
- **Black box**: lower bounds on ε from many releases; see below.

Before this report is written, `make audit` runs the tests that take too long for every day: the other enumerations,
and thousands of damaged and forged files of each kind (`tests/attacks/test_fuzz.py`).
"""


def _families() -> str:
    rows = [f"| {family.name} | {len(family.cases)} | {len(family.settings)} |" for family in FAMILIES]
    return """These are the families, each with the number of its variants (a mechanism with parameters that matter) and
of its settings (a variant on a public frame, for records that are added or replaced, or for persons with some bound).

| family | variants | settings |
|---|---|---|
""" + "\n".join(rows)


def _black_box(run: Run) -> str:
    certified, options = run.certified, run.options
    violations = sum(value > each.epsilon for each, value in certified.items())
    plain = {each: value for each, value in certified.items() if each.counts}
    added = {each: value for each, value in plain.items() if "moved" not in each.pair}
    moved = {each: value for each, value in plain.items() if "moved" in each.pair}
    single = {each: value for each, value in certified.items() if each.costly}
    of_maps = {each: value for each, value in single.items() if each.family == MAPS}
    others = {each: value for each, value in single.items() if each.family != MAPS}
    return f"""## Black box

{len(certified)} combinations of mechanism, ε and neighbours were tested: {len(certified) - len(single)} with
{options.trials:,} trials for each of the two data sets (copies of a tiny problem in large releases), and {len(single)}
with {options.releases:,} trials (one release each). 20 % of the trials serve to make events, 10 % to choose one of
them, and 70 % to measure it, with Clopper and Pearson's bounds. Each certified bound is wrong with probability at most
{FALSE_ALARM / len(certified):.1e}, so the probability that any of them is wrong is at most {FALSE_ALARM:g}. A certified
bound above ε would be a violation. There are **{violations}** violations in {len(certified)} combinations.

A bound is what the releases prove, not what they cost. With few releases of many numbers, with Gaussian noise, or where
a list leaves out places with few records, little can be proved, down to 0; the replay has the exact loss in all
settings. The power of the audit is the share of ε that it certifies. For the mechanisms that release plain counts
(marked •), with a record added, the median certified bound is {_power(added)}. With a record moved, which cannot change
all levels of a tree, it is {_power(moved)}. Over both, it is {_power(added | moved)}. Where each trial is one release,
it is {_power(of_maps)} for maps and {_power(others)} for the other families, where some neighbours are alike (a
replaced record that stays in its only zone) and cannot be told apart at all. With four fifths of the noise, the same
audit certifies violations from copies of plain counts, and with a tenth of it from a few hundred single releases of
each family that is no map (`tests/audit/test_black_box.py`, `tests/audit/test_families.py`)."""


def _power(certified: Mapping[Combination, float]) -> str:
    shares = [value / float(each.epsilon) for each, value in certified.items()]
    if not shares:
        return "not known from this run"
    return f"**{median(shares):.3f} ε** ({len(shares)} combinations, the least {min(shares):.3f} ε)"


def _singles(run: Run, family: str) -> str:
    own = {each: value for each, value in run.certified.items() if each.costly and each.family == family}
    return f"Certified lower bounds on ε for {family}:\n\n{_table(own)}" if own else ""


def _table(certified: Mapping[Combination, float]) -> str:
    """Return a table with a row for each mechanism and ε, and a column for each pair of neighbours."""
    rows: dict[tuple[str, Any], dict[str, float]] = {}
    for each, value in certified.items():
        rows.setdefault((each.mechanism + (" •" if each.counts else ""), each.epsilon), {})[each.pair] = value
    known = PAIRS | PERSON_PAIRS
    pairs = [pair for pair in known if any(pair in row for row in rows.values())]
    lines = [
        "| mechanism | ε | " + " | ".join(f"{pair} ({known[pair][0]})" for pair in pairs) + " |",
        "|---" * (len(pairs) + 2) + "|",
        *(
            f"| {name} | {float(epsilon):g} | " + " | ".join(f"{row[p]:.3f}" if p in row else "" for p in pairs) + " |"
            for (name, epsilon), row in sorted(rows.items())
        ),
    ]
    return "\n".join(lines)


def _replay(run: Run) -> str:
    rows = [
        f"| {family} | {name} | {len(each.cases)} | {each.pairs:,} | {each.share:.4f} |"
        for (family, name), each in run.replayed.items()
    ]
    return f"""## Replay

{sum(each.pairs for each in run.replayed.values()):,} pairs of neighbours were replayed. With the same outcomes,
everything published was the same, and the exact privacy loss stayed within the promise. Files were compared byte by
byte for every {FILES}th pair, and pictures of maps, lists and flows for the first pair of every hundred. Months and
answers of a curator have no files, and those of trajectories are drawn anew each time: there, all that is published or
held was compared. The table shows the largest share of the promise that any pair lost.

| family | mechanism | variants | pairs | largest share |
|---|---|---|---|---|
""" + "\n".join(rows)


def _mutants() -> str:
    bugs = [(family, each) for family, mutants in BUGS.items() for each in mutants]
    named = [(f"{family}: {each.bug}" if family else each.bug, each.caught_by) for family, each in bugs]
    rows = [f"| {bug} | {caught_by} |" for bug, caught_by in named]
    return f"""## Planted bugs

{len({bug for bug, _ in named})} bugs were planted, one at a time. The check that is named beside each bug catches
it (`tests/audit/test_mutants.py` and the tests of each family, in every run of the tests).

| bug | caught by |
|---|---|
""" + "\n".join(rows)
