"""Part 7 of a certificate: how anybody can check it, by digests and by commands."""

from __future__ import annotations

import shlex
from importlib import resources

from spatialdp._version import __version__
from spatialdp.outputs.certificate.account import AccountState
from spatialdp.outputs.certificate.pages.blocks import Block, Command, Facts, Paragraph, Section, Table, plain
from spatialdp.outputs.certificate.subject import Subject
from spatialdp.privacy.receipt import Receipt

__all__ = ["checking_section"]


def checking_section(subject: Subject) -> Section:
    """Return digests of the files, the entry of the ledger, and the commands that verify them."""
    receipt, account = subject.privacy.ledger, subject.account
    blocks: list[Block] = [*_files(subject), *([] if receipt is None else [Facts(tuple(_receipt(receipt, account)))])]
    blocks += [Paragraph("These commands verify the release:"), Command(_commands(subject))]
    return Section("7. To check it", (*blocks, Paragraph(f"{_TESTED} {_audited(subject.privacy.version)} {_DIGESTS}")))


_TESTED = (
    "How spatialdp tests its promises is written in docs/audit.md and docs/threat-model.md of its source, for each "
    "version."
)
_DIGESTS = "Digests tell whether files were changed; they are no signatures, and say nothing about who made a file."


def _audited(version: str) -> str:
    """Return the digest of the audit's report, if it is known for the version that made the release.

    `python -m tests.audit` writes the digest beside the report.
    """
    if version != __version__:
        return (
            f"The release was made by spatialdp {plain(version)} and this page by {__version__}, so the page has no "
            "digest of the report for the release."
        )
    asset = resources.files("spatialdp.outputs.certificate") / "assets" / "audit.sha256"
    digest = asset.read_text(encoding="ascii").split()[0]
    return f"The report of the audit of spatialdp {__version__}, docs/audit.md, has the SHA-256 {digest}."


def _files(subject: Subject) -> list[Block]:
    """Return the SHA-256 of each file that is known, and whether the ledger knows it."""
    noted = [] if subject.account is None else subject.account.files()
    rows = [(name, digest, _known(digest, noted, subject.account)) for name, digest in subject.files]
    given = {digest for _, digest in subject.files}
    rows += [(name, digest, "noted in the ledger") for name, digest in noted if digest not in given]
    if not rows:
        return [Paragraph("No file was at hand when this page was made, so it has no digest of the release's file.")]
    return [Table(("file", "SHA-256", ""), tuple(rows))]


def _known(digest: str, noted: list[tuple[str, str]], account: AccountState | None) -> str:
    if account is None:
        return ""
    return "noted in the ledger, too" if any(digest == each for _, each in noted) else "not noted in the ledger"


def _receipt(receipt: Receipt, account: AccountState | None) -> list[tuple[str, str]]:
    rows = [("Ledger", receipt.ledger), ("Entry", f"{receipt.entry:,}"), ("Hash of the entry", receipt.hash)]
    head = None if account is None else account.checked.head
    if head is None:
        return rows
    return [*rows, ("Last entry of the ledger", f"{head.entry:,}"), ("Hash of the last entry", head.hash)]


def _commands(subject: Subject) -> tuple[str, ...]:
    noted = [] if subject.account is None else subject.account.files()
    names = [name for name, _ in subject.files or noted] or ["RELEASE.parquet"]
    files = " ".join(map(shlex.quote, names))
    ledger = [f"spatialdp ledger check LEDGER {files}"] if subject.privacy.ledger is not None else []
    return (f"sha256sum {files}", *(f"spatialdp info {shlex.quote(name)}" for name in names), *ledger)
