"""Releases of a region in metres, and the statement in a file of any format."""

from __future__ import annotations

import json

import numpy as np
import pyarrow.parquet as pq
import pyogrio
import rasterio
import shapely

import spatialdp as sdp
from spatialdp.outputs.files import exports
from spatialdp.outputs.files.formats import FORMATS

BOUNDS = (500_000.0, 5_000_000.0, 508_000.0, 5_006_000.0)
REGION = shapely.Polygon([(500_000, 5_000_000), (508_000, 5_000_000), (508_000, 5_005_000), (500_000, 5_003_000)])
DOMAIN = sdp.Domain(BOUNDS, crs="EPSG:32633", region=REGION)
XY = np.random.default_rng(3).uniform(BOUNDS[:2], BOUNDS[2:], size=(500, 2))
SUFFIXES = sorted(set(FORMATS) - {".tiff"})


def release_in_metres(mechanism=None, points=XY, domain=DOMAIN, noise=None):
    return (mechanism or sdp.Flat((16, 12))).release(points, domain, epsilon=0.5, noise=noise)


def statement_in(path):
    """The statement as a reader of this format finds it."""
    if path.suffix == ".parquet":
        return json.loads(pq.read_schema(path).metadata[b"spatialdp"])["privacy"]
    if path.suffix == ".gpkg":
        return json.loads(pyogrio.read_info(path)["layer_metadata"][exports.STATEMENT])
    if path.suffix == ".tif":
        with rasterio.open(path) as raster:
            return json.loads(raster.tags()[exports.STATEMENT])
    if path.suffix == ".geojson":
        return json.loads(path.read_text())["privacy"]
    return json.loads(path.with_suffix(".privacy.json").read_text())
