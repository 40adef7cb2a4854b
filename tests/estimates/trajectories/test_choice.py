"""Ways are taken by their extents: those taken have the wanted distribution, as far as there is a choice."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.estimates.trajectories import choice
from spatialdp.estimates.trajectories.choice import draw_squares
from spatialdp.estimates.trajectories.tables import LengthTable
from spatialdp.space.paths.systems import extent_classes
from tests.estimates.trajectories.test_model import known_chain, walks_of
from tests.helpers.trajectory_cases import DOMAIN, tracks_of

RING = [[int(cell) for cell in np.roll([0, 1, 2, 10, 18, 17, 16, 8], -turn)] for turn in range(8)]

DRAWN = choice._drawn


def model_of(walks, **options):
    mechanism = sdp.Trajectories(longest=9, ends=0, systems=(3,), **options)
    return mechanism.release(tracks_of(walks), DOMAIN, epsilon=1000, noise=sdp.SeededNoise(1)).estimate


def extents_of(model, seed=2):
    squares = draw_squares(model, 1500, sdp.SeededNoise(seed))
    return np.bincount(extent_classes(squares.starts, squares.columns, squares.rows), minlength=12) / 1500


@pytest.mark.parametrize("kind", [0, 8, 10])
def test_ways_are_taken_by_the_released_extents(kind):
    """Asked for all of one class, more of it come than if none are asked for."""
    walks = walks_of(*known_chain(np.random.default_rng(2)), np.random.default_rng(3), 480, 9)
    model = model_of(walks.tolist())
    values = np.zeros_like(model.extents.values)
    values[kind] = 500.0
    asked = replace(model, extents=LengthTable(values, model.extents.noise))
    without = replace(model, extents=LengthTable(500.0 - values, model.extents.noise))
    assert extents_of(asked)[kind] > extents_of(without)[kind]


def test_weights_give_what_is_wanted_where_there_is_a_choice():
    """Two kinds, one length: three trajectories of four have both."""
    kinds = np.array([[0, 1]] * 3000 + [[0, 0]] * 1000)
    for share in (0.3, 0.5, 0.9):
        wanted = np.array([[share], [1 - share]])
        weights = choice._weights(kinds, np.zeros(4000, dtype=int), wanted)
        chances = weights / weights.sum(axis=1, keepdims=True)
        taken = (chances * (kinds == 0)).sum() / 4000
        assert taken == pytest.approx(max(share, 0.25), abs=0.02)


def test_large_numbers_are_drawn_in_parts(monkeypatch):
    model = model_of(RING * 60)
    monkeypatch.setattr(choice, "_AT_ONCE", 7)
    squares = draw_squares(model, 30, sdp.SeededNoise(1))
    assert squares.starts.size == 31
    assert squares.starts[-1] == squares.columns.size == squares.rows.size
    assert draw_squares(model, 0, sdp.SeededNoise(1)).columns.size == 0


def test_long_ways_are_drawn_in_smaller_parts(monkeypatch):
    """Memory follows the positions that are drawn together, of which a long way has many."""
    model, drawn = model_of(RING * 60), []
    monkeypatch.setattr(choice, "_POSITIONS", 500)
    monkeypatch.setattr(choice, "_drawn", lambda *given: drawn.append(given[1]) or DRAWN(*given))
    squares = draw_squares(model, 30, sdp.SeededNoise(1))
    assert squares.starts.size == 31
    assert sum(drawn) == 30
    assert max(drawn) * 6 * (model.longest + 1) <= 500


def test_a_way_keeps_its_place_within_cells():
    squares = draw_squares(model_of(RING * 60), 40, sdp.SeededNoise(1))
    for first, last in zip(squares.starts[:-1], squares.starts[1:], strict=True):
        for axis in (squares.columns, squares.rows):
            assert np.unique(axis[first:last] % 2**27).size == 1
