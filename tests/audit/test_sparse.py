"""Do lists of cells keep their promise? Replays, the contract, laws, sensitivities and planted bugs."""

from __future__ import annotations

import zlib

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.mechanisms import LISTS
from tests.audit import contract, sparse, sparse_bugs
from tests.audit.mutants import planted
from tests.audit.replay import replay
from tests.helpers.cases import LISTED, LISTED_PERSON_SETTINGS, LISTED_SETTINGS, OVER_MAPS, Setting

# Of the clauses of every mechanism, those that do not speak of all cells.
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


def test_every_list_is_audited():
    assert {mechanism.name for mechanism in (LISTED | OVER_MAPS).values()} == set(LISTS)


@pytest.mark.parametrize("setting", LISTED_SETTINGS, ids=str)
def test_neighbours_can_only_be_told_apart_by_what_was_paid_for(setting, tmp_path):
    seed = zlib.crc32(str(setting).encode())
    replay(setting, 8, seed, tmp_path, maps=setting.region == "five sides", every=4)


@pytest.mark.parametrize("setting", LISTED_SETTINGS[::3], ids=str)
def test_lists_keep_the_contract(setting, tmp_path):
    for clause in CLAUSES:
        clause(setting)
    contract.files_come_back(setting, tmp_path)


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
@pytest.mark.parametrize("case", ["sparse", "sparse, slides"])
def test_promises_are_used_up(case, relation):
    """A cell that is listed costs both steps; with fresh counts, a cell that is not costs the first alone."""
    share = replay(Setting(case, "whole", relation), 30)
    assert share > 0.99 if case == "sparse, slides" else share >= 0.74


@pytest.mark.parametrize("setting", LISTED_PERSON_SETTINGS, ids=str)
def test_whole_persons_can_only_be_told_apart_by_what_was_paid_for(setting):
    share = replay(setting, 9)
    assert share >= 0.37  # three quarters of the budget, for half of what a replaced person may change


@pytest.mark.parametrize("case", ["sparse", "sparse, slides", "sparse, half"])
def test_declared_is_the_maximum(case):
    sparse.declared_is_the_maximum(case)


@pytest.mark.statistical
@pytest.mark.parametrize(
    "check",
    [sparse.sets_have_the_law_of_dense_noise, sparse.places_are_uniform, sparse.listed_counts_are_unbiased],
    ids=lambda check: check.__name__,
)
def test_laws_are_those_of_the_proof(check):
    check()


@pytest.mark.statistical
@pytest.mark.parametrize("mutant", sparse_bugs.MUTANTS, ids=lambda mutant: f"{mutant.bug} ({mutant.caught_by})")
def test_bug_is_caught(mutant):
    with planted(mutant), pytest.raises(AssertionError):
        mutant.check()


@pytest.mark.statistical
@pytest.mark.parametrize("mutant", {id(each.check): each for each in sparse_bugs.MUTANTS}.values(), ids=lambda m: m.bug)
def test_check_finds_nothing_without_the_bug(mutant):
    mutant.check()


def test_number_of_listed_cells_is_all_that_a_file_tells_of_their_number(tmp_path):
    """Two data sets with very different numbers of occupied cells and the same list give files of the same size."""
    domain, told = sdp.Domain((0, 0, 1, 1)), set()
    mechanism = sdp.Sparse((2**30, 2**30), false=1e-9)
    crowd = np.full((500, 2), 0.3)
    for others in (0, 3000):
        records = np.concatenate([crowd, np.random.default_rng(2).random((others, 2))])
        release = mechanism.release(records, domain, epsilon=1, noise=sdp.SeededNoise(1))
        assert release.estimate.n_cells == 1
        release.save(tmp_path / f"{others}.parquet")
        size = (tmp_path / f"{others}.parquet").stat().st_size
        told.add(f"{size} {release!r} {release.estimate.in_words()} {release.privacy}")
    assert len(told) == 1
