"""What the explorer's page is given: all numbers of a release, packed, and nothing that it does not need."""

from __future__ import annotations

import base64
import json
import zlib

import numpy as np
import pytest

from spatialdp.outputs.explorer.data import estimate_data, packed
from tests.helpers.cases import LARGE, is_consistent, is_grid, is_tree, is_unbiased, select
from tests.helpers.releases import REGION, release_of

KINDS = {"f8": "<f8", "i4": "<i4", "u1": "u1"}


def unpacked(held):
    return np.frombuffer(zlib.decompress(base64.b64decode(held["data"])), dtype=KINDS[held["kind"]])


@pytest.mark.parametrize("kind", KINDS)
def test_arrays_come_back(kind):
    values = np.random.default_rng(1).integers(0, 200, (7, 5))
    assert unpacked(packed(values, kind)).tolist() == values.ravel().tolist()
    assert unpacked(packed(values.T, kind)).tolist() == values.T.ravel().tolist()  # in the order of what is given
    assert unpacked(packed([], kind)).size == 0


@pytest.mark.parametrize("name", select(LARGE, is_grid))
def test_grids_travel_whole(name):
    estimate = release_of(name, REGION).estimate
    data = json.loads(json.dumps(estimate_data(estimate), allow_nan=False))
    assert (data["nx"], data["ny"]) == estimate.grid.shape
    assert np.array_equal(unpacked(data["values"]), estimate.values.ravel())
    mask = estimate.grid.mask.ravel()
    assert np.array_equal(mask, unpacked(data["mask"]) if data["mask"] else np.ones_like(mask))
    assert (data["noise"] is not None) == is_unbiased(LARGE[name])
    assert estimate_data(release_of(name).estimate)["mask"] is None  # all cells, without a region


@pytest.mark.parametrize("name", select(LARGE, is_tree))
def test_trees_travel_whole(name):
    estimate, tree = (release := release_of(name, REGION)).estimate, release.estimate.tree
    data = json.loads(json.dumps(estimate_data(estimate), allow_nan=False))
    assert np.array_equal(unpacked(data["children"]), tree.n_children)
    steps = unpacked(data["boxes"]).reshape(4, -1).T
    boxes = np.zeros_like(steps)
    for node in range(tree.n_nodes):
        boxes[node] = steps[node] + (boxes[tree.parent[node]] if node else 0)
    assert np.array_equal(boxes, tree.boxes)
    values = estimate.leaf_values() if is_consistent(LARGE[name]) else estimate.values
    assert np.array_equal(unpacked(data["values"]), values)
    if is_unbiased(LARGE[name]):
        assert np.array_equal(unpacked(data["variances"]), estimate.noise.variances)
        assert np.array_equal(unpacked(data["kurtosis"]), estimate.kurtosis)
    elif is_consistent(LARGE[name]):
        assert data["variances"] is data["kurtosis"] is data["closed"] is None


def test_an_axis_that_is_the_same_twice_travels_once():
    same, different = (release_of(name).estimate for name in ("tailored, gaussian", "tailored"))
    assert estimate_data(same)["noise"]["y"] is None
    assert estimate_data(different)["noise"]["y"] is not None


def test_tables_of_unevenness_are_small():
    for name in ("flat", "quadtree", "hierarchy", "tailored"):
        tables = estimate_data(release_of(name).estimate)["uneven"]
        assert len(json.dumps(tables)) < 2000
        assert tables["scales"][-1]["side"] == 1
        assert 0 < tables["within"] <= 1


def test_trees_of_unequal_leaves_have_their_own_tables():
    estimate = release_of("kd").estimate
    tables = estimate_data(estimate)["uneven"]
    assert tables["shape"] is None
    assert len(tables["within"]) == estimate.tree.height + 1
    assert len(tables["families"]) == len(tables["half"]) == estimate.tree.height
    assert unpacked(tables["variances"]).size == estimate.tree.n_nodes


def test_inconsistent_trees_take_their_fit_along():
    raw, fitted = (estimate_data(release_of(name).estimate)["uneven"] for name in ("quadtree, raw", "quadtree"))
    assert unpacked(raw["values"]).size == 1024
    assert fitted["values"] is None


def test_biased_releases_have_no_tables():
    assert estimate_data(release_of("flat, truncated").estimate)["uneven"] is None
    assert estimate_data(release_of("quadtree").non_negative().estimate)["uneven"] is None
