"""How fast does DuckDB, through Ibis, count records of a Parquet file, and bound persons? Against `read_points`.

Each measurement is a process of its own, which reports its processor time and its peak memory. Files have 20 million
records of 200,000 persons; set SPATIALDP_BENCHMARK_RECORDS to 200000000 for the full size, which takes 5 gigabytes of
disk. Persons go about in two ways, because what they cost is the number of pairs of person and cell: in one file each
has a few places and comes back to them, in the other each of a person's 100 records is somewhere else.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.measure import Result

RECORDS = int(os.environ.get("SPATIALDP_BENCHMARK_RECORDS", "20_000_000"))
PERSONS = RECORDS // 100
GROUP = 1_000_000  # records in a row group
REPEAT = 3

# What opens the file is not measured: the self-test of a connection takes the same time for any number of records.
MEASURED = """
import sys, time
from benchmarks.measure import peak_gigabytes
import spatialdp as sdp
from spatialdp.records.counting import count_cells
domain = sdp.Domain((0, 0, 1, 1))
for path in sys.argv[2:0:-1]:
    points = sdp.{points}
    start = time.process_time()
    count_cells(points, domain.grid(({side}, {side})), {person})
print(time.process_time() - start, peak_gigabytes())
"""
FILE = "read_points(path, domain, x='x', y='y')"
TABLE = "read_table(path, domain, x='x', y='y')"
WITH_PERSONS = "read_table(path, domain, x='x', y='y', person='who')"
WORKS = {
    "file, 1024²": {"points": FILE, "side": 1024, "person": None},
    "table, 1024²": {"points": TABLE, "side": 1024, "person": None},
    "table, 256²": {"points": TABLE, "side": 256, "person": None},
    "cells": {"points": WITH_PERSONS, "side": 256, "person": "sdp.Person(cells=10)"},
    "records": {"points": WITH_PERSONS, "side": 256, "person": "sdp.Person(records=10)"},
    "shares": {"points": WITH_PERSONS, "side": 256, "person": "sdp.Person(shares=True)"},
}
PLAIN = ("file, 1024²", "table, 1024²")


def tables() -> Iterator[Result]:
    """Time and memory of counts by the embedded DuckDB, and of bounding persons there."""
    times, memory = _rounds(list(PLAIN), places=None)
    what = f"{RECORDS / 1e6:.0f} million records of a Parquet file by DuckDB"
    ratio = times["table, 1024²"] / times["file, 1024²"]
    yield Result(f"counting {what} in 1024² cells, CPU over read_points", ratio, 2.5, False)
    yield Result(f"counting {what} in 1024² cells, peak memory", memory["table, 1024²"], 0.6, False, "GB")
    for places, who in ((20, "with about 20 places"), (None, "who are always elsewhere")):
        times, _ = _rounds([name for name in WORKS if name not in PLAIN], places)
        for bound in ("cells", "records", "shares"):
            ratio = times[bound] / times["table, 256²"]
            yield Result(f"bounding persons {who} by {bound} in {what}, CPU over the plain count", ratio, 10, False)


def _rounds(names: list[str], places: int | None) -> tuple[dict[str, float], dict[str, float]]:
    """Return the least time and the largest memory of each work; the works are run in turn."""
    with tempfile.TemporaryDirectory() as folder:
        many, few = (_visits(Path(folder) / f"{size}.parquet", size, places) for size in (RECORDS, 1000))
        rounds = [{name: _measured(WORKS[name], many, few) for name in names} for _ in range(REPEAT)]
    times = {name: min(each[name][0] for each in rounds) for name in names}
    return times, {name: max(each[name][1] for each in rounds) for name in names}


def _measured(work: dict[str, object], many: Path, few: Path) -> tuple[float, float]:
    """Return the processor time and the peak memory of a count, in a new process."""
    words = [sys.executable, "-c", MEASURED.format(**work), str(many), str(few)]
    printed = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    time, memory = printed.split()
    return float(time), float(memory)


def _visits(path: Path, records: int, places: int | None) -> Path:
    """Write clustered points and their persons, a row group at a time.

    A person has so many places, or is somewhere else in each record.
    """
    generator = np.random.default_rng(1)
    schema = pa.schema([("x", pa.float64()), ("y", pa.float64()), ("who", pa.int64())])
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, records, GROUP):
            size = min(GROUP, records - start)
            persons = generator.integers(0, PERSONS, size)
            if places is None:
                xy = generator.random((40, 2))[generator.integers(0, 40, size)] + generator.normal(0, 0.03, (size, 2))
            else:  # a place is a number, whose coordinates are spread evenly
                place = persons * places + generator.integers(0, places, size)
                xy = np.stack([place * 0.6180339887498949 % 1, place * 0.7548776662466927 % 1], axis=1)
            columns = [xy[:, 0], xy[:, 1], persons]
            writer.write_table(pa.table(columns, schema=schema), row_group_size=GROUP)
    return path


BENCHMARKS = (tables,)
