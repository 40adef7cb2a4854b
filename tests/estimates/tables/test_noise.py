"""Moments of sums follow from powers along the axes; `tests/test_table_release.py` checks them through the fit."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.estimates.tables.noise import TableNoise
from spatialdp.space.frames.selection import Selection, everything, of_nodes, select
from spatialdp.transforms.tree_axis import TreeAxis

KINDS = sdp.Categories({"theft": ["burglary", "shoplifting"], "assault": []})
DAYS = sdp.Time("2024-01-06", "2024-01-10", step="1 d", levels=("week",))
HALVES = (Fraction(0), Fraction(1, 2), Fraction(1, 2))


def noise_of(shares=HALVES):
    axes = tuple(TreeAxis(axis.shape, shares, 2) for axis in (DAYS, KINDS))
    rng = np.random.default_rng(1)
    shape = tuple(axis.n_groups for axis in axes)
    return TableNoise(axes, rng.random(shape) + 1, rng.random(shape), 1.0)


def test_nodes_and_their_cells_have_the_same_noise():
    noise = noise_of()
    nodes = of_nodes(DAYS.shape, np.arange(DAYS.shape.n_nodes))
    cells = Selection(nodes.size, nodes.starts, nodes.cells)
    kinds = select(KINDS, ["theft", "assault"])
    for found, wanted in zip(noise.moments([nodes, kinds]), noise.moments([cells, kinds]), strict=True):
        assert found == pytest.approx(wanted)


def test_without_a_tree_noise_comes_in_whole_steps():
    noise = noise_of((Fraction(0), Fraction(0), Fraction(1)))
    selections = [everything(DAYS), everything(KINDS)]
    assert noise.by_cell
    assert noise.in_steps(selections).tolist() == [[True]]
    variance, _ = noise.moments(selections)
    assert variance.item() == pytest.approx(12 * noise.variances.item())
    assert not noise_of().in_steps(selections).any()


def test_mean_variances_of_levels_are_those_of_their_parts():
    noise = noise_of()
    weeks = of_nodes(DAYS.shape, DAYS.parts("week"))
    groups = of_nodes(KINDS.shape, KINDS.parts("groups"))
    assert noise.level_variances()[1, 1] == pytest.approx(noise.moments([weeks, groups])[0].mean())


def test_one_cut_box_takes_whole_steps_from_no_other():
    frame = sdp.Frame(sdp.Domain((0, 0, 2, 1)).grid((2, 1)), kind=sdp.Categories(["a", "b"]))
    noise = sdp.Table().release(sdp.Rows([], kind=[]), frame, epsilon=1).estimate.noise
    asked = frame.select({"box": [(0, 0, 1, 1), (0, 0, 0.5, 1)], "kind": ["a", "b"]})
    assert noise.in_steps(asked).tolist() == [[True, False], [True, False]]
