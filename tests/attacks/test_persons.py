"""One hostile record, with any person, changes nothing that anybody can see, and nothing for other records.

For every format, a file and the same file with one hostile record more, or in the place of another, are released by
the same command with a bound on persons. A tape gives the second release the noisy values of the first, so all that is
shown must be the same. Counts may differ by that record alone if the bound is wide, and by what one person contributes
if it is narrow.
"""

from __future__ import annotations

import random
import warnings
from dataclasses import replace

import geopandas
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import shapely

import spatialdp as sdp
from tests.attacks.persons import PERSON_FORMS, hostile_identifier
from tests.attacks.records import PLACES
from tests.attacks.test_records import BASES, DAILY, differ_by_one, neighbours, released
from tests.audit.tape import Tape

DOMAIN = sdp.Domain((0, 0, 1, 1), crs="EPSG:4326")
GRID = DOMAIN.grid((64, 64))
WIDE, NARROW = sdp.Person(records=1000), sdp.Person(cells=1)


def shown_of(path, options, out, capfd):
    """All that a release with a bound on persons shows, as for `test_records.released`."""
    columns = {name: value for name, value in options.items() if name != "person"}
    return released(path, columns, out, capfd, f"--person-column={options['person']}", "--person=records=1000")


def bounded(points):
    return [points._counts(GRID, bound) for bound in (WIDE, NARROW)]


def differ_by_one_person(one, two, *, replaced):
    """Whether counts of persons differ by one cell that was kept, and another one that is; twice if one is replaced."""
    return np.abs(two - one).sum() <= 2 * (1 + replaced)


def check(form, seeds, folder, capfd):
    path, out = folder / form.name, folder / "release.parquet"
    kept, wrong = {}, []
    with Tape() as tape, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of writers, such as those of Shapefiles
        for seed in seeds:
            before, after = neighbours(form, seed)
            if seed % BASES not in kept:
                tape.record(0)
                form.write(path, before)
                shown = shown_of(path, form.options, out, capfd)
                kept[seed % BASES] = shown, bounded(sdp.read_points(path, DOMAIN, **form.options)), tape.entries
            shown, counts, tape.entries = kept[seed % BASES]
            form.write(path, after)
            tape.play()
            if shown_of(path, form.options, out, capfd) != shown:
                wrong.append(f"{seed}: something else was shown")
                continue
            wide, narrow = bounded(sdp.read_points(path, DOMAIN, **form.options))
            replaced = len(after) == len(before)
            if not (
                differ_by_one(counts[0], wide, replaced=replaced)
                and differ_by_one_person(counts[1], narrow, replaced=replaced)
            ):
                wrong.append(f"{seed}: other records were counted")
    assert not wrong
    assert all(shown[0] == 0 and not any(shown[3]) for shown, *_ in kept.values())
    assert kept[2][1][0].sum() == len(PLACES) - 1  # one of them is outside


@pytest.mark.unmeasured
@pytest.mark.parametrize("form", PERSON_FORMS, ids=lambda form: form.name)
def test_one_hostile_person_changes_nothing_that_is_shown(form, tmp_path, capfd):
    check(form, range(DAILY), tmp_path, capfd)


@pytest.mark.audit
@pytest.mark.parametrize("form", PERSON_FORMS, ids=lambda form: form.name)
def test_a_thousand_hostile_persons_change_nothing_that_is_shown(form, tmp_path, capfd):
    check(form, range(1000, 2000), tmp_path, capfd)


FRAMES = {
    "frame": lambda rows: sdp.read_points(
        pd.DataFrame(rows, columns=["lon", "lat", "who"]), DOMAIN, x="lon", y="lat", person="who"
    ),
    "GeoDataFrame": lambda rows: sdp.read_points(
        geopandas.GeoDataFrame(
            {"who": pd.Series([who for *_, who in rows], dtype=object).infer_objects()},
            geometry=[shapely.Point(x, y) for x, y, _ in rows],
            crs="EPSG:4326",
        ),
        DOMAIN,
        person="who",
    ),
}


@pytest.mark.parametrize("form", FRAMES)
@pytest.mark.parametrize("ordinary", [int, str], ids=["numbers", "text"])
def test_one_hostile_person_in_a_frame_changes_nothing_else(form, ordinary):
    for seed in range(200):
        chance = random.Random(f"{form} {seed}")
        before = [(x, y, ordinary(number % 3)) for number, (x, y) in enumerate(PLACES[: chance.choice([0, 1, 7])])]
        after = [*before]
        after.insert(chance.randrange(len(before) + 1), (0.5, 0.25, hostile_identifier(chance)))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            one, two = (bounded(FRAMES[form](rows)) for rows in (before, after))
        assert differ_by_one(one[0], two[0], replaced=False), (seed, after)
        assert differ_by_one_person(one[1], two[1], replaced=False), (seed, after)


# --- the watch is awake ----------------------------------------------------------------------------


def judged_by_pyarrow(text):
    """A reader that lets pyarrow refuse a column for one text that is not UTF-8."""
    return text.cast(pa.large_binary()).cast(pa.large_string())


def without_doubles(numbers):
    """A reader that loses all whole numbers if pandas has stored them as doubles, for one that is missing."""
    return pa.nulls(len(numbers), pa.int64())


@pytest.mark.parametrize(
    ("name", "function", "mutant", "odd", "told"),
    [
        ("text.parquet", "persons_of_text", judged_by_pyarrow, b"\xff", "something else was shown"),
        ("gathered.parquet", "persons_of_doubles", without_doubles, None, "other records were counted"),
    ],
)
def test_readers_that_let_one_record_decide_are_caught(name, function, mutant, odd, told, tmp_path, capfd, monkeypatch):
    (form,) = (replace(form, hostile=lambda _: (0.5, 0.5, odd)) for form in PERSON_FORMS if form.name == name)
    check(form, [2], tmp_path, capfd)
    monkeypatch.setattr(f"spatialdp.records.formats.arrow.{function}", mutant)
    with pytest.raises(AssertionError, match=told):
        check(form, [2], tmp_path, capfd)
