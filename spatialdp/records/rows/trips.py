"""From which place to which place is each record? Trips, and the exact counts of the pairs of places that occur.

A trip counts if both of its ends are in the frame; otherwise it counts nowhere, silently. Pairs are numbered by
origin x places + destination. There may be 2^56 of them: those that occur are found by sorting, so time and memory
follow the number of trips. With a bound on persons, what is kept of each person is decided over all pairs together
(`records.persons.bounding`). The counts are private.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from spatialdp._support.arrays import Integers
from spatialdp.errors import PointsError
from spatialdp.privacy.unit import Person
from spatialdp.records.codes import Codes, read_codes
from spatialdp.records.files import read_points
from spatialdp.records.formats.base import forgetful
from spatialdp.records.persons.bounding import bounded_among
from spatialdp.records.persons.identifiers import joined
from spatialdp.records.points import Points
from spatialdp.records.rows.rows import checked_places, length_of, places_in
from spatialdp.space.domain import Domain
from spatialdp.space.frames.frame import Frame
from spatialdp.wording import either, quoted

if TYPE_CHECKING:
    import pyarrow as pa

    from spatialdp.space.zones.frame import Zones

__all__ = ["Trips", "as_trips", "occupied_pairs", "read_trips"]


class Trips:
    """Sensitive records with two places: where each begins, and where it ends.

    Parameters
    ----------
    origin, destination : Points, Codes, or anything that `Points` takes
        The places where trips begin and end, in the same order; for zones, `Codes` may take their place.
    person : array-like, optional
        Who each trip is about, as for `Points`. Without persons, the promise protects single trips.

    Raises
    ------
    PointsError
        If there are not as many destinations as origins, or if places are in a table that does not leave its engine.

    Privacy
    -------
    The object shows nothing about its records.

    Examples
    --------
    >>> import spatialdp as sdp
    >>> sdp.Trips([[0.1, 0.1], [0.9, 0.2]], [[0.9, 0.9], [0.8, 0.8]], person=["ann", "bob"])
    Trips(<private>)
    >>> sdp.Trips(sdp.Codes(["37063"]), sdp.Codes(["37001"]))
    Trips(<private>)
    """

    __slots__ = ("_destination", "_origin")

    @forgetful
    def __init__(self, origin: Any, destination: Any, *, person: Any = None) -> None:
        if isinstance(origin, Points | Codes) and person is not None:
            raise PointsError("the origins name their persons themselves; leave person out, and give it to them.")
        self._origin = origin if isinstance(origin, Points | Codes) else Points(origin, person=person)
        self._destination = destination if isinstance(destination, Points | Codes) else Points(destination)
        ends = self._origin, self._destination
        if any(isinstance(each, Points) and not each._has_positions for each in ends):
            raise PointsError(
                "the places stay in an engine, but trips need both ends beside each other; export the table to a file, "
                f"and read that{either(' with spatialdp.read_trips', '')}."
            )
        if self._destination._has_persons:
            raise PointsError(
                "the destinations name persons, but only the persons of the origins count; give them to the origins."
            )
        if all(type(each) in (Points, Codes) for each in ends):  # of files, the number is known when they are read
            _check_lengths(*map(length_of, ends))

    @classmethod
    @forgetful
    def from_frame(cls, frame: Any, origin: Any, destination: Any, *, person: str | None = None) -> Trips:
        """Take trips from the columns of a frame of pandas.

        Parameters
        ----------
        frame : DataFrame
        origin, destination : str or (str, str)
            A column of codes, or two columns of coordinates, x and y.
        person : str, optional
            The column that says who each trip is about.

        Examples
        --------
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"from": ["a", "b"], "x": [0.1, 0.2], "y": [0.3, 0.4]})
        >>> Trips.from_frame(frame, "from", ("x", "y"))
        Trips(<private>)
        """
        persons = None if person is None else _columns(frame, person)[0]
        return cls(_ends(frame, origin, persons), _ends(frame, destination, None))

    def __repr__(self) -> str:
        return "Trips(<private>)"

    def _check(self, frame: Frame, person: Person | None) -> None:
        """Refuse trips that do not fit a frame or a bound on persons, by their form."""
        checked_places(self._origin, frame, person)
        checked_places(self._destination, frame, None)

    def _numbers(self, frame: Frame, person: Person | None) -> tuple[pa.Array | None, Integers]:
        """Return the persons and the numbers of the pairs of the trips that count."""
        import pyarrow as pa

        size = frame.space.size
        blocks = list(places_in(self._origin, frame, person))
        origins = _joined([places for _, places in blocks])
        destinations = _joined([places for _, places in places_in(self._destination, frame, None)])
        _check_lengths(origins.size, destinations.size)
        inside = (origins < size) & (destinations < size)
        numbers = origins[inside] * size + destinations[inside]
        if person is None:
            return None, numbers
        return joined([persons for persons, _ in blocks if persons is not None]).filter(pa.array(inside)), numbers


@forgetful
def occupied_pairs(trips: Trips, frame: Frame, person: Person | None = None) -> tuple[Integers, Integers]:
    """Return the numbers of the pairs with trips, in order, and their exact counts: of trips, or what a bound keeps.

    Examples
    --------
    >>> import spatialdp as sdp
    >>> frame = Frame(sdp.Domain((0, 0, 1, 1)).grid((2, 1)))
    >>> occupied_pairs(Trips([[0.1, 0.1]] * 3, [[0.9, 0.9], [0.9, 0.9], [7, 7]]), frame)
    (array([1]), array([2]))
    """
    persons, numbers = trips._numbers(frame, person)
    if person is not None:
        return bounded_among(persons, numbers, person)
    occupied, counts = np.unique(numbers, return_counts=True)
    return occupied, counts.astype(np.int64)


def as_trips(records: Any, frame: Frame, person: Person | None = None) -> Trips:
    """Return the caller's trips, checked to fit a frame and a bound."""
    if not isinstance(records, Trips):
        raise PointsError(
            f"the records are a {type(records).__name__}, but flows need two places for each; give "
            f"{quoted('spatialdp.Trips(origin, destination)')}."
        )
    records._check(frame, person)
    return records


def read_trips(
    path: Any, places: Domain | Zones, origin: Any, destination: Any, *, person: str | None = None, **options: Any
) -> Trips:
    r"""Take trips from a file, or several: they stay unread until they are counted.

    Parameters
    ----------
    path : path or list of paths
        As for `read_points`, or as for `read_codes` if an end is named by codes.
    places : Domain or Zones
        What the places are parts of: a domain, or zones with areas. Zones of codes alone need codes at both ends.
    origin, destination : str or (str, str)
        A column of codes, or two columns of coordinates, x and y.
    person : str, optional
        The column that says who each trip is about.
    **options
        Such as ``crs``, for `read_points`.

    Examples
    --------
    >>> import pathlib, tempfile, spatialdp as sdp
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "trips.csv"
    >>> _ = path.write_text("from,to\na,b\nb,a\n")
    >>> sdp.read_trips(path, sdp.Zones.from_codes(["a", "b"], None, {"code": 1}), "from", "to")
    Trips(<private>)
    """

    def read(names: Any, who: str | None) -> Points | Codes:
        if isinstance(names, str):
            return read_codes(path, names, person=who)
        x, y = _pair(names)
        domain = places if isinstance(places, Domain) else places.domain
        if domain is None:
            raise PointsError(
                "the zones are codes without areas, so that coordinates cannot be located in them; name a column of "
                "codes for each end, or give zones with areas."
            )
        return read_points(path, domain, x=x, y=y, person=who, **options)

    return Trips(read(origin, person), read(destination, None))


def _check_lengths(origins: int, destinations: int) -> None:
    if origins != destinations:
        raise PointsError("origins and destinations have different lengths; each trip needs both. Give as many.")


def _pair(names: Any) -> tuple[Any, Any]:
    if not isinstance(names, tuple | list) or len(names) != 2:
        raise PointsError(
            f"the end of the trips is named by {names!r}; give the name of a column of codes, or two names: of x and y."
        )
    return names[0], names[1]


def _joined(parts: list[Any]) -> Integers:
    return np.concatenate([np.zeros(0, dtype=np.int64), *(part.astype(np.int64) for part in parts)])


def _columns(frame: Any, *names: Any) -> list[Any]:
    known = [str(each) for each in getattr(frame, "columns", ())]
    for name in names:
        if not isinstance(name, str) or known.count(name) != 1:
            raise PointsError(f"{name!r} is no column of the trips; name one of the columns of the frame, as text.")
    return [frame.iloc[:, known.index(name)] for name in names]


def _ends(frame: Any, names: Any, persons: Any) -> Points | Codes:
    """Return one end of each trip, by a column of codes or by two of coordinates."""
    if isinstance(names, str):
        return Codes(_columns(frame, names)[0], person=persons)
    return Points(*_columns(frame, *_pair(names)), person=persons)
