"""One hostile record among those with times, categories, codes, two ends or fixes changes nothing for the others.

A file and the same with one hostile record more are counted in every way that reads more than places: as rows of a
table, by cells and by codes, with persons and without, as records of zones, as trips and as trajectories. Nothing may
be raised, warned of or printed, and the counts may differ by that record, or its trajectory, alone.
"""

from __future__ import annotations

import random
import warnings
from collections import Counter
from functools import cache

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.records.rows.tracks import paths_of
from spatialdp.records.rows.trips import occupied_pairs
from tests.attacks.rows import CODES, FILES, KINDS, hostile, ordinary

DOMAIN = sdp.Domain((0, 0, 1, 1))
GRID = DOMAIN.grid((4, 4))
MINUTE = 60_000_000
WIDE = sdp.Person(records=1000)
XY = {"x": "lon", "y": "lat"}
BASES = 3  # no ordinary record, one, and several


@cache
def frames():
    """A table on a grid, the same on zones, and the zones."""
    zones = sdp.Zones.from_codes(CODES, None, {"code": 2})
    beside = {
        "time": sdp.Time("2024-03-30", "2024-04-02", step="1 h", zone="Europe/Vienna"),
        "kind": sdp.Categories(KINDS),
    }
    return sdp.Frame(GRID, **beside), sdp.Frame(zones, **beside), zones


def rows(path, place, person):
    frame = frames()["code" in place]
    who = None if person is None else "who"
    return sdp.read_rows(path, frame, **place, person=who)._counts(frame, person).ravel()


def codes(path):
    zones = frames()[2]
    leaves = [leaves for _, leaves in sdp.read_codes(path, "code")._leaves(zones)]
    return np.bincount(np.concatenate([*leaves, np.empty(0, int)]).astype(int), minlength=5)[:4]


def trips(path, within, ends):
    frame = sdp.Frame(GRID if within is DOMAIN else within)
    counts = np.zeros(frame.space.size**2, dtype=int)
    places, sums = occupied_pairs(sdp.read_trips(path, within, *ends), frame)
    counts[places] = sums
    return counts


COUNTS = {
    "rows": lambda path: rows(path, XY, None),
    "rows of persons": lambda path: rows(path, XY, WIDE),
    "rows by code": lambda path: rows(path, {"code": "code"}, None),
    "rows of persons by code": lambda path: rows(path, {"code": "code"}, WIDE),
    "codes": codes,
    "trips": lambda path: trips(path, DOMAIN, (("lon", "lat"), ("u", "v"))),
    "trips by code": lambda path: trips(path, frames()[2], ("code", "to")),
}


def trajectories(path):
    """The trajectories, as often as each occurs."""
    paths = paths_of(sdp.read_tracks(path, DOMAIN, **XY), DOMAIN, MINUTE, 60)
    parts = zip(paths.starts[:-1], paths.starts[1:], strict=True)
    return Counter(tuple(zip(paths.columns[a:b].tolist(), paths.rows[a:b].tolist(), strict=True)) for a, b in parts)


def check(name, seeds, folder):
    path, write, kept, wrong = folder / name, FILES[name], {}, []
    for seed in seeds:
        chance, before = random.Random(f"{name} {seed}"), ordinary((0, 1, 14)[seed % BASES])
        if seed % BASES not in kept:
            write(path, before)
            kept[seed % BASES] = {way: count(path) for way, count in COUNTS.items()}, trajectories(path)
        after = list(before)
        after.insert(chance.choice([0, len(before), chance.randrange(len(before) + 1)]), hostile(chance))
        write(path, after)
        counts, tracks = kept[seed % BASES]
        for way, count in COUNTS.items():
            change = count(path) - counts[way]
            if change.min() < 0 or change.sum() > 1:
                wrong.append(f"{seed}: other records were counted as {way}")
        found = trajectories(path)
        if (tracks - found).total() > 1 or (found - tracks).total() > 1:
            wrong.append(f"{seed}: other trajectories were read")
    assert not wrong
    assert all(counts.sum() == 14 for counts in kept[2][0].values())
    assert kept[2][1].total() == 4


@pytest.mark.unmeasured
@pytest.mark.parametrize("name", FILES)
def test_one_hostile_row_changes_nothing_for_others(name, tmp_path, capfd):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check(name, range(36), tmp_path)
    assert tuple(capfd.readouterr()) == ("", "")


@pytest.mark.audit
@pytest.mark.parametrize("name", FILES)
def test_a_thousand_hostile_rows_change_nothing_for_others(name, tmp_path):
    check(name, range(1000, 2000), tmp_path)


def test_a_reader_that_moves_others_for_one_record_is_caught(tmp_path, monkeypatch):
    def moving(path):
        counts = trips(path, DOMAIN, (("lon", "lat"), ("u", "v")))
        return np.roll(counts, counts.sum())

    monkeypatch.setitem(COUNTS, "trips", moving)
    with pytest.raises(AssertionError, match="counted as trips"):
        check("rows.csv", range(12), tmp_path)
