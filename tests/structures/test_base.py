"""What structures share: the noise of their groups, and the estimate of no records."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from spatialdp.privacy.noise.laws import Law, NoiseLaw
from spatialdp.space.domain import Domain
from spatialdp.structures.base import noise_of, step_of
from spatialdp.structures.cells import CellCounts

NARROW, WIDE = NoiseLaw(Law.DISCRETE_LAPLACE, Fraction(3)), NoiseLaw(Law.GAUSSIAN, Fraction(50))
FINE = NoiseLaw(Law.LAPLACE, Fraction(2048), 1024)


def test_every_group_has_the_noise_of_its_law_and_an_unmeasured_one_none_that_is_finite():
    variances, kurtosis = noise_of([NARROW, None, WIDE])
    assert variances.tolist() == [NARROW.variance, np.inf, WIDE.variance]
    assert kurtosis.tolist() == [NARROW.kurtosis, 0.0, WIDE.kurtosis]


def test_the_step_is_that_of_the_last_group_that_is_measured():
    assert step_of([FINE, NARROW]) == NARROW.step == 1
    assert step_of([NARROW, FINE, None]) == FINE.step == 1 / 1024


def test_the_estimate_of_no_records_has_the_noise_that_any_other_would_have():
    structure = CellCounts(Domain((0, 0, 1, 1)).grid((3, 2)))
    blank, other = structure.blank([NARROW]), structure.estimate(np.arange(6.0).reshape(2, 3), [NARROW])
    assert not blank.values.any()
    boxes = structure.grid.domain.boxes([(0, 0, 1, 1), (0.2, 0.1, 0.5, 0.9)])
    assert np.array_equal(blank.moments(boxes), other.moments(boxes))


def test_by_default_no_group_can_be_done_without():
    structure = CellCounts(Domain((0, 0, 1, 1)).grid((3, 2)))
    assert [structure.needs(group) for group in (-1, 0, 1)] == [False, True, False]
