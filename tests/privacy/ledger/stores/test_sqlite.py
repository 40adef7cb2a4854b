"""The file of a ledger: settings that lose nothing, one writer at a time, and every fault is refused."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import sqlite3
import stat
import subprocess
import sys
import threading
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest

import spatialdp as sdp
from spatialdp.errors import BudgetError, LedgerError, SpatialDPError
from spatialdp.privacy.ledger.check import check_entries
from spatialdp.privacy.ledger.entries import Kind
from spatialdp.privacy.ledger.stores import sqlite
from spatialdp.privacy.ledger.stores.sqlite import SQLiteStore
from tests.helpers.ledgers import alter, pay

ROOT = Path(__file__).parents[4]


@pytest.fixture
def path(folder):
    """The file of a ledger with an account and one spend."""
    path = folder / "privacy.ledger"
    pay(sdp.Ledger(path).open("crashes", epsilon=2), 0.5)
    return path


def spent(path):
    return sdp.Ledger(path).account("crashes").spent.epsilon


# --- the file --------------------------------------------------------------------------------------


def test_nobody_but_the_owner_may_read_the_file(path):
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_nothing_is_left_beside_the_file(path):
    assert [each.name for each in path.parent.iterdir()] == ["privacy.ledger"]


def test_every_connection_has_the_settings_that_lose_nothing(path):
    with closing(SQLiteStore(path)._connect()) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)
        assert connection.execute("PRAGMA synchronous").fetchone() == (3,)
        assert connection.isolation_level is None


@pytest.mark.parametrize(("setting", "value"), [("journal_mode", "nonsense"), ("synchronous", 9)])
def test_other_settings_are_refused(path, setting, value, monkeypatch):
    """As if this SQLite did not know the setting: what it answers is compared."""
    monkeypatch.setitem(sqlite._SETTINGS, setting, value)
    with pytest.raises(LedgerError, match=f"{setting} = "):
        spent(path)


def test_a_ledger_that_somebody_put_into_another_mode_is_put_back(path):
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA journal_mode=WAL").fetchone() == ("wal",)
    pay(sdp.Ledger(path).account("crashes"), 0.5)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)


def test_entries_can_neither_be_changed_nor_removed(path):
    with closing(sqlite3.connect(path)) as connection:
        for statement in ("UPDATE entry SET body = '{}'", "DELETE FROM entry"):
            with pytest.raises(sqlite3.IntegrityError, match="never"):
                connection.execute(statement)


def test_a_folder_that_is_missing_is_named(folder):
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        sdp.Ledger(folder / "nowhere" / "privacy.ledger")


def test_a_ledger_with_an_odd_name_is_found_again(folder):
    path = folder / "crashes? 100% #1 – ä.ledger"
    pay(sdp.Ledger(path).open("crashes", epsilon=2), 1)
    assert spent(str(path)) == 1
    assert [each.name for each in folder.iterdir()] == [path.name]


def test_the_ledger_is_found_after_the_folder_was_changed(path, monkeypatch):
    monkeypatch.chdir(path.parent)
    ledger = sdp.Ledger("privacy.ledger")
    monkeypatch.chdir("/")
    assert ledger.account("crashes").spent.epsilon == Fraction(1, 2)


# --- copies ----------------------------------------------------------------------------------------


def test_a_copy_is_refused(path):
    copy = path.with_name("copy.ledger")
    shutil.copy(path, copy)
    with pytest.raises(LedgerError, match="is a copy of a ledger"):
        sdp.Ledger(copy)


def test_an_old_copy_in_the_ledgers_place_is_refused_at_once(path):
    account = sdp.Ledger(path).account("crashes")
    copy = path.with_name("copy.ledger")
    shutil.copy(path, copy)
    pay(account, 1)
    os.replace(copy, path)
    with pytest.raises(LedgerError, match="put in the ledger's place"):
        pay(account, 1)
    with pytest.raises(LedgerError, match="put in the ledger's place"):
        sdp.Ledger(path)


def test_a_ledger_that_was_moved_on_its_disk_is_the_ledger(path):
    path.rename(path.with_name("moved.ledger"))
    assert spent(path.with_name("moved.ledger")) == Fraction(1, 2)


def test_a_ledger_that_is_gone_is_not_made_anew_by_its_accounts(path):
    account = sdp.Ledger(path).account("crashes")
    path.unlink()
    with pytest.raises(LedgerError):
        pay(account, 0.5)
    assert not path.exists()


def test_a_file_that_goes_while_it_is_open_is_an_error_of_the_ledger(path):
    with pytest.raises(LedgerError, match="cannot be reached"):
        SQLiteStore(path).transact(lambda _: path.unlink() or path.stat())


def test_another_process_may_have_made_the_ledger(folder, monkeypatch):
    """Between the look for the file and the making of it."""
    path = folder / "privacy.ledger"
    account = sdp.Ledger(path).open("crashes", epsilon=2)
    with monkeypatch.context() as patch:
        patch.setattr(os.path, "lexists", lambda _: False)
        sdp.Ledger(path)
    assert account.limit.epsilon == 2


# --- races -----------------------------------------------------------------------------------------

RACE = """
import sys, time
import spatialdp as sdp
from fractions import Fraction
from spatialdp.errors import BudgetError
from spatialdp.privacy.ledger.books import record
from spatialdp.privacy.ledger.check import check_entries
from spatialdp.privacy.ledger.entries import Kind

path, careless, *names = sys.argv[1:]
ledger = sdp.Ledger(path)
terms = {"neighbours": "add-remove", "unit": "record"}


def spend_outside_the_lock(account, cost):
    account.check(cost, **terms)
    time.sleep(0.01)
    amount = account.charge(cost, **terms)
    entry = account._entry(cost, amount, "add-remove", "record", {})
    ledger.change(lambda transaction: record(transaction, Kind.SPEND, entry))


print("ready", flush=True)
sys.stdin.readline()
for name in names:
    account, grants = ledger.account(name), 0
    cost = sdp.Cost.pure(Fraction(name))
    try:
        while True:
            spend_outside_the_lock(account, cost) if careless == "careless" else account.spend(cost, **terms, what={})
            grants += 1
    except BudgetError:
        print(grants, flush=True)
"""
RACES = {"1/10": 10, "1/3": 7, "1/7": 1}


def race(path, careless, names, processes=8):
    """Let processes spend from accounts until nothing is left; return how often each account paid."""
    command = [sys.executable, "-c", RACE, str(path), careless, *names]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}
    runners = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
        for _ in range(processes)
    ]
    for runner in runners:
        assert runner.stdout.readline() == "ready\n"
    outputs = []
    for runner in runners:
        runner.stdin.write("\n")
        runner.stdin.flush()
    for runner in runners:
        outputs.append([int(line) for line in runner.communicate()[0].split()])
        assert runner.returncode == 0
    return dict(zip(names, map(sum, zip(*outputs, strict=True)), strict=True))


@pytest.mark.unmeasured
def test_processes_that_race_for_the_last_epsilon_get_exactly_what_there_is(folder):
    ledger = sdp.Ledger(folder / "privacy.ledger")
    for name, limit in RACES.items():
        ledger.open(name, epsilon=limit)
    grants = race(folder / "privacy.ledger", "careful", RACES)
    assert grants == {name: limit / Fraction(name) // 1 for name, limit in RACES.items()}
    assert grants == {"1/10": 100, "1/3": 21, "1/7": 7}
    checked = ledger.check()
    assert checked.entries == 3 + 128
    assert all(checked.spent[name].epsilon == limit for name, limit in RACES.items())


@pytest.mark.unmeasured
def test_a_limit_that_is_read_outside_of_the_lock_is_overspent(folder):
    """A wrong ledger: the race must be able to find it out, and `check` does, too."""
    ledger = sdp.Ledger(folder / "privacy.ledger")
    ledger.open("1/3", epsilon=2)
    assert race(folder / "privacy.ledger", "careless", ["1/3"], processes=4)["1/3"] > 6
    with pytest.raises(LedgerError, match="more was spent from the account '1/3' than its limit"):
        ledger.check()


def test_threads_get_exactly_what_there_is(folder):
    ledger = sdp.Ledger(folder / "privacy.ledger")
    account = ledger.open("crashes", epsilon=1)
    grants = []

    def spend():
        with contextlib.suppress(BudgetError):
            while True:
                grants.append(pay(account, Fraction(1, 20)))

    threads = [threading.Thread(target=spend) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({receipt.entry for receipt in grants}) == len(grants) == 20
    assert ledger.check().spent["crashes"].epsilon == 1


FORK = """
import os, sys, threading
import spatialdp as sdp
from fractions import Fraction
from spatialdp.errors import BudgetError

account = sdp.Ledger(sys.argv[1]).account("crashes")
terms = {"neighbours": "add-remove", "unit": "record", "what": {}}
stopped = []


def spend():
    try:
        while True:
            account.spend(sdp.Cost.pure(Fraction(1, 60)), **terms)
    except BudgetError:
        stopped.append(True)


# The thread is in the middle of a spend, more often than not, whenever the process forks.
thread = threading.Thread(target=spend)
thread.start()
children = []
for _ in range(5):
    child = os.fork()
    if not child:
        spend()
        os._exit(0 if stopped else 1)
    children.append(child)
thread.join()
assert all(os.waitpid(child, 0)[1] == 0 for child in children)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_process_that_forks_while_it_spends_is_no_danger(folder):
    ledger = sdp.Ledger(folder / "privacy.ledger")
    ledger.open("crashes", epsilon=2)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}
    subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORK, str(folder / "privacy.ledger")],
        check=True,
        env=environment,
        timeout=120,
    )
    checked = ledger.check()
    assert checked.spent["crashes"].epsilon == 2
    assert checked.entries == 1 + 120


def test_after_a_fork_the_child_has_a_lock_of_its_own():
    lock = sqlite._OneAtATime()
    lock.take()
    lock.renew()  # what happens in the child
    with lock:
        pass


def test_a_system_that_does_not_fork_needs_nothing(monkeypatch):
    monkeypatch.delattr(os, "register_at_fork", raising=False)
    with sqlite._OneAtATime():
        pass


# --- faults ----------------------------------------------------------------------------------------


def test_a_lock_that_is_held_for_too_long_is_an_error(path):
    store = SQLiteStore(path, patience=0.05)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert store.head().seq == 2  # others may read
        with pytest.raises(LedgerError, match="held its lock for too long"):
            store.transact(lambda transaction: transaction.append(Kind.NOTE, {}))
    store.transact(lambda transaction: transaction.append(Kind.NOTE, {}))


def test_a_disk_whose_locks_are_not_seen_is_refused(path, monkeypatch):
    """As on a network file system where another process gets the lock, too."""
    monkeypatch.setattr(sqlite, "_TRY_LOCK", "pass")
    with pytest.raises(LedgerError, match="not on a network file system"):
        sdp.Ledger(path).check()


def limited(pages):
    """`sqlite3.connect`, on a disk with so many pages left."""
    connect = sqlite3.connect

    def connection(*args, **kwargs):
        made = connect(*args, **kwargs)
        (size,) = made.execute("PRAGMA page_count").fetchone()
        made.execute(f"PRAGMA max_page_count = {size + pages}")
        return made

    return connection


def test_a_full_disk_refuses_and_loses_nothing(path, monkeypatch):
    account = sdp.Ledger(path).account("crashes")
    granted = 0
    with monkeypatch.context() as patch:
        patch.setattr(sqlite3, "connect", limited(0))
        for _ in range(20):
            try:
                pay(account, 0.001, long="x" * 2000)
                granted += 1
            except LedgerError as error:
                assert "the disk is full" in str(error)  # noqa: PT017 - either outcome is fine
    assert granted < 5
    assert spent(path) == Fraction(1, 2) + granted * Fraction(1, 1000)
    pay(account, 0.5)
    assert sdp.Ledger(path).check().entries == 3 + granted


TOO_LARGE = """
import resource, sys
import spatialdp as sdp
from spatialdp.errors import LedgerError

account = sdp.Ledger(sys.argv[1]).account("crashes")
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
refused = 0
for _ in range(20):
    try:
        account.spend(sdp.Cost.pure(0.001), neighbours="add-remove", unit="record", what={"long": "x" * 5000})
    except LedgerError:
        refused += 1
print(refused)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such limits")
def test_a_system_that_refuses_to_write_loses_nothing(path):
    """The system lets no file grow, the journal included: writes fail in the middle of a spend."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-c", TOO_LARGE, str(path), str(path.stat().st_size)]
    run = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    refused = int(run.stdout)
    assert refused > 10
    assert spent(path) == Fraction(1, 2) + (20 - refused) * Fraction(1, 1000)
    assert sdp.Ledger(path).check().entries == 2 + 20 - refused


def test_a_commit_that_raises_gives_no_receipt(path, monkeypatch):
    """It may have happened or not, so nothing may be released."""
    connect = SQLiteStore._connect

    class Failing:
        def __init__(self, connection):
            self._connection = connection

        def execute(self, statement, *values):
            if statement == "COMMIT":
                raise sqlite3.OperationalError("disk I/O error")
            return self._connection.execute(statement, *values)

        def close(self):
            self._connection.close()

    account = sdp.Ledger(path).account("crashes")
    with monkeypatch.context() as patch:
        patch.setattr(SQLiteStore, "_connect", lambda store: Failing(connect(store)))
        with pytest.raises(LedgerError, match="disk I/O error"):
            pay(account, 0.5)
    assert spent(path) == Fraction(1, 2)


def test_a_ledger_that_may_only_be_read_is_read(path, monkeypatch):
    """As root may write every file, the file is opened for reading alone."""
    monkeypatch.setattr(SQLiteStore, "_uri", property(lambda store: f"{store.path.as_uri()}?mode=ro"))
    assert spent(path) == Fraction(1, 2)
    with pytest.raises(LedgerError, match="may not be written"):
        pay(sdp.Ledger(path).account("crashes"), 0.5)


# --- files that are no ledgers, and files that were altered ----------------------------------------


@pytest.mark.parametrize("content", [b"", b"x", b"SQLite format 3\x00", b"SQLite format 3\x00" * 1000, bytes(10**5)])
def test_other_files_are_refused(folder, content):
    path = folder / "privacy.ledger"
    path.write_bytes(content)
    with pytest.raises(LedgerError, match="not a ledger"):
        sdp.Ledger(path)
    assert path.read_bytes() == content


def test_a_folder_is_refused(folder):
    with pytest.raises(LedgerError):
        sdp.Ledger(folder)


@pytest.mark.parametrize(
    "statements",
    [
        ["CREATE TABLE more (x)"],
        ["CREATE TRIGGER t AFTER INSERT ON entry BEGIN DELETE FROM state; END"],
        ["DROP TABLE state"],
        ["DROP TABLE state", "CREATE VIEW state AS SELECT 'a' AS key, 'b' AS value"],
        ["UPDATE meta SET value = 'spatialdp ledger 2' WHERE key = 'format'"],
        ["DELETE FROM meta WHERE key = 'format'"],
    ],
)
def test_ledgers_of_another_form_are_refused(path, statements):
    alter(path, *statements)
    with pytest.raises(LedgerError, match="not a ledger that this version"):
        sdp.Ledger(path)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entry SET body = x'00' WHERE seq = 2",
        "UPDATE entry SET hash = CAST(x'ff' AS TEXT) WHERE seq = 2",
        "UPDATE entry SET prev = 7 || x'ff' WHERE seq = 2",
        "UPDATE state SET value = x'00'",
        "UPDATE meta SET value = x'00' WHERE key = 'ledger'",
        "UPDATE meta SET value = 'x' WHERE key = 'ledger'",
        "DELETE FROM meta WHERE key = 'ledger'",
    ],
)
def test_values_that_were_not_written_here_are_errors_of_the_ledger(path, statement):
    alter(path, statement)
    with pytest.raises(LedgerError):
        sdp.Ledger(path).check()
    with contextlib.suppress(LedgerError):
        pay(sdp.Ledger(path).account("crashes"), 0.5)
    with pytest.raises(LedgerError):
        sdp.Ledger(path).check()


def test_names_that_are_no_text_are_an_error_of_the_ledger(path):
    """SQLite quotes them in its message, which then is no text either."""
    alter(
        path,
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_master SET sql = 'CREATE nonsense', name = CAST(x'ff' AS TEXT) WHERE name = 'state'",
    )
    with pytest.raises(LedgerError, match="damaged"):
        sdp.Ledger(path)


@pytest.mark.unmeasured
def test_whatever_is_in_the_file_it_is_an_error_of_the_ledger(path):
    """Bytes at random places are changed in place; what cannot be read raises one kind of error."""
    random_ = random.Random(5)
    content, refused = path.read_bytes(), 0
    for _ in range(150):
        altered = bytearray(content)
        for _ in range(random_.choice((1, 3, 30))):
            altered[random_.randrange(len(altered))] = random_.randrange(256)
        path.write_bytes(altered)
        try:
            ledger = sdp.Ledger(path)
            pay(ledger.account("crashes"), 0.01)
            _ = ledger.entries
            ledger.read(check_entries)
        except LedgerError:
            refused += 1
        except SpatialDPError:
            pass
    assert refused > 20
