"""Complete files of networks: they come back byte by byte, and forged ones are refused."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.outputs.files.networks.complete import network_columns, network_header, rebuild_network
from tests.helpers.network_cases import NETWORK_FRAMES, NetworkSetting
from tests.networks.test_release import released


@pytest.mark.parametrize("frame", NETWORK_FRAMES)
def test_files_come_back(frame, tmp_path):
    setting = NetworkSetting("privbayes", frame, "add-remove")
    release = setting.mechanism.release(setting.records([0] * 300), setting.domain, epsilon=5)
    release.save(tmp_path / "one.parquet")
    again = sdp.load(tmp_path / "one.parquet")
    assert again.privacy == release.privacy
    assert repr(again) == repr(release)
    assert again.network == release.network
    assert np.array_equal(again.estimate.values, release.estimate.values)
    again.save(tmp_path / "two.parquet")
    assert (tmp_path / "one.parquet").read_bytes() == (tmp_path / "two.parquet").read_bytes()


def test_rows_of_the_model_are_csv(tmp_path):
    released().save(tmp_path / "model.csv")
    assert (tmp_path / "model.csv").read_text().startswith('"box","kind","day","estimate"')
    assert "those of a model" in (tmp_path / "model.privacy.json").read_text()


def forged(change):
    estimate = released(epsilon=20).estimate
    header, columns = copy.deepcopy(network_header(estimate)), dict(network_columns(estimate))
    change(header, columns)
    return rebuild_network(header, columns, estimate.frame.domain)


def _last(header):
    return header["families"][-1]


CHANGES = {
    "a family is missing": lambda header, _: header["families"].pop(),
    "a family comes twice": lambda header, _: header["families"].append(header["families"][0]),
    "no families": lambda header, _: header.update(families=[]),
    "an unknown parent": lambda header, _: _last(header).update(parents=[["colour", 1]]),
    "a parent of itself": lambda header, _: _last(header).update(parents=[[_last(header)["child"], 1]]),
    "a parent twice": lambda header, _: _last(header).update(parents=[["box", 1], ["box", 1]]),
    "a level that is none": lambda header, _: _last(header).update(parents=[["box", 9]]),
    "the root as a parent": lambda header, _: _last(header).update(parents=[["box", 0]]),
    "parents come later": lambda header, _: header["families"].reverse(),
    "counts are missing": lambda _, columns: columns.update(estimate=columns["estimate"][:-1]),
    "a count is no number": lambda _, columns: columns.update(estimate=columns["estimate"] * np.nan),
    "a number of records that is none": lambda header, _: header.update(counted=float("inf")),
    "a law that is none": lambda header, _: header["noise"]["cell"].update(variance=-1.0),
    "a frame too large": lambda header, _: header["frame"]["axes"].extend(
        {**header["frame"]["axes"][0], "name": f"kind_{'abcdef'[place]}", "names": list("abcdefghijklmnop"),
         "children": [16, *[0] * 16]} for place in range(6)
    ),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_forged_files_are_refused(change):
    with pytest.raises((ValueError, KeyError, TypeError, sdp.SpatialDPError)):
        forged(change)
    forged(lambda *_: None)
