"""How is a value made coarser, step by step? Taxonomies: every value has a label at each level, and levels nest.

Level 0 holds the values themselves. Each level is a function of the one below: two values with one label at a level
have one label at all higher levels. Taxonomies are public and must not be made from the records.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from spatialdp._support.arrays import Array, Integers
from spatialdp._support.checks import whole_number
from spatialdp.contrast.identifiers import labels_of
from spatialdp.errors import ParameterError

__all__ = ["ANY", "Taxonomy"]

ANY = "*"


class Taxonomy:
    """Levels of labels for the values of one column.

    Parameters
    ----------
    labels : mapping of values to sequences of labels
        For each value its labels at levels 1, 2 and so on; all have the same number of labels.

    Raises
    ------
    ParameterError
        If the levels do not nest.

    Examples
    --------
    >>> zips = Taxonomy({"53715": ["5371*", "537**"], "53710": ["5371*", "537**"], "53706": ["5370*", "537**"]})
    >>> zips.height, zips.sizes, zips.generalise(["53706", "53715"], 1)
    (2, (3, 2, 1), ['5370*', '5371*'])
    """

    def __init__(self, labels: Mapping[Any, Sequence[str]]) -> None:
        values = [str(value) for value in labels]
        rows = [tuple(map(str, row)) for row in labels.values()]
        heights = {len(row) for row in rows}
        if len(heights) != 1 or len(set(values)) < len(values):
            raise ParameterError(
                "the values of a taxonomy have different numbers of labels, or there are none; give each value once, "
                "with as many labels as the others."
            )
        levels = [values, *(list(column) for column in zip(*rows, strict=True))]
        self.labels = tuple(tuple(dict.fromkeys(level)) for level in levels)
        codes = [_places(names, level) for names, level in zip(self.labels, levels, strict=True)]
        self.parents = tuple(
            _function(lower, upper, height) for height, (lower, upper) in enumerate(pairwise(codes), 1)
        )
        self._codes = dict(zip(values, codes[0].tolist(), strict=True))

    def __repr__(self) -> str:
        return f"Taxonomy({' → '.join(map(str, self.sizes))} labels)"

    @classmethod
    def flat(cls, values: Sequence[Any]) -> Taxonomy:
        """Return a taxonomy of two levels: the values, and one label for all.

        Examples
        --------
        >>> Taxonomy.flat(["f", "m"]).labels
        (('f', 'm'), ('*',))
        """
        return cls({value: [ANY] for value in values})

    @classmethod
    def ranges(cls, low: int, high: int, widths: Sequence[int]) -> Taxonomy:
        """Return ranges of whole numbers from `low` to `high`, wider at each level, and one label for all on top.

        Parameters
        ----------
        low, high : int
        widths : sequence of int
            Each must be a multiple of the one before. Ranges start at multiples of their width.

        Examples
        --------
        >>> Taxonomy.ranges(17, 24, (5, 10)).labels[1:]
        (('15-19', '20-24'), ('10-19', '20-29'), ('*',))
        """
        first = whole_number(low, "low", -(2**31), 2**31)
        last = whole_number(high, "high", first, first + 2**20)
        steps = [whole_number(width, "widths", 1, 2**31) for width in widths]

        def label(value: int, width: int) -> str:
            start = value // width * width
            return f"{start}-{start + width - 1}"

        return cls({value: [*(label(value, width) for width in steps), ANY] for value in range(first, last + 1)})

    @property
    def height(self) -> int:
        """The number of the highest level; level 0 holds the values."""
        return len(self.parents)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of labels at each level."""
        return tuple(map(len, self.labels))

    def encode(self, column: Any) -> Integers:
        """Return the place of each value among the values of level 0; other values are refused.

        Examples
        --------
        >>> Taxonomy.flat(["f", "m"]).encode(["m", "f"]).tolist()
        [1, 0]
        """
        labels, places = labels_of(column)
        if not all(label in self._codes for label in labels):
            raise ParameterError("a value of the column is not in its taxonomy; add all values that may occur to it.")
        return np.array([self._codes[label] for label in labels], dtype=np.int64)[places]

    def to_level(self, level: int) -> Integers:
        """Return for each value of level 0 the place of its label at a level.

        Examples
        --------
        >>> Taxonomy.flat(["f", "m"]).to_level(1).tolist()
        [0, 0]
        """
        codes = np.arange(self.sizes[0])
        for parents in self.parents[: whole_number(level, "level", 0, self.height)]:
            codes = parents[codes]
        return codes

    def generalise(self, column: Any, level: int) -> list[str]:
        """Return the label of each value at a level.

        Examples
        --------
        >>> Taxonomy.ranges(17, 24, (5,)).generalise([18, 22], 1)
        ['15-19', '20-24']
        """
        labels = self.labels[level]
        return [labels[code] for code in self.to_level(level)[self.encode(column)].tolist()]


def _places(names: Sequence[str], level: Sequence[str]) -> Integers:
    numbers = {name: number for number, name in enumerate(names)}
    return np.array([numbers[name] for name in level], dtype=np.int64)


def _function(lower: Array, upper: Array, height: int) -> Integers:
    """Return the parent of each label of the lower level; refuse a label that has two."""
    parents = np.full(int(lower.max()) + 1, -1)
    parents[lower] = upper
    if (parents[lower] != upper).any():
        raise ParameterError(
            f"level {height} of the taxonomy does not nest: values with one label at level {height - 1} have different "
            f"labels at level {height}. Give labels in which each level is a function of the one below."
        )
    return parents
