"""Coordinate reference systems: one canonical text, one rule for "the same"."""

from __future__ import annotations

import pytest

from spatialdp import Domain
from spatialdp.errors import CRSMismatchError, DomainError
from spatialdp.space.crs import canonical, geographic, require_same, same, to_projjson


def test_crs_is_canonical_and_unknown_ones_are_refused():
    assert Domain((0, 0, 1, 1), crs=4326).crs == "EPSG:4326"
    assert Domain((0, 0, 1, 1), crs="epsg:4326") == Domain((0, 0, 1, 1), crs="EPSG:4326")
    with pytest.raises(DomainError, match="EPSG:4326"):
        Domain((0, 0, 1, 1), crs="no such thing")


@pytest.mark.parametrize("crs", [4326, "EPSG:4326", "epsg:2154", "OGC:CRS84", "ESRI:102003", "+proj=utm +zone=31"])
def test_canonical_names_are_their_own_and_mean_what_was_given(crs):
    name = canonical(crs)
    assert canonical(name) == name
    assert same(name, crs)


def test_the_order_of_axes_makes_no_difference_but_the_place_does():
    assert same("EPSG:4326", "OGC:CRS84")
    assert not same("EPSG:4326", "EPSG:4269")
    assert not same("EPSG:2154", "EPSG:3857")


def test_every_mismatch_says_what_to_do_and_nothing_else_is_refused():
    require_same("points", None, None)
    require_same("points", 4326, "EPSG:4326")
    require_same("points", "OGC:CRS84", "EPSG:4326")
    for crs, domain_crs, advice in (
        ("EPSG:2154", None, r"Domain\(bounds, crs=...\)"),
        (None, "EPSG:4326", "set_crs"),
        ("EPSG:2154", "EPSG:4326", r"to_crs\('EPSG:4326'\)"),
    ):
        with pytest.raises(CRSMismatchError, match=f"the polygons .*{advice}"):
            require_same("polygons", crs, domain_crs)


def test_degrees_are_known_as_such():
    assert [geographic(crs) for crs in (None, "EPSG:4326", "EPSG:2154", "EPSG:3857")] == [False, True, False, False]


def test_projjson_is_read_back_as_the_same_crs():
    assert to_projjson(None) is None
    for crs in ("EPSG:4326", "EPSG:2154"):
        assert same(to_projjson(crs), crs)
