"""Hostile records with times, categories, codes and second places, and files that hold them among ordinary ones.

As in `tests.attacks.records`, a record is as hostile as it can be while the file remains one of its format. All columns
are in each file: who reads trips looks at other columns than who reads trajectories.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from tests.attacks.records import NUMBERS, Chance, text

COLUMNS = ["lon", "lat", "time", "kind", "code", "who", "tid", "u", "v", "to"]
PLACES = ("lon", "lat", "u", "v")
CODES = ["a1", "a2", "b1", "b2"]
KINDS = ["5", "theft", "é"]

Row = tuple[Any, ...]

ODD_TIMES = [
    "2024-03-31 02:30",  # which clocks in Vienna skip
    "2024-03-31T02:30:00+01:00",
    "0001-01-01",
    "9999-12-31T23:59:59.999999+00:00",
    "9999-12-31T23:59:59-23:59",
    "0001-01-01T00:00+23:59",
    "2024-02-30",
    "2024-W13-7",
    "20240331T023000Z",
    "2024-03-31 24:00",
    "2024-03-31T02:30:60",
    "2024-03-31 02:30:00.123456789",
    "1711846200",
    "NaT",
    "now",
    "",
    None,
    " 2024-03-31 02:30 ",
    "2024-03-31T02:30Z\n",
    "2024-03-31T02:30:00+25:00",
    "\uff12024-03-31",
    "2024-03-31T0\uff12:30",
]
ODD_KINDS = [
    "5",
    "5.0",
    "05",
    "5e0",
    "Theft",
    "théft",
    "e\u0301",
    None,
    "",
    "x" * 5000,
    "5.00",
    " 5",
    "5\u200b",
    "\ud800",
]
ODD_CODES = ["a1", "b2", "A1", " a1", "a1 ", "a1\x00", "a1\n", None, "", "a", "zz", "\ud800"]


def ordinary(count: int) -> list[Row]:
    """Records that count, of three persons and four trajectories."""
    rows = []
    for number in range(count):
        x, y = (0.07 + 0.31 * number) % 1, (0.11 + 0.17 * number) % 1
        day, hour = 30 + number % 2, number % 24
        place = x, y, f"2024-03-{day} {hour:02d}:15", KINDS[number % 3], CODES[number % 4]
        rows.append((*place, f"p{number % 3}", f"t{number % 4}", y / 2, x / 2, CODES[(number + 1) % 3]))
    return rows


def hostile(chance: Chance) -> Row:
    def odd(values: Sequence[Any]) -> Any:
        return chance.choice([chance.choice(values), chance.choice(values), text(chance)])

    def coordinate() -> float:
        return chance.choice([0.5, 0.25, chance.choice(NUMBERS)])

    place = coordinate(), coordinate(), odd(ODD_TIMES), odd(ODD_KINDS), odd(ODD_CODES)
    who = odd(["p1", None, "", "new"])
    return *place, who, odd(["t1", None, "", "new"]), coordinate(), coordinate(), odd(ODD_CODES)


# --- files -----------------------------------------------------------------------------------------


def write_separated(path: Path, rows: Sequence[Row]) -> None:
    separator = b"\t" if ".tsv" in path.name else b","

    def cell(value: Any) -> bytes:
        content = b"" if value is None else _bytes(value) if isinstance(value, str) else repr(value).encode()
        if separator == b"," and any(mark in content for mark in b',"\r\n'):
            return b'"' + content.replace(b'"', b'""') + b'"'
        return content.translate(bytes.maketrans(b"\r\n\t", b"   "))

    lines = [separator.join(name.encode() for name in COLUMNS), *(separator.join(map(cell, row)) for row in rows)]
    content = b"\n".join(lines) + b"\n"
    path.write_bytes(gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)


def write_parquet(path: Path, rows: Sequence[Row]) -> None:
    """Write text that need not be UTF-8."""
    columns = {}
    for name, values in _columns(rows):
        if name in PLACES:
            columns[name] = pa.array(values, pa.float64())
        else:
            raw = pa.array([None if value is None else _bytes(value) for value in values], pa.binary())
            columns[name] = pa.Array.from_buffers(pa.string(), len(raw), raw.buffers())
    pq.write_table(pa.table(columns), path)


def write_by_pandas(path: Path, rows: Sequence[Row]) -> None:
    """Write a file whose types pandas chooses; it cannot hold half a surrogate pair."""
    frame = pd.DataFrame(
        {
            name: pd.Series(values, dtype=float)
            if name in PLACES
            else pd.Series([None if value is None or "\ud800" in value else value for value in values])
            for name, values in _columns(rows)
        }
    )
    frame.to_parquet(path)


def _columns(rows: Sequence[Row]) -> list[tuple[str, list[Any]]]:
    return [(name, [row[place] for row in rows]) for place, name in enumerate(COLUMNS)]


def _bytes(value: str) -> bytes:
    return value.encode("utf-8", "surrogatepass")


FILES: dict[str, Callable[[Path, Sequence[Row]], None]] = {
    "rows.csv": write_separated,
    "rows.tsv": write_separated,
    "rows.csv.gz": write_separated,
    "text.parquet": write_parquet,
    "frame.parquet": write_by_pandas,
}
