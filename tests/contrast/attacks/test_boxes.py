"""What one map gives away: planted groups with one value, and coordinates at edges."""

from __future__ import annotations

import numpy as np

from spatialdp import contrast


def test_homogeneous_groups_are_counted_with_their_records():
    places = np.column_stack([np.arange(40.0), np.zeros(40)])
    secrets = ["flu"] * 20 + ["flu", "cold"] * 10
    groups = contrast.Mondrian(5).group(places, secrets)
    found = contrast.homogeneity(groups)
    assert (found.groups, found.records, found.commonest) == (0.5, 0.5, 1.0)


def test_mixed_groups_tell_nothing():
    groups = contrast.Mondrian(2).group([[0.0, 0], [1, 1]], ["flu", "cold"])
    found = contrast.homogeneity(groups)
    assert (found.groups, found.records, found.commonest) == (0.0, 0.0, 0.0)


def test_printed_coordinates_are_those_of_a_slow_count():
    rng = np.random.default_rng(1)
    places = rng.integers(0, 50, (300, 2)).astype(float)
    groups = contrast.Mondrian(7).group(places, np.zeros(300))
    edges = []
    for number in range(300):
        own = places[groups.group == groups.group[number]]
        ends = [{own[:, axis].min(), own[:, axis].max()} for axis in (0, 1)]
        edges.append([places[number, axis] in ends[axis] for axis in (0, 1)])
    printed = contrast.printed_coordinates(groups)
    assert printed.any_column == np.mean([any(each) for each in edges])
    assert printed.all_columns == np.mean([all(each) for each in edges])


def test_smaller_groups_print_more():
    places = np.random.default_rng(2).random((3000, 2))
    shares = [
        contrast.printed_coordinates(contrast.Mondrian(k).group(places, np.zeros(3000))).any_column for k in (2, 5, 30)
    ]
    assert shares[0] > shares[1] > shares[2] > 0


def test_boxes_without_area_are_seen():
    groups = contrast.Mondrian(2).group([[0.0, 0], [0, 5], [3, 0], [9, 9]], list("aabb"))
    assert contrast.printed_coordinates(groups).flat == 0.5
