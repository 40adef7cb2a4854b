"""How does a release of any kind get its certificate? By one method, which writes one page about the release.

`Certified` gives the method to releases of every kind. It imports `outputs` when it is called, as the methods of
releases do.
"""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spatialdp.privacy.ledger.ledger import Ledger

__all__ = ["Certified"]


class Certified:
    """A release that can be certified."""

    def certificate(
        self,
        path: str | PathLike[str],
        *,
        ledger: Ledger | None = None,
        files: Iterable[str | PathLike[str]] = (),
        overwrite: bool = False,
    ) -> None:
        """Write a page about the release for the person responsible for privacy, such as a data protection officer.

        The page says what was published and what is promised, how much of the account is spent, how the release was
        made and how exact it is, what people have to confirm and to sign, and how to check it. It is made from the
        privacy statement, the ledger and public facts: it costs nothing and needs no record. A release that is not
        private gets a page that says so, and nothing else.

        Parameters
        ----------
        path : str or path
            Ends in ``.html`` (one file that loads nothing, to read, print or save as PDF) or ``.md`` (Markdown).
        ledger : Ledger, optional
            The ledger that paid for the release; for a release that was just made, it is known. Its chain and the
            release's entry are checked; then the page lists all releases of the account.
        files : list of paths, optional
            Files of the release, whose SHA-256 the page lists.
        overwrite : bool
            Whether to replace an existing file.

        Raises
        ------
        ParameterError
            If the name has another ending, or a file is not one of this release.
        LedgerError
            If the ledger is not whole, or did not pay for the release.

        Examples
        --------
        >>> import spatialdp as sdp, pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "certificate.md"
        >>> release = sdp.Flat(shape=(2, 2)).release([], sdp.Domain((0, 0, 1, 1)), epsilon=1)
        >>> release.certificate(path)
        >>> print(path.read_text(encoding="utf-8").splitlines()[0])
        # Privacy certificate of a release
        """
        from spatialdp.outputs.certificate.certificate import write_certificate

        write_certificate(self, path, ledger=ledger, files=files, overwrite=overwrite)
