"""Lines of records along the axes, finer than the cells, are found where noise lets them be seen, and nowhere else."""

from __future__ import annotations

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.estimates.unevenness import lines
from spatialdp.estimates.unevenness.blocks import CellCounts
from spatialdp.estimates.unevenness.grid import GridUnevenness
from spatialdp.estimates.unevenness.lines import line_spreads
from spatialdp.records.truth import Counter

UNIT = sdp.Domain((0, 0, 1, 1))
SIDE = 128
RNG = np.random.default_rng(21)
LENGTHS = (1, 2, 4, 8, 16)


def spreads(values, variance=0.0, mask=None, grew=1.0):
    area = lambda blocks: variance * np.prod(blocks[:, 2:] - blocks[:, :2], axis=1)  # noqa: E731
    mask = np.ones(values.shape, dtype=bool) if mask is None else mask
    return line_spreads(CellCounts(values.astype(float), mask, area), (LENGTHS, LENGTHS), grew)


def streets(pitch, turned=0.0):
    """Records at random places of streets in both directions."""
    rng = np.random.default_rng(5)
    across = rng.integers(0, int(1.5 / pitch), 40_000) * pitch + rng.random() * pitch - 0.25
    places = np.stack([across, rng.random(across.size) * 1.5 - 0.25], axis=1)
    places[::2] = places[::2, ::-1]
    turn = np.array([[np.cos(turned), np.sin(turned)], [-np.sin(turned), np.cos(turned)]])
    places = (places - 0.5) @ turn + 0.5
    return places[((places >= 0) & (places < 1)).all(axis=1)]


def thin_boxes(places):
    """Boxes of 15 x 0.2 cells in both directions, half of them on a record."""
    rng = np.random.default_rng(6)
    size = np.tile([15 / SIDE, 0.2 / SIDE], (400, 1))
    size[::4], size[1::4] = size[::4, ::-1], size[1::4, ::-1]
    centre = rng.random((400, 2))
    centre[::2] = places[rng.integers(len(places), size=200)] + (rng.random((200, 2)) - 0.5) * size[::2]
    low = np.clip(centre - size / 2, 0, 1 - size)
    return np.concatenate([low, low + size], axis=1)


def share_and_width(mechanism, places):
    """How often intervals of thin boxes cover the truth, and how wide they are in the mean."""
    boxes = thin_boxes(places)
    release = mechanism.prepare(UNIT, epsilon=10).release(sdp.Points(places), noise=sdp.SeededNoise(3))
    low, high = release.interval(boxes, 0.95).T
    truth = Counter.of(sdp.Points(places), UNIT).count(UNIT.boxes(boxes))
    return np.mean((low <= truth) & (truth <= high)), np.mean(high - low)


@pytest.fixture
def without_lines(monkeypatch):
    """A way to leave out what lines add."""

    def leave_out():
        monkeypatch.setattr(lines, "_WITHIN", 0.0)
        monkeypatch.setattr(lines, "_HIDDEN", 0.0)

    return leave_out


@pytest.mark.parametrize("mechanism", [sdp.Flat((SIDE, SIDE)), sdp.Quadtree(7)], ids=["flat", "quadtree"])
@pytest.mark.parametrize("pitch", [0.006, 0.011])
def test_thin_boxes_in_a_city_of_streets_are_covered(mechanism, pitch, without_lines):
    places = streets(pitch)
    assert share_and_width(mechanism, places)[0] > 0.95
    without_lines()
    assert share_and_width(mechanism, places)[0] < 0.8


def test_streets_that_are_turned_widen_little(without_lines):
    places = streets(0.011, turned=0.4)
    width = share_and_width(sdp.Flat((SIDE, SIDE)), places)[1]
    without_lines()
    assert width < 1.25 * share_and_width(sdp.Flat((SIDE, SIDE)), places)[1]


def test_rows_of_cells_with_one_line_more_or_less_are_found():
    columns = np.repeat(RNG.integers(1, 3, SIDE)[None] * 1000, SIDE, axis=0)
    across, along = spreads(columns)
    assert across[:2].tolist() == [0, 0]  # as short as that, a row of records is no line
    assert across[2:].min() > 0.5
    assert along.max() < 1e-6
    assert spreads(columns.T)[1].tolist() == across.tolist()


@pytest.mark.parametrize(
    "values",
    [
        RNG.poisson(100, (64, 64)),
        1000 + 10 * np.add.outer(np.arange(64) ** 2, np.arange(64)),
        np.kron(RNG.gamma(1.0, 1000, (16, 16)), np.ones((4, 4))),
    ],
    ids=["even", "smooth", "blocks"],
)
def test_there_are_no_lines_where_wide_strips_differ_as_much(values):
    assert max(spread.max() for spread in spreads(values)) < 0.02


def test_what_grows_at_all_scales_is_not_lines():
    columns = np.repeat(RNG.gamma(50.0, 100, SIDE)[None], SIDE, axis=0)
    assert spreads(columns, grew=1.5)[0].max() < 0.75 * spreads(columns)[0].max()


def test_a_fixed_share_is_allowed_for_where_noise_hides_lines():
    noisy = RNG.normal(100, 3000, (64, 64))
    assert spreads(noisy, 3000.0**2)[0].tolist() == pytest.approx([0, 0, 0.2, 0.2, 0.2], abs=0.02)
    assert spreads(np.ones((3, 64)))[1][2:].tolist() == [0.2] * 3  # three rows make no window of four


def test_noise_is_that_of_the_windows(monkeypatch):
    """Strips at even places are quieter, as in a tree; the noise of windows has to say so."""
    seen = {}
    monkeypatch.setattr(lines._Windows, "spread", lambda self, grew: seen.setdefault(self.strips.shape[1], self) and 0)
    quiet = lambda boxes: np.where(boxes[:, 0] % 2 == 0, 1.0, 3.0) * (boxes[:, 2] - boxes[:, 0]) ** 2  # noqa: E731
    counts = CellCounts(np.ones((16, 9)), np.ones((16, 9), dtype=bool), quiet)
    line_spreads(counts, ((4,), ()), 1.0)
    (windows,) = seen.values()
    assert windows.strips.shape == (4, 3 * 4)  # windows at columns 0, 2 and 4
    assert (windows.narrow, windows.wide, windows.total) == (2 * (1 + 3 + 1 + 3) - 8, 2 * 8 - 16, 16)


def test_windows_lie_in_the_region():
    mask = np.ones((64, 64), dtype=bool)
    mask[:, 30] = False
    columns = np.repeat(RNG.integers(1, 3, 64)[None] * 1000, 64, axis=0)
    columns[:, 30] = 10**9
    assert spreads(columns, mask=mask)[1].max() < 1e-6
    assert spreads(columns, mask=np.zeros_like(mask))[0].tolist() == [0, 0, 0.2, 0.2, 0.2]


def test_edges_never_exceed_all_records_at_one_place():
    growth = np.array([1.0, 1.5, 2.0])
    found = GridUnevenness(0.3, (growth, growth), None, None, (), (np.array([0, 0, 0.1, 1.0]), np.zeros(1)))
    assert found.edges[0].tolist() == pytest.approx([1, 1.5, 2 + 4 * 0.1 / 0.3, 8 / 0.3])
    assert found.edges[1].tolist() == growth.tolist()


def test_one_window_is_no_evidence():
    """One full strip among empty ones is in two windows, which do not differ from their mean."""
    full = np.zeros((16, 64))
    full[:4, 8] = 1000
    assert spreads(full)[0][2] < 1e-3
    many = np.zeros((64, 64))
    many[:, 8::8] = 1000
    assert spreads(many)[0][2] > 0.9
