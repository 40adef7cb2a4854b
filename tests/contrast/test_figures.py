"""Pictures carry a band that says they are not private."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

import spatialdp as sdp
from spatialdp import contrast
from spatialdp.contrast.mark import BAND


@pytest.fixture(scope="module")
def compared():
    rng = np.random.default_rng(1)
    return contrast.compare(rng.random((1200, 2)), np.arange(1200) % 9, sdp.Domain((0, 0, 1, 1)), k=(3, 9), releases=4)


@pytest.mark.parametrize("draw", [contrast.plot_attack, contrast.plot_maps])
def test_pictures_have_a_band_across(compared, draw):
    figure = draw(compared)
    (band,) = [text for text in figure.texts if text.get_text() == BAND]
    figure.canvas.draw()
    assert band.get_window_extent().width > 0.7 * figure.bbox.width


def test_lines_of_attacks_are_the_rows(compared):
    sure, better = contrast.plot_attack(compared).axes
    lines = {line.get_label(): line.get_ydata() for line in better.lines}
    rows = [row for row in compared.attacks if row.release == "3-anonymous"]
    assert lines["3-anonymous"] == pytest.approx([100 * row.advantage for row in rows])
    assert {line.get_label() for line in sure.lines} >= {"3-anonymous", "9-anonymous", "private: impossible"}


def test_the_person_shown_is_found_by_several_releases(compared):
    from spatialdp.contrast.figures import _example_person

    person = _example_person(compared)
    assert compared.attack.left[-1, person] == 1
    assert compared.attack.one[:, person].min() > 1


def test_all_boxes_are_drawn(compared):
    ax = Figure().subplots()
    contrast.plot_boxes(compared.example[0], ax)
    assert len(ax.collections[0].get_paths()) == compared.example[0].sizes.size
