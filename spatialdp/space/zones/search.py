"""How are zones found? By their codes, by the zones above them, and as parts of areas that cut the hierarchy.

Zones are nodes of a tree, and leaves have numbers of their own, in the order of their nodes. Codes that are asked for
are public questions, so an unknown or ambiguous one is an error that quotes it. Codes of records are looked up by
`Search.leaves_of_codes`, which says nothing about any of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from spatialdp._support.arrays import Booleans, Integers, Integers32, Objects, expand_ranges
from spatialdp._support.terminal import printable
from spatialdp.errors import ParameterError
from spatialdp.space.zones.chains import first_leaves
from spatialdp.trees.shape import TreeShape, sums
from spatialdp.wording import parameter

__all__ = ["Search"]


class Search:
    """What `spatialdp.Zones` knows about codes and nodes."""

    levels: tuple[str, ...]
    shape: TreeShape
    codes: Objects
    sets: Mapping[str, Objects]

    @property
    def n_leaves(self) -> int:
        """Number of zones that are not divided further."""
        return self.shape.n_leaves

    @cached_property
    def leaf_nodes(self) -> Integers:
        """The nodes that are leaves, in order; leaf k is node ``leaf_nodes[k]``."""
        return np.flatnonzero(self.shape.leaves)

    def leaves_of_codes(self, codes: Any) -> Integers32:
        """Return the leaf of each code in an Arrow array of text, and the number of leaves for any other code.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from spatialdp import Zones
        >>> zones = Zones.from_codes(["37063", "37001"], None, {"state": 2, "county": 5})
        >>> zones.leaves_of_codes(pa.array(["37063", "37", None], pa.large_string())).tolist()
        [1, 2, 2]
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        leaf_codes = pa.array(self.codes[self.leaf_nodes], pa.large_string())
        places = pc.index_in(codes, leaf_codes, skip_nulls=True)
        return np.asarray(pc.fill_null(places, self.n_leaves), dtype=np.int32)

    def check_leaf_codes(self) -> None:
        """Refuse to locate records by codes if two leaves, on different levels, have the same code.

        Examples
        --------
        >>> from spatialdp.space.zones.frame import Zones
        >>> Zones.from_codes(["37063", "37135"], None, {"state": 2, "county": 5}).check_leaf_codes()
        """
        import pandas as pd

        if not np.any(self.shape.leaves[: self.shape.offsets[-2]]):
            return  # all leaves are on one level, and no code occurs twice on a level
        codes = pd.Index(self.codes[self.leaf_nodes], dtype=object)
        if not codes.is_unique:
            raise ParameterError(
                f"two leaves have the code {printable(codes[codes.duplicated()][0])!r}, on different levels; records "
                "cannot be located by such codes. Use longer codes on the lower level, or locate records by points."
            )

    @cached_property
    def _index(self) -> Any:
        """The codes of all nodes as a hash table."""
        import pandas as pd

        return pd.Index(self.codes, dtype=object)  # as text of Arrow, millions of codes would be copied first

    def nodes_of(self, codes: Any, level: str | None = None) -> Integers:
        """Return the nodes of zones, by their codes.

        Parameters
        ----------
        codes : str or array-like of str
        level : str, optional
            The level of the zones; needed for a code that several levels have.

        Raises
        ------
        ParameterError
            If there is no such zone, or several levels have one.

        Examples
        --------
        >>> from spatialdp import Zones
        >>> zones = Zones.from_codes(["37063", "37001"], None, {"state": 2, "county": 5})
        >>> zones.nodes_of(["37063", "37"]).tolist()
        [2, 0]
        """
        import pandas as pd

        wanted = np.atleast_1d(np.asarray(codes, dtype=object))
        index, start = self._index, 0
        if level is not None or not index.is_unique:
            part = self.shape.level(self.depth_of(level)) if level is not None else slice(None)
            index, start = pd.Index(self.codes[part], dtype=object), part.start or 0
        if not index.is_unique:
            self._check_unambiguous(wanted)
            index = index[~index.duplicated()]
            return np.asarray(self._first_places[index.get_indexer(self._known(index, wanted))])
        return np.asarray(index.get_indexer(self._known(index, wanted, level)), dtype=np.int64) + start

    @cached_property
    def _first_places(self) -> Integers:
        return np.flatnonzero(~self._index.duplicated())

    def _known(self, index: Any, wanted: Objects, level: str | None = None) -> Objects:
        unknown = np.flatnonzero(index.get_indexer(wanted) < 0)
        if unknown.size:
            of = "" if level is None else f" of level {level!r}"
            raise ParameterError(
                f"there is no zone {printable(wanted[unknown[0]])!r}{of}; codes are text, and the levels are "
                f"{', '.join(self.levels)}. Correct the code{', or use areas_of' if self.sets else ''}."
            )
        return wanted

    def _check_unambiguous(self, wanted: Objects) -> None:
        import pandas as pd

        double = pd.Index(wanted).isin(self.codes[self._index.duplicated()])
        if double.any():
            code = wanted[np.flatnonzero(double)[0]]
            depths = self.shape.depth[np.flatnonzero(self.codes == code)]
            raise ParameterError(
                f"zone {printable(code)!r} is on the levels {' and '.join(self.levels[d] for d in depths)}; say which "
                f"one is meant: {parameter('level', self.levels[depths[0]])}."
            )

    def areas_of(self, code: str, level: str | None = None) -> Integers:
        """Return the nodes that make up one zone or area: the zone's own node, or a set of nodes that part it.

        Parameters
        ----------
        code : str
        level : str, optional
            The level of the zone, or the name of the areas that were given as `also`.

        Examples
        --------
        >>> import pandas as pd
        >>> areas = pd.DataFrame({"county": ["1", "1", "2"], "block": ["1a", "1b", "2a"], "city": ["C", None, "C"]})
        >>> from spatialdp import Zones
        >>> zones = Zones(areas, ["county", "block"], also="city")
        >>> zones.codes[zones.areas_of("C", "city")].tolist(), zones.codes[zones.areas_of("1b")].tolist()
        (['2', '1/C'], ['1b'])
        """
        sets = [each for each in self.sets if level in (None, each) and self._is_set(code, each)]
        if not sets:
            return self.nodes_of(code, level)
        if len(sets) > 1 or (level is None and code in self._index):
            raise ParameterError(
                f"{printable(code)!r} is more than one area; say which one is meant: {parameter('level', sets[0])}."
            )
        return self._top_nodes(np.asarray(self.sets[sets[0]] == code))

    def _is_set(self, code: str, level: str) -> bool:
        """Whether an area is a set of leaves, and no declared zone of the same level."""
        declared = self.codes[self.shape.level(self.depth_of(level))] if level in self.levels else np.empty(0)
        return bool((self.sets[level] == code).any() and not (declared == code).any())

    def _top_nodes(self, chosen: Booleans) -> Integers:
        """Return the fewest nodes that have just the chosen leaves below them."""
        full = sums(self.shape, chosen.astype(np.int64)) == sums(self.shape, np.ones(self.n_leaves, dtype=np.int64))
        full[1:] &= ~full[self.shape.parent[1:]]
        return np.flatnonzero(full)

    def depth_of(self, level: str) -> int:
        """Return the depth of a level, by its name.

        Examples
        --------
        >>> from spatialdp import Zones
        >>> Zones.from_codes(["37063", "37001"], None, {"state": 2, "county": 5}).depth_of("county")
        1
        """
        if level not in self.levels:
            raise ParameterError(f"there is no level {printable(level)!r}; the levels are {', '.join(self.levels)}.")
        return self.levels.index(level)

    @cached_property
    def _ranges(self) -> tuple[Integers, Integers, Integers]:
        """The leaves from left to right, and for each node where its own begin and how many they are."""
        sizes = sums(self.shape, np.ones(self.n_leaves, dtype=np.int64))
        left = first_leaves(self.shape)
        leaves: Integers = np.argsort(left[self.leaf_nodes])
        return leaves, left, sizes

    def leaves_of(self, nodes: npt.ArrayLike) -> Integers:
        """Return the leaves below some nodes, one node after the other, as numbers of leaves (not of nodes).

        Examples
        --------
        >>> from spatialdp import Zones
        >>> zones = Zones.from_codes(["37063", "37001", "11"], None, {"state": 2, "county": 5})
        >>> zones.leaves_of(zones.nodes_of("37")).tolist()
        [1, 2]
        """
        leaves, left, sizes = self._ranges
        numbers = np.atleast_1d(np.asarray(nodes, dtype=np.int64))
        _, places = expand_ranges(left[numbers], left[numbers] + sizes[numbers])
        found: Integers = leaves[places]
        return found

    def under(self, node: int, level: str | None = None) -> Integers:
        """Return the children of a node, or all nodes of a level that lie below it.

        Examples
        --------
        >>> from spatialdp import Zones
        >>> zones = Zones.from_codes(["37063", "37001", "11"], None, {"state": 2, "county": 5})
        >>> zones.codes[zones.under(0)].tolist(), zones.codes[zones.under(0, "county")].tolist()
        (['11', '37'], ['37001', '37063'])
        """
        nodes = np.array([node])
        depth = int(self.shape.depth[node])
        for _ in range((depth + 1 if level is None else self.depth_of(level)) - depth):
            first = self.shape.first_child[nodes]
            _, nodes = expand_ranges(first, first + self.shape.n_children[nodes])
        return nodes
