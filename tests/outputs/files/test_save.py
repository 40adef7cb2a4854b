"""Saving: completely or not at all, and never over what is there unless one says so."""

from __future__ import annotations

import errno
import hashlib
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp._support.atomic import write_all
from spatialdp.errors import FileFormatError, LedgerError, ParameterError
from spatialdp.outputs.files.save import check_target, contents
from spatialdp.outputs.files.statement import read_statement
from tests.helpers.metre_maps import SUFFIXES, release_in_metres, statement_in
from tests.helpers.release_files import make


def test_existing_files_are_kept_unless_one_says_so(saved):
    before = saved.read_bytes()
    with pytest.raises(FileExistsError, match="overwrite=True"):
        make().save(saved)
    assert saved.read_bytes() == before
    make().save(saved, overwrite=True)
    assert saved.read_bytes() != before


def test_only_known_formats_and_only_where_there_is_a_folder(tmp_path):
    with pytest.raises(ParameterError, match=r"\.parquet"):
        make().save(tmp_path / "release.shp")
    with pytest.raises(FileNotFoundError, match="make it first"):
        make().save(tmp_path / "no" / "release.parquet")
    assert os.listdir(tmp_path) == []


def test_failed_writing_leaves_nothing_behind(saved, tmp_path, monkeypatch):
    before = saved.read_bytes()

    def fail(_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        write_all({saved: b"half"}, overwrite=True)
    assert saved.read_bytes() == before
    assert os.listdir(tmp_path) == [saved.name]


def test_file_systems_without_nameless_files_get_whole_files_too(tmp_path, monkeypatch):
    """Some know of such files only that they have none."""
    opened = os.open

    def refusing(path, flags, *rest, **options):
        if flags & os.O_TMPFILE == os.O_TMPFILE:
            raise OSError(errno.EOPNOTSUPP, "Operation not supported")
        return opened(path, flags, *rest, **options)

    monkeypatch.setattr(os, "open", refusing)
    for release in (make(), make()):
        release.save(tmp_path / "release.parquet", overwrite=True)
        assert np.array_equal(sdp.load(tmp_path / "release.parquet").estimate.values, release.estimate.values)
    assert os.listdir(tmp_path) == ["release.parquet"]


def test_an_interruption_between_two_files_leaves_neither(tmp_path, monkeypatch):
    linked, places = os.link, []

    def link(source, target, **options):
        if places:
            raise KeyboardInterrupt
        linked(source, target, **options)
        places.append(target)

    monkeypatch.setattr(os, "link", link)
    with pytest.raises(KeyboardInterrupt):
        make().save(tmp_path / "release.csv")
    assert places
    assert os.listdir(tmp_path) == []


def test_folders_one_may_not_write_in_are_refused_before_anything_is_written(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_, **__: False)  # root, who runs tests in containers, may write anywhere
    with pytest.raises(PermissionError, match="you may not write in the folder"):
        make().save(tmp_path / "release.parquet")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_nothing_is_overwritten_unasked(suffix, tmp_path):
    path = tmp_path / f"map{suffix}"
    release_in_metres().save(path)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    with pytest.raises(FileExistsError, match="overwrite=True"):
        release_in_metres().save(path)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before
    release_in_metres(noise=sdp.SeededNoise(2)).save(path, overwrite=True)
    assert statement_in(path)["private"] is False
    assert set(os.listdir(tmp_path)) == set(before)


def test_an_old_statement_is_not_overwritten_unasked(tmp_path):
    (tmp_path / "map.privacy.json").write_text("mine")
    with pytest.raises(FileExistsError, match=r"map\.privacy\.json exists"):
        release_in_metres().save(tmp_path / "map.csv")
    assert os.listdir(tmp_path) == ["map.privacy.json"]


def test_bad_names_are_refused_with_what_is_known(tmp_path):
    for name in ("map.shp", "map", "map.parquet.gz"):
        with pytest.raises(ParameterError, match=r"one of \.parquet \(GeoParquet\), \.gpkg"):
            release_in_metres().save(tmp_path / name)
    (tmp_path / "folder.gpkg").mkdir()
    with pytest.raises(IsADirectoryError, match="is a folder"):
        release_in_metres().save(tmp_path / "folder.gpkg", overwrite=True)
    with pytest.raises(FileNotFoundError, match="make it first"):
        release_in_metres().save(tmp_path / "no" / "map.gpkg")
    assert os.listdir(tmp_path) == ["folder.gpkg"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_folders_one_may_not_write_in(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(PermissionError, match="you may not write"):
        release_in_metres().save(tmp_path / "map.gpkg")


@pytest.mark.parametrize("named", [False, True], ids=["nameless", "named"])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_full_disk_leaves_what_was_there(suffix, named, tmp_path, monkeypatch):
    if named:
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    path = tmp_path / f"map{suffix}"
    release_in_metres().save(path)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        for target in (path, tmp_path / f"new{suffix}"):
            with pytest.raises(OSError, match=r"could not be written .*nothing was left behind") as caught:
                release_in_metres().save(target, overwrite=True)
            assert caught.value.errno == errno.EFBIG
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_a_pair_is_put_in_place_together_or_not_at_all(tmp_path, monkeypatch):
    real, calls = os.link, []

    def link(source, target, **options):
        calls.append(target)
        if len(calls) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(source, target, **options)

    monkeypatch.setattr(os, "link", link)
    with pytest.raises(OSError, match=r"No space left on device.*nothing was left behind"):
        release_in_metres().save(tmp_path / "map.csv")
    assert len(calls) == 2
    assert os.listdir(tmp_path) == []
    calls.append("")
    release_in_metres().save(tmp_path / "map.csv")
    calls.clear()
    with pytest.raises(OSError, match=r"but .*map.privacy.json had been replaced already"):
        release_in_metres().save(tmp_path / "map.csv", overwrite=True)
    with pytest.raises(
        FileFormatError, match="does not belong to the present content of"
    ):  # and the old table is not taken for the new
        read_statement(tmp_path / "map.csv")


@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="files without a name are Linux's")
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_kill_leaves_the_old_file_or_nothing(suffix, tmp_path):
    # Killed in the middle of the last write, when all of the file but its place is there.
    path = tmp_path / f"map{suffix}"
    code = f"""
import os, signal, numpy as np, spatialdp as sdp
release = sdp.Flat((8, 8)).release([], sdp.Domain((0, 0, 1, 1), crs="EPSG:4326"), epsilon=1)
os.fsync = lambda handle: os.kill(os.getpid(), signal.SIGKILL)
release.save({str(path)!r}, overwrite=True)
"""
    for old in (None, b"old"):
        if old:
            path.write_bytes(old)
        done = subprocess.run([sys.executable, "-c", code], check=False)
        assert done.returncode == -signal.SIGKILL
        assert os.listdir(tmp_path) == ([path.name] if old else [])
        assert not old or path.read_bytes() == old


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_what_is_saved_is_what_was_made(suffix, tmp_path):
    """`contents` makes the bytes, `save` writes these and no others."""
    release, path = release_in_metres(), tmp_path / f"map{suffix}"
    made = contents(release, path)
    assert list(made)[-1] == path  # a statement beside it comes first
    release.save(path)
    assert {file: file.read_bytes() for file in tmp_path.iterdir()} == made


def test_names_are_checked_without_a_release(tmp_path):
    (tmp_path / "map.csv").write_text("mine")
    (tmp_path / "other.privacy.json").write_text("mine")
    for name in ("map.csv", "other.csv"):
        with pytest.raises(FileExistsError):
            check_target(tmp_path / name)
        assert check_target(tmp_path / name, overwrite=True) == tmp_path / name
    assert check_target(str(tmp_path / "new.GPKG")) == tmp_path / "new.GPKG"
    with pytest.raises(ParameterError, match="known format"):
        check_target(Path("map.shp"))


# --- an account paid ---------------------------------------------------------------------------------


@pytest.fixture
def account(tmp_path):
    folder = tmp_path / "ledger"
    folder.mkdir()
    return sdp.Ledger(folder / "privacy.ledger").open("crashes", epsilon=2)


def digests(account):
    """The files that the ledger knows, by their names."""
    notes = [entry.facts for entry in account.entries if entry.kind == "released"]
    return {name: digest for note in notes for name, digest in note["files"].items()}


@pytest.mark.parametrize("suffix", [".parquet", ".gpkg", ".geojson", ".csv"])
def test_a_paid_release_tells_its_ledger_what_was_saved(account, suffix, tmp_path):
    domain = sdp.Domain((0, 0, 1, 1), crs="EPSG:4326")
    release = sdp.Flat((2, 2)).release([[0.1, 0.2]], domain, epsilon=1, account=account)
    spent, path = account.spent, tmp_path / f"map{suffix}"
    release.rounded().save(path)  # a release that was changed is paid for, too
    files = [path, *([tmp_path / "map.privacy.json"] if suffix == ".csv" else [])]
    assert digests(account) == {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}
    assert account.spent == spent
    assert statement_in(path)["ledger"] == release.privacy.ledger.to_json()


def test_a_saved_table_tells_its_digest_to_the_account(account, tmp_path):
    frame = sdp.Frame(sdp.Domain((0, 0, 1, 1)).grid((2, 1)))
    sdp.Table().release([[0.1, 0.1]], frame, epsilon=1, account=account).save(tmp_path / "table.parquet")
    assert list(digests(account)) == ["table.parquet"]


def test_a_release_that_was_loaded_knows_no_account(account, tmp_path):
    sdp.Flat((2, 2)).release([], sdp.Domain((0, 0, 1, 1)), epsilon=1, account=account).save(tmp_path / "map.parquet")
    sdp.load(tmp_path / "map.parquet").save(tmp_path / "copy.parquet")
    assert list(digests(account)) == ["map.parquet"]


def test_names_that_no_entry_can_hold_are_made_printable(account, tmp_path):
    release = sdp.Flat((2, 2)).release([], sdp.Domain((0, 0, 1, 1)), epsilon=1, account=account)
    release.save(tmp_path / "\x1bmap.parquet")
    release.save(tmp_path / f"{'m' * 201}.parquet")
    assert list(digests(account)) == ["\ufffdmap.parquet", "m" * 190]


def test_a_ledger_that_cannot_note_a_file_does_not_take_it_away(account, tmp_path):
    release = sdp.Flat((2, 2)).release([], sdp.Domain((0, 0, 1, 1)), epsilon=1, account=account)
    (tmp_path / "ledger" / "privacy.ledger").unlink()
    with pytest.raises(LedgerError, match=r"map.parquet is written, and was paid for"):
        release.save(tmp_path / "map.parquet")
    assert sdp.load(tmp_path / "map.parquet").privacy == release.privacy
