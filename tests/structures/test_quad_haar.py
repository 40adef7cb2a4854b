"""The quadtree wavelet as a structure: groups, the way there and back, and the noise that it states."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from spatialdp.privacy.neighbours import Neighbours
from spatialdp.privacy.noise.laws import Law, NoiseLaw
from spatialdp.space.domain import Domain
from spatialdp.structures.quad_haar import QuadtreeWavelet
from spatialdp.transforms.axis import sample_intervals

SHAPES = [(1, 1), (4, 4), (5, 3), (2, 9)]
every_shape = pytest.mark.parametrize("shape", SHAPES)


def structure_of(shape):
    return QuadtreeWavelet(Domain((0, 0, 1, 1)).grid(shape))


@every_shape
def test_counts_come_back_from_their_coefficients(shape):
    structure = structure_of(shape)
    counts = np.random.default_rng(1).integers(0, 99, shape[::-1])
    parts = list(structure.measure(counts))
    assert len(parts) == len(structure.groups) == len(set(structure.groups))
    assert parts[0].item() == counts.sum()
    laws = [NoiseLaw(Law.GAUSSIAN, Fraction(1))] * len(parts)
    assert np.array_equal(structure.fit([part.astype(float) for part in parts], laws), counts)


@every_shape
def test_a_record_is_in_one_coefficient_of_each_group(shape):
    structure = structure_of(shape)
    for cell in range(shape[0] * shape[1]):
        unit = np.bincount([cell], minlength=shape[0] * shape[1]).reshape(shape[::-1])
        for group, part in enumerate(structure.measure(unit)):
            assert np.abs(part).sum() == structure.sensitivity(group, Neighbours.ADD_REMOVE).l1 == 1


@every_shape
def test_mean_squares_are_means_over_all_boxes(shape):
    structure = structure_of(shape)
    x, y = (sample_intervals(size) for size in shape)
    along_x, along_y = np.meshgrid(np.arange(x.start.size), np.arange(y.start.size))
    lines_x, lines_y = structure.grid.x_lines, structure.grid.y_lines
    starts = lines_x[np.rint(x.start).astype(int)], lines_y[np.rint(y.start).astype(int)]
    stops = lines_x[np.rint(x.stop).astype(int)], lines_y[np.rint(y.stop).astype(int)]
    boxes = np.stack([starts[0][along_x], starts[1][along_y], stops[0][along_x], stops[1][along_y]], axis=-1).reshape(
        -1, 4
    )
    laws = [NoiseLaw(Law.DISCRETE_LAPLACE, Fraction(2 + group)) for group in range(len(structure.groups))]
    expected = structure.blank(laws).moments(boxes)[0].mean()
    assert structure.mean_squares() @ [law.variance for law in laws] == pytest.approx(expected)
