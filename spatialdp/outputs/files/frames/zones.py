"""How are zones and their counts stored in a file? In one row for each zone, which are checked when they are read.

Every declared zone has a row, level by level from the root: level, code, parent, number of children,
estimate, and variance and kurtosis of the noise in its measurement. Zones that are one area, such as a state and its
only county, have the same numbers. Leaves have polygons; the outline of another zone is the union of its leaves. The
header holds levels, name, CRS and bounds, and the digest of the frame, which is computed again from the rows.

A file comes from anywhere: whatever is read is checked, and a bad value raises ValueError, KeyError or TypeError.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from spatialdp._support.arrays import Array, Booleans, Floats, Integers, Objects
from spatialdp._support.foreign.wkb import is_polygonal
from spatialdp._support.json_values import amount, flag, text, whole
from spatialdp._support.terminal import is_printable
from spatialdp.estimates.zones.counts import ZoneCounts
from spatialdp.outputs.files.frames.domains import checked_crs
from spatialdp.outputs.files.limits import (
    HIGHEST_TREE,
    WIDEST_STEP,
    check_estimates,
    check_moments,
    check_sums,
    check_weights,
)
from spatialdp.space.domain import Domain
from spatialdp.space.regions.cells import RegionCells
from spatialdp.space.zones.frame import Zones
from spatialdp.trees.shape import TreeShape
from spatialdp.trees.tree_noise import GivenWeights

__all__ = [
    "check_codes",
    "leaf_polygons",
    "zone_columns",
    "zone_counts",
    "zone_header",
    "zone_polygons",
    "zones_to_json",
]

_AREA = "area {}"  # the column of areas that cut the zones, such as cities
_LARGEST_COORDINATE = 1e60  # as in domains
_LONGEST_TEXT = 200  # characters of a code, of the name of a level, of the name of the zones


def zone_header(estimate: ZoneCounts) -> dict[str, Any]:
    """Return what the rows do not hold, as values for JSON."""
    return {
        "kind": estimate.kind,
        "step": estimate.step,
        "consistent": estimate.consistent,
        "biased": estimate.biased,
    }


def zone_columns(estimate: ZoneCounts) -> dict[str, Array]:
    """Return the columns of the rows: one row for each declared zone."""
    zones, place = estimate.zones, estimate.chains.place
    shape = zones.shape
    levels = np.array(zones.levels, dtype=object)
    return {
        "level": levels[shape.depth],
        "zone": zones.codes,
        "parent": np.where(shape.parent < 0, "", zones.codes[shape.parent]),
        "children": shape.n_children,
        "estimate": estimate.values[place],
        "variance": estimate.variances[place],
        "kurtosis": estimate.kurtosis[place],
        **({} if estimate.given is None else _weights_to_columns(estimate.given, place)),
        **{_AREA.format(name): _of_leaves(shape, areas, "") for name, areas in zones.sets.items()},
    }


def _weights_to_columns(given: GivenWeights, place: Integers) -> dict[str, Array]:
    return {"own_weight": given.own[place], "share": given.share[place]}


def zone_polygons(zones: Zones) -> Objects | None:
    """Return the polygon of each leaf, and None for other zones; None altogether if the zones have no geometry."""
    if zones.geometry is None:
        return None
    return _of_leaves(zones.shape, zones.geometry, None)


def _of_leaves(shape: TreeShape, values: Objects, others: Any) -> Objects:
    """Return a column with the values of the leaves, and something else for other zones and in the place of None."""
    column = np.full(shape.n_nodes, others, dtype=object)
    column[shape.leaves] = np.where(values == np.array(None), others, values)
    return column


def zones_to_json(zones: Zones) -> dict[str, Any]:
    """Return what a frame of zones is besides its rows, as values for JSON."""
    return {
        "levels": list(zones.levels),
        "offsets": zones.shape.offsets.tolist(),
        "name": zones.name,
        "crs": zones.crs,
        "bounds": None if zones.domain is None else list(zones.domain.bounds),
        "digest": zones.digest,
        "areas": list(zones.sets),
    }


def zone_counts(
    frame: dict[str, Any], header: dict[str, Any], columns: dict[str, Array], geometry: list[bytes | None] | None
) -> ZoneCounts:
    """Rebuild the counts that `zone_header`, `zone_columns`, `zone_polygons` and `zones_to_json` wrote."""
    check_estimates(columns["estimate"])
    zones = _zones(frame, columns, geometry)
    shape, place = zones.chains.shape, zones.chains.place
    values, variances, kurtosis = (_of_merged(columns[name], place) for name in ("estimate", "variance", "kurtosis"))
    check_moments(np.where(np.isinf(variances), 0.0, variances), kurtosis)
    if np.any(np.isinf(variances[shape.leaves])):
        raise ValueError("a leaf was not measured")
    consistent = flag(header["consistent"])
    if consistent:
        check_sums(shape, values)
    step, given = amount(header["step"], WIDEST_STEP), _fixed_weights(columns, shape, place, ~np.isinf(variances))
    return ZoneCounts(zones, values, variances, kurtosis, step, consistent, flag(header["biased"]), given)


def _fixed_weights(
    columns: dict[str, Array], shape: TreeShape, place: Integers, measured: Booleans
) -> GivenWeights | None:
    """Read the weights of a fit that is not by least squares, if there are any."""
    if "own_weight" not in columns:
        return None
    given = GivenWeights(_of_merged(columns["own_weight"], place), _of_merged(columns["share"], place))
    check_weights(shape, given.own, given.share, measured)
    return given


def _zones(frame: dict[str, Any], columns: dict[str, Array], geometry: list[bytes | None] | None) -> Zones:
    codes = columns["zone"]
    offsets = [whole(offset, 0, codes.size) for offset in frame["offsets"][: HIGHEST_TREE + 3]]
    whole(len(offsets), 2, HIGHEST_TREE + 2)
    children = columns["children"]
    if children.dtype.kind != "i" or codes.dtype != object:
        raise TypeError("codes are texts, and numbers of children are whole")
    shape = TreeShape(np.array(offsets, dtype=np.int64), children)
    levels = tuple(_name(level) for level in frame["levels"])
    name = None if frame["name"] is None else _name(frame["name"])
    if len(set(levels)) != shape.height + 1 or len(levels) != shape.height + 1:
        raise ValueError("the levels are not those of the tree")
    if not np.array_equal(columns["level"], np.array(levels, dtype=object)[shape.depth]):
        raise ValueError("the levels of the rows are not those of the tree")
    if not np.array_equal(columns["parent"], np.where(shape.parent < 0, "", codes[shape.parent])):
        raise ValueError("the parents of the rows are not those of the tree")
    check_codes(codes, shape)
    crs, domain, polygons = checked_crs(frame["crs"]), None, None
    if geometry is not None:
        domain = Domain.published(frame["bounds"], crs, None, RegionCells.TOUCHING)
        polygons = _polygons(geometry, shape, domain)
    sets = {_name(area): _areas(columns, area, shape) for area in frame["areas"]}
    zones = Zones.published(levels, shape, codes, geometry=polygons, crs=crs, domain=domain, name=name, sets=sets)
    if zones.digest != text(frame["digest"]):
        raise ValueError("the zones are not those that their digest says")
    return zones


def _areas(columns: dict[str, Array], name: str, shape: TreeShape) -> Objects:
    """Return the code of the area that each leaf lies in, None if it lies in none."""
    codes = columns[_AREA.format(name)]
    _check_texts(codes, 0)
    leaves = codes[shape.leaves]
    return np.where(leaves == "", np.array(None), leaves)


def check_codes(codes: Objects, shape: TreeShape) -> None:
    """Check that the codes of zones are texts for people, each only once on its level; raise ValueError otherwise."""
    _check_texts(codes, 1)
    if any(len(set(codes[shape.level(d)])) < codes[shape.level(d)].size for d in range(shape.height + 1)):
        raise ValueError("two zones of a level have one code")


def _check_texts(codes: Objects, shortest: int) -> None:
    lengths = list(map(len, codes))
    if not shortest <= min(lengths) <= max(lengths) <= _LONGEST_TEXT or not is_printable("".join(codes)):
        raise ValueError("a code is not a text for people")


def _name(value: object) -> str:
    name = text(value)
    if not 0 < len(name) <= _LONGEST_TEXT or not is_printable(name):
        raise ValueError("a name is not a text for people")
    return name


def _polygons(geometry: list[bytes | None], shape: TreeShape, domain: Domain) -> Objects:
    """Return the polygons of the leaves; other zones must have none."""
    if any(wkb is not None for wkb, leaf in zip(geometry, shape.leaves, strict=True) if not leaf):
        raise ValueError("a zone that is divided has a polygon")
    return leaf_polygons([geometry[index] for index in np.flatnonzero(shape.leaves)], domain)


def leaf_polygons(leaves: Sequence[bytes | None], domain: Domain) -> Objects:
    """Read the polygons of the leaves of zones; raise ValueError if they are not areas in the domain."""
    import shapely

    if not all(wkb is not None and is_polygonal(wkb) for wkb in leaves):
        raise ValueError("a leaf has no polygon")
    try:
        polygons: Objects = shapely.from_wkb(np.array(leaves, dtype=object))
    except shapely.errors.ShapelyError:
        raise ValueError("a polygon is not a geometry") from None
    low, high, bounds = domain.bounds[:2], domain.bounds[2:], shapely.bounds(polygons)
    near = (bounds[:, :2] <= high) & (bounds[:, 2:] >= low)  # hexagons may reach beyond the domain; empty ones have NaN
    if not near.all() or not np.all(np.abs(bounds) <= _LARGEST_COORDINATE):
        raise ValueError("a polygon is empty or lies outside the domain")
    if not np.all(shapely.is_valid(polygons)) or not np.all(shapely.area(polygons) > 0):
        raise ValueError("a polygon is not valid, or has no area")
    return polygons


def _of_merged(values: Array, place: Integers) -> Floats:
    """Return the numbers of merged nodes; zones that are one area must have the same."""
    if values.dtype != np.float64:
        raise TypeError("not numbers")
    result = np.empty(int(place.max()) + 1)
    result[place] = values
    if not np.array_equal(result[place], values):
        raise ValueError("zones that are one area have different numbers")
    return result
