"""Records drawn from several tables: each attribute follows its own map, and totals are kept."""

from __future__ import annotations

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.errors import ParameterError, ReleaseError
from spatialdp.networks.jointly import sample_jointly
from tests.mechanisms.adaptive.networks.test_privbayes import DAYS, GRID, KINDS, records

FRAMES = [sdp.Frame(GRID, blocks=2, kind=KINDS), sdp.Frame(GRID, blocks=2, day=DAYS)]


def tables(epsilon=50, frames=FRAMES):
    return [sdp.Table().release(records(), frame, epsilon=epsilon, noise=sdp.SeededNoise(3)) for frame in frames]


def test_every_attribute_follows_its_own_map():
    releases = tables()
    drawn = sample_jointly(releases, 30_000, noise=sdp.SeededNoise(1))
    assert list(drawn.columns) == ["x", "y", "kind", "day"]
    scale = len(drawn) / releases[0].total
    for name, release in zip(("kind", "day"), releases, strict=True):
        for value, count in drawn[name].value_counts().items():
            assert count == pytest.approx(release.answer(**{name: value}) * scale, abs=600)
    west = drawn[drawn["x"] < 0.5]
    assert (west["kind"] == "theft").mean() > 0.85
    assert len(drawn.attrs["privacy"]) == 2
    assert len(sample_jointly(releases)) == round(np.mean([release.total for release in releases]))


def test_attributes_of_different_tables_are_independent_within_a_cell():
    drawn = sample_jointly(tables(), 30_000, noise=sdp.SeededNoise(1))
    cell = drawn[(drawn["x"] < 0.25) & (drawn["y"] < 0.25)]
    given = [(cell[cell["kind"] == kind]["day"] == "weekend").mean() for kind in ("theft", "other")]
    assert given[0] == pytest.approx(given[1], abs=0.12)  # in the records: 0.1 and 0.9


def test_places_that_are_empty_in_one_table_get_the_values_of_all():
    one = sdp.Table().release(sdp.Rows([[0.1, 0.1]] * 50, kind=["theft"] * 50), FRAMES[0], epsilon=100)
    other = sdp.Table().release(sdp.Rows([[0.9, 0.9]] * 50, day=["weekend"] * 50), FRAMES[1], epsilon=100)
    drawn = sample_jointly([one, other], 100, noise=sdp.SeededNoise(2))
    assert set(drawn["kind"]) == {"theft"}
    assert set(drawn["day"]) == {"weekend"}
    assert 20 < (drawn["x"] < 0.5).sum() < 80


def test_zones_keep_their_codes_and_grids_may_become_geometries():
    zones = sdp.Zones.from_codes(["a1", "b1"], None, {"code": 2})
    frames = [sdp.Frame(zones, kind=KINDS), sdp.Frame(zones, day=DAYS)]
    rows = sdp.Rows(sdp.Codes(["b1"] * 60), kind=["fraud"] * 60, day=["workday"] * 60)
    drawn = sample_jointly([sdp.Table().release(rows, frame, epsilon=100) for frame in frames])
    assert set(drawn.itertuples(index=False, name=None)) == {("b1", "fraud", "workday")}
    assert sample_jointly(tables(), 5, as_geodataframe=True).geometry.geom_type.tolist() == ["Point"] * 5
    assert sample_jointly(tables(), 0).empty


def test_nonsense_is_refused():
    kinds, _ = tables()
    with pytest.raises(ParameterError, match="empty, or not all of them are tables"):
        sample_jointly([])
    with pytest.raises(ParameterError, match="empty, or not all of them are tables"):
        sample_jointly([kinds, "days"])
    with pytest.raises(ParameterError, match="two tables have the attribute 'kind'"):
        sample_jointly([kinds, kinds])
    finer = sdp.Frame(GRID.domain.grid((8, 8)), day=DAYS)
    with pytest.raises(ParameterError, match="different places"):
        sample_jointly([kinds, *tables(frames=[finer])])
    nothing = sdp.Table().release(sdp.Rows([], day=[]), FRAMES[1], epsilon=1000)
    with pytest.raises(ReleaseError, match="no estimate above zero"):
        sample_jointly([kinds, nothing], 5)
