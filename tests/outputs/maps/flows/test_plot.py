"""Maps of flows: the largest lines, wider where more goes, and the statement below."""

from __future__ import annotations

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.errors import ParameterError
from spatialdp.outputs.maps.flows.plot import curves
from tests.flows.test_release import released

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def lines_of(ax):
    lines = ax.collections[1]  # after the outlines
    return lines.get_segments(), lines.get_linewidths()


def test_the_largest_flows_are_drawn_wider():
    release = released(frame="region", pairs=[1] * 90 + [12] * 30 + [20] * 9)
    segments, widths = lines_of(release.plot(most=3))
    assert len(segments) == 3
    assert widths[2] / widths[1] == pytest.approx(3, rel=0.1)
    assert (np.diff(widths) > 0).all()  # the largest on top


def test_a_legend_says_how_wide_lines_are():
    ax = released(frame="region", pairs=[1] * 90 + [12] * 30).plot(most=2)
    lines, sizes = ax.get_legend().get_lines(), [90, 45, 18]
    assert [line.get_label() for line in lines] == [f"{size:g}" for size in sizes]
    widest = max(lines_of(ax)[1])
    assert [line.get_linewidth() / widest for line in lines] == pytest.approx(np.array(sizes) / 90, rel=0.1)
    empty = released(frame="region", pairs=[], epsilon=1000)
    assert empty.plot().get_legend() is None


def test_flows_that_stay_are_rings_and_negative_ones_are_not_drawn():
    release = released(frame="region", pairs=[0] * 50, epsilon=1)
    positive = release.to_frame()["flow"] > 0
    ax = release.plot(most=10_000)
    staying = (release.to_frame()["origin"] == release.to_frame()["destination"]) & positive
    assert len(ax.collections[2].get_offsets()) == staying.sum()
    assert len(lines_of(ax)[0]) == positive.sum() - staying.sum()


def test_the_caption_says_what_is_missing_and_whether_it_is_private():
    listed = released("flows, listed", frame="region", pairs=[3] * 99)
    assert "of all others nothing is said" in listed.plot().get_xlabel()
    assert "ε = 1000" in listed.plot().get_xlabel()
    seeded = sdp.Flows().release(
        sdp.Trips([[0.1, 0.1]], [[0.2, 0.9]]),
        sdp.Domain((0, 0, 1, 1)).grid((2, 2)),
        epsilon=1,
        noise=sdp.SeededNoise(1),
    )
    assert "NOT PRIVATE" in seeded.plot().get_xlabel()


def test_both_directions_bend_apart():
    there, back = curves(np.array([[0.0, 0.0], [1.0, 0.0]]), np.array([[1.0, 0.0], [0.0, 0.0]]))
    assert there[:, 1].min() < 0 < back[:, 1].max()


def test_zones_are_outlined_and_own_axes_are_used():
    _, ax = plt.subplots()
    assert released(frame="zones").plot(ax) is ax
    assert len(ax.collections[0].get_segments()) == 12


@pytest.mark.parametrize("most", [0, 2.5])
def test_nonsense_is_refused(most):
    with pytest.raises(ParameterError, match="most is"):
        released().plot(most=most)


def test_a_dollar_sign_in_a_title_is_no_formula():
    ax = released(frame="region", pairs=[1] * 90).plot(title="$\\frac{1$")
    ax.figure.canvas.draw()
    assert ax.get_title() == "$\\frac{1$"
