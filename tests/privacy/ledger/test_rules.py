"""The rule of sums and maxima, against brute force over all records, all pairs of records and all persons.

The brute force knows nothing of costs and pairs: it lists every record that there could be by the parts that it is in,
says which asks read it, and adds up what these asks cost. `mutants` below are wrong rules; each must be caught.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise, product

import numpy as np
import pytest

from spatialdp.privacy.ledger import rules
from spatialdp.privacy.ledger.cost import Cost
from spatialdp.privacy.ledger.rules import EMPTY, UNUSED, Parts, Room, Step, Totals, rebuilt
from spatialdp.privacy.ledger.terms import Terms, charge

ACCOUNTS = 3000
UNIT = 60  # costs are whole multiples of 1/60


# --- random accounts -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Asked:
    """One ask: the places that it reads together, what it costs there, and whether it protects whole persons."""

    places: tuple[tuple[str, ...], ...]
    cost: int
    person: bool = False


@dataclass
class Made:
    """A random account: its partitions, by place and name, and the asks in their order."""

    partitions: dict[tuple[str, ...], list[str]]
    stays: dict[tuple[str, ...], bool]
    asks: list[Asked] = field(default_factory=list)


def divided(random_, place, depth, most_parts=3):
    """Partitions of a place and of its parts: up to two of them cross, and up to two are nested."""
    partitions = {}
    for name in ("p", "q")[: random_.choice((0, 1, 1, 2)) if depth else random_.choice((1, 2, 2))]:
        labels = [f"{name}{number}" for number in range(random_.randint(2, most_parts))]
        partitions[*place, name] = labels
        if depth < 1:
            for label in labels:
                if random_.random() < 0.4:
                    partitions |= divided(random_, (*place, name, label), depth + 1, 2)
    return partitions


def made(random_, asks=8, most_parts=3):
    """A random account."""
    partitions = divided(random_, ("a",), 0, most_parts)
    account = Made(partitions, {key: random_.random() < 0.5 for key in partitions})
    nodes = [("a",), *((*key, label) for key, labels in partitions.items() for label in labels)]
    for _ in range(random_.randint(1, asks)):
        places = (random_.choice(nodes),)
        if random_.random() < 0.3:
            key = random_.choice(list(partitions))
            places = tuple((*key, label) for label in random_.sample(partitions[key], random_.randint(2, 2)))
        account.asks.append(Asked(places, random_.randint(1, 12), random_.random() < 0.5))
    return account


def records(account, place=("a",)):
    """Every record of a place that there could be: the set of nodes that it is in."""
    choices = []
    for key, labels in account.partitions.items():
        if key[:-1] == place:
            inside = [nodes for label in labels for nodes in records(account, (*key, label))]
            choices.append([frozenset(), *inside])
    return [frozenset({place}).union(*chosen) for chosen in product(*choices)]


def readings(account, kinds):
    """Which asks read which records: a matrix of booleans, (records, asks)."""
    return np.array([[any(place in nodes for place in ask.places) for ask in account.asks] for nodes in kinds])


# --- the rule --------------------------------------------------------------------------------------


def spent(account, costs=None):
    """The totals of the account by the library's rule, one ask after the other."""
    nodes, parts = {}, {}
    for number, ask in enumerate(account.asks):
        amount = Fraction(ask.cost if costs is None else costs[number], UNIT)
        for place in ask.places:
            path = [place[:length] for length in range(len(place), 0, -2)]
            steps = [
                Step(below[-1], parts.get(below[:-1], EMPTY), nodes.get(above, UNUSED))
                for below, above in pairwise(path)
            ]
            totals, known = rules.spend(amount, nodes.get(place, UNUSED), steps)
            nodes |= dict(zip(path, totals, strict=True))
            parts |= {below[:-1]: new for below, new in zip(path[:-1], known, strict=True)}
    return nodes, parts


def at_stake(account):
    """The most that one record, and two records, have at stake, by brute force, in sixtieths."""
    costs = np.array([ask.cost for ask in account.asks])
    read = np.unique(readings(account, records(account)), axis=0)
    single = read @ costs
    pair = single[:, None] + single[None, :] - (read * costs) @ read.T  # an ask that reads both is one replacement
    return Fraction(int(single.max()), UNIT), Fraction(int(pair.max()), UNIT)


def compare(accounts=ACCOUNTS, seed=0):
    """How often the rule is below the brute force, and how often it is equal: for records, and for pairs."""
    random_ = random.Random(seed)
    below, equal = [0, 0], [0, 0]
    for _ in range(accounts):
        account = made(random_)
        totals = spent(account)[0]["a",]
        for number, (rule, force) in enumerate(zip((totals.cost, totals.pair), at_stake(account), strict=True)):
            below[number] += rule < force
            equal[number] += rule == force
    return below, equal


def test_nobody_has_more_at_stake_than_the_rule_says():
    below, (singles, pairs) = compare()
    assert below == [0, 0]
    assert singles > ACCOUNTS / 2  # the rule is no more careful than it has to be
    assert pairs > ACCOUNTS / 3


def test_a_maximum_instead_of_the_two_largest_is_caught(monkeypatch):
    monkeypatch.setattr(Parts, "double", property(lambda parts: max(parts.pair, parts.first)))
    below, _ = compare(300)
    assert below[1] > 0


def test_partitions_taken_for_one_are_caught(monkeypatch):
    """Parts of two partitions of a node may share records; as parts of one partition they would not add up."""
    right = rules.spend

    def wrong(amount, node, steps):
        nodes, parts = right(amount, node, steps)
        largest = [nodes[0]]
        for totals, step in zip(nodes[1:], steps, strict=True):
            cost = max(step.above.cost, step.above.own + largest[-1].cost)
            largest.append(Totals(totals.own, cost, totals.pair))
        return largest, parts

    monkeypatch.setattr(rules, "spend", wrong)
    below, _ = compare(300)
    assert below[0] > 0


def test_a_second_largest_part_that_is_forgotten_is_caught(monkeypatch):
    after = Parts.after

    def forgetful(parts, label, totals):
        grown = after(parts, label, totals)
        return Parts(grown.label, grown.first, Fraction(0), grown.pair)

    monkeypatch.setattr(Parts, "after", forgetful)
    below, _ = compare(300)
    assert below[1] > 0


# --- what is kept up, and what is worked out anew --------------------------------------------------


def test_totals_that_are_kept_up_are_those_of_the_rule():
    random_ = random.Random(1)
    for _ in range(300):
        account = made(random_)
        own = {}
        for ask in account.asks:
            for place in ask.places:
                own[place] = own.get(place, 0) + Fraction(ask.cost, UNIT)
        nodes, parts = spent(account)
        new_nodes, new_parts = rebuilt(own)
        assert new_nodes == nodes
        for key, known in new_parts.items():
            assert (known.first, known.second, known.pair) == (parts[key].first, parts[key].second, parts[key].pair)
            assert nodes[*key, parts[key].label].cost == known.first


def test_nothing_spent_is_no_totals():
    assert rebuilt({}) == ({}, {})


# --- what is left ----------------------------------------------------------------------------------


def left(account, places, limit, replaced):
    """How much more may be spent on places, by the library."""
    nodes, parts = spent(account)
    room = Room(None, limit) if replaced else Room(limit, None)
    first = places[0]
    for length in range(1, len(first), 2):
        key = first[: length + 1]
        labels = {place[-1] for place in places} if length + 2 == len(first) else {first[length + 1]}
        inside = {place: totals for place, totals in nodes.items() if place[:-1] == key}
        others = max((totals.cost for place, totals in inside.items() if place[-1] not in labels), default=Fraction(0))
        if len(labels) == 1:
            assert others == parts.get(key, EMPTY).others(next(iter(labels)))
        room = room.below(nodes.get(first[:length], UNUSED), parts.get(key, EMPTY), others)
    return room.left_together([nodes.get(place, UNUSED) for place in places])


@pytest.mark.parametrize("replaced", [False, True], ids=["add-remove", "replace"])
def test_what_is_left_may_be_spent_and_no_more(replaced):
    random_ = random.Random(2)
    for _ in range(300):
        account = made(random_)
        totals = spent(account)[0]["a",]
        limit = (totals.pair if replaced else totals.cost) + Fraction(random_.randint(0, 3), 2)
        nodes = [("a",), *((*key, label) for key, labels in account.partitions.items() for label in labels)]
        key = random_.choice(list(account.partitions))
        for places in ((random_.choice(nodes),), tuple((*key, label) for label in account.partitions[key])):
            rest = left(account, places, limit, replaced)
            after = []
            for amount in (rest, rest + Fraction(1, 10**9)):
                asks = [*account.asks, Asked(places, 0)]
                more = Made(account.partitions, account.stays, asks)
                after_ = spent(more, [*(ask.cost for ask in account.asks), amount * UNIT])[0]["a",]
                after.append(after_.pair if replaced else after_.cost)
            assert after[0] <= limit < after[1]


# --- persons ---------------------------------------------------------------------------------------


def persons(account, kinds, most):
    """Every person with at most so many records, as numbers of records of each kind, (persons, kinds).

    In a partition where a person stays, all records of a person that are in a part are in the same one.
    """
    found = []
    for size in range(most + 1):
        for chosen in combinations_with_replacement(range(len(kinds)), size):
            nodes = set().union(*(kinds[kind] for kind in chosen))
            stays = all(
                sum((*key, label) in nodes for label in labels) <= 1
                for key, labels in account.partitions.items()
                if account.stays[key]
            )
            if stays:
                found.append(np.bincount(chosen, minlength=len(kinds)) if chosen else np.zeros(len(kinds), int))
    return np.array(found)


def person_charge(account, ask, most, zcdp, replaced):
    """What the library charges for an ask in an account of persons with at most so many records."""
    terms = Terms(*map(Fraction, (1, 0, 1, 0)), "replace" if replaced else "add-remove", "person", most)
    cost = Cost.zcdp(Fraction(ask.cost, UNIT)) if zcdp else Cost.pure(Fraction(ask.cost, UNIT))
    place = ask.places[0]
    stays = all(account.stays[place[:length]] for length in range(2, len(place), 2))
    amount = charge(cost, "person" if ask.person else "record", terms.neighbours, terms, stays=stays)
    return (amount.rho if zcdp else amount.epsilon) * UNIT


def person_at_stake(account, kinds, most, zcdp, replaced):
    """The most that one person has at stake, or a person who is replaced by another."""
    read = readings(account, kinds).astype(int)
    whole = np.array([ask.person for ask in account.asks])
    costs = np.array([ask.cost for ask in account.asks])
    counts = np.unique(persons(account, kinds, most) @ read, axis=0)  # of a person's records that an ask reads
    if replaced:
        counts = np.maximum(counts[:, None], counts[None, :]).reshape(-1, len(costs))
    moved = np.where(whole, counts > 0, counts)
    return Fraction(int(((moved**2 if zcdp else moved) @ costs).max()), UNIT)


def compare_persons(seed, zcdp, replaced, accounts=100):
    """How often the rule is below the brute force over persons, and how often it is equal."""
    random_ = random.Random(seed)
    below = equal = tried = 0
    while tried < accounts:
        account = made(random_, asks=6, most_parts=2)
        kinds = records(account)
        if len(kinds) > 12:  # too many persons to list them all
            continue
        tried += 1
        most = random_.randint(1, 3)
        charges = [person_charge(account, ask, most, zcdp, replaced) for ask in account.asks]
        totals = spent(account, charges)[0]["a",]
        rule = totals.pair if replaced else totals.cost
        force = person_at_stake(account, kinds, most, zcdp, replaced)
        below += rule < force
        equal += rule == force
    return below, equal


@pytest.mark.parametrize("zcdp", [False, True], ids=["epsilon", "rho"])
@pytest.mark.parametrize("replaced", [False, True], ids=["add-remove", "replace"])
def test_no_person_has_more_at_stake_than_the_rule_says(zcdp, replaced):
    below, equal = compare_persons(3, zcdp, replaced)
    assert below == 0
    assert equal > 20


def test_persons_who_move_between_parts_are_not_taken_for_persons_who_stay(monkeypatch):
    """A release for whole persons in each of two parts moves twice with a person who is in both."""
    right = charge
    monkeypatch.setitem(globals(), "charge", lambda *args, stays: right(*args, stays=True))
    below, _ = compare_persons(3, zcdp=False, replaced=False)
    assert below > 0


def test_records_of_a_person_cost_their_square_in_zcdp(monkeypatch):
    right = charge

    def wrong(cost, unit, neighbours, terms, *, stays):
        amount = right(cost, unit, neighbours, terms, stays=stays)
        return type(amount)(amount.epsilon, amount.rho / terms.records)

    monkeypatch.setitem(globals(), "charge", wrong)
    below, _ = compare_persons(3, zcdp=True, replaced=False)
    assert below > 0
