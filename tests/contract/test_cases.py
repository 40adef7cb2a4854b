"""The one list of mechanisms: its selections are what they say, and no mechanism is forgotten."""

from __future__ import annotations

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.mechanisms import MECHANISMS
from tests.helpers.cases import (
    CASES,
    LARGE,
    ONE_OF_EACH,
    SMALL,
    VARIANTS,
    fits_any_domain,
    fits_any_shape,
    has_few_cells,
    is_consistent,
    is_foreseeable,
    is_tree,
    is_unbiased,
    of_shape,
    select,
    terms,
)

UNIT = sdp.Domain((0, 0, 1, 1))
POINTS = np.random.default_rng(2).random((200, 2))
every_variant = pytest.mark.parametrize(
    "mechanism",
    [mechanism for size in (SMALL, LARGE) for mechanism in size.values()],
    ids=[f"{name}, {size}" for size, held in (("small", SMALL), ("large", LARGE)) for name in held],
)


@every_variant
def test_selections_say_what_releases_are(mechanism):
    prepared = mechanism.prepare(UNIT, **terms(mechanism, "add-remove"))
    estimate = prepared.release(POINTS, noise=sdp.SeededNoise(1)).estimate
    assert is_tree(mechanism) == (estimate.kind == "tree")
    assert is_consistent(mechanism) == estimate.consistent
    assert is_unbiased(mechanism) == (not estimate.biased)
    truncated = getattr(mechanism, "truncate", None) is not None  # its plan tells of the noise before it is cut off
    assert (is_foreseeable(mechanism) or truncated) == prepared.is_foreseeable


def test_no_variant_is_there_twice():
    """Neither under two names nor, but for those of one cell, in two sizes that are one."""
    for held in (SMALL, LARGE):
        assert len(set(held.values())) == len(held)
    same = [name for name, variant in VARIANTS.items() if variant.small == variant.large]
    assert not select({name: SMALL[name] for name in same}, has_few_cells, fits_any_shape)


def test_names_begin_with_the_mechanism():
    assert all(variant.small or variant.large for variant in VARIANTS.values())
    short = {"kd-tree": "kd"}
    for held in (SMALL, LARGE):
        assert all(name.startswith(short.get(each.name, each.name)) for name, each in held.items())
        assert {each.name for each in held.values()} == set(MECHANISMS)


def test_the_first_of_each_is_of_the_audit():
    assert {name: type(mechanism) for name, mechanism in ONE_OF_EACH.items()} == MECHANISMS
    assert set(ONE_OF_EACH.values()) <= set(CASES.values())
    assert set(CASES.items()) <= set(SMALL.items())


@pytest.mark.parametrize("name", select(SMALL, fits_any_shape, has_few_cells))
def test_variants_of_other_shapes_differ_in_their_cells_alone(name):
    mechanism = SMALL[name]
    for shape in ((8, 8), (5, 3)):
        other = of_shape(mechanism, shape)
        if other is None:
            assert isinstance(mechanism, sdp.Quadtree)
            continue
        assert other.leaf_grid(UNIT).shape == shape
        changed = {key for key, value in other.parameters().items() if value != mechanism.parameters()[key]}
        assert changed <= {"shape", "height", "block"}


@pytest.mark.parametrize("name", SMALL)
def test_parameters_in_coordinates_do_not_fit_every_domain(name):
    mechanism, far = SMALL[name], sdp.Domain((100, 100, 100.7, 100.9))
    given = terms(mechanism, "add-remove")
    if fits_any_domain(mechanism):
        mechanism.check(far, **given)
        return
    with pytest.raises(sdp.SpatialDPError):
        mechanism.check(far, **given)
