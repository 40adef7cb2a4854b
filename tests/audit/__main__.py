"""Does the promise hold in a long audit? Run black-box tests and replay at scale, and write `docs/audit.md`.

python -m tests.audit                      # most of an hour on two cores; `make audit` also runs the long tests
python -m tests.audit --resume             # continue an interrupted run of the same code
python -m tests.audit --trials 100000 --releases 2000 --pairs 300 --every 10

Both walk all families (`families`). The exit code is 1 if a violation is certified. The words of the report are in
`report`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import subprocess
import tempfile
import time
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

from tqdm import tqdm

from tests.audit.black_box import (
    FALSE_ALARM,
    Combination,
    combinations,
    costly_combinations,
    family_combinations,
    other_combinations,
    person_combinations,
)
from tests.audit.families import FAMILIES, Family, name_of
from tests.audit.replay import replay
from tests.audit.report import FILES, Replayed, Run, report

COMBINATIONS: list[Combination] = [
    *costly_combinations(),
    *combinations(),
    *person_combinations(),
    *other_combinations(),
    *family_combinations(),
]
# All settings of all families; pairs differ by a record or by a whole person.
REPLAYED: list[tuple[Family, Any]] = [(family, setting) for family in FAMILIES for setting in family.settings]
ROOT = Path(__file__).parents[2]
DIGEST = ROOT / "spatialdp" / "outputs" / "certificate" / "assets" / "audit.sha256"
Task = tuple[str, Any]


def main() -> None:
    """Run the audit and write the report."""
    options, commit = options_of(), _commit()
    tasks = [*_certifications(options), *(("replay", each) for each in replays(options))]
    results = _run_all(tasks, options)
    bounds = {COMBINATIONS[task[0]]: value for (kind, task), (value, _) in results.items() if kind == "certify"}
    replayed: dict[tuple[str, str], Replayed] = {}
    for (kind, task), (value, _) in results.items():
        if kind == "replay":
            family, setting = REPLAYED[task[0]]
            replayed.setdefault((family.name, name_of(setting)), Replayed()).add(setting.case, task[1], value)
    seconds = sum(seconds for _, seconds in results.values())
    _write(report(Run(options, commit, seconds, bounds, replayed)), options.output)
    violations = [str(each) for each, bound in bounds.items() if bound > each.epsilon]
    print(f"{len(bounds)} combinations, {len(violations)} violations: {violations}; the report is {options.output}")
    raise SystemExit(bool(violations))


def _write(text: str, output: Path) -> None:
    """Write the report, and with the one of `docs/` its digest, which certificates show."""
    output.write_text(text, encoding="utf-8")
    if output.resolve() == ROOT / "docs" / "audit.md":
        DIGEST.write_text(f"{hashlib.sha256(text.encode()).hexdigest()}  docs/audit.md\n", encoding="ascii")


def options_of(words: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.audit", description=__doc__.splitlines()[0])
    parser.add_argument(
        "--trials",
        type=int,
        default=10**6,
        help="trials for each combination and data set, as copies in large releases",
    )
    parser.add_argument("--releases", type=int, default=50_000, help="trials where each trial is one release")
    parser.add_argument("--pairs", type=int, default=20_000, help="pairs of neighbours to replay for each kind of map")
    parser.add_argument(
        "--others", type=int, default=2_000, help="pairs to replay for each mechanism of other families"
    )
    parser.add_argument("--every", type=int, default=1, help="run only every N-th combination")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--output", type=Path, default=Path("docs/audit.md"))
    parser.add_argument(
        "--journal", type=Path, default=Path("out/audit.jsonl"), help="file that keeps finished results"
    )
    parser.add_argument("--resume", action="store_true", help="use the results of the same code in the journal")
    return parser.parse_args(words)


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


def replays(options: argparse.Namespace) -> list[tuple[int, int, int]]:
    """Return (setting, pairs, seed) for replays of at most 100 pairs; the settings of a mechanism share its pairs."""
    number = Counter(name_of(setting) for _, setting in REPLAYED)
    tasks = []
    for i, (family, setting) in enumerate(REPLAYED):
        left = -(-(options.pairs if family is FAMILIES[0] else options.others) // number[name_of(setting)])
        start = zlib.crc32(f"{setting} {options.seed}".encode())
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
    sources = sorted([*ROOT.glob("spatialdp/**/*.py"), *ROOT.glob("tests/**/*.py")])
    return zlib.crc32(b"".join(path.read_bytes() for path in sources))


def _commit() -> str:
    """Return the commit that is audited, and whether sources differ from it."""

    def git(*words: str) -> str:
        return subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=False).stdout

    changed = git("status", "--porcelain", "--", "spatialdp", "tests")
    return (git("rev-parse", "--short=7", "HEAD").strip() or "unknown") + (" with changes" if changed else "")


def _run(task: Task) -> tuple[Task, float, float]:
    kind, arguments = task
    start = time.monotonic()
    if kind == "certify":
        index, trials, alpha, seed = arguments
        value = COMBINATIONS[index].certify(trials, alpha, seed)
    else:
        index, pairs, seed = arguments
        with tempfile.TemporaryDirectory() as folder:
            family, setting = REPLAYED[index]
            kept = Path(folder) if family.files else None
            value = float(replay(setting, pairs, seed, kept, FILES, family.maps))
    return task, value, time.monotonic() - start


if __name__ == "__main__":
    main()
