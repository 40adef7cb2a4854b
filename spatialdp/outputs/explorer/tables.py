"""Which maps of a table does the explorer's page show? One for each choice of a time, of a category, of other parts.

The page has the map of all records and, for each other map, the numbers that differ from it: estimates, noise and the
scale of colours. Every number comes from the map itself (`estimates.tables.slices`), so the page adds nothing up. Equal
arrays, such as the noise of all hours, are stored once.

A page offers the parts of all levels of each axis, as long as it does not grow too large. Otherwise the finest levels
are left out, first where there are most parts, and the page says so.
"""

from __future__ import annotations

import html
import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import singledispatch
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from spatialdp.estimates.base import Estimate
from spatialdp.estimates.tables.slices import map_of
from spatialdp.estimates.zones.counts import ZoneCounts
from spatialdp.outputs.explorer.data import LARGEST_PAGE, estimate_data, packed
from spatialdp.outputs.explorer.zones import drawn_depth, zone_view
from spatialdp.outputs.maps.cells import map_cells, measured
from spatialdp.outputs.maps.colours import SOFT
from spatialdp.space.frames.selection import FrameAxis, of_nodes

if TYPE_CHECKING:
    from spatialdp.release import Release
    from spatialdp.table_release import TableRelease

__all__ = ["MOST_MAPS", "PartsOfAxis", "choices_in_html", "parts_of_table", "table_maps"]

Json = dict[str, Any]

_MIDNIGHT = re.compile(r"\d{4}-\d{2}-\d{2}T00:00[+-]\d{2}:\d{2}")
MOST_MAPS = 400  # more would take long to make, and nobody looks at them one by one


@dataclass(frozen=True)
class PartsOfAxis:
    """The parts of an axis that a reader can choose, level by level.

    Attributes
    ----------
    name : str
    axis : FrameAxis
    levels : int
        How many levels are offered, the root first.
    """

    name: str
    axis: FrameAxis
    levels: int

    @property
    def left_out(self) -> bool:
        """Whether the axis has finer parts than those."""
        return self.levels < len(self.axis.names)

    @property
    def by_level(self) -> list[tuple[str, list[tuple[int, str]]]]:
        """For each level its name, and the node and the label of each part that no level above has."""
        known: set[int] = set()
        levels = []
        for level in self.axis.names[: self.levels]:
            pairs = zip(self.axis.parts(level).tolist(), self.axis.part_labels(level), strict=True)
            new = [(node, label) for node, label in pairs if node not in known]
            known |= {node for node, _ in new}
            levels.append((level, new))
        return levels

    @property
    def nodes(self) -> list[int]:
        """The nodes of all parts, in the order in which they are offered."""
        return [node for _, parts in self.by_level for node, _ in parts]


def parts_of_table(release: TableRelease, values: int) -> list[PartsOfAxis]:
    """Return what can be chosen along each axis beside space, given the number of values of one map.

    Examples
    --------
    >>> import spatialdp as sdp
    >>> kinds = sdp.Categories({"theft": ["burglary", "shoplifting"], "assault": []})
    >>> frame = sdp.Frame(sdp.Domain((0, 0, 1, 1)).grid((2, 2)), kind=kinds)
    >>> release = sdp.Table().release(sdp.Rows([], kind=[]), frame, epsilon=1)
    >>> parts_of_table(release, 4)[0].by_level[1:]
    [('groups', [(1, 'theft'), (2, 'assault')]), ('categories', [(3, 'burglary'), (4, 'shoplifting')])]
    """
    frame = release.frame
    offered = [PartsOfAxis(name, frame.axes[name], len(frame.axes[name].names)) for name in frame.names[1:]]
    most = min(MOST_MAPS, LARGEST_PAGE // max(values, 1))
    while math.prod(sizes := [len(each.nodes) for each in offered]) > most and max(sizes) > 1:
        longest = int(np.argmax(sizes))
        offered[longest] = replace(offered[longest], levels=offered[longest].levels - 1)
    return offered


def table_maps(release: TableRelease, first: Release, base: Json, offered: Sequence[PartsOfAxis]) -> Json:
    """Return what the page needs to know of all maps: how many parts each axis has, and what differs from the first.

    Parameters
    ----------
    release : TableRelease
    first : Release
        The map of everything.
    base : dict
        `estimate_data` of that map.
    offered : sequence of PartsOfAxis
    """
    pool: dict[str, int] = {}
    arrays: list[Any] = []

    def place_of(value: Any) -> int:
        key = json.dumps(value)
        if key not in pool:
            pool[key] = len(arrays)
            arrays.append(value)
        return pool[key]

    maps = []
    for nodes in product(*(each.nodes for each in offered)):  # axes beside space are in the order of arrays
        selections = [of_nodes(each.axis.shape, np.array([node])) for each, node in zip(offered, nodes, strict=True)]
        estimate: Any = map_of(release.estimate, selections)
        values = {name: value for name, value in _numbers(estimate).items() if value != base[name]}
        changed = {name: place_of(value) for name, value in values.items()}
        maps.append({"estimate": changed, **scales(estimate, first.privacy.counted)})
    return {"sizes": [len(each.nodes) for each in offered], "pool": arrays, "maps": maps}


@singledispatch
def _numbers(estimate: Estimate) -> Json:
    """Return what may differ from one map of a table to another."""
    return estimate_data(estimate)


@_numbers.register
def _(estimate: ZoneCounts) -> Json:
    """The polygons of zones are those of the first map."""
    count = int(estimate.zones.shape.offsets[drawn_depth(estimate) + 1])
    sums = estimate.of_nodes(np.arange(count))
    noise = {"variances": sums.variance, "kurtosis": sums.kurtosis}
    return {
        "values": packed(sums.values, "f8"),
        **{name: None if estimate.biased else packed(values, "f8") for name, values in noise.items()},
    }


@singledispatch
def scales(estimate: Estimate, counted: str) -> Json:
    """Return the scale of colours of a map."""
    cells = measured(map_cells(estimate), counted=counted)
    high = cells.high(cells.values)
    return {"scale": {"soft": high * SOFT, "high": high}}


@scales.register
def _(estimate: ZoneCounts, counted: str) -> Json:
    return {"scales": zone_view(estimate, counted)["scales"]}


def choices_in_html(offered: Sequence[PartsOfAxis]) -> str:
    """Return the choices of the page, the whole of each axis first; nothing for a table of space alone."""
    return "".join(_choice(each) for each in offered if len(each.nodes) > 1 or each.left_out)


def _choice(each: PartsOfAxis) -> str:
    groups = "".join(
        f'<optgroup label="{html.escape(level)}">{_options(parts)}</optgroup>' if depth else _options(parts)
        for depth, (level, parts) in enumerate(each.by_level)
        if parts
    )
    note = ""
    if each.left_out:
        finer = ", ".join(each.axis.names[each.levels :])
        note = f'<p class="note">Not on this page, but in the release: {html.escape(f"{each.name} by {finer}")}.</p>'
    name = html.escape(each.name.replace("_", " ").capitalize())
    return f'<label class="choice">{name} <select class="part" autocomplete="off">{groups}</select></label>{note}'


def _options(parts: Sequence[tuple[int, str]]) -> str:
    labels = [label for _, label in parts]
    if all(map(_MIDNIGHT.fullmatch, labels)):  # days, weeks and months are known by their dates
        labels = [label.partition("T")[0] for label in labels]
    return "".join(f"<option>{html.escape(label)}</option>" for label in labels)
