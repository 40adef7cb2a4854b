"""Months as they come: exact sensitivities, replayed neighbours, covariances of the noise, and what is kept secret."""

from __future__ import annotations

import copy
import io
import json
import pickle
import stat
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from unittest import mock

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.errors import BudgetError, FileFormatError, ParameterError
from spatialdp.mechanisms.running import series as series_module
from spatialdp.privacy.accounting import rho_for
from spatialdp.privacy.budget import Budget
from spatialdp.privacy.noise import source
from spatialdp.privacy.noise.laws import NoiseLaw
from spatialdp.privacy.receipt import Receipt
from spatialdp.strategies.frames.square_root import SquareRoot
from tests.audit.tape import Tape
from tests.helpers.ledgers import Till

GRID = sdp.Domain((0, 0, 2, 1)).grid((2, 1))
KINDS = sdp.Categories(["theft", "fraud"])
FRAME = sdp.Frame(GRID, kind=KINDS)
TERMS = {"epsilon": 1, "delta": 1e-6}
MONTHS = 5


def rows(*cells):
    """Records in some cells, given as (kind, column)."""
    return sdp.Rows([[column + 0.5, 0.5] for _, column in cells], kind=[kind for kind, _ in cells])


def start(relation="add-remove", months=MONTHS, **terms):
    return sdp.Running(months).start(FRAME, neighbours=relation, **(TERMS | terms))


def measured(data, relation="add-remove"):
    """The exact measurements of all months, and the law of their noise."""
    seen = []

    def record(law, counts, noise):
        seen.append((law, np.array(counts)))
        return np.asarray(counts) / law.steps

    with mock.patch.object(NoiseLaw, "add_to", record):
        series = start(relation)
        for month in data:
            series.add(month)
    return seen


NOBODY = [rows()] * MONTHS


def one(month, cell=("theft", 0)):
    return [rows(cell) if place == month else rows() for place in range(MONTHS)]


def loss(first, second, relation):
    pairs = list(zip(measured(first, relation), measured(second, relation), strict=True))
    assert all(a == b for (a, _), (b, _) in pairs)
    return sum(Fraction(int(((a - b) ** 2).sum())) / (2 * law.parameter) for (law, a), (_, b) in pairs)


def test_no_record_costs_more_than_the_promise_and_the_first_month_costs_it_exactly():
    rho = rho_for(Budget(1, Fraction(1, 10**6)))
    losses = [loss(NOBODY, one(month), "add-remove") for month in range(MONTHS)]
    assert losses[0] == rho
    assert max(losses) == rho
    assert losses == sorted(losses, reverse=True)


def test_no_replaced_record_costs_more_than_the_promise():
    rho = rho_for(Budget(1, Fraction(1, 10**6)))
    losses = [
        loss(one(month), one(other, cell), "replace")
        for month in range(MONTHS)
        for other in range(MONTHS)
        for cell in (("theft", 0), ("fraud", 1))
    ]
    assert max(losses) == rho  # both in the first month, in different cells


def test_measurements_are_the_rows_of_the_matrix():
    data = [rows(*[("theft", 0)] * count) for count in (3, 1, 4, 1, 5)]
    entries = SquareRoot(MONTHS).entries
    for month, (_, exact) in enumerate(measured(data)):
        counts = [3, 1, 4, 1, 5][: month + 1]
        assert exact[0, 0] == sum(int(entries[month - past]) * count for past, count in enumerate(counts))
        assert not exact[1].any()


def test_neighbours_give_the_same_releases_and_objects_from_the_same_outcomes():
    """What is published may depend on the records through the outcomes alone; the state differs, and is secret."""
    first, second = one(1), one(1, ("fraud", 1))
    with Tape() as tape:
        results = []
        for data, noise in ((first, tape.record(3)), (second, None)):
            source = tape.play() if noise is None else noise
            series = start("replace")
            releases = [series.add(month, noise=source) for month in data]
            results.append((pickle.dumps([r.measured.tolist() for r in releases]), [repr(r) for r in releases]))
            results[-1] += (repr(series), releases[-1].to_frame().to_csv())
        tape.finish()
        assert results[0] == results[1]
        assert 0 < tape.rho <= rho_for(Budget(1, Fraction(1, 10**6)))


def test_a_scale_that_forgets_a_month_is_noticed():
    """A mutant: noise for the norm of all but the last entry."""
    real = series_module._law

    def forgetful(root, cost, neighbours):
        return real(SquareRoot(root.horizon - 1), cost, neighbours)

    with mock.patch.object(series_module, "_law", forgetful):
        assert loss(NOBODY, one(0), "add-remove") > rho_for(Budget(1, Fraction(1, 10**6)))


@pytest.mark.statistical
def test_the_covariance_of_the_errors_is_that_of_the_matrix():
    """3,000 series; the false-alarm rate is below 1e-6, and a scale that is wrong by a tenth is noticed."""
    frame, months, trials = sdp.Frame(sdp.Domain((0, 0, 50, 60)).grid((50, 60))), 6, 3000
    series = sdp.Running(months).start(frame, **TERMS)
    for _ in range(months):
        release = series.add([], noise=sdp.SeededNoise((4, _)))
    totals = np.stack([release.root.weights(0, t) @ release.measured[:t].reshape(t, -1) for t in range(1, months + 1)])
    empirical = totals @ totals.T / trials
    weights = np.stack([np.pad(release.root.weights(0, t), (0, months - t)) for t in range(1, months + 1)])
    expected = weights @ weights.T * release.variance
    error = np.sqrt((np.outer(np.diag(expected), np.diag(expected)) + expected**2) / trials)
    assert np.all(np.abs(empirical - expected) < 5.5 * error)
    assert not np.all(np.abs(1.21 * empirical - expected) < 5.5 * error)


@pytest.mark.statistical
def test_intervals_of_months_and_totals_cover():
    frame, trials = sdp.Frame(sdp.Domain((0, 0, 40, 50)).grid((40, 50))), 2000
    series = sdp.Running(4).start(frame, **TERMS)
    for month in range(4):
        release = series.add([], noise=sdp.SeededNoise((5, month)))
    labels = [(x, y, x + 1, y + 1) for x in range(40) for y in range(50)]
    for months in ({}, {"first": 2, "last": 2}, {"first": 2, "last": 3}):
        ends = release.interval(level=0.9, box=labels, **months)
        rate = np.mean((ends[:, 0] <= 0) & (ends[:, 1] >= 0))
        assert 0.9 - 5 * np.sqrt(0.09 / trials) < rate < 0.96


def test_answers_without_noise_are_the_counts():
    with mock.patch.object(NoiseLaw, "add_to", lambda law, counts, noise: np.asarray(counts) / law.steps):
        series = start()
        for count in (3, 1, 4):
            release = series.add(rows(*[("theft", 0)] * count, ("fraud", 1)))
    assert release.answer() == pytest.approx(11)
    assert release.answer(kind=["theft", "fraud"]).tolist() == pytest.approx([8, 3])
    assert release.answer(first=3, last=3, kind="theft") == pytest.approx(4)
    assert release.answer(first=1, last=2, box=(0, 0, 1, 1)) == pytest.approx(4)
    table = release.to_frame(kind="theft")
    assert table["estimate"].tolist() == pytest.approx([3, 1, 4])
    assert table["total"].tolist() == pytest.approx([3, 4, 8])
    assert table.attrs["privacy"]["mechanism"] == "running"


def test_a_month_after_the_horizon_is_refused():
    series = start(months=1)
    series.add(rows())
    with pytest.raises(BudgetError, match="all 1 months"):
        series.add(rows())


def test_the_state_is_taken_up_again_and_gives_the_same_releases(tmp_path):
    data = [rows(*[("theft", 0)] * count) for count in (3, 1, 4)]
    straight, parts = start(), start()
    for month, each in enumerate(data):
        expected = straight.add(each, noise=sdp.SeededNoise((1, month)))
        release = parts.add(each, noise=sdp.SeededNoise((1, month)))
        parts.save(tmp_path / f"{month}.secret")
        parts = start().resume(tmp_path / f"{month}.secret")
    assert np.array_equal(release.measured, expected.measured)
    assert parts.left == 2
    assert not release.privacy.private
    assert not parts.statement.private


def test_the_state_has_no_records_but_tells_their_counts_and_only_its_owner_may_read_it(tmp_path):
    series = start()
    series.add(rows(*[("theft", 0)] * 7))
    series.save(tmp_path / "a.secret")
    assert stat.S_IMODE((tmp_path / "a.secret").stat().st_mode) == 0o600
    assert series._past_counts()[0][0, 0] == 7  # this is why it is secret
    assert "<secret>" in repr(series)
    with pytest.raises(ParameterError, match=r"\.secret"):
        series.save(tmp_path / "a.npz")
    with pytest.raises(FileExistsError):
        series.save(tmp_path / "a.secret")


def test_no_month_is_released_twice_by_threads_copies_or_processes(monkeypatch):
    series, counted = start(), []
    begun, go_on = threading.Event(), threading.Event()

    def slow(records, frame):
        counted.append(series.left)
        begun.set()
        assert go_on.wait(60)
        return np.zeros(frame.shape, dtype=np.int64)

    with monkeypatch.context() as patched, ThreadPoolExecutor(2) as threads:
        patched.setattr(series_module, "count_rows", slow)
        first = threads.submit(series.add, rows())
        assert begun.wait(60)
        second = threads.submit(series.add, rows())
        assert not second.done()
        time.sleep(0.1)
        assert counted == [MONTHS]
        go_on.set()
        assert {first.result().measured.shape[0], second.result().measured.shape[0]} == {1, 2}
    assert counted == [MONTHS, MONTHS - 1]
    for refused in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="same month"):
            refused(series)
    monkeypatch.setattr(series_module.os, "getpid", lambda: -1)
    with pytest.raises(ParameterError, match="another process"):
        series.add(rows())


@pytest.mark.parametrize("other", ["epsilon", "horizon", "frame", "noise", "torn"])
def test_a_state_of_another_series_is_refused(other, tmp_path):
    series = start()
    series.add(rows())
    path = tmp_path / "a.secret"
    series.save(path)
    fresh = start(epsilon=2) if other == "epsilon" else start(months=6) if other == "horizon" else start()
    if other == "frame":
        kinds = sdp.Categories(["theft", "arson"])
        fresh = sdp.Running(MONTHS).start(sdp.Frame(GRID, kind=kinds), **TERMS)
    if other == "torn":
        path.write_bytes(path.read_bytes()[:100])
    if other == "noise":
        path.write_bytes(b"not a state")
    with pytest.raises(FileFormatError, match="no state of this series"):
        fresh.resume(path)


def test_terms_are_checked_before_a_record_is_read():
    with pytest.raises(BudgetError):
        sdp.Running(12).start(FRAME, epsilon=1, delta=0)
    with pytest.raises(ParameterError, match=r"needs a spatialdp\.Frame"):
        sdp.Running(12).start(GRID, **TERMS)
    with pytest.raises(ParameterError, match="horizon"):
        sdp.Running(0)
    with pytest.raises(ParameterError, match="more than"):
        sdp.Running(4096).start(sdp.Frame(sdp.Domain((0, 0, 1, 1)).grid((1000, 1000))), **TERMS)
    with pytest.raises(BudgetError, match="larger"):
        sdp.Running(12).start(FRAME, epsilon=1e-9, delta=1e-12)


# --- an account pays ---------------------------------------------------------------------------------


def test_all_months_are_paid_for_before_the_noise_of_the_first():
    till = Till()
    series = start(account=till)
    assert till.events == []  # whoever resumes a series has paid for it already
    drawn = []
    with mock.patch.object(source, "_system_bytes", lambda count: drawn.append(list(till.events)) or bytes(count)):
        releases = [series.add(rows(("theft", 0))) for _ in range(MONTHS)]
    assert drawn[0] == till.events == ["check", "spend"]
    assert till.paid[0][0].rho == rho_for(Budget(1, 1e-6))
    assert {release.privacy.ledger for release in releases} == {Receipt("0" * 32, 1, "f" * 64)}


def test_an_account_that_is_used_up_refuses_before_the_first_month_is_read():
    till = Till(limit=0)
    with mock.patch.object(series_module, "as_rows") as read, pytest.raises(BudgetError, match="less is left"):
        start(account=till).add(rows())
    assert not read.called


def test_a_series_that_is_resumed_does_not_pay_again(tmp_path):
    till, path = Till(), tmp_path / "year.secret"
    series = start(account=till)
    series.add(rows())
    series.save(path)
    for account in (till, None):
        resumed = start(account=account).resume(path)
        assert resumed.add(rows()).privacy.ledger == series.statement.ledger
    assert till.events == ["check", "spend"]


def test_a_series_that_nobody_paid_for_is_not_paid_for_afterwards(tmp_path):
    path = tmp_path / "year.secret"
    series = start()
    series.add(rows())
    series.save(path)
    with pytest.raises(ParameterError, match="without an account"):
        start(account=Till()).resume(path).add(rows())


def test_an_empty_series_is_paid_for_when_its_first_month_comes(tmp_path):
    till, path = Till(), tmp_path / "year.secret"
    start().save(path)
    start(account=till).resume(path).add(rows())
    assert till.events == ["check", "spend"]


@pytest.mark.parametrize("months", [0, 1])
def test_seeded_noise_is_not_paid_for(months):
    till = Till()
    series = start(account=till)
    for _ in range(months):
        series.add(rows())
    with pytest.raises(ParameterError, match="SeededNoise"):
        series.add(rows(), noise=sdp.SeededNoise(1))
    assert till.events == ["check", "spend"] * months


@pytest.mark.parametrize("forged", [{"months": 0}, {"private": False}, {"ledger": {"id": "0", "entry": 1, "hash": ""}}])
def test_a_forged_receipt_in_a_state_is_refused(tmp_path, forged):
    path = tmp_path / "year.secret"
    series = start(account=Till())
    series.add(rows())
    series.save(path)
    with np.load(io.BytesIO(path.read_bytes())) as state:
        arrays = {name: state[name] for name in ("published", "noise")}
        header = json.loads(state["header"].tobytes()) | forged
    if not header["months"]:
        arrays = {name: array[:0] for name, array in arrays.items()}
    with path.open("wb") as file:
        np.savez(file, header=np.frombuffer(json.dumps(header).encode(), dtype=np.uint8), **arrays)
    with pytest.raises(FileFormatError):
        start().resume(path)


def test_errors_of_the_state_bring_neither_noise_nor_counts_along(tmp_path):
    """Reports of errors that show local variables would show the noise of what is published."""
    series, path = start(), tmp_path / "year.secret"
    series.add(rows(*[("theft", 0)] * 7))
    series.save(path)
    for attempt in (lambda: series.save(path), lambda: start(months=MONTHS + 1).resume(path)):
        with pytest.raises((FileExistsError, FileFormatError)) as caught:
            attempt()
        assert caught.value.__context__ is caught.value.__cause__ is None
        frames = [entry.frame.f_locals for entry in caught.traceback if "/tests/" not in str(entry.path)]
        held = [value for variables in frames for value in variables.values()]
        assert frames
        assert not any(isinstance(value, np.ndarray | io.BytesIO | series_module.RunningSeries) for value in held)
