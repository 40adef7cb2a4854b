"""What does the person responsible for privacy get? One page about a release, in seven parts: `write_certificate`.

The page is made from the privacy statement, the entries of the ledger and public facts alone: it costs nothing, and it
is as public as these. It needs no record, makes no request, and has no date of its own, so that equal input gives equal
bytes. A release that is not private gets a page that says so, and nothing else. The page states what spatialdp knows,
leaves room for what only people know, and is not signed by it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from spatialdp._support.atomic import check_place, write_all
from spatialdp._version import __version__
from spatialdp.errors import ParameterError
from spatialdp.outputs.certificate.account import account_section, account_state
from spatialdp.outputs.certificate.assumptions import assumptions_section
from spatialdp.outputs.certificate.checking import checking_section
from spatialdp.outputs.certificate.method import exactness_section, method_section
from spatialdp.outputs.certificate.pages.blocks import Page
from spatialdp.outputs.certificate.pages.html_page import html_page
from spatialdp.outputs.certificate.pages.markdown_page import markdown_page
from spatialdp.outputs.certificate.promise import promise_section, short_section
from spatialdp.outputs.certificate.subject import Subject
from spatialdp.privacy.ledger.account import Keeper
from spatialdp.privacy.statement import Privacy
from spatialdp.wording import either, parameter

__all__ = ["SUFFIXES", "certificate_page", "certificate_text", "write_certificate"]

_WRITERS: dict[str, Callable[[Page], str]] = {".html": html_page, ".md": markdown_page}
SUFFIXES = tuple(_WRITERS)


def write_certificate(
    release: Any,
    path: str | os.PathLike[str],
    *,
    ledger: Keeper | None = None,
    files: Iterable[str | os.PathLike[str]] = (),
    overwrite: bool = False,
) -> None:
    """Write the certificate of a release, as a web page or as Markdown; see `Release.certificate`."""
    target = Path(path)
    if target.suffix.lower() not in _WRITERS:
        raise ParameterError(
            f"{target.name} does not end in {' or '.join(SUFFIXES)}, which a certificate is written as; give a name "
            "such as certificate.html."
        )
    check_place(target, overwrite=overwrite)
    text = certificate_text(release, target.suffix.lower(), ledger=ledger, files=files)
    write_all({target: text.encode()}, overwrite=overwrite)


def certificate_text(
    release: Any, suffix: str, *, ledger: Keeper | None = None, files: Iterable[str | os.PathLike[str]] = ()
) -> str:
    """Return the certificate as the text that a file with this suffix has.

    Examples
    --------
    >>> import spatialdp as sdp
    >>> release = sdp.Flat(shape=(2, 2)).release([], sdp.Domain((0, 0, 1, 1)), epsilon=1)
    >>> print(certificate_text(release, ".md").splitlines()[0])
    # Privacy certificate of a release
    """
    return _WRITERS[suffix](certificate_page(release, ledger=ledger, files=files))


def certificate_page(
    release: Any, *, ledger: Keeper | None = None, files: Iterable[str | os.PathLike[str]] = ()
) -> Page:
    """Return the certificate of a release, whatever format it will have."""
    privacy: Privacy = release.privacy
    if not privacy.private:
        return Page(_NOT_PRIVATE_TITLE, "", warning=privacy.in_words())
    keeper = _keeper_of(release) if ledger is None else _checked(ledger, privacy)
    account = None if keeper is None else account_state(keeper, privacy)
    subject = Subject.of(release, files, account)
    sections = (
        short_section(subject),
        promise_section(subject),
        account_section(privacy, account),
        method_section(subject),
        exactness_section(subject),
        assumptions_section(subject),
        checking_section(subject),
    )
    return Page("Privacy certificate of a release", _LEAD, sections)


_NOT_PRIVATE_TITLE = "This release is not private"
_LEAD = (
    f"Written by spatialdp {__version__} from the release's privacy statement, its ledger and public facts, without "
    "any record. The page states what the software knows; what only people know they confirm and sign in part 6."
)


def _keeper_of(release: Any) -> Keeper | None:
    """Return the ledger that paid for a release in this process; None for releases that were loaded."""
    account = getattr(release, "account", None)
    keeper: Keeper | None = None if account is None else account.keeper
    return keeper


def _checked(ledger: Keeper, privacy: Privacy) -> Keeper:
    if not callable(getattr(ledger, "read", None)):
        raise ParameterError(
            f"{parameter('ledger')} is a {type(ledger).__name__}; give the {either('spatialdp.Ledger', 'file')} of the "
            f"ledger that paid for the release, or leave {parameter('ledger')} out."
        )
    if privacy.ledger is None:
        raise ParameterError(
            f"{parameter('ledger')} is given, but no entry of a ledger paid for this release; leave "
            f"{parameter('ledger')} out, or release with an account that pays."
        )
    return ledger
