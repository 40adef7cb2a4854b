"""Which entry of a ledger paid for a release? Its place and its hash, which are part of the release's statement.

With the receipt in every published file, nobody can replace the ledger by an older copy unnoticed: the entry that a
release names is then missing, or is another one (``docs/design/ledger.md``). A receipt holds public values alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from spatialdp._support.json_values import texts, whole

__all__ = ["MOST_ENTRIES", "Receipt"]

MOST_ENTRIES = 10**15
_LEDGER = re.compile(r"[0-9a-f]{32}")
_HASH = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Receipt:
    """The entry of a ledger that paid for a release.

    Attributes
    ----------
    ledger : str
        The ledger's own random number, 32 hexadecimal digits.
    entry : int
        Number of the entry, counted from 1.
    hash : str
        SHA-256 of the entry and, through the chain, of all entries before it: 64 hexadecimal digits.

    Privacy
    -------
    A receipt says when a release was paid for, among the entries of one ledger. Nothing in it depends on a record.

    Examples
    --------
    >>> Receipt("0" * 32, 7, "f" * 64).to_json()["entry"]
    7
    """

    ledger: str
    entry: int
    hash: str

    def __post_init__(self) -> None:
        if not (_LEDGER.fullmatch(self.ledger) and _HASH.fullmatch(self.hash)):
            raise ValueError("not the numbers of a ledger's entry")
        whole(self.entry, 1, MOST_ENTRIES)

    def __str__(self) -> str:
        return f"entry {self.entry} of ledger {self.ledger[:8]}… ({self.hash[:8]}…)"

    def to_json(self) -> dict[str, Any]:
        """Return the receipt as plain values for JSON.

        Examples
        --------
        >>> list(Receipt("0" * 32, 7, "f" * 64).to_json())
        ['id', 'entry', 'hash']
        """
        return {"id": self.ledger, "entry": self.entry, "hash": self.hash}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Receipt:
        """Rebuild the receipt that `to_json` wrote; a `ValueError` or `TypeError` is raised for anything else.

        Examples
        --------
        >>> receipt = Receipt("0" * 32, 7, "f" * 64)
        >>> Receipt.from_json(receipt.to_json()) == receipt
        True
        """
        if not isinstance(data, Mapping) or set(data) != {"id", "entry", "hash"}:
            raise ValueError("not a receipt")
        ledger, digest = texts(data, "id", "hash")
        return cls(ledger, data["entry"], digest)
