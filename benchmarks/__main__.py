"""Does spatialdp meet its targets for speed and memory? Run benchmarks: `python -m benchmarks [word ...]`.

Without words all benchmarks run; else those whose names contain one of the words. The exit code is 1 if a target is
missed.
"""

from __future__ import annotations

import sys

from benchmarks import (
    adaptive,
    command_line,
    contrast,
    curator,
    evaluator,
    explorer,
    files,
    foundation,
    ledger,
    maps,
    persons,
    reading,
    selection,
    sparse,
    spectra,
    table,
    tables,
    trajectories,
    transforms,
    trees,
    zones,
    zones_location,
)

MODULES = (
    *(foundation, ledger, curator, persons, zones, zones_location, trees, adaptive, sparse, transforms, spectra),
    *(files, selection, reading, tables, table, trajectories, command_line, evaluator, contrast, explorer, maps),
)


def main() -> int:
    words = sys.argv[1:]
    missed = 0
    benchmarks = [benchmark for module in MODULES for benchmark in module.BENCHMARKS]
    selected = [each for each in benchmarks if not words or any(word in each.__name__ for word in words)]
    unknown = [word for word in words if not any(word in each.__name__ for each in benchmarks)]
    if unknown:
        names = ", ".join(each.__name__ for each in benchmarks)
        print(f"no benchmark has a name with {' or '.join(unknown)}; choose among {names}.")
        return 2
    for benchmark in selected:
        for result in benchmark():
            print(result, flush=True)
            missed += not result.met
    print(f"{missed} targets missed" if missed else "all targets met")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
