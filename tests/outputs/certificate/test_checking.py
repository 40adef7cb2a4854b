"""Part 7: digests and entries are the true ones, and the commands verify them."""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace
from pathlib import Path

import spatialdp as sdp
from spatialdp._version import __version__
from tests.helpers.certificates import RELEASES, part, text_of
from tests.helpers.commands import run
from tests.helpers.ledgers import pay

ROOT = Path(__file__).parents[3]


def facts(text):
    return dict(re.findall(r"^- \*\*(.*?)\*\*: (.*)$", text, re.MULTILINE))


def files(text):
    rows = re.findall(r"^\| (\S.*?) *\| ([0-9a-f]{64}) \| (.*?) *\|$", text, re.MULTILINE)
    return {name: (digest, known) for name, digest, known in rows}


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_files_have_their_digests_and_say_whether_the_ledger_knows_them(ledger, tmp_path):
    release = RELEASES["grid"](account=ledger.open("crashes", epsilon=2))
    release.save(tmp_path / "map.parquet")
    release.save(tmp_path / "map.gpkg")
    sdp.load(tmp_path / "map.parquet").save(tmp_path / "copy.geojson")  # a loaded release tells no ledger
    given = [tmp_path / "map.parquet", tmp_path / "copy.geojson"]
    assert files(part(text_of(release, files=given), 7)) == {
        "map.parquet": (digest(tmp_path / "map.parquet"), "noted in the ledger, too"),
        "copy.geojson": (digest(tmp_path / "copy.geojson"), "not noted in the ledger"),
        "map.gpkg": (digest(tmp_path / "map.gpkg"), "noted in the ledger"),
    }


def test_without_a_file_the_page_says_so():
    text = part(text_of(RELEASES["grid"]()), 7)
    assert "No file was at hand" in text
    assert "sha256sum RELEASE.parquet" in text


def test_without_a_ledger_files_have_their_digests_alone(tmp_path):
    release = RELEASES["grid"]()
    release.save(tmp_path / "map.parquet")
    text = part(text_of(release, files=[tmp_path / "map.parquet"]), 7)
    assert files(text) == {"map.parquet": (digest(tmp_path / "map.parquet"), "")}
    assert "ledger check" not in text


def test_commands_name_the_files_that_the_ledger_knows(ledger, tmp_path):
    release = RELEASES["grid"](account=ledger.open("crashes", epsilon=2))
    release.save(tmp_path / "map.parquet")
    assert "spatialdp ledger check LEDGER map.parquet" in part(text_of(release), 7)


def test_the_entry_and_the_head_are_those_of_the_ledger(ledger, tmp_path):
    account = ledger.open("crashes", epsilon=2)
    release = RELEASES["grid"](account=account)
    last = pay(account, 0.5)
    assert facts(part(text_of(release), 7)) == {
        "Ledger": ledger.id,
        "Entry": "2",
        "Hash of the entry": ledger.entries[1].hash,
        "Last entry of the ledger": "3",
        "Hash of the last entry": last.hash,
    }
    release.save(tmp_path / "map.parquet")
    loaded = facts(part(text_of(sdp.load(tmp_path / "map.parquet")), 7))
    assert list(loaded) == ["Ledger", "Entry", "Hash of the entry"]


def test_the_commands_run(ledger, folder, tmp_path, monkeypatch):
    release = RELEASES["grid"](account=ledger.open("crashes", epsilon=2))
    release.save(tmp_path / "map.parquet")
    commands = re.search(r"```sh\n(.*?)```", part(text_of(release, files=[tmp_path / "map.parquet"]), 7), re.DOTALL)[1]
    assert commands.splitlines() == [
        "sha256sum map.parquet",
        "spatialdp info map.parquet",
        "spatialdp ledger check LEDGER map.parquet",
    ]
    monkeypatch.chdir(tmp_path)
    assert release.privacy.ledger.hash in run("info", "map.parquet").output
    assert "paid for" in run("ledger", "check", folder / "privacy.ledger", "map.parquet").output


def test_the_page_has_the_digest_of_the_audit_of_its_version():
    digest = hashlib.sha256((ROOT / "docs" / "audit.md").read_bytes()).hexdigest()
    text = part(text_of(RELEASES["grid"]()), 7)
    assert f"The report of the audit of spatialdp {__version__}, docs/audit.md, has the SHA-256 {digest}." in text
    assert "they are no signatures" in text


def test_releases_of_other_versions_have_no_digest_of_the_audit():
    release = RELEASES["grid"]()
    older = replace(release, privacy=replace(release.privacy, version="0.0.9"))
    text = part(text_of(older), 7)
    assert f"The release was made by spatialdp 0.0.9 and this page by {__version__}" in text
    assert "docs/audit.md, has the SHA-256" not in text
