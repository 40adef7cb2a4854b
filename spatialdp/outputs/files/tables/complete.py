"""How is a released table stored completely, and how is a file checked that claims to hold one? By the rules of `load`.

The file is Parquet with the estimates of all cells in the order of the frame, space changing fastest. The header holds
the frame, the shares of the budget of each level, the variances of the groups and the privacy statement. Zones have
their polygons in the first rows of a column `area`, so that a release that is loaded can draw maps. They are not the
places of the rows, and programs for maps do not see them. Earlier files have codes alone.

The estimates are neither compressed nor dictionary-encoded, so that the size of a file is public. Files come from
anywhere: every number is checked before it is used, and none may ask for memory that the file does not fill itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

import numpy as np

from spatialdp._support.arrays import Array, Floats, Objects
from spatialdp._support.json_values import amount, flag, fraction, text, texts, whole
from spatialdp._support.terminal import is_printable
from spatialdp.estimates.tables.counts import TableCounts
from spatialdp.estimates.tables.noise import TableNoise
from spatialdp.outputs.files.frames.zones import check_codes, leaf_polygons
from spatialdp.outputs.files.limits import HIGHEST_TREE, WIDEST_STEP, check_estimates, check_moments
from spatialdp.space.domain import LARGEST_GRID, Domain, most_cells
from spatialdp.space.frames.categories import Categories
from spatialdp.space.frames.cells import Cells
from spatialdp.space.frames.frame import LARGEST_TABLE, Frame
from spatialdp.space.frames.time import Time
from spatialdp.space.zones.frame import Zones
from spatialdp.transforms.tree_axis import TreeAxis
from spatialdp.trees.shape import TreeShape

__all__ = ["areas_of", "areas_of_frame", "frame_from_json", "frame_to_json", "rebuild_table", "table_header"]

_MOST_AXES = 8
_MOST_LEVELS = 16
_MOST_GROUPS = 2**12
_LONGEST_TEXT = 100


def table_header(estimate: TableCounts) -> dict[str, Any]:
    """Return everything about a table that its column of estimates does not hold, as JSON values."""
    noise = estimate.noise
    return {
        "kind": estimate.kind,
        "frame": frame_to_json(estimate.frame),
        "shares": {
            name: [str(share) for share in axis.shares]
            for name, axis in zip(estimate.frame.axes, noise.axes, strict=True)
        },
        "power": noise.axes[0].power,
        "variances": noise.variances.ravel().tolist(),
        "kurtosis": noise.kurtosis.ravel().tolist(),
        "step": noise.step,
        "biased": estimate.biased,
    }


def areas_of(estimate: TableCounts) -> Objects | None:
    """Return the polygons of a table's zones; None for grids, and for zones that are codes alone."""
    return areas_of_frame(estimate.frame)


def areas_of_frame(frame: Frame) -> Objects | None:
    """Return the polygons of a frame's zones; None for grids, and for zones that are codes alone."""
    areas: Objects | None = None if isinstance(frame.space, Cells) else frame.space.zones.geometry
    return areas


def rebuild_table(
    header: Mapping[str, Any],
    columns: Mapping[str, Array],
    domain: Domain | None,
    areas: list[bytes | None] | None = None,
) -> TableCounts:
    """Rebuild a table from its header and its column; raise ValueError, KeyError or TypeError if they are not valid.

    Parameters
    ----------
    header, columns, domain
        As they are in the file.
    areas : list of bytes, optional
        The polygons of zones, which earlier files do not have.
    """
    values = columns["estimate"]
    check_estimates(values)
    frame = frame_from_json(header["frame"], domain, values.size, areas)
    if frame.n_cells != values.size:
        raise ValueError("the estimates are not those of the frame")
    power = whole(header["power"], 1, 2)
    axes = tuple(_axis(frame, name, header["shares"][name], power) for name in frame.axes)
    shape = tuple(axis.n_groups for axis in axes)
    if prod(shape) > _MOST_GROUPS:
        raise ValueError("more groups than levels make")
    variances, kurtosis = (_moments(header[name], shape) for name in ("variances", "kurtosis"))
    check_moments(variances, kurtosis)
    noise = TableNoise(axes, variances, kurtosis, amount(header["step"], WIDEST_STEP))
    return TableCounts(frame, values.reshape(frame.shape), noise, flag(header["biased"]))


def _moments(values: Any, shape: tuple[int, ...]) -> Floats:
    numbers = [amount(value) for value in values[: _MOST_GROUPS + 1]]
    if len(numbers) != prod(shape):
        raise ValueError("the noise is not that of the groups")
    return np.array(numbers).reshape(shape)


def _axis(frame: Frame, name: str, shares: Any, power: int) -> TreeAxis:
    axis = frame.axes[name]
    fractions = tuple(fraction(share) for share in shares[: _MOST_LEVELS + 1])
    if len(fractions) != len(axis.names) or sum(fractions) != 1 or not fractions[-1]:
        raise ValueError("the shares are not those of the levels")
    return TreeAxis(axis.shape, fractions, power, getattr(axis, "spans", None))


# --- frames ----------------------------------------------------------------------------------------


def frame_to_json(frame: Frame) -> dict[str, Any]:
    """Return a frame as JSON values, without the domain."""
    axes = {name: axis for name, axis in frame.axes.items() if name != frame.space_name}
    return {
        "space": _space_to_json(frame.space),
        "axes": [{"name": name, **_to_json(axis)} for name, axis in axes.items()],
    }


def frame_from_json(
    data: Mapping[str, Any], domain: Domain | None, filled: int, areas: list[bytes | None] | None = None
) -> Frame:
    """Rebuild a frame whose cells fill so many rows of a file; raise ValueError, KeyError or TypeError otherwise."""
    makers: dict[str, Callable[[Mapping[str, Any]], Any]] = {"time": _time, "categories": Categories.from_json}
    if len(data["axes"]) >= _MOST_AXES or filled > LARGEST_TABLE:
        raise ValueError("too many axes or cells")
    axes = {text(each["name"]): makers[each["kind"]](each) for each in data["axes"]}
    if len(axes) != len(data["axes"]):
        raise ValueError("two axes have one name")
    space = data["space"]
    if space["kind"] == "zones":
        return Frame(_zones(space, filled, domain, areas), **axes)
    if domain is None:
        raise ValueError("a grid needs a domain")
    nx, ny = (whole(side, 1, LARGEST_GRID) for side in space["shape"])
    if space["kind"] != "grid" or nx * ny > most_cells(filled):
        raise ValueError("the grid is far larger than the cells that fill it")
    blocks = tuple(whole(side, 2, LARGEST_GRID) for side in space["blocks"][:_MOST_LEVELS])
    return Frame(domain.grid((nx, ny)), blocks=blocks, **axes)


def _to_json(axis: Any) -> dict[str, Any]:
    values: dict[str, Any] = axis.to_json()
    return values


def _space_to_json(space: Any) -> dict[str, Any]:
    """Return the axis of space as JSON values; zones without their areas, which are in a column."""
    if isinstance(space, Cells):
        return {"kind": "grid", "shape": list(space.grid.shape), "blocks": list(space.blocks)}
    zones = space.zones
    return {
        "kind": "zones",
        "levels": list(zones.levels),
        "name": zones.name,
        "codes": zones.codes.tolist(),
        "offsets": zones.shape.offsets.tolist(),
        "children": zones.shape.n_children.tolist(),
    }


def _zones(data: Mapping[str, Any], filled: int, domain: Domain | None, areas: list[bytes | None] | None) -> Zones:
    """Rebuild zones, with their areas if there are any, of which there are no more than rows of the file."""
    codes = np.empty(len(data["codes"]), dtype=object)
    codes[:] = [text(code) for code in data["codes"]]
    children = np.array([whole(each, 0, codes.size) for each in data["children"]], dtype=np.int32)
    offsets = np.array([whole(each, 0, codes.size) for each in data["offsets"][: HIGHEST_TREE + 3]], dtype=np.int64)
    shape = TreeShape(offsets, children)
    levels = [_label(level) for level in data["levels"][: HIGHEST_TREE + 2]]
    if len(levels) != shape.height + 1 or len(set(levels)) < len(levels) or shape.n_leaves > filled:
        raise ValueError("the levels are not those of the zones, or the zones not those of the rows")
    check_codes(codes, shape)
    name = None if data["name"] is None else _label(data["name"])
    if areas is None:
        return Zones.published(levels, shape, codes, name=name)
    if domain is None or domain.region is not None or len(areas) != shape.n_leaves:
        raise ValueError("the polygons are not those of the zones")
    polygons = leaf_polygons(areas, domain)
    return Zones.published(levels, shape, codes, geometry=polygons, crs=domain.crs, domain=domain, name=name)


def _label(value: object) -> str:
    label = text(value)
    if not 0 < len(label) <= _LONGEST_TEXT or not is_printable(label):
        raise ValueError("a name is not a text for people")
    return label


def _time(data: Mapping[str, Any]) -> Time:
    limits = texts(data, "start", "stop", "step", "zone")
    levels = tuple(text(level) for level in data["levels"][:_MOST_LEVELS])
    fold = None if data["fold"] is None else text(data["fold"])
    if any(len(each) > _LONGEST_TEXT for each in (*limits, *levels)):
        raise ValueError("a text is far longer than times are")
    start, stop, step, zone = limits
    return Time(start, stop, step, zone, levels, fold)
