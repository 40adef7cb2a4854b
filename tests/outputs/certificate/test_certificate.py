"""The whole page: seven parts for every kind of release, equal bytes, no request, and nothing hostile in it."""

from __future__ import annotations

import base64
import hashlib
import html.parser
import os
import re
from dataclasses import replace
from pathlib import Path
from unittest import mock

import pytest

import spatialdp as sdp
from spatialdp import __version__
from spatialdp.errors import LedgerError, ParameterError
from spatialdp.outputs.certificate.certificate import certificate_text, write_certificate
from tests.helpers.certificates import DOMAIN, RELEASES, UNPAID, every_release, part, running_release, text_of
from tests.helpers.ledgers import pay

HERE = Path(__file__).parent
KINDS = {**RELEASES, "running": running_release}
PARTS = [
    "1. In one paragraph",
    "2. The promise",
    "3. All releases of these records",
    "4. How it was made",
    "5. How exact it is",
    "6. What was assumed",
    "7. To check it",
]


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_of_release_gets_seven_parts_in_this_order(name):
    release = KINDS[name]()
    assert re.findall("^## (.*)$", text_of(release), re.MULTILINE) == PARTS
    assert re.findall("<h2>(.*)</h2>", text_of(release, ".html")) == PARTS


@pytest.mark.parametrize("name", sorted(set(RELEASES) - UNPAID))
def test_every_kind_of_release_shows_the_account_that_paid(name, ledger):
    person = name in ("persons", "shares", "chosen")
    terms = {"unit": "person" if person else "record", "neighbours": "replace" if name == "replace" else "add-remove"}
    account = ledger.open("crashes", epsilon=4, delta=1e-6, pure=2, about="police records", **terms)
    release = RELEASES[name](account=account)
    text = text_of(release)
    assert "the account 'crashes': police records." in part(text, 1)
    assert "(this release)" in part(text, 3)
    assert release.privacy.ledger.hash in part(text, 7)


def test_certificates_of_running_releases_mark_this_release(ledger):
    account = ledger.open("crashes", epsilon=4, delta=1e-6, pure=2)
    release = running_release(account=account)
    assert "(this release)" in part(text_of(release, ledger=ledger), 3)


@pytest.mark.parametrize("suffix", [".html", ".md"])
@pytest.mark.parametrize("name", KINDS)
def test_releases_that_are_not_private_get_a_page_that_says_so_and_nothing_else(name, suffix):
    release = KINDS[name]()
    text = text_of(replace(release, privacy=replace(release.privacy, private=False, ledger=None)), suffix)
    assert text.count("NOT PRIVATE") == 1
    assert not re.search("^## |<h2|<table|☐|- \\[ \\]", text, re.MULTILINE)
    body = text[text.index("<body>") :] if suffix == ".html" else text
    assert len(re.sub(r"<[^>]*>", "", body).split()) < 30


@pytest.mark.parametrize("suffix", [".html", ".md"])
def test_loaded_releases_get_the_page_of_the_release_that_was_saved(suffix, tmp_path, ledger):
    account = ledger.open("crashes", epsilon=40)
    for name in ("grid", "tree", "kd-tree", "field", "zones", "known", "table", "region"):
        path = tmp_path / f"{name}.parquet"
        release = RELEASES[name](account=account)
        release.save(path)
        options = {"ledger": ledger, "files": [path]}
        assert text_of(sdp.load(path), suffix, **options) == text_of(release, suffix, **options)


def test_equal_input_gives_equal_bytes(tmp_path, ledger):
    release = RELEASES["grid"](account=ledger.open("crashes", epsilon=2))
    for name in ("one.html", "two.html", "one.md", "two.md"):
        release.certificate(tmp_path / name)
    assert (tmp_path / "one.html").read_bytes() == (tmp_path / "two.html").read_bytes()
    assert (tmp_path / "one.md").read_bytes() == (tmp_path / "two.md").read_bytes()


@pytest.mark.parametrize("suffix", [".html", ".md"])
def test_golden_page(suffix, ledger, tmp_path):
    """The whole text. `SPATIALDP_WRITE_DOCS=1` writes what it is now; look at the difference."""
    stamp = {"time": "2026-11-02T09:30:00+00:00", "by": "ann", "nonce": "0" * 32}
    with (
        mock.patch("spatialdp.privacy.ledger.books.stamp", return_value=stamp),
        mock.patch("spatialdp.privacy.ledger.entries.stamp", return_value=stamp),
    ):
        account = ledger.open("crashes", epsilon=2, about="police records of crashes, 2024")
        parts = account.partition("state", ["Iowa", "Ohio"])
        pay(parts["Iowa"], 0.5, mechanism="flat")
        pay(parts["Ohio"], 0.25, mechanism="flat")
        ledger.limit("crashes", epsilon=3, who="B. Officer", why="a second map, decided in March")
        release = RELEASES["tree"](account=account)
        release.save(tmp_path / "crashes.parquet")
    known = {
        ledger.id: "0123456789abcdef" * 2,
        hashlib.sha256((tmp_path / "crashes.parquet").read_bytes()).hexdigest(): "5" * 64,
        **{entry.hash: f"{entry.seq:x}" * 64 for entry in ledger.entries},
    }
    text = certificate_text(release, suffix, files=[tmp_path / "crashes.parquet"])
    for found, shown in known.items():
        text = text.replace(found, shown)
    text = text.replace(f"spatialdp {__version__}", "spatialdp VERSION")
    text = re.sub("has the SHA-256 [0-9a-f]{64}", "has the SHA-256 DIGEST", text)
    text = re.sub("<style>.*?</style>", "<style>STYLE</style>", text, flags=re.DOTALL)
    text = re.sub("style-src 'sha256-[^']*'", "style-src 'sha256-STYLE'", text)
    golden = HERE / f"golden{suffix}"
    if os.environ.get("SPATIALDP_WRITE_DOCS"):
        golden.write_text(text, encoding="utf-8")
    assert golden.read_text(encoding="utf-8") == text


# --- what the page may do, and what may stand in it --------------------------------------------------


class Elements(html.parser.HTMLParser):
    """All elements of a page with their attributes, and its text."""

    def __init__(self):
        super().__init__()
        self.found, self.text = [], ""

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text += data


def elements(text):
    parser = Elements()
    parser.feed(text)
    return parser


def test_the_page_makes_no_request_and_runs_nothing(ledger):
    text = certificate_text(RELEASES["grid"](account=ledger.open("crashes", epsilon=2)), ".html")
    page = elements(text)
    tags = {tag for tag, _ in page.found}
    assert not tags & {"script", "link", "img", "iframe", "object", "embed", "form", "a", "base", "svg", "input"}
    assert not [name for _, given in page.found for name in given if name.startswith("on") or name in ("style", "src")]
    (style,) = re.findall("<style>(.*?)</style>", text, re.DOTALL)
    assert not re.search(r"url\(|@import|@font-face|expression", style)
    (policy,) = re.findall('Content-Security-Policy" content="([^"]*)"', text)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    assert "\r" not in text  # browsers change these before they compute a hash
    assert "http" not in text.replace("http-equiv", "")


def test_the_page_is_printed_on_a4_without_torn_rows():
    (style,) = re.findall("<style>(.*?)</style>", certificate_text(RELEASES["grid"](), ".html"), re.DOTALL)
    assert "size: A4" in style
    assert re.search(r"@media print \{.*tr, li, pre, .blanks div \{ break-inside: avoid; \}", style, re.DOTALL)


HOSTILE = [
    "</style><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "<!-- ",
    "[a](javascript:alert(1)) ![b](http://x/y.png) `c` | d \\| e",
    "\u202eevil\u2066\u200b",
    "\x1b[2J\x07\x00",
    "a\r\n\r\n# owned\n- [x] signed",
    "\ud800",
    "x" * 10**6,
    "${policy} {0} %s",
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize("suffix", [".html", ".md"])
def test_foreign_text_stays_text_that_can_be_seen(text, suffix):
    """Parameters, steps, levels and coordinate systems of a forged file."""
    release = RELEASES["grid"]()
    privacy = replace(
        release.privacy,
        parameters={text: text, "shape": {text: [text]}, "law": text, "known": {text: {text: 1}}},
        budget={text: release.privacy.epsilon},
        mechanism=text,
        version=text,
    )
    domain = replace(release.domain)
    object.__setattr__(domain, "crs", text)
    page = certificate_text(replace(release, privacy=privacy, domain=domain), suffix)
    assert len(page) < 60_000
    page.encode()
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", page)
    if suffix == ".html":
        tags = [tag for tag, _ in elements(page).found]
        assert tags.count("script") == 0
        assert tags.count("img") == 0
        assert tags.count("style") == 1
        assert "<!--" not in page
    else:
        assert not re.search(r"(?<!\\)[<`]", re.sub(r"^```.*?^```$", "", page, flags=re.DOTALL | re.MULTILINE))
        assert not re.search(r"(?<!\\)\]\(", page)
        assert "\n# owned" not in page
        assert "- [x]" not in page


def test_foreign_names_of_accounts_and_parts_stay_text(ledger):
    name = "<b>&</b> | `x` *y* [z](q)"
    account = ledger.open(name, epsilon=2, about=f"{name} records")
    part_of = account.partition(name, [name])[name]
    release = RELEASES["grid"](account=part_of)
    ledger.limit(name, epsilon=3, who=name, why=name)
    page = certificate_text(release, ".html", ledger=ledger)
    assert "<b>" not in page
    assert page.count("&lt;b&gt;&amp;&lt;/b&gt;") >= 6
    markdown = certificate_text(release, ".md", ledger=ledger)
    assert not re.search(r"(?<!\\)<b>|(?<!\\)\[z", markdown)
    assert name in elements(page).text


def test_files_with_foreign_names_stay_text(tmp_path):
    path = tmp_path / "a`b <i> 'c' $(d).parquet"
    release = RELEASES["grid"]()
    release.save(path)
    assert "<i>" not in certificate_text(release, ".html", files=[path])
    command = "'a`b <i> '\"'\"'c'\"'\"' $(d).parquet'"
    assert f"sha256sum {command}" in certificate_text(release, ".md", files=[path])


FORBIDDEN = re.compile(r"\b(anonym\w*|legal\w*|compl(y|ies|iant)|gdpr|strong|weak|harmless)\b", re.IGNORECASE)


@pytest.mark.parametrize("name", KINDS)
def test_pages_claim_nothing_that_is_not_theirs(name):
    assert not FORBIDDEN.search(text_of(KINDS[name]()))
    assert FORBIDDEN.search("These data are anonymous.")


@pytest.mark.parametrize("name", KINDS)
def test_pages_sign_nothing(name):
    text = part(text_of(KINDS[name]()), 6)
    assert text.count("- [ ] ") >= 5
    assert "[x]" not in text
    assert re.findall("^(.*): _+$", text, re.MULTILINE)[-3:] == ["Name and role", "Place and date", "Signature"]


# --- files and errors --------------------------------------------------------------------------------


def test_files_are_written_whole_and_not_replaced_unasked(tmp_path):
    release, path = RELEASES["grid"](), tmp_path / "page.html"
    release.certificate(path)
    with pytest.raises(FileExistsError):
        release.certificate(path)
    release.certificate(path, overwrite=True)
    full = mock.patch("spatialdp._support.atomic._written", side_effect=OSError(28, "No space left"))
    with full, pytest.raises(OSError, match="No space left"):
        release.certificate(tmp_path / "other.html")
    assert [each.name for each in tmp_path.iterdir()] == ["page.html"]


def test_other_endings_are_refused(tmp_path):
    with pytest.raises(ParameterError, match=r"certificate.pdf does not end in .html or .md"):
        write_certificate(RELEASES["grid"](), tmp_path / "certificate.pdf")


def test_a_ledger_that_did_not_pay_is_refused(ledger, tmp_path, folder):
    account = ledger.open("crashes", epsilon=2)
    with pytest.raises(ParameterError, match="no entry of a ledger paid for this release"):
        RELEASES["grid"]().certificate(tmp_path / "page.html", ledger=ledger)
    with pytest.raises(LedgerError, match="another ledger"):
        RELEASES["grid"](account=account).certificate(tmp_path / "page.html", ledger=sdp.Ledger(folder / "other"))
    with pytest.raises(ParameterError, match="ledger is a str"):
        RELEASES["grid"](account=account).certificate(tmp_path / "page.html", ledger="privacy.ledger")
    assert not list(tmp_path.iterdir())


def test_a_release_that_is_not_private_needs_no_ledger(ledger):
    release = sdp.Flat((2, 2)).release([], DOMAIN, epsilon=1, noise=sdp.SeededNoise(1))
    assert "NOT PRIVATE" in text_of(release, ledger=ledger)


def test_there_is_a_release_of_every_kind_of_estimate():
    from spatialdp.estimates.base import KINDS as ESTIMATES

    assert {getattr(each, "estimate", each).kind for each in every_release().values() if hasattr(each, "estimate")} == {
        *ESTIMATES
    }
