"""Complete files of flows: they come back byte by byte, and forged ones are refused."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.outputs.files.flows.complete import flow_columns, flow_header, rebuild_flows
from tests.flows.test_release import released


@pytest.mark.parametrize("frame", ["zones", "region"])
@pytest.mark.parametrize("case", ["flows", "flows, listed", "flows, slides"])
def test_files_come_back(case, frame, tmp_path):
    release = released(case, epsilon=1, pairs=[3] * 99 + [5] * 40, frame=frame)
    release.save(tmp_path / "one.parquet")
    again = sdp.load(tmp_path / "one.parquet")
    assert again.privacy == release.privacy
    assert repr(again) == repr(release)
    assert again.to_frame().equals(release.to_frame())
    assert again.places().equals(release.places())
    assert again.answer() == release.answer()
    if frame == "region":  # zones come back without their areas
        again.save(tmp_path / "two.parquet")
        assert (tmp_path / "one.parquet").read_bytes() == (tmp_path / "two.parquet").read_bytes()


def test_complete_files_are_lines_for_a_gis(tmp_path):
    import geopandas

    release = released(frame="region")
    release.save(tmp_path / "flows.parquet")
    lines = geopandas.read_parquet(tmp_path / "flows.parquet")
    apart = lines[lines["origin"] != lines["destination"]]
    assert set(apart.geom_type) == {"LineString"}
    assert lines.geometry[lines["origin"] == lines["destination"]].isna().all()
    assert apart["estimate"].tolist() == release.to_geodataframe()["flow"].tolist()


def forged(case, change):
    estimate = released(case, epsilon=1, pairs=[3] * 99 + [5] * 99, frame="region").estimate
    header, columns = copy.deepcopy(flow_header(estimate)), dict(flow_columns(estimate))
    change(header, columns)
    return rebuild_flows(header, columns, estimate.frame.domain)


CHANGES = {
    "a margin is missing": lambda header, _: header["margins"]["origins"].pop(),
    "a margin is empty": lambda header, _: header["margins"].update(origins=[]),
    "a margin is no number": lambda header, _: header["margins"]["origins"].__setitem__(0, float("nan")),
    "an estimate is no number": lambda _, columns: columns.update(estimate=columns["estimate"] * np.inf),
    "a place is unknown": lambda _, columns: columns.update(origin=np.roll(columns["origin"] + "0", 1)),
    "the order is another": lambda _, columns: columns.update({k: v[::-1] for k, v in columns.items()}),
    "a law that is none": lambda header, _: header["noise"]["pair"].update(variance=-1.0),
    "a threshold that is none": lambda header, _: header.update(listing={"threshold": "x", "false": 1}),
    "places are numbers": lambda _, columns: columns.update(origin=np.arange(columns["origin"].size)),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("case", ["flows", "flows, listed"])
def test_forged_files_are_refused(case, change):
    with pytest.raises((ValueError, KeyError, TypeError)):
        forged(case, change)
    forged(case, lambda *_: None)


def test_all_pairs_must_be_there_if_none_are_listed():
    with pytest.raises(ValueError, match="not all pairs"):
        forged("flows, listed", lambda header, _: header.update(listing=None))


def test_damaged_files_are_noticed(tmp_path):
    path = tmp_path / "flows.parquet"
    released().save(path)
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 1
    path.write_bytes(bytes(content))
    with pytest.raises(sdp.SpatialDPError):
        sdp.load(path)
