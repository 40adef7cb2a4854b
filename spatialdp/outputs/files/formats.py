"""Which format does a file name stand for? The formats of release files, by the suffix of the name.

The table is a module of its own, so that help texts can show it before any heavy library is imported. Keep it free of
imports.
"""

__all__ = ["FORMATS", "WITH_AXES"]

# Kinds of estimates that are asked by the axes of a frame, and that files hold as rows of these axes.
WITH_AXES = frozenset({"table", "network"})

# Only GeoParquet holds the complete release: `load` reads no other format.
FORMATS = {
    ".parquet": "GeoParquet",
    ".gpkg": "GeoPackage",
    ".tif": "GeoTIFF",
    ".tiff": "GeoTIFF",
    ".geojson": "GeoJSON",
    ".csv": "CSV",
}
