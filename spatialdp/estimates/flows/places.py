"""Where on a map are the places of flows? A point in each, if they lie anywhere."""

from __future__ import annotations

import numpy as np

from spatialdp._support.arrays import Floats
from spatialdp.errors import ReleaseError
from spatialdp.estimates.flows.counts import FlowCounts
from spatialdp.space.frames.cells import Cells

__all__ = ["has_middles", "middles"]


def has_middles(estimate: FlowCounts) -> bool:
    """Whether places lie anywhere: cells of a grid do, and zones with areas."""
    space = estimate.frame.space
    return isinstance(space, Cells) or space.zones.geometry is not None


def middles(estimate: FlowCounts) -> Floats:
    """Return a point in each place, (places, 2): the centre of a cell, or a point that lies in a zone."""
    import shapely

    space = estimate.frame.space
    if isinstance(space, Cells):
        row, column = np.divmod(space.cells, space.grid.shape[0])
        x, y = (edges[:-1] + np.diff(edges) / 2 for edges in (space.grid.x_edges, space.grid.y_edges))
        return np.stack([x[column], y[row]], axis=1)
    if not has_middles(estimate):
        raise ReleaseError(
            "the zones of these flows are codes alone, and lines need their areas; save the flows as .csv or .parquet, "
            "and join your own areas by their codes."
        )
    return np.asarray(shapely.get_coordinates(shapely.point_on_surface(space.zones.geometry[space.leaf_of_place])))
