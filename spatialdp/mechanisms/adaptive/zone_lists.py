"""How does a list of zones become a release? As counts of a frame of its own, which holds the listed zones alone.

A frame of millions of codes is searched like a grid of very many cells (`sparse`): the leaves are numbered, and those
whose noisy count passes the threshold are listed. The list is published, so everything that is made of it is
post-processing: a frame of the listed leaves and of the zones above them, whose counts are sums over listed leaves.
Files, maps and queries are then those of zones. A zone that is not listed is not in the frame of the release.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spatialdp._support.arrays import Array, Booleans, Floats, Integers
from spatialdp.estimates.zones.counts import LISTED, ZoneCounts
from spatialdp.privacy.noise.laws import NoiseLaw
from spatialdp.privacy.unit import Person
from spatialdp.records.codes import Codes
from spatialdp.records.points import Points
from spatialdp.records.zones import count_zones
from spatialdp.space.zones.frame import Zones
from spatialdp.trees.shape import TreeShape

__all__ = ["ZoneLeaves", "listed_counts", "listed_zones"]


@dataclass(frozen=True)
class ZoneLeaves:
    """The leaves of a frame of zones, as numbered places that may be listed.

    Attributes
    ----------
    zones : Zones
    """

    zones: Zones

    @property
    def n_cells(self) -> int:
        """Number of leaves."""
        return self.zones.n_leaves

    @property
    def n_numbers(self) -> int:
        """Number of leaves; they have the numbers below this."""
        return self.zones.n_leaves

    def inside(self, numbers: Integers) -> Booleans:
        """Return which leaves belong to the frame: all of them."""
        return np.ones(numbers.size, dtype=bool)

    def occupied(self, records: Points | Codes, person: Person | None) -> tuple[Integers, Integers]:
        """Return the numbers of the leaves with records, in order, and their exact counts."""
        counts = count_zones(records, self.zones, person)
        occupied = np.flatnonzero(counts)
        return occupied, counts[occupied]


def listed_zones(zones: Zones, leaves: Integers) -> Zones:
    """Return the frame of some leaves, given by number and in order, and of the zones above them.

    Examples
    --------
    >>> zones = Zones.from_codes(["37063", "37001", "45001"], None, {"state": 2, "county": 5})
    >>> listed_zones(zones, np.array([0]))
    Zones('listed zones', all zones: 1, state: 1, county: 1)
    >>> listed_zones(zones, np.array([], dtype=int))
    Zones('listed zones', all zones: 1)
    """
    shape = zones.shape
    kept = np.zeros(shape.n_nodes, dtype=bool)
    kept[zones.leaf_nodes[leaves]] = True
    for depth in reversed(range(1, shape.height + 1)):
        level = np.arange(*shape.offsets[depth : depth + 2])
        kept[shape.parent[level[kept[level]]]] = True
    kept[0] = True
    children = np.bincount(shape.parent[1:][kept[1:]], minlength=shape.n_nodes)
    sizes = np.array([np.count_nonzero(kept[shape.level(depth)]) for depth in range(shape.height + 1)])
    sizes = sizes[sizes > 0]  # levels below the lowest listed leaf are empty
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    some = leaves if leaves.size else np.arange(0)
    geometry = None if zones.geometry is None or not leaves.size else zones.geometry[some]
    return Zones.published(
        zones.levels[: sizes.size],
        TreeShape(offsets, children[kept].astype(shape.n_children.dtype)),
        zones.codes[kept],
        geometry=geometry,
        crs=zones.crs,
        domain=None if geometry is None else zones.domain,
        name=LISTED if zones.name is None else f"{LISTED} of {zones.name}",
        sets={name: areas[some] for name, areas in zones.sets.items()} if leaves.size else None,
    )


def listed_counts(zones: Zones, leaves: Integers, values: Array, law: NoiseLaw, *, biased: bool) -> ZoneCounts:
    """Return the counts of listed leaves; of an empty list the root alone is left, whose count is known to be 0."""
    frame = listed_zones(zones, leaves)
    shape, place = frame.chains.shape, frame.chains.place
    counts, variances, kurtosis = np.zeros(shape.n_nodes), np.full(shape.n_nodes, np.inf), np.zeros(shape.n_nodes)
    if not leaves.size:
        return ZoneCounts(frame, counts, np.zeros(1), kurtosis, law.step, consistent=True, biased=biased)
    at = place[frame.leaf_nodes]
    counts[at], variances[at], kurtosis[at] = values, law.variance, law.kurtosis
    return ZoneCounts(frame, _summed(shape, counts), variances, kurtosis, law.step, consistent=True, biased=biased)


def _summed(shape: TreeShape, counts: Floats) -> Floats:
    """Return counts in which every node above the leaves has the sum of its children's."""
    values = counts.copy()
    for depth in reversed(range(shape.height)):
        level = shape.level(depth)
        sums = shape.family_sums(depth, values[shape.level(depth + 1)])
        values[level] = np.where(shape.n_children[level] > 0, sums, values[level])
    return values
