"""Frames of zones for tests: small ones that are drawn by hand, and tilings that are drawn from a seed."""

from __future__ import annotations

import geopandas
import numpy as np
import pandas as pd
import shapely

import spatialdp as sdp


def tiling(seed: int, side: int = 4) -> geopandas.GeoDataFrame:
    """Zones that share their edges: the squares of a grid whose inner corners have been moved."""
    generator = np.random.default_rng(seed)
    corners = np.stack(np.meshgrid(np.arange(side + 1.0), np.arange(side + 1.0), indexing="ij"), axis=2)
    moved = generator.uniform(-0.4, 0.4, corners.shape)
    moved[[0, -1], :, 0] = moved[:, [0, -1], 1] = 0
    corners += moved
    areas = [
        shapely.Polygon([corners[i, j], corners[i + 1, j], corners[i + 1, j + 1], corners[i, j + 1]])
        for i in range(side)
        for j in range(side)
    ]
    codes = [f"{number:03}" for number in range(side * side)]
    states = [f"s{number // side}" for number in range(side * side)]
    frame = geopandas.GeoDataFrame({"state": states, "county": codes}, geometry=areas)
    return frame[frame.is_valid & (frame.area > 0.05)].reset_index(drop=True)


def counties() -> sdp.Zones:
    """Two states, the first with two counties and the second with none, without geometries."""
    frame = pd.DataFrame({"state": ["A", "A", "B"], "county": ["A1", "A2", None]})
    return sdp.Zones(frame, ["state", "county"])


def squares(*codes: str) -> geopandas.GeoDataFrame:
    """Unit squares in a row, from left to right."""
    areas = [shapely.box(place, 0, place + 1, 1) for place in range(len(codes))]
    return geopandas.GeoDataFrame({"zone": list(codes)}, geometry=areas)
