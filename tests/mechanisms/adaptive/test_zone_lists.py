"""Lists of zones: the frame of the listed ones, sums over them, and promises that hold."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.errors import ParameterError
from spatialdp.mechanisms.adaptive.sparse import Sparse
from spatialdp.mechanisms.adaptive.zone_lists import listed_counts, listed_zones
from spatialdp.privacy.noise.laws import Law, NoiseLaw
from tests.audit.replay import replay
from tests.helpers.sources import ZeroNoise
from tests.helpers.zone_cases import FRAMES, ZONE_PERSONS, ZoneSetting

matplotlib.use("Agg")
CODES = [f"{state}{county:02d}{tract:03d}" for state in "ABCD" for county in range(20) for tract in range(100)]
TRACTS = sdp.Zones.from_codes(CODES, None, {"state": 1, "county": 3, "tract": 6}, name="tracts")
LAW = NoiseLaw(Law.DISCRETE_LAPLACE, 4)


class Still(ZeroNoise):
    """No noise, and no empty zone passes."""

    def random_bytes(self, count):
        return bytes(count)


@dataclass(frozen=True)
class ListSetting(ZoneSetting):
    """A list of zones in the frames of the audit."""

    @property
    def mechanism(self):
        return Sparse(false=2) if self.case == "fresh" else Sparse(false=0.5, remeasure=0)


@pytest.mark.parametrize("frame", ["regular", "lopsided"])
@pytest.mark.parametrize("seed", range(6))
def test_frame_of_some_leaves_has_them_and_the_zones_above(frame, seed):
    zones, random = FRAMES[frame], np.random.default_rng(seed)
    leaves = np.flatnonzero(random.random(zones.n_leaves) < 0.4)
    frame = listed_zones(zones, leaves)
    assert frame.codes[frame.leaf_nodes].tolist() == zones.codes[zones.leaf_nodes[leaves]].tolist() or not leaves.size
    parents = {code: zones.codes[zones.shape.parent[node]] for node, code in enumerate(zones.codes) if node}
    for node in range(1, frame.shape.n_nodes):
        assert parents[frame.codes[node]] == frame.codes[frame.shape.parent[node]]
    assert frame.levels == zones.levels[: len(frame.levels)]
    if leaves.size:
        assert frame.geometry.tolist() == zones.geometry[leaves].tolist()
        assert frame.domain == zones.domain


def test_counts_of_zones_above_are_sums_over_listed_leaves():
    leaves = np.array([0, 3, 150, 2500])
    values = np.array([30.0, 20.0, -4.0, 60.0])
    counts = listed_counts(TRACTS, leaves, values, LAW, biased=False)
    release = sdp.ZoneRelease.of(counts, Sparse().prepare(TRACTS, epsilon=1).statement)
    codes = [CODES[leaf] for leaf in leaves]
    assert release.answer(codes).tolist() == values.tolist()
    assert release.answer("A00") == 50
    assert release.answer("A") == 46
    assert release.total == 106
    low, high = np.array([release.interval(code) for code in (codes[0], "A")]).T
    widths = high - low
    assert widths[1] > widths[0]


def test_empty_list_is_known_to_hold_nothing(tmp_path):
    release = Sparse(false=1e-9).release(sdp.Codes([]), TRACTS, epsilon=1)
    assert release.total == 0
    assert release.interval("all zones").tolist() == [0, 0]
    release.save(tmp_path / "empty.parquet")
    assert sdp.load(tmp_path / "empty.parquet").total == 0


def test_hot_zones_are_listed_with_their_counts():
    records = np.repeat(["A00007", "C19099"], [500, 90])
    for mechanism in (Sparse(), Sparse(remeasure=0)):
        release = mechanism.release(sdp.Codes(records), TRACTS, epsilon=1, noise=Still())
        assert dict(zip(["A00007", "C19099"], release.answer(["A00007", "C19099"]), strict=True)) == {
            "A00007": 500,
            "C19099": 90,
        }
        assert release.zones.n_leaves == 2
        assert release.estimate.biased == (mechanism.remeasure == 0)
    with pytest.raises(ParameterError, match="there is no zone"):
        release.answer("B00000")


def test_files_maps_and_statements_say_what_was_searched(tmp_path):
    release = Sparse().release(np.repeat([[0.5, 0.5]], 99, axis=0), FRAMES["regular"], epsilon=1)
    assert release.zones.name == "listed zones"
    parameters = release.privacy.parameters
    assert (parameters["searched"], parameters["threshold"]) == (8, 3.0)
    assert 0 < parameters["expected_false"] <= 1
    caption = release.plot().get_xlabel().replace("\n", " ")
    plt.close("all")
    assert "whose noisy count was at least 3 records" in caption
    for suffix in (".parquet", ".gpkg", ".csv"):
        release.save(tmp_path / f"list{suffix}")
    again = sdp.load(tmp_path / "list.parquet")
    assert again.privacy == release.privacy
    assert again.answer("A") == release.answer("A")
    release.explore(tmp_path / "list.html")


@pytest.mark.parametrize("person", [None, *ZONE_PERSONS], ids=str)
@pytest.mark.parametrize("relation", ["add-remove", "replace"])
@pytest.mark.parametrize("case", ["fresh", "slides"])
def test_neighbours_can_only_be_told_apart_by_what_was_paid_for(case, relation, person, tmp_path):
    for frame in ("regular", "lopsided"):
        setting = ListSetting(case, frame, relation, person, by_code=frame == "regular")
        replay(setting, 6, zlib.crc32(str(setting).encode()), tmp_path, every=3, maps=False)


def test_frames_and_grids_are_not_mixed_up():
    with pytest.raises(ParameterError, match="given for zones"):
        Sparse((4, 4)).check(TRACTS, epsilon=1)
    with pytest.raises(ParameterError, match="neither"):
        Sparse().check(sdp.Domain((0, 0, 1, 1)), epsilon=1)
    with pytest.raises(ParameterError, match=r"give a spatialdp\.Domain"):
        Sparse().check("tracts", epsilon=1)
    plan = Sparse().plan(TRACTS, epsilon=1)
    assert "zones     8,000" in str(plan)
    assert plan.missed is None
