"""Part 3 of a certificate: everything that the account of these records has paid for, and how it adds up.

All numbers come from the ledger, which is checked first: a certificate is never made from a ledger whose chain is
broken, or which did not pay for the release. Names of accounts and parts are public by declaration.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from spatialdp.outputs.certificate.pages.blocks import Blanks, Block, Facts, Paragraph, Section, Table, at_most, plain
from spatialdp.privacy.ledger.account import Keeper
from spatialdp.privacy.ledger.books import Books
from spatialdp.privacy.ledger.check import Checked, check_entries, check_releases
from spatialdp.privacy.ledger.cost import Pots, in_short
from spatialdp.privacy.ledger.entries import Entry, Kind
from spatialdp.privacy.ledger.export import lines
from spatialdp.privacy.ledger.stores.base import Transaction
from spatialdp.privacy.ledger.terms import Terms
from spatialdp.privacy.neighbours import Neighbours
from spatialdp.privacy.receipt import Receipt
from spatialdp.privacy.statement import Privacy, format_exact

__all__ = ["AccountState", "account_section", "account_state"]

_MOST_RELEASES = 500  # rows of the table; the ledger has them all
_MOST_LABELS = 50
_MOST_LIMITS = 50
_MOST_PARTITIONS = 50


@dataclass(frozen=True)
class AccountState:
    """An account of a ledger that is whole, as it was when the certificate was made.

    Attributes
    ----------
    name : str
    terms : Terms
    spent, left : Pots
    checked : Checked
        What the check of the ledger found.
    entries : tuple of Entry
        The entries about this account.
    lines : tuple of dict of str to str
        For each of these entries, what it says as texts by column; see `spatialdp.privacy.ledger.export.lines`.
    receipt : Receipt
        Of the release that the certificate is about.
    """

    name: str
    terms: Terms
    spent: Pots
    left: Pots
    checked: Checked
    entries: tuple[Entry, ...]
    lines: tuple[dict[str, str], ...]
    receipt: Receipt

    def totals(self) -> list[tuple[str, Fraction, Fraction]]:
        """Return what all releases of the account together promise: a name, ε and δ."""
        unit = f"about one {self.terms.unit}"
        limit = (f"everything up to the account's limit, {unit}", self.terms.epsilon, self.terms.delta)
        if self.terms.rho:
            return [limit]
        return [(f"everything that the account has paid for, {unit}", self.spent.epsilon, Fraction(0)), limit]

    def of_kind(self, kind: Kind) -> list[tuple[Entry, dict[str, str]]]:
        """Return the account's entries of one kind, with their texts."""
        pairs = zip(self.entries, self.lines, strict=True)
        return [(entry, line) for entry, line in pairs if entry.kind == kind]

    def files(self) -> list[tuple[str, str]]:
        """Return names and SHA-256 of the files that the ledger knows of this release."""
        entries = (entry.facts for entry, _ in self.of_kind(Kind.RELEASED))
        own = (facts["files"] for facts in entries if facts["entry"] == self.receipt.entry)
        return sorted({(str(name), str(digest)) for files in own for name, digest in files.items()})


def account_state(keeper: Keeper, privacy: Privacy) -> AccountState:
    """Return the account that paid for a release, after checking the whole ledger and the release's entry.

    Raises
    ------
    LedgerError
        If the chain of entries is broken, or no entry of this ledger paid for the release.
    """
    receipt = privacy.ledger
    assert receipt is not None

    def read(transaction: Transaction) -> AccountState:
        checked = check_entries(transaction)
        check_releases(transaction, [(str(privacy), privacy)])
        return _state(transaction, checked, receipt)

    return keeper.read(read)


def _state(transaction: Transaction, checked: Checked, receipt: Receipt) -> AccountState:
    every, books = list(transaction.entries()), Books(transaction)
    name = every[receipt.entry - 1].facts["account"]
    terms = books.terms(name)
    assert terms is not None  # the check has seen that it was opened
    own = [(entry, line) for entry, line in zip(every, lines(every), strict=True) if line["account"] == name]
    entries, texts = zip(*own, strict=True)
    spent, left = books.spent([(name,)], terms.neighbours), books.left([(name,)], terms)
    return AccountState(name, terms, spent, left, checked, entries, texts, receipt)


# --- the part of the page --------------------------------------------------------------------------


def account_section(privacy: Privacy, account: AccountState | None) -> Section:
    """Return everything that was spent on these records, as far as it is known."""
    if account is None:
        return Section("3. All releases of these records", _unknown(privacy))
    blocks: list[Block] = [Facts(tuple(_facts(account))), *_limits(account), *_releases(account), *_partitions(account)]
    return Section("3. All releases of these records", (*blocks, Paragraph(_MEANING)))


_MEANING = (
    "Promises of several releases of the same records add up; the account adds them up exactly, pays before noise is "
    "drawn, and refuses what is above its limit. It knows what was paid from it and nothing else: what was published "
    "of these records without it is not in this table."
)
_WITH_EXACT_TOTALS = (
    "Some totals are exact, so what is promised about these records cannot be added up with other releases of them, "
    "and no account can pay for it."
)


def _unknown(privacy: Privacy) -> tuple[Block, ...]:
    adds_up = "Promises of several releases of the same records add up: ε of each to ε of all."
    if privacy.invariants:
        return Paragraph(_WITH_EXACT_TOTALS), Blanks(("Other releases of these records",))
    if privacy.ledger is None:
        words = "No account of a ledger paid for this release, so this page does not know what else was published."
        return Paragraph(f"{words} {adds_up}"), Blanks(("Other releases of these records", "Sum of their ε and δ"))
    receipt = privacy.ledger
    words = (
        f"Entry {receipt.entry} of a ledger paid for this release, but the ledger was not at hand when this page was "
        "made, so that the page does not know what else was paid for. Make the page again with the ledger."
    )
    return (Paragraph(f"{words} {adds_up}"),)


def _facts(account: AccountState) -> list[tuple[str, str]]:
    terms, pots = account.terms, (("ε", "epsilon"), ("ρ (zCDP, for Gaussian noise)", "rho"))
    delta = f" and δ = {format_exact(terms.delta)}" if terms.delta else ""
    amounts = [
        (symbol, *(getattr(each, pot) for each in (account.spent, account.left, terms.limit)))
        for symbol, pot in pots
        if pot == "epsilon" or terms.rho
    ]
    return [
        ("Account", account.name),
        ("Limit", f"ε = {in_short(terms.epsilon)}{delta}, for everything together"),
        ("Promise", _promise(terms)),
        *(
            (
                f"Spent, {symbol}",
                f"{in_short(spent)}, of {in_short(limit, down=True)}; left is {in_short(left, down=True)}",
            )
            for symbol, spent, left, limit in amounts
        ),
    ]


def _promise(terms: Terms) -> str:
    relation = "add or remove" if terms.neighbours == Neighbours.ADD_REMOVE else "replace"
    if terms.unit == "record":
        return f"to one record ({relation})"
    if terms.records is None:
        return f"to one person ({relation}); only releases that protect persons are paid for"
    most = f"at most {terms.records:,} record{'s' * (terms.records > 1)}"
    return f"to one person ({relation}) with {most} in all these data: declared by the curator, not enforced"


def _time(stamp: str) -> str:
    """Return a time as people read it; ledgers have times in UTC."""
    return stamp.replace("T", " ").removesuffix("+00:00")


_COLUMNS = ("entry", "time (UTC)", "what", "part", "ε", "ρ", "ε left", "ρ left", "state")
_NUMBERS = {"entry", "ε", "ρ", "ε left", "ρ left"}
_AMOUNTS = (
    "Amounts are what each step cost this account, rounded up; what was left after it, of the account or of its part, "
    "is rounded down. “Paid” without “released” means that no file was noted: a step that failed, or whose outcome is "
    "not known, stays paid."
)


def _releases(account: AccountState) -> list[Block]:
    """Return the table of all that was paid for; columns that would be empty are left out."""
    paid = account.of_kind(Kind.SPEND)
    latest, more = at_most(reversed(paid), _MOST_RELEASES)
    rows = [_row(account, entry, line) for entry, line in reversed(latest)]
    hidden = set() if any(line["part"] for _, line in paid) else {"part"}
    hidden |= set() if account.terms.rho else {"ρ", "ρ left"}
    head = tuple(name for name in _COLUMNS if name not in hidden)
    numbers = tuple(place for place, name in enumerate(head) if name in _NUMBERS)
    table = Table(head, tuple(tuple(row[name] for name in head) for row in rows), numbers)
    left_out = [Paragraph(f"{more:,} earlier entries are left out here; the ledger has them.")] if more else []
    return [table, *left_out, Paragraph(_AMOUNTS)]


def _row(account: AccountState, entry: Entry, line: dict[str, str]) -> dict[str, str]:
    own = " (this release)" if entry.seq == account.receipt.entry else ""
    return {
        "entry": line["entry"],
        "time (UTC)": _time(line["time"]),
        "what": f"{_what(entry.facts.get('what'))}{own}",
        "part": plain(line["part"]),
        "ε": line["epsilon_rounded_up"],
        "ρ": line["rho_rounded_up"],
        "ε left": line["epsilon_left"],
        "ρ left": line["rho_left"],
        "state": line["state"],
    }


def _what(facts: Any) -> str:
    """Return what a step was, by the public facts that its entry holds."""
    if not isinstance(facts, dict):
        return ""
    if "prepaid" in facts:
        return f"prepaid: {_what(facts['prepaid'])}"
    name = facts.get("mechanism", facts.get("method"))
    return plain(name if isinstance(name, str) else facts)


def _found_partitions(account: AccountState) -> list[tuple[tuple[str, ...], list[str], bool | None]]:
    """Return the account's partitions: where they are, their labels, and whether a person is in one part."""
    found: dict[tuple[str, ...], tuple[list[str], bool | None]] = {}
    for entry, _ in account.of_kind(Kind.PARTITION):
        facts = entry.facts
        labels, _ = found.setdefault((*facts["at"], facts["partition"]), ([], facts["person_stays"]))
        labels.extend(facts["labels"])
    return [(key, labels, stays) for key, (labels, stays) in found.items()]


def _partitions(account: AccountState) -> list[Block]:
    """Return the account's partitions, and why the costs of their parts do not add up."""
    found, more = at_most(_found_partitions(account), _MOST_PARTITIONS)
    if not found:
        return []
    rows = tuple((" ".join(key), _labels(labels), _parallel(account.terms, stays)) for key, labels, stays in found)
    both = (
        "the two largest are added, because a replaced record may leave one part for another"
        if account.terms.neighbours == Neighbours.REPLACE
        else "the largest counts"
    )
    words = (
        "The account is divided into parts. A record is in one part of a partition at most, and which one follows "
        f"from this record alone, so the costs of the parts of one partition do not add up: {both}. Costs of "
        "different partitions do add up."
    )
    left_out = [Paragraph(f"{more:,} more partitions are left out here; the ledger has them.")] if more else []
    return [Paragraph(words), Table(("partition", "parts", "why parts are apart"), rows), *left_out]


def _labels(labels: Sequence[str]) -> str:
    first, more = at_most(labels, _MOST_LABELS)
    return f"{plain(first)}{f' and {more:,} more' if more else ''}"


def _parallel(terms: Terms, stays: bool | None) -> str:
    if terms.unit == "record":
        return "each record is in one part"
    if stays:
        return "all records of a person are in one part (declared)"
    return f"a person is in at most {terms.records:,} parts, and each costs that many times as much"


def _limits(account: AccountState) -> list[Block]:
    """Return who set the limit, and when; who changed it, and why."""
    opened, changed = account.of_kind(Kind.OPEN), account.of_kind(Kind.LIMIT)
    latest, more = at_most(reversed(changed), _MOST_LIMITS)
    rows = [
        (line["entry"], _time(line["time"]), _limit(entry), *_reason(entry, line))
        for entry, line in (*opened, *reversed(latest))
    ]
    left_out = [Paragraph(f"{more:,} earlier changes are left out here; the ledger has them.")] if more else []
    words = [Paragraph(_CHANGED)] if changed else []
    return [Table(("entry", "time (UTC)", "limit", "who", "why"), tuple(rows), (0,)), *left_out, *words]


_CHANGED = (
    "The limit was changed. The promise is that of the new limit, if it was changed for reasons outside of the "
    "answers; a limit that is raised because of answers promises no more than what was spent in the end."
)


def _reason(entry: Entry, line: dict[str, str]) -> tuple[str, str]:
    facts = entry.facts
    return plain(facts.get("who", line["by"])), plain(facts.get("why", "account opened"))


def _limit(entry: Entry) -> str:
    terms = Terms.from_json(entry.facts["terms"])
    return f"ε = {in_short(terms.epsilon)}" + (f", δ = {format_exact(terms.delta)}" if terms.delta else "")
