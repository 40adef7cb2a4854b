"""How fast are records counted from a file, and how much memory does it take? Against reading two columns with pyarrow.

Each measurement is a process of its own, which reports its processor time and its peak memory. The file has 20 million
records; set SPATIALDP_BENCHMARK_RECORDS to 200000000 for the full size, which takes 4 gigabytes of disk.
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
GROUP = 1_000_000  # records in a row group
REPEAT = 5

MEASURED = """
import sys, time
from benchmarks.measure import peak_gigabytes
import numpy, pyarrow.parquet, pandas
import spatialdp as sdp
from spatialdp.records.counting import count_cells
{work}
work(sys.argv[2])  # what is imported on the way is not measured
start = time.process_time()
work(sys.argv[1])
print(time.process_time() - start, peak_gigabytes())
"""
ALONE = """
def work(path):
    # Small buffers: with pyarrow's own, whole row groups, the time goes to the memory that a process has not had yet.
    file = pyarrow.parquet.ParquetFile(path, pre_buffer=False, buffer_size=2**20)
    for batch in file.iter_batches(columns=["x", "y"], use_threads=False):
        pass
"""
COUNTED = """
def work(path):
    domain = sdp.Domain((0, 0, 1, 1))
    count_cells(sdp.read_points(path, domain, x="x", y="y"), domain.grid(({side}, {side})))
"""


def streaming() -> Iterator[Result]:
    """Time and memory of counting a Parquet file, over the time of reading its two columns with pyarrow."""
    with tempfile.TemporaryDirectory() as folder:
        many, few = _points(Path(folder) / "many.parquet", RECORDS), _points(Path(folder) / "few.parquet", 1000)
        works = {"alone": ALONE, **{f"{side}²": COUNTED.format(side=side) for side in (1024, 1000, 256)}}
        rounds = [{name: _measured(work, many, few) for name, work in works.items()} for _ in range(REPEAT)]
    times = {name: min(each[name][0] for each in rounds) for name in works}
    what = f"counting {RECORDS / 1e6:.0f} million records of a Parquet file in"
    for side, target in (("1024²", 3.5), ("1000²", 3.5), ("256²", 3.5)):
        yield Result(f"{what} {side} cells, CPU over pyarrow's", times[side] / times["alone"], target, False)
        memory = max(each[side][1] for each in rounds)
        yield Result(f"{what} {side} cells, peak memory", memory, 0.3, False, "GB")


def _measured(work: str, many: Path, few: Path) -> tuple[float, float]:
    """Return the processor time and the peak memory of a work, in a new process with one thread."""
    words = [sys.executable, "-c", MEASURED.format(work=work), str(many), str(few)]
    quiet = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    printed = subprocess.run(words, capture_output=True, text=True, check=True, env=quiet).stdout
    time, memory = printed.split()
    return float(time), float(memory)


def _points(path: Path, records: int) -> Path:
    """Write clustered points, a row group at a time."""
    generator = np.random.default_rng(1)
    schema = pa.schema([("x", pa.float64()), ("y", pa.float64())])
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, records, GROUP):
            size = min(GROUP, records - start)
            centres = generator.random((40, 2))[generator.integers(0, 40, size)]
            xy = centres + generator.normal(0, 0.03, (size, 2))
            writer.write_table(pa.table([xy[:, 0], xy[:, 1]], schema=schema), row_group_size=GROUP)
    return path


BENCHMARKS = (streaming,)
