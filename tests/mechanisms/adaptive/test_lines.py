"""Split lines: where they fall, and what they cost."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.mechanisms.adaptive.lines import CellLines, TrueLines
from spatialdp.privacy.noise import medians as medians_module
from spatialdp.privacy.noise.source import SeededNoise
from spatialdp.records.counting import count_cells
from spatialdp.records.nodes import Nodes
from spatialdp.records.points import lattice_points
from spatialdp.space.lattice import LATTICE

UNIT = sdp.Domain((0, 0, 1, 1))
RNG = np.random.default_rng(4)
XY = np.clip(np.concatenate([RNG.normal(0.3, 0.03, (600, 2)), RNG.random((200, 2))]), 0, 1)


def test_noisy_mean_and_cell_lines_cost_what_they_say():
    """Both are functions of noisy counts: the worst log-ratio of those over thousands of neighbours, exactly."""
    rng, epsilon = np.random.default_rng(5), Fraction(1)
    grid = UNIT.grid((8, 8))
    worst = {"mean": Fraction(0), "cell": Fraction(0)}
    for _ in range(3000):
        low = int(rng.integers(0, 50))
        high = low + int(rng.integers(2, 2000))
        values = np.sort(rng.integers(low, high, int(rng.integers(0, 20))))
        more = np.sort(np.append(values, rng.choice([low, high - 1, int(rng.integers(low, high))])))
        sums, counts = zip(*(_mean_statistics(v, low, high) for v in (values, more)), strict=True)
        sum_scale, count_scale = 2 * (medians_module._STEPS - 1) / epsilon, 2 / epsilon
        worst["mean"] = max(
            worst["mean"], abs(sums[1] - sums[0]) / sum_scale + abs(counts[1] - counts[0]) / count_scale
        )
        xy = rng.random((5, 2))
        cells = [count_cells(sdp.Points(p), grid) for p in (xy, np.vstack([xy, rng.uniform(-0.1, 1.1, (1, 2))]))]
        worst["cell"] = max(worst["cell"], Fraction(int(np.abs(cells[1] - cells[0]).sum())) * epsilon)
    for found in worst.values():
        assert Fraction(9, 10) * epsilon < found <= epsilon


def _mean_statistics(values, low, high):
    nodes = medians_module._Nodes(values, np.array([0, values.size]), np.array([low]), np.array([high]))
    return int(medians_module._centred_sums(nodes)[0]), values.size


def test_split_lines_do_not_copy_a_coordinate():
    """All records in one place: lines fall around it, differently each time, and boxes always partition the domain."""
    xy = np.full((400, 2), 0.3)
    place = int(0.3 * LATTICE)
    lines = set()
    for seed in range(20):
        tree = sdp.KdTree(1).release(xy, UNIT, epsilon=1, noise=SeededNoise(seed)).estimate.tree
        lines |= set(tree.boxes[1:, [0, 2]].ravel().tolist()) - {0, LATTICE}
    assert len(lines) >= 20
    assert place not in lines


def test_true_lines_halve_and_cell_lines_halve_the_grid():
    x, y = lattice_points(sdp.Points(XY), UNIT)
    nodes = Nodes.root(x, y)
    (line,) = TrueLines().choose(nodes, 0)
    assert abs((x < line).mean() - 0.5) < 0.01
    grid = UNIT.grid((4, 4))
    lines = CellLines(grid, np.array([[0, 0, 0, 8.0]] * 4)).choose(nodes, 0)
    assert lines[0] == pytest.approx(LATTICE * 7 / 8, abs=2)
    empty = CellLines(grid, np.full((4, 4), -3.0)).choose(nodes, 1)
    assert empty[0] == LATTICE // 2
