"""Processes are killed at any moment: whatever one of them drew noise for was paid for, and the ledger stays whole."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sqlite3
import time
from fractions import Fraction
from types import SimpleNamespace
from unittest import mock

import pytest

import spatialdp as sdp
from spatialdp.privacy.ledger import entries
from spatialdp.privacy.ledger.entries import Kind
from spatialdp.privacy.noise import source
from tests.audit.accounts import drawn_before_it_is_paid_for

PROCESSES = 4
PATIENCE = 0.03  # seconds, at most, between two kills
UNIT = sdp.Domain((0, 0, 1, 1))
EPSILON = Fraction(1, 1000)

pytestmark = [pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"), pytest.mark.real_bits]


def released(token, account):
    """Make a release that a public parameter tells from all others."""
    sdp.Quadtree(1, prune=token).release([[0.2, 0.3]], UNIT, epsilon=EPSILON, account=account)


def publish_for_ever(path, published, number, bug):
    """Release after release; as soon as noise is drawn for one, it is a line in a file of this process."""
    account, token = sdp.Ledger(path).account("crashes"), 0
    lines = os.open(published / str(number), os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def drawn(count):
        os.write(lines, f"{token}\n".encode())
        return os.urandom(count)

    # The random numbers of entries are no noise.
    system = mock.patch.object(entries, "SystemNoise", return_value=SimpleNamespace(random_bytes=os.urandom))
    with system, mock.patch.object(source, "_system_bytes", drawn), bug():
        for token in range(number * 10**6, (number + 1) * 10**6):
            released(token, account)


def started(*arguments):
    """A process of its own that publishes; None is returned in no process but this one."""
    child = os.fork()
    if child:
        return child
    try:
        publish_for_ever(*arguments)
    finally:
        os._exit(1)


def after_kills(folder, kills, bug=contextlib.nullcontext):
    """Kill processes at random moments; return the ledger and all releases that noise was drawn for."""
    path, published, moments = folder / "privacy.ledger", folder / "published", random.Random(1)
    published.mkdir()
    account = sdp.Ledger(path).open("crashes", epsilon=1000)
    released(-1, account)  # loads what a release needs, so that processes are killed in releases
    running = [started(path, published, number, bug) for number in range(PROCESSES)]
    for number in range(PROCESSES, PROCESSES + kills):
        time.sleep(moments.uniform(0, PATIENCE))
        killed(running.pop(moments.randrange(len(running))))
        running.append(started(path, published, number, bug))
    for child in running:
        killed(child)
    return sdp.Ledger(path), {int(line) for file in published.iterdir() for line in file.read_text().split()}


def killed(child):
    os.kill(child, signal.SIGKILL)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def paid_in(ledger):
    """Return the releases that were paid for, except the first."""
    spends = [entry.facts for entry in ledger.entries if entry.kind == Kind.SPEND]
    return [int(facts["what"]["parameters"]["prune"]) for facts in spends[1:]]


def check(kills, folder):
    ledger, published = after_kills(folder, kills)
    paid = paid_in(ledger)
    assert published <= set(paid)  # no release is unrecorded
    assert len(published) > kills / 4  # and many were made
    assert len(set(paid) - published) <= kills + PROCESSES  # at most one each was paid for in vain
    assert len(paid) == len(set(paid))  # and none twice
    assert ledger.account("crashes").spent.epsilon == (len(paid) + 1) * EPSILON
    ledger.check()
    with sqlite3.connect(folder / "privacy.ledger") as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_whatever_noise_was_drawn_for_was_paid_for(tmp_path):
    check(200, tmp_path)


@pytest.mark.audit
def test_whatever_noise_was_drawn_for_was_paid_for_in_the_long_run(tmp_path):
    check(2000, tmp_path)


def test_a_release_that_draws_before_it_pays_is_caught(tmp_path):
    ledger, published = after_kills(tmp_path, 60, drawn_before_it_is_paid_for)
    assert published - set(paid_in(ledger))
