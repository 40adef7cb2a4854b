"""What is an entry of a ledger? A kind, a text in canonical JSON, and a hash that holds it to all entries before it.

    hash = SHA-256(number, hash of the entry before, kind, body),  joined by line ends

so whoever changes, removes or inserts an entry has to change every hash after it, also those in published releases. A
body must hold public values alone: never a digest of the records, their number, sizes of files, or run times.
"""

from __future__ import annotations

import getpass
import hashlib
import json
import math
from collections.abc import Mapping
from datetime import UTC, datetime
from fractions import Fraction
from functools import lru_cache
from numbers import Integral
from typing import Any, NamedTuple

from spatialdp._support.json_values import parsed
from spatialdp._support.options import Option
from spatialdp._support.terminal import is_printable, printable
from spatialdp.errors import LedgerError, ParameterError
from spatialdp.privacy.noise.source import SystemNoise
from spatialdp.wording import parameter

__all__ = ["FORMAT", "WRONG", "Entry", "Kind", "canonical", "checked_facts", "entry_hash", "first_hash", "stamp"]

FORMAT = "spatialdp ledger 1"
LONGEST_FACTS = 2**16  # characters of canonical JSON
_DEEPEST = 16
WRONG = (
    "does not say what spatialdp writes, so the ledger was damaged or altered; restore the last good copy, and check "
    "it with the releases made since."
)
_LARGEST = 10**400
_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)


class Kind(Option):
    """What an entry says.

    `spend` alone changes what is spent; `open`, `partition` and `limit` say what may be. The others are for readers.
    """

    OPEN = "open"
    PARTITION = "partition"
    SPEND = "spend"
    RELEASED = "released"
    LIMIT = "limit"
    ADOPTED = "adopted"
    NOTE = "note"


class Entry(NamedTuple):
    """One line of a ledger, as it is stored."""

    seq: int
    kind: str
    body: str
    prev: str
    hash: str

    @property
    def facts(self) -> dict[str, Any]:
        """What the entry says, as plain values.

        Examples
        --------
        >>> Entry(1, "note", '{"note":"opened"}', "", "").facts
        {'note': 'opened'}
        """
        try:
            facts = parsed(self.body)
        except ValueError:
            facts = None
        if not isinstance(facts, dict):
            raise LedgerError(f"entry {self.seq} {WRONG}")
        return facts


def first_hash(ledger: str) -> str:
    """Return what stands for the hash before the first entry: it differs from ledger to ledger."""
    return hashlib.sha256(f"{FORMAT}\n{ledger}".encode()).hexdigest()


def entry_hash(seq: int, prev: str, kind: str, body: str) -> str:
    """Return the hash of an entry.

    Examples
    --------
    >>> entry_hash(1, "00", "note", "{}")[:8]
    '658f2c32'
    """
    return hashlib.sha256(f"{seq}\n{prev}\n{kind}\n{body}".encode()).hexdigest()


def canonical(value: Any) -> str:
    r"""Return JSON in its one form: sorted names, no blanks, ASCII alone.

    Examples
    --------
    >>> print(canonical({"b": 1, "a": "α"}))
    {"a":"\u03b1","b":1}
    """
    return _ENCODER.encode(value)


def stamp() -> dict[str, str]:
    """Return when and by whom an entry is made, for readers, and a random number of its own.

    The order of entries is their number, whatever the clock says. Because of the random number no two entries have the
    same hash, even if the same step is paid for again after a rollback; and nobody who sees the hash in a release can
    find out by trial what the entry says.
    """
    nonce = SystemNoise().random_bytes(16).hex()
    return {"time": datetime.now(UTC).isoformat(timespec="seconds"), "by": _login(), "nonce": nonce}


@lru_cache(maxsize=1)
def _login() -> str:
    """Return the login name of this process; empty if the system has none for it."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError, ImportError):
        return ""
    return printable(name)


def checked_facts(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the public facts about a step as plain values for JSON; anything else is refused.

    Examples
    --------
    >>> checked_facts({"mechanism": "flat", "shape": (4, 4)})
    {'mechanism': 'flat', 'shape': [4, 4]}
    """
    plain = _plain(facts, _DEEPEST) if isinstance(facts, Mapping) else None
    if not isinstance(plain, dict) or len(canonical(plain)) > LONGEST_FACTS:
        raise ParameterError(
            f"{parameter('what')} must name the public facts about a step: printable texts with numbers, texts, true, "
            f"false or none, or lists and tables of these, of at most {LONGEST_FACTS:,} characters; leave out the rest."
        )
    return plain


class _NotPlainError(ValueError):
    pass


def _plain(value: Any, depth: int) -> Any:
    try:
        return _plain_value(value, depth)
    except _NotPlainError:
        return None


def _plain_value(value: Any, depth: int) -> Any:
    kind = type(value)
    if kind is str:
        return _plain_text(value)
    if value is None or kind is bool or (kind is int and -_LARGEST < value < _LARGEST):
        return value
    if depth == 0:
        raise _NotPlainError
    if kind is list or kind is tuple:
        return [_plain_value(item, depth - 1) for item in value]
    if kind is dict or isinstance(value, Mapping):
        return {_plain_text(name): _plain_value(item, depth - 1) for name, item in value.items()}
    return _plain_number(value)


def _plain_number(value: Any) -> int | float | str:
    """Return a number of any type: a fraction as the text that it prints as."""
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    if isinstance(value, Integral) and abs(int(value)) < _LARGEST:
        return int(value)
    if isinstance(value, Fraction) and max(abs(value.numerator), value.denominator) < _LARGEST:
        return str(value)
    raise _NotPlainError


def _plain_text(value: Any) -> str:
    if not isinstance(value, str) or not is_printable(value):
        raise _NotPlainError
    return str(value)
