"""How fast is the command line, and how much memory does it need? Whole processes are measured."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.measure import Result, seconds

COMMAND = "from spatialdp.cli import main; main()"
HISTOGRAM = """
import sys, numpy as np, pyarrow.parquet as pq
table = pq.read_table(sys.argv[1], columns=["x", "y"])
np.histogram2d(table["x"].to_numpy(), table["y"].to_numpy(), 512, [[0, 1], [0, 1]])
"""
WITH_PEAK = """
from benchmarks.measure import peak_gigabytes
from spatialdp.cli import main
try:
    main()
except SystemExit:
    print(peak_gigabytes())
"""
GROUP = 5_000_000  # records in a row group of the Parquet file


def release() -> Iterator[Result]:
    """Time a release of 5 million points from Parquet, against reading them and one histogram2d call."""
    with tempfile.TemporaryDirectory() as folder:
        source, options = _points(Path(folder), groups=1), _release_options(Path(folder))
        theirs = seconds(lambda: _python(HISTOGRAM, source), 3)
        ours = seconds(lambda: _python(COMMAND, "release", source, *options), 3)
    yield Result("release of 5 million points from Parquet, time over histogram2d's", ours / theirs, 3, False)


def release_memory() -> Iterator[Result]:
    """Measure the peak memory of a release of 50 million points, beyond that of a release of 50,000 points."""
    with tempfile.TemporaryDirectory() as folder:
        options = _release_options(Path(folder))
        many, few = (
            float(_python(WITH_PEAK, "release", _points(Path(folder), groups, size), *options))
            for groups, size in ((10, GROUP), (1, 50_000))
        )
    yield Result("release of 50 million points from Parquet, memory beyond the counts", many - few, 1, False, "GB")


def helping() -> Iterator[Result]:
    """Time `spatialdp --help` against `import click`."""
    theirs = seconds(lambda: _python("import click"), 7)
    yield Result(
        "spatialdp --help, time over import click", seconds(lambda: _python(COMMAND, "-h"), 7) / theirs, 3, False
    )


def _points(folder: Path, groups: int, size: int = GROUP) -> str:
    """Write a Parquet file of points; all row groups hold the same points."""
    generator = np.random.default_rng(1)
    table = pa.table({name: generator.random(size) for name in "xy"})
    with pq.ParquetWriter(folder / "points.parquet", table.schema) as writer:
        for _ in range(groups):
            writer.write_table(table, row_group_size=size)
    return str(folder / "points.parquet")


def _release_options(folder: Path) -> tuple[str, ...]:
    terms = (
        "--x=x",
        "--y=y",
        "--bounds=0,0,1,1",
        "--method=quadtree",
        "--height=9",
        "--epsilon=1",
        "--quiet",
        "--force",
    )
    return *terms, "-o", str(folder / "release.parquet")


def _python(code: str, *words: str) -> str:
    return subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True).stdout


BENCHMARKS = (release, release_memory, helping)
