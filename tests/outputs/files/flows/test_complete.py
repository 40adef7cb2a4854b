"""Complete files of flows: they come back byte by byte, and forged ones are refused."""

from __future__ import annotations

import copy

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
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


LISTED = {
    "a margin is missing": lambda header, _: header["margins"]["origins"].pop(),
    "a margin is empty": lambda header, _: header["margins"].update(origins=[]),
    "a margin is no number": lambda header, _: header["margins"]["origins"].__setitem__(0, float("nan")),
}
CHANGES = {
    "a row is missing": lambda _, columns: columns.update({k: v[:-1] for k, v in columns.items() if k != "origin"}),
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


@pytest.mark.parametrize("change", LISTED.values(), ids=LISTED)
def test_forged_margins_are_refused(change):
    with pytest.raises((ValueError, KeyError, TypeError)):
        forged("flows, listed", change)


def test_the_size_of_a_file_of_all_pairs_does_not_depend_on_the_trips(tmp_path):
    sizes = set()
    for number, pairs in enumerate(([], [3] * 999, list(range(30)))):
        released(epsilon=0.3, pairs=pairs, frame="region").save(tmp_path / f"{number}.parquet")
        sizes.add((tmp_path / f"{number}.parquet").stat().st_size)
    assert len(sizes) == 1


def test_an_empty_list_is_saved_without_lines(tmp_path):
    release = sdp.Flows("listed", false=1e-9).release(
        sdp.Trips(np.zeros((0, 2)), np.zeros((0, 2))), sdp.Domain((0, 0, 1, 1)).grid((2, 2)), epsilon=1
    )
    release.save(tmp_path / "flows.parquet")
    assert sdp.load(tmp_path / "flows.parquet").places().equals(release.places())


def test_all_pairs_must_be_there_if_none_are_listed():
    with pytest.raises(ValueError, match="all pairs"):
        forged("flows, listed", lambda header, _: header.update(listing=None))


def test_damaged_files_are_noticed(tmp_path):
    path = tmp_path / "flows.parquet"
    released().save(path)
    table = pq.read_table(path)
    place = table.column_names.index("estimate")
    values = table["estimate"].to_numpy().copy()
    values[3] += 1
    pq.write_table(
        table.set_column(place, "estimate", pa.array(values)), path, use_dictionary=False, compression="none"
    )
    with pytest.raises(sdp.SpatialDPError, match="altered or damaged"):
        sdp.load(path)
