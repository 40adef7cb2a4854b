"""Damaged and forged files, read in a process of their own that may be killed.

`python -m tests.attacks.fuzz KIND FIRST COUNT FOLDER` makes the inputs numbered from FIRST, reads each, and prints the
outcomes as JSON. An input depends on its number alone, so that a harmful one can be made again. The process has little
address space and a few seconds for each input; starting programs, unpickling and connecting are noticed.
"""

from __future__ import annotations

import collections
import json
import math
import os
import random
import resource
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import shapely

import spatialdp as sdp
from spatialdp.outputs.files.geoparquet import _digest
from spatialdp.outputs.files.statement import read_statement
from spatialdp.records.counting import count_cells
from tests.helpers.point_files import FILES, columns_of, write

SECONDS = 20  # for one input, on a busy machine
ADDRESS_SPACE = 4 * 2**30  # most of which libraries reserve and never touch
DOMAIN = sdp.Domain(bounds=(0, 0, 8, 8), crs="EPSG:4326")

FORBIDDEN = (
    "os.system",
    "os.exec",
    "os.fork",
    "os.posix_spawn",
    "subprocess.",
    "pickle.",
    "socket.",
    "ctypes.",
)

_NUMBERS = [0, 1, -1, 2**31, 2**53, 2**63 - 1, -(2**63), 2**64, 10**400, 1e308, -1e308, 1e-320, 0.5]
_TEXTS = [
    "",
    "x",
    "1/0",
    "9" * 400,
    "1/" + "9" * 400,
    "EPSG:4326",
    "EPSG:99999",
    "grid",
    "tree",
    "\x00",
    "ÿ" * 1000,
    "NaN",
]
VALUES = [None, True, False, [], {}, [[]], math.nan, math.inf, *_NUMBERS, *_TEXTS]


# --- mutations -------------------------------------------------------------------------------------


def damaged(content: bytes, chance: random.Random) -> bytes:
    """One to four small accidents."""
    data = bytearray(content)
    for _ in range(chance.randint(1, 4)):
        chance.choice(ACCIDENTS)(data, _place(len(data), chance), chance)
    return bytes(data)


def _place(size: int, chance: random.Random) -> int:
    """Anywhere, but as often at the beginning or the end, where formats say what follows."""
    near = chance.randrange(max(1, min(size, 2048)))
    return chance.choice([chance.randrange(max(1, size)), near, max(0, size - 1 - near)])


def _flip(data: bytearray, at: int, chance: random.Random) -> None:
    if data:
        data[at] ^= 1 << chance.randrange(8)


def _overwrite(data: bytearray, at: int, chance: random.Random) -> None:
    width = chance.choice([1, 2, 4, 8])
    data[at : at + width] = chance.choice([b"\x00", b"\xff", b"\x7f", b"\x80", chance.randbytes(1)]) * width


def _cut(data: bytearray, at: int, chance: random.Random) -> None:
    del data[at:]


def _drop(data: bytearray, at: int, chance: random.Random) -> None:
    del data[at : at + chance.randint(1, 64)]


def _repeat(data: bytearray, at: int, chance: random.Random) -> None:
    data[at:at] = data[at : at + chance.randint(1, 64)] * chance.choice([1, 2, 1000])


def _insert(data: bytearray, at: int, chance: random.Random) -> None:
    data[at:at] = chance.choice(
        [b"[" * 10**5, b'{"a":' * 10**4, b"9" * 5000, b"1e999", b"\n", b'"', chance.randbytes(16)]
    )


ACCIDENTS = [_flip, _flip, _overwrite, _overwrite, _cut, _drop, _repeat, _insert]


def altered(value: object, chance: random.Random) -> object:
    """JSON with one of its values, at any depth, replaced by another."""
    inner = isinstance(value, dict | list) and value and chance.random() < 0.85
    if not inner:
        return chance.choice(VALUES)
    copy = dict(value) if isinstance(value, dict) else list(value)
    key = chance.choice(list(copy)) if isinstance(copy, dict) else chance.randrange(len(copy))
    if chance.random() < 0.05:
        del copy[key]
    else:
        copy[key] = altered(copy[key], chance)
    return copy


def forged(table: pa.Table, chance: random.Random) -> pa.Table:
    """A release with another header, or other rows, and a digest that agrees with them."""
    header = json.loads(table.schema.metadata[b"spatialdp"])
    if chance.random() < 0.3:
        name = chance.choice([name for name in table.column_names if name != "geometry"])
        values = table[name].to_numpy().copy()
        values[chance.randrange(values.size)] = chance.choice(
            [0, 1] if values.dtype.kind == "b" else [0, 1, -1, 2, 127, np.iinfo(np.int16).max]
        )
        table = table.set_column(table.column_names.index(name), name, pa.array(values))
    else:
        for _ in range(chance.randint(1, 2)):
            part = chance.choice([key for key in header if key not in ("format", "format_version", "sha256", "rows")])
            header[part] = altered(header[part], chance)
    header["sha256"] = _digest(header, table)
    return table.replace_schema_metadata({**table.schema.metadata, b"spatialdp": json.dumps(header).encode()})


# --- inputs and readers ----------------------------------------------------------------------------


def releases() -> Iterator[sdp.Release]:
    """Small ones of every kind."""
    region = shapely.Polygon([(0, 0), (8, 0), (8, 8), (3, 6)])
    part = sdp.Domain(DOMAIN.bounds, crs=DOMAIN.crs, region=region)
    points, noise = np.random.default_rng(0).uniform(0, 8, (50, 2)), sdp.SeededNoise(0)
    for mechanism in (sdp.Flat((5, 4)), sdp.Wavelet((4, 4)), sdp.Hierarchy((6, 6)), sdp.Quadtree(2), sdp.KdTree(2)):
        for domain in (DOMAIN, part):
            yield mechanism.release(points, domain, epsilon=1, noise=noise)
    yield sdp.Fourier((4, 4)).release(points, DOMAIN, epsilon=1, noise=noise)
    yield sdp.Flat((3, 3), law="gaussian").release(points, DOMAIN, epsilon=1, delta=1e-6, noise=noise)


def _load(path: Path) -> None:
    release = sdp.load(path)
    repr(release), release.total, release.privacy.in_words()
    release.answer(np.array([[0, 0, 8, 8], [1, 1, 2, 3.5]]))


def _read(path: Path) -> None:
    columns, grid = columns_of(path.name), DOMAIN.grid((4, 4))
    count_cells(sdp.read_points(path, DOMAIN, **columns), grid)
    count_cells(sdp.read_points(path, DOMAIN, person="name", **columns), grid, sdp.Person(cells=2))


def _make_releases(folder: Path, suffix: str) -> list[Path]:
    paths = []
    for number, release in enumerate(releases()):
        paths.append(folder / f"release{number}{suffix}")
        release.save(paths[-1], **({"shape": (4, 4)} if suffix == ".tif" else {}))
    return paths


def _make_points(folder: Path, suffix: str) -> list[Path]:
    x, y = np.random.default_rng(0).uniform(-1, 9, (2, 40))
    return [write(folder / name, x, y) for name in FILES if name.endswith(suffix)]


# How each kind is made, by which ending, and read.
KINDS: dict[str, tuple[Callable[[Path, str], list[Path]], str, Callable[[Path], object]]] = {
    "release.parquet": (_make_releases, ".parquet", _load),
    "forged.parquet": (_make_releases, ".parquet", _load),
    "release.gpkg": (_make_releases, ".gpkg", read_statement),
    "release.tif": (_make_releases, ".tif", read_statement),
    "release.geojson": (_make_releases, ".geojson", read_statement),
    "release.csv": (_make_releases, ".csv", read_statement),
    **{
        f"points{suffix}": (_make_points, suffix, _read)
        for suffix in (".parquet", ".csv", ".gpkg", ".geojson", ".shp", ".fgb")
    },
}


def mutate(kind: str, path: Path, chance: random.Random) -> None:
    """Damage or forge the file at `path`, or one of those beside it that belong to it."""
    if kind.startswith("forged"):
        pq.write_table(forged(pq.read_table(path), chance), path)
        return
    beside = [other for other in path.parent.iterdir() if other.name.split(".")[0] == path.name.split(".")[0]]
    target = chance.choice(sorted(beside))
    if target.suffix in (".json", ".geojson") and chance.random() < 0.5:
        target.write_text(json.dumps(altered(json.loads(target.read_bytes()), chance)))
    else:
        target.write_bytes(damaged(target.read_bytes(), chance))


# --- the process -----------------------------------------------------------------------------------


def watch(seen: list[str]) -> None:
    """Note what no reader of files has any business doing."""

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if event.startswith(FORBIDDEN):
            seen.append(f"{event} {arguments!r:.100}")

    sys.addaudithook(hook)


def run(kind: str, first: int, count: int, folder: Path) -> dict[str, object]:
    """What came of the inputs: how often each kind of result, what was wrong, what was done that must not be."""
    make, suffix, reader = KINDS[kind]
    whole, current, seen = folder / "whole", folder / "current", []
    whole.mkdir()
    paths = make(whole, suffix)
    for path in paths:  # imports whatever it needs
        reader(path)
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    watch(seen)
    results, wrong = collections.Counter(), []
    for number in range(first, first + count):
        chance = random.Random(f"{kind} {number}")
        shutil.rmtree(current, ignore_errors=True)
        shutil.copytree(whole, current)
        path = current / chance.choice(paths).name
        mutate(kind, path, chance)
        (folder / "number").write_text(str(number))
        signal.alarm(SECONDS)
        try:
            reader(path)
            results["read"] += 1
        except sdp.SpatialDPError as error:
            results[type(error).__name__] += 1
        except BaseException as error:
            wrong.append(f"{number}: {type(error).__name__}: {error!s:.300}")
        signal.alarm(0)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return {"results": results, "wrong": wrong[:20], "seen": seen[:20], "megabytes": peak}


if __name__ == "__main__":
    given, start, amount, place = sys.argv[1:]
    os.environ["OMP_NUM_THREADS"] = "1"
    print(json.dumps(run(given, int(start), int(amount), Path(place))))
