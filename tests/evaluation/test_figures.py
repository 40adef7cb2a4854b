"""Figures of errors say what they show, and their labels can be read."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

mpl.use("Agg")
import matplotlib.pyplot as plt

import spatialdp as sdp
from spatialdp.errors import ParameterError
from spatialdp.evaluation.figures import push_apart, summary

DOMAIN = sdp.Domain((0, 0, 1, 1))


@pytest.fixture(scope="module")
def frame():
    xy = np.random.default_rng(1).random((500, 2))
    queries = [*sdp.workload.area_boxes(DOMAIN, [0.01, 0.1], 20), sdp.workload.random_boxes(DOMAIN, 20)]
    return sdp.evaluate([sdp.Quadtree(4), sdp.KdTree(2, median="true")], xy, DOMAIN, queries, [0.1, 1, 10], 3)


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def labels(ax):
    return {text.get_text() for text in ax.texts}


def test_lines_are_named_at_their_ends_and_told_apart(frame):
    figure = sdp.plot_errors(frame, title="errors")
    assert [ax.get_title() for ax in figure.axes] == list(dict.fromkeys(frame["workload"]))
    assert labels(figure.axes[-1]) == {"quadtree", "kd-tree", "flat", "uniform"}
    assert not any(ax.get_legend() for ax in figure.axes)
    for ax in figure.axes:
        assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
        looks = [(line.get_marker(), line.get_linestyle()) for line in ax.lines]
        assert len(set(looks)) == len(looks) == 4  # also without colour


def test_caption_says_what_has_seen_the_truth(frame):
    said = sdp.plot_errors(frame, "relative_error").get_supxlabel()
    words = " ".join(said.split())
    assert "Private-only" in words
    assert "95 % confidence intervals" in words
    assert "at least by 1." in words  # the floor: 500 records
    assert "for comparison: kd-tree" in words


def test_bands_are_of_trials_and_not_of_workloads(frame):
    """Workloads of different difficulty are no repetitions: an error that every trial has is sure."""
    rows = frame[(frame["metric"] == "rmse") & (frame["mechanism"] == "flat")]
    sure = rows.assign(value=rows["workload"].astype("category").cat.codes * 100.0)
    pooled = summary(sure, ["mechanism", "epsilon"])
    assert (pooled["trials"] == 3).all()
    assert pooled["low"].tolist() == pooled["mean"].tolist() == pooled["high"].tolist() == [100.0] * 3


def test_other_axes_and_pages(frame):
    sizes = sdp.plot_errors(frame, x="size", panels="epsilon")
    assert [ax.get_title() for ax in sizes.axes] == ["ε = 0.1", "ε = 1", "ε = 10"]
    page = sdp.plot_errors(frame, ["rmse", "uniformity_rmse", "noise_rmse"])
    assert len(page.axes) == 9
    many = pd.concat([frame.assign(dataset=str(number)) for number in range(5)])
    wrapped = sdp.plot_errors(many, panels="dataset")
    assert len(wrapped.axes) == 5
    assert labels(wrapped.axes[2])  # three and two


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"metric": "coverage"}, "the frame holds"),
        ({"x": "trial"}, "x is 'trial'"),
        ({"panels": "colour"}, "panels is 'colour'"),
    ],
)
def test_nonsense_is_refused(frame, options, words):
    with pytest.raises(ParameterError, match=words):
        sdp.plot_errors(frame, **options)


def test_sizes_need_workloads_with_a_size(frame):
    with pytest.raises(ParameterError, match="no row has a size"):
        sdp.plot_errors(frame[frame["size"].isna()], x="size", panels="epsilon")


def test_bands_are_students_intervals():
    held = pd.DataFrame({"mechanism": "a", "trial": [0, 1, 2], "value": [1.0, 2.0, 3.0]})
    (row,) = summary(held, ["mechanism"]).itertuples()
    assert row.mean == 2
    assert row.high - row.mean == pytest.approx(4.302653 / np.sqrt(3))  # t with two degrees of freedom
    (single,) = summary(held[:1], ["mechanism"]).itertuples()
    assert single.low == single.high == 1


def test_labels_keep_their_order_and_distance():
    places = np.array([0.5, 0.1, 0.51, 0.5])
    moved = push_apart(places, 0.1)
    assert np.diff(np.sort(moved)).min() > 0.099
    assert moved[1] < moved[0] < moved[3] < moved[2]


def test_ranking_orders_by_mean_rank():
    rows = [
        {"mechanism": name, "epsilon": epsilon, "trial": trial, "value": value + trial}
        for name, values in {"bad": (9, 8), "good": (1, 2), "middling": (2, 1.5)}.items()
        for epsilon, value in zip((0.1, 1), values, strict=True)
        for trial in (0, 2)
    ]
    shared = {"dataset": "", "workload": "boxes", "metric": "rmse", "note": "seen", "floor": 1.0, "panels": ""}
    table = sdp.ranking(pd.DataFrame(rows).assign(**shared)).splitlines()
    assert table[2].split() == ["|", "mechanism", "|", "rank", "|", "ε", "=", "0.1", "|", "ε", "=", "1", "|"]
    assert [line.split("|")[1].strip() for line in table[4:7]] == ["good", "middling", "bad"]
    assert "2.00 ± 12.7" in table[4]  # 1 and 3: half an interval of one degree of freedom
    assert table[-1] == "seen."
