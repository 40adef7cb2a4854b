"""The only rooms that see records."""

from spatialdp.points.arrays import Points, as_points, count_cells, lattice_points
from spatialdp.points.counting import Counter, count_polygons

__all__ = ["Counter", "Points", "as_points", "count_cells", "count_polygons", "lattice_points"]
