"""What published methods have in common: what they refuse, and that they say when they are not private."""

from __future__ import annotations

import pytest

import spatialdp as sdp
from spatialdp.errors import ParameterError
from spatialdp.evaluation.peers import MWEM, PEERS, AdaptiveGrid, UniformGrid
from tests.helpers.peers import SHAPE, TOWN, TREES, UNIT

ALL = [*TREES, MWEM(SHAPE, candidates=200)]


def test_a_public_number_of_records_is_not_private():
    for kind in (UniformGrid, AdaptiveGrid, MWEM):
        assert not kind(SHAPE, records="public").release(TOWN, UNIT, epsilon=1).privacy.private
        assert kind(SHAPE).release(TOWN, UNIT, epsilon=1).privacy.private


def test_they_run_beside_ours_in_the_evaluator():
    queries = sdp.workload.random_boxes(UNIT, 50)
    results = sdp.evaluate([sdp.Adaptive(SHAPE), *ALL], TOWN, UNIT, queries, [1], 2)
    assert {peer.name for peer in ALL} < set(results["mechanism"])
    assert not set(PEERS.values()) & set(sdp.mechanisms.MECHANISMS.values())


@pytest.mark.parametrize("peer", ALL, ids=lambda peer: peer.name)
def test_persons_are_refused_in_words(peer):
    with pytest.raises(
        ParameterError, match="is here as published, for single records that are added or removed; leave person"
    ):
        peer.check(UNIT, epsilon=1, person=sdp.Person(records=3))


@pytest.mark.parametrize("peer", ALL, ids=lambda peer: peer.name)
def test_replaced_records_are_refused_in_words(peer):
    """Their noise is that of one record more or less."""
    with pytest.raises(ParameterError, match=r"neighbours is 'replace', but .* leave neighbours out"):
        peer.check(UNIT, epsilon=1, neighbours="replace")


@pytest.mark.parametrize("peer", ALL, ids=lambda peer: peer.name)
def test_plans_add_up_to_epsilon(peer):
    plan = peer.plan(UNIT, epsilon=0.7)
    assert sum(plan.budget.values()) == sdp.Budget(0.7).epsilon
