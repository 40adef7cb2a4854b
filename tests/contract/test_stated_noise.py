"""What statements say of their noise is what releases draw: no more, no less, for every kind of release."""

from __future__ import annotations

from unittest import mock

import pytest

import spatialdp as sdp
from spatialdp.privacy.noise.laws import Law, NoiseLaw
from spatialdp.privacy.noise.stated import StatedNoise
from spatialdp.privacy.statement import Privacy
from tests.helpers.cases import CASES, DOMAINS, possible, terms
from tests.helpers.certificates import RELEASES, running_release

POINTS = [[0.1, 0.2], [0.6, 0.7], [0.61, 0.7]]
# Lists draw the noise of their choice through `privacy.noise.filter`, so not from a law.
FILTERED = {"choice of the listed cells", "choice of the listed pairs"}


def drawn_by(release):
    """The release, and the noise that it drew from laws."""
    drawn = set()
    add_to = NoiseLaw.add_to

    def recorded(law, counts, noise):
        drawn.add(StatedNoise.of([law]))
        return add_to(law, counts, noise)

    with mock.patch.object(NoiseLaw, "add_to", recorded):
        return release(), drawn


def is_within(one, noise):
    return one.law is noise.law and noise.least <= one.least <= noise.most and one.steps == noise.steps


def check(release, drawn):
    said = release.privacy.noise
    assert drawn
    assert all(any(is_within(each, noise) for noise in said.values()) for each in drawn)
    for step, noise in said.items():
        possibly_unused = step in FILTERED or "second" in step or release.privacy.parameters.get("stop") is not None
        assert possibly_unused or any(is_within(each, noise) for each in drawn), step
    assert Privacy.from_json(release.privacy.to_json()).noise == said


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
@pytest.mark.parametrize("case", CASES)
def test_maps_draw_the_noise_that_they_state(case, relation):
    if not possible(case, "whole", relation):
        pytest.skip("the mechanism refuses these terms")
    mechanism = CASES[case]
    release, drawn = drawn_by(lambda: mechanism.release(POINTS, DOMAINS["whole"], **terms(mechanism, relation)))
    check(release, drawn)


@pytest.mark.parametrize("name", [*RELEASES, "running"])
def test_releases_of_every_kind_draw_the_noise_that_they_state(name):
    check(*drawn_by(running_release if name == "running" else RELEASES[name]))


def test_trajectories_draw_the_noise_that_they_state():
    times = ["2024-01-01 08:00", "2024-01-01 08:05"]
    tracks = sdp.Tracks([[0.1, 0.1], [0.4, 0.2]], tid=[1, 1], time=times)
    check(*drawn_by(lambda: sdp.Trajectories().release(tracks, DOMAINS["whole"], epsilon=1)))


def test_noise_of_another_width_is_noticed():
    release, drawn = drawn_by(RELEASES["grid"])
    one = next(iter(drawn))
    with pytest.raises(AssertionError):
        check(release, {StatedNoise(Law.DISCRETE_LAPLACE, one.least * 4 / 5, one.most * 4 / 5)})


def test_plans_state_the_noise_of_the_release():
    mechanism, domain = sdp.Quadtree(height=2, stop=5), DOMAINS["whole"]
    plan, release = mechanism.plan(domain, epsilon=1), mechanism.release(POINTS, domain, epsilon=1)
    assert plan.noise == release.privacy.noise
    assert "second counts at depth 0" in plan.noise
