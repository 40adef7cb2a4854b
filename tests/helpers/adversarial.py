"""Coordinates that are hard to put into cells, in domains that are hard to compute with."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

import spatialdp as sdp
from spatialdp.space.lattice import LATTICE

DOMAINS = {
    "degrees": sdp.Domain((-125, 24, -66, 50)),
    "unit": sdp.Domain((0, 0, 1, 1)),
    "around zero": sdp.Domain((-0.1, -1 / 3, 0.2, 2 / 3)),
    "many digits": sdp.Domain((123456.78901234567, -9876.543210987654, 123457.89012345678, -9875.432109876543)),
    "metres": sdp.Domain((5.1e6, 0.3, 5.2e6, 99999.7)),
    "tiny": sdp.Domain((1e-59, -3e-60, 2.7e-59, 5e-60)),
    "huge": sdp.Domain((-1e60, -9.99e59, 1e60, 3.3e59)),
    "far from zero": sdp.Domain((1e16, 4503599627370497.5, 1e16 + 4096, 4503599627370997.5)),
}
GRIDS = ((1000, 1000), (7, 4093))


def pairs(domain, count, seed=1):
    """Pairs of coordinates: edges of cells and lattice lines a few units in the last place away, and special values."""
    rng = np.random.default_rng(seed)
    x, y = (_values(axis, count, rng) for axis in domain.axes)
    return x, y


def table_of(x, y):
    """An Arrow table of pairs and their numbers, with missing values in place of half of the NaN."""
    missing = np.arange(x.size) % 2 == 0
    columns = {name: pa.array(v, mask=np.isnan(v) & missing) for name, v in (("x", x), ("y", y))}
    return pa.table({**columns, "number": pa.array(np.arange(x.size))})


def _values(axis, count, rng):
    inside = rng.uniform(0, 1, count) * (axis.high - axis.low) + axis.low
    edges = axis.edges(1000)[rng.integers(0, 1001, count)], axis.edges(4093)[rng.integers(0, 4094, count)]
    lines = axis.coordinates(rng.integers(0, LATTICE + 1, count))
    tiny = [0.0, -0.0, 5e-324, -5e-324, 2.2250738585072014e-308, 1e-310, -1e-310, 0.7, 3.5]
    large = [np.nan, np.inf, -np.inf, 1e308, -1e308, 2.0**63]
    special = [*tiny, *large, axis.low, axis.high, axis.low + axis.spacing, axis.low + axis.spacing / 2]
    with np.errstate(all="ignore"):
        patterns = rng.integers(0, 2**64, count, dtype=np.uint64).view(np.float64)
        patterns = np.where(np.isnan(patterns), np.nan, patterns)
        choices = np.stack([inside, *edges, lines, axis.edges(7)[rng.integers(0, 8, count)], patterns])
        values = choices[rng.choice(6, count, p=[0.1, 0.25, 0.2, 0.25, 0.1, 0.1]), np.arange(count)]
        values = np.where(rng.random(count) < 0.1, rng.choice(special, count), values)
        for _ in range(3):
            values = np.where(
                rng.random(count) < 0.5, np.nextafter(values, rng.choice([-np.inf, np.inf], count)), values
            )
    return values
