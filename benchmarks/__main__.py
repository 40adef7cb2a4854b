"""Run all benchmarks, or those whose names contain a word given: `python -m benchmarks [word]`."""

from __future__ import annotations

import sys

from benchmarks import command_line, evaluator, explorer, files, foundation, maps, spectra, transforms, trees


def main() -> int:
    words = sys.argv[1:]
    missed = 0
    rooms = (foundation, trees, transforms, spectra, files, command_line, evaluator, explorer, maps)
    known = [benchmark for room in rooms for benchmark in room.BENCHMARKS]
    wanted = [each for each in known if not words or any(word in each.__name__ for word in words)]
    unknown = [word for word in words if not any(word in each.__name__ for each in known)]
    if unknown:
        print(f"no benchmark is called {' or '.join(unknown)}; there are: {', '.join(e.__name__ for e in known)}.")
        return 2
    for benchmark in wanted:
        for result in benchmark():
            print(result, flush=True)
            missed += not result.met
    print(f"{missed} targets missed" if missed else "all targets met")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
