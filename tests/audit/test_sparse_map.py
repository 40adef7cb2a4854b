"""Do lists over maps keep their promise? Replays, sensitivities by brute force, and a planted bug."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.mechanisms.combined.sparse_map import SparseMap
from spatialdp.mechanisms.recipe import design_of
from spatialdp.privacy.noise.laws import Law
from tests.audit import contract
from tests.audit.replay import replay
from tests.audit.sensitivity import centres
from tests.helpers.cases import (
    DOMAINS,
    OVER_MAP_PERSON_SETTINGS,
    OVER_MAP_SETTINGS,
    OVER_MAPS,
    PERSONS,
    RELATIONS,
    Setting,
)

BOUNDS = [each for each in PERSONS if each.choice is None]
CLAUSES = [
    contract.parameters_are_frozen,
    contract.plan_is_what_is_recorded,
    contract.releases_are_finite_numbers,
    contract.strays_count_nowhere,
    contract.order_does_not_matter,
    contract.blocks_do_not_matter,
    contract.terms_are_not_mixed_up,
    contract.seeded_releases_are_marked,
    contract.texts_show_nothing_private,
]


@pytest.mark.parametrize("setting", OVER_MAP_SETTINGS, ids=str)
def test_neighbours_can_only_be_told_apart_by_what_was_paid_for(setting, tmp_path):
    replay(setting, 12, 5, tmp_path, maps=True, every=6)


@pytest.mark.parametrize("setting", OVER_MAP_PERSON_SETTINGS, ids=str)
def test_whole_persons_can_only_be_told_apart_by_what_was_paid_for(setting):
    assert replay(setting, 12) > 0.3


@pytest.mark.parametrize("setting", OVER_MAP_SETTINGS[::2], ids=str)
def test_lists_over_maps_keep_the_contract(setting, tmp_path):
    for clause in CLAUSES:
        clause(setting)
    contract.files_come_back(setting, tmp_path)


@pytest.mark.parametrize("relation", RELATIONS)
def test_the_promise_is_used_up(relation):
    """A record in a listed cell is in both steps of the list and in every level of the map."""
    assert replay(Setting("list over map", "whole", relation), 30) > 0.8


def dense(points, design):
    """The exact counts of both parts: of the cells, and of all levels of the map."""
    cells = np.zeros(design.listing.grid.n_numbers, dtype=np.int64)
    occupied, held = design.listing.occupied(points)
    cells[occupied] = held
    return [cells, *design.blocks.structure.measure(design.block_counts(occupied, held))]


def scales_are(design, worst):
    """Check the scale of all noise against how far the counts of each part can move."""
    listing, blocks = design.listing, design.blocks
    for law, cost in zip((listing.choosing, listing.fresh), listing.costs.values(), strict=True):
        assert law.parameter == worst[0] / cost
    for law, cost, moved in zip(blocks.laws, blocks.costs, worst[1:], strict=True):
        assert law is None or law.parameter == moved / cost
    assert sum(listing.costs.values()) + sum(blocks.costs) == 1


def moved(one, other):
    return [int(np.abs(mine - theirs).sum()) for mine, theirs in zip(one, other, strict=True)]


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("case", ["list over map", "list over levels"])
def test_declared_is_the_maximum(case, relation):
    mechanism = OVER_MAPS[case]
    design = mechanism.prepare(DOMAINS["whole"], epsilon=1, neighbours=relation).design
    vectors = [dense(sdp.Points(records), design) for records in centres(DOMAINS["whole"], mechanism.shape)]
    pairs = [([0 * part for part in each], each) for each in vectors]
    if relation == "replace":
        pairs += list(itertools.combinations(vectors, 2))
    scales_are(design, np.max([moved(*pair) for pair in pairs], axis=0).tolist())


CELLS = [(1, 3), (1, 2), (0, 3), (2, 3), (3, 2), (5, 5)]  # three in one block, two in the next, one far away
WAYS = [way for count in (1, 3, 4) for way in itertools.combinations_with_replacement(range(len(CELLS)), count)]


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("person", BOUNDS, ids=str)
@pytest.mark.parametrize("region", ["whole", "five sides"])
def test_no_person_moves_a_part_by_more_than_declared_and_one_does(region, person, relation):
    """All ways in which a person may have one to four records in six cells."""
    mechanism, domain = sdp.SparseMap((8, 8), blocks=(4, 2), false=4), DOMAINS[region]
    design = mechanism.prepare(domain, epsilon=1, neighbours=relation, person=person).design
    x, y = (np.array(CELLS) + 0.5).T / 8 * np.array(domain.size)[:, None]
    persons = [dense(sdp.Points(x[[*way]], y[[*way]], person=["ann"] * len(way)), design) for way in WAYS]
    pairs = [([0 * part for part in each], each) for each in persons]
    if relation == "replace":
        pairs += list(itertools.combinations(persons, 2))
    scales_are(design, np.max([moved(*pair) for pair in pairs], axis=0).tolist())


def test_persons_who_count_once_in_a_block_are_caught(monkeypatch):
    """Calibrate the map as `Hierarchy` would: for persons who count once in each block, though cells are kept."""
    monkeypatch.setattr("spatialdp.mechanisms.combined.sparse_map._person_of_blocks", lambda *_: sdp.Person(cells=1))
    with pytest.raises(AssertionError):
        replay(Setting("list over map", "whole", "add-remove", sdp.Person(cells=3)), 12)
    with pytest.raises(AssertionError):
        test_no_person_moves_a_part_by_more_than_declared_and_one_does("whole", sdp.Person(cells=3), "add-remove")


def test_one_budget_that_is_used_twice_is_caught(monkeypatch):
    """Give the map the whole budget, although the list has a share of it."""
    real = SparseMap._design

    def design(mechanism, domain, terms):
        made = real(mechanism, domain, terms)
        blocks = made.blocks
        costs = [cost / (1 - mechanism.share) for cost in blocks.costs]
        return replace(made, blocks=design_of(blocks.structure, costs, Law.DISCRETE_LAPLACE, blocks.neighbours))

    monkeypatch.setattr(SparseMap, "_design", design)
    with pytest.raises(AssertionError):
        replay(Setting("list over map", "whole", "add-remove"), 25)
