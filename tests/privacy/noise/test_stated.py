"""The noise that statements name: exact, in units of what is measured, and read back as it was written."""

from __future__ import annotations

from fractions import Fraction

import pytest

from spatialdp._support.json_values import with_exact
from spatialdp.privacy.noise.laws import Law, NoiseLaw
from spatialdp.privacy.noise.stated import StatedNoise, stated, stated_from_json


def test_scales_are_in_units_and_variances_in_units_squared():
    laplace = StatedNoise.of([NoiseLaw(Law.LAPLACE, Fraction(2048), 1024)])
    gaussian = StatedNoise.of([NoiseLaw(Law.GAUSSIAN, Fraction(2048), 1024)])
    assert (laplace.least, laplace.most, laplace.steps) == (2, 2, 1024)
    assert (gaussian.least, gaussian.symbol) == (Fraction(2048, 1024**2), "σ²")


def test_several_laws_give_the_least_and_the_largest_parameter():
    noise = StatedNoise.of(NoiseLaw(Law.DISCRETE_LAPLACE, Fraction(scale)) for scale in (3, 1, 2))
    assert (noise.least, noise.most) == (1, 3)
    assert str(noise) == "discrete Laplace, t from 1 to 3"


def test_steps_without_a_law_are_left_out():
    assert list(stated({"counts": NoiseLaw(Law.GAUSSIAN, Fraction(1, 3)), "root": None})) == ["counts"]


@pytest.mark.parametrize("law", Law)
def test_reading_gives_back_what_was_written(law):
    noise = StatedNoise(law, Fraction(1, 3), Fraction(10, 3), 1024)
    assert stated_from_json({"counts": with_exact(noise.members)}) == {"counts": noise}


@pytest.mark.parametrize(
    "change",
    [
        {"law": "cauchy"},
        {"law": 1},
        {"steps": 0},
        {"steps": 1.5},
        {"least": 0.0, "least_exact": "0"},
        {"least": 4.0, "least_exact": "4"},
        {"most_exact": "5"},
        {"most": True, "most_exact": "1"},
    ],
)
def test_altered_values_are_refused(change):
    sound = with_exact(StatedNoise(Law.LAPLACE, Fraction(1), Fraction(2)).members)
    with pytest.raises((ValueError, TypeError)):
        stated_from_json({"root": sound, "counts": sound | change})
