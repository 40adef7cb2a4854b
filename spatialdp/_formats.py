"""What a file's name ends in says its format. Apart, because the command line shows it before anything heavy is loaded."""

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
