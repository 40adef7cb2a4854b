"""Does a list over a map divide one budget, and refuse what it cannot do?"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import shapely

import spatialdp as sdp
from spatialdp.errors import DomainError, ParameterError, PointsError
from spatialdp.records.counting import count_cells
from tests.helpers.sources import ZeroNoise

DOMAIN = sdp.Domain((0, 0, 1, 1))
DISC = sdp.Domain((0, 0, 1, 1), region=shapely.Point(0.5, 0.5).buffer(0.3))
WALKS = np.random.default_rng(4).random((3000, 2)), np.random.default_rng(5).integers(0, 60, 3000)


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
def test_the_parts_cost_the_whole_exactly(relation):
    mechanism = sdp.SparseMap((64, 64), blocks=(16, 16), share=Fraction(1, 3), remeasure=Fraction(1, 5))
    prepared = mechanism.prepare(DOMAIN, epsilon=Fraction(2, 7), neighbours=relation)
    assert sum(prepared.plan.budget.values()) == Fraction(2, 7)
    assert sum(prepared.design.listing.costs.values()) == Fraction(2, 21)
    assert sum(prepared.design.blocks.costs) == Fraction(4, 21)
    assert prepared.statement.epsilon == Fraction(2, 7)
    assert prepared.design.listing.threshold == prepared.plan.listing.threshold


def test_each_part_is_the_mechanism_that_it_is_named_after():
    design = sdp.SparseMap((64, 64), blocks=(16, 16), share=0.25).prepare(DOMAIN, epsilon=1).design
    alone = sdp.Sparse((64, 64)).prepare(DOMAIN, epsilon=0.25).design
    assert (design.listing.filter, design.listing.fresh) == (alone.filter, alone.fresh)
    assert design.blocks.laws == sdp.Hierarchy((16, 16)).prepare(DOMAIN, epsilon=0.75).design.laws


def test_an_account_pays_once(tmp_path):
    account = sdp.Ledger(tmp_path / "privacy.ledger").open("visits", epsilon=1)
    mechanism = sdp.SparseMap((64, 64), blocks=(8, 8))
    release = mechanism.release([[0.5, 0.5]] * 300, DOMAIN, epsilon=Fraction(3, 4), account=account)
    assert account.spent.epsilon == Fraction(3, 4)
    release.certificate(tmp_path / "page.html")
    assert "listed cells" in (tmp_path / "page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"share": 0}, "above 0 and below 1"),
        ({"share": 1}, "above 0 and below 1"),
        ({"remeasure": 0}, "fresh counts are needed"),
        ({"blocks": (5, 0)}, "blocks"),
        ({"false": 0}, "empty cells"),
        ({"shape": None}, "neither"),
    ],
)
def test_wrong_parameters_are_refused(options, words):
    with pytest.raises(ParameterError, match=words):
        sdp.SparseMap(**({"shape": (8, 8), "blocks": (4, 4)} | options))


def test_what_does_not_fit_is_refused_before_records_are_read():
    with pytest.raises(ParameterError, match="each cell must lie in one block"):
        sdp.SparseMap((64, 64), blocks=(10, 16)).check(DOMAIN, epsilon=1)
    with pytest.raises(ParameterError, match="chosen privately"):
        sdp.SparseMap((64, 64)).check(DOMAIN, epsilon=1, person=sdp.Person(cells=sdp.Chosen()))
    thin = sdp.Domain((0, 0, 1, 1), region=shapely.box(0.1, 0.1, 0.11, 0.11), region_cells="centres")
    with pytest.raises(DomainError, match="centre in the region"):
        sdp.SparseMap((64, 64), blocks=(2, 2)).check(thin, epsilon=1)
    assert sdp.SparseMap((64, 64)).leaf_grid(DOMAIN).shape == (64, 64)
    assert not sdp.SparseMap((64, 64)).prepare(DOMAIN, epsilon=1).is_foreseeable


def test_both_parts_read_the_records_of_a_file(tmp_path):
    (tmp_path / "spots.csv").write_text("x,y\n" + "0.3,0.7\n" * 500)
    points = sdp.read_points(tmp_path / "spots.csv", DOMAIN, x="x", y="y")
    mechanism, noise = sdp.SparseMap((2**30, 2**30), blocks=(4, 4)), sdp.SeededNoise(1)
    release = mechanism.release(points, DOMAIN, epsilon=5, noise=noise)
    assert release.estimate.listed.values.max() == pytest.approx(500, abs=60)
    assert release.total == pytest.approx(500, abs=60)


@pytest.mark.parametrize("epsilon", [Fraction(1, 10**9), 1000])
def test_any_epsilon_that_a_budget_may_have_is_divided(epsilon):
    """A part of the least budget is below the least budget."""
    mechanism = sdp.SparseMap((2**30, 2**30), blocks=(4, 4))
    release = mechanism.release([[0.3, 0.7]] * 500, DOMAIN, epsilon=epsilon)
    assert release.privacy.epsilon == epsilon
    assert np.isfinite(release.interval((0, 0, 0.5, 1))).all()


def exact(mechanism, domain, person):
    """What is counted of the walks: the exact counts of all cells, (ny, nx), and of all blocks."""
    points = sdp.Points(WALKS[0], person=None if person is None else WALKS[1])
    design = mechanism.prepare(domain, epsilon=1, person=person).design
    occupied, counts = design.listing.occupied(mechanism._records(points, domain, person))
    cells = np.zeros(design.listing.grid.n_numbers, dtype=np.int64)
    cells[occupied] = counts
    return cells.reshape(mechanism.shape[::-1]), design.block_counts(occupied, counts), points


@pytest.mark.parametrize("domain", [DOMAIN, DISC], ids=["whole", "disc"])
@pytest.mark.parametrize("person", [None, sdp.Person(records=7), sdp.Person(cells=5), sdp.Person(shares=True)], ids=str)
def test_blocks_hold_the_sums_of_their_cells(person, domain):
    mechanism = sdp.SparseMap((24, 16), blocks=(6, 8))
    cells, blocks, points = exact(mechanism, domain, person)
    assert np.array_equal(blocks, cells.reshape(8, 2, 6, 4).sum(axis=(1, 3)))
    inside = domain.grid((6, 8)).mask
    assert not blocks[~inside].any()
    if person is None:
        assert np.array_equal(blocks, count_cells(points, domain.grid((6, 8))))
    elif domain is DOMAIN:
        assert np.array_equal(cells, count_cells(points, DOMAIN.grid((24, 16)), person))


def test_cells_of_a_region_are_those_of_its_blocks():
    mechanism = sdp.SparseMap((2**20, 2**20), blocks=(8, 8), false=1e-9)
    design, blocks = mechanism.prepare(DISC, epsilon=1).design, DISC.grid((8, 8))
    assert design.listing.grid.n_cells == blocks.n_cells * 2**34
    assert design.blocks.structure.grid.n_cells == blocks.n_cells
    outside = [[0.01, 0.01]] * 900  # in a block that the disc does not touch
    release = mechanism.release(outside + [[0.5, 0.5]] * 900, DISC, epsilon=5, noise=sdp.SeededNoise(2))
    assert release.estimate.listed.n_cells == 1
    assert release.total == pytest.approx(900, abs=60)
    assert release.answer((0.4, 0.4, 0.6, 0.6)) == pytest.approx(900, abs=60)


@pytest.mark.parametrize("domain", [DOMAIN, DISC], ids=["whole", "disc"])
def test_persons_are_counted_once_for_list_and_map(domain):
    """Without noise, what is listed of a block is never more than the block."""
    mechanism = sdp.SparseMap((24, 16), blocks=(6, 8), false=1e8)
    person = sdp.Person(cells=5)
    prepared = mechanism.prepare(domain, epsilon=1, person=person)
    cells, blocks, points = exact(mechanism, domain, person)
    release = prepared.release(points, noise=Quiet())
    listed = release.estimate.listed
    assert listed.n_cells == (cells > 0).sum()
    assert listed.values.sum() == pytest.approx(blocks.sum())
    assert release.total == pytest.approx(blocks.sum())
    assert release.privacy.unit == "person"


class Quiet(ZeroNoise):
    """No noise, and no empty cell passes."""

    def random_bytes(self, count):
        return bytes(count)


def test_table_in_an_engine_is_counted_without_a_region_alone():
    ibis = pytest.importorskip("ibis")
    import pyarrow as pa

    rows = pa.table({"x": np.repeat([0.3, 0.8], [90, 3]), "y": np.repeat([0.7, 0.6], [90, 3])})
    table, mechanism = ibis.duckdb.connect().create_table("homes", rows), sdp.SparseMap((64, 64), blocks=(8, 8))
    mine, other = (
        mechanism.release(each, DOMAIN, epsilon=1, noise=sdp.SeededNoise(1)).estimate
        for each in (
            sdp.read_table(table, DOMAIN, x="x", y="y"),
            sdp.Points(rows["x"].to_numpy(), rows["y"].to_numpy()),
        )
    )
    assert np.array_equal(mine.map.values, other.map.values)
    assert np.array_equal(mine.listed.values, other.listed.values)
    with pytest.raises(PointsError, match="blocks of a region"):
        mechanism.release(sdp.read_table(table, DISC, x="x", y="y"), DISC, epsilon=1)
