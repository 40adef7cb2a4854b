"""The long run: black-box audit and replay at scale, written up with the table of mutants.

python -m tests.audit                      # most of an hour on two cores; see `make audit`
python -m tests.audit --resume             # go on where an interrupted run of the same code ended
python -m tests.audit --trials 100000 --releases 2000 --pairs 300 --every 10
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
from tests.audit.black_box import FALSE_ALARM, PAIRS, Combination, combinations, costly_combinations
from tests.audit.mutants import MUTANTS
from tests.audit.replay import replay
from tests.helpers.cases import CASES, SETTINGS

COMBINATIONS: list[Combination] = [*costly_combinations(), *combinations()]
FILES = 10  # in replay, of every so many pairs the files are compared
Task = tuple[str, Any]


def main() -> None:
    """Run what was asked for and write the report."""
    asked = _arguments()
    tasks = [*_certifications(asked), *(("replay", each) for each in _replays(asked.pairs, asked.seed))]
    done = _carried_out(tasks, asked)
    bounds = {given[0]: value for (kind, given), (value, _) in done.items() if kind == "certify"}
    shares: dict[str, list[float]] = {name: [] for name in MECHANISMS}
    for (kind, given), (value, _) in done.items():
        if kind == "replay":
            shares[SETTINGS[given[0]].mechanism.name].append(value)
    asked.output.write_text(_report(asked, bounds, shares, sum(seconds for _, seconds in done.values())))
    violations = [str(COMBINATIONS[i]) for i, found in bounds.items() if found > COMBINATIONS[i].epsilon]
    print(f"{len(bounds)} combinations, {len(violations)} violations: {violations}; report in {asked.output}")
    raise SystemExit(bool(violations))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.audit", description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=10**6, help="copies for each combination and data set")
    parser.add_argument("--releases", type=int, default=50_000, help="where each trial is a release of its own")
    parser.add_argument("--pairs", type=int, default=20_000, help="neighbours to replay for each mechanism")
    parser.add_argument("--every", type=int, default=1, help="of the combinations, take every so many")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--output", type=Path, default=Path("docs/audit.md"))
    parser.add_argument("--journal", type=Path, default=Path("out/audit.jsonl"), help="what is done so far")
    parser.add_argument("--resume", action="store_true", help="take from the journal what it has of the same code")
    return parser.parse_args()


# --- tasks ---------------------------------------------------------------------------------------------


def _certifications(asked: argparse.Namespace) -> list[Task]:
    """Those that take longest first, so that all processes end together: replays come after them, in small portions."""
    chosen = [i for i, each in enumerate(COMBINATIONS) if each.costly or i % asked.every == 0]
    chosen.sort(key=lambda i: (not COMBINATIONS[i].costly, not _slow(COMBINATIONS[i].mechanism)))
    alpha = FALSE_ALARM / len(chosen)
    trials = [asked.releases if COMBINATIONS[i].costly else asked.trials for i in chosen]
    return [("certify", (i, n, alpha, asked.seed)) for i, n in zip(chosen, trials, strict=True)]


def _slow(mechanism: str) -> bool:
    return mechanism.startswith("kd") or mechanism in ("fourier", "quadtree, stop", "tailored, rows")


def _replays(pairs: int, seed: int) -> list[tuple[int, int, int]]:
    """(setting, pairs, seed): every setting's share, in portions."""
    number = Counter(setting.mechanism.name for setting in SETTINGS)
    tasks = []
    for i, setting in enumerate(SETTINGS):
        left = -(-pairs // number[setting.mechanism.name])
        start = zlib.crc32(f"{setting} {seed}".encode())
        tasks += [(i, min(100, left - begun), start + begun) for begun in range(0, left, 100)]
    return tasks


def _carried_out(tasks: list[Task], asked: argparse.Namespace) -> dict[Task, tuple[float, float]]:
    """What came out of every task, and its seconds. Each is noted in the journal as soon as it is done."""
    code = _code()
    done = _noted(asked.journal, code, set(tasks)) if asked.resume else {}
    asked.journal.parent.mkdir(parents=True, exist_ok=True)
    left = [task for task in tasks if task not in done]
    with (
        asked.journal.open("a" if done else "w") as journal,
        multiprocessing.get_context("fork").Pool(asked.workers) as pool,
    ):
        for task, *found in tqdm(
            pool.imap_unordered(_run, left), total=len(tasks), initial=len(done), desc="audit", mininterval=5
        ):
            done[task] = found[0], found[1]
            journal.write(json.dumps([code, task, *found]) + "\n")
            journal.flush()
    return {task: done[task] for task in tasks}


def _noted(journal: Path, code: int, wanted: set[Task]) -> dict[Task, tuple[float, float]]:
    """What the journal has of these tasks with this code; a line that was being written is left out."""
    found: dict[Task, tuple[float, float]] = {}
    for line in journal.read_text().splitlines() if journal.exists() else []:
        try:
            of, (kind, given), value, seconds = json.loads(line)
        except ValueError:
            continue
        if of == code and (kind, tuple(given)) in wanted:
            found[kind, tuple(given)] = value, seconds
    return found


def _code() -> int:
    """A sum over the sources of the package and of the tests: results of other code do not count."""
    root = Path(__file__).parents[2]
    sources = sorted([*root.glob("spatialdp/**/*.py"), *root.glob("tests/**/*.py")])
    return zlib.crc32(b"".join(path.read_bytes() for path in sources))


def _run(task: Task) -> tuple[Task, float, float]:
    kind, given = task
    begun = time.monotonic()
    if kind == "certify":
        index, trials, alpha, seed = given
        found = COMBINATIONS[index].certify(trials, alpha, seed)
    else:
        index, pairs, seed = given
        with tempfile.TemporaryDirectory() as folder:
            found = float(replay(SETTINGS[index], pairs, seed, Path(folder), FILES))
    return task, found, time.monotonic() - begun


# --- the report ----------------------------------------------------------------------------------------


def _report(asked: argparse.Namespace, bounds: dict[int, float], shares: dict[str, list[float]], seconds: float) -> str:
    found = {COMBINATIONS[i]: value for i, value in bounds.items()}
    parts = [
        f"# The audit\n\nWritten by `python -m tests.audit` on {datetime.date.today()}, spatialdp {__version__}, in "
        f"{seconds / 60:.0f} minutes of one core, {asked.workers} processes, seed {asked.seed}. To repeat it: "
        "`make audit`.",
        _reduced(asked),
        _INTRODUCTION.strip(),
        _black_box(asked, found),
        "Certified lower bounds on ε, copies of a tiny problem in large releases:",
        _table(found, costly=False),
        "A release for each trial:",
        _table(found, costly=True),
        _replay(asked, shares),
        _mutants(),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _reduced(asked: argparse.Namespace) -> str:
    full = asked.every == 1 and asked.trials >= 10**6 and asked.releases >= 50_000 and asked.pairs >= 20_000
    text = (
        f"**This was a reduced run**: one combination in {asked.every}, {asked.trials:,} trials or {asked.releases:,} "
        f"releases, {asked.pairs:,} pairs a mechanism. The full one takes all combinations, 1,000,000 trials, 50,000 "
        "releases and 20,000 pairs."
    )
    return "" if full else text


_INTRODUCTION = """
Five kinds of checks look for five kinds of mistakes. They are in `tests/audit`, walk one list of mechanisms and
variants (`tests/audit/cases.py`), and run in a small size with the tests and in full by `make audit`.

- **Contract**: plan = record, exact sums of budgets, answers without noise, files, marks, texts.
- **Sensitivity**: the image of every single record up to 64 × 64 cells; the declared cost is the largest, exactly,
  for every mechanism and region. Under replace, all pairs of records: the same, but for waves and windows, where the
  declared cost is an upper bound (`tests/audit/test_sensitivity.py` says which).
- **Replay**: the outcomes of one data set are handed out again on a neighbour. Calls, scales, sizes, structure,
  statement, rows, files, maps and messages must be the same; the exact loss must stay within ε, or ρ.
- **Enumeration**: true output laws on tiny domains, read off the samplers by bisecting their random words, for all
  neighbours of up to three records.
- **Black box**: lower bounds on ε from many releases, below.

Before this report is written, `make audit` runs the tests that are too long for every day: the rest of the
enumerations, and thousands of damaged and forged files of each kind (`tests/test_fuzz.py`).
"""


def _black_box(asked: argparse.Namespace, found: dict[Combination, float]) -> str:
    violations = sum(value > each.epsilon for each, value in found.items())
    plain = {each: value for each, value in found.items() if each.counts and "moved" not in each.pair}
    moved = {each: value for each, value in found.items() if each.counts and "moved" in each.pair}
    single = {each: value for each, value in found.items() if each.costly}
    return f"""## Black box

{len(found)} combinations of mechanism, ε and neighbours: {len(found) - len(single)} with {asked.trials:,} trials for
each of the two data sets (copies of a tiny problem in large releases), {len(single)} with {asked.releases:,} (a release
each). 20 % of the trials make events, 10 % pick one, 70 % measure it, with Clopper and Pearson's bounds. A bound is
wrong with probability {FALSE_ALARM / len(found):.1e} at most, any of them with {FALSE_ALARM:g}: the family-wise false
alarm. A number above ε would be a violation: **{violations}** of {len(found)}.

Power: on the mechanisms that release plain counts (marked •), with a record added, the median certified bound is
{_power(plain)}; with a record moved, which can not change all levels of a tree, {_power(moved)}; over both,
{_power(plain | moved)}. Where each trial is a release, it is {_power(single)}. With four fifths of the noise the same
audit certifies violations (`tests/audit/test_black_box.py`)."""


def _power(found: dict[Combination, float]) -> str:
    shares = [value / float(each.epsilon) for each, value in found.items()]
    if not shares:
        return "not known from this run"
    return f"**{median(shares):.3f} ε** ({len(shares)} combinations, the least {min(shares):.3f} ε)"


def _replay(asked: argparse.Namespace, shares: dict[str, list[float]]) -> str:
    number: Counter[str] = Counter()
    for setting, pairs, _ in _replays(asked.pairs, asked.seed):
        number[SETTINGS[setting].mechanism.name] += pairs
    rows = [f"| {name} | {_variants(name)} | {number[name]:,} | {max(shares[name]):.4f} |" for name in MECHANISMS]
    return f"""## Replay

{number.total():,} pairs of neighbours. Everything published was the same for the same outcomes, and the exact loss
stayed within the promise. Files were compared byte by byte for every {FILES}th pair, maps for the first of every
hundred. The largest share of the promise that any pair lost:

| mechanism | variants | pairs | largest share |
|---|---|---|---|
""" + "\n".join(rows)


def _mutants() -> str:
    rows = [f"| {each.bug} | {each.caught_by} |" for each in MUTANTS]
    return f"""## Planted bugs

{len({each.bug for each in MUTANTS})} bugs, each caught by the check named (`tests/audit/test_mutants.py`, in every run
of the tests).

| bug | caught by |
|---|---|
""" + "\n".join(rows)


def _table(found: dict[Combination, float], *, costly: bool) -> str:
    """A row for each mechanism and ε, a column for each pair."""
    rows: dict[tuple[str, Any], dict[str, float]] = {}
    for each, value in found.items():
        if each.costly is costly:
            rows.setdefault((each.mechanism + (" •" if each.counts else ""), each.epsilon), {})[each.pair] = value
    pairs = [pair for pair in PAIRS if any(pair in row for row in rows.values())]
    lines = [
        "| mechanism | ε | " + " | ".join(f"{pair} ({PAIRS[pair][0]})" for pair in pairs) + " |",
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
