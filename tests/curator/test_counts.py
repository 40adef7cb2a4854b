"""Are counts of boxes and polygons exact without noise, and is their sensitivity what brute force finds?"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import shapely

import spatialdp as sdp
from spatialdp.curator import counts
from spatialdp.curator.counts import Areas, Boxes, Polygons, depth_of, memberships, one_area, read_areas
from spatialdp.errors import BudgetError, OutsideDomainWarning, ParameterError
from spatialdp.privacy.neighbours import Neighbours
from tests.helpers.curators import DOMAIN, exactly, opened, rehearsing

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE


def random_boxes(rng, most=7, side=6):
    """Boxes on a few lines, so that edges meet, boxes repeat, and some are empty."""
    corners = rng.integers(0, side + 1, (int(rng.integers(1, most + 1)), 2, 2))
    return np.concatenate([corners.min(axis=1), corners.max(axis=1)], axis=1)


def sets_of_boxes(boxes, side=6):
    """In which boxes each square of a small lattice is, and no square: all vectors that a record can add."""
    squares = np.array(list(itertools.product(range(side), repeat=2)))
    inside = (squares[:, None] >= boxes[None, :, :2]).all(axis=2) & (squares[:, None] < boxes[None, :, 2:]).all(axis=2)
    return np.unique(np.vstack([inside, np.zeros(len(boxes), dtype=bool)]), axis=0).astype(int)


def test_depth_is_exact_for_random_boxes():
    rng = np.random.default_rng(1)
    for _ in range(2000):
        boxes = random_boxes(rng)
        assert depth_of(boxes) == max(1, sets_of_boxes(boxes).sum(axis=1).max())


def test_depth_of_many_boxes_is_exact_up_to_the_limit_and_their_number_beyond(monkeypatch):
    tiles = np.array([[i, j, i + 1, j + 1] for i in range(20) for j in range(20)])
    assert depth_of(tiles) == 1
    assert depth_of(np.concatenate([tiles, tiles[:3]])) == 2
    monkeypatch.setattr(counts, "MOST_COMPARED", 399)
    assert depth_of(tiles) == 400


def test_sensitivity_of_boxes_is_exact_under_both_relations():
    """The bound that is used for many boxes is not below it, and is attained by many."""
    rng = np.random.default_rng(2)
    tight = 0
    for _ in range(2000):
        areas = Boxes(False, random_boxes(rng))
        vectors = sets_of_boxes(areas.boxes)
        added = areas.sensitivity(ADD)
        # A box without any area counts nothing; the sensitivity is then that of one box.
        assert added.l1 == added.l2_squared == max(1, vectors.sum(axis=1).max())
        changes = np.abs(vectors[:, None] - vectors[None]).sum(axis=2).max()
        replaced, bound = areas.sensitivity(REPLACE), Areas.sensitivity(Rough(areas), REPLACE)
        assert replaced.l1 == replaced.l2_squared == max(1, changes)
        assert replaced.l1 <= bound.l1 == bound.l2_squared == min(2 * areas.depth, areas.size)
        tight += changes == bound.l1
    assert tight > 700


class Rough:
    """Boxes of which only the number and the depth are known."""

    def __init__(self, areas):
        self.size, self.depth = areas.size, areas.depth

    overlaps = Areas.overlaps


def test_squares_of_many_steps_do_not_wrap_around():
    many = Rough(one_area(None, DOMAIN))
    many.size = many.depth = 10**9
    assert Areas.sensitivity(many, REPLACE, most=2**19, between=2**20).l2_squared == 10**9 * 2**40


def test_sets_of_boxes_are_found_as_by_brute_force_unless_there_are_too_many(monkeypatch):
    rng = np.random.default_rng(5)
    for _ in range(200):
        boxes = random_boxes(rng)
        assert np.array_equal(np.unique(memberships(boxes), axis=0), sets_of_boxes(boxes))
    assert memberships(np.tile(boxes, (65, 1))) is None
    monkeypatch.setattr(counts, "_MOST_VECTORS", 2)
    assert memberships(np.array([[0, 0, 2, 2], [1, 1, 3, 3]])) is None
    assert Boxes(False, np.array([[0, 0, 2, 2], [1, 1, 3, 3]])).sensitivity(REPLACE).l1 == 2


@pytest.mark.parametrize("relation", [ADD, REPLACE])
def test_sensitivity_of_sums_is_an_upper_bound_over_all_values(relation):
    """Brute force over boxes, places and values from a few public ones."""
    rng = np.random.default_rng(3)
    for trial in range(300):
        areas = Boxes(False, random_boxes(rng, most=4))
        low, high = (-3, 3) if trial % 2 else (1, 3)
        vectors = np.unique(
            [value * row for row in sets_of_boxes(areas.boxes) for value in range(low, high + 1)], axis=0
        )
        changes = np.abs(vectors[:, None] - vectors[None]) if relation is REPLACE else np.abs(vectors)[:, None]
        for stated in (
            areas.sensitivity(relation, most=3, between=high - low),
            Areas.sensitivity(Rough(areas), relation, most=3, between=high - low),
        ):
            assert changes.sum(axis=2).max() <= stated.l1
            assert (changes**2).sum(axis=2).max() <= stated.l2_squared


def test_sums_of_one_area_move_by_the_whole_range_when_a_record_is_replaced():
    areas = one_area(None, DOMAIN)
    assert areas.sensitivity(REPLACE, most=3, between=6).l1 == 6
    assert areas.sensitivity(REPLACE, most=3, between=6).l2_squared == 36
    assert areas.sensitivity(REPLACE, most=3, between=1).l1 == 3
    assert areas.sensitivity(REPLACE).l1 == 1


def test_counts_without_noise_are_those_of_the_records():
    rng = np.random.default_rng(4)
    records = rng.uniform(-1, 9, (500, 2))
    records[:3] = [[np.nan, 1], [np.inf, 1], [1, np.nan]]
    boxes = np.concatenate([random_boxes(rng, side=8) for _ in range(20)])
    boxes = boxes[(boxes[:, :2] < boxes[:, 2:]).all(axis=1)]
    answers = exactly(records).counts(boxes, epsilon=1).values
    inside = (records[:, None] >= boxes[None, :, :2]).all(axis=2) & (records[:, None] < boxes[None, :, 2:]).all(axis=2)
    assert answers.tolist() == inside.sum(axis=0).tolist()
    assert exactly(records).count(epsilon=1).values == ((records >= 0) & (records <= 8)).all(axis=1).sum()


def test_many_records_are_counted_as_few_are(monkeypatch):
    records = np.random.default_rng(5).uniform(0, 8, (300, 2))
    boxes = [(0, 0, 3, 5), (2, 2, 8, 8)]
    few = [exactly(records).count(box, epsilon=1).values for box in boxes]
    monkeypatch.setattr("spatialdp.records.rows.held._FEW", 100)
    assert few == [exactly(records).count(box, epsilon=1).values for box in boxes]
    assert few == exactly(records).counts(boxes, epsilon=1).values.tolist()


def test_a_record_counts_in_the_first_polygon_alone():
    records = [[1, 1], [3, 3], [3.5, 3.5], [5, 5], [7, 1]]
    triangle, square = shapely.Polygon([(0, 0), (4, 0), (4, 4), (0, 4)]), shapely.box(2, 2, 6, 6)
    assert exactly(records).counts([triangle, square], epsilon=1).values.tolist() == [3, 1]
    assert exactly(records).counts([square, triangle], epsilon=1).values.tolist() == [3, 1]
    assert exactly(records).count(square, epsilon=1).values == 3
    assert read_areas([triangle, square], DOMAIN).depth == 1


def test_polygons_and_boxes_agree_where_they_are_alike():
    records = np.random.default_rng(6).uniform(0, 8, (400, 2))
    boxes = [(0, 0, 3, 5), (3, 0, 8, 5)]
    curator = exactly(records)
    polygons = np.array([shapely.box(*box) for box in boxes])
    assert curator.counts(boxes, epsilon=1).values.tolist() == curator.counts(polygons, epsilon=1).values.tolist()


def test_noise_grows_with_the_depth(tmp_path):
    account = opened(tmp_path)
    curator = sdp.Curator([], DOMAIN, account)
    apart = curator.counts([(0, 0, 2, 2), (4, 4, 6, 6)], epsilon=0.5)
    over = curator.counts([(0, 0, 3, 3), (2, 2, 6, 6)], epsilon=0.5)
    assert apart.privacy.parameters["scale"] == "2"
    assert over.privacy.parameters["scale"] == "4"
    assert account.spent.epsilon == 1


def test_gaussian_counts_are_paid_in_zcdp(tmp_path):
    account = opened(tmp_path, epsilon=2, delta=1e-9, pure=1)
    answers = sdp.Curator([], DOMAIN, account).counts(
        [(0, 0, 3, 3), (2, 2, 6, 6)], epsilon=0.5, delta=1e-9, law="gaussian"
    )
    assert answers.privacy.currency == "rho"
    assert account.spent.rho == answers.privacy.budget["count"] > 0
    assert account.spent.epsilon == 0
    assert answers.privacy.parameters["variance"] == str(2 / (2 * account.spent.rho))


@pytest.mark.parametrize(
    ("areas", "words"),
    [
        ([(0, 0, 1, 1), (9, 9, 10, 10)], "outside the domain"),
        ([shapely.box(9, 9, 10, 10)], "polygon 0 lies outside the domain"),
        ([], "boxes have shape"),
        (np.empty((0, 4)), "no areas"),
        ([(0, 0, 1)], "boxes"),
        ([shapely.Point(1, 1)], "must be a Polygon"),
        ("north", "boxes are a str"),
        ([shapely.box(0, 0, 1, 1), None], "is missing"),
    ],
)
def test_wrong_areas_are_refused_before_anything_is_spent(tmp_path, areas, words):
    account = opened(tmp_path)
    with pytest.raises(ParameterError, match=words):
        sdp.Curator([[1, 1]], DOMAIN, account).counts(areas, epsilon=1)
    assert account.spent.epsilon == 0


def test_several_boxes_are_refused_where_one_area_is_needed(tmp_path):
    with pytest.raises(ParameterError, match="2 boxes; give one box"):
        rehearsing([]).count([(0, 0, 1, 1), (1, 1, 2, 2)], epsilon=1)
    assert isinstance(one_area(shapely.box(0, 0, 1, 1), DOMAIN), Polygons)
    assert one_area(shapely.box(0, 0, 1, 1), DOMAIN).extent[:2] == (0, 0)


def test_noise_that_no_source_draws_is_refused_before_it_is_paid(tmp_path):
    account = opened(tmp_path)
    boxes = np.tile([[0, 0, 1, 1]], (1, 1))
    with pytest.raises(BudgetError):
        sdp.Curator([], DOMAIN, account).counts(boxes, epsilon=1e-12)
    assert account.spent.epsilon == 0


def test_areas_that_are_half_outside_are_no_reason_to_warn(recwarn):
    rehearsing([[1, 1]]).counts([(-5, -5, 1, 1)], epsilon=1)
    assert not [each for each in recwarn if issubclass(each.category, OutsideDomainWarning)]
