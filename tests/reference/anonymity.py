"""Checks of groups, slowly and obviously: one group and one value after the other, in fractions."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction


def groups_of(group: Sequence[int], secrets: Sequence[str]) -> list[Counter]:
    """How often each value occurs in each group."""
    counts: dict[int, Counter] = {}
    for number, value in zip(group, secrets, strict=True):
        counts.setdefault(number, Counter())[value] += 1
    return list(counts.values())


def entropy(counts: Counter) -> float:
    """Entropy of the values of a group."""
    return -sum(count / counts.total() * math.log(count / counts.total()) for count in counts.values())


def is_recursive(counts: Counter, c: Fraction, l: int) -> bool:  # noqa: E741
    """Whether r_1 < c (r_l + r_(l+1) + ...)."""
    falling = [count for _, count in counts.most_common()]
    return len(falling) >= l and falling[0] < c * sum(falling[l - 1 :])


def differences(counts: Counter, whole: Counter, values: Sequence[str]) -> list[Fraction]:
    """p - q for each value."""
    return [Fraction(counts[v], counts.total()) - Fraction(whole[v], whole.total()) for v in values]


def equal_distance(counts: Counter, whole: Counter, values: Sequence[str]) -> Fraction:
    """Half of all differences."""
    return sum(map(abs, differences(counts, whole, values)), Fraction(0)) / 2


def ordered_distance(counts: Counter, whole: Counter, values: Sequence[str]) -> Fraction:
    """What is carried over each boundary between neighbours."""
    extra = differences(counts, whole, values)
    carried = [abs(sum(extra[: place + 1], Fraction(0))) for place in range(len(values) - 1)]
    return sum(carried, Fraction(0)) / max(len(values) - 1, 1)


def cheapest(supply: Sequence[float], demand: Sequence[float], cost: Sequence[Sequence[float]]) -> float:
    """The earth mover's distance by linear programming, for any costs."""
    from scipy.optimize import linprog

    m = len(supply)
    rows = [[float(place // m == i) for place in range(m * m)] for i in range(m)]
    columns = [[float(place % m == j) for place in range(m * m)] for j in range(m)]
    costs = [cost[i][j] for i in range(m) for j in range(m)]
    found = linprog(costs, A_eq=rows + columns, b_eq=[*supply, *demand])
    return float(found.fun)


def anonymous_vectors(rows: Sequence[Sequence[Sequence[str]]], heights: Sequence[int], k: int) -> set[tuple[int, ...]]:
    """All k-anonymous vectors; `rows` has for each record and column its labels at all levels."""
    from itertools import product

    found = set()
    for vector in product(*(range(height + 1) for height in heights)):
        counts = Counter(tuple(labels[level] for labels, level in zip(row, vector, strict=True)) for row in rows)
        if min(counts.values()) >= k:
            found.add(vector)
    return found
