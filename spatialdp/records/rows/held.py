"""Which records does a curator hold? Those in the domain and its region, in memory, with the columns beside them.

Records are read once, when the curator is made. What one person has is bounded then, too: at most L records of each
person are held, and which ones follows from this person's own records alone, whatever their order (`_first_of_each`).
Everything here is exact and private: it has no length and shows nothing. Errors speak of form: of the type of points
and the names of columns, never of a record.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from spatialdp._support.arrays import Array, Booleans, Floats, Integers, Integers32, Objects
from spatialdp.errors import ParameterError, PointsError
from spatialdp.privacy.unit import Bound, Person
from spatialdp.records.codes import Codes
from spatialdp.records.formats.base import forgetful
from spatialdp.records.persons.identifiers import joined, persons_of, texts_of
from spatialdp.records.persons.keys import cell_keys
from spatialdp.records.points import LatticePoints, Points, as_points
from spatialdp.records.reading import column_of
from spatialdp.records.rows.rows import Rows
from spatialdp.records.truth import Counter
from spatialdp.space.domain import RASTER_SHIFT, Domain
from spatialdp.space.lattice import LATTICE, LATTICE_BITS
from spatialdp.wording import either, parameter, quoted

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["HeldRecords", "hold"]

_FEW = 2**18  # up to this many records, looking at each one is faster than asking a counter


class HeldRecords:
    """The records of a curator, or of a part of one: lattice squares, persons and columns, all of them private.

    Attributes
    ----------
    columns, rows : integer arrays
        Lattice columns and rows of the records.
    persons : Arrow array or None
        The persons of the records, if they have any.
    domain : Domain
    """

    def __init__(
        self,
        squares: tuple[Integers32, Integers32],
        persons: pa.Array | None,
        domain: Domain,
        places: Integers,
        beside: Mapping[str, _Column],
    ) -> None:
        self.columns, self.rows = squares
        self.persons = persons
        self.domain = domain
        self._places = places  # of the records, among those that the caller gave
        self._beside = beside

    def __repr__(self) -> str:
        return "HeldRecords(<private>)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("records that a curator holds cannot be copied or sent to another process")

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, which are public."""
        return tuple(self._beside)

    def numbers(self, name: str) -> Floats:
        """Return a column as numbers, NaN for what is none; the declared type may be refused, but no value."""
        return self._beside[name].numbers[self._places]

    def check_numbers(self, name: str) -> None:
        """Refuse a column whose declared type has no numbers."""
        self._beside[name].numbers  # noqa: B018 - read once

    def check_labels(self, name: str) -> None:
        """Refuse a column whose declared type has no labels."""
        self._beside[name].texts  # noqa: B018 - read once

    def labels(self, name: str, public: Sequence[str]) -> Integers:
        """Return the place of each record's label among the public ones; -1 for a record with none of them."""
        import pyarrow as pa
        import pyarrow.compute as pc

        texts = self._beside[name].texts.take(pa.array(self._places))
        found = pc.index_in(texts, value_set=pa.array(public, pa.large_string()))
        places: Integers = found.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
        return places

    def in_boxes(self, boxes: Integers, weights: Integers | None = None) -> Integers:
        """Return the number of records in each half-open lattice box, or the sum of their weights."""
        if len(boxes) == 1 and self.columns.size <= _FEW:
            inside = self._in_box(boxes[0])
            return np.array([np.count_nonzero(inside) if weights is None else weights[inside].sum()], dtype=np.int64)
        counter = self._counter if weights is None else Counter(self.columns, self.rows, weights)
        return np.asarray(counter.count(boxes).astype(np.int64))  # sums of weights stay below 2^53, so they are exact

    def first_polygon(self, polygons: Objects) -> Integers:
        """Return the first polygon that contains each record, by its place; -1 for a record in none.

        A record is taken to lie at the centre of its lattice square, as in `records.truth`.
        """
        squares = zip(self.domain.axes, (self.columns, self.rows), strict=True)
        return _first_with(polygons, *(axis.low + (each + 0.5) * axis.spacing for axis, each in squares))

    def first_box(self, boxes: Integers) -> Integers:
        """Return the first half-open lattice box that each record is in, by its place; -1 for a record in none."""
        import shapely

        if len(boxes) == 1:
            return np.where(self._in_box(boxes[0]), 0, -1)
        # Centres of squares lie on no edge, and the numbers are exact in doubles.
        return _first_with(shapely.box(*boxes.T.astype(np.float64)), self.columns + 0.5, self.rows + 0.5)

    def divided(self, parts: Integers, count: int) -> list[HeldRecords]:
        """Return the records of each of `count` parts, given the part of each record; -1 for a record in none."""
        order = np.argsort(parts, kind="stable")
        edges = np.searchsorted(parts[order], np.arange(count + 1))
        return [self.only(np.sort(order[first:last])) for first, last in itertools.pairwise(edges.tolist())]

    def only(self, chosen: Integers | Booleans) -> HeldRecords:
        """Return some of the records."""
        import pyarrow as pa

        places = np.flatnonzero(chosen) if chosen.dtype == bool else chosen
        persons = None if self.persons is None else self.persons.take(pa.array(places))
        squares = self.columns[places], self.rows[places]
        return HeldRecords(squares, persons, self.domain, self._places[places], self._beside)

    def points(self) -> LatticePoints:
        """Return the records as points of the domain, for a mechanism."""
        persons = None if self.persons is None else [self.persons]
        return LatticePoints([(self.columns, self.rows)], self.domain, persons)

    def _in_box(self, box: Integers) -> Booleans:
        """Return which records are in a half-open lattice box."""
        inside = np.ones(self.columns.size, dtype=bool)
        for positions, low, high in zip((self.columns, self.rows), box[:2].tolist(), box[2:].tolist(), strict=True):
            if low > 0:
                inside &= positions >= low
            if high < LATTICE:
                inside &= positions < high
        return inside

    @cached_property
    def _counter(self) -> Counter:
        return Counter(self.columns, self.rows)

    def _bounded(self, most: int) -> HeldRecords:
        """Return the records with at most so many of each person; those without a person count nowhere."""
        assert self.persons is not None, "checked by as_points"
        named = self.only(self.persons.is_valid().to_numpy(zero_copy_only=False))
        return named.only(named._first_of_each(most))

    def _first_of_each(self, most: int) -> Integers:
        """Return the places of the first `most` records of each person.

        The order of a person's records is that of their keys (`persons.keys`), then of their squares, and then of what
        the columns say. Records that agree in all this are alike in every answer, so their own order does not matter.
        """
        coded = self.persons.dictionary_encode()  # type: ignore[union-attr]  # see _bounded
        persons = coded.indices.to_numpy().astype(np.int64)
        above = np.bincount(persons, minlength=1)[persons] > most
        few, many = np.flatnonzero(~above), np.flatnonzero(above)
        squares = self.rows[many].astype(np.int64) << LATTICE_BITS | self.columns[many]
        keys = cell_keys(coded.dictionary, persons[many], squares)
        contents = [each[self._places[many]] for column in self._beside.values() for each in column.orders]
        order = many[np.lexsort((*contents, squares, keys, persons[many]))]
        starts = np.flatnonzero(np.diff(persons[order], prepend=-1))
        rank = np.arange(order.size) - np.repeat(starts, np.diff(starts, append=order.size))
        return np.sort(np.concatenate([few, order[rank < most]]))


def _first_with(shapes: Objects, x: Array, y: Array) -> Integers:
    """Return the first shape that contains each place, by its number; -1 for a place in none."""
    import shapely

    place, shape = shapely.STRtree(shapes).query(shapely.points(x, y), predicate="within")
    first = np.full(x.size, len(shapes), dtype=np.int64)
    np.minimum.at(first, place, shape)
    return np.where(first == len(shapes), -1, first)


class _Column:
    """A column beside the points, as its owner gave it; it is read as numbers, or as labels, when it is needed."""

    def __init__(self, values: Any, name: str) -> None:
        self._values, self._name = values, name

    @cached_property
    @forgetful
    def numbers(self) -> Floats:
        return np.asarray(column_of(self._values, parameter(self._name)), dtype=np.float64)

    @cached_property
    @forgetful
    def texts(self) -> pa.Array:
        return texts_of(persons_of(self._values, parameter(self._name)))

    @property
    def orders(self) -> list[Integers]:
        """Numbers that sort as what the column says, and are equal for what is alike: by labels, and by numbers.

        What the columns of other records say changes no order. Series of pandas have both: doubles are labels where
        they are whole.
        """
        try:
            texts = self.texts
        except PointsError:  # a column of doubles has no labels
            return [self._by_number]
        coded = texts.dictionary_encode()
        by_text = np.append(_ranks(coded.dictionary), -1)[coded.indices.fill_null(-1).to_numpy()]
        try:
            return [by_text, self._by_number]
        except PointsError:  # a column of text has no numbers
            return [by_text]

    @property
    def _by_number(self) -> Integers:
        return np.asarray(np.unique(self.numbers, return_inverse=True)[1])


def _ranks(different: pa.Array) -> Integers:
    """Return the place of each text among all, which are different, to the last byte.

    The sorting of numpy would take "a" and "a" with a NUL behind it for alike, and leave their order to chance, or to
    where the records of other persons have them first.
    """
    import pyarrow.compute as pc

    ranks = np.empty(len(different), dtype=np.int64)
    ranks[pc.sort_indices(different).to_numpy()] = np.arange(len(different))
    return ranks


@forgetful
def hold(records: Any, domain: Domain, person: Person | None = None) -> HeldRecords:
    """Read records into memory, and bound what each person has.

    Parameters
    ----------
    records : Points, Rows, or anything that `Points` takes
    domain : Domain
        Records outside of it, or outside of its region, are not held. A record is in the region if its cell of
        `Domain.region_raster` is.
    person : Person, optional
        At most `Person.records` records of each person are held.
    """
    points, beside = _taken_apart(records)
    points = as_points(points, domain, person)
    _check_bound(person)
    blocks = list(points._squares(domain))
    columns, rows = (
        np.concatenate([np.empty(0, dtype=np.int32), *(block[side] for block in blocks)]) for side in (0, 1)
    )
    persons = joined([block.persons for block in blocks if block.persons is not None]) if points._has_persons else None
    held = HeldRecords((columns, rows), persons, domain, np.arange(columns.size), _checked(beside, columns.size))
    held = held.only(_in_region(columns, rows, domain))
    return held if person is None else held._bounded(person.most)


def _taken_apart(records: Any) -> tuple[Any, Mapping[str, Any]]:
    """Return the places of the records, and the columns beside them by their names."""
    if isinstance(records, Rows):
        if type(records) is not Rows:
            raise PointsError(
                "the rows stay in their file, but a curator holds records in memory; read the columns into memory, and "
                f"give {either('Rows(points, ...)', 'them beside the points')}."
            )
        records, beside = records._points, records._columns
    else:
        beside = {}
    if isinstance(records, Codes):
        raise PointsError("the records are codes of zones, but a curator needs places; give points.")
    if isinstance(records, Points) and not records._has_positions:
        raise PointsError(
            "the points are in a table and do not leave its engine, but a curator holds records in memory; export them "
            "to a file and read that, or release with a mechanism."
        )
    return records, beside


def _check_bound(person: Person | None) -> None:
    """Refuse bounds that say nothing about the number of records."""
    if person is not None and (person.choice is not None or person.bound is not Bound.RECORDS):
        raise ParameterError(
            f"{parameter('person')} is {quoted(person)}, but a curator needs the largest number of records of a "
            "person, and keeps no more than that; give a number of records, such as "
            f"{either('Person(records=10)', 'records=10')}."
        )


def _checked(beside: Mapping[str, Any], count: int) -> dict[str, _Column]:
    """Return the columns, each of which has one value for each record."""
    for name, values in beside.items():
        if not hasattr(values, "__len__") or len(values) != count:
            raise PointsError(
                f"the points and {parameter(name)} have different lengths; each record needs a value, or a missing "
                "one. Give as many as points."
            )
    return {name: _Column(values, name) for name, values in beside.items()}


def _in_region(columns: Integers32, rows: Integers32, domain: Domain) -> Booleans:
    """Return which records are in the domain and its region."""
    inside = columns >= 0
    if domain.region_raster is not None:
        inside &= domain.region_raster[rows >> RASTER_SHIFT, columns >> RASTER_SHIFT]
    return np.asarray(inside)
