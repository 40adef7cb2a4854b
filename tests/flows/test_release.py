"""Released flows: what they answer by name, what they refuse, and what else they publish."""

from __future__ import annotations

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.errors import ReleaseError, SpatialDPError
from tests.helpers.flow_cases import FlowSetting

SETTING = FlowSetting("flows", "zones", "add-remove")


def released(case="flows", epsilon=1000, pairs=(3, 3, 3, 14), frame="zones"):
    setting = FlowSetting(case, frame, "add-remove")
    return setting.mechanism.release(setting.records(list(pairs)), setting.domain, epsilon=epsilon)


def test_lists_of_the_query_are_dimensions_of_the_answer():
    release = released()
    assert isinstance(release.answer(), float)
    assert isinstance(release.answer(origin="A", destination="B"), float)
    assert release.answer(origin=["A", "B"]).shape == (2,)
    assert release.answer(destination=["A"]).shape == (1,)
    assert release.answer(origin=["A", "B"], destination=["A", "B", "C"]).shape == (2, 3)
    assert release.answer(origin="A", destination=["A", "B", "C"]).shape == (3,)
    assert release.interval(origin=["A", "B"], destination=["A", "B", "C"]).shape == (2, 3, 2)
    assert release.interval().shape == (2,)


def test_codes_of_all_levels_are_known_and_others_are_refused():
    release = released()
    assert release.answer(origin="A") == pytest.approx(release.answer(origin=("A1", "A2")), abs=1e-6)
    with pytest.raises(SpatialDPError, match="nowhere"):
        release.answer(origin="nowhere")


def test_listed_share_speaks_of_released_numbers():
    assert released().listed_share is None
    assert released("flows, listed", pairs=[3] * 900).listed_share == pytest.approx(1, abs=0.05)
    assert released("flows, listed", pairs=[]).listed_share == pytest.approx(0, abs=0.1)


def test_biased_flows_have_no_intervals():
    for release in (released().rounded(), released().non_negative(), released("flows, slides")):
        with pytest.raises(ReleaseError, match="the flows have no intervals"):
            release.interval(origin="A")
        assert list(release.to_frame().columns) == ["origin", "destination", "flow"]
        assert list(release.places().columns) == ["place", "begin", "end"]


def test_rows_have_what_is_answered():
    release = released(epsilon=1)
    rows = release.to_frame(level=0.5)
    one = rows.iloc[17]
    assert release.answer(origin=one["origin"], destination=one["destination"]) == pytest.approx(one["flow"])
    assert release.interval(origin=one["origin"], destination=one["destination"], level=0.5) == pytest.approx(
        [one["low"], one["high"]]
    )
    place = release.places().iloc[5]
    assert release.answer(origin=place["place"]) == pytest.approx(place["begin"])
    assert release.interval(destination=place["place"]) == pytest.approx([place["end_low"], place["end_high"]])
    assert rows.attrs["privacy"]["epsilon"] == 1


@pytest.mark.parametrize(
    "question", ["answer_polygons", "interval_polygons", "uniformity", "to_xarray", "explore", "sample"]
)
def test_questions_about_a_map_are_refused(question):
    with pytest.raises(ReleaseError, match="flows are between places"):
        getattr(released(), question)(1)


@pytest.mark.parametrize("case", ["flows", "flows, listed", "flows, slides"])
def test_a_certificate_says_what_was_published_and_what_is_missing(case, tmp_path):
    release = released(case, epsilon=1, pairs=[3] * 90)
    release.certificate(tmp_path / "page.md")
    page = (tmp_path / "page.md").read_text()
    listed = case != "flows"
    assert ("listed pairs of 12 places" in page) == listed
    assert ("of all others nothing is said" in page) == (case == "flows, listed")  # biased ones say less
    assert ("144 pairs of 12 places" in page) != listed
    assert ("the trips that begin, or end, in one place" in page) != (case == "flows, slides")


def test_plots_take_no_options_of_maps():
    with pytest.raises(ReleaseError, match="flows are between places"):
        released().plot(view="uncertainty")


def test_words_say_how_many_pairs_of_how_many_places():
    assert repr(released()).startswith("<FlowRelease of 144 pairs (all) of 12 places: ε = 1000")
    assert "pairs (listed) of 12 places" in repr(released("flows, listed"))
    assert released().frame.space.size == 12


def test_flows_are_directed():
    trips = sdp.Trips([[0.1, 0.1]] * 30, [[0.9, 0.9]] * 30)
    release = sdp.Flows().release(trips, sdp.Domain((0, 0, 1, 1)).grid((2, 2)), epsilon=100)
    there, back = ((0, 0, 0.5, 0.5), (0.5, 0.5, 1, 1)), ((0.5, 0.5, 1, 1), (0, 0, 0.5, 0.5))
    assert np.round([release.answer(origin=a, destination=b) for a, b in (there, back)]).tolist() == [30, 0]
