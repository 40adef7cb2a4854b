"""How is a ledger given to somebody who checks it? As a table, a page, or the entries themselves as JSON lines.

The table and the page have one line for each entry, with what was left after it; both are worked out from the entries.
JSON lines hold kind, body and hashes as they are stored, so that anybody can check the chain with a few lines of code.
Only a ledger that is whole is written. Texts of the table that a spreadsheet would take for formulas get a quotation
mark in front.
"""

from __future__ import annotations

import csv
import html
import io
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from spatialdp._support.atomic import write_all
from spatialdp._support.terminal import printable
from spatialdp.errors import ParameterError
from spatialdp.privacy.ledger.books import POTS, Books, Place, charged
from spatialdp.privacy.ledger.check import Checked
from spatialdp.privacy.ledger.cost import in_decimals
from spatialdp.privacy.ledger.entries import Entry, Kind, canonical
from spatialdp.wording import parameter

__all__ = ["COLUMNS", "export", "lines"]

COLUMNS = (
    *("entry", "time", "by", "kind", "account", "part", "state", "unit", "neighbours"),
    *("epsilon", "epsilon_rounded_up", "rho", "rho_rounded_up", "epsilon_left", "rho_left", "facts", "hash"),
)
_ELSEWHERE = {
    "time",
    "by",
    "nonce",
    "account",
    "at",
    "charged",
    "cost",
    "neighbours",
    "unit",
}  # in other columns, or only in the hash


class _Memory:
    """A table of texts that is not stored anywhere."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def get(self, key: str) -> str | None:
        return self._texts.get(key)

    def put(self, key: str, value: str) -> None:
        self._texts[key] = value


def export(checked: Checked, entries: Sequence[Entry], path: Path, overwrite: bool) -> None:
    """Write entries in the format that the suffix of the file says."""
    writer = _WRITERS.get(path.suffix.lower())
    if writer is None:
        raise ParameterError(f"{parameter('path')} is {path}; the name must end in {', '.join(_WRITERS)}.")
    write_all({path: writer(checked, entries).encode()}, overwrite=overwrite)


def lines(entries: Sequence[Entry]) -> list[dict[str, str]]:
    """Return one line for each entry, as texts by column, with what was left after it in its account or parts."""
    books = Books(_Memory())
    released = {entry.facts.get("entry") for entry in entries if entry.kind == Kind.RELEASED}
    return [_line(entry, books, entry.seq in released) for entry in entries]


def _line(entry: Entry, books: Books, released: bool) -> dict[str, str]:
    facts = entry.facts
    books.apply(entry.kind, facts)
    paid = entry.kind == Kind.SPEND
    line = dict.fromkeys(COLUMNS, "")
    line |= {"entry": str(entry.seq), "kind": entry.kind, "hash": entry.hash}
    line |= {name: str(facts.get(name, "")) for name in ("time", "by", "account", "unit", "neighbours")}
    line["state"] = ("released" if released else "paid") if paid else ""
    line["facts"] = canonical({name: value for name, value in facts.items() if name not in _ELSEWHERE})
    places: list[Place] = [(facts["account"], *place) for place in facts["at"]] if paid else []
    line["part"] = "; ".join(", ".join(map(" ".join, zip(place[1::2], place[2::2], strict=True))) for place in places)
    if paid:
        line |= {pot: facts["charged"][pot] for pot in POTS}
        line |= {f"{pot}_rounded_up": in_decimals(charged(facts["charged"][pot])) for pot in POTS}
    terms = books.terms(line["account"]) if line["account"] else None
    if terms is not None:
        left = books.left(places or [(line["account"],)], terms)
        line |= {f"{pot}_left": in_decimals(getattr(left, pot), down=True) for pot in POTS}
    return {name: printable(value) for name, value in line.items()}


def _csv(_: Checked, entries: Sequence[Entry]) -> str:
    text = io.StringIO()
    table = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    table.writeheader()
    table.writerows({name: _no_formula(value) for name, value in line.items()} for line in lines(entries))
    return text.getvalue()


def _no_formula(value: str) -> str:
    return f"'{value}" if value[:1] in {"=", "+", "-", "@"} else value


def _json_lines(_: Checked, entries: Sequence[Entry]) -> str:
    return "".join(f"{json.dumps(entry._asdict(), sort_keys=True)}\n" for entry in entries)


def _page(checked: Checked, entries: Sequence[Entry]) -> str:
    shown = [name for name in COLUMNS if name not in ("epsilon", "rho", "hash")]
    head = "".join(f"<th>{html.escape(name.replace('_', ' '))}</th>" for name in shown)
    body = "".join(
        f"<tr>{''.join(f'<td>{html.escape(line[name])}</td>' for name in shown)}</tr>\n" for line in lines(entries)
    )
    words = "".join(f"<p>{html.escape(line)}</p>\n" for line in str(checked).splitlines())
    return _PAGE.format(words=words, head=head, body=body)


_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Ledger</title>
<style>
body {{ font: 14px/1.4 sans-serif; margin: 2em; }}
p {{ overflow-wrap: anywhere; margin: 0.3em 0; }}
table {{ border-collapse: collapse; margin-top: 1em; }}
th, td {{ border-bottom: 1px solid #bbb; padding: 0.2em 0.5em; text-align: left; vertical-align: top; }}
td:last-child {{ overflow-wrap: anywhere; }}
thead {{ display: table-header-group; }}
@media print {{ body {{ font-size: 9px; margin: 0; }} @page {{ size: landscape; }} }}
</style>
</head>
<body>
<h1>Ledger</h1>
{words}<table>
<thead><tr>{head}</tr></thead>
<tbody>
{body}</tbody>
</table>
</body>
</html>
"""

_WRITERS: Mapping[str, Callable[[Checked, Sequence[Entry]], str]] = {
    ".csv": _csv,
    ".jsonl": _json_lines,
    ".html": _page,
}
