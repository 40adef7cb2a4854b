"""What a store has to do, tried on every store there is."""

from __future__ import annotations

import pytest

from spatialdp.errors import BudgetError
from spatialdp.privacy.ledger.entries import Kind, entry_hash, first_hash
from spatialdp.privacy.ledger.stores.sqlite import SQLiteStore


def sqlite_store(folder):
    store = SQLiteStore(folder / "privacy.ledger")
    store.make()
    return store


STORES = {"sqlite": sqlite_store}


@pytest.fixture(params=STORES)
def store(request, folder):
    return STORES[request.param](folder)


def note(number):
    return lambda transaction: transaction.append(Kind.NOTE, {"number": number})


def test_an_empty_store_has_no_entries(store):
    assert store.head() is None
    assert store.entries() == []
    assert store.read(lambda transaction: transaction.entry(1)) is None
    assert store.read(lambda transaction: transaction.get("key")) is None


def test_entries_are_chained(store):
    receipts = [store.transact(note(number)) for number in range(3)]
    entries = store.entries()
    prev = first_hash(receipts[0].ledger)
    for number, (entry, receipt) in enumerate(zip(entries, receipts, strict=True), 1):
        assert (entry.seq, entry.prev) == (number, prev)
        assert entry.hash == entry_hash(number, prev, "note", entry.body) == receipt.hash
        assert store.read(lambda transaction, number=number: transaction.entry(number)) == entry
        prev = entry.hash
    assert store.head() == entries[-1]


def test_the_last_text_of_each_key_is_kept(store):
    def write(transaction):
        transaction.put("a", "1")
        transaction.put("b", "2")
        transaction.put("a", "3")

    store.transact(write)
    assert dict(store.read(lambda transaction: list(transaction.table()))) == {"a": "3", "b": "2"}


@pytest.mark.parametrize("error", [BudgetError("no"), KeyboardInterrupt(), ZeroDivisionError()])
def test_what_fails_has_not_happened(store, error):
    def fail(transaction):
        note(1)(transaction)
        transaction.put("a", "1")
        raise error

    with pytest.raises(type(error)):
        store.transact(fail)
    assert store.head() is None
    assert store.read(lambda transaction: transaction.get("a")) is None
    store.transact(note(2))
    assert store.head().seq == 1


def test_locks_are_seen_by_other_processes(store):
    store.check_locks()


def test_adopting_is_an_entry_unless_the_check_refuses(store):
    def refuse(_):
        raise BudgetError("no")

    with pytest.raises(BudgetError):
        store.adopt({"who": "me"}, refuse)
    assert store.head() is None
    store.adopt({"who": "me"}, lambda _: None)
    assert store.head().kind == "adopted"
