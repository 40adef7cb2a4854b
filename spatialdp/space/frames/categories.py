"""Which categories are counted? A public list, with groups of categories if there are any: an axis of a `Frame`.

A record is in at most one category. Its category is a text; one that is not on the list counts nowhere, silently,
because a message or a cell of its own would tell that such a record exists.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from spatialdp._support.arrays import Integers
from spatialdp._support.terminal import is_printable
from spatialdp.errors import ParameterError
from spatialdp.space.frames.nesting import level_nodes
from spatialdp.trees.shape import TreeShape
from spatialdp.wording import either, parameter, quoted

__all__ = ["Categories"]

_MOST = 2**20
_LONGEST = 200
_DEEPEST = 8
ROOT = "all categories"


class Categories:
    """A public list of categories as an axis of a table, such as kinds of incidents.

    Parameters
    ----------
    names : sequence of str, or nested mapping
        The categories. A mapping gives groups: ``{"theft": ["burglary", "shoplifting"], "assault": []}``; a name
        without anything below it is a category that records may have.
    levels : sequence of str, optional
        Names of the levels below the root, the coarsest first, such as ``("class", "kind")``; by default ``"groups"``
        and ``"categories"``.

    Raises
    ------
    ParameterError
        If a name occurs twice, or is not a text.

    Privacy
    -------
    The list is public. Do not make it of the categories that occur in the records: a rare one would show.

    Examples
    --------
    >>> from spatialdp.space.frames.categories import Categories
    >>> kinds = Categories({"theft": ["burglary", "shoplifting"], "assault": []})
    >>> kinds.size, kinds.labels()
    (3, ['assault', 'burglary', 'shoplifting'])
    >>> kinds.pick("theft").tolist()
    [1, 2]
    """

    def __init__(self, names: Sequence[str] | Mapping[str, Any], levels: Sequence[str] | None = None) -> None:
        rows = _rows(names)
        self.nodes = tuple(name for row in rows for name, _, _ in row)
        if not self.nodes or len(self.nodes) > _MOST or len(rows) > _DEEPEST:
            raise ParameterError(
                f"the categories are {'none' if not self.nodes else 'too many, or too deeply grouped'}; give from 1 to "
                f"{_MOST:,} names in at most {_DEEPEST} levels."
            )
        _check_names(self.nodes)
        counts = [len(rows[0]), *(children for row in rows for _, _, children in row)]
        sizes = [1, *(len(row) for row in rows)]
        self.shape = TreeShape(np.concatenate([[0], np.cumsum(sizes)]), np.array(counts, dtype=np.int32))
        self.names = (ROOT, *_level_names(levels, len(rows)))

    def __repr__(self) -> str:
        return f"Categories({self.size} categories)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Categories) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash((self.nodes, self.names))

    @property
    def size(self) -> int:
        """Number of categories that records may have."""
        return self.shape.n_leaves

    @property
    def counted(self) -> tuple[bool, ...]:
        """Which levels may be measured: all but the root."""
        return (False, *(True for _ in self.names[1:]))

    @cached_property
    def _node(self) -> dict[str, int]:
        return {name: place + 1 for place, name in enumerate(self.nodes)}

    def labels(self) -> list[str]:
        """Return the categories in the order of the axis.

        Examples
        --------
        >>> Categories(["theft", "fraud"]).labels()
        ['theft', 'fraud']
        """
        return [self.nodes[node - 1] for node in np.flatnonzero(self.shape.leaves).tolist()]

    def parts(self, level: str) -> Integers:
        """Return the nodes of `shape` that the parts of a level are, in order.

        Examples
        --------
        >>> kinds = Categories({"theft": ["burglary", "shoplifting"], "assault": []})
        >>> kinds.parts("groups").tolist()
        [1, 2]
        """
        return level_nodes(self.shape, self.names.index(level))

    def part_labels(self, level: str) -> list[str]:
        """Return the names of the parts of a level, in order; categories of levels above are among them.

        Examples
        --------
        >>> kinds = Categories({"theft": ["burglary", "shoplifting"], "assault": []})
        >>> kinds.part_labels("groups")
        ['theft', 'assault']
        """
        if level == ROOT:
            return [level]
        return [self.nodes[node - 1] for node in self.parts(level).tolist()]

    def pick(self, query: Any) -> Integers:
        """Return the categories that a public query means: those of a name, or of several names in a tuple.

        Examples
        --------
        >>> kinds = Categories({"theft": ["burglary", "shoplifting"], "assault": []})
        >>> kinds.pick(("burglary", "assault")).tolist()
        [0, 1]
        """
        names = query if isinstance(query, tuple) else (query,)
        unknown = [name for name in names if name not in self._node] if names else [query]
        if unknown:
            raise ParameterError(
                f"the category {quoted(unknown[0])} is not on the public list; give one of the names that the frame "
                f"was made with, such as {self.nodes[0]!r}."
            )
        chosen = np.zeros(self.shape.n_nodes, dtype=bool)
        chosen[[self._node[name] for name in names]] = True
        for depth in range(self.shape.height):
            children = self.shape.level(depth + 1)
            chosen[children] |= self.shape.to_children(depth, chosen[self.shape.level(depth)])
        return np.flatnonzero(chosen[self.shape.leaves])

    def to_json(self) -> dict[str, Any]:
        """Return plain values for JSON, from which `from_json` makes the same axis.

        Examples
        --------
        >>> Categories(["theft", "fraud"]).to_json()["children"]
        [2, 0, 0]
        """
        return {
            "kind": "categories",
            "names": list(self.nodes),
            "children": self.shape.n_children.tolist(),
            "levels": list(self.names[1:]),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Categories:
        """Rebuild the axis that `to_json` wrote; raise ValueError, TypeError or KeyError for anything else.

        Examples
        --------
        >>> Categories.from_json(Categories(["theft", "fraud"]).to_json())
        Categories(2 categories)
        """
        names, children = list(data["names"]), list(data["children"])
        if len(children) != len(names) + 1 or len(names) > _MOST or not all(isinstance(each, str) for each in names):
            raise ValueError("not the names of a tree")
        nested: list[dict[str, Any]] = [{} for _ in children]
        following = 1
        for node, count in enumerate(children):
            if isinstance(count, bool) or not isinstance(count, int) or not 0 <= count <= len(children) - following:
                raise ValueError("not the children of a tree")
            for child in range(following, following + count):
                nested[node][names[child - 1]] = nested[child]
            following += count
        if following != len(children):
            raise ValueError("not the children of a tree")
        try:
            return cls(nested[0], list(data["levels"]))
        except ParameterError:
            raise ValueError("not a list of categories") from None


Row = list[tuple[str, int, int]]  # name, place of the parent in the row above, number of children


def _rows(names: Any) -> list[Row]:
    """Return the levels of a list or of a nested mapping, each as its names in order."""
    rows: list[Row] = []
    below: list[Any] = [names]
    while any(len(_members(part)) for part in below) and len(rows) <= _DEEPEST:
        row, deeper = [], []
        for parent, part in enumerate(below):
            for name, inner in _members(part).items():
                row.append((name, parent, len(_members(inner))))
                deeper.append(inner)
        rows.append(row)
        below = deeper
    return rows


def _members(part: Any) -> dict[Any, Any]:
    """Return what a mapping or a list holds, with what is below each name."""
    if part is None:
        return {}
    if isinstance(part, Mapping):
        return dict(part)
    if isinstance(part, str) or not isinstance(part, Sequence):
        raise ParameterError(
            f"the categories contain {quoted(part)} where a list is needed; give lists of names, or mappings of a name "
            "to the list of names below it."
        )
    if len(set(map(str, part))) != len(part):
        raise ParameterError("a category occurs twice in a list; give each name once.")
    return dict.fromkeys(part)


def _check_names(names: tuple[Any, ...]) -> None:
    wrong = [name for name in names if not isinstance(name, str) or not 0 < len(name) <= _LONGEST]
    if wrong or not all(is_printable(name) for name in names):
        raise ParameterError(
            f"a category is {quoted(wrong[0]) if wrong else 'not printable'}; give texts of 1 to {_LONGEST} characters "
            f"in one line{either('. Numbers become texts with str()', '')}."
        )
    if len(set(names)) < len(names):
        twice = next(name for place, name in enumerate(names) if name in names[:place])
        raise ParameterError(
            f"the category {quoted(twice)} occurs twice, but a record is in one category only; give each name once."
        )


def _level_names(levels: Sequence[str] | None, height: int) -> tuple[str, ...]:
    if levels is None:
        groups = ["groups"] if height == 2 else [f"groups of level {depth}" for depth in range(1, height)]
        return (*groups, "categories")[-height:]
    names = (levels,) if isinstance(levels, str) else tuple(levels)
    if len(names) != height or len(set(names)) < height or not all(isinstance(name, str) and name for name in names):
        raise ParameterError(
            f"{parameter('levels')} are {quoted(names)}, but there are {height} levels of categories; give one name "
            "for each."
        )
    return names
