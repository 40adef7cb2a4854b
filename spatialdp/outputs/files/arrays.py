"""How does a release become an xarray Dataset? As rasters of its cells, with coordinates, CRS and privacy statement.

The Dataset follows the CF conventions for the CRS (a coordinate ``spatial_ref``), so that rioxarray and other tools
find it. xarray is an optional dependency, and this module imports it when it is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from spatialdp.errors import ParameterError
from spatialdp.outputs.files.exports import pixel_bands
from spatialdp.outputs.files.rows import described
from spatialdp.outputs.files.statement import STATEMENT, statement
from spatialdp.space.domain import Domain, Grid

if TYPE_CHECKING:
    import xarray

    from spatialdp.release import Release

__all__ = ["to_xarray"]

_GRID_MAPPING = "spatial_ref"


def to_xarray(release: Release, shape: tuple[int, int] | None = None) -> xarray.Dataset:
    """Return a release as an xarray Dataset; see `Release.to_xarray`."""
    try:
        import xarray
    except ImportError:
        raise ParameterError(
            "an xarray Dataset was asked for, which needs xarray, and xarray is not installed; run pip install "
            "'spatialdp[xarray]', or take to_geodataframe()."
        ) from None
    grid, bands = pixel_bands(release, shape)
    x, y = ((edges[:-1] + edges[1:]) / 2 for edges in (grid.x_edges, grid.y_edges))
    words = described(release.estimate, release.privacy)
    variables = {
        name: (("y", "x"), values[::-1], {"long_name": words[name], "grid_mapping": _GRID_MAPPING})
        for name, values in bands.items()
    }
    coordinates = {
        "x": ("x", x, _axis_attributes(release.domain, 0)),
        "y": ("y", y[::-1], _axis_attributes(release.domain, 1)),
        _GRID_MAPPING: ((), 0, _reference(release.domain, grid)),
    }
    attributes = {"title": str(release.privacy), STATEMENT: statement(release)}
    attributes |= {name: words[name] for name in ("intervals", "listed", "counted") if name in words}
    return xarray.Dataset(variables, coordinates, attributes)


def _reference(domain: Domain, grid: Grid) -> dict[str, Any]:
    """Return the CRS and the place of a raster, in attributes as CF and GDAL name them."""
    (width, height), (nx, ny), (xmin, _, _, ymax) = domain.size, grid.shape, domain.bounds
    place = {"GeoTransform": " ".join(map(repr, (xmin, width / nx, 0.0, ymax, 0.0, -height / ny)))}
    if domain.crs is None:
        return place
    from pyproj import CRS

    attributes = CRS.from_user_input(domain.crs).to_cf()
    return {**attributes, "spatial_ref": attributes["crs_wkt"], **place}


def _axis_attributes(domain: Domain, axis: int) -> dict[str, Any]:
    """Return the CF attributes of an axis, x or y: its name, its unit and its direction."""
    plain = {"axis": "XY"[axis], "long_name": f"{'xy'[axis]} coordinate of the centre of the cell"}
    if domain.crs is None:
        return plain
    from pyproj import CRS

    known = CRS.from_user_input(domain.crs).cs_to_cf()
    return next((dict(attributes) for attributes in known if attributes.get("axis") == "XY"[axis]), plain)
