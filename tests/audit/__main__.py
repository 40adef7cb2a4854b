"""Does the promise hold in a long audit? Run black-box tests and replay at scale, and write `docs/audit.md`.

python -m tests.audit                      # most of an hour on two cores; `make audit` also runs the long tests
python -m tests.audit --resume             # continue an interrupted run of the same code
python -m tests.audit --trials 100000 --releases 2000 --pairs 300 --every 10

The exit code is 1 if a violation is certified. The words of the report are in this module: whoever changes them changes
`docs/audit.md` in the same way.
"""

from __future__ import annotations

import argparse
import datetime
import json
import multiprocessing
import tempfile
import time
import zlib
from collections import Counter
from pathlib import Path
from statistics import median
from typing import Any

from tqdm import tqdm

from spatialdp._version import __version__
from spatialdp.mechanisms import MECHANISMS
from tests.audit.black_box import (
    FALSE_ALARM,
    PAIRS,
    PERSON_PAIRS,
    Combination,
    combinations,
    costly_combinations,
    person_combinations,
)
from tests.audit.mutants import MUTANTS
from tests.audit.replay import replay
from tests.helpers.cases import CASES, PERSON_SETTINGS, SETTINGS

COMBINATIONS: list[Combination] = [*costly_combinations(), *combinations(), *person_combinations()]
# Pairs that differ by a record, and pairs that differ by a whole person.
REPLAYED = [*SETTINGS, *PERSON_SETTINGS]
FILES = 10  # in replay, the files of every tenth pair are compared
Task = tuple[str, Any]


def main() -> None:
    """Run the audit and write the report."""
    options = _options()
    tasks = [*_certifications(options), *(("replay", each) for each in _replays(options.pairs, options.seed))]
    results = _run_all(tasks, options)
    bounds = {arguments[0]: value for (kind, arguments), (value, _) in results.items() if kind == "certify"}
    shares: dict[str, list[float]] = {name: [] for name in MECHANISMS}
    for (kind, arguments), (value, _) in results.items():
        if kind == "replay":
            shares[REPLAYED[arguments[0]].mechanism.name].append(value)
    options.output.write_text(_report(options, bounds, shares, sum(seconds for _, seconds in results.values())))
    violations = [str(COMBINATIONS[i]) for i, bound in bounds.items() if bound > COMBINATIONS[i].epsilon]
    print(f"{len(bounds)} combinations, {len(violations)} violations: {violations}; the report is {options.output}")
    raise SystemExit(bool(violations))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.audit", description=__doc__.splitlines()[0])
    parser.add_argument(
        "--trials",
        type=int,
        default=10**6,
        help="trials for each combination and data set, as copies in large releases",
    )
    parser.add_argument("--releases", type=int, default=50_000, help="trials where each trial is one release")
    parser.add_argument("--pairs", type=int, default=20_000, help="pairs of neighbours to replay for each mechanism")
    parser.add_argument("--every", type=int, default=1, help="run only every N-th combination")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--output", type=Path, default=Path("docs/audit.md"))
    parser.add_argument(
        "--journal", type=Path, default=Path("out/audit.jsonl"), help="file that keeps finished results"
    )
    parser.add_argument("--resume", action="store_true", help="use the results of the same code in the journal")
    return parser.parse_args()


# --- tasks ---------------------------------------------------------------------------------------------


def _certifications(options: argparse.Namespace) -> list[Task]:
    """Return the black-box tasks, the longest first; with the short replays last, all processes end together."""
    selected = [i for i, each in enumerate(COMBINATIONS) if each.costly or i % options.every == 0]
    selected.sort(key=lambda i: (not COMBINATIONS[i].costly, not _slow(COMBINATIONS[i].mechanism)))
    alpha = FALSE_ALARM / len(selected)
    trials = [options.releases if COMBINATIONS[i].costly else options.trials for i in selected]
    return [("certify", (i, n, alpha, options.seed)) for i, n in zip(selected, trials, strict=True)]


def _slow(mechanism: str) -> bool:
    return mechanism.startswith("kd") or mechanism in ("fourier", "quadtree, stop", "tailored, rows")


def _replays(pairs: int, seed: int) -> list[tuple[int, int, int]]:
    """Return (setting, pairs, seed) for replays of at most 100 pairs; the settings of a mechanism share its pairs."""
    number = Counter(setting.mechanism.name for setting in REPLAYED)
    tasks = []
    for i, setting in enumerate(REPLAYED):
        left = -(-pairs // number[setting.mechanism.name])
        start = zlib.crc32(f"{setting} {seed}".encode())
        tasks += [(i, min(100, left - first), start + first) for first in range(0, left, 100)]
    return tasks


def _run_all(tasks: list[Task], options: argparse.Namespace) -> dict[Task, tuple[float, float]]:
    """Run the tasks; return the value and the seconds of each. Each result goes to the journal at once."""
    code = _code_checksum()
    results = _journal_results(options.journal, code, set(tasks)) if options.resume else {}
    options.journal.parent.mkdir(parents=True, exist_ok=True)
    left = [task for task in tasks if task not in results]
    with (
        options.journal.open("a" if results else "w") as journal,
        multiprocessing.get_context("fork").Pool(options.workers) as pool,
    ):
        for task, value, seconds in tqdm(
            pool.imap_unordered(_run, left), total=len(tasks), initial=len(results), desc="audit", mininterval=5
        ):
            results[task] = value, seconds
            journal.write(json.dumps([code, task, value, seconds]) + "\n")
            journal.flush()
    return {task: results[task] for task in tasks}


def _journal_results(journal: Path, code: int, tasks: set[Task]) -> dict[Task, tuple[float, float]]:
    """Return the journal's results for these tasks and this code; an unfinished line is left out."""
    results: dict[Task, tuple[float, float]] = {}
    for line in journal.read_text().splitlines() if journal.exists() else []:
        try:
            line_code, (kind, arguments), value, seconds = json.loads(line)
        except ValueError:
            continue
        if line_code == code and (kind, tuple(arguments)) in tasks:
            results[kind, tuple(arguments)] = value, seconds
    return results


def _code_checksum() -> int:
    """Return a checksum of the sources of the package and the tests: results of other code must not be reused."""
    root = Path(__file__).parents[2]
    sources = sorted([*root.glob("spatialdp/**/*.py"), *root.glob("tests/**/*.py")])
    return zlib.crc32(b"".join(path.read_bytes() for path in sources))


def _run(task: Task) -> tuple[Task, float, float]:
    kind, arguments = task
    start = time.monotonic()
    if kind == "certify":
        index, trials, alpha, seed = arguments
        value = COMBINATIONS[index].certify(trials, alpha, seed)
    else:
        index, pairs, seed = arguments
        with tempfile.TemporaryDirectory() as folder:
            value = float(replay(REPLAYED[index], pairs, seed, Path(folder), FILES))
    return task, value, time.monotonic() - start


# --- the report ----------------------------------------------------------------------------------------


def _report(
    options: argparse.Namespace, bounds: dict[int, float], shares: dict[str, list[float]], seconds: float
) -> str:
    certified = {COMBINATIONS[i]: value for i, value in bounds.items()}
    parts = [
        f"# The audit\n\nWritten by `python -m tests.audit` on {datetime.date.today()} with spatialdp {__version__}, "
        f"in {seconds / 60:.0f} minutes of one core, with {options.workers} processes and seed {options.seed}. To "
        "repeat it, run `make audit`.",
        _reduced(options),
        _INTRODUCTION.strip(),
        _black_box(options, certified),
        "Certified lower bounds on ε, from copies of a tiny problem in large releases:",
        _table(certified, costly=False),
        "Certified lower bounds on ε, where each trial is one release:",
        _table(certified, costly=True),
        _replay(options, shares),
        _mutants(),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _reduced(options: argparse.Namespace) -> str:
    full = options.every == 1 and options.trials >= 10**6 and options.releases >= 50_000 and options.pairs >= 20_000
    text = (
        f"**This was a reduced run** with one combination in {options.every}, {options.trials:,} trials or "
        f"{options.releases:,} releases, and {options.pairs:,} pairs for each mechanism. The full run has all "
        "combinations, 1,000,000 trials, 50,000 releases and 20,000 pairs."
    )
    return "" if full else text


_INTRODUCTION = """
Five kinds of checks look for five kinds of mistakes. The checks are in `tests/audit` and run on one list of mechanisms
and variants (`tests/helpers/cases.py`). The tests run them in a small size, `make audit` runs them in full.

- **Contract**: duties of every mechanism. The plan agrees with the statement of the release, costs add up exactly to
  the budget, answers without noise are the true counts, files load as they were saved, releases that are not private
  say so, and texts show nothing private.
- **Sensitivity**: the change that each single record makes to the measurements, on up to 64 × 64 cells. If a record is
  added, the declared cost is exactly the largest, for every region and every mechanism whose measurements are fixed
  beforehand. If a record is replaced, all pairs of records are compared. The declared cost is again exactly the
  largest, except for waves, for windows with Gaussian noise and for wavelets in one region, where it is an upper bound
  (`tests/audit/test_sensitivity.py` lists these cases).
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


def _black_box(options: argparse.Namespace, certified: dict[Combination, float]) -> str:
    violations = sum(value > each.epsilon for each, value in certified.items())
    added = {each: value for each, value in certified.items() if each.counts and "moved" not in each.pair}
    moved = {each: value for each, value in certified.items() if each.counts and "moved" in each.pair}
    single = {each: value for each, value in certified.items() if each.costly}
    return f"""## Black box

{len(certified)} combinations of mechanism, ε and neighbours were tested: {len(certified) - len(single)} with
{options.trials:,} trials for each of the two data sets (copies of a tiny problem in large releases), and {len(single)}
with {options.releases:,} trials (one release each). 20 % of the trials serve to make events, 10 % to choose one of
them, and 70 % to measure it, with Clopper and Pearson's bounds. Each certified bound is wrong with probability at most
{FALSE_ALARM / len(certified):.1e}, so the probability that any of them is wrong is at most {FALSE_ALARM:g}. A certified
bound above ε would be a violation. There are **{violations}** violations in {len(certified)} combinations.

The power of the audit is the share of ε that it certifies. For the mechanisms that release plain counts (marked •),
with a record added, the median certified bound is {_power(added)}. With a record moved, which cannot change all levels
of a tree, it is {_power(moved)}. Over both, it is {_power(added | moved)}. Where each trial is one release, it is
{_power(single)}. With four fifths of the noise, the same audit certifies violations
(`tests/audit/test_black_box.py`)."""


def _power(certified: dict[Combination, float]) -> str:
    shares = [value / float(each.epsilon) for each, value in certified.items()]
    if not shares:
        return "not known from this run"
    return f"**{median(shares):.3f} ε** ({len(shares)} combinations, the least {min(shares):.3f} ε)"


def _replay(options: argparse.Namespace, shares: dict[str, list[float]]) -> str:
    number: Counter[str] = Counter()
    for setting, pairs, _ in _replays(options.pairs, options.seed):
        number[REPLAYED[setting].mechanism.name] += pairs
    rows = [f"| {name} | {_variants(name)} | {number[name]:,} | {max(shares[name]):.4f} |" for name in MECHANISMS]
    return f"""## Replay

{number.total():,} pairs of neighbours were replayed. With the same outcomes, everything published was the same, and the
exact privacy loss stayed within the promise. Files were compared byte by byte for every {FILES}th pair, maps for the
first pair of every hundred. The table shows the largest share of the promise that any pair lost.

| mechanism | variants | pairs | largest share |
|---|---|---|---|
""" + "\n".join(rows)


def _mutants() -> str:
    rows = [f"| {each.bug} | {each.caught_by} |" for each in MUTANTS]
    return f"""## Planted bugs

{len({each.bug for each in MUTANTS})} bugs were planted, one at a time. The check that is named beside each bug catches
it (`tests/audit/test_mutants.py`, in every run of the tests).

| bug | caught by |
|---|---|
""" + "\n".join(rows)


def _table(certified: dict[Combination, float], *, costly: bool) -> str:
    """Return a table with a row for each mechanism and ε, and a column for each pair of neighbours."""
    rows: dict[tuple[str, Any], dict[str, float]] = {}
    for each, value in certified.items():
        if each.costly is costly:
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


def _variants(name: str) -> int:
    return sum(mechanism.name == name for mechanism in CASES.values())


if __name__ == "__main__":
    main()
