"""Tables of zones: names, estimates and noise, as the release answers them."""

from __future__ import annotations

import numpy as np
import pytest

from spatialdp.estimates.answers import About
from spatialdp.outputs.zones.tables import node_answers, zone_columns, zone_numbers
from tests.helpers.zone_releases import release_of, zones_of


def test_rows_name_the_level_the_code_and_the_parent():
    release = release_of(zones_of())
    nodes = release.zones.nodes_of(["A", "A1", "A1a", "C"])
    columns = zone_columns(release.estimate, nodes)
    assert columns["level"].tolist() == ["state", "county", "tract", "state"]
    assert columns["zone"].tolist() == ["A", "A1", "A1a", "C"]
    assert columns["parent"].tolist() == ["all zones", "A", "A1", "all zones"]
    assert zone_columns(release.estimate, np.array([0]))["parent"].tolist() == [None]


def test_numbers_are_those_that_the_release_answers():
    release = release_of(zones_of())
    codes = release.zones.codes[1:].tolist()
    numbers = zone_numbers(release.estimate, release.zones.nodes_of(codes), 0.9)
    assert numbers["estimate"] == pytest.approx(release.answer(codes))
    ends = release.interval(codes, 0.9)
    assert np.stack([numbers["lower"], numbers["upper"]], axis=1) == pytest.approx(ends)
    assert numbers["sd"] == pytest.approx(np.sqrt(release.estimate.of_nodes(release.zones.nodes_of(codes)).variance))


def test_intervals_about_noise_may_go_below_zero():
    release = release_of(zones_of())
    nodes = np.arange(release.zones.shape.n_nodes)
    noise = node_answers(release.estimate, nodes, About.NOISE).ends(0.95)
    truth = node_answers(release.estimate, nodes).ends(0.95)
    assert truth == pytest.approx(np.maximum(noise, 0))


def test_biased_releases_have_estimates_alone():
    release = release_of(zones_of()).rounded()
    assert list(zone_numbers(release.estimate, np.arange(3), 0.95)) == ["estimate"]
