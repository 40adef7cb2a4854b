"""How anonymous, diverse and close are groups? k-anonymity, l-diversity, t-closeness, and what they cost in detail.

Everything follows from one matrix: how often each sensitive value occurs in each group. Counts are compared as whole
numbers wherever the definition allows it; the entropy is compared with a tolerance of 1e-9.

All conditions are monotone: groups that are merged keep them, because entropy is concave and the earth mover's distance
convex. So a coarser table never loses one.

Definitions (group g with n_g records, c_g(v) of them with value v; q is the distribution in the whole table):

- distinct l: at least l different values in each group;
- entropy l: -sum p ln p is at least ln l;
- recursive (c, l): r_1 < c (r_l + r_(l+1) + ...), for the counts in falling order. Strictly, and a group with fewer
  than l values fails;
- folk l: no value has more than 1/l of a group. This is recursive (1/l, 1) but for equality, which passes here;
- t-closeness: the earth mover's distance from p to q is at most t. **A t of 1 - max q or more permits groups that all
  have one value**: the commonest one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, Protocol

import numpy as np

from spatialdp._support.arrays import Booleans, Floats, Integers
from spatialdp._support.checks import whole_number
from spatialdp.contrast.mark import NotPrivate
from spatialdp.contrast.taxonomies import Taxonomy
from spatialdp.errors import ParameterError
from spatialdp.wording import parameter, quoted

__all__ = [
    "Checks",
    "Closeness",
    "Condition",
    "Distance",
    "Distinct",
    "Entropy",
    "Folk",
    "Recursive",
    "discernibility",
    "distances",
    "entropies",
    "smallest_recursive",
]

Distance = Literal["equal", "ordered"] | Taxonomy

_TOLERANCE = 1e-9  # of entropies, which are sums of logarithms


class Condition(Protocol):
    """What groups must have besides k records; it must stay true when groups are merged."""

    def holds(self, counts: Integers, whole: Integers, values: Sequence[str]) -> Booleans:
        """Return for each group, a row of counts, whether it has the condition; `whole` counts the whole table."""


@dataclass(frozen=True)
class Distinct:
    """Distinct l-diversity: every group has at least `l` different sensitive values.

    Examples
    --------
    >>> Distinct(2).holds(np.array([[5, 0], [4, 1]]), np.array([9, 1]), "ab").tolist()
    [False, True]
    """

    l: int  # noqa: E741 - its name in the literature

    def __post_init__(self) -> None:
        whole_number(self.l, "l", 1, 2**31)

    def holds(self, counts: Integers, whole: Integers, values: Sequence[str]) -> Booleans:  # noqa: ARG002
        """Return for each group whether it has at least `l` different values."""
        return np.asarray((counts > 0).sum(axis=1) >= self.l)


@dataclass(frozen=True)
class Entropy:
    """Entropy l-diversity: the entropy of the sensitive values in every group is at least ln l.

    Examples
    --------
    >>> Entropy(2).holds(np.array([[5, 5], [6, 4]]), np.array([11, 9]), "ab").tolist()
    [True, False]
    """

    l: float  # noqa: E741

    def __post_init__(self) -> None:
        if not 1 <= self.l < math.inf:
            raise ParameterError(f"{parameter('l')} is {quoted(self.l)}; it must be a number from 1 up.")

    def holds(self, counts: Integers, whole: Integers, values: Sequence[str]) -> Booleans:  # noqa: ARG002
        """Return for each group whether its entropy is high enough, within 1e-9."""
        return np.asarray(entropies(counts) >= math.log(self.l) - _TOLERANCE)


@dataclass(frozen=True)
class Recursive:
    """Recursive (c, l)-diversity: the commonest value is rarer than c times the l-th and all rarer ones together.

    Examples
    --------
    >>> Recursive(1, 2).holds(np.array([[3, 2, 1], [3, 2, 2]]), np.array([6, 4, 3]), "abc").tolist()
    [False, True]
    """

    c: float | Fraction
    l: int  # noqa: E741

    def __post_init__(self) -> None:
        whole_number(self.l, "l", 1, 2**31)
        if not 0 < self.c < math.inf:
            raise ParameterError(f"{parameter('c')} is {quoted(self.c)}; it must be a positive number.")

    def holds(self, counts: Integers, whole: Integers, values: Sequence[str]) -> Booleans:  # noqa: ARG002
        """Return for each group whether the condition holds, compared in whole numbers."""
        top, rest = _top_and_rest(counts, self.l)
        c = Fraction(self.c)
        return np.asarray(top.astype(object) * c.denominator < rest.astype(object) * c.numerator).astype(bool)


@dataclass(frozen=True)
class Folk:
    """Folk l-diversity: no sensitive value has more than 1/l of any group.

    Examples
    --------
    >>> Folk(2).holds(np.array([[5, 5], [6, 4]]), np.array([11, 9]), "ab").tolist()
    [True, False]
    """

    l: int  # noqa: E741

    def __post_init__(self) -> None:
        whole_number(self.l, "l", 1, 2**31)

    def holds(self, counts: Integers, whole: Integers, values: Sequence[str]) -> Booleans:  # noqa: ARG002
        """Return for each group whether no value is too common."""
        return np.asarray(counts.max(axis=1) * self.l <= counts.sum(axis=1))


@dataclass(frozen=True)
class Closeness:
    """t-closeness: the sensitive values of every group are distributed nearly as those of the whole table.

    Attributes
    ----------
    t : float
        The largest earth mover's distance.
    distance : "equal", "ordered" or Taxonomy
        How far apart two values are: all equally far; by their rank, so that 50,000 and 50,001 are as far apart as any
        neighbours; or by the height of their common ancestor.

    Examples
    --------
    >>> Closeness(0.2).holds(np.array([[3, 1], [1, 3]]), np.array([4, 4]), "ab").tolist()
    [False, False]
    """

    t: float
    distance: Distance = "equal"

    def __post_init__(self) -> None:
        if not 0 <= self.t <= 1:
            raise ParameterError(f"{parameter('t')} is {quoted(self.t)}; it must be a number from 0 to 1.")

    def holds(self, counts: Integers, whole: Integers, values: Sequence[str]) -> Booleans:
        """Return for each group whether it is close enough to the whole table."""
        return np.asarray(distances(counts, whole, values, self.distance) <= self.t + _TOLERANCE)


@dataclass(frozen=True)
class Checks(NotPrivate):
    """What groups have in common, and how coarse they are.

    Attributes
    ----------
    k : int
        Records in the smallest group.
    distinct : int
        Different values in the group that has the fewest.
    entropy : float
        exp of the lowest entropy: entropy l-diversity holds up to this l, which need not be whole.
    folk : float
        The largest l for which no value has more than 1/l of a group; need not be whole.
    t : float
        The largest distance of a group from the whole table.
    groups, records : int
    discernibility : int
        Sum of the squares of the groups' sizes.
    average : float
        Records for each group.
    normalised_average : float
        The same over the k that was asked for: 1 is the best.
    person_average : float
        The size of the group that an average person is in; with skewed data much larger than `average`.
    homogeneous : float
        Share of the records whose group has a single value.
    """

    k: int
    distinct: int
    entropy: float
    folk: float
    t: float
    groups: int
    records: int
    discernibility: int
    average: float
    normalised_average: float
    person_average: float
    homogeneous: float

    @classmethod
    def of(cls, counts: Integers, k: int, values: Sequence[str], distance: Distance = "equal") -> Checks:
        """Measure groups, given as rows of counts of their sensitive values.

        Examples
        --------
        >>> checks = Checks.of(np.array([[2, 2], [4, 0]]), 2, "ab")
        >>> checks.k, checks.distinct, checks.t, checks.discernibility, checks.homogeneous
        (4, 1, 0.25, 32, 0.5)
        """
        sizes, whole = counts.sum(axis=1), counts.sum(axis=0)
        records, groups = int(sizes.sum()), len(sizes)
        different = (counts > 0).sum(axis=1)
        squares = discernibility(sizes)
        return cls(
            k=int(sizes.min()),
            distinct=int(different.min()),
            entropy=float(np.exp(entropies(counts).min())),
            folk=float((sizes / counts.max(axis=1)).min()),
            t=float(distances(counts, whole, values, distance).max()),
            groups=groups,
            records=records,
            discernibility=squares,
            average=records / groups,
            normalised_average=records / groups / k,
            person_average=squares / records,
            homogeneous=float(sizes[different == 1].sum() / records),
        )


def entropies(counts: Integers) -> Floats:
    """Return the entropy of the values in each group, in nats.

    Examples
    --------
    >>> entropies(np.array([[1, 1], [2, 0]])).round(3).tolist()
    [0.693, 0.0]
    """
    sizes = counts.sum(axis=1)
    logarithms = np.log(np.maximum(counts, 1))
    return np.asarray(np.log(sizes) - (counts * logarithms).sum(axis=1) / sizes)


def smallest_recursive(counts: Integers, l: int) -> Fraction | float:  # noqa: E741
    """Return the c that recursive (c, l)-diversity must exceed in all groups; infinite if no c is enough.

    Examples
    --------
    >>> smallest_recursive(np.array([[6, 2, 1], [4, 2, 2]]), 2)
    Fraction(2, 1)
    """
    top, rest = _top_and_rest(counts, l)
    if not rest.all():
        return math.inf
    return max(Fraction(int(one), int(other)) for one, other in zip(top, rest, strict=True))


def _top_and_rest(counts: Integers, l: int) -> tuple[Integers, Integers]:  # noqa: E741
    """Return the count of the commonest value, and of the l-th commonest and all rarer ones together."""
    falling = -np.sort(-counts, axis=1)
    return falling[:, 0], falling[:, l - 1 :].sum(axis=1)


def discernibility(sizes: Integers, suppressed: int = 0) -> int:
    """Return the sum of the squares of the groups' sizes, plus the table's size for each suppressed record.

    Examples
    --------
    >>> discernibility(np.array([2, 3])), discernibility(np.array([2, 3]), suppressed=1)
    (13, 19)
    """
    records = int(sizes.sum()) + suppressed
    return int((sizes.astype(object) ** 2).sum()) + suppressed * records


def distances(counts: Integers, whole: Integers, values: Sequence[str], distance: Distance = "equal") -> Floats:
    """Return the earth mover's distance of each group's values from those of the whole table.

    Sums are those of whole numbers: n c_g(v) - n_g c(v), over n n_g.

    Parameters
    ----------
    counts : (groups, values) int array
    whole : (values,) int array
        The counts of the whole table.
    values : sequence of str
        The values, as a taxonomy names them.
    distance : "equal", "ordered" or Taxonomy

    Examples
    --------
    >>> distances(np.array([[2, 0, 0], [0, 2, 0]]), np.array([2, 2, 2]), "abc", "ordered").tolist()
    [0.5, 0.3333333333333333]
    """
    whole = np.asarray(whole, dtype=np.int64)
    sizes, records = counts.sum(axis=1), int(whole.sum())
    extra = counts.astype(np.int64) * records - sizes[:, None] * whole  # (groups, values), times n n_g
    if isinstance(distance, Taxonomy):
        moved, steps = _hierarchical(extra, values, distance), distance.height
    elif distance == "ordered":
        moved, steps = np.abs(np.cumsum(extra, axis=1)[:, :-1]).sum(axis=1), max(extra.shape[1] - 1, 1)
    elif distance == "equal":
        moved, steps = np.abs(extra).sum(axis=1), 2
    else:
        raise ParameterError(
            f"{parameter('distance')} is {quoted(distance)}; give 'equal', 'ordered' or a Taxonomy of the values."
        )
    return np.asarray(moved / (np.float64(records) * steps * sizes))


def _hierarchical(extra: Integers, values: Sequence[str], taxonomy: Taxonomy) -> Integers:
    """Return what is moved below each ancestor, times its height: Li, Li and Venkatasubramanian's formula."""
    moved = np.zeros(len(extra), dtype=np.int64)
    below = np.zeros((len(extra), taxonomy.sizes[0]), dtype=np.int64)
    below[:, taxonomy.encode(list(values))] = extra
    for height, parents in enumerate(taxonomy.parents, 1):
        members = np.zeros((parents.size, taxonomy.sizes[height]), dtype=np.int64)
        members[np.arange(parents.size), parents] = 1
        gains, losses = np.maximum(below, 0) @ members, np.maximum(-below, 0) @ members
        moved += height * np.minimum(gains, losses).sum(axis=1)
        below = below @ members
    return moved
