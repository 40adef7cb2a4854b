"""Which ways to generalise whole columns are k-anonymous? Incognito (LeFevre, DeWitt and Ramakrishnan, 2005).

A vector of levels, one for each column, generalises the whole table. The vectors are a lattice; a vector above a
k-anonymous one is k-anonymous, and so is every projection of one to fewer columns. `incognito` finds all k-anonymous
vectors, and so all minimal ones, and looks at few:

- subsets of the columns are searched by size; a vector is a candidate only if all its projections, with one column
  less, are k-anonymous;
- candidates are checked from the lowest up, and a k-anonymous one marks all that are above it;
- the records are counted only once, for the numbers of all combinations of labels (a frequency set). Other sets of
  level 0 are rolled down from the smallest superset of columns, and all other sets are rolled up from known sets of
  vectors below.

No record is left out ("suppressed").
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from spatialdp._support.arrays import Array, Booleans, Floats, Integers
from spatialdp._support.checks import whole_number
from spatialdp.contrast.groups import Groups, Pairs
from spatialdp.contrast.identifiers import QuasiIdentifiers, Secrets, columns_in
from spatialdp.contrast.mark import NotPrivate
from spatialdp.contrast.taxonomies import Taxonomy
from spatialdp.errors import ParameterError
from spatialdp.wording import parameter, quoted

__all__ = ["Lattice", "Vector", "incognito"]

Vector = tuple[int, ...]

_DENSE = 4  # combinations are counted in an array if there are at most this many for each row
_FEW = 1024
_SHORT_BITS = 31
_SHORT = 2**_SHORT_BITS
_MOST_KEYS = 2**63


@dataclass(frozen=True, eq=False, repr=False)
class Lattice(NotPrivate):
    """All ways to generalise the columns of a table, and which of them are k-anonymous.

    Attributes
    ----------
    names : tuple of str
        The columns, in the order of the levels in a vector.
    taxonomies : mapping of names to taxonomies
    table : mapping of names to int arrays
        The records: the place of each value at level 0.
    k : int
    is_anonymous : bool array
        For each vector, with one dimension for each column.
    checked : int
        How many frequency sets were looked at, of all subsets of the columns.
    """

    names: tuple[str, ...]
    taxonomies: Mapping[str, Taxonomy]
    table: Mapping[str, Integers]
    k: int
    is_anonymous: Booleans
    checked: int

    @property
    def size(self) -> int:
        """Number of vectors in the lattice."""
        return int(self.is_anonymous.size)

    @property
    def anonymous(self) -> list[Vector]:
        """All k-anonymous vectors."""
        return _vectors(self.is_anonymous)

    @property
    def minimal(self) -> list[Vector]:
        """The k-anonymous vectors with no k-anonymous vector below them; none is above another one."""
        above = np.zeros_like(self.is_anonymous)
        for axis in range(above.ndim):
            higher, lower = _next(above.ndim, axis)
            above[higher] |= self.is_anonymous[lower]
        return _vectors(self.is_anonymous & ~above)

    def groups(self, vector: Sequence[int], sensitive: Any) -> Groups:
        """Return the groups of the table at a vector of levels.

        Examples
        --------
        >>> table = {"sex": ["f", "m", "f"], "age": [20, 21, 33]}
        >>> taxonomies = {"sex": Taxonomy.flat("fm"), "age": Taxonomy.ranges(20, 39, (10,))}
        >>> lattice = incognito(table, taxonomies, k=1)
        >>> lattice.groups((1, 1), ["flu", "cold", "flu"]).sizes.tolist()
        [2, 1]
        """
        levels = tuple(vector)
        if len(levels) != len(self.names):
            raise ParameterError(
                f"{parameter('vector')} is {quoted(levels)}; give one level for each of {', '.join(self.names)}."
            )
        locator = _LabelLocator.of(self, levels)
        orders = {name: self.taxonomies[name].labels[0] for name in self.names}
        values = np.stack([self.table[name] for name in self.names]).astype(np.float64)
        records = QuasiIdentifiers(self.names, values, orders, (1.0,) * len(self.names))
        group = np.searchsorted(locator.keys, locator.keys_of(self.table))
        return Groups(records, Secrets.of(sensitive), group, self.k, locator, boxed=False)


@dataclass(frozen=True, eq=False, repr=False)
class _LabelLocator(NotPrivate):
    """Finds the group whose labels are those of a person; nobody's group, if there is none with these labels."""

    lattice: Lattice
    vector: Vector
    keys: Integers  # of the groups, in order

    @classmethod
    def of(cls, lattice: Lattice, vector: Vector) -> _LabelLocator:
        empty = cls(lattice, vector, np.empty(0, dtype=np.int64))
        return cls(lattice, vector, np.unique(empty.keys_of(lattice.table)))

    def keys_of(self, table: Mapping[str, Integers]) -> Integers:
        """Return one number for the combination of labels of each record."""
        codes, sizes = [], []
        for name, level in zip(self.lattice.names, self.vector, strict=True):
            taxonomy = self.lattice.taxonomies[name]
            codes.append(taxonomy.to_level(level)[table[name]])
            sizes.append(taxonomy.sizes[level])
        return _keys(codes, sizes)

    def candidates(self, people: QuasiIdentifiers) -> Pairs:
        """Return pairs of a person and the group with the person's labels."""
        table = {
            name: self.lattice.taxonomies[name].encode(_names_of(people, name, place))
            for place, name in enumerate(people.names)
        }
        keys = self.keys_of(table)
        group = np.minimum(np.searchsorted(self.keys, keys), self.keys.size - 1)
        (person,) = np.nonzero(self.keys[group] == keys)
        return person, group[person]


def _names_of(people: QuasiIdentifiers, name: str, place: int) -> Array:
    """Return the values of a column as a taxonomy names them."""
    values = people.values[place]
    order = people.orders.get(name)
    named: Array = values if order is None else np.array(order, dtype=object)[values.astype(np.int64)]
    return named


def incognito(table: Any, taxonomies: Mapping[str, Taxonomy], k: int = 5) -> Lattice:
    """Find all k-anonymous ways to generalise whole columns.

    Parameters
    ----------
    table : DataFrame or mapping of names to columns
        Columns without a taxonomy are left out.
    taxonomies : mapping of names to taxonomies
        The columns that an adversary knows, in the order of the vectors.
    k : int

    Returns
    -------
    Lattice

    Privacy
    -------
    None. Which vectors are k-anonymous depends on every record.

    Examples
    --------
    >>> table = {"sex": ["f", "m", "f", "m"], "age": [20, 21, 33, 34]}
    >>> taxonomies = {"sex": Taxonomy.flat("fm"), "age": Taxonomy.ranges(20, 39, (10,))}
    >>> lattice = incognito(table, taxonomies, k=2)
    >>> lattice.size, lattice.minimal
    (6, [(0, 2), (1, 1)])
    """
    least = whole_number(k, "k", 1, 2**31)
    columns = columns_in(table)
    missing = [name for name in taxonomies if name not in columns]
    if missing or not taxonomies:
        raise ParameterError(
            f"{parameter('taxonomies')} name {quoted(missing[0]) if missing else 'no column'}; the table has "
            f"{', '.join(columns)}. Give a taxonomy for each column that an adversary knows."
        )
    codes = {name: taxonomy.encode(columns[name]) for name, taxonomy in taxonomies.items()}
    search = _Search(list(taxonomies.values()), list(codes.values()), least)
    return Lattice(tuple(taxonomies), dict(taxonomies), codes, least, search.run(), search.checked)


@dataclass(frozen=True)
class _Step:
    """The way from one level of a column up to a higher one: the new label of each label, in order.

    Labels are numbered so that those with one parent follow each other, at every level; `starts` says where each
    parent's begin.
    """

    labels: Array
    starts: Integers


@dataclass(frozen=True, eq=False)
class _Frequencies:
    """How often each combination of labels occurs: as an array, or as a list if most combinations do not occur.

    Attributes
    ----------
    sizes : tuple of int
        The number of labels of each column.
    counts : float array
        With one dimension for each column; or, in a list, with one only.
    keys : int array or None
        For a list the combinations, in order: the labels are the digits of a number with mixed bases.
    """

    sizes: tuple[int, ...]
    counts: Floats
    keys: Array | None = None

    @classmethod
    def of(cls, keys: Array, counts: Floats | None, sizes: tuple[int, ...]) -> _Frequencies:
        """Add up the counts of equal combinations; each counts 1 if there are no counts."""
        domain = math.prod(sizes)
        if domain <= max(_DENSE * keys.size, _FEW):
            return cls(sizes, np.bincount(keys, weights=counts, minlength=domain).astype(np.float64).reshape(sizes))
        order, ordered = _sorted(keys, domain)
        (starts,) = np.nonzero(np.append(True, ordered[1:] != ordered[:-1]))
        ones = np.ones(keys.size) if counts is None else counts[order]
        return cls(sizes, np.add.reduceat(ones, starts), ordered[starts])

    def rolled_up(self, axis: int, step: _Step) -> _Frequencies:
        """Replace the labels of a column by those of a higher level."""
        size = step.starts.size
        sizes = (*self.sizes[:axis], size, *self.sizes[axis + 1 :])
        if self.keys is None:
            return _Frequencies(sizes, np.add.reduceat(self.counts, step.starts, axis=axis))
        stride = math.prod(self.sizes[axis + 1 :])
        above = self.keys // stride
        high = above // self.sizes[axis]
        # What stays below the digit, then the new digit, then what stays above.
        keys = self.keys - above * stride + stride * (step.labels[above - high * self.sizes[axis]] + size * high)
        return _Frequencies.of(keys, self.counts, sizes)

    def without(self, axis: int) -> _Frequencies:
        """Leave a column out."""
        sizes = self.sizes[:axis] + self.sizes[axis + 1 :]
        if self.keys is None:
            return _Frequencies(sizes, self.counts.sum(axis=axis))
        alike = self.rolled_up(axis, _Step(np.zeros(self.sizes[axis], dtype=np.int32), np.zeros(1, dtype=np.int64)))
        counts = alike.counts.reshape(sizes) if alike.keys is None else alike.counts
        return _Frequencies(sizes, counts, alike.keys)

    def are_at_least(self, k: int) -> bool:
        """Whether every combination that occurs at all occurs at least k times."""
        few = self.counts < k
        if self.keys is None:
            few &= self.counts > 0
        return not few.any()


class _Search:
    """The search through the lattices of all subsets of the columns, the smallest subsets first."""

    def __init__(self, taxonomies: Sequence[Taxonomy], codes: Sequence[Integers], k: int) -> None:
        self.k, self.checked = k, 0
        self.heights = [taxonomy.height for taxonomy in taxonomies]
        every = tuple(range(len(taxonomies)))
        ordered = [_in_order(taxonomy) for taxonomy in taxonomies]
        sizes = tuple(taxonomy.sizes[0] for taxonomy in taxonomies)
        keys = _keys([places[code] for (places, _), code in zip(ordered, codes, strict=True)], sizes)
        self.lowest = {every: _Frequencies.of(keys, None, sizes)}
        for size in range(len(every) - 1, 0, -1):
            for subset in combinations(every, size):
                self.lowest[subset] = self._rolled_down(subset)
        self.steps = [_steps(parents) for _, parents in ordered]
        self.anonymous: dict[tuple[int, ...], Booleans] = {}

    def run(self) -> Booleans:
        """Return which vectors of all columns are k-anonymous."""
        every = tuple(range(len(self.heights)))
        for size in range(1, len(every) + 1):
            for subset in combinations(every, size):
                self.anonymous[subset] = self._searched(subset, self._candidates(subset))
        return self.anonymous[every]

    def _rolled_down(self, subset: tuple[int, ...]) -> _Frequencies:
        """Return the frequencies of level 0 of fewer columns, from those of the smallest superset."""
        others = [column for column in range(len(self.heights)) if column not in subset]
        supersets = {tuple(sorted((*subset, column))): column for column in others}
        smallest = min(supersets, key=lambda superset: self.lowest[superset].counts.size)
        return self.lowest[smallest].without(smallest.index(supersets[smallest]))

    def _candidates(self, subset: tuple[int, ...]) -> Booleans:
        """Return the vectors whose projections, with one column less, are all k-anonymous."""
        candidates = np.ones([self.heights[column] + 1 for column in subset], dtype=bool)
        for axis in range(len(subset)):
            fewer = subset[:axis] + subset[axis + 1 :]
            if fewer:
                candidates &= np.expand_dims(self.anonymous[fewer], axis)
        return candidates

    def _searched(self, subset: tuple[int, ...], candidates: Booleans) -> Booleans:
        """Check candidates from the lowest up; each k-anonymous one marks all that are above it."""
        anonymous = np.zeros_like(candidates)
        vectors = sorted(_vectors(candidates), key=sum)
        seen = {(0,) * len(subset): self.lowest[subset]}
        for vector in vectors:
            if not anonymous[vector]:
                self.checked += 1
                if self._rolled_up(subset, seen, vector).are_at_least(self.k):
                    anonymous[tuple(slice(level, None) for level in vector)] = True
        return anonymous

    def _rolled_up(self, subset: tuple[int, ...], seen: dict[Vector, _Frequencies], vector: Vector) -> _Frequencies:
        """Return the frequencies at a vector: from the smallest set known right below it, or else from level 0.

        Columns are rolled up one after the other, those first that lose most labels. Each step is kept, because other
        vectors begin there.
        """
        below = [lower for lower in _below(vector) if lower in seen]
        at = min(below, key=lambda lower: seen[lower].counts.size, default=(0,) * len(vector))
        steps = {
            axis: self.steps[subset[axis]][low, high]
            for axis, (low, high) in enumerate(zip(at, vector, strict=True))
            if low < high
        }
        for axis in sorted(steps, key=lambda axis: steps[axis].starts.size / seen[at].sizes[axis]):
            higher = (*at[:axis], vector[axis], *at[axis + 1 :])
            if higher not in seen:
                seen[higher] = seen[at].rolled_up(axis, steps[axis])
            at = higher
        return seen[vector]


def _in_order(taxonomy: Taxonomy) -> tuple[Integers, list[Integers]]:
    """Number the labels of all levels so that those with one parent follow each other.

    Returns
    -------
    places : int array
        The new number of each value of level 0.
    parents : list of int arrays
        For each level below the top the new parent of each new label.
    """
    places, levels = np.arange(taxonomy.sizes[-1]), []
    for parents in reversed(taxonomy.parents):
        order = np.argsort(places[parents], kind="stable")
        levels.append(places[parents][order])
        places = np.empty(order.size, dtype=np.int64)
        places[order] = np.arange(order.size)
    return places, levels[::-1]


def _steps(parents: Sequence[Integers]) -> dict[tuple[int, int], _Step]:
    """Return the way from each level of a column to each higher one."""
    steps = {}
    for low in range(len(parents)):
        labels = np.arange(parents[low].size)
        for high, above in enumerate(parents[low:], low + 1):
            labels = above[labels]
            starts = np.searchsorted(labels, np.arange(labels[-1] + 1))
            steps[low, high] = _Step(labels.astype(np.int32), starts)
    return steps


def _sorted(keys: Array, domain: int) -> tuple[Integers, Array]:
    """Return the order of the keys, and the keys in order."""
    if domain >= _SHORT:
        order = np.argsort(keys)
        return order, keys[order]
    # Each key and its place in one number: sorting numbers is much faster than sorting places by their keys.
    both = (keys.astype(np.int64) << _SHORT_BITS) | np.arange(keys.size)
    both.sort()
    return both & (_SHORT - 1), (both >> _SHORT_BITS).astype(np.int32)  # short keys are divided in half the time


def _keys(codes: Sequence[Array], sizes: Sequence[int]) -> Integers:
    """Return one number for each row: its codes as the digits of a number with mixed bases."""
    if math.prod(sizes) >= _MOST_KEYS:
        raise ParameterError(
            "the columns have more combinations of labels than fit into 63 bits; give fewer columns, or taxonomies "
            "with fewer values."
        )
    keys = np.zeros(codes[0].size, dtype=np.int64)
    for code, size in zip(codes, sizes, strict=True):
        keys *= size
        keys += code
    return keys


def _below(vector: Vector) -> Iterator[Vector]:
    """Yield the vectors that are one level lower in one column."""
    for axis, level in enumerate(vector):
        if level:
            yield (*vector[:axis], level - 1, *vector[axis + 1 :])


def _next(dimensions: int, axis: int) -> tuple[Any, Any]:
    """Return indices of all vectors but the lowest along an axis, and of those one below each of them."""
    higher, lower = [slice(None)] * dimensions, [slice(None)] * dimensions
    higher[axis], lower[axis] = slice(1, None), slice(None, -1)
    return tuple(higher), tuple(lower)


def _vectors(chosen: Booleans) -> list[Vector]:
    return [tuple(vector) for vector in np.argwhere(chosen).tolist()]
