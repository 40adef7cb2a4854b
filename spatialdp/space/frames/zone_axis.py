"""How are zones the axis of space of a table? As the leaves of the merged tree, in which chains are single nodes.

The cells of the axis are the leaves of the zones, in the order of the merged tree (`space.zones.chains`), which may
differ from that of the zones themselves; `place_of_leaf` goes from one to the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from spatialdp._support.arrays import Integers, Integers32
from spatialdp.errors import ParameterError
from spatialdp.space.domain import Domain
from spatialdp.space.frames.nesting import level_nodes
from spatialdp.space.zones.chains import Chains
from spatialdp.space.zones.frame import Zones
from spatialdp.trees.shape import TreeShape
from spatialdp.wording import parameter, quoted

__all__ = ["ZoneAxis"]


@dataclass(frozen=True, eq=False)
class ZoneAxis:
    """The leaves of a hierarchy of zones as an axis.

    Parameters
    ----------
    zones : Zones

    Examples
    --------
    >>> axis = ZoneAxis(Zones.from_codes(["37063", "37001", "11"], None, {"state": 2, "county": 5}))
    >>> axis.labels(), axis.pick(("37", "11")).size
    (['11', '37001', '37063'], 3)
    """

    zones: Zones

    @property
    def _chains(self) -> Chains:
        return self.zones.chains

    @property
    def size(self) -> int:
        """Number of leaves."""
        return self.zones.n_leaves

    @property
    def domain(self) -> Domain | None:
        """The bounds of all zones; None without geometries."""
        return self.zones.domain

    @property
    def shape(self) -> TreeShape:
        """The merged tree."""
        return self._chains.shape

    @cached_property
    def spans(self) -> Integers:
        """The first and the last level that each node of `shape` stands for."""
        return np.stack([self._chains.first, self._chains.last])

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the levels, the root first."""
        return self.zones.levels

    @property
    def counted(self) -> tuple[bool, ...]:
        """Which levels may be measured: all of them."""
        return (True,) * len(self.names)

    @cached_property
    def place_of_leaf(self) -> Integers32:
        """The place on the axis of each leaf of the zones, and `size` for a record in none of them."""
        of_node = np.cumsum(self.shape.leaves) - 1
        places = of_node[self._chains.place[self.zones.leaf_nodes]]
        return np.append(places, self.size).astype(np.int32)

    @cached_property
    def leaf_of_place(self) -> Integers:
        """The leaf of the zones at each place of the axis."""
        return np.argsort(self.place_of_leaf[:-1])

    def labels(self) -> list[str]:
        """Return the codes of the leaves, in the order of the axis."""
        codes: list[str] = self.zones.codes[self.zones.leaf_nodes][self.leaf_of_place].tolist()
        return codes

    def part_labels(self, level: str) -> list[str]:
        """Return the codes of the zones of a level; leaves of levels above are among them."""
        codes: list[str] = self.zones.codes[self._level(level)].tolist()
        return codes

    def parts(self, level: str) -> Integers:
        """Return the nodes of `shape` that the zones of a level are, in order."""
        return self._chains.place[self._level(level)]

    def nodes_of(self, codes: Any) -> Integers:
        """Return the nodes of `shape` that zones are, by their codes."""
        return self._chains.place[self.zones.nodes_of(codes)]

    def pick(self, query: Any) -> Integers:
        """Return the leaves that a public query means: those of a zone, or of several zones in a tuple together."""
        codes = list(query) if isinstance(query, tuple) else [query]
        if not codes or not all(isinstance(code, str) for code in codes):
            raise ParameterError(
                f"{parameter('zone')} is {quoted(query)}; give the code of a zone as text, a tuple of codes that are "
                "taken together, or a list of these."
            )
        leaves = self.zones.leaves_of(self.zones.nodes_of(codes))
        return np.unique(self.place_of_leaf[leaves]).astype(np.int64)

    def _level(self, level: str) -> Integers:
        return level_nodes(self.zones.shape, self.zones.depth_of(level))
