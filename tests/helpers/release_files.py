"""Releases as files, and the tools of a forger."""

from __future__ import annotations

import base64
import json

import numpy as np
import pyarrow.parquet as pq
import shapely

import spatialdp as sdp
from spatialdp.outputs.files.geoparquet import _digest

REGION = shapely.Polygon([(0, 0), (8, 0), (8, 5), (3, 6), (0, 3)])
XY = np.random.default_rng(3).uniform((0, 0), (8, 6), size=(500, 2))


def make(law="discrete-laplace", region=REGION, crs="EPSG:4326", epsilon=0.5, delta=0, noise=None, **options):
    domain = sdp.Domain((0, 0, 8, 6), crs=crs, region=region)
    return sdp.Flat((16, 12), law=law, **options).release(XY, domain, epsilon=epsilon, delta=delta, noise=noise)


def rewrite(path, table=None, header=None, sign=False):
    """Alter a saved release, leaving everything else as it was; `sign` makes the digest agree again."""
    old = pq.read_table(path)
    stated = json.loads(old.schema.metadata[b"spatialdp"])
    if header:
        header(stated)
    new = table(old) if table else old
    if sign:
        stated["rows"] = len(new)
        stated["sha256"] = _digest(stated, new)
    pq.write_table(
        new.replace_schema_metadata({**new.schema.metadata, b"spatialdp": json.dumps(stated).encode()}), path
    )


def in_text(wkb):
    return base64.b64encode(wkb).decode()


def set_to(*keys, value):
    def change(header):
        for key in keys[:-1]:
            header = header[key]
        header[keys[-1]] = value

    return change
