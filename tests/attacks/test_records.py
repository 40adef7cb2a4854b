"""One hostile record changes nothing that anybody can see: not the exit code, not a byte of what is said.

For every format, a file and the same file with one hostile record more, or with one record replaced by it, are released
by the same command. A tape gives the second release the noisy values of the first, so all bytes that are printed or
written must be the same; and the counts may differ by that record alone.
"""

from __future__ import annotations

import io
import random
import warnings
from collections.abc import Callable
from functools import cache

import geopandas
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import shapely
from click.testing import CliRunner

import spatialdp as sdp
from spatialdp.cli import main
from spatialdp.records.counting import count_cells
from spatialdp.records.points import as_points
from tests.attacks import records
from tests.attacks.records import FORMS, PLACES, Form
from tests.audit.tape import Tape

DOMAIN = sdp.Domain((0, 0, 1, 1), crs="EPSG:4326")
GRID = DOMAIN.grid((64, 64))
TERMS = ("--bounds=0,0,1,1", "--crs=EPSG:4326", "--method=flat", "--shape=3,3", "--epsilon=1")
DAILY = 100  # files with a hostile record in the daily run; `make audit` has a thousand more
BASES = 4  # files of ordinary records: none, one, a few, and a few with odd ones among them


@cache
def bases(name: str, good: Callable[..., object], hostile: Callable[..., object]) -> list[list[object]]:
    """The records of each base, made once for a form."""
    ordinary = [good(x, y) for x, y in PLACES]
    odd = [hostile(random.Random(f"{name} base {seed}")) for seed in range(3)]
    return [[], ordinary[:1], ordinary, [*ordinary, *odd]]


def neighbours(form: Form, seed: int) -> tuple[list[object], list[object]]:
    """The records of a file, and the same with one hostile record, which is added or takes the place of another."""
    chance = random.Random(f"{form.name} {seed}")
    before = bases(form.name, form.good, form.hostile)[seed % BASES]
    after, hostile, place = list(before), form.hostile(chance), chance.randrange(len(before) + 1)
    after[place : place + chance.randrange(2)] = [hostile]
    return before, after


def released(path, options, out, capfd, *more):
    """All that a release shows: exit code, both streams, what libraries in C print, and the bytes of its file."""
    words = ["release", str(path), *TERMS, *(f"--{name}={value}" for name, value in options.items()), *more]
    words += ["-o", str(out)]
    result = CliRunner().invoke(main, words)
    printed = tuple(capfd.readouterr())
    written = out.read_bytes() if out.exists() else None
    out.unlink(missing_ok=True)
    return result.exit_code, result.stdout, result.stderr, printed, written


def counted(path, options):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return count_cells(sdp.read_points(path, DOMAIN, **options), GRID)


def differ_by_one(one, two, *, replaced):
    """Whether counts differ by one record more or less; a replaced record may be missing here and be there too."""
    change = two - one
    return np.abs(change).max() <= 1 and (change > 0).sum() <= 1 and (change < 0).sum() <= replaced


def check(form, seeds, folder, capfd):
    """Release the files of many seeds; what is shown of a file without hostile records is kept."""
    path, out = folder / form.name, folder / "release.parquet"
    kept = {}
    wrong = []
    with Tape() as tape:
        for seed in seeds:
            before, after = neighbours(form, seed)
            if seed % BASES not in kept:
                tape.record(0)
                form.write(path, before)
                kept[seed % BASES] = released(path, form.options, out, capfd), counted(path, form.options), tape.entries
            shown, counts, tape.entries = kept[seed % BASES]
            form.write(path, after)
            tape.play()
            if released(path, form.options, out, capfd) != shown:
                wrong.append(f"{seed}: something else was shown")
            elif not differ_by_one(counts, counted(path, form.options), replaced=len(after) == len(before)):
                wrong.append(f"{seed}: other records were counted")
    assert not wrong
    assert all(shown[0] == 0 and not any(shown[3]) for shown, *_ in kept.values())
    assert kept[2][1].sum() == len(PLACES) - 1  # one of them is outside


# --- other ways to hand over the same bytes ---------------------------------------------------------

STREAMED = [form for form in FORMS if not form.name.endswith("shp")]


@pytest.mark.unmeasured
@pytest.mark.parametrize("form", STREAMED, ids=lambda form: form.name)
def test_streams_and_folders_change_nothing_either(form, tmp_path):
    """The counts of a file agree with those of the same bytes as a stream and in a folder, hostile records or not."""
    folder = tmp_path / "folder"
    folder.mkdir()
    for seed in range(8):
        for rows in neighbours(form, seed):
            form.write(tmp_path / form.name, rows)
            content = (tmp_path / form.name).read_bytes()
            (folder / form.name).write_bytes(content)
            expected = counted(tmp_path / form.name, form.options)
            options = {**form.options, "file_format": form.name.split(".", 1)[1]}
            assert np.array_equal(counted(io.BytesIO(content), options), expected)
            assert np.array_equal(counted([folder, tmp_path / form.name], form.options), 2 * expected)


REPROJECTED = sdp.Domain((-1, -1, 111_321, 111_321), crs="EPSG:3857")


@pytest.mark.parametrize(
    "form", [form for form in FORMS if form.name in ("points.csv", "geo.parquet")], ids=lambda form: form.name
)
def test_reprojected_records_change_nothing_else(form, tmp_path, capfd):
    """A place that has no coordinates in the other CRS is a record like any other."""
    for seed in range(40):
        found = []
        for rows in neighbours(form, seed):
            form.write(tmp_path / form.name, rows)
            options = {**form.options, "crs": "EPSG:4326", "reproject": True}
            points = sdp.read_points(tmp_path / form.name, REPROJECTED, **options)
            found.append((count_cells(points, REPROJECTED.grid((64, 64))), len(rows)))
        (one, before), (two, after) = found
        assert differ_by_one(one, two, replaced=before == after)
    assert tuple(capfd.readouterr()) == ("", "")


# --- records in memory -----------------------------------------------------------------------------


def hostile_object(chance):
    """Anything that a Python program may have among its coordinates."""
    plain = [
        None,
        "x",
        b"x",
        1j,
        10**400,
        [],
        [1],
        {},
        object(),
        pd.NA,
        pd.NaT,
        np.datetime64("now"),
        np.array([1.0, 2.0]),
    ]
    plain += [*records.NUMBERS, *records.NUMERALS, *records.geometries_of_shapely(), range(3), "0.5", True, float, 5**3]
    return chance.choice([*plain, records.text(chance), records.raw_text(chance)])


def as_objects(rows):
    cells = np.empty((len(rows), 2), dtype=object)
    for number, (x, y) in enumerate(rows):
        cells[number, 0], cells[number, 1] = x, y
    return cells


def geometry_of(value):
    return value if isinstance(value, shapely.Geometry) else None


MEMORY = {
    "list": lambda rows: sdp.Points([list(row) for row in rows]),
    "two lists": lambda rows: sdp.Points([x for x, _ in rows], [y for _, y in rows]),
    "list of points": lambda rows: sdp.Points(
        [shapely.Point(x, y) if type(x) is type(y) is float else x for x, y in rows]
    ),
    "objects": lambda rows: sdp.Points(as_objects(rows)),
    "frame": lambda rows: sdp.Points(pd.DataFrame(as_objects(rows), columns=["x", "y"])),
    "inferred frame": lambda rows: sdp.Points(pd.DataFrame(as_objects(rows), columns=["x", "y"]).infer_objects()),
    "series": lambda rows: sdp.Points(
        geopandas.GeoSeries(
            [shapely.Point(x, y) if type(x) is type(y) is float else geometry_of(x) for x, y in rows], crs="EPSG:4326"
        )
    ),
    "read frame": lambda rows: sdp.read_points(
        pd.DataFrame([(*row, "n") for row in rows], columns=["lon", "lat", "n"]), DOMAIN, x="lon", y="lat"
    ),
    "read WKT": lambda rows: sdp.read_points(
        pd.DataFrame({"g": [f"POINT ({x} {y})" if type(x) is type(y) is float else x for x, y in rows]}),
        DOMAIN,
        geometry="g",
    ),
    "read GeoDataFrame": lambda rows: sdp.read_points(
        geopandas.GeoDataFrame(
            geometry=[shapely.Point(x, y) if type(x) is type(y) is float else geometry_of(x) for x, y in rows],
            crs="EPSG:4326",
        ),
        DOMAIN,
    ),
    "arrow": lambda rows: sdp.Points(
        pa.table(
            {
                name: pa.array([v if type(v) is float else None for v in column])
                for name, column in zip("xy", zip(*rows, strict=True), strict=True)
            }
        )
    ),
}


@pytest.mark.parametrize("form", MEMORY)
def test_one_hostile_record_in_memory_changes_nothing_else(form):
    for seed in range(300):
        chance = random.Random(f"{form} {seed}")
        odd = (hostile_object(chance), chance.choice([0.5, hostile_object(chance)]))
        before = PLACES[: chance.choice([0, 1, 7])] if form != "arrow" else PLACES
        after = [*before]
        after.insert(chance.randrange(len(before) + 1), odd)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            one, two = (count_cells(as_points(MEMORY[form](rows), DOMAIN), GRID) for rows in (before, after))
        assert differ_by_one(one, two, replaced=False), (seed, odd)


# --- files released by the command -----------------------------------------------------------------


@pytest.mark.unmeasured
@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_one_hostile_record_changes_nothing_that_is_shown(form, tmp_path, capfd):
    check(form, range(DAILY), tmp_path, capfd)


@pytest.mark.audit
@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_a_thousand_hostile_records_change_nothing_that_is_shown(form, tmp_path, capfd):
    check(form, range(1000, 2000), tmp_path, capfd)
