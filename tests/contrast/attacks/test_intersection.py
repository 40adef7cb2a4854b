"""The intersection attack finds what was planted, and no more than coincidence where nothing was."""

from __future__ import annotations

import numpy as np
import pytest

from spatialdp import contrast
from spatialdp.errors import ParameterError

SIDE = 8
OVERLAP = SIDE**2


def releases(secret_of, k=5, number=2, people=4000, seed=1):
    """Releases that share the first people alone, who are returned with their secrets.

    They stand on a wide grid, so that no two of them are in one group.
    """
    rng = np.random.default_rng(seed)
    places, secrets = rng.random((people, 2)), secret_of(rng, people)
    places[:OVERLAP] = (np.indices((SIDE, SIDE)).reshape(2, -1).T + rng.uniform(0.4, 0.6, (OVERLAP, 2))) / SIDE
    parts = np.array_split(np.arange(OVERLAP, people), number)
    chosen = [np.concatenate([np.arange(OVERLAP), part]) for part in parts]
    groups = [contrast.Mondrian(k).group(places[part], secrets[part]) for part in chosen]
    return groups, places[:OVERLAP], secrets[:OVERLAP]


def test_unique_values_are_all_found():
    groups, people, secrets = releases(lambda rng, n: rng.permutation(n))
    attack = contrast.intersection(groups, people)
    assert attack.perfect == 1.0
    assert attack.single == attack.either == 0.0
    assert attack.new == 1.0
    assert attack.right(secrets)[-1] == 1.0


def test_a_single_value_is_known_from_one_release():
    groups, people, _ = releases(lambda _, n: np.zeros(n, dtype=int))
    attack = contrast.intersection(groups, people)
    assert attack.single == attack.perfect == 1.0
    assert attack.new == 0.0


@pytest.mark.parametrize("number", [2, 3, 5])
def test_the_true_value_is_always_left(number):
    groups, people, secrets = releases(lambda rng, n: rng.integers(0, 8, n), number=number)
    attack = contrast.intersection(groups, people)
    assert attack.holds(secrets).all()
    assert attack.contradicted == 0.0
    assert (np.diff(attack.left, axis=0) <= 0).all()


@pytest.mark.statistical
def test_independent_values_are_left_by_coincidence_alone():
    """The mean of |S| is 1 + (V - 1) P exactly; seeds are fixed, and groups of two more records are refused."""
    values = 40
    found, expected, wrong = [], [], []
    for seed in range(30):
        groups, people, _ = releases(lambda rng, n: rng.integers(0, values, n), k=10, seed=seed)
        attack = contrast.intersection(groups, people)
        sizes = attack.sizes.T
        found.append(attack.left[-1].mean())
        expected.append(np.mean([contrast.coincidence(values, pair)[1] for pair in sizes]))
        wrong.append(np.mean([contrast.coincidence(values, pair + 2)[1] for pair in sizes]))
    differences = np.array(found) - expected
    error = differences.std(ddof=1) / len(found) ** 0.5
    assert abs(differences.mean()) < 5 * error
    assert abs((np.array(found) - wrong).mean()) > 5 * error


@pytest.mark.statistical
def test_people_who_are_in_no_release_stay_at_chance():
    values = 6
    right = []
    for seed in range(20):
        groups, _, _ = releases(lambda rng, n: rng.integers(0, values, n), seed=seed)
        rng = np.random.default_rng((seed, 1))
        right.append(contrast.intersection(groups, rng.random((500, 2))).right(rng.integers(0, values, 500))[-1])
    error = (1 / values * (1 - 1 / values) / 10_000) ** 0.5
    assert abs(np.mean(right) - 1 / values) < 5 * error
    members = contrast.intersection(*releases(lambda rng, n: rng.integers(0, values, n))[:2])
    truth = releases(lambda rng, n: rng.integers(0, values, n))[2]
    assert members.right(truth)[-1] > 1 / values + 0.2


def test_a_wrong_overlap_lowers_the_attack():
    """Half of the people who are taken for members are in the first release only."""
    groups, people, _ = releases(lambda rng, n: rng.permutation(n))
    alone = groups[0].records.some(np.arange(OVERLAP, 2 * OVERLAP))
    right = contrast.intersection(groups, people)
    mixed = contrast.QuasiIdentifiers.of(np.vstack([people[::2], alone.values.T[::2]]))
    wrong = contrast.intersection(groups, mixed)
    assert (right.perfect, right.contradicted) == (1.0, 0.0)
    assert wrong.perfect < 0.6
    assert wrong.contradicted > 0.4


def test_partial_breaches_are_at_least_perfect_ones():
    groups, people, _ = releases(lambda rng, n: rng.integers(0, 30, n))
    attack = contrast.intersection(groups, people)
    shares = [attack.partial(confidence) for confidence in (1, 1 / 2, 1 / 4)]
    assert attack.perfect == shares[0] < shares[1] < shares[2]
    with pytest.raises(ParameterError, match="confidence is 0"):
        attack.partial(0)


def test_anonymity_that_is_presumed_and_left():
    groups, people, _ = releases(lambda rng, n: rng.integers(0, 30, n))
    attack = contrast.intersection(groups, people)
    presumed = attack.presumed
    assert presumed["k"] == 5
    assert 5 <= presumed["records in the group"] < 10
    assert attack.effective < presumed["values in the group"] <= presumed["records in the group"]


def test_two_hospitals():
    """McSherry's talk: the man of 27 is covered by two groups of the second hospital, and HIV is in both releases.

    He is in "30s, any sex" of neither; the candidates are the union of all groups that cover him.
    """
    first = hospital([(20, 29, 0, 1), (30, 39, 0, 1)], ["HIV", "flu", "cold", "flu"], [0, 0, 1, 1])
    second = hospital([(20, 39, 1, 1), (20, 29, 0, 1)], ["HIV", "ulcer", "HIV", "STD"], [0, 0, 1, 1])
    attack = contrast.intersection([first, second], {"age": [27.0], "male": [1.0]})
    assert attack.sizes[:, 0].tolist() == [2, 4]
    assert [attack.values[code] for code in np.flatnonzero(attack.sets[0])] == ["HIV"]
    assert (attack.single, attack.perfect) == (0.0, 1.0)


def hospital(boxes, diseases, group):
    """A release whose groups may overlap; records stand at the lower corner of their box."""
    box = np.array(boxes, dtype=float)
    lower, upper = box[:, [0, 2]], box[:, [1, 3]]
    places = lower[group]
    records = contrast.QuasiIdentifiers.of({"age": places[:, 0], "male": places[:, 1]})
    locator = contrast.BoxLocator(lower, upper)
    return contrast.Groups(records, contrast.Secrets.of(diseases), np.array(group), 2, locator, boxed=False)


def test_relaxed_releases_are_attacked_with_all_groups_that_cover_a_person():
    people = np.repeat([[0.0, 0.0], [1.0, 1.0]], 8, axis=0)
    secrets = np.arange(16)
    groups = contrast.Mondrian(2, relaxed=True).group(people, secrets)
    attack = contrast.intersection([groups], people)
    assert attack.holds(secrets).all()
    assert attack.one[0].min() >= 8  # of all that stand at one place


def test_few_people_are_in_both_boxes():
    groups, people, _ = releases(lambda rng, n: rng.integers(0, 8, n), k=10)
    common = contrast.people_in_both(*groups, people)
    own, other = (groups[number].locator.candidates(contrast.QuasiIdentifiers.of(people))[1] for number in (0, 1))
    values = groups[0].records.values.T
    for person in range(OVERLAP):
        inside = groups[0].group == own[person]
        inside &= (values >= groups[1].lower[other[person]]).all(axis=1)
        inside &= (values <= groups[1].upper[other[person]]).all(axis=1)
        assert common[person] == inside.sum() >= 1
    assert np.median(common) < 10
    relaxed = contrast.Mondrian(2, relaxed=True).group(np.zeros((8, 2)), np.arange(8))
    with pytest.raises(ParameterError, match="not relaxed"):
        contrast.people_in_both(relaxed, relaxed, np.zeros((1, 2)))


def test_tables_say_what_one_release_tells():
    groups, people, _ = releases(lambda rng, n: rng.permutation(n))
    lines = contrast.intersection(groups, people).table().splitlines()
    assert lines[0] == contrast.NOTE
    assert lines[-1].split("|")[2:4] == [" 0.0 %       ", " 100.0 %        "]


def test_releases_need_the_columns_of_the_people():
    groups, _, _ = releases(lambda rng, n: rng.permutation(n))
    with pytest.raises(ParameterError, match="give at least one"):
        contrast.intersection([], [[0.0, 0.0]])
    with pytest.raises(ParameterError, match="a release has others"):
        contrast.intersection(groups, {"age": [3]})


def test_categories_must_be_in_one_order():
    first = contrast.Mondrian(2).group({"sex": ["f", "m"]}, ["a", "b"])
    second = contrast.Mondrian(2).group({"sex": ["m", "m"]}, ["a", "b"])
    with pytest.raises(ParameterError, match="not in one order"):
        contrast.intersection([first, second], {"sex": ["m"]})
    ordered = contrast.QuasiIdentifiers.of({"sex": ["m", "m"]}, first.records.orders)
    alike = contrast.Mondrian(2).group(ordered, ["a", "b"])
    assert contrast.intersection([first, alike], {"sex": ["m"]}).effective == 2.0


def test_many_releases_and_values_take_little_memory_and_time():
    """5,000 people, 20 releases, 1,400 values: one array of people and values at a time."""
    rng = np.random.default_rng(1)
    places, secrets = rng.random((20_000, 2)), rng.integers(0, 1400, 20_000)
    groups = contrast.Mondrian(5).group(places, secrets)
    attack = contrast.intersection([groups] * 3, places[:5000])
    assert attack.sets.shape == (5000, 1400)
    assert attack.holds(secrets[:5000]).all()
