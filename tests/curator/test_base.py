"""Do parts, prepaid amounts and releases spend from the account as they should, and does a curator show nothing?"""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import shapely

import spatialdp as sdp
from spatialdp.errors import BudgetError, ParameterError, PointsError
from spatialdp.privacy.noise.source import SeededNoise
from tests.helpers.curators import DOMAIN, exactly, nothing_spent, opened, rehearsing

RECORDS = np.random.default_rng(1).uniform(0, 8, (200, 2))
STATES = np.where(RECORDS[:, 0] < 4, "Iowa", "Ohio")


def test_a_curator_shows_its_domain_and_its_account_and_nothing_of_its_records(tmp_path):
    account = opened(tmp_path)
    few, many = sdp.Curator([], DOMAIN, account), sdp.Curator(RECORDS, DOMAIN, account)
    assert repr(few) == repr(many) == f"Curator({DOMAIN}, Account('crashes'))"
    for refused in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="copied"):
            refused(many)
    with pytest.raises(TypeError):
        len(many)
    assert not hasattr(many, "__iter__")
    assert "200" not in repr(vars(many))


def test_neighbours_are_those_of_the_account(tmp_path):
    for relation, scale in (("add-remove", "1"), ("replace", "2")):
        account = opened(
            tmp_path / relation if (tmp_path / relation).mkdir() is None else tmp_path, neighbours=relation
        )
        answers = sdp.Curator(RECORDS, DOMAIN, account).counts([(0, 0, 1, 1), (1, 1, 2, 2)], epsilon=1)
        assert answers.privacy.neighbours == relation
        assert answers.privacy.parameters["scale"] == scale


@pytest.mark.parametrize(
    ("domain", "account", "words"),
    [
        ((0, 0, 1, 1), None, "domain is a tuple"),
        (DOMAIN, None, "account is a NoneType"),
        (DOMAIN, 2, "Curator.rehearsal"),
    ],
)
def test_a_curator_needs_a_domain_and_an_account(domain, account, words):
    with pytest.raises(ParameterError, match=words):
        sdp.Curator(RECORDS, domain, account)


# --- partitions -----------------------------------------------------------------------------------------


def test_parts_by_label_have_their_records_and_cost_the_most_of_any(tmp_path):
    account = opened(tmp_path)
    curator = sdp.Curator(sdp.Rows(RECORDS, state=STATES), DOMAIN, account)
    states = curator.partition("state", of=["Iowa", "Ohio", "Utah"])
    for part in states.values():
        part.count(epsilon=1)
    assert account.spent.epsilon == 1
    assert repr(states["Ohio"]) == f"Curator({DOMAIN}, Account('crashes', state 'Ohio'))"
    exact = exactly(sdp.Rows(RECORDS, state=STATES)).partition("state", of=["Iowa", "Ohio", "Utah"])
    assert {state: part.count(epsilon=1).values for state, part in exact.items()} == {
        "Iowa": (STATES == "Iowa").sum(),
        "Ohio": (STATES == "Ohio").sum(),
        "Utah": 0,
    }


def test_parts_by_area_hold_a_record_once():
    boxes = {"west": (0, 0, 4, 8), "east": (4, 0, 8, 8)}
    for areas in ({"boxes": boxes}, {"polygons": {name: shapely.box(*box) for name, box in boxes.items()}}):
        parts = exactly(RECORDS).partition("side", **areas)
        assert [part.count(epsilon=1).values for part in parts.values()] == [
            (s == STATES).sum() for s in ("Iowa", "Ohio")
        ]
    over = exactly(RECORDS).partition("side", boxes={"west": (0, 0, 5, 8), "all": (0, 0, 8, 8)})
    assert sum(part.count(epsilon=1).values for part in over.values()) == 200


def test_parts_divide_further_and_have_the_columns(tmp_path):
    account = opened(tmp_path)
    rows = sdp.Rows(RECORDS, state=STATES, year=[2023, 2024] * 100, price=np.arange(200))
    part = sdp.Curator(rows, DOMAIN, account).partition("state", of=["Ohio"])["Ohio"]
    years = part.partition("year", of=["2023", "2024"])
    for each in years.values():
        each.sum("price", (0, 200), epsilon=0.5)
    assert account.spent.epsilon == Fraction(1, 2)
    exact = exactly(rows).partition("state", of=["Ohio"])["Ohio"].partition("when", "year", of=["2024"])["2024"]
    chosen = (STATES == "Ohio") & (np.arange(200) % 2 == 1)
    assert exact.sum("price", (0, 256), epsilon=1).values == pytest.approx(np.arange(200)[chosen].sum(), abs=1e-3)


def test_a_label_that_no_part_has_is_in_no_part_and_so_is_a_missing_one():
    rows = sdp.Rows([[1, 1]] * 4, state=["Ohio", None, "ohio", "Guam"])
    parts = exactly(rows).partition("state", of=["Ohio", "Iowa"])
    assert [part.count(epsilon=1).values for part in parts.values()] == [1, 0]


@pytest.mark.parametrize(
    ("terms", "words"),
    [
        ({}, "give one of"),
        ({"of": ["a"], "boxes": {"a": (0, 0, 1, 1)}}, "give one of"),
        ({"boxes": [(0, 0, 1, 1)]}, "must be a dictionary"),
        ({"boxes": {"a": (9, 9, 10, 10)}}, "outside the domain"),
        ({"of": ["a", "a"]}, "different public names"),
        ({"of": []}, "different public names"),
        ({"labels": "county", "of": ["a"]}, "no column beside the points"),
        ({"of": ["a"], "person_stays": True}, "single records"),
    ],
)
def test_partitions_that_make_no_sense_change_nothing(tmp_path, terms, words):
    account = opened(tmp_path)
    curator = sdp.Curator(sdp.Rows(RECORDS, state=STATES), DOMAIN, account)
    with pytest.raises(ParameterError, match=words):
        curator.partition("state", **terms)
    assert nothing_spent(account)


HALVES = {"west": (0, 0, 4, 8), "east": (4, 0, 8, 8)}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"boxes": HALVES}, {"boxes": {"all": (0, 0, 8, 8)}}),  # every record would be in two parts
        ({"boxes": HALVES}, {"boxes": {"west": (0, 0, 4, 8), "east": (2, 0, 8, 8)}}),
        ({"boxes": HALVES}, {"boxes": dict(reversed(HALVES.items()))}),
        ({"polygons": {"a": shapely.box(0, 0, 4, 4)}}, {"polygons": {"b": shapely.box(0, 0, 4, 4)}}),
        ({"polygons": {"a": shapely.box(0, 0, 4, 4)}}, {"boxes": {"a": (0, 0, 4, 4)}}),
        ({"boxes": HALVES}, {"labels": "state", "of": ["Iowa"]}),
        ({"labels": "state", "of": ["Iowa"]}, {"labels": "kind", "of": ["fatal"]}),
    ],
)
def test_one_partition_has_one_rule_whoever_asks(tmp_path, first, second):
    account = opened(tmp_path)
    rows = sdp.Rows(RECORDS, state=STATES, kind=["fatal"] * len(RECORDS))
    sdp.Curator(rows, DOMAIN, account).partition("part", **first)
    entries = len(account.entries)
    with pytest.raises(ParameterError, match="the partition 'part' divides the records by"):
        sdp.Curator(rows, DOMAIN, account).partition("part", **second)
    assert len(account.entries) == entries
    account.keeper.check()


def test_areas_of_another_domain_are_another_rule(tmp_path):
    account = opened(tmp_path)
    sdp.Curator(RECORDS, DOMAIN, account).partition("part", boxes=HALVES)
    with pytest.raises(ParameterError, match="by two rules"):
        sdp.Curator(RECORDS, sdp.Domain((0, 0, 8, 9)), account).partition("part", boxes=HALVES)


def test_labels_of_the_same_column_may_be_added_and_parts_asked_for_again(tmp_path):
    account = opened(tmp_path)
    account.partition("state", ["Iowa"])  # declared by hand; the curator's rule is the partition's from then on
    curator = sdp.Curator(sdp.Rows(RECORDS, state=STATES, kind=STATES), DOMAIN, account)
    for labels in (["Iowa"], ["Ohio", "Iowa"], ["Ohio"]):
        assert list(curator.partition("state", of=labels)) == labels
    assert list(account.partition("state", ["Utah"])) == ["Utah"]
    with pytest.raises(ParameterError, match="the column 'state', and now by the column 'kind'"):
        curator.partition("state", "kind", of=["Iowa"])
    assert [entry.facts.get("rule") for entry in account.entries[1:]] == [None, "the column 'state'", None, None]
    account.keeper.check()
    for _ in range(2):
        assert list(curator.partition("side", boxes=HALVES)) == ["west", "east"]


def test_labels_of_areas_are_checked_as_others(tmp_path):
    account = opened(tmp_path)
    for label in (b"west", 1, ("a", "b"), " west"):
        with pytest.raises(ParameterError, match="labels"):
            sdp.Curator(RECORDS, DOMAIN, account).partition("side", boxes={label: (0, 0, 4, 8)})
    assert nothing_spent(account)


def test_a_column_of_doubles_has_no_labels(tmp_path):
    account = opened(tmp_path)
    with pytest.raises(PointsError, match="state"):
        sdp.Curator(sdp.Rows([[1, 1]], state=np.array([1.5])), DOMAIN, account).partition("state", of=["1.5"])
    assert nothing_spent(account)


# --- prepaid --------------------------------------------------------------------------------------------


def test_a_prepaid_amount_is_paid_once_drawn_down_exactly_and_refuses_beyond(tmp_path):
    account = opened(tmp_path)
    curator = sdp.Curator(RECORDS, DOMAIN, account)
    with curator.prepaid(epsilon=Fraction(1, 3)) as prepaid:
        assert account.spent.epsilon == Fraction(1, 3)
        for _ in range(10):
            answers = prepaid.count(epsilon=Fraction(1, 30))
        with pytest.raises(BudgetError, match="of the prepaid amount only ε = 0"):
            prepaid.count(epsilon=1e-9)
        assert answers.privacy.private
    assert account.spent.epsilon == Fraction(1, 3)
    assert [entry.kind for entry in account.entries] == ["open", "spend", "note"]
    ((times, asked, cost, _),) = account.entries[-1].facts["note"]["asks"]
    assert (times, asked["ask"], cost) == (10, "count", "1/30")
    assert answers.privacy.ledger.entry == 2
    with pytest.raises(BudgetError, match="closed"):
        prepaid.count(epsilon=0.01)


def test_a_prepaid_amount_is_not_divided_and_does_not_prepay(tmp_path):
    rows = sdp.Rows(RECORDS, state=STATES)
    with sdp.Curator(rows, DOMAIN, opened(tmp_path)).prepaid(epsilon=1) as prepaid:
        with pytest.raises(ParameterError, match="divide the records first"):
            prepaid.partition("state", of=["Ohio"])
        with pytest.raises(ParameterError, match="ask for the rest"), prepaid.prepaid(epsilon=0.1):
            pass
        assert round(prepaid.release(sdp.Flat(shape=(2, 2)), epsilon=0.9).total) > 0


def test_parts_prepay_side_by_side(tmp_path):
    account = opened(tmp_path)
    for part in (
        sdp.Curator(sdp.Rows(RECORDS, state=STATES), DOMAIN, account).partition("state", of=["Iowa", "Ohio"]).values()
    ):
        with part.prepaid(epsilon=1) as prepaid:
            prepaid.count(epsilon=1)
    assert account.spent.epsilon == 1


def test_a_prepaid_amount_of_zcdp(tmp_path):
    account = opened(tmp_path, epsilon=2, delta=1e-6, pure=1)
    with sdp.Curator(RECORDS, DOMAIN, account).prepaid(epsilon=0.5, delta=1e-6, law="gaussian") as prepaid:
        prepaid.count(epsilon=0.1, delta=1e-6, law="gaussian")
        with pytest.raises(BudgetError):
            prepaid.count(epsilon=0.1)
    assert account.spent.epsilon == 0
    assert account.spent.rho > 0


def test_noise_is_looked_at_when_an_amount_is_prepaid(tmp_path):
    account = opened(tmp_path)
    curator = sdp.Curator(RECORDS, DOMAIN, account)
    curator._purse = replace(curator._purse, noise=SeededNoise(1))
    with pytest.raises(ParameterError, match="can be repeated"), curator.prepaid(epsilon=1):
        pass
    assert nothing_spent(account)


# --- releases -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "mechanism", [sdp.Flat(shape=(4, 4)), sdp.Quadtree(height=3), sdp.KdTree(height=2), sdp.Adaptive()]
)
def test_any_mechanism_releases_as_it_does_by_itself(mechanism):
    ours = rehearsing(RECORDS, 7).release(mechanism, epsilon=1)
    theirs = mechanism.release(RECORDS, DOMAIN, epsilon=1, noise=SeededNoise(7))
    boxes = [(0, 0, 3, 3), (1, 2, 7, 8)]
    assert ours.answer(boxes).tolist() == theirs.answer(boxes).tolist()
    assert ours.privacy == theirs.privacy


def test_a_release_is_paid_for_by_the_account_and_says_so(tmp_path):
    account = opened(tmp_path, neighbours="replace")
    release = sdp.Curator(RECORDS, DOMAIN, account).release(sdp.Quadtree(height=3), epsilon=0.5)
    assert account.spent.epsilon == Fraction(1, 2)
    assert release.privacy.private
    assert release.privacy.neighbours == "replace"
    assert release.privacy.ledger.entry == 2


def test_a_release_beyond_the_account_is_refused(tmp_path):
    account = opened(tmp_path)
    curator = sdp.Curator(RECORDS, DOMAIN, account)
    curator._held = None
    with pytest.raises(BudgetError, match="left"):
        curator.release(sdp.Quadtree(height=3), epsilon=3)
    zones = sdp.ZoneTree()
    for wrong in (zones, "quadtree", sdp.Quadtree):
        with pytest.raises(ParameterError, match="points of a domain"):
            curator.release(wrong, epsilon=1)
    assert nothing_spent(account)


# --- persons --------------------------------------------------------------------------------------------


def persons(tmp_path, most=3, **terms):
    account = opened(tmp_path, unit="person", **terms)
    points = sdp.Points(RECORDS, person=[f"p{i % 9}" for i in range(200)])
    return account, sdp.Curator(points, DOMAIN, account, person=sdp.Person(records=most))


def test_persons_pay_once_and_get_noise_for_all_their_records(tmp_path):
    account, curator = persons(tmp_path)
    answers = curator.count(epsilon=1)
    assert answers.privacy.parameters["scale"] == "3"
    assert answers.privacy.unit == "person"
    assert account.spent.epsilon == 1
    release = curator.release(sdp.Flat(shape=(2, 2)), epsilon=0.5)
    assert release.privacy.person == sdp.Person(records=3)


def test_records_are_bounded_once_for_all_questions():
    points = sdp.Points(RECORDS, person=[f"p{i % 9}" for i in range(200)])
    curator = exactly(points, person=sdp.Person(records=3))
    assert curator.count(epsilon=1).values == 27
    assert curator.release(sdp.Flat(shape=(2, 2)), epsilon=1).total == 27


def test_an_account_of_persons_without_a_bound_pays_for_as_many_records_as_it_declares(tmp_path):
    account = opened(tmp_path, unit="person", records=4)
    sdp.Curator(RECORDS, DOMAIN, account).count(epsilon=0.25)
    assert account.spent.epsilon == 1


def test_persons_need_an_account_of_persons_and_points_that_name_them(tmp_path):
    points = sdp.Points(RECORDS, person=[f"p{i % 9}" for i in range(200)])
    account = opened(tmp_path)
    with pytest.raises(ParameterError, match="open an account of persons"):
        sdp.Curator(points, DOMAIN, account, person=sdp.Person(records=3))
    with pytest.raises(PointsError, match="not bounded"):
        sdp.Curator(points, DOMAIN, account)
    with pytest.raises(PointsError, match="do not say who"):
        rehearsing(RECORDS, person=sdp.Person(records=3))
    for bound in (sdp.Person(cells=3), sdp.Person(shares=True), sdp.Person(records=sdp.Chosen())):
        with pytest.raises(ParameterError, match="the largest number of records of a person"):
            rehearsing(points, person=bound)


def test_parts_of_persons_need_to_know_whether_a_person_stays(tmp_path):
    account, curator = persons(tmp_path, records=3)
    halves = {"west": (0, 0, 4, 8), "east": (4, 0, 8, 8)}
    with pytest.raises(ParameterError, match="person_stays"):
        curator.partition("side", boxes=halves)
    for part in curator.partition("side", boxes=halves, person_stays=False).values():
        part.count(epsilon=Fraction(1, 10))
    assert account.spent.epsilon == Fraction(3, 10)
