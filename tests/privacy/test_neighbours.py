"""Neighbours and sensitivities: by brute force over all small data sets."""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np
import pytest

from spatialdp.privacy.neighbours import Neighbours, Sensitivity, count_sensitivity


def data_sets(cells, most):
    """All multisets of records; the last place is outside the domain, where records count nowhere."""
    return [held for size in range(most + 1) for held in combinations_with_replacement(range(cells + 1), size)]


def counts(held, cells):
    return np.bincount(held, minlength=cells + 1)[:cells] if held else np.zeros(cells, dtype=int)


def neighbours_of(held, cells, relation):
    without = {held[:i] + held[i + 1 :] for i in range(len(held))}
    if relation is Neighbours.ADD_REMOVE:
        return without
    return {tuple(sorted((*rest, place))) for rest in without for place in range(cells + 1)}


@pytest.mark.parametrize("cells", [1, 2, 3])
@pytest.mark.parametrize("relation", list(Neighbours))
def test_count_sensitivity_is_the_largest_change_over_all_neighbours(cells, relation):
    changes = [
        counts(held, cells) - counts(other, cells)
        for held in data_sets(cells, 3)
        for other in neighbours_of(held, cells, relation)
    ]
    largest = Sensitivity(max(np.abs(c).sum() for c in changes), max((c**2).sum() for c in changes))
    assert count_sensitivity(relation, cells) == largest


def test_relations_are_known_by_the_names_that_files_and_commands_use():
    assert [str(relation) for relation in Neighbours] == ["add-remove", "replace"]
    assert Neighbours.parse("ADD_REMOVE") is Neighbours.ADD_REMOVE
