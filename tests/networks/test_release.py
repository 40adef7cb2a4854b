"""Releases of networks: answers of the model, measured counts, samples, and what is refused."""

from __future__ import annotations

import pytest

import spatialdp as sdp
from spatialdp.errors import ParameterError, ReleaseError
from tests.mechanisms.adaptive.networks.test_privbayes import FRAME, records


def released(epsilon=1, seed=1):
    return sdp.PrivBayes().release(records(), FRAME, epsilon=epsilon, noise=sdp.SeededNoise(seed))


def test_answers_are_sums_of_the_model():
    release = released()
    kinds = release.answer(kind=["theft", "fraud", "other"])
    assert kinds.sum() == pytest.approx(release.answer()) == pytest.approx(release.total)
    assert release.marginal(kind="categories")["estimate"].tolist() == pytest.approx(kinds.tolist())
    assert list(release.to_frame().columns) == ["box", "kind", "day", "estimate"]
    assert release.non_negative().answer() == release.answer()


def test_measured_counts_have_intervals_and_names():
    release = released()
    table = release.measured("kind")
    names = ["kind", *(name for name, _ in release.network["kind"])]
    assert list(table.columns) == [*names, "estimate", "lower", "upper", "sd"]
    assert (table["upper"] - table["lower"]).nunique() == 1
    assert table.attrs["privacy"]["mechanism"] == "privbayes"
    assert len(table) == release.estimate.tables[[f.child for f in release.estimate.families].index("kind")].size
    west = table[(table["kind"] == "theft") & table["box"].str.startswith(("0,", "1,"))]["estimate"].sum()
    assert west == pytest.approx(1800, abs=200)
    with pytest.raises(ParameterError, match="name is 'colour', which is no axis"):
        release.measured("colour")


def test_what_a_model_cannot_know_is_refused():
    release = released()
    with pytest.raises(ReleaseError, match="there are no intervals"):
        release.interval(kind="theft")
    with pytest.raises(ReleaseError, match="rounding would lose them"):
        release.rounded()
    with pytest.raises(ReleaseError, match="a table has a map"):
        release.to_geodataframe()


def test_maps_of_a_model_have_its_answers_and_no_intervals():
    release = released()
    fraud = release.at(kind="fraud")
    assert fraud.total == pytest.approx(release.answer(kind="fraud"))
    assert fraud.answer((0, 0, 1, 1)) == pytest.approx(release.answer(kind="fraud", box=(0, 0, 1, 1)))
    with pytest.raises(ReleaseError, match="its errors do not average out"):
        fraud.interval((0, 0, 1, 1))


def test_samples_follow_the_model():
    release = released(epsilon=20)
    drawn = release.sample(20_000, noise=sdp.SeededNoise(5))
    assert drawn.attrs["privacy"]["mechanism"] == "privbayes"
    shares = drawn.groupby(["kind", "day"]).size() / len(drawn)
    for (kind, day), share in shares.items():
        assert share == pytest.approx(release.answer(kind=kind, day=day) / release.total, abs=0.02)
    assert len(release.sample()) == round(release.total)


def test_words_say_what_answers_are():
    release = sdp.PrivBayes().release(records(), FRAME, epsilon=1)
    assert "those of a model" in release.in_words()
    assert repr(release).startswith("<NetworkRelease of ")
    assert "3 tables: ε = 1 (add-remove one record), privbayes" in repr(release)
