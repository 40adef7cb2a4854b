"""What was ever published of these records? `spatialdp ledger show` prints all entries, for an officer to read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spatialdp.cli.options.account import ledger_argument, opened, witness_option

if TYPE_CHECKING:
    from spatialdp.privacy.ledger.ledger import Ledger

__all__ = ["command"]

_POTS = {"epsilon": "ε", "rho": "ρ"}
_IN_COLUMNS = {"time", "by", "account", "at", "nonce"}
_LONGEST_EXACT = 24  # characters of a cost that is shown exactly


@click.command("show")
@ledger_argument
@click.option("--account", "name", metavar="NAME", help="Show the entries of this account alone.")
@witness_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
def command(ledger: str, name: str | None, witness: Path | None, as_json: bool) -> None:
    r"""Print what was spent, and what is left.

    All entries of the ledger are printed, the totals, and whether the ledger is whole. Each entry has a line: its
    number, the time, who made it, the account and the part, what it says, and for a spend the cost, exactly and rounded
    up, whether a release followed, and what was left. "Outcome unknown" means that the noise was paid for and no file
    was noted: it may have been published, or the process may have ended before.

    \b
    Examples:
      spatialdp ledger show privacy.ledger
      spatialdp ledger show privacy.ledger --account crashes --json
    """
    from spatialdp._support.terminal import printable, printable_json
    from spatialdp.privacy.ledger.export import lines

    source = opened(ledger, witness)
    names = source.accounts if name is None else (source.account(name).name,)
    checked, entries = source.check(), source.entries
    told = [
        (line, entry.facts)
        for line, entry in zip(lines(entries), entries, strict=True)
        if name is None or line["account"] == names[0]
    ]
    if as_json:
        accounts = {each: _account_facts(source, each) for each in names}
        facts = {"ledger": source.id, "whole": True, "notes": list(checked.notes)}
        listed = [line | {"facts": said} for line, said in told]
        click.echo(printable_json({**facts, "accounts": accounts, "entries": listed}, indent=2))
        return
    totals = [f"{each}: {source.account(each).in_words()}" for each in names]
    text = [
        *_table([_columns_of(line, said) for line, said in told]),
        "",
        *totals,
        str(checked).partition("\n")[0],
        *checked.notes,
    ]
    click.echo("\n".join(printable(line) for line in text))


def _account_facts(ledger: Ledger, name: str) -> dict[str, Any]:
    """Return what was spent from an account and what is left, exactly."""
    account = ledger.account(name)
    return {
        "limit": account.limit.to_json(down=True),
        "spent": account.spent.to_json(),
        "left": account.left.to_json(down=True),
        "neighbours": account.neighbours,
        "unit": account.unit,
    }


def _columns_of(line: Mapping[str, str], facts: Mapping[str, Any]) -> list[str]:
    """Return the columns of one entry."""
    where = ", ".join(filter(None, (line["account"], line["part"])))
    when = line["time"].replace("T", " ").replace("+00:00", "")
    if line["kind"] != "spend":
        kind = "saved" if line["kind"] == "released" else line["kind"]
        return [line["entry"], when, line["by"], where, kind, _other(line["kind"], facts)]
    costs = [_cost(symbol, line[pot], line[f"{pot}_rounded_up"]) for pot, symbol in _POTS.items() if line[pot] != "0"]
    left = [f"{symbol} {line[f'{pot}_left']}" for pot, symbol in _POTS.items() if line[pot] != "0"]
    state = "released" if line["state"] == "released" else "paid, no file noted"
    return [
        line["entry"],
        when,
        line["by"],
        where,
        state,
        f"{' and '.join(costs)}, left {', '.join(left)}: {_what(facts)}",
    ]


def _cost(symbol: str, exact: str, rounded: str) -> str:
    """Return a cost exactly and, where that is a fraction, rounded up; only rounded up if it has many digits."""
    if "/" not in exact:
        return f"{symbol} {exact}"
    return f"{symbol} {exact} (at most {rounded})" if len(exact) <= _LONGEST_EXACT else f"{symbol} at most {rounded}"


def _what(facts: Mapping[str, Any]) -> str:
    """Return the mechanism and the public parameters that a spend names, or whatever else it says of itself."""
    what = dict(facts.get("what", {}))
    if "mechanism" not in what:
        return _plain(what)
    parameters = what.get("parameters")
    given = f" {_plain(parameters)}" if isinstance(parameters, Mapping) and parameters else ""
    return f"{what['mechanism']}{given}"


def _other(kind: str, facts: Mapping[str, Any]) -> str:
    """Return what an entry says that spends nothing."""
    if kind in ("open", "limit"):
        terms = facts["terms"]
        reasons = "".join(f", {name} {facts[name]!r}" for name in ("who", "why") if name in facts)
        delta = f", δ {terms['delta']}" if terms["delta"] != "0" else ""
        about = f", {terms['about']}" if terms["about"] and kind == "open" else ""
        return f"limit ε {terms['epsilon']}{delta}{about}{reasons}"
    if kind == "released":
        return f"entry {facts['entry']}: {_plain(facts['files'])}"
    return _plain({name: value for name, value in facts.items() if name not in _IN_COLUMNS})


def _plain(facts: Mapping[str, Any]) -> str:
    """Return facts as they are typed, without those that are empty."""
    return ", ".join(f"{name} {_text(value)}" for name, value in facts.items() if value not in (None, "", [], {}))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows with their columns, except the last one, as wide as their widest text; numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)][:-1]
    return [
        "  ".join([row[0].rjust(widths[0]), *map(str.ljust, row[1:-1], widths[1:]), row[-1]]).rstrip() for row in rows
    ]
