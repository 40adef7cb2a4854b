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
from spatialdp.records.counting import occupied_cells
from tests.audit import contract
from tests.audit.replay import replay
from tests.audit.sensitivity import centres
from tests.helpers.cases import DOMAINS, OVER_MAP_SETTINGS, OVER_MAPS, RELATIONS, Setting

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


@pytest.mark.parametrize("setting", OVER_MAP_SETTINGS[::2], ids=str)
def test_lists_over_maps_keep_the_contract(setting, tmp_path):
    for clause in CLAUSES:
        clause(setting)
    contract.files_come_back(setting, tmp_path)


@pytest.mark.parametrize("relation", RELATIONS)
def test_the_promise_is_used_up(relation):
    """A record in a listed cell is in both steps of the list and in every level of the map."""
    assert replay(Setting("list over map", "whole", relation), 30) > 0.8


def dense(records, design):
    """The exact counts of both parts: of the cells, and of all levels of the map."""
    points = sdp.Points(records)
    cells = np.zeros(design.listing.grid.n_numbers, dtype=np.int64)
    occupied, held = occupied_cells(points, design.listing.grid)
    cells[occupied] = held
    return [cells, *design.blocks.structure.measure(design.blocks.counts(points))]


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("case", ["list over map", "list over levels"])
def test_declared_is_the_maximum(case, relation):
    mechanism = OVER_MAPS[case]
    design = mechanism.prepare(DOMAINS["whole"], epsilon=1, neighbours=relation).design
    vectors = [dense(records, design) for records in centres(DOMAINS["whole"], mechanism.shape)]
    pairs = [([0 * part for part in each], each) for each in vectors]
    if relation == "replace":
        pairs += list(itertools.combinations(vectors, 2))
    worst = [max(int(np.abs(one[i] - two[i]).sum()) for one, two in pairs) for i in range(len(vectors[0]))]
    listing, blocks = design.listing, design.blocks
    for law, cost in zip((listing.choosing, listing.fresh), listing.costs.values(), strict=True):
        assert law.parameter == worst[0] / cost
    for law, cost, moved in zip(blocks.laws, blocks.costs, worst[1:], strict=True):
        assert law is None or law.parameter == moved / cost
    assert sum(listing.costs.values()) + sum(blocks.costs) == 1


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
