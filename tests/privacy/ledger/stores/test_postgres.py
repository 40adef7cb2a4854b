"""A ledger in PostgreSQL: as durable, exact and sceptical as one in a file. On a server that these tests start."""

from __future__ import annotations

import os
import signal
import time
from fractions import Fraction
from urllib.parse import quote

import pytest

import spatialdp as sdp
from spatialdp.errors import BudgetError, LedgerError
from spatialdp.privacy.ledger.entries import Kind
from spatialdp.privacy.ledger.stores import postgres
from spatialdp.privacy.ledger.stores.postgres import PostgresStore, is_address
from tests.helpers.engines import postgresql_server

pytestmark = pytest.mark.real_bits  # of forked processes, too

TERMS = {"neighbours": "add-remove", "unit": "record", "what": {"mechanism": "flat"}}


def address_of(place, database="postgres", user="postgres"):
    return f"postgresql://{user}@/{database}?host={quote(place['host'])}"


@pytest.fixture(scope="module")
def server():
    """Where a server listens that syncs, and what crashes it and starts it anew."""
    restarts = []
    with postgresql_server("on", restarts) as place:
        yield place, restarts[0]


@pytest.fixture
def run(server):
    """Carry out statements in a database, as its owner."""
    import psycopg

    def carry_out(database, *statements):
        with psycopg.connect(address_of(server[0], database), autocommit=True) as connection:
            return [connection.execute(statement) for statement in statements]

    return carry_out


@pytest.fixture
def address(server, run, request):
    """The address of an empty database."""
    name = f"d{abs(hash(request.node.name))}"
    run("postgres", f"CREATE DATABASE {name}")
    yield address_of(server[0], name)
    run("postgres", f"DROP DATABASE {name} WITH (FORCE)")


def database_of(address):
    return address.split("@/")[1].split("?")[0]


def pay(account, epsilon=Fraction(1, 10)):
    return account.spend(sdp.Cost.pure(epsilon), **TERMS)


def test_addresses_are_told_from_paths():
    assert is_address("postgresql://host/db")
    assert is_address("postgres://host/db")
    assert not is_address("privacy.ledger")


def test_neither_password_nor_login_is_shown():
    store = PostgresStore("postgresql://ann:secret@nowhere.invalid/privacy?connect_timeout=1", patience=1)
    assert "secret" not in repr(store) + str(store)
    assert "privacy on nowhere.invalid" in repr(store)


@pytest.mark.engines
def test_a_server_that_cannot_be_reached_is_an_error_without_the_password():
    with pytest.raises(LedgerError, match="cannot be reached") as failure:
        sdp.Ledger("postgresql://ann:secret@/privacy?host=/nowhere")
    assert "secret" not in str(failure.value)
    assert failure.value.__cause__ is None


@pytest.mark.engines
def test_accounts_spend_and_are_found_again(address):
    account = sdp.Ledger(address).open("crashes", epsilon=1)
    receipts = [pay(account) for _ in range(3)]
    again = sdp.Ledger(address).account("crashes")
    assert again.spent.epsilon == Fraction(3, 10)
    assert [entry.hash for entry in again.entries if entry.kind == Kind.SPEND] == [each.hash for each in receipts]
    with pytest.raises(BudgetError, match=r"0\.7 is left"):
        pay(again, Fraction(8, 10))
    assert again.left.epsilon == Fraction(7, 10)


@pytest.mark.engines
def test_an_error_in_a_transaction_leaves_nothing(address):
    store = PostgresStore(address)
    store.make()

    def fail(transaction):
        transaction.append(Kind.NOTE, {"note": "lost"})
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        store.transact(fail)
    assert store.entries() == []
    assert store.head() is None


@pytest.mark.engines
def test_reading_cannot_write(address):
    store = PostgresStore(address)
    store.make()
    with pytest.raises(LedgerError, match="ReadOnlySqlTransaction"):
        store.read(lambda transaction: transaction.append(Kind.NOTE, {}))


@pytest.mark.engines
@pytest.mark.parametrize("statement", ["UPDATE", "DELETE", "TRUNCATE"])
def test_entries_are_never_changed_or_removed(address, run, statement):
    import psycopg

    pay(sdp.Ledger(address).open("crashes", epsilon=1))
    table = "spatialdp_ledger.entry"
    words = {"UPDATE": f"UPDATE {table} SET body = ''", "DELETE": f"DELETE FROM {table}"}
    with pytest.raises(psycopg.errors.RaiseException, match="never changed or removed"):
        run(database_of(address), words.get(statement, f"TRUNCATE {table}"))


def raced(address, cost, processes=8):
    """How many of the spends of racing processes were granted."""
    children = []
    for _ in range(processes):
        if not (child := os.fork()):
            granted = 0
            try:
                account = sdp.Ledger(address).account("crashes")
                while True:
                    pay(account, cost)
                    granted += 1
            except BudgetError:
                os._exit(granted)
            finally:
                os._exit(255)
        children.append(child)
    grants = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    assert 255 not in grants
    return sum(grants)


@pytest.mark.engines
@pytest.mark.parametrize(("cost", "limit", "grants"), [("1/10", 10, 100), ("1/3", 7, 21), ("1/7", 1, 7)])
def test_eight_processes_never_overspend(address, cost, limit, grants):
    sdp.Ledger(address).open("crashes", epsilon=limit)
    assert raced(address, Fraction(cost)) == grants


@pytest.mark.engines
def test_without_the_lock_they_would(address, monkeypatch):
    """So the test can fail: the limit is read before the lock is taken, and before other processes are done."""
    sdp.Ledger(address).open("crashes", epsilon=7)
    append = postgres.PostgresTransaction.append

    def slowly(self, kind, body):
        time.sleep(0.01)
        for _ in range(20):  # an entry number that another process took is tried again
            try:
                with self._connection.transaction():
                    return append(self, kind, body)
            except Exception as error:
                if type(error).__name__ != "UniqueViolation":
                    raise
        raise LedgerError("too many")

    monkeypatch.setattr(PostgresStore, "_lock", lambda *_: None)
    monkeypatch.setattr(postgres.PostgresTransaction, "append", slowly)
    assert raced(address, Fraction(1, 3)) > 21


@pytest.mark.engines
def test_readers_and_witness_agree_while_others_spend(address, tmp_path):
    witness = tmp_path / "witness"
    account = sdp.Ledger(address, witness=witness).open("crashes", epsilon=1000)
    if not (child := os.fork()):
        try:
            while True:
                pay(account)
        finally:
            os._exit(1)
    try:
        spent = [account.spent.epsilon for _ in range(60)]
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    assert spent == sorted(spent)
    assert spent[-1] > spent[0]
    sdp.Ledger(address, witness=witness).check()


@pytest.mark.engines
def test_nothing_acknowledged_is_lost_when_the_server_crashes(server, address):
    account = sdp.Ledger(address).open("crashes", epsilon=10)
    for number in range(1, 6):
        pay(account)
        server[1]()
        assert account.spent.epsilon == Fraction(number, 10)


@pytest.mark.engines
def test_killed_processes_leave_every_release_paid_for(address, tmp_path):
    sdp.Ledger(address).open("crashes", epsilon=1000)
    for number in range(40):
        if not (child := os.fork()):
            try:
                account = sdp.Ledger(address).account("crashes")
                lines = os.open(tmp_path / str(number), os.O_WRONLY | os.O_CREAT)
                while True:
                    os.write(lines, f"{pay(account).hash}\n".encode())
            finally:
                os._exit(1)
        time.sleep(0.05 + number / 200)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    ledger = sdp.Ledger(address)
    published = {line for file in tmp_path.iterdir() for line in file.read_text().split()}
    spends = [entry.hash for entry in ledger.entries if entry.kind == Kind.SPEND]
    assert len(published) > 5
    assert published <= set(spends)
    assert ledger.account("crashes").spent.epsilon == Fraction(len(spends), 10)


@pytest.mark.engines
def test_a_copy_is_refused_until_it_is_adopted(server, address, run):
    pay(sdp.Ledger(address).open("crashes", epsilon=1))
    run("postgres", f"CREATE DATABASE copied TEMPLATE {database_of(address)}")
    copied = address_of(server[0], "copied")
    try:
        with pytest.raises(LedgerError, match="is a copy"):
            sdp.Ledger(copied).account("crashes")
        adopted = sdp.Ledger.adopt(copied, who="Ann", why="the old server is gone")
        assert adopted.account("crashes").spent.epsilon == Fraction(1, 10)
    finally:
        run("postgres", "DROP DATABASE copied WITH (FORCE)")


@pytest.mark.engines
def test_a_witness_finds_a_rolled_back_database(server, address, run, tmp_path):
    witness, name = tmp_path / "witness", database_of(address)
    account = sdp.Ledger(address, witness=witness).open("crashes", epsilon=1)
    pay(account)
    run(name, "CREATE TABLE kept AS SELECT * FROM spatialdp_ledger.state")
    pay(account)
    run(
        name,
        "ALTER TABLE spatialdp_ledger.entry DISABLE TRIGGER never_changed",
        "DELETE FROM spatialdp_ledger.entry WHERE seq = (SELECT max(seq) FROM spatialdp_ledger.entry)",
        "DELETE FROM spatialdp_ledger.state",
        "INSERT INTO spatialdp_ledger.state SELECT * FROM kept",
    )
    with pytest.raises(LedgerError):
        sdp.Ledger(address, witness=witness).account("crashes")


@pytest.mark.engines
@pytest.mark.parametrize("setting", ["fsync", "synchronous_commit"])
def test_a_server_that_can_lose_entries_is_refused(setting, address, run, monkeypatch):
    if setting == "fsync":
        with postgresql_server("off") as careless, pytest.raises(LedgerError, match="fsync = off"):
            sdp.Ledger(address_of(careless))
        return
    # Whoever takes the line out that turns it on meets the check.
    run("postgres", f"ALTER DATABASE {database_of(address)} SET synchronous_commit = off")
    import psycopg

    execute = psycopg.Connection.execute

    def without(self, query, *values, **options):
        return execute(self, "SELECT 1" if query == "SET LOCAL synchronous_commit = on" else query, *values, **options)

    sdp.Ledger(address)
    monkeypatch.setattr(psycopg.Connection, "execute", without)
    with pytest.raises(LedgerError, match="synchronous_commit = off"):
        sdp.Ledger(address)


@pytest.mark.engines
def test_a_login_that_may_only_read_is_refused(server, address, run):
    account = sdp.Ledger(address).open("crashes", epsilon=1)
    run("postgres", "DROP ROLE IF EXISTS reader", "CREATE ROLE reader LOGIN")
    grants = (
        "GRANT USAGE ON SCHEMA spatialdp_ledger TO reader",
        "GRANT SELECT ON ALL TABLES IN SCHEMA spatialdp_ledger TO reader",
    )
    run(database_of(address), *grants)
    reader = PostgresStore(address_of(server[0], database_of(address), "reader"))
    assert len(reader.entries()) == len(account.entries)
    with pytest.raises(LedgerError, match="may not be written by this login"):
        reader.transact(lambda transaction: transaction.append(Kind.NOTE, {}))


@pytest.mark.engines
def test_a_lock_that_is_held_for_too_long_is_an_error(address):
    import psycopg

    store = PostgresStore(address, patience=1)
    store.make()
    with psycopg.connect(address) as holder:
        holder.execute("SELECT pg_advisory_xact_lock(%s)", (postgres._LOCK,))
        with pytest.raises(LedgerError, match="locked by another process for too long"):
            store.transact(lambda _: None)
    store.transact(lambda _: None)


@pytest.mark.engines
def test_tables_of_another_version_are_refused(address, run):
    sdp.Ledger(address)
    run(database_of(address), "UPDATE spatialdp_ledger.meta SET value = 'spatialdp ledger 9' WHERE key = 'format'")
    with pytest.raises(LedgerError, match="this version of spatialdp"):
        sdp.Ledger(address)


@pytest.mark.engines
def test_a_release_is_paid_for_from_a_database(address):
    account = sdp.Ledger(address).open("crashes", epsilon=1)
    prepaid = account.prepay(sdp.Cost.pure(Fraction(1, 2)), **TERMS)
    with prepaid:
        prepaid.spend(sdp.Cost.pure(Fraction(1, 4)), **TERMS)
    assert account.left.epsilon == Fraction(1, 2)
    release = sdp.Flat((2, 2)).release([[0.1, 0.2]], sdp.Domain((0, 0, 1, 1)), epsilon=0.5, account=account)
    assert account.left.epsilon == 0
    assert sdp.Ledger(address).check([release]).releases == 1
