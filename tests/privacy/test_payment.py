"""Paying for a release: what happens in which order, what is refused before anything is read, and what is written."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from unittest import mock

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.errors import BudgetError, LedgerError, ParameterError, PointsError
from spatialdp.privacy.payment import PaidNoise
from spatialdp.records.streaming import FilePoints
from tests.helpers.cases import DOMAINS, ONE_OF_EACH, terms
from tests.helpers.ledgers import RECORD, Till, listening, order_of
from tests.helpers.release_files import rewrite, set_to
from tests.helpers.table_cases import TABLE_FRAMES
from tests.helpers.zone_cases import FRAMES

UNIT = sdp.Domain((0, 0, 1, 1))
XY = np.random.default_rng(1).random((60, 2))
FRAMED = {
    "zone-tree": (sdp.ZoneTree(), FRAMES["lopsided"], {"epsilon": 1}),
    "table": (sdp.Table(), TABLE_FRAMES["one cell"], {"epsilon": 1}),
    "network": (sdp.PrivBayes(), TABLE_FRAMES["one cell"], {"epsilon": 1}),
}
RELEASES = FRAMED | {
    name: (mechanism, DOMAINS["two corners"], terms(mechanism, "add-remove")) for name, mechanism in ONE_OF_EACH.items()
}


@pytest.mark.parametrize("name", RELEASES)
def test_nothing_is_drawn_before_it_is_paid_for(name):
    mechanism, frame, asked = RELEASES[name]
    events = []
    till = Till(events)
    order = order_of(lambda: mechanism.release([[0.1, 0.1]] * 3, frame, **asked, account=till), events)
    assert order == ["check", "records", "spend", "bits"]
    assert len(till.paid) == 1


def test_a_choice_of_the_bound_and_its_release_are_paid_for_at_once():
    points = sdp.Points(XY, person=[number % 7 for number in range(len(XY))])
    events = []
    till = Till(events)
    person = sdp.Person(cells=sdp.Chosen(candidates=(1, 3)))
    with listening(events):
        release = sdp.Flat((4, 4)).release(points, UNIT, epsilon=1, person=person, account=till)
    assert events.count("spend") == 1
    assert events.index("spend") < events.index("bits")
    ((cost, _, unit, what),) = till.paid
    assert (cost.epsilon, unit) == (1, "person")
    assert sum(release.privacy.budget.values()) == 1
    assert what["person"] == {"cells": person.choice.to_json()}


@pytest.mark.parametrize("law", ["discrete-laplace", "gaussian"])
def test_every_bound_that_may_be_chosen_costs_what_was_paid(law):
    asked = {"epsilon": 1, "delta": 1e-6 if law == "gaussian" else 0}
    prepared = sdp.Flat((4, 4), law=law).prepare(
        UNIT, **asked, person=sdp.Person(cells=sdp.Chosen(candidates=(1, 3, 10)))
    )
    costs = {sdp.Cost.of(each.statement) for each in (prepared, *prepared.candidates)}
    assert len(costs) == 1


def draws_before_it_pays(noise, count):
    bits = noise._source.random_bytes(count)
    noise.pay()
    return bits


def never_pays(noise, count):
    return noise._source.random_bytes(count)


@pytest.mark.parametrize("mutant", [draws_before_it_pays, never_pays])
def test_a_source_that_draws_before_it_pays_is_caught(mutant):
    with mock.patch.object(PaidNoise, "random_bytes", mutant), pytest.raises(AssertionError):
        test_nothing_is_drawn_before_it_is_paid_for("flat")


def test_an_account_that_is_asked_after_the_records_is_caught():
    original = PaidNoise.__init__

    def asks_late(noise, given, account, statement):
        late = mock.Mock(spec=Till, account=account, check=lambda *_, **__: None)
        late.spend = lambda *cost, **asked: (
            account.check(*cost, neighbours="", unit=""),
            account.spend(*cost, **asked),
        )
        original(noise, given, late, statement)

    with mock.patch.object(PaidNoise, "__init__", asks_late), pytest.raises(AssertionError):
        test_nothing_is_drawn_before_it_is_paid_for("flat")


def test_what_is_too_much_is_refused_before_a_record_is_read():
    events = []
    with listening(events), pytest.raises(BudgetError, match="less is left"):
        sdp.Flat((4, 4)).release(XY, UNIT, epsilon=1, account=Till(events, limit=Fraction(1, 2)))
    assert events == ["check"]


def test_an_account_that_was_used_up_meanwhile_draws_nothing():
    """Another process may spend between the check and the spend."""
    events = []
    till = Till(events)
    with listening(events), mock.patch.object(till, "spend", side_effect=BudgetError("another was faster.")):
        with pytest.raises(BudgetError, match="faster"):
            sdp.Flat((4, 4)).release(XY, UNIT, epsilon=1, account=till)
        assert "bits" not in events


def test_noise_that_could_not_be_paid_for_is_never_drawn():
    till = Till(limit=1)
    noise = PaidNoise(sdp.SystemNoise(), till, sdp.Flat((2, 2)).prepare(UNIT, epsilon=1).statement)
    with mock.patch.object(till, "spend", side_effect=LedgerError("the disk is full.")) as spend:
        for _ in range(2):
            with pytest.raises(LedgerError):
                noise.laplace(1, 3)
    assert spend.call_count == 1  # the first may have paid after all: a second would pay twice


def test_threads_pay_once():
    till, barrier = Till(), threading.Barrier(8)
    noise = PaidNoise(sdp.SystemNoise(), till, sdp.Flat((2, 2)).prepare(UNIT, epsilon=1).statement)

    def draw(_):
        barrier.wait()
        return noise.laplace(1, 3)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(draw, range(8)))
    assert len(till.paid) == 1


@pytest.mark.parametrize(
    ("mechanism", "asked", "words"),
    [
        (sdp.Flat((2, 2)), {"noise": sdp.SeededNoise(1)}, "noise is a SeededNoise"),
        (sdp.KdTree(2, median="true"), {}, "not private"),
        (sdp.Flat((2, 2)), {"account": "crashes"}, "account is a str"),
    ],
    ids=["seeded", "true medians", "a name"],
)
def test_what_no_account_pays_for_is_refused_before_a_record_is_read(mechanism, asked, words):
    events = []
    with listening(events), pytest.raises(ParameterError, match=words):
        mechanism.release(XY, UNIT, **({"epsilon": 1, "account": Till(events)} | asked))
    assert not {"records", "spend", "bits"} & set(events)


def test_totals_that_are_published_exactly_have_no_cost():
    mechanism = sdp.ZoneTree(invariants=["state"])
    with pytest.raises(ParameterError, match="invariants"):
        mechanism.release([[0.5, 0.5]], FRAMES["regular"], epsilon=1, neighbours="replace", account=Till())


def test_records_of_the_wrong_form_cost_nothing():
    till = Till()
    with pytest.raises(PointsError):
        sdp.Flat((2, 2)).release(sdp.Points([0.1], [0.2], person=["ann"]), UNIT, epsilon=1, account=till)
    assert not till.paid


def test_a_file_that_turns_out_to_be_damaged_costs_nothing(tmp_path):
    path = tmp_path / "points.csv"
    path.write_text('x,y\n0.1,0.2\n0.3,"0.4\n')
    points, till = sdp.read_points(path, UNIT, x="x", y="y"), Till()
    assert isinstance(points, FilePoints)
    with pytest.raises(PointsError):
        sdp.Quadtree(2).release(points, UNIT, epsilon=1, account=till)
    assert till.events == ["check"]


def test_a_file_is_counted_before_it_is_paid_for(tmp_path):
    path, events = tmp_path / "points.csv", []
    np.savetxt(path, XY, delimiter=",", header="x,y", comments="")
    points, read = sdp.read_points(path, UNIT, x="x", y="y"), FilePoints._batches

    def batches(self, domain):
        yield from read(self, domain)
        events.append("end of the file")

    till = Till(events)
    with mock.patch.object(FilePoints, "_batches", batches):
        release = sdp.Quadtree(2).release(points, UNIT, epsilon=1, account=till)
    assert events == ["check", "end of the file", "spend"]
    assert release.privacy.ledger.entry == 1


def test_a_table_in_an_engine_is_paid_for(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(tmp_path / "homes.db") as connection:
        connection.execute("CREATE TABLE homes AS SELECT 0.1 * i AS x, 0.05 * i AS y FROM range(9) AS t(i)")
    till = Till()
    table = sdp.read_table(f"duckdb:///{tmp_path / 'homes.db'}?table=homes", UNIT, x="x", y="y")
    release = sdp.Quadtree(2).release(table, UNIT, epsilon=1, account=till)
    assert till.events == ["check", "spend"]
    assert release.privacy.ledger.entry == 1


def test_the_entry_says_what_the_statement_says():
    till = Till()
    asked = {"epsilon": Fraction(1, 3), "delta": 1e-6, "neighbours": "replace"}
    release = sdp.Quadtree(2, law="gaussian").release(XY, UNIT, **asked, account=till)
    ((cost, neighbours, unit, what),) = till.paid
    assert cost.rho == sum(release.privacy.budget.values())
    assert (neighbours, unit) == ("replace", "record")
    assert (what["mechanism"], what["epsilon"], what["delta"], what["currency"]) == ("quadtree", "1/3", "1e-06", "rho")
    assert what["parameters"]["height"] == 2
    assert set(what["budget"]) == set(release.privacy.budget)
    assert "stop" not in what["parameters"]  # what was not given is not told


def test_long_parameters_are_told_by_their_digest():
    totals = {"state": dict.fromkeys("ABC", 10)}
    known = {"county": {f"{state}{number}": 5 for state in "AB" for number in range(500)}} | totals
    statement = sdp.Flat((2, 2)).prepare(UNIT, epsilon=1).statement
    till = Till()
    long = mock.Mock(wraps=statement, **{name: getattr(statement, name) for name in statement.__dataclass_fields__})
    long.parameters = {"known": known, "short": totals}
    PaidNoise(sdp.SystemNoise(), till, long).pay()
    parameters = till.paid[0][3]["parameters"]
    assert list(parameters["known"]) == ["sha256"]
    assert parameters["short"] == totals


@pytest.mark.parametrize("name", RELEASES)
def test_a_paid_release_carries_its_receipt(name, tmp_path):
    mechanism, frame, asked = RELEASES[name]
    ledger = sdp.Ledger(tmp_path / "privacy.ledger")
    account = ledger.open("crashes", epsilon=2)
    release = mechanism.release([[0.1, 0.1]] * 3, frame, **asked, account=account)
    receipt = release.privacy.ledger
    assert ledger.entries[-1].hash == receipt.hash
    assert release.account is account
    assert f"paid by entry {receipt.entry} of ledger" in repr(release)
    assert account.spent.epsilon == 1
    path = tmp_path / "release.parquet"
    release.save(path)
    loaded = sdp.load(path)
    assert loaded.privacy == release.privacy
    assert loaded.account is None
    assert ledger.check([release, loaded, path]).releases == 3


def test_without_an_account_nothing_is_said():
    release = sdp.Flat((2, 2)).release(XY, UNIT, epsilon=1)
    assert release.privacy.ledger is None
    assert release.account is None
    assert "paid" not in repr(release)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (set_to("privacy", "ledger", "entry", value=1), "another one now"),
        (set_to("privacy", "ledger", "entry", value=99), "is missing"),
        (set_to("privacy", "ledger", "hash", value="0" * 64), "another one now"),
        (set_to("privacy", "ledger", "id", value="0" * 32), "another ledger"),
        (lambda header: header["privacy"].pop("ledger"), "without an account"),
    ],
    ids=["another entry", "no entry", "another hash", "another ledger", "no receipt"],
)
def test_forged_receipts_are_found_by_the_ledger(tmp_path, change, words):
    """The files can be read, because nobody knows the ledger then; the ledger knows."""
    ledger, path = sdp.Ledger(tmp_path / "privacy.ledger"), tmp_path / "release.parquet"
    sdp.Flat((2, 2)).release(XY, UNIT, epsilon=1, account=ledger.open("crashes", epsilon=2)).save(path)
    assert ledger.check([path]).releases == 1
    rewrite(path, header=change, sign=True)
    assert sdp.load(path).account is None
    with pytest.raises(LedgerError, match=words):
        ledger.check([path])


def test_a_prepaid_amount_pays_for_releases(tmp_path):
    account = sdp.Ledger(tmp_path / "privacy.ledger").open("crashes", epsilon=2)
    with account.prepay(sdp.Cost.pure(1), **RECORD, what={"for": "a dashboard"}) as prepaid:
        releases = [sdp.Flat((2, 2)).release(XY, UNIT, epsilon=Fraction(1, 2), account=prepaid) for _ in range(2)]
        with pytest.raises(BudgetError, match="of the prepaid amount only"):
            sdp.Flat((2, 2)).release(XY, UNIT, epsilon=1, account=prepaid)
    assert {release.privacy.ledger.entry for release in releases} == {2}
    assert all(release.account is account for release in releases)
    releases[0].save(tmp_path / "release.parquet")
    assert account.entries[-1].facts["entry"] == 2


def test_a_part_pays_for_releases(tmp_path):
    account = sdp.Ledger(tmp_path / "privacy.ledger").open("crashes", epsilon=2)
    parts = account.partition("state", ["Iowa", "Ohio"])
    for part in parts.values():
        sdp.Flat((2, 2)).release(XY, UNIT, epsilon=1, account=part).save(tmp_path / f"{part.entries[-1].seq}.parquet")
    assert account.left.epsilon == 1


def test_an_account_of_persons_pays_for_persons_and_for_their_records(tmp_path):
    account = sdp.Ledger(tmp_path / "privacy.ledger").open("visits", epsilon=5, unit="person", records=4)
    points = sdp.Points(XY, person=[number % 7 for number in range(len(XY))])
    sdp.Flat((2, 2)).release(points, UNIT, epsilon=1, person=sdp.Person(records=3), account=account)
    assert account.spent.epsilon == 1
    sdp.Flat((2, 2)).release(XY, UNIT, epsilon=1, account=account)
    assert account.spent.epsilon == 1 + 4


def test_gaussian_noise_is_paid_for_in_its_own_pot(tmp_path):
    account = sdp.Ledger(tmp_path / "privacy.ledger").open("crashes", epsilon=2, delta=1e-9, pure=1)
    release = sdp.Flat((2, 2), law="gaussian").release(XY, UNIT, epsilon=0.5, delta=1e-9, account=account)
    assert account.spent.rho == sum(release.privacy.budget.values())
    assert account.spent.epsilon == 0
