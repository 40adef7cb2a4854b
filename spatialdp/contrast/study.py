"""Who is in which release, and what do the releases give away? The experiment that `compare` makes.

Some people, the members, are in every release; non-members are in none; the rest changes from one release to the next.
Numbers are measured here and put into tables by `comparison`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from spatialdp._support.arrays import Array, Booleans, Floats, Integers
from spatialdp._support.checks import whole_number
from spatialdp.contrast.attacks.boxes import PrintedCoordinates, printed_coordinates
from spatialdp.contrast.attacks.intersection import Intersection, intersection, people_in_both
from spatialdp.contrast.attacks.noisy import bounds, guesses_from_counts
from spatialdp.contrast.groups import Groups
from spatialdp.contrast.identifiers import QuasiIdentifiers, Secrets, columns_in
from spatialdp.contrast.mark import NotPrivate
from spatialdp.errors import ParameterError
from spatialdp.mechanisms import Mechanism
from spatialdp.privacy.noise.source import SeededNoise
from spatialdp.records.points import squares
from spatialdp.records.truth import Counter
from spatialdp.space.domain import RASTER_SHIFT, Domain, Grid
from spatialdp.space.lattice import cells_of
from spatialdp.wording import either, parameter, quoted

if TYPE_CHECKING:
    from spatialdp.release import Release

__all__ = ["CELLS", "AttackRow", "BoxRow", "LeakRow", "Study"]

SHARES = (0.001, 0.01, 0.1)  # of the domain's area, for boxes whose counts are compared
CELLS = (64, 64)
_MOST_VALUES = 200
_MEMBERS = 5000


def _too_few(overlap: Any) -> str:
    """Return what is wrong if the domain holds too few records for the people who are to be in every release."""
    if overlap is None:
        return (
            "the domain holds fewer than ten of the records, of which a tenth would be in every release; check "
            f"{parameter('bounds')}, their CRS, and which column is x, or give a larger domain."
        )
    return (
        f"{parameter('overlap')} is {quoted(overlap)}; the domain must hold more than twice as many records, and at "
        "least ten. Give fewer people, or a larger domain."
    )


@dataclass(frozen=True)
class AttackRow(NotPrivate):
    """What an adversary learns from a number of releases of one kind.

    Attributes
    ----------
    release : str
        Such as "5-anonymous" or "ε = 1 each".
    number : int
        Of releases.
    alone : float
        Share of the members whose value one release by itself tells; 0 for private releases.
    sure : float
        Share of the members whose value is known for certain from all releases; 0 for private releases.
    members, others : float
        Share of right guesses about members and non-members.
    budget : Fraction or None
        ε of all these releases together; None if nothing is bounded.
    bound : float
        The most that any adversary's advantage can be; 1 if nothing is bounded.
    """

    release: str
    number: int
    alone: float
    sure: float
    members: float
    others: float
    budget: Fraction | None
    bound: float

    @property
    def advantage(self) -> float:
        """By how much guesses about members are better."""
        return self.members - self.others


@dataclass(frozen=True)
class BoxRow(NotPrivate):
    """Errors of the counts in boxes of one size.

    Attributes
    ----------
    share : float
        Area of each box, of the domain's.
    count : float
        Mean true count.
    errors : dict
        Mean absolute error of each kind of map.
    widths : dict
        Mean width of the certain bounds of k-anonymous maps.
    """

    share: float
    count: float
    errors: dict[str, float]
    widths: dict[str, float]


@dataclass(frozen=True)
class LeakRow(NotPrivate):
    """What k-anonymous boxes print, and how many people two of them have in common.

    Attributes
    ----------
    release : str
    printed : PrintedCoordinates
    in_both, in_group : float
        Median number of people of release 1 in both of a member's boxes; and mean number in the first one.
    fewer_than_k, only_one : float
        Share of the members with fewer than k people in both boxes, and with one.
    """

    release: str
    printed: PrintedCoordinates
    in_both: float
    in_group: float
    fewer_than_k: float
    only_one: float


@dataclass(frozen=True, eq=False, repr=False)
class Study(NotPrivate):
    """The records in the domain, and who of them is in which release."""

    places: QuasiIdentifiers
    secrets: Secrets
    domain: Domain
    outside: int
    members: Integers
    others: Integers
    rest: Integers
    seed: int

    @classmethod
    def of(cls, points: Any, sensitive: Any, domain: Any, overlap: int | None, seed: int) -> Study:
        """Split the records in the domain into members, non-members and the rest."""
        if not isinstance(domain, Domain):
            raise ParameterError(f"domain is a {type(domain).__name__}; give a spatialdp.Domain with public bounds.")
        coordinates, secrets = _coordinates(points), Secrets.of(sensitive)
        if len(secrets) != coordinates.shape[1]:
            raise ParameterError(
                "the points and their sensitive values have different lengths; give one value for each point."
            )
        inside = _inside(coordinates[0], coordinates[1], domain)
        number = int(inside.sum())
        most = _MEMBERS if overlap is None else whole_number(overlap, "overlap", 1, 2**31)
        people = min(most, number // 10) if overlap is None else most
        if people < 1 or 2 * people + 2 > number:
            raise ParameterError(_too_few(overlap))
        if len(secrets.values) > _MOST_VALUES:
            raise ParameterError(
                f"the sensitive values are more than {_MOST_VALUES} different ones, and a private map is made of each; "
                "give a coarser column."
            )
        order = np.argsort(SeededNoise((seed, 0)).uniform_words(number), kind="stable")
        split = order[:people], order[people : 2 * people], order[2 * people :]
        places = QuasiIdentifiers.of(coordinates[:, inside].T)
        return cls(places, secrets.some(inside), domain, int((~inside).sum()), *split, seed)

    # --- who is in which release ---

    def chosen(self, number: int) -> Integers:
        """Return the records of a release, counted from 0: all members and half of the rest."""
        half = self.rest.size // 2
        if number < 2:
            return np.concatenate([self.members, (self.rest[:half], self.rest[half:])[number]])
        words = SeededNoise((self.seed, 1, number)).uniform_words(self.rest.size)
        return np.concatenate([self.members, self.rest[np.argsort(words, kind="stable")[:half]]])

    def part(self, number: int) -> tuple[QuasiIdentifiers, Secrets]:
        """Return the places and values of a release."""
        chosen = self.chosen(number)
        return self.places.some(chosen), self.secrets.some(chosen)

    # --- k-anonymous releases ---

    def attacked(self, groups: Sequence[Groups]) -> tuple[Intersection, Intersection]:
        """Attack members and non-members alike."""
        return intersection(groups, self.places.some(self.members)), intersection(groups, self.places.some(self.others))

    def anonymous_rows(self, k: int, members: Intersection, others: Intersection) -> Iterator[AttackRow]:
        """Yield a row for each number of releases."""
        alone = np.maximum.accumulate(members.one == 1, axis=0).mean(axis=1)
        right = [
            attack.right(self.secrets.some(people))
            for attack, people in ((members, self.members), (others, self.others))
        ]
        for after in range(alone.size):
            shares = (float(each[after]) for each in (alone, members.perfect_after, *right))
            one, sure, of_members, of_others = shares
            yield AttackRow(f"{k}-anonymous", after + 1, one, sure, of_members, of_others, None, 1.0)

    def leak_row(self, k: int, groups: Sequence[Groups]) -> LeakRow:
        """Measure what the boxes of the first release print, and what two boxes have in common."""
        people = self.places.some(self.members)
        common = people_in_both(groups[0], groups[1], people)
        _, own = groups[0].locator.candidates(people)
        return LeakRow(
            release=f"{k}-anonymous",
            printed=printed_coordinates(groups[0]),
            in_both=float(np.median(common)),
            in_group=float(groups[0].sizes[own].mean()),
            fewer_than_k=float((common < k).mean()),
            only_one=float((common == 1).mean()),
        )

    # --- private releases ---

    def private_rows(self, mechanism: Mechanism, epsilon: Fraction, count: int, label: str) -> Iterator[AttackRow]:
        """Yield a row for each number of private releases of ε each."""
        people = np.concatenate([self.members, self.others])
        cells, own = np.unique(self._cell_boxes(mechanism, people), axis=0, return_inverse=True)
        counts = np.array([self._counts(mechanism, epsilon, number, cells) for number in range(count)])
        guesses = guesses_from_counts(counts[:, own.ravel()])
        right = guesses == self.secrets.codes[people]
        members = right[:, : self.members.size].mean(axis=1)
        others = right[:, self.members.size :].mean(axis=1)
        for number in range(1, count + 1):
            limits = bounds(epsilon, number)
            rights = float(members[number - 1]), float(others[number - 1])
            yield AttackRow(label, number, 0.0, 0.0, *rights, limits.budget, limits.advantage)

    def _counts(self, mechanism: Mechanism, epsilon: Fraction, number: int, cells: Floats) -> Floats:
        """Return the noisy count of each value in each cell, (cells, values), from one release."""
        chosen = self.chosen(number)
        xy, codes = self.places.values[:, chosen], self.secrets.codes[chosen]
        columns = []
        for code in range(len(self.secrets.values)):
            noise = SeededNoise((self.seed, 2, number, code, epsilon.numerator, epsilon.denominator))
            release = mechanism.release(xy[:, codes == code].T, self.domain, epsilon=epsilon, noise=noise)
            columns.append(release.answer(cells))
        return np.stack(columns, axis=1)

    def _cell_boxes(self, mechanism: Mechanism, people: Integers) -> Floats:
        """Return the box of the cell that each person is in, which is public."""
        grid = mechanism.leaf_grid(self.domain) or self.domain.grid(CELLS)
        return _boxes_of(grid, self.places.values[0, people], self.places.values[1, people])

    def map_of_all(self, mechanism: Mechanism, epsilon: Fraction, number: int) -> Release:
        """Return a map of all records, whatever their value."""
        noise = SeededNoise((self.seed, 3, number, epsilon.numerator, epsilon.denominator))
        return mechanism.release(self.places.values.T, self.domain, epsilon=epsilon, noise=noise)

    # --- errors ---

    def box_rows(self, whole: dict[str, Groups], maps: Sequence[Release], count: int) -> Iterator[BoxRow]:
        """Yield errors for boxes of each size."""
        for number, share in enumerate(SHARES):
            boxes = self._boxes_at_records(share, count, number)
            truth = self._true_counts(boxes)
            errors = {name: _error(groups.estimate(boxes), truth) for name, groups in whole.items()}
            for release in maps:
                name = f"ε = {release.privacy.epsilon}"
                errors[name] = errors.get(name, 0.0) + _error(release.answer(boxes), truth) / 3
            widths = {name: float(np.diff(groups.bounds(boxes), axis=1).mean()) for name, groups in whole.items()}
            yield BoxRow(share, float(truth.mean()), errors, widths)

    def _boxes_at_records(self, share: float, count: int, stream: int) -> Floats:
        """Return boxes of a share of the domain's area around random records, moved so that they lie in the domain."""
        words = SeededNoise((self.seed, 4, stream)).uniform_words(count) % np.uint64(len(self.places))
        centres = self.places.values[:, words.astype(np.int64)].T
        xmin, ymin, xmax, ymax = self.domain.bounds
        size = np.sqrt(share) * np.array([xmax - xmin, ymax - ymin])
        low = np.clip(centres - size / 2, [xmin, ymin], np.array([xmax, ymax]) - size)
        return np.hstack([low, np.minimum(low + size, [xmax, ymax])])

    def _true_counts(self, boxes: Floats) -> Integers:
        counter = Counter(*squares(self.places.values[0], self.places.values[1], self.domain))
        return counter.count(self.domain.boxes(boxes)).astype(np.int64)


def _coordinates(points: Any) -> Floats:
    """Return the places of points, (2, n); those that are not finite stay, and lie in no domain."""
    columns = list(columns_in(points).values())
    if len(columns) != 2 or any(column.dtype.kind not in "iuf" for column in columns):
        raise ParameterError(
            "the points do not have two columns of numbers; give x and y, or "
            f"{either('a GeoSeries of points', 'a file of points with a geometry')}."
        )
    return np.stack([column.astype(np.float64) for column in columns])


def _inside(x: Array, y: Array, domain: Domain) -> Booleans:
    """Which points lie in the domain and its region."""
    columns, rows = squares(x, y, domain)
    inside = columns >= 0
    if domain.region_raster is not None:
        inside &= domain.region_raster[rows >> RASTER_SHIFT, columns >> RASTER_SHIFT]
    return np.asarray(inside)


def _boxes_of(grid: Grid, x: Array, y: Array) -> Floats:
    """Return the box of the cell of a grid that each place is in."""
    columns, rows = squares(x, y, grid.domain)
    column, row = (
        cells_of(each.astype(np.int64), count) for each, count in zip((columns, rows), grid.shape, strict=True)
    )
    edges = grid.x_edges[column], grid.y_edges[row], grid.x_edges[column + 1], grid.y_edges[row + 1]
    return np.stack(edges, axis=1)


def _error(estimates: Any, truth: Integers) -> float:
    return float(np.abs(np.asarray(estimates) - truth).mean())


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
