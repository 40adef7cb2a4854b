"""`spatialdp certificate`: a page about a release, from its file and its ledger."""

from __future__ import annotations

import hashlib

import pytest

import spatialdp as sdp
from tests.helpers.certificates import RELEASES, text_of
from tests.helpers.commands import run
from tests.privacy.ledger.conftest import folder, ledger

__all__ = ["folder", "ledger"]


@pytest.fixture
def paid(ledger, tmp_path):
    """The file of a release that an account paid for."""
    path = tmp_path / "map.parquet"
    RELEASES["tree"](account=ledger.open("crashes", epsilon=2, about="police records")).save(path)
    return path


@pytest.mark.parametrize("suffix", [".html", ".md"])
def test_the_page_is_that_of_the_library(paid, ledger, folder, suffix, tmp_path):
    out = tmp_path / f"page{suffix}"
    result = run("certificate", paid, "--ledger", folder / "privacy.ledger", "-o", out)
    assert result.output == ""
    assert out.read_text(encoding="utf-8") == _expected(paid, suffix, ledger)


def _expected(path, suffix, ledger):
    from spatialdp.outputs.certificate.certificate import certificate_text

    return certificate_text(sdp.load(path), suffix, ledger=ledger, files=[path])


def test_without_an_output_it_is_printed_as_markdown(paid, ledger, folder):
    printed = run("certificate", paid, "--ledger", folder / "privacy.ledger").stdout
    assert printed == _expected(paid, ".md", ledger)
    assert hashlib.sha256(paid.read_bytes()).hexdigest() in printed


def test_without_a_ledger_it_says_what_is_not_known(paid):
    printed = run("certificate", paid).stdout
    assert "the ledger was not at hand" in printed
    assert printed == _expected(paid, ".md", None)


def test_releases_that_are_not_private_say_so(tmp_path):
    release = sdp.Flat((2, 2)).release([], sdp.Domain((0, 0, 1, 1)), epsilon=1, noise=sdp.SeededNoise(1))
    release.save(tmp_path / "map.parquet")
    assert run("certificate", tmp_path / "map.parquet").stdout == text_of(release)


def test_a_ledger_is_never_made(paid, folder):
    before = sorted(folder.iterdir())
    error = run("certificate", paid, "--ledger", folder / "other.ledger", code=2).stderr
    assert "there is no ledger" in error
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-o", "page.pdf"], "must end in one of .html, .md"),
        (["-o", "map.parquet"], "must end in one of .html, .md"),
        (["-o", "missing/page.html"], "there is no folder missing"),
    ],
)
def test_bad_outputs_are_refused(paid, options, message, monkeypatch):
    monkeypatch.chdir(paid.parent)
    assert message in run("certificate", paid, *options, code=2).stderr


def test_files_that_are_no_complete_release_are_refused(paid, tmp_path):
    sdp.load(paid).save(tmp_path / "map.geojson")
    assert "load the GeoParquet" in run("certificate", tmp_path / "map.geojson", code=2).stderr


def test_an_existing_page_is_replaced_with_force_only(paid, tmp_path):
    out = tmp_path / "page.md"
    out.write_text("mine", encoding="utf-8")
    assert "replace the file with --force" in run("certificate", paid, "-o", out, code=2).stderr
    assert out.read_text(encoding="utf-8") == "mine"
    run("certificate", paid, "-o", out, "--force")
    assert out.read_text(encoding="utf-8") != "mine"


def test_a_ledger_that_did_not_pay_is_refused_in_options(tmp_path, ledger, folder):
    sdp.Flat((2, 2)).release([], sdp.Domain((0, 0, 1, 1)), epsilon=1).save(tmp_path / "map.parquet")
    error = run("certificate", tmp_path / "map.parquet", "--ledger", folder / "privacy.ledger", code=2).stderr
    assert "--ledger is given, but no entry of a ledger paid for this release" in " ".join(error.split())
