"""Trials in a file: resumed is uninterrupted, and no other file is touched."""

from __future__ import annotations

import json
import math
import os
import stat
import tempfile
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import spatialdp as sdp
from spatialdp.errors import FileFormatError
from spatialdp.evaluation.cache import TrialCache
from spatialdp.evaluation.metrics import METRICS
from spatialdp.mechanisms import PreparedRelease
from tests.helpers.evaluations import CELLS, XY, run


def test_parallel_is_serial_and_resumed_is_uninterrupted(tmp_path):
    everything = [*METRICS, "earth_mover"]
    cache = tmp_path / "trials.jsonl"
    whole = run(metrics=everything, cache=cache)
    pd.testing.assert_frame_equal(whole, run(metrics=everything, processes=2), check_exact=True)
    lines = cache.read_bytes().splitlines(keepends=True)
    assert len(lines) == 1 + 5 * 2 * 3
    cache.write_bytes(b"".join(lines[:9]) + lines[9][:40])  # interrupted in the middle of a line
    pd.testing.assert_frame_equal(whole, run(metrics=everything, cache=cache), check_exact=True)
    assert sorted(cache.read_bytes().splitlines()) == sorted(line.rstrip() for line in lines)


def test_an_interruption_keeps_what_was_done(tmp_path, monkeypatch):
    cache, done = tmp_path / "trials.jsonl", []

    def interrupted(self, *arguments, **options):
        if len(done) == 4:
            raise KeyboardInterrupt
        done.extend([self] * isinstance(self.mechanism, sdp.Quadtree))
        return release(self, *arguments, **options)

    release = PreparedRelease.release
    monkeypatch.setattr(PreparedRelease, "release", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(sdp.Quadtree(5), cache=cache)
    monkeypatch.undo()
    assert len(cache.read_text().splitlines()) == 1 + 3  # one release was a silent one
    pd.testing.assert_frame_equal(run(sdp.Quadtree(5), cache=cache), run(sdp.Quadtree(5)))


def test_a_cache_grows_with_the_evaluation(tmp_path):
    cache = tmp_path / "trials.jsonl"
    run(sdp.Quadtree(5), trials=1, epsilons=1, cache=cache)
    before = cache.read_bytes()
    run(trials=2, epsilons=(1, 3), cache=cache)
    after = cache.read_bytes()
    assert after.startswith(before)
    assert len(after.splitlines()) == 1 + 5 * 2 * 2
    run({"quadtree": sdp.Quadtree(4)}, trials=1, epsilons=1, cache=cache)  # same label, another mechanism
    assert len(cache.read_bytes().splitlines()) == 1 + 5 * 2 * 2 + 2  # with the flat baseline on its grid


@pytest.mark.parametrize(
    "changes",
    [{"xy": XY[1:]}, {"queries": CELLS}, {"seed": 2}, {"metrics": ["rmse"]}, {"floor": 0.01}],
    ids=["records", "queries", "seed", "metrics", "floor"],
)
def test_a_foreign_cache_is_refused(tmp_path, changes):
    cache = tmp_path / "trials.jsonl"
    run(sdp.Quadtree(3), trials=1, cache=cache)
    before = cache.read_bytes()
    with pytest.raises(FileFormatError, match="belongs to other"):
        run(**({"mechanisms": sdp.Quadtree(3), "trials": 1, "cache": cache} | changes))
    assert cache.read_bytes() == before


@pytest.mark.parametrize("content", [b"x,y\n1,2\n", b'{"a": 1}\n', b"\xff\xfe", b"half a line"])
def test_other_files_are_not_overwritten(tmp_path, content):
    path = tmp_path / "points.csv"
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match="give another cache file"):
        run(cache=path)
    assert path.read_bytes() == content


def test_two_evaluations_do_not_share_a_cache_at_once(tmp_path):
    from spatialdp.evaluation.cache import TrialCache

    path = tmp_path / "trials.jsonl"
    late = TrialCache(path, "context", "note")
    with TrialCache(path, "context", "note") as first:
        first.add("one", [(0, "rmse", 1.0)])
        with pytest.raises(FileFormatError, match="in use by another evaluation"):
            late.__enter__()
    with late:
        assert late.done == {"one": [(0, "rmse", 1.0)]}
        late.add("two", [(0, "rmse", 2.0)])
    assert list(TrialCache(path, "context", "note").done) == ["one", "two"]


def test_a_damaged_cache_is_refused(tmp_path):
    cache = tmp_path / "trials.jsonl"
    run(sdp.Quadtree(3), trials=2, cache=cache)
    lines = cache.read_bytes().splitlines(keepends=True)
    cache.write_bytes(b"".join([lines[0], b'{"trial": "x", "measured": [[1]]}\n', *lines[2:]]))
    with pytest.raises(FileFormatError, match="damaged"):
        run(sdp.Quadtree(3), trials=2, cache=cache)


results = st.lists(
    st.tuples(st.integers(-1, 9), st.text(max_size=5), st.floats(allow_nan=False, allow_infinity=False)), max_size=5
)


@given(st.dictionaries(st.text(max_size=8), results, max_size=4))
def test_numbers_come_back_bit_by_bit(trials):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trials.jsonl"
        with TrialCache(path, "context", "note") as cache:
            for key, measured in trials.items():
                cache.add(key, measured)
        assert TrialCache(path, "context", "note").done == trials
        with TrialCache(path, "context", "note"):
            pass
        assert len(path.read_bytes().splitlines()) == 1 + len(trials)


def test_a_header_that_was_cut_short_is_begun_anew(tmp_path):
    path = tmp_path / "trials.jsonl"
    with TrialCache(path, "context", "note") as cache:
        cache.add("one", [(0, "rmse", math.pi)])
    header = path.read_bytes().splitlines(keepends=True)[0]
    for length in range(len(header)):
        path.write_bytes(header[:length])
        with TrialCache(path, "context", "note") as cache:
            assert cache.done == {}
        assert len(path.read_bytes()) == len(header)
    for other in (b'{"format": "something', header.replace(b"note", b"nota")[:-2], header[:-3] + b"0"):
        path.write_bytes(other)
        with pytest.raises(FileFormatError, match="not a cache of trials"):
            TrialCache(path, "context", "note")
    path.unlink()
    with pytest.raises(FileNotFoundError, match="folder"):
        TrialCache(tmp_path / "no" / "trials.jsonl", "context", "note")


def test_a_cache_is_for_its_owner_and_its_digest_is_salted(tmp_path):
    """Nobody else may read it, and two files do not show whether they are about the same records."""
    headers, mask = [], os.umask(0)
    try:
        for name in ("one.jsonl", "other.jsonl"):
            with TrialCache(tmp_path / name, "digest of the records", "note") as cache:
                cache.add("one", [(0, "rmse", 1.0)])
            assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600
            headers.append(json.loads((tmp_path / name).read_text().splitlines()[0]))
            assert TrialCache(tmp_path / name, "digest of the records", "note").done == {"one": [(0, "rmse", 1.0)]}
            with pytest.raises(FileFormatError, match="belongs to other"):
                TrialCache(tmp_path / name, "another digest", "note")
    finally:
        os.umask(mask)
    assert len({header["salt"] for header in headers}) == 2
    assert len({header["context"] for header in headers}) == 2
    assert "digest of the records" not in str(headers)


def test_a_file_that_was_there_already_is_kept_from_others_too(tmp_path):
    path = tmp_path / "trials.jsonl"
    for _ in range(2):  # an empty file, and a cache
        path.touch()
        path.chmod(0o644)
        with TrialCache(path, "context", "note") as cache:
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
            cache.add("one", [(0, "rmse", 1.0)])
    path.chmod(0o644)
    with pytest.raises(FileFormatError, match="belongs to other"):
        TrialCache(path, "another", "note")
    assert stat.S_IMODE(path.stat().st_mode) == 0o644  # a file that is not this cache's is left alone
