"""Choices among regions: exact scores, sensitivities from weights, and what the account is told."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import shapely

import spatialdp as sdp
from spatialdp.curator.asks import Frame, Spending
from spatialdp.curator.counts import read_areas
from spatialdp.curator.selections.choice import Choice, Selection, Weights, in_each
from spatialdp.errors import BudgetError, ParameterError, ReleaseError
from spatialdp.privacy.neighbours import Neighbours
from spatialdp.records.rows.held import hold

DOMAIN = sdp.Domain((0, 0, 8, 8))
BOXES = [(0, 0, 4, 4), (2, 2, 6, 6), (0, 0, 8, 8), (5, 5, 8, 8)]


def ask(weights=None, neighbours="add-remove", person=None, selection=Selection.PERMUTE_AND_FLIP):
    frame = Frame(DOMAIN, Neighbours.parse(neighbours), person)
    return Choice(frame, Spending.of(1), read_areas(BOXES, DOMAIN), Weights.of(weights, len(BOXES)), selection)


def curator(points, **terms):
    return sdp.Curator.rehearsal(points, DOMAIN, noise=sdp.SeededNoise(1), **terms)


def test_weights_become_whole_steps():
    assert Weights.of([0.1, Fraction(1, 3), 2], 3) == Weights((3, 10, 60), Fraction(1, 30))
    assert Weights.of(np.array([1.5, -2]), 2).steps == (3, -4)
    assert Weights.of(np.array([1, 2]), 2).mixed is False
    assert Weights.of([1, 0, -1], 3).mixed
    assert not Weights.of([-1, -2], 2).mixed


@pytest.mark.parametrize("weights", [[1], [0, 0, 0, 0], []])
def test_weights_that_do_not_fit_are_refused(weights):
    with pytest.raises(ParameterError, match="weights has"):
        ask(weights)
    with pytest.raises(BudgetError, match="weights"):
        ask([1, 2, 3, "x"])


@pytest.mark.parametrize("weights", [None, [1, 2, 3, 4], [1, -2, 0.5, 0], [-1, -1, -2, -1]])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_no_record_moves_a_score_by_more_than_the_sensitivity(weights, neighbours):
    """Brute force over all places of the record, old and new."""
    question, places = ask(weights, neighbours), [(x + 0.5, y + 0.5) for x in range(8) for y in range(8)]
    steps = question.weights.steps
    scores = [
        [weight * count for weight, count in zip(steps, in_each(question.areas, hold([place], DOMAIN)), strict=True)]
        for place in places
    ]
    nothing = [0] * len(BOXES)
    pairs = [(nothing, each) for each in scores]
    if neighbours == "replace":
        pairs += [(one, other) for one in scores for other in scores]
    moves = [[b - a for a, b in zip(*pair, strict=True)] for pair in pairs]
    assert max(abs(move) for each in moves for move in each) == question.sensitivity
    one_way = all(min(each) >= 0 or max(each) <= 0 for each in moves)
    assert question.monotone <= one_way
    assert question.monotone == (neighbours == "add-remove" and weights != [1, -2, 0.5, 0])


def test_a_person_moves_scores_as_often_as_it_has_records():
    assert ask([1, 2, 3, 4], person=sdp.Person(records=5)).sensitivity == 20


def test_records_count_in_every_region():
    held = hold([[3, 3], [5.5, 5.5], [7, 1]], DOMAIN)
    boxes = read_areas(BOXES, DOMAIN)
    polygons = read_areas([shapely.box(*box) for box in BOXES], DOMAIN)
    assert in_each(boxes, held).tolist() == in_each(polygons, held).tolist() == [1, 2, 3, 1]


@pytest.mark.parametrize("selection", ["exponential", "permute-and-flip"])
def test_the_best_region_is_chosen_where_noise_is_small(selection):
    points = [[1, 1]] * 30 + [[7, 7]] * 40
    boxes = [(0, 0, 4, 4), (4, 4, 8, 8), (4, 0, 8, 4)]
    found = curator(points).choose(boxes, epsilon=10, selection=selection)
    assert found.values == 1
    assert curator(points).choose(boxes, [2, 1, 1], epsilon=10, selection=selection).values == 0
    assert curator(points).choose(boxes, [-1, -1, -1], epsilon=10, selection=selection).values == 2
    with pytest.raises(ReleaseError, match="has no interval"):
        found.interval()


def test_a_choice_among_many_regions_is_drawn_once(monkeypatch):
    lines = np.linspace(0, 8, 301)
    low, high = np.meshgrid(lines[:-1], lines[:-1])
    boxes = np.column_stack([low.ravel(), high.ravel(), low.ravel() + 8 / 300, high.ravel() + 8 / 300])
    found = curator([[4.01, 4.01]] * 200).choose(boxes, epsilon=1)
    assert boxes[found.values, 0] <= 4.01 < boxes[found.values, 2]


def test_the_account_pays_for_a_choice_and_knows_its_terms(tmp_path):
    account = sdp.Ledger(tmp_path / "privacy.ledger").open("bids", epsilon=1, delta=1e-9, pure=0.5)
    asked = sdp.Curator([[1, 1]], DOMAIN, account)
    asked.choose(BOXES, [1, 2, 3, 0.5], epsilon=0.25)
    assert account.spent.epsilon == Fraction(1, 4)
    what = account.entries[-1].facts["what"]
    assert (what["ask"], what["regions"], what["largest weight"], what["monotone"]) == ("choose", 4, "3", True)
    concentrated = sdp.Curator([[1, 1]], DOMAIN, account.in_zcdp())
    concentrated.choose(BOXES, epsilon=0.01, selection="exponential")
    assert account.spent.rho == Fraction(1, 80_000)
    concentrated.choose(BOXES, epsilon=0.01)
    assert account.spent.rho == Fraction(5, 80_000)


def test_seeds_repeat_choices_and_they_are_marked():
    first, again = (curator([[1, 1]] * 9).choose(BOXES, epsilon=0.1) for _ in range(2))
    assert first.values == again.values
    assert not first.privacy.private


@pytest.mark.parametrize(
    ("regions", "complaint"), [((0, 0, 1, 1), "has 1 boxes"), ([(9, 9, 10, 10)], "outside"), ([], "give")]
)
def test_wrong_regions_are_refused_before_anything_is_spent(regions, complaint):
    asked = curator([[1, 1]], epsilon=1)
    with pytest.raises(ParameterError, match=complaint):
        asked.choose(regions, epsilon=1)
    with pytest.raises(ParameterError, match="selection is"):
        asked.choose(BOXES, epsilon=1, selection="best")
    asked.count(epsilon=1)  # all of ε is still there
