"""Privacy statements in every format, and beside what has no room for them."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

import spatialdp as sdp
from spatialdp.errors import FileFormatError
from spatialdp.outputs.files.statement import read_statement, statement, statement_beside, statement_with_digest
from spatialdp.privacy.statement import Privacy
from tests.helpers.metre_maps import SUFFIXES, release_in_metres, statement_in
from tests.helpers.sources import ZeroNoise


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_format_carries_the_statement(suffix, tmp_path):
    path = tmp_path / f"map{suffix}"
    release = release_in_metres()
    release.save(path)
    assert Privacy.from_json(statement_in(path)) == release.privacy


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("noise", [sdp.SeededNoise(1), ZeroNoise()], ids=["seeded", "none"])
def test_seeded_releases_are_marked_in_every_format(suffix, noise, tmp_path):
    path = tmp_path / f"map{suffix}"
    release_in_metres(noise=noise).save(path)
    said = statement_in(path)
    assert said["private"] is False
    assert suffix == ".parquet" or "NOT PRIVATE" in said["summary"]


def test_a_statement_beside_another_table_is_refused(tmp_path):
    """As a kill between the two files leaves it: a table that is not private must not get a promise by accident."""
    release_in_metres(noise=sdp.SeededNoise(1)).save(tmp_path / "map.csv")
    assert not read_statement(tmp_path / "map.csv").private
    release_in_metres().save(tmp_path / "new.csv")
    (tmp_path / "new.privacy.json").replace(tmp_path / "map.privacy.json")
    with pytest.raises(FileFormatError, match="does not belong to the present content of"):
        read_statement(tmp_path / "map.csv")


def test_statements_beside_are_of_one_content(tmp_path):
    release = release_in_metres()
    held = json.loads(statement_with_digest(b"a table", json.loads(statement(release))))
    assert held["sha256"] == hashlib.sha256(b"a table").hexdigest()
    assert held["summary"] == str(release.privacy)
    (tmp_path / "map.csv").write_bytes(b"a table")
    statement_beside(tmp_path / "map.csv").write_text(json.dumps(held))
    assert read_statement(tmp_path / "map.csv") == release.privacy
    (tmp_path / "map.csv").write_bytes(b"a tab1e")
    with pytest.raises(FileFormatError):
        read_statement(tmp_path / "map.csv")


def test_statements_lie_beside_their_file():
    assert statement_beside(Path("a/roads.csv")) == Path("a/roads.privacy.json")
    assert statement_beside(Path("roads.of.2024.csv")) == Path("roads.of.2024.privacy.json")


@pytest.mark.parametrize("suffix", [".gpkg", ".tif", ".geojson", ".csv", ".txt"])
@pytest.mark.parametrize("content", [b"", b"{}", b'{"privacy": {}}', b"\x00" * 100])
def test_files_that_are_not_ours_have_no_statement(suffix, content, tmp_path):
    path = tmp_path / f"map{suffix}"
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match="statement"):
        read_statement(path)
