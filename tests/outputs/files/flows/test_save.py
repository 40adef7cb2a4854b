"""Files of flows: what they hold, and that they are whole or not there."""

from __future__ import annotations

import json

import pandas as pd
import pytest

import spatialdp as sdp
from spatialdp.errors import ParameterError
from tests.flows.test_release import released


@pytest.mark.parametrize("case", ["flows", "flows, listed", "flows, slides"])
def test_pairs_are_comma_separated_for_other_tools(case, tmp_path):
    release = released(case, epsilon=1, pairs=[3] * 99)
    release.save(tmp_path / "flows.csv")
    rows = pd.read_csv(tmp_path / "flows.csv", dtype={"origin": str, "destination": str})
    assert list(rows.columns)[:3] == ["origin", "destination", "flow"]
    assert rows["flow"].tolist() == pytest.approx(release.estimate.values.tolist())
    statement = json.loads((tmp_path / "flows.privacy.json").read_text())
    assert statement["epsilon"] == 1
    assert statement["in_words"]


@pytest.mark.parametrize("name", ["flows.tif", "flows.gpkg", "flows.geojson"])
def test_maps_of_places_are_refused(name, tmp_path):
    with pytest.raises(ParameterError, match=r"flows are between places; save them as \.parquet"):
        released().save(tmp_path / name)
    with pytest.raises(ParameterError, match="leave shape out"):
        released().save(tmp_path / "flows.csv", shape=(4, 4))
    assert not list(tmp_path.iterdir())


def test_existing_files_are_kept_unless_asked(tmp_path):
    path = tmp_path / "flows.parquet"
    released().save(path)
    before = path.read_bytes()
    with pytest.raises(FileExistsError):
        released("flows, listed").save(path)
    assert path.read_bytes() == before
    released("flows, listed").save(path, overwrite=True)
    assert sdp.load(path).estimate.listing is not None
