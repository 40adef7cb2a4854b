"""The only rooms that see records."""

from spatialdp.points.arrays import Points, as_points, count_cells, lattice_points

__all__ = ["Points", "as_points", "count_cells", "lattice_points"]
