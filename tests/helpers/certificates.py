"""Releases of every kind, as certificates describe them, and the text of a certificate."""

from __future__ import annotations

import re

import geopandas
import numpy as np
import shapely

import spatialdp as sdp
from spatialdp.outputs.certificate.certificate import certificate_text

DOMAIN = sdp.Domain((0, 0, 1, 1), crs="EPSG:4326")
REGION = sdp.Domain((0, 0, 1, 1), crs="EPSG:4326", region=shapely.Polygon([(0, 0), (1, 0), (0, 1)]))
XY = np.random.default_rng(1).random((60, 2))
OWNED = sdp.Points(XY, person=np.arange(60) // 3)
QUARTERS = geopandas.GeoDataFrame(
    {"side": ["west", "west", "east", "east"], "quarter": ["sw", "nw", "se", "ne"]},
    geometry=[shapely.box(x, y, x + 0.5, y + 0.5) for x in (0, 0.5) for y in (0, 0.5)],
    crs=DOMAIN.crs,
)
ZONES = sdp.Zones(QUARTERS, levels=["side", "quarter"])
CODES = sdp.Zones.from_codes(["a1", "a2", "b1"], None, {"letter": 1, "code": 2})
KNOWN = {"side": {"west": 20, "east": 40}}
FRAME = sdp.Frame(DOMAIN.grid((2, 2)), kind=sdp.Categories(["theft", "fraud"]))

RELEASES = {
    "grid": lambda **more: sdp.Flat((8, 6)).release(XY, DOMAIN, epsilon=1, **more),
    "region": lambda **more: sdp.Quadtree(height=3).release(XY, REGION, epsilon=1, **more),
    "centres": lambda **more: sdp.Flat((8, 6)).release(
        XY, sdp.Domain((0, 0, 1, 1), region=REGION.region, region_cells="centres"), epsilon=1, **more
    ),
    "total": lambda **more: sdp.Uniform((8, 6)).release(XY, DOMAIN, epsilon=1, **more),
    "wavelet": lambda **more: sdp.Wavelet((8, 8)).release(XY, DOMAIN, epsilon=1, **more),
    "tree": lambda **more: sdp.Hierarchy((8, 6)).release(XY, DOMAIN, epsilon=1, **more),
    "kd-tree": lambda **more: sdp.KdTree(height=3).release(XY, DOMAIN, epsilon=1, **more),
    "pruned": lambda **more: sdp.KdTree(height=3, prune=2).release(XY, DOMAIN, epsilon=1, **more),
    "stopped": lambda **more: sdp.Quadtree(height=3, stop=5).release(XY, DOMAIN, epsilon=1, **more),
    "field": lambda **more: sdp.Adaptive((16, 16)).release(XY, DOMAIN, epsilon=1, **more),
    "gaussian": lambda **more: sdp.Flat((8, 6), law="gaussian").release(XY, DOMAIN, epsilon=1, delta=1e-7, **more),
    "laplace": lambda **more: sdp.Flat((8, 6), law="laplace").release(XY, DOMAIN, epsilon=0.1, **more),
    "replace": lambda **more: sdp.Flat((8, 6)).release(XY, DOMAIN, epsilon=1, neighbours="replace", **more),
    "persons": lambda **more: sdp.Flat((8, 6)).release(OWNED, DOMAIN, epsilon=1, person=sdp.Person(cells=3), **more),
    "shares": lambda **more: sdp.Flat((8, 6)).release(OWNED, DOMAIN, epsilon=1, person=sdp.Person(shares=True), **more),
    "chosen": lambda **more: sdp.Flat((8, 6)).release(
        OWNED, DOMAIN, epsilon=1, person=sdp.Person(records=sdp.Chosen()), **more
    ),
    "zones": lambda **more: sdp.ZoneTree().release(XY, ZONES, epsilon=1, **more),
    "codes": lambda **more: sdp.ZoneTree().release(sdp.Codes(["a1", "b1"]), CODES, epsilon=1, **more),
    "known": lambda **more: sdp.ZoneTree(known={"side": {"west": 20, "east": 40}}).release(
        XY, ZONES, epsilon=1, **more
    ),
    "invariants": lambda **more: sdp.ZoneTree(invariants=["side"]).release(XY, ZONES, epsilon=1, **more),
    "listed": lambda **more: sdp.Sparse((64, 64)).release([[0.3, 0.7]] * 200, DOMAIN, epsilon=1, **more),
    "listed-map": lambda **more: sdp.SparseMap((64, 64), blocks=(8, 8)).release(
        [[0.3, 0.7]] * 200, DOMAIN, epsilon=1, **more
    ),
    "flows": lambda **more: sdp.Flows().release(sdp.Trips(XY, XY[::-1]), DOMAIN.grid((2, 2)), epsilon=1, **more),
    "table": lambda **more: sdp.Table().release(sdp.Rows(XY[:3], kind=["theft"] * 3), FRAME, epsilon=1, **more),
    "network": lambda **more: sdp.PrivBayes().release(sdp.Rows(XY[:3], kind=["theft"] * 3), FRAME, epsilon=1, **more),
}
UNPAID = {"invariants"}  # what no account can pay for


def running_release(months=2, **more):
    """The release of a running table after some months."""
    series = sdp.Running(horizon=12).start(sdp.Frame(DOMAIN.grid((2, 2))), epsilon=1, delta=1e-6, **more)
    return [series.add(XY) for _ in range(months)][-1]


def every_release():
    """A release of each kind, by name."""
    return {**{name: make() for name, make in RELEASES.items()}, "running": running_release()}


def text_of(release, suffix=".md", **options):
    """The certificate of a release; Markdown without its escapes, so that words can be found."""
    text = certificate_text(release, suffix, **options)
    return text if suffix == ".html" else re.sub(r"\\([\\`*_{}\[\]<>#|~&$+=.)-])", r"\1", text)


def part(text, number):
    """One of the seven parts of a certificate in Markdown."""
    found = re.search(rf"^## {number}\. .*?(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert found is not None, f"there is no part {number}"
    return found[0]
