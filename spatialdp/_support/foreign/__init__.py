"""Foreign code and data that are kept within bounds: GDAL, and geometries as bytes (WKB)."""
