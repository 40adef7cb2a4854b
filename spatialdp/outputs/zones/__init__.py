"""What files, maps and pages need to know of zones: their polygons by level, and their tables."""
