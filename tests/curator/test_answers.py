"""Do answers say how far off they may be, and that they are not private if they are not?"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.curator.answers import LawNoise, NoInterval
from spatialdp.errors import ParameterError, ReleaseError
from spatialdp.privacy.noise.laws import Law, NoiseLaw
from tests.helpers.curators import DOMAIN, opened, rehearsing


@pytest.mark.parametrize("scale", [Fraction(1, 2), 1, 10, Fraction(333, 7), 1000])
@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.999])
def test_half_widths_of_laplace_noise_are_the_least_that_cover(scale, level):
    """The exact law: P(|X| > h) = 2 a^(h + 1) / (1 + a)."""
    a = float(np.exp(-1 / float(scale)))
    width = LawNoise(NoiseLaw(Law.DISCRETE_LAPLACE, Fraction(scale))).half_width(level)
    beyond = 2 * a ** (np.array([width, width - 2]) + 1) / (1 + a)
    assert width == round(width)
    assert beyond[0] <= 1 - level + 1e-12
    assert beyond[1] > 1 - level or width < 2


def test_one_answer_is_a_number_and_many_are_an_array_that_cannot_be_changed():
    curator = rehearsing([[1, 1]])
    one, many = curator.count(epsilon=1), curator.counts([(0, 0, 1, 1)] * 3, epsilon=1)
    assert isinstance(one.values, float)
    assert one.interval().shape == (2,)
    assert many.interval(0.5).shape == (3, 2)
    assert not many.values.flags.writeable


def test_intervals_of_counts_do_not_go_below_zero():
    ends = rehearsing([]).counts([(0, 0, 1, 1)] * 50, epsilon=0.1).interval()
    assert ends.min() == 0
    assert (ends[:, 0] <= ends[:, 1]).all()


def test_repr_shows_what_was_released_and_the_promise(tmp_path):
    curator = sdp.Curator([[1, 1]] * 500, DOMAIN, opened(tmp_path))
    one, many = curator.count(epsilon=0.5), curator.counts([(0, 0, 1, 1)] * 30, epsilon=0.5)
    assert repr(one).startswith(f"<{one.values:,.6g} ± 6: ε = 0.5 (add-remove one record), count")
    assert repr(many).startswith("<30 answers: ")
    assert "30 answers in all" in many._repr_html_()
    assert "NOT PRIVATE" not in many._repr_html_()
    assert f"{one.values:,.6g} ± 6" in one._repr_html_()
    rehearsed = rehearsing([[1, 1]]).count(epsilon=1)
    assert "NOT PRIVATE" in repr(rehearsed)
    assert "NOT PRIVATE" in rehearsed._repr_html_()


def test_levels_are_checked():
    with pytest.raises(ParameterError, match="level"):
        rehearsing([]).count(epsilon=1).interval(1.5)


def test_no_interval_says_why():
    with pytest.raises(ReleaseError, match="because"):
        NoInterval("because").ends(np.zeros(1), 0.9)
