"""What do several k-anonymous releases give away together? The intersection attack of Ganta and others (KDD 2008).

A person is in a group of every release. The person's sensitive value occurs in all of these groups, so it is in the
intersection of their sets of values; if one value is left, it is known (a perfect breach). The attack assumes that the
person is in every release and that the value is the same in all; where this is wrong, the intersection may be empty.

A release by itself gives values away, too: of groups that have a single one. So results stand beside those of one
release alone. And the values of people in no release can be guessed as well, from people who are alike: only the
difference between members and non-members, `advantage`, is a leak about a person.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from spatialdp._support.arrays import Booleans, Floats, Integers, expand_ranges
from spatialdp._support.tables import markdown, percent
from spatialdp.contrast.groups import Groups
from spatialdp.contrast.identifiers import QuasiIdentifiers, Secrets
from spatialdp.contrast.mark import NotPrivate
from spatialdp.errors import ParameterError
from spatialdp.wording import either, parameter, quoted

__all__ = ["Intersection", "advantage", "coincidence", "intersection", "people_in_both"]

_RARE = 1e-9  # stands for a count of zero: such values are ruled out, and guessed only if all are


@dataclass(frozen=True, eq=False, repr=False)
class Intersection(NotPrivate):
    """What an adversary knows of each person after one release, two, and so on.

    Attributes
    ----------
    values : tuple of str
        All sensitive values of all releases.
    k : tuple of int
        The k of each release.
    sizes : (releases, people) int array
        Records in the person's group of each release; 0 if no group covers the person.
    one : (releases, people) int array
        Different values in that group alone: 1 is a breach by a single release.
    left : (releases, people) int array
        Values that are left after this release and all before it.
    sets : (people, values) bool array
        The values that are left at the end.
    guesses : (releases, people) int array
        The likeliest value after each release, as its place in `values`.
    """

    values: tuple[str, ...]
    k: tuple[int, ...]
    sizes: Integers
    one: Integers
    left: Integers
    sets: Booleans
    guesses: Integers

    @property
    def single(self) -> float:
        """Share of the people whose value the first release gives away alone."""
        return float((self.one[0] == 1).mean())

    @property
    def either(self) -> float:
        """Share of the people whose value at least one release gives away alone."""
        return float((self.one == 1).any(axis=0).mean())

    @property
    def perfect(self) -> float:
        """Share of the people for whom a single value is left: perfect breaches."""
        return float(self.perfect_after[-1])

    @property
    def perfect_after(self) -> Floats:
        """Share of perfect breaches after one release, two, and so on."""
        return np.asarray((self.left == 1).mean(axis=1))

    @property
    def new(self) -> float:
        """Share of perfect breaches among those whose value no release gives away alone."""
        safe = ~(self.one == 1).any(axis=0)
        return float((self.left[-1, safe] == 1).mean()) if safe.any() else 0.0

    @property
    def contradicted(self) -> float:
        """Share of the people for whom no value is left: they were not in all releases, or their values changed."""
        return float((self.left[-1] == 0).mean())

    def partial(self, confidence: float) -> float:
        """Return the share of people for whom a guess among the values left is right with at least this probability.

        Examples
        --------
        >>> from spatialdp import contrast
        >>> groups = contrast.Mondrian(k=2).group([[0.0, 0], [1, 1]], ["flu", "cold"])
        >>> contrast.intersection([groups], [[0.0, 0]]).partial(0.5)
        1.0
        """
        if not 0 < confidence <= 1:
            raise ParameterError(
                f"{parameter('confidence')} is {quoted(confidence)}; it must be above 0 and at most 1."
            )
        return float(((self.left[-1] > 0) & (self.left[-1] * confidence <= 1)).mean())

    @property
    def presumed(self) -> dict[str, float]:
        """The anonymity that the first release promises, in three readings, each under its own name."""
        covered = self.sizes[0] > 0
        return {
            "k": float(self.k[0]),
            "records in the group": float(self.sizes[0, covered].mean()) if covered.any() else 0.0,
            "values in the group": float(self.one[0].mean()),
        }

    @property
    def effective(self) -> float:
        """Mean number of values that are left."""
        return float(self.left[-1].mean())

    def right(self, truth: Any) -> Floats:
        """Return the share of people whose value is the likeliest one, after one release, two, and so on.

        Parameters
        ----------
        truth : array-like or Secrets
            The true value of each person.

        Examples
        --------
        >>> from spatialdp import contrast
        >>> groups = contrast.Mondrian(k=2).group([[0.0, 0], [1, 1], [2, 2]], ["flu", "flu", "cold"])
        >>> contrast.intersection([groups], [[0.0, 0], [2.0, 2]]).right(["flu", "cold"]).tolist()
        [0.5]
        """
        secrets = Secrets.of(truth)
        names = np.array(self.values, dtype=object)
        true = np.array(secrets.values, dtype=object)[secrets.codes]
        return np.asarray((names[self.guesses] == true).mean(axis=1))

    def holds(self, truth: Any) -> Booleans:
        """Return for each person whether the true value is among those that are left.

        Examples
        --------
        >>> from spatialdp import contrast
        >>> groups = contrast.Mondrian(k=1).group([[0.0, 0], [1, 1]], ["flu", "cold"])
        >>> contrast.intersection([groups], [[0.0, 0], [0.0, 0]]).holds(["flu", "cold"]).tolist()
        [True, False]
        """
        secrets = Secrets.of(truth)
        places = {value: place for place, value in enumerate(self.values)}
        code = np.array([places.get(value, -1) for value in secrets.values], dtype=np.int64)[secrets.codes]
        return np.asarray((code >= 0) & self.sets[np.arange(code.size), code])

    def table(self) -> str:
        """Return a table for people: what one release gives away, and what all of them do.

        Examples
        --------
        >>> from spatialdp import contrast
        >>> groups = contrast.Mondrian(k=2).group([[0.0, 0], [1, 1]], ["flu", "flu"])
        >>> print(contrast.intersection([groups, groups], [[0.0, 0]]).table().splitlines()[-1])
        | 2        | 100.0 %     | 100.0 %        | 1.0         |
        """
        alone = np.maximum.accumulate(self.one == 1, axis=0).mean(axis=1)
        rows = [
            [str(number), percent(any_alone), percent(together), f"{left:.1f}"]
            for number, (any_alone, together, left) in enumerate(
                zip(alone, self.perfect_after, self.left.mean(axis=1), strict=True), 1
            )
        ]
        head = ["releases", "known alone", "known together", "values left"]
        return f"{self.NOTE}\n\n{markdown([head, *rows])}"


def intersection(releases: Sequence[Groups], people: Any) -> Intersection:
    """Intersect the sensitive values of the groups that people are in, over any number of releases.

    Parameters
    ----------
    releases : sequence of Groups
    people : QuasiIdentifiers, array-like, DataFrame or mapping
        In the columns of the releases: what the adversary knows of the people who are attacked.

    Returns
    -------
    Intersection

    Examples
    --------
    >>> from spatialdp import contrast
    >>> first = contrast.Mondrian(k=2).group({"age": [20, 21]}, ["AIDS", "flu"])
    >>> second = contrast.Mondrian(k=2).group({"age": [20, 28]}, ["AIDS", "cold"])
    >>> attack = contrast.intersection([first, second], {"age": [20]})
    >>> attack.single, attack.perfect, attack.values[attack.guesses[-1, 0]]
    (0.0, 1.0, 'AIDS')
    """
    if not releases:
        raise ParameterError("no releases were given; give at least one.")
    known = _known(people, releases)
    values = tuple(dict.fromkeys(value for release in releases for value in release.secrets.values))
    place = {value: number for number, value in enumerate(values)}
    sets = np.ones((len(known), len(values)), dtype=bool)
    scores = np.zeros((len(known), len(values)))
    sizes, one, left, guesses = [], [], [], []
    for release in releases:
        counts = np.zeros((release.sizes.size, len(values)), dtype=np.int64)
        counts[:, [place[value] for value in release.secrets.values]] = release.counts
        seen = _counts_about(release, known, counts)  # (people, values): records of all groups that cover a person
        own = seen.sum(axis=1)
        possible = (seen > 0) | (own == 0)[:, None]
        sets &= possible
        scores += _logarithms(np.where((own == 0)[:, None], counts.sum(axis=0), seen))
        sizes.append(own)
        one.append(possible.sum(axis=1))
        left.append(sets.sum(axis=1))
        guesses.append(scores.argmax(axis=1))
    return Intersection(
        values=values,
        k=tuple(release.k for release in releases),
        sizes=np.array(sizes),
        one=np.array(one),
        left=np.array(left),
        sets=sets,
        guesses=np.array(guesses),
    )


def _known(people: Any, releases: Sequence[Groups]) -> QuasiIdentifiers:
    """Return what is known of people in the columns, and with the orders of categories, that all releases have."""
    known = QuasiIdentifiers.of(people, releases[0].records.orders)
    if any(release.records.names != known.names for release in releases):
        raise ParameterError(
            f"the people have the columns {', '.join(known.names)}, but a release has others; give the columns of all "
            "releases, in their order."
        )
    if any(dict(release.records.orders) != dict(known.orders) for release in releases):
        raise ParameterError(
            "the categories of the people and of all releases are not in one order, so that their numbers mean "
            "different things; read all tables with the same orders"
            f"{either(', as QuasiIdentifiers.of(table, orders) does', '')}."
        )
    return known


def _counts_about(release: Groups, people: QuasiIdentifiers, counts: Integers) -> Integers:
    """Add up the counts of all groups that cover a person, for each person."""
    person, group = release.locator.candidates(people)
    if np.array_equal(person, np.arange(len(people))):
        return counts[group]
    seen = np.zeros((len(people), counts.shape[1]), dtype=np.int64)
    np.add.at(seen, person, counts[group])
    return seen


def _logarithms(counts: Integers) -> Floats:
    """Return the logarithm of the share of each value in each row."""
    raised = np.where(counts > 0, counts, _RARE)
    return np.asarray(np.log(raised / raised.sum(axis=1, keepdims=True)))


def coincidence(values: int, sizes: Sequence[float]) -> tuple[float, float]:
    """Return what the attack finds by coincidence alone, if all values are equally likely and independent of all else.

    Parameters
    ----------
    values : int
        Number of sensitive values, V.
    sizes : sequence of float
        Records in the person's group of each release, the person included.

    Returns
    -------
    perfect, left : float
        Probability that no other value is in all groups, (1 - P)^(V - 1), where P is the probability that a given one
        is; values are treated as if they occurred independently. And the mean number of values left, 1 + (V - 1) P,
        which is exact.

    Examples
    --------
    >>> [round(coincidence(values, [37.5, 37.5])[0], 2) for values in (247, 1000, 2500)]
    [0.01, 0.28, 0.59]
    """
    common = math.prod(1 - (1 - 1 / values) ** (size - 1) for size in sizes)
    return (1 - common) ** (values - 1), 1 + (values - 1) * common


def advantage(members: float, others: float) -> float:
    """Return by how much guesses about people in the releases are better than guesses about people who are not.

    What is guessed as well about others is knowledge of how the world is, and no leak about a person.

    Examples
    --------
    >>> round(advantage(0.74, 0.44), 2)
    0.3
    """
    return members - others


def people_in_both(first: Groups, second: Groups, people: Any) -> Integers:
    """Return for each person how many records of the first release lie in both of the person's boxes.

    Two cloaks that hold k people each may have few people, or only one, in common.

    Parameters
    ----------
    first, second : Groups
        Made by Mondrian, with published ranges.
    people : as for `intersection`

    Examples
    --------
    >>> from spatialdp import contrast
    >>> first = contrast.Mondrian(k=2).group([[0.0, 0], [1, 1], [5, 5], [6, 6]], list("abcd"))
    >>> second = contrast.Mondrian(k=2).group([[1.0, 1], [3, 3], [5, 5], [6, 6]], list("bxcd"))
    >>> people_in_both(first, second, [[1.0, 1], [5.0, 5]]).tolist()
    [1, 2]
    """
    known = _known(people, [first, second])
    own, other = (_boxes(release, known) for release in (first, second))
    order, starts = first.members()
    person, place = expand_ranges(starts[own], starts[own] + first.sizes[own])
    values = first.records.values[:, order[place]].T
    box = other[person]
    inside = ((values >= second.lower[box]) & (values <= second.upper[box])).all(axis=1)
    return np.bincount(person[inside], minlength=len(known))


def _boxes(release: Groups, people: QuasiIdentifiers) -> Integers:
    person, group = release.locator.candidates(people)
    if not (release.boxed and np.array_equal(person, np.arange(len(people)))):
        raise ParameterError(
            "people are in no box, or in several, of a release; give releases of Mondrian that are not relaxed."
        )
    return group
