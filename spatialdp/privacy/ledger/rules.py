"""How do costs of different parts of the records add up? Sums over steps that read the same record, maxima over parts.

A node is an account, or a part of one. A partition of a node divides its records among parts, and a record is in one
part at most. For each pot, with own(v) for what was spent on the records of node v as a whole,

    cost(v) = own(v) + sum over partitions of  max over parts of cost(part)
    pair(v) = own(v) + sum over partitions of  max(max over parts of pair(part),  the two largest cost(part) together)

cost bounds what all steps cost a record that is added or removed, and pair what they cost a record that is replaced by
another, which may lie in another part. Costs only grow, so the largest ones are updated without looking at the other
parts, in one step for each level of nested parts. The proof is in ``docs/design/ledger.md``; the brute force over
records and pairs is in ``tests/privacy/ledger/test_rules.py``. All here is about one pot, and exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

__all__ = ["EMPTY", "UNUSED", "Parts", "Room", "Step", "Totals", "rebuilt", "spend"]

ZERO = Fraction(0)


@dataclass(frozen=True, slots=True)
class Totals:
    """What was spent on a node, and below it.

    Attributes
    ----------
    own : Fraction
        On the records of the node as a whole.
    cost : Fraction
        The largest cost of all steps to one record of the node.
    pair : Fraction
        The largest cost of all steps to two records of the node, one of which replaces the other.
    """

    own: Fraction
    cost: Fraction
    pair: Fraction

    def raised(self, cost: Fraction, pair: Fraction) -> Totals:
        """Return the totals after something was spent below the node."""
        return replace(self, cost=self.cost + cost, pair=self.pair + pair)


UNUSED = Totals(ZERO, ZERO, ZERO)


@dataclass(frozen=True, slots=True)
class Parts:
    """What a node stores about the parts of one partition.

    Attributes
    ----------
    label : str
        The part of the largest cost; of several such parts, the one that was so first.
    first, second : Fraction
        The largest cost of a part, and the second largest (of another part).
    pair : Fraction
        The largest pair of a part.
    """

    label: str
    first: Fraction
    second: Fraction
    pair: Fraction

    @property
    def double(self) -> Fraction:
        """The largest cost in the parts to two records, one of which replaces the other."""
        return max(self.pair, self.first + self.second)

    def others(self, label: str) -> Fraction:
        """Return the largest cost of a part other than the one with the label."""
        return self.second if label == self.label else self.first

    def after(self, label: str, totals: Totals) -> Parts:
        """Return what is known once a part has new totals, which are not below the old ones.

        Examples
        --------
        >>> one, two = (Totals(ZERO, Fraction(value), Fraction(value)) for value in (1, 2))
        >>> parts = EMPTY.after("a", one).after("b", two)
        >>> parts.label, int(parts.first), int(parts.second), int(parts.double)
        ('b', 2, 1, 3)
        """
        pair = max(self.pair, totals.pair)
        if label == self.label:
            return Parts(label, totals.cost, self.second, pair)
        if totals.cost > self.first:
            return Parts(label, totals.cost, self.first, pair)
        return Parts(self.label, self.first, max(self.second, totals.cost), pair)


EMPTY = Parts("", ZERO, ZERO, ZERO)


class Step(NamedTuple):
    """One step up from a part: its label, what its partition knew of the parts, and the totals of the node above."""

    label: str
    parts: Parts
    above: Totals


def spend(amount: Fraction, node: Totals, steps: Iterable[Step]) -> tuple[list[Totals], list[Parts]]:
    """Return the new totals of a node and of the nodes above it, and the new parts in between, from the node up.

    Examples
    --------
    >>> nodes, parts = spend(Fraction(1), UNUSED, [Step("a", EMPTY, UNUSED)])
    >>> [int(totals.cost) for totals in nodes]
    [1, 1]
    """
    nodes = [Totals(node.own + amount, node.cost + amount, node.pair + amount)]
    partitions = []
    for label, parts, above in steps:
        grown = parts.after(label, nodes[-1])
        partitions.append(grown)
        nodes.append(above.raised(grown.first - parts.first, grown.double - parts.double))
    return nodes, partitions


def rebuilt(
    own: Mapping[tuple[str, ...], Fraction],
) -> tuple[dict[tuple[str, ...], Totals], dict[tuple[str, ...], Parts]]:
    """Return the totals of all nodes, and what is known of all partitions, from what was spent on each node as a whole.

    A node is named by the names of partitions and the labels of parts on the way to it, after the name of the account.
    This is the rule as it stands above, without anything that was kept up: `check` compares the two.

    Examples
    --------
    >>> nodes, parts = rebuilt({("a", "state", "Ohio"): Fraction(1), ("a", "state", "Iowa"): Fraction(2)})
    >>> int(nodes[("a",)].cost), int(nodes[("a",)].pair), parts[("a", "state")].label
    (2, 3, 'Iowa')
    """
    places = {place[:length] for place in own for length in range(1, len(place) + 1, 2)}
    nodes: dict[tuple[str, ...], Totals] = {}
    partitions: dict[tuple[str, ...], Parts] = {}
    below: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    for place in sorted(places, key=lambda place: (-len(place), place)):
        amount = own.get(place, ZERO)
        known = [partitions[key] for key in below.get(place, [])]
        cost = amount + sum((parts.first for parts in known), ZERO)
        pair = amount + sum((parts.double for parts in known), ZERO)
        nodes[place] = Totals(amount, cost, pair)
        if len(place) > 1:
            key = place[:-1]
            if key not in partitions:
                below.setdefault(key[:-1], []).append(key)
            partitions[key] = partitions.get(key, EMPTY).after(place[-1], nodes[place])
    return nodes, partitions


@dataclass(frozen=True, slots=True)
class Room:
    """The most that the cost and the pair of a node may become; None stands for no bound.

    For a node v in a partition of node u, the rest of u is fixed, so bounds on cost(u) and pair(u) become bounds on
    what the partition may contribute, and these bound v:

        cost(v) <= bound on cost(u) - rest of cost(u),    cost(v) + largest other cost <= bound on pair(u) - rest
        pair(v) <= bound on pair(u) - rest of pair(u)
    """

    cost: Fraction | None
    pair: Fraction | None

    def below(self, node: Totals, parts: Parts, others: Fraction) -> Room:
        """Return the room of a part whose siblings cost `others` at most, in a node that has this room."""
        pair = None if self.pair is None else self.pair - (node.pair - parts.double)
        bounds = [
            *([] if self.cost is None else [self.cost - (node.cost - parts.first)]),
            *([] if pair is None else [pair - others]),
        ]
        return Room(min(bounds), pair)

    def left(self, totals: Totals) -> Fraction:
        """Return how much more may be spent on a node with the given totals.

        Examples
        --------
        >>> int(Room(Fraction(3), None).left(Totals(ZERO, Fraction(1), Fraction(1))))
        2
        """
        return min(
            bound - spent for bound, spent in ((self.cost, totals.cost), (self.pair, totals.pair)) if bound is not None
        )

    def left_together(self, parts: Sequence[Totals]) -> Fraction:
        """Return how much more may be spent on each of several parts of one partition at once; all have this room.

        Examples
        --------
        >>> int(Room(None, Fraction(6)).left_together([UNUSED, UNUSED]))
        3
        """
        least = min(map(self.left, parts))
        if self.pair is None or len(parts) < 2:
            return least
        first, second = sorted((totals.cost for totals in parts), reverse=True)[:2]
        return min(least, (self.pair - first - second) / 2)
