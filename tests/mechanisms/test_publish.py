"""Publishing without choosing a method."""

from __future__ import annotations

import numpy as np
import pytest

import spatialdp as sdp
from tests.helpers.ledgers import Till

DOMAIN = sdp.Domain((0, 0, 2, 1))
XY = np.random.default_rng(1).normal((0.6, 0.4), 0.05, (3000, 2))


def test_it_is_an_adaptive_release_with_a_fine_grid():
    release = sdp.publish(XY, DOMAIN, 1, noise=sdp.SeededNoise(1))
    assert release.privacy.mechanism == "adaptive"
    assert release.privacy.epsilon == 1
    assert np.prod(release.estimate.grid.shape) > 10**6
    low, high = release.interval((0.4, 0.2, 0.8, 0.6))
    inside = ((XY >= (0.4, 0.2)) & (XY < (0.8, 0.6))).all(axis=1).sum()
    assert low <= inside <= high
    assert release.answer((0.4, 0.2, 0.8, 0.6)) == pytest.approx(inside, abs=60)


def test_delta_asks_for_gaussian_noise():
    release = sdp.publish(XY, DOMAIN, 1, delta=1e-6, neighbours="replace", noise=sdp.SeededNoise(1))
    assert release.privacy.parameters["law"] == "gaussian"
    assert release.privacy.neighbours == "replace"


def test_it_is_private_unless_it_is_seeded():
    assert sdp.publish(XY, DOMAIN, 1).privacy.private
    assert not sdp.publish(XY, DOMAIN, 1, noise=sdp.SeededNoise(1)).privacy.private


@pytest.mark.parametrize("person", [sdp.Person(records=2), sdp.Person(cells=2), sdp.Person(shares=True)], ids=str)
def test_persons_are_published_by_the_same_method(person):
    points = sdp.Points(XY, person=[number % 500 for number in range(len(XY))])
    release = sdp.publish(points, DOMAIN, 1, person=person, noise=sdp.SeededNoise(1))
    assert release.privacy.person == person
    assert release.privacy.mechanism == "adaptive"
    low, high = release.interval(DOMAIN.bounds)
    assert low <= (500 if person.shares else 1000) <= high


def test_an_account_pays():
    till = Till()
    release = sdp.publish(XY, DOMAIN, 1, account=till)
    assert till.events == ["check", "spend"]
    assert release.privacy.ledger.entry == 1
