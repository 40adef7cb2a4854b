"""The books: what the store's table holds follows from the entries, and nothing else is read from it."""

from __future__ import annotations

from fractions import Fraction

import pytest

from spatialdp.errors import BudgetError, LedgerError
from spatialdp.privacy.ledger.books import Books, Partition, charged
from spatialdp.privacy.ledger.cost import Pots
from spatialdp.privacy.ledger.terms import agreed
from tests.helpers.ledgers import MemoryTable

REPLACE = agreed(2, 0, None, "replace", "record", 1, "")
ADD = agreed(2, 1e-9, 1, "add-remove", "record", 1, "")


def books_of(terms, *entries):
    table = MemoryTable()
    books = Books(table)
    books.apply("open", {"account": "a", "terms": terms.to_json()})
    for kind, body in entries:
        books.apply(kind, {"account": "a", **body})
    return books, table


def divided(name, *labels, at=()):
    return "partition", {"at": list(at), "partition": name, "labels": list(labels), "person_stays": None}


def paid(epsilon, *places, rho="0"):
    return "spend", {"at": [list(place) for place in places], "charged": {"epsilon": epsilon, "rho": rho}}


def test_books_follow_the_entries():
    entries = [divided("p", "x", "y"), paid("1/2", ()), paid("1/4", ("p", "x")), paid("1/8", ("p", "x"), ("p", "y"))]
    books, _ = books_of(ADD, *entries, paid("0", (), rho="1/100"), ("note", {}))
    assert books.spent([("a",)], "add-remove") == Pots(Fraction(7, 8), Fraction(1, 100))
    assert books.spent([("a", "p", "y")], "add-remove").epsilon == Fraction(1, 8)
    assert books.left([("a", "p", "y")], ADD).epsilon == Fraction(3, 8)
    assert books.left([("a",)], ADD).epsilon == Fraction(1, 8)
    assert books.left([("a",)], ADD).rho == ADD.rho - Fraction(1, 100)


def test_two_parts_are_at_stake_where_a_record_is_replaced():
    books, _ = books_of(REPLACE, divided("p", "x", "y", "z"), paid("1/2", ("p", "x")), paid("1/4", ("p", "y")))
    places = [("a", "p", label) for label in "xyz"]
    assert books.spent([("a",)], "replace").epsilon == Fraction(3, 4)
    assert books.spent(places[:2], "replace").epsilon == Fraction(3, 4)
    assert books.spent(places[1:], "replace").epsilon == Fraction(1, 4)
    assert books.left(places[1:], REPLACE).epsilon == min(Fraction(7, 8), Fraction(5, 4))
    assert books.left(places[:2], REPLACE).epsilon == Fraction(5, 8)
    assert books.left(places, REPLACE).epsilon == Fraction(5, 8)


def test_labels_are_added_to_a_partition():
    books, _ = books_of(ADD, divided("p", "x"), divided("p", "y"))
    assert books.partition(("a",), "p") == Partition(("x", "y"), None)
    assert books.partition(("a",), "q") is None
    assert books.terms("b") is None


def test_a_new_limit_replaces_the_old_one():
    books, _ = books_of(ADD, ("limit", {"terms": REPLACE.to_json()}))
    assert books.terms("a") == REPLACE


def test_totals_may_have_long_denominators():
    books, _ = books_of(agreed(10, 0, None, "add-remove", "record", 1, ""))
    for number in range(1, 600):
        books.apply("spend", {"account": "a", **paid(f"1/{number}", ())[1]})
    total = sum((Fraction(1, number) for number in range(1, 600)), Fraction(0))
    assert books.spent([("a",)], "add-remove").epsilon == total
    assert len(str(total.denominator)) > 200


def test_totals_without_end_are_refused():
    books, table = books_of(ADD)
    table.put('["node","epsilon","a"]', f'["1/{10**39000:x}","1/{10**39000:x}","1/{10**39000:x}"]')
    with pytest.raises(BudgetError, match="short decimals"):
        books.apply("spend", {"account": "a", **paid(f"1/{3**4000}", ())[1]})


@pytest.mark.parametrize("amount", ["1/0", "-1/2", "0.5", "1e9", "", "1/2/3", 1, None, "1" * 2001])
def test_amounts_that_were_not_written_here_are_refused(amount):
    with pytest.raises((ValueError, TypeError, ZeroDivisionError)):
        charged(amount)


@pytest.mark.parametrize(
    "value",
    ["", "null", "{}", "[]", "[1,2,3]", '["1/1","x/1","1/1"]', '["1/1"]', '["1/0","1/1","1/1"]', "[" * 10**5],
)
@pytest.mark.parametrize("kind", ["account", "partition", "node", "parts"])
def test_texts_that_were_not_written_here_are_an_error_of_the_ledger(kind, value):
    books, table = books_of(ADD, divided("p", "x"), paid("1/2", ("p", "x")))
    for key in table.texts:
        if key.startswith(f'["{kind}"'):
            table.texts[key] = value
    with pytest.raises(LedgerError, match="does not write"):
        read_all(books)


def read_all(books):
    books.terms("a")
    books.partition(("a",), "p")
    books.left([("a", "p", "x")], ADD)
