"""Attacks from the literature, each tried on something that falls to it and then on us.

Every cell of a release is a trial: it holds one record or none, and the attacker guesses which. The advantage of a
guess is how much more often it is right than wrong; ε allows tanh(ε / 2) = (e^ε − 1) / (e^ε + 1), and no more.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import spatialdp as sdp

SIDE = 600
CELLS = SIDE * SIDE
DOMAIN = sdp.Domain(bounds=(0, 0, SIDE, SIDE))
SECRETS = np.random.default_rng(20).integers(0, 2, CELLS)
# Five standard errors of an advantage. Seeds are fixed; with others, one comparison in a million would fail.
SLACK = 5 / math.sqrt(CELLS)

pytestmark = pytest.mark.statistical


def published(epsilon, law="discrete-laplace", counts=SECRETS, noise=None):
    """What an attacker sees of each cell."""
    cells = np.repeat(np.arange(CELLS), counts)
    records = np.stack([cells % SIDE + 0.5, cells // SIDE + 0.5], axis=1)
    release = sdp.Flat(shape=(SIDE, SIDE), law=law).release(records, DOMAIN, epsilon=epsilon, noise=noise)
    assert release.privacy.private == (noise is None)
    return release.estimate.values.ravel()


def published_naively(epsilon):
    """The same with the noise of the textbooks: minus the logarithm of a double, times a sign."""
    generator = np.random.default_rng(21)
    uniform = 1 - generator.random(CELLS)  # multiples of 2^-53, above 0
    return SECRETS + (generator.integers(0, 2, CELLS) * 2.0 - 1) * (-np.log(uniform) / epsilon)


def advantage(guesses, secrets=SECRETS):
    """Of guesses between 0 and 1, where 1/2 stands for a coin."""
    return float(np.mean((2 * guesses - 1) * (2 * secrets - 1)))


def allowed(epsilon):
    return math.tanh(epsilon / 2)


# --- holes in the support --------------------------------------------------------------------------


def reachable(outputs, count, epsilon):
    """Whether the textbook's noise on this count can give these outputs, bit by bit: are there such uniform doubles?"""
    noise = outputs - count
    nearest = np.rint(np.exp(-np.abs(noise) * epsilon) * 2.0**53)
    found = np.zeros(outputs.shape, dtype=bool)
    for step in range(-16, 17):
        uniform = np.clip(nearest + step, 1, 2.0**53) / 2.0**53
        found |= count + np.sign(noise) * (-np.log(uniform) / epsilon) == outputs
    return found


def porous(outputs, epsilon):
    """Mironov's attack: a count from which an output cannot come is not the count."""
    return (1 + reachable(outputs, 1, epsilon) - reachable(outputs, 0, epsilon).astype(float)) / 2


def test_porous_doubles_betray_the_textbook():
    outputs = published_naively(0.1)
    guesses = porous(outputs, 0.1)
    sure = guesses != 0.5
    assert sure.mean() > 0.5
    assert np.array_equal(guesses[sure], SECRETS[sure])
    assert advantage(guesses) > 10 * allowed(0.1)


@pytest.mark.parametrize("law", ["discrete-laplace", "laplace"])
def test_porous_doubles_tell_of_ours_what_was_paid_for(law):
    assert advantage(porous(published(Fraction(1, 10), law), 0.1)) < allowed(0.1) + SLACK


@pytest.mark.parametrize("law", ["discrete-laplace", "laplace"])
def test_neighbours_have_the_same_support(law):
    """Every point of the lattice comes from either count, and nothing else does."""
    steps = 1024 if law == "laplace" else 1
    outputs = published(2, law) * steps
    assert np.array_equal(outputs, np.rint(outputs))
    none, one = (set(outputs[secret == SECRETS].astype(int)) for secret in (0, 1))
    near = range(steps // 4, 3 * steps // 4) if steps > 1 else range(2)  # likely under both
    assert none.issuperset(near)
    assert one.issuperset(near)


# --- precision -------------------------------------------------------------------------------------


def lowest_bit(outputs):
    """Exponent of the least significant bit that is set."""
    mantissa, exponent = np.frexp(outputs)
    whole = (mantissa * 2.0**53).astype(np.int64)
    return np.where(whole == 0, 1024, np.log2(np.maximum(whole & -whole, 1)).astype(np.int64) + exponent - 53)


def learnt(features):
    """What the feature says, as learnt on one half of the trials, guessed on the other half."""
    _, index = np.unique(features, return_inverse=True)
    half = CELLS // 2
    favours = np.zeros(index.max() + 1)
    np.add.at(favours, index[:half], 2.0 * SECRETS[:half] - 1)
    return (1 + np.sign(favours[index[half:]])) / 2, SECRETS[half:]


def test_precision_betrays_the_textbook():
    outputs = published_naively(0.1)
    fine = lowest_bit(outputs) < -53
    assert fine.any()
    assert not SECRETS[fine].any()  # adding 1 to a small number loses its last bits
    near = np.abs(outputs) < 0.25  # one look at the last bit, and it is known
    assert fine[near & (SECRETS == 0)].mean() > 0.5


def test_precision_tells_of_ours_what_was_paid_for():
    outputs = published(Fraction(1, 10), "laplace")
    assert lowest_bit(outputs).min() == -10
    assert advantage(*learnt(lowest_bit(outputs))) < allowed(0.1) + SLACK * math.sqrt(2)
    assert abs(advantage(*learnt(outputs % 1))) < SLACK * math.sqrt(2)  # a count does not move the fraction


# --- several releases ------------------------------------------------------------------------------


def binomial_advantage(epsilon, releases):
    """Of the best attack on so many releases: each tells a bit, wrong with probability 1 / (1 + e^ε)."""
    right = 1 / (1 + math.exp(-epsilon))
    law = [
        math.comb(releases, k) * (right**k * (1 - right) ** (releases - k) - (1 - right) ** k * right ** (releases - k))
        for k in range(releases + 1)
    ]
    return sum(map(abs, law)) / 2


@pytest.mark.parametrize("releases", [1, 2, 3, 5])
def test_several_releases_give_away_what_composition_says(releases):
    """The likelihood of a discrete Laplace output has two values, e^ε apart: the best attacker counts votes."""
    epsilon = 0.5
    votes = sum((published(Fraction(1, 2)) >= 1).astype(int) for _ in range(releases))
    guesses = (1 + np.sign(2 * votes - releases)) / 2
    expected = binomial_advantage(epsilon, releases)
    assert advantage(guesses) == pytest.approx(expected, abs=SLACK)
    assert advantage(guesses) < allowed(releases * epsilon) + SLACK
    assert abs(binomial_advantage(epsilon / 0.8, releases) - expected) > 2 * SLACK  # noise too small would be seen


def test_certainty_grows_with_the_sum_of_the_budgets():
    """All votes for a record are e^(kε) times as likely with it: the event for which composition is tight."""
    unanimous = np.ones(CELLS, dtype=bool)
    for releases in (1, 2, 3):
        unanimous &= published(Fraction(1, 2)) >= 1
        ratio = unanimous[SECRETS == 1].mean() / unanimous[SECRETS == 0].mean()
        rare = unanimous[SECRETS == 0].sum()
        assert math.log(ratio) == pytest.approx(releases * 0.5, abs=5 * math.sqrt(2 / rare))


def test_differencing_with_and_without_a_record():
    """A release of everybody less one of everybody else: two noises hide the difference, and ε covers it."""
    epsilon, others = 0.5, np.random.default_rng(22).integers(0, 4, CELLS)
    difference = published(Fraction(1, 2), counts=others + SECRETS) - published(Fraction(1, 2), counts=others)
    guesses = (1 + np.sign(2 * difference - 1)) / 2
    # P(X - Y = 0) for two independent noises: the distance between their difference and its shift by one.
    rate, reach = math.exp(-epsilon), np.arange(-200, 201)
    expected = float(np.sum((math.tanh(epsilon / 2) * rate ** np.abs(reach)) ** 2))
    assert advantage(guesses) == pytest.approx(expected, abs=SLACK)
    assert expected < allowed(epsilon)


def test_differencing_undoes_noise_that_repeats():
    """The control: with the same seed twice nothing is hidden, and both releases say that they are not private."""
    nobody = np.zeros(CELLS, dtype=int)
    with_them, without = (published(1, counts=counts, noise=sdp.SeededNoise(7)) for counts in (SECRETS, nobody))
    assert np.array_equal(with_them - without, SECRETS)
