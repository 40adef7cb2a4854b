"""Outlines and boundaries on the page: in steps along the domain's sides, simplified, and small."""

from __future__ import annotations

import base64
import zlib

import numpy as np
import pytest
import shapely

import spatialdp as sdp
from spatialdp.errors import ParameterError
from spatialdp.outputs.explorer import lines

DOMAIN = sdp.Domain((2, 1, 10, 9))


def unpacked(data):
    """The lines of a page, in shares of the domain's sides."""
    counts, steps = (
        np.frombuffer(zlib.decompress(base64.b64decode(data[name]["data"])), "<i4") for name in ("counts", "steps")
    )
    places = np.cumsum(steps.reshape(2, -1), axis=1).T / lines.STEPS
    return np.split(places, np.cumsum(counts)[:-1])


def test_outlines_are_in_shares_of_the_domain():
    hole = shapely.box(2, 1, 8, 5) - shapely.box(3, 2, 4, 3)
    domain = sdp.Domain(DOMAIN.bounds, region=hole)
    outer, inner = sorted(unpacked(lines.outline(domain)), key=lambda ring: -np.ptp(ring))
    for ring, bounds in ((outer, (0, 0, 0.75, 0.5)), (inner, (0.125, 0.125, 0.25, 0.25))):
        assert [*ring.min(axis=0), *ring.max(axis=0)] == pytest.approx(bounds)
    assert lines.outline(DOMAIN) is None


def test_boundaries_are_cut_to_the_domain():
    assert lines.boundary_lines(None, DOMAIN) is None
    (line,) = unpacked(lines.boundary_lines(shapely.LineString([(-5, 5), (50, 5)]), DOMAIN))
    assert line.tolist() == [[0, 0.5], [1, 0.5]]


def test_boundaries_beyond_the_domain_are_no_lines():
    data = lines.boundary_lines(shapely.box(100, 100, 101, 101), DOMAIN)
    assert unpacked(data)[0].size == 0


def test_many_boundaries_lose_details(monkeypatch):
    angles = np.linspace(0, 2 * np.pi, 20_000)
    circle = shapely.LinearRing(np.column_stack([6 + 3 * np.cos(angles), 5 + 3 * np.sin(angles)]))
    specks = [shapely.box(x, 2, x + 0.003, 2.003) for x in np.linspace(3, 9, 50)]
    fine = unpacked(lines.boundary_lines([circle, *specks], DOMAIN))
    monkeypatch.setattr(lines, "MOST_VERTICES", 100)
    (coarse,) = unpacked(lines.boundary_lines([circle, *specks], DOMAIN))
    assert len(fine) == 51
    assert 20 < len(coarse) <= 100
    distance = np.hypot(*((coarse * DOMAIN.size + DOMAIN.bounds[:2]) - (6, 5)).T)
    assert distance == pytest.approx(3, abs=0.01)


def test_too_many_boundaries_are_refused(monkeypatch):
    monkeypatch.setattr(lines, "MOST_VERTICES", 3)
    with pytest.raises(ParameterError, match="more than 3 vertices, even with details left out"):
        lines.boundary_lines(shapely.box(3, 3, 9, 8), DOMAIN)
