"""The only rooms that see records."""

from spatialdp.points.arrays import LatticePoints, Points, as_points, count_cells, lattice_points, snap
from spatialdp.points.tables import read_points

__all__ = ["LatticePoints", "Points", "as_points", "count_cells", "lattice_points", "read_points", "snap"]
