"""Forged releases, and everything that can be done with one: in a process of its own that may be killed.

`python -m tests.attacks.forge FIRST COUNT FOLDER` makes the forgeries numbered from FIRST and prints what came of them,
as JSON. A forger knows the format: the digest agrees with what was altered, and so does the number of rows. A forgery
depends on its number alone, so that a harmful one can be made again: ``python -m tests.attacks.forge NUMBER 1 FOLDER``.
"""

from __future__ import annotations

import base64
import collections
import dataclasses
import gc
import json
import math
import os
import random
import re
import resource
import signal
import struct
import sys
import traceback
import unicodedata
import warnings
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import shapely
from click.testing import CliRunner

import spatialdp as sdp
from spatialdp.cli import main
from spatialdp.outputs.certificate.certificate import certificate_text
from spatialdp.outputs.files.geoparquet import _digest
from tests.attacks.fuzz import ADDRESS_SPACE, altered, damaged, watch
from tests.helpers.cases import DOMAINS, LISTED, OVER_MAPS, SMALL, terms
from tests.helpers.flow_cases import FLOW_CASES, FLOW_FRAMES, FlowSetting
from tests.helpers.network_cases import NETWORK_CASES, NETWORK_FRAMES, NetworkSetting
from tests.helpers.table_cases import TABLE_CASES, TABLE_FRAMES, TableSetting
from tests.helpers.trajectory_cases import TRAJECTORY_CASES, TrajectorySetting
from tests.helpers.zone_releases import release_of as zone_release
from tests.helpers.zone_releases import zones_of

SECONDS = 60  # for one forgery, on a busy machine
MEGABYTES = 600  # at most, of which the libraries are half; the files have less than one

ESCAPES = "\x1b[2J\x1b]0;owned\x07\x9b31m\u202eevil\u2066\r\n\x00"
TEXTS = [ESCAPES, "\ud800", "</script><script>alert(1)</script>", "a" * 10**5, "=cmd|' /C calc'!A0", "../../x", "%s{0}"]
TEXTS += ["$\\frac{1$"]
NUMBERS = [-1, 0, 1, 2, 127, 128, 2**15, 2**31 - 1, 2**31, 2**53, 2**63 - 1, 1e-320, 1e-160, 1e30, 1e160, 1e308, -1e308]


# --- originals -------------------------------------------------------------------------------------


@cache
def original(case: str, region: str) -> pa.Table:
    """A release of a case, as the table of its file."""
    domain, mechanism = DOMAINS[region], (SMALL | LISTED | OVER_MAPS)[case]
    width, height = domain.size
    points = np.random.default_rng(0).uniform(0, 1, (60, 2)) * (width, height)
    if case in LISTED | OVER_MAPS:  # places that stand out, so that the list has rows to alter
        points = points.repeat(200, axis=0)
    release = mechanism.release(points, domain, **terms(mechanism, "add-remove"), noise=sdp.SeededNoise(0))
    path = Path(os.environ["FORGE_FOLDER"]) / "original.parquet"
    release.save(path, overwrite=True)
    return pq.read_table(path)


@cache
def original_zones(geometry: bool, known: bool) -> pa.Table:
    """A release of zones, as the table of its file."""
    path = Path(os.environ["FORGE_FOLDER"]) / "original.parquet"
    zone_release(zones_of(geometry=geometry), known=(1,) if known else ()).save(path, overwrite=True)
    return pq.read_table(path)


@cache
def original_flows(case: str, frame: str) -> pa.Table:
    """A release of flows, as the table of its file."""
    setting, path = FlowSetting(case, frame, "add-remove"), Path(os.environ["FORGE_FOLDER"]) / "original.parquet"
    pairs = np.random.default_rng(0).integers(0, setting.places.space.size**2, 12).repeat(40)
    release = setting.mechanism.release(setting.records(pairs), setting.domain, epsilon=1, noise=sdp.SeededNoise(0))
    release.save(path, overwrite=True)
    return pq.read_table(path)


@cache
def original_frame(case: str, frame: str) -> pa.Table:
    """A release of a table, or of a network of tables, as the table of its file."""
    setting = (TableSetting if case in TABLE_CASES else NetworkSetting)(case, frame, "add-remove")
    cells = np.random.default_rng(0).integers(0, setting.domain.n_cells, 40)
    path = Path(os.environ["FORGE_FOLDER"]) / "original.parquet"
    release = setting.mechanism.release(
        setting.records(cells), setting.domain, **setting.terms, noise=sdp.SeededNoise(0)
    )
    release.save(path, overwrite=True)
    return pq.read_table(path)


@cache
def original_paths(case: str) -> pa.Table:
    """A release of trajectories, as the table of its file."""
    setting, path = TrajectorySetting(case, "add-remove"), Path(os.environ["FORGE_FOLDER"]) / "original.parquet"
    tracks = setting.records([[0, 1, 2], [9, 9], [0]] * 200)
    release = setting.mechanism.release(tracks, setting.domain, **setting.terms, noise=sdp.SeededNoise(0))
    release.save(path, overwrite=True)
    return pq.read_table(path)


def some_original(chance: random.Random) -> pa.Table:
    if chance.random() < 0.25:
        kind = chance.randrange(3)
        if kind == 0:
            return original_paths(chance.choice(list(TRAJECTORY_CASES)))
        cases, places = (TABLE_CASES, TABLE_FRAMES) if kind == 1 else (NETWORK_CASES, NETWORK_FRAMES)
        return original_frame(chance.choice(list(cases)), chance.choice(list(places)))
    kind = chance.random()
    if kind < 0.2:
        return original_zones(chance.random() < 0.7, chance.random() < 0.3)
    if kind < 0.35:
        return original_flows(chance.choice(list(FLOW_CASES)), chance.choice(list(FLOW_FRAMES)))
    case = chance.choice([*OVER_MAPS] if kind < 0.45 else [*SMALL, *LISTED])
    try:
        return original(case, chance.choice(list(DOMAINS)))
    except sdp.SpatialDPError:  # no cell lies in the region, or the workload lies elsewhere
        return original(case, "whole")


def header_of(table: pa.Table) -> dict[str, Any]:
    return json.loads(table.schema.metadata[b"spatialdp"])


def frame_of(header: dict[str, Any]) -> str:
    """The member of a header that says what the public frame is; of tables on zones that are codes, it is a part."""
    return next((name for name in ("zones", "domain") if isinstance(header.get(name), dict)), "estimate")


def signed(table: pa.Table, header: dict[str, Any]) -> pa.Table:
    """The table with this header, and a digest and a number of rows that agree with it."""
    header = {**header, "rows": len(table)}
    try:
        header["sha256"] = _digest(header, table)
    except Exception:  # such as types of columns that have no digest
        header["sha256"] = "0" * 64
    metadata = {**(table.schema.metadata or {}), b"spatialdp": json.dumps(header).encode()}
    return table.replace_schema_metadata(metadata)


# --- forgeries -------------------------------------------------------------------------------------


Forgery = Callable[[pa.Table, dict[str, Any], random.Random], tuple[pa.Table, dict[str, Any]]]


def in_header(table: pa.Table, header: dict[str, Any], chance: random.Random) -> Any:
    """Replace, remove or add values of the header, at any depth."""
    for _ in range(chance.randint(1, 3)):
        part = chance.choice(["privacy", frame_of(header), "estimate", "estimate"])
        header[part] = altered(header[part], chance)
    return table, header


def numbers(table: pa.Table, header: dict[str, Any], chance: random.Random) -> Any:
    """Replace numbers of the header by other numbers, which keeps its form."""
    part = chance.choice([frame_of(header), "estimate", "estimate", "estimate"])
    changed = chance.randint(1, 4)

    def walk(value: Any) -> Any:
        nonlocal changed
        if isinstance(value, dict):
            return {key: walk(value[key]) for key in value}
        if isinstance(value, list):
            return [walk(item) for item in value]
        if isinstance(value, bool) and changed and chance.random() < 0.3:
            changed -= 1
            return not value
        if isinstance(value, int | float) and changed and chance.random() < 0.3:
            changed -= 1
            return chance.choice([*NUMBERS, value * 2, value + 1, value / 2, -value, math.nan, math.inf])
        return value

    header[part] = walk(header[part])
    return table, header


def texts(table: pa.Table, header: dict[str, Any], chance: random.Random) -> Any:
    """Put foreign text wherever there is room for text."""
    privacy, text = header["privacy"], chance.choice(TEXTS)
    kind = chance.randrange(7)
    if kind == 0:
        privacy["parameters"][text] = 1
    elif kind == 1:
        privacy["parameters"]["shape"] = chance.choice([text, [text, {"a": text}], {text: [text]}])
    elif kind == 2:
        privacy["budget"] = {f"{name}{text}": cost for name, cost in privacy["budget"].items()}
    elif kind == 3:
        privacy[chance.choice(["mechanism", "version", "unit", "neighbours", "currency", "epsilon"])] = text
    elif kind == 4:
        name = json.dumps(text, ensure_ascii=False)
        header[frame_of(header)]["crs"] = (
            f"GEOGCS[{name},DATUM[{name},SPHEROID[{name},6378137,298]],UNIT[{name},0.01745]]"
        )
    elif kind == 5:
        header[text] = text
    else:
        header["format_version" if chance.random() < 0.3 else "format"] = text
    return table, header


def nesting(table: pa.Table, header: dict[str, Any], chance: random.Random) -> Any:
    """Nest lists or objects, from a few to thousands."""
    deep: Any = 1
    for _ in range(chance.choice([10, 40, 200, 400, 900])):
        deep = [deep] if chance.random() < 0.5 else {"a": deep}
    where = chance.choice([header, header["privacy"]["parameters"], header[frame_of(header)], header["estimate"]])
    where[chance.choice(["deep", "bounds", "shape", "noise", "levels", *where])] = deep
    return table, header


def column(table: pa.Table, header: dict[str, Any], chance: random.Random) -> Any:
    """Change values of a column, or its type, or drop it, or add one."""
    names = [name for name in table.column_names if name != "geometry"]
    name = chance.choice(names)
    values = table[name].to_numpy().copy()
    index = table.column_names.index(name)
    how = chance.randrange(8)
    if how == 0:
        return table.drop_columns([name]), header
    if how == 1:
        return table.append_column(chance.choice(["extra", ESCAPES, "lower"]), pa.array([ESCAPES] * len(table))), header
    if how == 2:
        kinds = ["int8", "int16", "int32", "int64", "float32", "float64", "bool", "U20", "O"]
        with np.errstate(all="ignore"):
            values = values.astype(chance.choice(kinds))
    elif how == 3:
        return table.set_column(index, name, pa.array([None, *values[1:]])), header
    elif how == 4:
        values = values[np.array(chance.sample(range(len(values)), len(values)))]
    else:
        amount = chance.choice([1, 1, len(values)])
        places = chance.sample(range(len(values)), amount)
        if values.dtype.kind == "O":
            wanted: list[Any] = [*TEXTS, None, "", values[0], values[-1]]
        else:
            wanted = [math.nan, math.inf, *NUMBERS] if values.dtype.kind == "f" else [0, 1, -1, 2, 127, 2**14, 2**30]
        with np.errstate(all="ignore"):
            values[places] = np.array(chance.choice(wanted)).astype(values.dtype)
    return table.set_column(index, name, pa.array(values)), header


def polygons(table: pa.Table, header: dict[str, Any], chance: random.Random) -> Any:
    """Put other bytes in the place of polygons: other geometries, broken ones, and such as announce far too much."""
    if "geometry" not in table.column_names:
        return table, header
    values = table["geometry"].to_pylist()
    bow = shapely.Polygon([(0, 0), (2, 2), (2, 0), (0, 2)])
    ring = struct.pack("<I", 4) + struct.pack("<8d", 0, 0, math.nan, 1, 1, 1, 0, 0)
    hostile = [
        None,
        b"",
        *(shapely.to_wkb(shape, byte_order=1) for shape in (bow, shapely.Polygon(), shapely.box(0, 0, 1e300, 1e300))),
        shapely.to_wkb(shapely.box(0, 0, 11, 2), byte_order=1),
        shapely.to_wkb(shapely.GeometryCollection([shapely.Point(1, 1)]), byte_order=1),
        struct.pack("<BII", 1, 3, 2**31 - 1),
        struct.pack("<BII", 1, 6, 2**31 - 1),
        struct.pack("<BII", 1, 3, 1) + ring,
        struct.pack("<BII", 1, 7, 1) * 10_000,
    ]
    for _ in range(chance.choice([1, 1, 3, len(values)])):
        values[chance.randrange(len(values))] = chance.choice([*hostile, *values])
    return table.set_column(table.column_names.index("geometry"), "geometry", pa.array(values, pa.binary())), header


def rows(table: pa.Table, header: dict[str, Any], chance: random.Random) -> Any:
    """Drop, repeat or mix rows."""
    count = len(table)
    places = {
        0: list(range(count - chance.randint(1, count))),
        1: [*range(count), *chance.choices(range(count), k=chance.randint(1, 3 * count))],
        2: chance.sample(range(count), count),
    }[chance.randrange(3)]
    return table.take(pa.array(places, pa.int64())), header


def swapped(table: pa.Table, header: dict[str, Any], chance: random.Random) -> Any:
    """Take a part of the header of another release."""
    other = header_of(some_original(chance))
    part = chance.choice(["estimate", "privacy", frame_of(other)])
    if part == "estimate" and chance.random() < 0.7:
        key = chance.choice(list(other["estimate"]))
        header["estimate"][key] = other["estimate"][key]
    else:
        header[part] = other[part]
    return table, header


# --- releases that nobody made: their parts agree, and ask for more than the file holds -------------


def grid_release(shape: tuple[int, int], noise: dict[str, Any], header: dict[str, Any]) -> Any:
    nx, ny = shape
    count = nx * ny
    row, cell = np.divmod(np.arange(count), nx)
    box = shapely.to_wkb(shapely.box(0, 0, 1, 1))
    columns = {
        "column": pa.array(cell.astype(np.int32)),
        "row": pa.array(row.astype(np.int32)),
        "inside": pa.array(np.ones(count, dtype=bool)),
        "estimate": pa.array(np.arange(count, dtype=np.float64)),
        "geometry": pa.array([box] * count, pa.binary()),
    }
    header["estimate"] = {"kind": "grid", "shape": [nx, ny], "noise": noise, "biased": False}
    header["domain"] = {"bounds": [0, 0, 1, 1], "crs": None, "region": None}
    return pa.table(columns), header


def matrix(values: Any) -> str:
    return base64.b64encode(np.asarray(values).astype("<i4").tobytes()).decode()


def separable(x: dict[str, Any], y: dict[str, Any], groups: int = 1) -> dict[str, Any]:
    return {"kind": "separable", "x": x, "y": y, "variances": [[1.0]] * groups, "kurtosis": [[3.0]] * groups}


def many_windows(table: pa.Table, header: dict[str, Any], chance: random.Random) -> Any:
    """An axis of few cells with thousands of windows, whose gains need windows² numbers."""
    cells, windows = chance.choice([(1, 12_000), (2, 9_000), (8, 3_000), (8, 40)])
    weights = {"kind": "windows", "windows": windows, "weights": matrix(np.ones((windows + 1, cells)))}
    metadata = table.schema.metadata
    table, header = grid_release((cells, 1), separable(weights, {"kind": "identity"}), header)
    return table.replace_schema_metadata(metadata), header


def flat_matrix(table: pa.Table, header: dict[str, Any], chance: random.Random) -> Any:
    """A matrix with fewer rows than cells, or without full rank: cells² numbers, and no solution."""
    cells, height = chance.choice([(12_000, 1), (9_000, 2), (6, 6), (6, 3), (40, 80)])
    values = chance.choice([np.ones, np.zeros])((height, cells))
    noise = separable({"kind": "dense", "rows": height, "matrix": matrix(values)}, {"kind": "identity"})
    metadata = table.schema.metadata
    table, header = grid_release((cells, 1), noise, header)
    return table.replace_schema_metadata(metadata), header


def long_axis(table: pa.Table, header: dict[str, Any], chance: random.Random) -> Any:
    """A grid of one row, whose polygons or frequencies need cells² numbers."""
    cells = chance.choice([5_000, 12_000])
    kind = chance.choice(["haar", "identity", "spectral"])
    groups = 1 + (cells - 1).bit_length() if kind == "haar" else 1
    basis = chance.choice(["dct", "dft", "walsh"])
    axis = {"kind": kind, "basis": basis, "edges": [0, cells]} if kind == "spectral" else {"kind": kind}
    metadata = table.schema.metadata
    noise = separable(axis, {"kind": "identity"}, groups)
    table, header = grid_release((cells, 1), noise, header)
    return table.replace_schema_metadata(metadata), header


def tree_release(offsets: Any, children: Any, boxes: Any, header: dict[str, Any], **changes: Any) -> Any:
    boxes, count = np.asarray(boxes, dtype=np.int32), len(boxes)
    depth = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    box = shapely.to_wkb(shapely.box(0, 0, 1, 1))
    columns = {
        "depth": pa.array(depth.astype(np.int16)),
        "children": pa.array(np.asarray(children, dtype=np.int32)),
        **{name: pa.array(boxes[:, i]) for i, name in enumerate(("xlo", "ylo", "xhi", "yhi"))},
        "estimate": pa.array(np.ones(count)),
        "geometry": pa.array([box] * count, pa.binary()),
    }
    levels = len(offsets) - 1
    header["domain"] = {"bounds": [0, 0, 1, 1], "crs": None, "region": None}
    header["estimate"] = {
        "kind": "tree",
        "offsets": list(offsets),
        "levels": {"variance": [1.0] * levels, "kurtosis": [3.0] * levels},
        "step": 1.0,
        "consistent": True,
        "biased": False,
        "shape": None,
        **changes,
    }
    return pa.table(columns), header


def chain(table: pa.Table, header: dict[str, Any], chance: random.Random) -> Any:
    """A tree that is one path down: its leaf is a cell of a grid with 4^height cells."""
    height, side = chance.choice([3, 14, 14, 30, 200, 5_000]), 2**30
    boxes = [[0, 0, max(1, side >> level), max(1, side >> level)] for level in range(height + 1)]
    metadata = table.schema.metadata
    changes = {"consistent": chance.random() < 0.5, "shape": chance.choice([None, None, [2**14, 2**14], [2**28, 1]])}
    table, header = tree_release(range(height + 2), [1] * height + [0], boxes, header, **changes)
    return table.replace_schema_metadata(metadata), header


def overlapping(table: pa.Table, header: dict[str, Any], chance: random.Random) -> Any:
    """A tree whose children overlap, or leave their parent."""
    side, count = 2**30, chance.choice([2, 4, 100, 2_000])
    low = np.array([[chance.randrange(side // 2), chance.randrange(side // 2)] for _ in range(count)])
    size = chance.choice([1, side // 4, side // 2])
    parent = [0, 0, side, side] if chance.random() < 0.7 else [0, 0, side // 8, side // 8]
    boxes = np.vstack([parent, np.hstack([low, low + size])])
    metadata = table.schema.metadata
    table, header = tree_release([0, 1, 1 + count], [count] + [0] * count, boxes, header)
    return table.replace_schema_metadata(metadata), header


FORGERIES: tuple[Forgery, ...] = (
    *(in_header, in_header, in_header, numbers, numbers, numbers, numbers, texts, texts, nesting),
    *(
        column,
        column,
        column,
        rows,
        swapped,
        polygons,
        polygons,
        many_windows,
        flat_matrix,
        long_axis,
        chain,
        overlapping,
    ),
)


def forge(number: int, path: Path) -> str:
    """Write the forgery of a number, and say what was done."""
    chance = random.Random(f"forgery {number}")
    table = some_original(chance)
    how = chance.choice(FORGERIES)
    try:
        table, header = how(table, header_of(table), chance)
        table = signed(table, header)
    except (pa.ArrowException, ValueError, TypeError, RecursionError, OverflowError):  # not to be written at all
        how = None
    options = {"use_dictionary": chance.random() < 0.3, "compression": chance.choice(["zstd", "none", "snappy"])}
    options["compression"] = {
        name: "none" if name == "estimate" else options["compression"] for name in table.column_names
    }
    pq.write_table(table, path, **options)
    if chance.random() < 0.04:
        path.write_bytes(damaged(path.read_bytes(), chance))
    return "nothing" if how is None else how.__name__


# --- everything that can be done with a release ----------------------------------------------------


def shown(text: str) -> None:
    """Check that a text moves no cursor, hides nothing and can be printed."""
    text.encode()
    harmful = {"Cc", "Cf", "Cs", "Zl", "Zp"}
    bad = [character for character in text if character != "\n" and unicodedata.category(character) in harmful]
    assert not bad, f"{bad[:5]} is shown"


def exercise(release: sdp.Release, folder: Path) -> None:
    """Do everything; errors of ours are answers too, but numbers must be sound."""
    domain = release.domain or sdp.Domain((0, 0, 1, 1))  # zones that are codes alone have no place
    xmin, ymin, xmax, ymax = domain.bounds
    width, height = domain.size
    boxes = np.array(
        [
            domain.bounds,
            (xmin + 0.1 * width, ymin + 0.1 * height, xmin + 0.7 * width, ymin + 0.45 * height),
            (xmin, ymin, xmin + 0.5 * width, ymin + 0.5 * height),
        ]
    )
    triangle = shapely.Polygon([(xmin, ymin), (xmax, ymin), (xmin + 0.4 * width, ymax)])

    def finite(values: Any, shape: tuple[int, ...]) -> None:
        assert np.shape(values) == shape
        assert np.all(np.isfinite(values)), "a number is not finite"

    def ordered(ends: Any, count: int) -> None:
        finite(ends, (count, 2))
        assert np.all(ends[:, 0] <= ends[:, 1]), "an interval is upside down"

    def sampled() -> None:
        points = release.sample(5, noise=sdp.SeededNoise(1))
        finite(points, (5, 2))
        assert np.all((points >= (xmin, ymin)) & (points <= (xmax, ymax))), "a point lies outside"

    def drawn(**options: Any) -> None:
        axes = release.plot(**options)
        axes.figure.canvas.draw()
        shown(axes.get_xlabel())

    def saved(suffix: str, **options: Any) -> None:
        release.save(folder / f"saved{suffix}", overwrite=True, **options)
        if suffix == ".parquet":
            again = sdp.load(folder / "saved.parquet")
            assert again.total == release.total
            if release.domain is not None:
                assert np.array_equal(again.answer(boxes), release.answer(boxes))

    def explored() -> None:
        release.explore(folder / "page.html", overwrite=True)
        page = (folder / "page.html").read_text(encoding="utf-8")
        assert "<script>alert" not in page

    def certified() -> None:
        claimed = dataclasses.replace(release, privacy=dataclasses.replace(release.privacy, private=True))
        for suffix in (".html", ".md"):
            text = certificate_text(claimed, suffix)
            shown(text)
            assert len(text) < 200_000, "a page that nobody reads"
            assert not re.search(r"(?<!\\)<(script|img)", text), "foreign text is markup"
            assert not re.search(r"\b(nan|inf)\b", text), "a number is not finite"

    def zones_answered() -> None:
        if not isinstance(release, sdp.ZoneRelease):
            return
        codes = [str(code) for code in release.zones.codes[-3:]]
        for level in release.zones.levels:
            finite(release.level(level)["estimate"].to_numpy(), (len(release.level(level)),))
        finite(release.answer(codes, at=release.zones.levels[-1]), (3,))
        finite(release.answer_set(codes, at=release.zones.levels[-1]), ())
        ordered(release.interval_set([codes, codes[:1]], at=release.zones.levels[-1]), 2)
        ordered(release.interval(codes, at=release.zones.levels[-1]), 3)

    for kind, ways in WAYS.items():
        if isinstance(release, kind):
            _do(ways(release, folder) | {"repr": lambda: shown(f"{release!r} {release.privacy}")})
            return
    frame = release.to_geodataframe
    actions: dict[str, Callable[[], Any]] = {
        "repr": lambda: shown(f"{release!r} {release.privacy} {release.privacy.in_words()}"),
        "total": lambda: finite(release.total, ()),
        "answer": lambda: finite(release.answer(boxes), (3,)),
        "interval": lambda: ordered(release.interval(boxes), 3),
        "uniformity": lambda: finite(release.uniformity(boxes), (3,)),
        "answer_polygons": lambda: finite(release.answer_polygons([triangle]), (1,)),
        "interval_polygons": lambda: ordered(release.interval_polygons([triangle]), 1),
        "sample": sampled,
        "non_negative": lambda: finite(release.non_negative().answer(boxes), (3,)),
        "rounded": lambda: finite(release.rounded().answer(boxes), (3,)),
        "to_geodataframe": lambda: finite(frame()["estimate"].to_numpy(), (len(frame()),)),
        "plot": drawn,
        "plot uncertainty": lambda: drawn(view="uncertainty"),
        "explore": explored,
        "certificate": certified,
        **{f"save {suffix}": partial(saved, suffix) for suffix in (".parquet", ".gpkg", ".csv", ".geojson")},
        "save .tif": lambda: saved(".tif", shape=(8, 8)),
        "zones": zones_answered,
    }
    _do(actions)


def _with_flows(release: sdp.FlowRelease, folder: Path) -> dict[str, Callable[[], Any]]:
    """What can be done with flows."""

    def answered(*ends: Any) -> None:
        asked = {name: end for name, end in zip(("origin", "destination"), ends, strict=True) if end is not None}
        values = release.answer(**asked)
        low, high = np.moveaxis(release.interval(**asked), -1, 0)
        assert np.all(np.isfinite(values)), "a number is not finite"
        assert np.all(low <= high), "an interval is upside down"

    def saved(suffix: str) -> None:
        release.save(folder / f"saved{suffix}", overwrite=True)
        if suffix == ".parquet":
            assert sdp.load(folder / "saved.parquet").answer() == release.answer()

    def drawn() -> None:
        axes = release.plot()
        axes.figure.canvas.draw()
        shown(axes.get_xlabel())

    def adjusted() -> None:
        for each in (release.non_negative(), release.rounded()):
            assert np.isfinite(each.total), "a number is not finite"

    some = release.frame.space.labels()[:2]
    if release.frame.space_name == "box":
        xmin, ymin, xmax, ymax = release.domain.bounds
        some = [release.domain.bounds, (xmin, ymin, xmin + 0.6 * (xmax - xmin), ymin + 0.4 * (ymax - ymin))]
    return {
        "answer": lambda: [answered(*ends) for ends in ((None, None), (some, None), (None, some), (some, some))],
        "to_frame": lambda: (release.to_frame(), release.places(), release.to_geodataframe()),
        "listed share": lambda: release.listed_share,
        "plot": drawn,
        "adjusted": adjusted,
        **{f"save {suffix}": partial(saved, suffix) for suffix in (".parquet", ".csv")},
    }


def _with_tables(release: sdp.TableRelease, folder: Path) -> dict[str, Callable[[], Any]]:
    """What can be done with tables, and with networks of them."""
    some = {name: axis.labels()[0] for name, axis in release.frame.axes.items() if name != release.frame.space_name}

    def answered() -> None:
        listed = [release.answer(**{name: [label]}) for name, label in some.items()]
        assert np.all(np.isfinite([release.answer(), release.answer(**some), *np.ravel(listed)])), "not finite"

    def bounded() -> None:
        low, high = release.interval(**some)
        assert low <= high, "an interval is upside down"

    def saved() -> None:
        release.save(folder / "saved.parquet", overwrite=True)
        assert sdp.load(folder / "saved.parquet").answer() == release.answer()

    return {
        "in words": lambda: shown(release.in_words()),
        "answer": answered,
        "interval": bounded,
        "to_frame": release.to_frame,
        "marginals": lambda: [release.marginal(**{name: release.frame.axes[name].names[-1]}) for name in some],
        "adjusted": lambda: (release.non_negative().total, release.rounded().total),
        "sample": lambda: release.sample(5, noise=sdp.SeededNoise(1)),
        "plot": lambda: release.plot(**some),
        "explore": lambda: release.explore(folder / "page.html", overwrite=True),
        "save": saved,
    }


def _with_paths(release: sdp.TrajectoryRelease, folder: Path) -> dict[str, Callable[[], Any]]:
    """What can be done with trajectories."""

    def drawn() -> None:
        positions = release.positions(5, noise=sdp.SeededNoise(1))
        xmin, ymin, xmax, ymax = release.domain.bounds
        assert np.all((positions.x >= xmin) & (positions.x <= xmax)), "a position lies outside"
        assert np.all((positions.y >= ymin) & (positions.y <= ymax)), "a position lies outside"

    def counted() -> None:
        low, high = release.interval()
        assert low <= release.total <= high, "an interval is upside down"
        assert np.isfinite(release.flows.answer()), "a number is not finite"

    def saved() -> None:
        release.save(folder / "saved.parquet", overwrite=True)
        assert sdp.load(folder / "saved.parquet").total == release.total

    return {"counts": counted, "lengths": release.lengths, "extents": release.extents, "drawn": drawn, "save": saved}


WAYS: dict[type, Callable[[Any, Path], dict[str, Callable[[], Any]]]] = {
    sdp.FlowRelease: _with_flows,
    sdp.TableRelease: _with_tables,
    sdp.TrajectoryRelease: _with_paths,
}


def _do(actions: dict[str, Callable[[], Any]]) -> None:
    """Do everything; only errors of ours may come."""
    import matplotlib.pyplot as plt

    for name, action in actions.items():
        try:
            action()
        except sdp.SpatialDPError as error:
            shown(str(error))
        except Exception as error:
            raise AssertionError(f"{name}: {type(error).__name__}: {error!s:.200} {_place(error)}") from error
        finally:
            plt.close("all")


def _place(error: BaseException) -> str:
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "/spatialdp/" in frame.filename]
    return f"at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "in the test"


def told(path: Path) -> None:
    """Check what the command line prints of a file: one message of ours or facts, and nothing that moves a cursor."""
    for words in (["info", str(path)], ["info", str(path), "--json"], ["query", str(path), "--bbox=0,0,1,1"]):
        result = CliRunner().invoke(main, words)
        assert result.exit_code in (0, 2), f"{words[0]} ended with {result.exit_code}: {result.output[-200:]}"
        shown(result.stdout)
        shown(result.stderr)


# --- the process -----------------------------------------------------------------------------------


def run(first: int, count: int, folder: Path) -> dict[str, Any]:
    """What came of the forgeries: how often each result, what was wrong, which forgery took the most memory."""
    import matplotlib as mpl

    mpl.use("Agg")
    os.environ["FORGE_FOLDER"] = str(folder)
    path, seen = folder / "forged.parquet", []
    warnings.simplefilter("error", RuntimeWarning)
    pq.write_table(original("flat", "five sides"), path)
    exercise(sdp.load(path), folder)  # imports whatever it needs
    pq.write_table(original_zones(True, False), path)
    exercise(sdp.load(path), folder)
    told(path)
    signal.signal(signal.SIGALRM, _too_long)
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    watch(seen)
    results, wrong, peaks = collections.Counter(), [], []
    for number in range(first, first + count):
        how = forge(number, path)
        (folder / "number").write_text(f"{number}, {how}")
        _tidy()
        before = _megabytes()
        signal.alarm(SECONDS)
        try:
            results[_outcome(path, folder)] += 1
        except BaseException as error:
            wrong.append(f"{number}, {how}: {type(error).__name__}: {error!s:.300} {_place(error)}")
        signal.alarm(0)
        if _megabytes() > before + 50:
            peaks.append(f"{number}, {how}: {_megabytes()} MB")
    return {"results": results, "wrong": wrong, "seen": seen[:20], "peaks": peaks[-5:], "megabytes": _megabytes()}


def _too_long(*_: Any) -> None:
    raise TimeoutError(f"{SECONDS} seconds were not enough")


def _outcome(path: Path, folder: Path) -> str:
    told(path)
    try:
        release = sdp.load(path)
    except sdp.SpatialDPError as error:
        shown(str(error))
        return type(error).__name__
    exercise(release, folder)
    return "behaves"


def _tidy() -> None:
    """Give back what earlier forgeries and the making of originals left behind, so that each file stands for itself."""
    gc.collect()
    pa.default_memory_pool().release_unused()


def _megabytes() -> int:
    """The largest memory of this process. The kernel's status is asked first: `ru_maxrss` begins with the parent's."""
    status = Path("/proc/self/status")
    if status.exists():
        peak = next((line for line in status.read_text().splitlines() if line.startswith("VmHWM:")), None)
        if peak is not None:
            return int(peak.split()[1]) // 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


if __name__ == "__main__":
    start, amount, place = sys.argv[1:]
    place_ = Path(place)
    place_.mkdir(exist_ok=True)
    print(json.dumps(run(int(start), int(amount), place_), indent=1))
