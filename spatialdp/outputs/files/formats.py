"""Formats of release files, by what a name ends in. Apart, for help that is shown before anything heavy is loaded."""

__all__ = ["FORMATS"]

# Only the first one is complete, and can be loaded.
FORMATS = {
    ".parquet": "GeoParquet",
    ".gpkg": "GeoPackage",
    ".tif": "GeoTIFF",
    ".tiff": "GeoTIFF",
    ".geojson": "GeoJSON",
    ".csv": "CSV",
}
