"""Domains in the header of a file come back as they were; anything else is refused."""

from __future__ import annotations

import json

import pytest
import shapely

import spatialdp as sdp
from spatialdp.outputs.files.frames.domains import checked_crs, domain_from_json, domain_to_json

REGION = shapely.Polygon([(0, 0), (8, 0), (8, 5), (3, 6), (0, 3)])


@pytest.mark.parametrize(
    "region", [None, REGION, shapely.MultiPolygon([shapely.box(0, 0, 1, 1), shapely.box(2, 2, 3, 3)])]
)
@pytest.mark.parametrize("rule", ["touching", "centres"])
def test_domains_come_back(region, rule):
    domain = sdp.Domain(
        (0, 0, 8, 6), crs="EPSG:4326", region=region, **({} if region is None else {"region_cells": rule})
    )
    again = domain_from_json(json.loads(json.dumps(domain_to_json(domain))))
    assert again == domain


@pytest.mark.parametrize("crs", ["\x1b[2J", "E" * 30_000])
def test_a_crs_that_people_cannot_read_is_refused(crs):
    with pytest.raises(ValueError, match="CRS"):
        checked_crs(crs)
    with pytest.raises(ValueError, match="CRS"):
        domain_from_json({"bounds": [0, 0, 1, 1], "crs": crs, "region": None})


def test_a_region_that_is_no_polygon_is_refused():
    with pytest.raises(ValueError, match="region"):
        domain_from_json({"bounds": [0, 0, 1, 1], "crs": None, "region": "AAAA"})


def test_no_crs_is_no_crs():
    assert checked_crs(None) is None
