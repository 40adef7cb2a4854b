"""Which rows do flows have? Pairs as origin, destination and flow; places with what begins and ends there; lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from spatialdp._support.arrays import Floats, Objects
from spatialdp.estimates.flows.counts import Answers, FlowCounts
from spatialdp.estimates.flows.places import middles

if TYPE_CHECKING:
    import geopandas
    import pandas as pd

__all__ = ["lines", "pair_lines", "pair_rows", "place_rows"]


def pair_rows(estimate: FlowCounts, level: float = 0.95) -> pd.DataFrame:
    """Return a row for each published pair, in the order of origins and then of destinations."""
    import pandas as pd

    origins, destinations = estimate.ends_of_pairs()
    labels = np.array(estimate.frame.space.labels(), dtype=object)
    columns = {"origin": labels[origins], "destination": labels[destinations], "flow": estimate.values}
    return pd.DataFrame(columns | _ends(estimate, estimate.pair_answers(), level))


def place_rows(estimate: FlowCounts, level: float = 0.95) -> pd.DataFrame:
    """Return a row for each place: how many trips begin and how many end there."""
    import pandas as pd

    columns: dict[str, Any] = {"place": estimate.frame.space.labels()}
    for name, origins in (("begin", True), ("end", False)):
        answers = estimate.place_answers(origins=origins)
        ends = _ends(estimate, answers, level)
        columns |= {name: answers.values} | {f"{name}_{end}": values for end, values in ends.items()}
    return pd.DataFrame(columns)


def _ends(estimate: FlowCounts, answers: Answers, level: float) -> dict[str, Any]:
    return {} if estimate.biased else dict(zip(("low", "high"), answers.ends(level).T, strict=True))


def lines(estimate: FlowCounts) -> geopandas.GeoDataFrame:
    """Return the published pairs of different places as lines between their middles."""
    import geopandas

    shapes = pair_lines(estimate, middles(estimate))
    apart = shapes != np.array(None)
    rows, domain = pair_rows(estimate)[apart].reset_index(drop=True), estimate.frame.domain
    return geopandas.GeoDataFrame(rows, geometry=shapes[apart], crs=None if domain is None else domain.crs)


def pair_lines(estimate: FlowCounts, points: Floats) -> Objects:
    """Return a line for each published pair; None for one that stays in its place."""
    import shapely

    origins, destinations = estimate.ends_of_pairs()
    apart, shapes = origins != destinations, np.full(origins.size, None, dtype=object)
    if apart.any():
        shapes[apart] = shapely.linestrings(np.stack([points[origins[apart]], points[destinations[apart]]], axis=1))
    return shapes
