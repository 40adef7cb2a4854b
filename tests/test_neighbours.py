"""Two neighbouring data sets, the same noise: everything but the paid-for numbers must be the same."""

from __future__ import annotations

import contextlib
import io
import json
import logging
import warnings

import numpy as np
import pyarrow.parquet as pq
import pytest
import shapely

import spatialdp as sdp
from spatialdp.histogram import Histogram
from spatialdp.points import count_cells
from tests.sources import RecordingNoise

REGION = shapely.Polygon([(0, 0), (8, 0), (8, 5), (3, 6), (0, 3)])
RNG = np.random.default_rng(8)
BASE = np.round(RNG.uniform((0, 0), (8, 6), size=(40, 2)), 3)
CROWD = np.tile([[1.5, 1.5]], (1000, 1))
EXTRA = {
    "inside": [4.2, 3.3],
    "corner": [0.0, 0.0],
    "far corner": [8.0, 6.0],
    "far edge": [8.0, 2.0],
    "cell edge": [4.0, 3.0],
    "heavy cell": [1.5, 1.5],
    "duplicate": BASE[0].tolist(),
    "outside the region": [7.9, 5.9],
    "outside the domain": [100.0, -100.0],
    "not a number": [np.nan, 1.0],
    "infinite": [np.inf, -np.inf],
    "huge": [1e308, -1e308],
    "too large for a double": [10**400, 1.0],
    "missing": [None, 1.0],
}
MECHANISMS = {
    "flat": (sdp.Flat((16, 12)), {}),
    "fine": (sdp.Flat((16, 12), law="laplace"), {}),
    "gaussian": (sdp.Flat(cell_size=0.5, law="gaussian"), {"delta": 1e-6}),
    "truncated": (sdp.Flat((16, 12), truncate=2), {}),
    "quadtree": (sdp.Quadtree(4), {}),
    "raw quadtree": (sdp.Quadtree(3, consistent=False), {}),
    "gaussian quadtree": (sdp.Quadtree(3, law="gaussian"), {"delta": 1e-6}),
}


def publish(mechanism, terms, xy, path):
    """Release, save, print: everything that leaves the house, with frozen noise."""
    noise = RecordingNoise(5)
    domain = sdp.Domain((0, 0, 8, 6), crs="EPSG:4326", region=REGION)
    said, log = io.StringIO(), io.StringIO()
    handler = logging.StreamHandler(log)
    logging.getLogger().addHandler(handler)
    with (
        warnings.catch_warnings(record=True) as caught,
        contextlib.redirect_stdout(said),
        contextlib.redirect_stderr(said),
    ):
        warnings.simplefilter("always")
        release = mechanism.release(xy, domain, epsilon=0.5, noise=noise, **terms)
        release.save(path)
        print(release, release.privacy, release.domain)
    logging.getLogger().removeHandler(handler)
    return release, noise.calls, said.getvalue() + log.getvalue() + str([str(w.message) for w in caught])


def pairs():
    yield from ((name, BASE.tolist(), [*BASE.tolist(), record]) for name, record in EXTRA.items())
    yield "empty and one", np.empty((0, 2)), np.array([[4.2, 3.3]])
    yield "heavy", np.vstack([BASE, CROWD]), np.vstack([BASE, CROWD, [[1.5, 1.5]]])


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize(("without", "with_"), [p[1:] for p in pairs()], ids=[p[0] for p in pairs()])
def test_neighbours_differ_only_in_paid_for_numbers(mechanism, without, with_, tmp_path):
    a, calls_a, said_a = publish(*MECHANISMS[mechanism], without, tmp_path / "a.parquet")
    b, calls_b, said_b = publish(*MECHANISMS[mechanism], with_, tmp_path / "b.parquet")
    assert calls_a == calls_b
    assert said_a == said_b
    assert a.privacy == b.privacy
    assert a.domain == b.domain
    assert a.estimate.values.shape == b.estimate.values.shape
    assert a.estimate.biased == b.estimate.biased
    if isinstance(a.estimate, Histogram):
        touched = 1
    else:
        assert np.array_equal(a.estimate.tree.boxes, b.estimate.tree.boxes)
        touched = a.estimate.tree.height + 1
    if a.estimate.kind == "grid" or not a.estimate.consistent:  # the same noise on counts that differ by one
        assert np.abs(a.estimate.values - b.estimate.values).sum() <= touched
    assert (tmp_path / "a.parquet").stat().st_size == (tmp_path / "b.parquet").stat().st_size
    header_a, header_b = (_header(tmp_path / name) for name in ("a.parquet", "b.parquet"))
    assert header_a == header_b


def _header(path):
    schema = pq.read_schema(path)
    stated = json.loads(schema.metadata[b"spatialdp"])
    stated.pop("sha256")  # of the released estimates, so it may differ
    return stated, schema.metadata[b"geo"], schema.names, pq.read_metadata(path).num_rows


def test_same_outputs_give_the_same_bytes(tmp_path):
    """If noise makes up for the extra record, nothing at all tells the two data sets apart."""
    mechanism = sdp.Flat((16, 12))
    domain = sdp.Domain((0, 0, 8, 6), crs="EPSG:4326", region=REGION)
    one, two = BASE, np.vstack([BASE, [[4.2, 3.3]]])

    class Compensating(RecordingNoise):
        def __init__(self, xy):
            super().__init__(5)
            counts = (count_cells(sdp.Points(data), domain.grid((16, 12))) for data in (one, xy))
            base, here = (c[domain.grid((16, 12)).mask] for c in counts)
            self.shift = base - here

        def laplace(self, scale, size):
            return super().laplace(scale, size) + self.shift

    for name, xy in (("a", one), ("b", two)):
        mechanism.release(xy, domain, epsilon=0.5, noise=Compensating(xy)).save(tmp_path / f"{name}.parquet")
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()
