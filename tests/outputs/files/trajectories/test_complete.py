"""Complete files of trajectories: they come back byte by byte and draw the same; forged ones are refused."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.errors import FileFormatError, SpatialDPError
from spatialdp.outputs.files.geoparquet import _digest, _read
from spatialdp.outputs.files.trajectories.complete import path_columns, path_header, rebuild_paths
from tests.helpers.trajectory_cases import TRAJECTORY_CASES, TrajectorySetting

WALKS = [[0, 1, 2, 10], [63, 62], [9], [8, 0, 1, 9]] * 200


def released(case="trajectories", epsilon=20):
    setting = TrajectorySetting(case, "add-remove")
    return setting.mechanism.release(setting.records(WALKS), setting.domain, epsilon=epsilon, noise=sdp.SeededNoise(1))


@pytest.mark.parametrize("epsilon", [0.01, 20])
@pytest.mark.parametrize("case", TRAJECTORY_CASES)
def test_files_come_back(case, epsilon, tmp_path):
    release = released(case, epsilon)
    release.save(tmp_path / "one.parquet")
    again = sdp.load(tmp_path / "one.parquet")
    assert (again.privacy, repr(again), again.step, again.total) == (
        release.privacy, repr(release), release.step, release.total,
    )  # fmt: skip
    assert again.flows.to_frame().equals(release.flows.to_frame())
    assert again.extents().equals(release.extents())
    again.save(tmp_path / "two.parquet")
    assert (tmp_path / "one.parquet").read_bytes() == (tmp_path / "two.parquet").read_bytes()
    if release.estimate.reachable[3].size:
        one, other = (each.positions(40, noise=sdp.SeededNoise(3)) for each in (release, again))
        assert np.array_equal(one.x, other.x)
        assert np.array_equal(one.starts, other.starts)


def forged(change, case="trajectories"):
    release = released(case)
    header, columns = copy.deepcopy(path_header(release.estimate)), dict(path_columns(release.estimate))
    change(header, columns)
    return rebuild_paths(header, columns, release.domain)


def _number(place, value):
    def change(_, columns):
        columns["estimate"] = columns["estimate"].copy()
        columns["estimate"][place] = value

    return change


CHANGES = {
    "a number is missing": lambda _, columns: columns.update(estimate=columns["estimate"][:-1]),
    "a number too many": lambda _, columns: columns.update(estimate=np.append(columns["estimate"], 1.0)),
    "no numbers": lambda _, columns: columns.update(estimate=columns["estimate"][:0]),
    "a number that is none": _number(3, np.nan),
    "a number without end": _number(3, np.inf),
    "a weight below zero": _number(16 + 18 * 6, -1.0),
    "one cell more was kept": _number(16 + 18 * 6 + 30, 5.0),
    "whole numbers": lambda _, columns: columns.update(estimate=columns["estimate"].astype(int)),
    "a finer system": lambda header, _: header["levels"].update(system=8),
    "a system that is none": lambda header, _: header["levels"].update(system=40),
    "blocks finer than cells": lambda header, _: header["levels"].update(blocks=5),
    "a level that is text": lambda header, _: header["levels"].update(system="3"),
    "longer ways": lambda header, _: header.update(longest=10_000),
    "ways without end": lambda header, _: header.update(longest=10**9),
    "no step of time": lambda header, _: header.update(seconds="0"),
    "a step of time beyond the longest": lambda header, _: header.update(seconds="100000001"),
    "a huge step of time": lambda header, _: header.update(seconds="1" + "0" * 300),
    "a step of time that is none": lambda header, _: header.update(seconds="1/7"),
    "a law that is none": lambda header, _: header["noise"]["extents"].update(variance=-1.0),
    "no law": lambda header, _: header["noise"].pop("ends"),
    "a scale below zero": lambda header, _: header.update(scale=-1.0),
    "a scale without end": lambda header, _: header.update(scale=1e300),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_forged_files_are_refused(change):
    with pytest.raises((ValueError, KeyError, TypeError, SpatialDPError)):
        forged(change)
    forged(lambda *_: None)


def test_weights_outside_of_the_region_are_refused():
    outside = 4 + 18 * 6 + 55  # two of the four blocks have a part in the region, and cell 55 has none
    assert released("trajectories, region").flows.estimate.places == 2
    with pytest.raises(ValueError, match="kept"):
        forged(_number(outside, 2.0), "trajectories, region")


@pytest.mark.parametrize("value", [-1e45, -1.0, 0.0, 1e45])
@pytest.mark.parametrize("part", range(6))
def test_any_numbers_behave(part, value):
    """Whatever the numbers of one group are, a release draws cells of its system, or says why not."""
    estimate = released().estimate
    ends = np.cumsum([0, 16, 36, 72, estimate.cells.size, estimate.moves.size, 7])
    if part == 3 and value != 1e45:
        return
    columns = path_columns(estimate)
    columns["estimate"][ends[part] : ends[part + 1]] = np.where(
        columns["estimate"][ends[part] : ends[part + 1]] == 0, 0.0, value
    )
    model = rebuild_paths(path_header(estimate), columns, TrajectorySetting("trajectories", "add-remove").domain)
    release = sdp.TrajectoryRelease(model.domain, released().privacy, model)
    assert np.isfinite(release.lengths()[["low", "high"]].to_numpy()).all()
    try:
        drawn = release.positions(50, noise=sdp.SeededNoise(1))
        release.positions(noise=sdp.SeededNoise(1))  # the total may be absurd
    except SpatialDPError:  # in words of ours
        return
    for each in (drawn.x, drawn.y):
        assert ((each >= 0) & (each <= 8)).all()


def test_damaged_and_altered_files_are_refused(tmp_path):
    path = tmp_path / "one.parquet"
    released().save(path)
    table, header = _read(path)
    assert header["sha256"] == _digest(header, table)
    content = bytearray(path.read_bytes())
    content[200] ^= 1
    path.write_bytes(content)
    with pytest.raises(FileFormatError):
        sdp.load(path)
