"""Run all benchmarks, or those whose names contain a word given: `python -m benchmarks [word]`."""

from __future__ import annotations

import sys

from benchmarks import command_line, evaluator, explorer, files, foundation, maps, spectra, transforms, trees


def main() -> int:
    words = sys.argv[1:]
    missed = 0
    rooms = (foundation, trees, transforms, spectra, files, command_line, evaluator, explorer, maps)
    for benchmark in (benchmark for room in rooms for benchmark in room.BENCHMARKS):
        if words and not any(word in benchmark.__name__ for word in words):
            continue
        for result in benchmark():
            print(result, flush=True)
            missed += not result.met
    print(f"{missed} targets missed" if missed else "all targets met")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
