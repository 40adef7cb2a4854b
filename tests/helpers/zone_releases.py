"""Releases of small frames of zones with made-up noise, for tests that need no mechanism."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise

import geopandas
import numpy as np
import shapely

import spatialdp as sdp
from spatialdp.estimates.zones.counts import ZoneCounts
from spatialdp.privacy.statement import Privacy
from spatialdp.space.zones.chains import merged
from spatialdp.space.zones.frame import Zones
from spatialdp.trees.least_squares import two_pass
from tests.reference.dense_zones import membership

# State A has two counties with three and one tracts, B one county with two tracts, C is a leaf by itself.
CODES = {
    "state": ["A", "A", "A", "A", "B", "B", "C"],
    "county": ["A1", "A1", "A1", "A2", "B1", "B1", None],
    "tract": ["A1a", "A1b", "A1c", "A2a", "B1a", "B1b", None],
}


@lru_cache(maxsize=4)
def zones_of(*, geometry: bool = True) -> Zones:
    """Seven leaves side by side, of unequal widths; or the same as codes alone."""
    if not geometry:
        return Zones.from_codes(
            [t or s for s, t in zip(CODES["state"], CODES["tract"], strict=True)],
            None,
            {"state": 1, "county": 2, "tract": 3},
        )
    edges = np.cumsum([0, 1, 2, 1, 3, 1, 1, 2.0])
    boxes = [shapely.box(low, 0, high, 2) for low, high in pairwise(edges)]
    frame = geopandas.GeoDataFrame(CODES, geometry=boxes, crs="EPSG:4326")
    return Zones(frame, levels=["state", "county", "tract"])


@lru_cache(maxsize=2)
def statement() -> Privacy:
    return sdp.Flat((2, 2)).release([], sdp.Domain((0, 0, 1, 1)), epsilon=1).privacy


def release_of(zones, seed=0, *, consistent=True, unmeasured=(), known=()) -> sdp.ZoneRelease:
    """Counts from 0 to 40 in each leaf with noise of variance 1 to 9; some merged depths unmeasured or known."""
    rng = np.random.default_rng(seed)
    shape = merged(zones.shape).shape
    variances = rng.uniform(1, 9, shape.n_nodes)
    for depths, value in ((unmeasured, np.inf), (known, 0.0)):
        variances[np.isin(shape.depth, depths) & ~(shape.leaves & (value > 0))] = value
    kurtosis = np.where(np.isfinite(variances) & (variances > 0), rng.uniform(0, 4, shape.n_nodes), 0.0)
    truth = membership(shape) @ rng.integers(0, 40, shape.n_leaves)
    values = truth + rng.normal(0, 2, shape.n_nodes) * (variances > 0)
    values[np.isinf(variances)] = 0.0
    if consistent:
        values = two_pass(shape, values, variances).estimates
    return sdp.ZoneRelease.of(ZoneCounts(zones, values, variances, kurtosis, 1.0, consistent), statement())
