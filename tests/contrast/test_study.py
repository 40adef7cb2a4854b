"""Who is in which release: members in all, non-members in none, and the first two share nobody else."""

from __future__ import annotations

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.contrast.study import Study
from spatialdp.errors import ParameterError

DOMAIN = sdp.Domain((0, 0, 1, 1))


@pytest.fixture(scope="module")
def study():
    points = np.random.default_rng(1).random((1000, 2))
    return Study.of(points, np.arange(1000) % 5, DOMAIN, 80, 7)


def test_members_are_in_all_releases_and_others_in_none(study):
    for number in range(5):
        chosen = study.chosen(number)
        assert np.isin(study.members, chosen).all()
        assert not np.isin(study.others, chosen).any()
        assert np.unique(chosen).size == chosen.size == 80 + 420


def test_the_first_two_releases_share_the_members_alone(study):
    common = np.intersect1d(study.chosen(0), study.chosen(1))
    assert np.array_equal(np.sort(study.members), common)
    later = np.intersect1d(study.chosen(2), study.chosen(3)).size
    assert 80 + 150 < later < 80 + 270


def test_cells_of_people_are_those_of_the_grid(study):
    mechanism = sdp.Flat((8, 4))
    people = np.arange(50)
    boxes = study._cell_boxes(mechanism, people)
    x, y = study.places.values[:, people]
    assert np.array_equal(np.floor(x * 8) / 8, boxes[:, 0].round(9))
    assert np.array_equal(np.floor(y * 4) / 4, boxes[:, 1].round(9))
    assert np.allclose(boxes[:, 2:] - boxes[:, :2], [1 / 8, 1 / 4])


def test_counts_without_noise_are_the_true_ones(study):
    mechanism = sdp.Flat((4, 4))
    cell = np.array([[0.0, 0.0, 0.25, 0.25]])
    counts = study._counts(mechanism, sdp.Budget(1000).epsilon, 0, cell)
    chosen = study.chosen(0)
    x, y = study.places.values[:, chosen]
    inside = (x < 0.25) & (y < 0.25)
    assert counts[0].tolist() == np.bincount(study.secrets.codes[chosen][inside], minlength=5).tolist()


def test_nothing_is_shown_of_the_records(study):
    assert repr(study) == "<Study: not private, for study only>"


def test_too_many_values_are_refused():
    points = np.random.default_rng(2).random((500, 2))
    with pytest.raises(ParameterError, match="more than 200 different ones"):
        Study.of(points, np.arange(500), DOMAIN, None, 1)


def test_a_domain_without_records_is_said_in_words():
    with pytest.raises(ParameterError, match="the domain holds fewer than ten of the records"):
        Study.of(np.full((100, 2), 0.5), np.arange(100) % 3, sdp.Domain((5, 5, 6, 6)), None, 7)
