"""Processes are killed at any moment: whatever one of them published was paid for, and the ledger stays whole."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import time
from fractions import Fraction

import pytest

import spatialdp as sdp
from spatialdp.privacy.ledger.entries import Kind

PROCESSES = 4
PATIENCE = 0.03  # seconds, at most, between two kills

pytestmark = [pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"), pytest.mark.real_bits]


def publish_for_ever(path, published, number, pays_first):
    """Release after release: pay and publish, or the other way round; a release is a line in a file of its own."""
    account = sdp.Ledger(path).account("crashes")
    lines = os.open(published / str(number), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for release in range(10**6):
        token = f"{number}-{release}"
        if not pays_first:
            os.write(lines, f"{token}\n".encode())
        account.spend(sdp.Cost.pure(Fraction(1, 1000)), neighbours="add-remove", unit="record", what={"token": token})
        if pays_first:
            os.write(lines, f"{token}\n".encode())


def started(*arguments):
    """A process of its own that publishes; None is returned in no process but this one."""
    child = os.fork()
    if child:
        return child
    try:
        publish_for_ever(*arguments)
    finally:
        os._exit(1)


def after_kills(folder, kills, *, pays_first=True):
    """Kill processes at random moments; return the ledger and all that was published."""
    path, published, moments = folder / "privacy.ledger", folder / "published", random.Random(1)
    published.mkdir()
    sdp.Ledger(path).open("crashes", epsilon=1000)
    running = [started(path, published, number, pays_first) for number in range(PROCESSES)]
    for number in range(PROCESSES, PROCESSES + kills):
        time.sleep(moments.uniform(0, PATIENCE))
        killed(running.pop(moments.randrange(len(running))))
        running.append(started(path, published, number, pays_first))
    for child in running:
        killed(child)
    return sdp.Ledger(path), {line for file in published.iterdir() for line in file.read_text().split()}


def killed(child):
    os.kill(child, signal.SIGKILL)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def check(kills, folder):
    ledger, published = after_kills(folder, kills)
    spends = [entry for entry in ledger.entries if entry.kind == Kind.SPEND]
    paid = {entry.facts["what"]["token"] for entry in spends}
    assert published <= paid  # no release is unrecorded
    assert len(published) > kills / 4  # and many were made
    assert len(paid - published) <= kills + PROCESSES  # at most one each was paid for in vain
    assert ledger.account("crashes").spent.epsilon == Fraction(len(spends), 1000)
    ledger.check()
    with sqlite3.connect(folder / "privacy.ledger") as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_whatever_was_published_was_paid_for(tmp_path):
    check(200, tmp_path)


@pytest.mark.audit
def test_whatever_was_published_was_paid_for_in_the_long_run(tmp_path):
    check(2000, tmp_path)


def test_who_publishes_before_it_pays_is_caught(tmp_path):
    ledger, published = after_kills(tmp_path, 60, pays_first=False)
    paid = {entry.facts["what"]["token"] for entry in ledger.entries if entry.kind == Kind.SPEND}
    assert published - paid
