"""Was the ledger rolled back? A witness, kept somewhere else, remembers its last entry.

A file cannot show that it is old. So the witness is written after each spend and before noise is drawn. A ledger that
has more entries than its witness is fine: the process may have been stopped in between. A ledger that lacks the
witness's entry, or has another one there, was rolled back or replaced, and nothing may be spent from it.
"""

from __future__ import annotations

from pathlib import Path

from spatialdp._support.atomic import write_all
from spatialdp._support.json_values import parsed
from spatialdp.errors import LedgerError
from spatialdp.privacy.ledger.entries import canonical
from spatialdp.privacy.ledger.stores.base import Transaction
from spatialdp.privacy.receipt import Receipt

__all__ = ["Witness"]


class Witness:
    """A small file that remembers the last entry of a ledger.

    Parameters
    ----------
    path : Path
        Best on another disk or a share, so that a restored disk does not bring back the witness, too.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()

    def check(self, transaction: Transaction) -> None:
        """Refuse a ledger that lacks the entry that the witness remembers."""
        receipt = self._read()
        if receipt is None:
            return
        entry = transaction.entry(receipt.entry)
        if entry is None or (receipt.ledger, receipt.hash) != (transaction.ledger, entry.hash):
            raise LedgerError(
                f"the ledger lacks {receipt}, which its witness {self.path} remembers, so it was rolled back or "
                "replaced; restore the ledger itself. If this is the witness of another ledger, name the right one."
            )

    def behind(self, transaction: Transaction) -> int:
        """Return how many entries were made since the one that the witness remembers."""
        receipt, head = self._read(), transaction.head()
        return (0 if head is None else head.seq) - (0 if receipt is None else receipt.entry)

    def remember(self, transaction: Transaction) -> None:
        """Write down the last entry; other processes wait meanwhile, so that the witness never goes back."""
        head = transaction.head()
        if head is not None:
            receipt = Receipt(transaction.ledger, head.seq, head.hash)
            content = canonical(receipt.to_json()).encode() + b"\n"
            try:
                write_all({self.path: content}, overwrite=True, private=True)
            except OSError as error:
                raise LedgerError(
                    f"the witness {self.path} could not be written ({error.strerror or error}), so nothing may be "
                    "released; what was spent stays spent. Make the place writable, and release again."
                ) from None

    def _read(self) -> Receipt | None:
        try:
            return Receipt.from_json(parsed(self.path.read_bytes()))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError):
            raise LedgerError(
                f"{self.path} cannot be read as the witness of a ledger; name the right file, or remove it if it is "
                "damaged and you know that the ledger is the last one."
            ) from None
