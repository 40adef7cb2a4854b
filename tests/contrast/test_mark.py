"""Nothing of `contrast` can be mistaken for a release: the mark is everywhere, and nothing saves."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import spatialdp
from spatialdp import contrast
from spatialdp.contrast.mark import HEADING, NotPrivate
from spatialdp.mechanisms import MECHANISMS

# What speaks of no record: bounds, conditions and taxonomies are public parameters.
PUBLIC = {"Bounds", "Closeness", "Distinct", "Entropy", "Folk", "Recursive", "Taxonomy"}
CLASSES = [getattr(contrast, name) for name in contrast.__all__ if inspect.isclass(getattr(contrast, name))]


@pytest.mark.parametrize("kind", [kind for kind in CLASSES if kind.__name__ not in PUBLIC])
def test_whatever_is_made_of_records_says_that_it_is_not_private(kind):
    assert issubclass(kind, NotPrivate)
    assert kind.private is False
    assert kind.NOTE == contrast.NOTE


@pytest.mark.parametrize("kind", CLASSES)
def test_no_object_of_contrast_has_a_method_that_saves_it(kind):
    assert not [name for name in dir(kind) if "save" in name or "write" in name or "publish" in name]


def test_the_package_is_not_met_by_accident():
    assert "contrast" not in spatialdp.__all__
    assert "contrast" not in dir(spatialdp)
    assert not set(contrast.__all__) & set(spatialdp.__all__)
    assert not any("contrast" in each.__module__ for each in MECHANISMS.values())


def test_reprs_show_no_record():
    groups = contrast.Mondrian(2).group([[0.123, 7.5], [1.25, 2.5]], ["rare disease", "flu"])
    attack = contrast.intersection([groups], [[0.123, 7.5]])
    for each in (groups, groups.records, groups.secrets, groups.locator, attack):
        assert repr(each) == f"<{type(each).__name__}: not private, for study only>"


def test_the_heading_says_that_nothing_may_be_published():
    assert HEADING.startswith("Private-only")
    points = np.random.default_rng(1).random((100, 2))
    compared = contrast.compare(points, np.arange(100) % 2, spatialdp.Domain((0, 0, 1, 1)), k=2, releases=2)
    assert compared.table().startswith(f"# {HEADING}")
    assert set(compared.to_frame()["note"]) == {HEADING}
    assert all(row.private is False for row in (*compared.attacks, *compared.boxes, *compared.leaks))
    assert not compared.private_map.privacy.private
