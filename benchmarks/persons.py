"""How fast are persons bounded, and in how much memory? Against sorting their records by person and cell with numpy."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator

import numpy as np

import spatialdp as sdp
from benchmarks.measure import Result, in_turn
from spatialdp._support.arrays import Array
from spatialdp.records.persons.bounding import bounded_counts
from spatialdp.records.persons.identifiers import persons_of

RECORDS, PERSONS, SIDE = 4_000_000, 40_000, 256
BOUNDS = (sdp.Person(cells=10), sdp.Person(records=10), sdp.Person(shares=True))


def bounding() -> Iterator[Result]:
    """Time the bounding of persons of which nearly all are far above the bound, so that nearly all cells need keys."""
    persons, cells = _records()
    for bound in BOUNDS:
        theirs, ours = in_turn(
            lambda: np.lexsort((cells, persons)),
            lambda: bounded_counts(persons_of(persons), cells, SIDE**2, bound),  # noqa: B023 - called at once
            repeat=2,
        )
        yield Result(
            f"bounding 4 million records of 40,000 persons by {bound}, time over numpy.lexsort of (person, cell)",
            ours / theirs,
            6,
            at_least=False,
        )
    yield Result("bounding persons by cells, memory over that of persons and cells", _memory(), 8, at_least=False)


def _records() -> tuple[Array, Array]:
    """Return persons and cells of records: all persons have about a hundred records, in as many cells."""
    generator = np.random.default_rng(1)
    return generator.integers(0, PERSONS, RECORDS), generator.integers(0, SIDE**2, RECORDS)


def _memory() -> float:
    """Return the peak of the memory that numpy and pyarrow allocate, relative to the input."""
    import pyarrow as pa

    persons, cells = _records()
    tracemalloc.start()
    bounded_counts(persons_of(persons), cells, SIDE**2, BOUNDS[0])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return float(peak + pa.default_memory_pool().max_memory()) / (persons.nbytes + cells.nbytes)


BENCHMARKS = (bounding,)
