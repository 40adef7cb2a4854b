"""Thresholds: paid at the start, exact counts, and neither shown nor copied."""

from __future__ import annotations

import copy
import pickle
import traceback
from fractions import Fraction

import pytest
import shapely

import spatialdp as sdp
from spatialdp.curator.asks import Frame, Spending
from spatialdp.curator.selections.threshold import Threshold
from spatialdp.errors import BudgetError, ParameterError
from spatialdp.privacy.neighbours import Neighbours
from spatialdp.privacy.noise.source import SeededNoise
from spatialdp.records.rows.held import HeldRecords

DOMAIN = sdp.Domain((0, 0, 8, 8))
POINTS = [[1, 1]] * 500 + [[7, 7]] * 20


def curator(points=POINTS, **terms):
    return sdp.Curator.rehearsal(points, DOMAIN, noise=sdp.SeededNoise(1), **terms)


def terms_of(neighbours, person=None, limit=1):
    return Threshold(Frame(DOMAIN, Neighbours.parse(neighbours), person), Spending.of(1), 10, limit).terms


def test_terms_follow_from_the_relation_and_the_unit():
    assert terms_of("add-remove").monotone
    assert not terms_of("replace").monotone
    assert terms_of("replace").sensitivity == 1
    assert terms_of("add-remove", sdp.Person(records=4)).sensitivity == 4


def test_areas_above_are_told_from_areas_below():
    with curator().above_threshold(200, limit=2, epsilon=2) as above:
        assert not above.ask((4, 4, 8, 8))
        assert above.ask((0, 0, 4, 4))
        assert above.left == 1
        assert above.ask(shapely.box(0, 0, 4, 4))
        with pytest.raises(BudgetError, match="limit was 2"):
            above.ask((4, 4, 8, 8))


def test_thresholds_are_whole_counts():
    with curator().above_threshold(499.5, epsilon=100) as above:
        assert above.ask((0, 0, 4, 4))
    with curator().above_threshold(540, epsilon=100) as above:
        assert not above.ask((0, 0, 8, 8))
    with pytest.raises(ParameterError, match="give a count"):
        curator().above_threshold(1e30, epsilon=1)


def test_all_of_epsilon_is_paid_at_the_start_and_once(tmp_path):
    account = sdp.Ledger(tmp_path / "privacy.ledger").open("crashes", epsilon=1)
    asked = sdp.Curator(POINTS, DOMAIN, account)
    with asked.above_threshold(200, epsilon=0.5) as above:
        assert account.spent.epsilon == Fraction(1, 2)
        for _ in range(20):
            above.ask((4, 4, 8, 8))
        asked.count(epsilon=0.25)  # other questions may be asked in between
    assert account.spent.epsilon == Fraction(3, 4)
    assert above.privacy.epsilon == Fraction(1, 2)
    assert above.privacy.private
    with pytest.raises(BudgetError):
        asked.above_threshold(200, epsilon=0.5)


def test_nothing_is_answered_after_the_end():
    with curator().above_threshold(200, epsilon=1) as above:
        pass
    with pytest.raises(BudgetError):
        above.ask((0, 0, 4, 4))


def test_it_shows_nothing_of_records_or_noise_and_is_not_copied():
    shown = {repr(curator(points).above_threshold(200, epsilon=0.01)) for points in (POINTS, POINTS[:3])}
    assert len(shown) == 1
    above = curator().above_threshold(200, epsilon=1)
    for duplicate in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="cannot be copied"):
            duplicate(above)


def test_wrong_areas_cost_no_answer():
    with curator().above_threshold(200, epsilon=1) as above:
        with pytest.raises(ParameterError, match="area is missing"):
            above.ask(None)
        with pytest.raises(ParameterError, match="outside"):
            above.ask((9, 9, 10, 10))
        with pytest.raises(ParameterError, match="give one box"):
            above.ask([(0, 0, 1, 1), (1, 1, 2, 2)])
        assert above.ask((0, 0, 4, 4))


def test_no_error_brings_an_exact_count_along(monkeypatch):
    """Tools that log local variables of all frames see an error's frames, so none of them may have a count."""
    above = curator(epsilon=100).above_threshold(200, epsilon=100)
    above.ask((0, 0, 8, 8))
    with monkeypatch.context() as patched:
        patched.setattr(HeldRecords, "in_boxes", None)  # refused before anything is counted
        with pytest.raises(BudgetError, match="limit was 1") as used_up:
            above.ask((0, 0, 8, 8))
    above = curator(epsilon=100).above_threshold(10**6, epsilon=100)
    monkeypatch.setattr(SeededNoise, "random_bytes", None)
    with pytest.raises(TypeError) as failed:
        above.ask((0, 0, 8, 8))
    for error in (used_up.value, failed.value):
        frames = [frame.f_locals for frame, _ in traceback.walk_tb(error.__traceback__)][1:]  # without the test's own
        assert frames
        assert 520 not in [value for found in frames for value in found.values() if isinstance(value, int)]
