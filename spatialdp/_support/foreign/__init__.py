"""What foreign code is kept within bounds: GDAL, and geometries as bytes (WKB)."""
