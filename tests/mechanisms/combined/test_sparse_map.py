"""Does a list over a map divide one budget, and refuse what it cannot do?"""

from __future__ import annotations

from fractions import Fraction

import pytest
import shapely

import spatialdp as sdp
from spatialdp.errors import DomainError, ParameterError

DOMAIN = sdp.Domain((0, 0, 1, 1))


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
    for person in (sdp.Person(cells=3), sdp.Person(cells=sdp.Chosen())):
        with pytest.raises(ParameterError, match="one by one"):
            sdp.SparseMap((64, 64)).check(DOMAIN, epsilon=1, person=person)
    region = sdp.Domain((0, 0, 1, 1), region=shapely.Point(0.5, 0.5).buffer(0.4))
    with pytest.raises(DomainError, match="one by one"):
        sdp.SparseMap((64, 64)).check(region, epsilon=1)
    assert sdp.SparseMap((64, 64)).leaf_grid(DOMAIN).shape == (64, 64)
    assert not sdp.SparseMap((64, 64)).prepare(DOMAIN, epsilon=1).is_foreseeable


def test_both_parts_read_the_records_of_a_file(tmp_path):
    (tmp_path / "spots.csv").write_text("x,y\n" + "0.3,0.7\n" * 500)
    points = sdp.read_points(tmp_path / "spots.csv", DOMAIN, x="x", y="y")
    mechanism, noise = sdp.SparseMap((2**30, 2**30), blocks=(4, 4)), sdp.SeededNoise(1)
    release = mechanism.release(points, DOMAIN, epsilon=5, noise=noise)
    assert release.estimate.listed.values.max() == pytest.approx(500, abs=60)
    assert release.total == pytest.approx(500, abs=60)
