"""How is a release by a network stored completely, and how is a file checked that claims to hold one? See `load`.

The file is Parquet with one column: the measured counts of all tables, one table after the other. The header holds the
frame, the families, the number of records, the noise and the privacy statement. Which tables there are was paid for.
Files come from anywhere: every number is checked before it is used.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from spatialdp._support.arrays import Array
from spatialdp._support.json_values import amount, text, whole
from spatialdp.estimates.flows.fit import CountNoise
from spatialdp.estimates.networks.counts import LARGEST_MODEL, NetworkCounts
from spatialdp.estimates.networks.model import Family, table_shape
from spatialdp.outputs.files.limits import WIDEST_STEP, check_estimates, check_moments
from spatialdp.outputs.files.tables.complete import frame_from_json, frame_to_json
from spatialdp.space.domain import Domain
from spatialdp.space.frames.frame import Frame

__all__ = ["network_columns", "network_header", "rebuild_network"]

_MOST_AXES = 8


def network_header(estimate: NetworkCounts) -> dict[str, Any]:
    """Return everything about a network that its column of counts does not hold, as JSON values."""
    return {
        "kind": estimate.kind,
        "frame": frame_to_json(estimate.frame),
        "families": [
            {"child": family.child, "parents": [list(parent) for parent in family.parents]}
            for family in estimate.families
        ],
        "counted": estimate.counted,
        "noise": {
            name: {"variance": law.variance, "kurtosis": law.kurtosis, "step": law.step}
            for name, law in (("cell", estimate.cell), ("whole", estimate.whole))
        },
    }


def network_columns(estimate: NetworkCounts) -> dict[str, Array]:
    """Return the counts of all tables in one column."""
    return {"estimate": np.concatenate([table.ravel() for table in estimate.tables])}


def rebuild_network(header: Mapping[str, Any], columns: Mapping[str, Array], domain: Domain | None) -> NetworkCounts:
    """Rebuild a network from its column and header; raise ValueError, KeyError or TypeError if they are not valid."""
    values = columns["estimate"]
    check_estimates(values)
    frame = frame_from_json(header["frame"], domain, values.size)
    if frame.n_cells > LARGEST_MODEL:
        raise ValueError("the frame is larger than any that is modelled")
    families = tuple(_family(each, frame) for each in header["families"][: _MOST_AXES + 1])
    _check_order(families, frame)
    shapes = [table_shape(frame, family) for family in families]
    ends = np.cumsum([prod(shape) for shape in shapes])
    if ends[-1] != values.size:
        raise ValueError("the counts are not those of the tables")
    parts = np.split(values, ends[:-1])
    tables = tuple(part.reshape(shape) for part, shape in zip(parts, shapes, strict=True))
    counted = np.array([header["counted"]], dtype=np.float64)
    check_estimates(counted)
    cell, total = (_noise(header["noise"][name]) for name in ("cell", "whole"))
    return NetworkCounts(frame, families, tables, counted.item(), cell, total)


def _family(data: Mapping[str, Any], frame: Frame) -> Family:
    pairs = [(text(name), level) for name, level in data["parents"][:_MOST_AXES]]
    parents = tuple((name, whole(level, 1, len(frame.axes[name].names) - 1)) for name, level in pairs)
    return Family(text(data["child"]), parents)


def _check_order(families: tuple[Family, ...], frame: Frame) -> None:
    """Refuse families that are not one for each axis, or whose parents do not come before them, each once."""
    children = [family.child for family in families]
    if sorted(children) != sorted(frame.axes):
        raise ValueError("the families are not those of the axes")
    for place, family in enumerate(families):
        names = [name for name, _ in family.parents]
        if len(set(names)) < len(names) or not set(names) <= set(children[:place]):
            raise ValueError("the parents do not come before the child")


def _noise(data: Mapping[str, Any]) -> CountNoise:
    variance, kurtosis = amount(data["variance"]), amount(data["kurtosis"])
    check_moments(np.array(variance), np.array(kurtosis))
    return CountNoise(variance, kurtosis, amount(data["step"], WIDEST_STEP))
