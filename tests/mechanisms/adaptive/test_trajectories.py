"""The mechanism of trajectories: parameters, plans, the choice of a system, and what comes out."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.errors import ParameterError, PointsError
from spatialdp.mechanisms.adaptive.trajectories import CHOICE, SHARES, _chosen
from spatialdp.privacy.noise.source import SeededNoise
from spatialdp.space.paths.systems import WHOLE
from tests.helpers.trajectory_cases import DOMAIN, TrajectorySetting, tracks_of


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"step": 0}, "step is 0"),
        ({"step": Fraction(1, 3)}, "step is"),
        ({"step": 10**8 + 1}, "from 1e-6 to 1e8 seconds"),
        ({"longest": 0}, "longest is 0"),
        ({"ends": 9}, "ends is 9"),
        ({"systems": ()}, "different levels"),
        ({"systems": (4, 4)}, "different levels"),
        ({"systems": (2,)}, "systems is 2"),
    ],
)
def test_wrong_parameters_are_refused(parameters, message):
    with pytest.raises(ParameterError, match=message):
        sdp.Trajectories(**parameters)


def test_shares_are_the_whole_and_one_system_needs_no_choice():
    assert sum(SHARES.values()) == 1
    one = sdp.Trajectories(systems=5).plan(DOMAIN, epsilon=2)
    many = sdp.Trajectories(systems=(6, 4)).plan(DOMAIN, epsilon=2)
    assert CHOICE not in one.budget
    assert many.budget[CHOICE] == 2 * SHARES[CHOICE] > 0
    assert sum(one.budget.values()) == sum(many.budget.values()) == 2
    assert sdp.Trajectories(systems=[6, 4]).systems == (4, 6)


def test_a_plan_names_costs_and_errors():
    text = str(sdp.Trajectories().plan(DOMAIN, epsilon=1, person=sdp.Person(records=5)))
    for part in ("choice of the system", "pair of ends", "kind of turn", "at most 5 records"):
        assert part in text


@pytest.mark.parametrize(("threshold", "side"), [(100, 8), (500, 4)])
def test_the_finest_system_that_stands_out_of_the_noise_is_chosen(threshold, side):
    """About 357 trajectories make each move of 8 x 8 cells, and 714 each of 4 x 4."""
    rng = np.random.default_rng(1)
    walks = [[int(cell), int(cell) + 1] for cell in rng.integers(0, 7, 20_000) + 8 * rng.integers(0, 8, 20_000)]
    setting = TrajectorySetting("trajectories", "add-remove")
    design = replace(setting.design, threshold=threshold * WHOLE, costs={CHOICE: Fraction(1)})
    assert _chosen(setting.paths(walks), design, SeededNoise(1)).side == side


def test_moves_come_out_as_they_are_without_noise():
    release = sdp.Trajectories(longest=9, ends=1, systems=(3,)).release(
        tracks_of([[0, 1, 2, 3]] * 500), DOMAIN, epsilon=1000, noise=SeededNoise(1)
    )
    drawn = release.positions(200, noise=SeededNoise(2))
    assert np.diff(drawn.starts).mean() == pytest.approx(4, abs=0.1)
    assert (np.floor(drawn.y) == 0).mean() > 0.75
    assert (np.floor(drawn.x[drawn.starts[1:] - 1]) > np.floor(drawn.x[drawn.starts[:-1]])).mean() > 0.7


def test_records_of_other_kinds_are_refused():
    with pytest.raises(PointsError, match="need a time and an identifier"):
        sdp.Trajectories().release([[0.5, 0.5]], DOMAIN, epsilon=1)
    with pytest.raises(ParameterError, match=r"spatialdp\.Domain"):
        sdp.Trajectories().release(tracks_of([]), DOMAIN.grid((2, 2)), epsilon=1)
    with pytest.raises(sdp.SpatialDPError, match="delta"):
        sdp.Trajectories().prepare(DOMAIN, epsilon=1, delta=1e-6)
