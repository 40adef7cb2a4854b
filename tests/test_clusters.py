"""Centres of clusters in a release: where records are dense, from the release alone, and the same for equal seeds."""

from __future__ import annotations

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp import clusters
from spatialdp.errors import ParameterError

DOMAIN = sdp.Domain((0, 0, 1, 1))
TOWNS = np.array([[0.2, 0.3], [0.7, 0.8], [0.8, 0.2]])


def records(sizes=(3000, 2000, 1000), seed=1):
    rng = np.random.default_rng(seed)
    parts = [rng.normal(town, 0.02, (size, 2)) for town, size in zip(TOWNS, sizes, strict=True)]
    return np.concatenate(parts)


def release_of(mechanism=None, epsilon=1.0):
    return (mechanism or sdp.Adaptive()).release(records(), DOMAIN, epsilon=epsilon, noise=sdp.SeededNoise(1))


@pytest.mark.parametrize(
    "mechanism",
    [sdp.Adaptive(), sdp.Flat((64, 64)), sdp.Hierarchy((64, 64)), sdp.Quadtree(height=7), sdp.KdTree(height=6)],
    ids=lambda each: each.name,
)
def test_towns_are_found_the_largest_first(mechanism):
    found = sdp.kmeans(release_of(mechanism, epsilon=10), 3)
    assert found.centres == pytest.approx(TOWNS, abs=0.02)
    assert found.counts == pytest.approx([3000, 2000, 1000], rel=0.1)


def test_one_cluster_is_the_mean_of_the_map():
    release = release_of(sdp.Flat((64, 64)), epsilon=100)
    found = sdp.kmeans(release, 1)
    assert found.centres[0] == pytest.approx(records().mean(axis=0), abs=0.01)
    spread = ((records() - records().mean(axis=0)) ** 2).sum(axis=1).mean()
    assert found.cost == pytest.approx(spread, rel=0.02)


def test_a_large_leaf_is_divided_evenly():
    release = sdp.Flat((1, 1)).release(records(), DOMAIN, epsilon=1, noise=sdp.SeededNoise(1))
    found = sdp.kmeans(release, 4, starts=20)
    assert np.sort(found.centres.round(1), axis=0)[:, 0].tolist() == pytest.approx([0.2, 0.2, 0.8, 0.8], abs=0.11)
    assert found.counts == pytest.approx([release.total / 4] * 4, rel=0.02)
    assert found.cost == pytest.approx(2 / 12 / 4, rel=0.02)  # of four squares in a square that is evenly filled


def test_a_release_of_many_cells_is_read_on_a_grid(monkeypatch):
    release = release_of(sdp.Hierarchy((128, 128)), epsilon=10)
    expected = sdp.kmeans(release, 3).centres
    monkeypatch.setattr(clusters, "_MOST_PARTS", 100)
    assert len(clusters._boxes(release)) == clusters._SIDE**2
    assert sdp.kmeans(release, 3).centres == pytest.approx(expected, abs=0.01)


def test_parts_are_the_whole_map_once():
    release = release_of(sdp.KdTree(height=4))
    boxes = clusters._boxes(release.non_negative())
    sides = boxes[:, 2:] - boxes[:, :2]
    assert sides.min() > 0
    assert (sides <= 2**30 // clusters._SIDE + 1).all()
    assert int(sides.prod(axis=1).sum()) == 2**60


def test_degrees_are_alike_on_the_ground():
    # Two pairs of towns in a square of degrees near 60° north, where a degree of x is half as long as one of y.
    domain = sdp.Domain((0, 59.5, 1, 60.5), crs="EPSG:4326")
    corners = np.array([[0.2, 59.75], [0.8, 59.75], [0.2, 60.25], [0.8, 60.25]])
    release = sdp.Flat((32, 32)).release(np.repeat(corners, 1000, axis=0), domain, epsilon=10)
    assert np.sort(sdp.kmeans(release, 2).centres[:, 1]) == pytest.approx([59.75, 60.25], abs=0.05)
    plane = sdp.Domain((0, 59.5, 1, 60.5))
    flat = sdp.Flat((32, 32)).release(np.repeat(corners, 1000, axis=0), plane, epsilon=10)
    assert np.sort(sdp.kmeans(flat, 2).centres[:, 0]) == pytest.approx([0.2, 0.8], abs=0.05)


def test_places_belong_to_the_nearest_centre():
    found = sdp.kmeans(release_of(epsilon=10), 3)
    assert found.nearest(TOWNS + 0.05).tolist() == [0, 1, 2]
    with pytest.raises(ParameterError, match="one x and one y"):
        found.nearest([1, 2, 3])
    with pytest.raises(ParameterError, match="not finite"):
        found.nearest([[1, np.nan]])


def test_equal_seeds_give_equal_clusters_and_more_starts_are_not_worse():
    release = release_of(epsilon=0.05)
    first, again = (sdp.kmeans(release, 15, seed=4) for _ in range(2))
    assert np.array_equal(first.centres, again.centres)
    assert sdp.kmeans(release, 15, starts=30).cost <= sdp.kmeans(release, 15, starts=1).cost


def test_the_statement_travels_along():
    found = sdp.kmeans(release_of(), 2)
    assert "NOT PRIVATE" in repr(found)
    frame = found.to_geodataframe()
    assert "NOT PRIVATE" in frame.attrs["privacy"]
    assert frame["count"].tolist() == found.counts.tolist()
    assert frame.geometry.x.tolist() == found.centres[:, 0].tolist()


def test_a_region_keeps_centres_of_even_maps_inside():
    import shapely

    domain = sdp.Domain((0, 0, 1, 1), region=shapely.box(0, 0, 0.5, 1))
    release = sdp.publish(records(), domain, epsilon=1)
    assert sdp.kmeans(release, 5).centres[:, 0].max() < 0.55


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ({"k": 0}, "k is 0"),
        ({"k": 2.5}, "k is 2.5"),
        ({"k": 2, "starts": 0}, "starts is 0"),
        ({"k": 2, "seed": -1}, "seed is -1"),
        ({"k": 5}, "only 4 parts of the map"),
    ],
)
def test_wrong_values_are_refused(words, complaint):
    grid = sdp.Domain((0, 0, 1, 1))
    release = sdp.Quadtree(height=1).release(records(), grid, epsilon=100)
    if words["k"] == 5:
        release = sdp.Flat((256, 256)).release([[0.1, 0.1], [0.3, 0.3], [0.5, 0.6], [0.9, 0.9]] * 50, grid, epsilon=100)
    with pytest.raises(ParameterError, match=complaint):
        sdp.kmeans(release, **words)


def test_only_maps_have_clusters():
    with pytest.raises(ParameterError, match="release is a ndarray"):
        sdp.kmeans(records(), 3)


def test_clusters_of_an_adaptive_tree_are_nearly_those_of_the_records():
    # The records' own cost, by Lloyd's algorithm on the records, is not beaten by more than a tenth at ε = 0.1.
    xy = records()
    found = sdp.kmeans(release_of(epsilon=0.1), 3)
    cost = ((xy[:, None] - found.centres) ** 2).sum(axis=2).min(axis=1).mean()
    best = ((xy[:, None] - TOWNS) ** 2).sum(axis=2).min(axis=1).mean()
    assert cost < 1.1 * best
