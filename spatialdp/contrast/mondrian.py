"""How is a map k-anonymised? Mondrian (LeFevre, DeWitt and Ramakrishnan, 2006): cut boxes while k records remain.

A box of records is cut in two at the boundary between distinct values that is nearest to the median and leaves k
records on both sides; of two that are equally near, at the lower one. The column is the one with the widest range, over
its range in the whole table, that has such a cut. So the partition is **minimal**: no group can be cut any further.
Without that, the bound on groups, n_g <= 2 d (k - 1) + m for m duplicates of one point, does not hold.

All boxes of a level are cut at once. Records are kept in the order of each column within every box, as
`records.nodes.Nodes` keeps them: a cut along one column only parts the orders of the other columns. The nearest
boundaries are found by bisection, so a level costs a few passes over the records that can still be cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from spatialdp._support.arrays import Array, Booleans, Floats, Integers, Integers32, expand_ranges
from spatialdp._support.checks import true_or_false, whole_number
from spatialdp.contrast.checks import Closeness, Condition, Distinct
from spatialdp.contrast.groups import Groups, Pairs
from spatialdp.contrast.identifiers import QuasiIdentifiers, Secrets
from spatialdp.contrast.mark import NotPrivate
from spatialdp.errors import ParameterError
from spatialdp.wording import parameter, quoted

__all__ = ["Mondrian", "Partition"]

_LEAF = -1


@dataclass(frozen=True, repr=False)
class Mondrian(NotPrivate):
    """Groups of at least k records by cutting the table in two, again and again.

    Parameters
    ----------
    k : int
        Least number of records in a group.
    relaxed : bool
        Whether records with equal values may be parted; groups then have fewer than 2 k records.
    diversity : Distinct, Entropy, Recursive or Folk, optional
        What the sensitive values of every group must have besides.
    closeness : Closeness, optional
        How near they must be to the whole table's.

    Notes
    -----
    With `diversity` or `closeness`, a column is refused if its cut nearest to the median has a half without the
    condition; then the next column is tried.

    Privacy
    -------
    None. Groups are made of the records, and print some of their coordinates (`contrast.printed_coordinates`).

    Examples
    --------
    >>> points = np.array([[0.0, 0], [1, 1], [4, 0], [5, 1]])
    >>> groups = Mondrian(k=2).group(points, ["flu", "cold", "flu", "flu"])
    >>> groups.lower.tolist(), groups.upper.tolist()
    ([[0.0, 0.0], [4.0, 0.0]], [[1.0, 1.0], [5.0, 1.0]])
    """

    k: int = 5
    relaxed: bool = False
    diversity: Condition | None = None
    closeness: Closeness | None = None

    def __post_init__(self) -> None:
        whole_number(self.k, "k", 1, 2**31)
        true_or_false(self.relaxed, "relaxed")
        for name in ("diversity", "closeness"):
            if not (getattr(self, name) is None or hasattr(getattr(self, name), "holds")):
                raise ParameterError(
                    f"{parameter(name)} is a {type(getattr(self, name)).__name__}; give a condition such as "
                    f"{quoted(Distinct(2))} or {quoted(Closeness(0.4))}."
                )

    def group(self, identifiers: Any, sensitive: Any) -> Groups:
        """Part the records into groups.

        Parameters
        ----------
        identifiers : (n, d) array-like, DataFrame, GeoSeries, mapping or QuasiIdentifiers
            What an adversary knows: numbers, or categories in an order (`QuasiIdentifiers.of`).
        sensitive : array-like or Secrets
            What an adversary wants to learn, one value for each record.

        Returns
        -------
        Groups

        Raises
        ------
        ParameterError
            If all records together do not have what is asked for.
        """
        records, secrets = QuasiIdentifiers.of(identifiers), Secrets.of(sensitive)
        if len(records) != len(secrets):
            raise ParameterError(
                "the records and their sensitive values have different lengths; give one value for each record."
            )
        conditions = [each for each in (self.diversity, self.closeness) if each is not None]
        whole = np.bincount(secrets.codes, minlength=len(secrets.values))
        if len(records) < self.k or not all(
            each.holds(whole[None], whole, secrets.values).all() for each in conditions
        ):
            raise ParameterError(
                "all records together do not meet the conditions that every group must meet; give a smaller k, or a "
                "weaker diversity or closeness."
            )
        rule = _Rule(self.k, self.relaxed, conditions, secrets, whole)
        group, partition = _Grower(records.values, rule).grow()
        return Groups(records, secrets, group, self.k, partition)


@dataclass(frozen=True, eq=False, repr=False)
class Partition(NotPrivate):
    """The cuts of a Mondrian partition as a tree, by which every place has its group, whether a record is there or not.

    Attributes
    ----------
    column : int array
        The column that each box is cut along; -1 for groups.
    low, high : float arrays
        The last value below the cut, and the first one above; equal only if `relaxed` parted records with one value.
    child : int array
        The lower half of each box, which the upper half follows; for groups their number.
    """

    column: Integers
    low: Floats
    high: Floats
    child: Integers

    def candidates(self, people: QuasiIdentifiers) -> Pairs:
        """Return pairs of a person and the group whose region contains the person.

        If a cut parted records with one value, a person with this value may be in either half: there are two pairs.

        Examples
        --------
        >>> groups = Mondrian(k=1).group([[0.0, 0], [4, 0]], ["a", "b"])
        >>> groups.locator.candidates(QuasiIdentifiers.of([[9.0, 9], [1.0, 0]]))
        (array([0, 1]), array([1, 1]))
        """
        person = np.arange(len(people))
        node = np.zeros(len(people), dtype=np.int64)
        while (inner := self.column[node] != _LEAF).any():
            at, who = node[inner], person[inner]
            value = people.values[self.column[at], who]
            lower = value <= self.low[at]
            upper = ~lower | (value >= self.high[at])
            person = np.concatenate([person[~inner], who[lower], who[upper]])
            node = np.concatenate([node[~inner], self.child[at[lower]], self.child[at[upper]] + 1])
        order = np.lexsort((node, person))
        return person[order], self.child[node[order]]


@dataclass(frozen=True)
class _Rule:
    """What a group must have, and the sensitive values that say so."""

    k: int
    relaxed: bool
    conditions: Sequence[Condition]
    secrets: Secrets
    whole: Integers

    def holds(self, node: Array, codes: Integers, nodes: int) -> Booleans:
        """Return for each node whether its records, which have these sensitive values, have all conditions."""
        values = len(self.whole)
        counts = np.bincount(node * values + codes, minlength=nodes * values).reshape(nodes, values)
        held = [each.holds(counts, self.whole, self.secrets.values) for each in self.conditions]
        return np.asarray(np.all(held, axis=0))


@dataclass
class _Cuts:
    """One cut for each box: its column, -1 for none, and the place in the order where the upper half begins."""

    column: Integers
    place: Integers


@dataclass
class _Tree:
    """The boxes of all levels so far, in the attributes of `Partition`."""

    column: list[Integers] = field(default_factory=list)
    low: list[Floats] = field(default_factory=list)
    high: list[Floats] = field(default_factory=list)
    child: list[Integers] = field(default_factory=list)
    boxes: int = 1  # in all levels, including the one that is about to be cut
    groups: int = 0


class _Grower:
    """Cuts all boxes of a level at a time until none can be cut."""

    def __init__(self, columns: Floats, rule: _Rule) -> None:
        self.rule = rule
        records = columns.shape[1]
        self.orders: list[Integers32] = []
        self.ranks: list[Integers32] = []  # of each record, among the distinct values of a column
        self.distinct: list[Floats] = []
        for column in columns:
            order = np.argsort(column, kind="stable").astype(np.int32)
            ordered = column[order]
            new = np.append(True, ordered[1:] != ordered[:-1])
            ranks = np.empty(records, dtype=np.int32)
            ranks[order] = np.cumsum(new, dtype=np.int32) - 1
            self.orders.append(order)
            self.ranks.append(ranks)
            self.distinct.append(ordered[new])
        self.starts = np.array([0, records])
        self.group = np.empty(records, dtype=np.int64)
        self.upper = np.zeros(records, dtype=bool)  # whether a record is in the upper half of its box
        self.tree = _Tree()

    def grow(self) -> tuple[Integers, Partition]:
        """Return the group of each record, and the tree of all cuts."""
        while self.starts.size > 1:
            cuts = self._cuts()
            self._note(cuts)
            cuts = self._finish(cuts)
            if cuts.column.size:
                self._split(cuts)
        tree = self.tree
        column, child = (np.concatenate(each) for each in (tree.column, tree.child))
        low, high = (np.concatenate(each) for each in (tree.low, tree.high))
        return self.group, Partition(column, low, high, child)

    # --- where to cut ---

    def _cuts(self) -> _Cuts:
        """Choose the cut of each box: along its widest column that has one."""
        places, allowed = map(np.array, zip(*(self._nearest(axis) for axis in range(len(self.orders))), strict=True))
        widths = np.where(allowed, np.stack([self._width(axis) for axis in range(len(self.orders))]), -1.0)
        every = np.arange(self.starts.size - 1)
        if not self.rule.conditions:
            column = np.where(allowed.any(axis=0), np.argmax(widths, axis=0), _LEAF)
            return _Cuts(column, places[column, every])
        column = np.full(every.size, _LEAF)
        for axis in np.argsort(-widths, axis=0, kind="stable"):  # the widest column of each box, then the next one
            sound = (column == _LEAF) & allowed[axis, every]
            sound[sound] = self._sound(every[sound], axis[sound], places[axis, every][sound])
            column[sound] = axis[sound]
        return _Cuts(column, places[column, every])

    def _width(self, axis: int) -> Floats:
        """Return the range of each box along a column, over the range of the whole table."""
        order, ranks, distinct = self.orders[axis], self.ranks[axis], self.distinct[axis]
        ends = [distinct[ranks[order[place]]] for place in (self.starts[:-1], self.starts[1:] - 1)]
        whole = distinct[-1] - distinct[0]
        return np.asarray((ends[1] - ends[0]) / (whole if whole > 0 else 1.0))

    def _nearest(self, axis: int) -> tuple[Integers, Booleans]:
        """Return the boundary nearest to the median of each box, and whether it leaves k records on both sides.

        If the nearest boundary does not, no other one does: it would be farther from the median.
        """
        starts, stops = self.starts[:-1], self.starts[1:]
        sizes = stops - starts
        middle = starts + sizes // 2
        if self.rule.relaxed:
            return middle, sizes >= 2 * self.rule.k
        value = self.ranks[axis][self.orders[axis][middle]]  # of the median
        lower = self._first(axis, starts, middle, value)
        upper = self._first(axis, middle, stops, value + 1)
        place = np.where(2 * upper - starts - stops < starts + stops - 2 * lower, upper, lower)
        return place, np.minimum(place - starts, stops - place) >= self.rule.k

    def _first(self, axis: int, low: Integers, high: Integers, value: Array) -> Integers:
        """Return the first place from `low` on whose record has at least this rank; `high` if there is none before."""
        order, ranks = self.orders[axis], self.ranks[axis]
        low, high = low.copy(), high.copy()
        open_ = np.flatnonzero(low < high)
        while open_.size:
            middle = (low[open_] + high[open_]) // 2
            less = ranks[order[middle]] < value[open_]
            low[open_[less]] = middle[less] + 1
            high[open_[~less]] = middle[~less]
            open_ = open_[low[open_] < high[open_]]
        return low

    def _sound(self, boxes: Integers, axes: Integers, places: Integers) -> Booleans:
        """Return for each of some boxes whether both halves of a cut have the conditions."""
        sound = np.zeros(boxes.size, dtype=bool)
        for axis in np.unique(axes):
            (chosen,) = np.nonzero(axes == axis)
            ends = [self.starts[:-1][boxes[chosen]], places[chosen], self.starts[1:][boxes[chosen]]]
            halves = []
            for first, last in pairwise(ends):
                node, place = expand_ranges(first, last)
                codes = self.rule.secrets.codes[self.orders[axis][place]]
                halves.append(self.rule.holds(node, codes, chosen.size))
            sound[chosen] = halves[0] & halves[1]
        return sound

    # --- what a level leaves behind ---

    def _note(self, cuts: _Cuts) -> None:
        """Enter the boxes of the level into the tree, and give the records of finished ones their group."""
        tree, inner = self.tree, cuts.column != _LEAF
        low, high = np.zeros(inner.size), np.zeros(inner.size)
        for axis, order in enumerate(self.orders):
            (cut,) = np.nonzero(cuts.column == axis)
            for ends, place in ((low, cuts.place[cut] - 1), (high, cuts.place[cut])):
                ends[cut] = self.distinct[axis][self.ranks[axis][order[place]]]
        child = np.where(inner, tree.boxes + 2 * (np.cumsum(inner) - inner), tree.groups + np.cumsum(~inner) - 1)
        tree.column.append(cuts.column)
        tree.low.append(low)
        tree.high.append(high)
        tree.child.append(child)
        tree.boxes += 2 * int(inner.sum())
        tree.groups += int((~inner).sum())
        if not inner.all():
            numbers = np.repeat(np.where(inner, _LEAF, child), np.diff(self.starts))
            done = numbers != _LEAF
            self.group[self.orders[0][done]] = numbers[done]

    def _finish(self, cuts: _Cuts) -> _Cuts:
        """Leave out the records of boxes that are not cut."""
        inner = cuts.column != _LEAF
        if inner.all():
            return cuts
        sizes = np.diff(self.starts)
        kept = np.repeat(inner, sizes)
        self.orders = [order[kept] for order in self.orders]
        starts = np.concatenate([[0], np.cumsum(sizes[inner])])
        place = cuts.place[inner] - self.starts[:-1][inner] + starts[:-1]
        self.starts = starts
        return _Cuts(cuts.column[inner], place)

    def _split(self, cuts: _Cuts) -> None:
        """Cut every box in two: part the orders of all columns, each in its old order within both halves."""
        sizes = np.diff(self.starts).astype(np.int32)
        places = np.arange(self.starts[-1], dtype=np.int32)
        above = places >= np.repeat(cuts.place.astype(np.int32), sizes)  # in the order of the box's own column
        for axis, order in enumerate(self.orders):
            own = np.repeat(cuts.column == axis, sizes)
            self.upper[order[own]] = above[own]
        for axis, order in enumerate(self.orders):
            if (cuts.column != axis).any():
                self.orders[axis] = self._parted(order, self.upper[order], cuts, sizes, places)
        self.starts = np.append(np.stack([self.starts[:-1], cuts.place], axis=1).ravel(), self.starts[-1])

    def _parted(
        self, order: Integers32, upper: Booleans, cuts: _Cuts, sizes: Integers32, places: Integers32
    ) -> Integers32:
        """Put, within each box, the records of the lower half before those of the upper half."""
        before = np.cumsum(upper, dtype=np.int32)
        before -= upper  # records of upper halves before each record, in all boxes so far
        uppers = np.append(0, np.cumsum(self.starts[1:] - cuts.place))[:-1]  # the same before each box
        base = np.repeat((cuts.place - uppers).astype(np.int32), sizes)
        lowers = places - before + np.repeat(uppers.astype(np.int32), sizes)
        target = np.where(upper, base + before, lowers)
        parted = np.empty_like(order)
        parted[target] = order
        return parted
