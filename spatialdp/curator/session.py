"""A trusted curator: holds records, answers questions about them with noise, and pays for every answer.

This is the interactive sanitizer of Dwork and McSherry: questions may follow from earlier answers, and an account adds
up what all of them cost. Each method decides everything public first, in an `Ask`; then it pays; and only then are
records looked at and noise drawn (`asks`).
"""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from spatialdp.curator.answers import Answers
from spatialdp.curator.asks import Spending
from spatialdp.curator.counts import Areas, Count, one_area, read_areas
from spatialdp.curator.medians import AXES, Quantile, quantile_share
from spatialdp.curator.selections.questions import SelectionQuestions
from spatialdp.curator.values import Histogram, Mean, Sum, read_edges, value_bounds
from spatialdp.privacy.budget import Number

__all__ = ["Curator"]


class Curator(SelectionQuestions):
    """Holds records, answers questions about them with noise, and pays for every answer from an account.

    **Before you ask ten questions, make one release**: it answers any number of boxes for the price of one, and later
    questions cost nothing.

    Parameters
    ----------
    records : Points, Rows, or anything that `Points` takes
        The records. Columns beside the points, for sums and quantiles of values and for partitions by labels, come with
        them: ``Rows(points, price=prices)``.
    domain : Domain
        Public; records outside of it, or outside of its region, count nowhere.
    account : Account
        Of a ledger, or a part of one. Its neighbours are those of all answers.
    person : Person, optional
        Protects persons instead of records: ``Person(records=10)`` holds at most 10 records of each person, chosen by
        that person's records alone, and adds noise for 10. The points must say who they are about, and the account must
        be one of persons. Without it, a question to an account of persons protects single records, and is charged for
        the number of records that the account declares for a person.

    Privacy
    -------
    Everything public is decided before a record is looked at, the account pays durably before noise is drawn, and
    answers depend on the records through this noise alone. What all answers cost together is the account's
    (``docs/design/curator.md``). A curator shows nothing of its records: it has no length and cannot be pickled.

    Examples
    --------
    >>> import spatialdp as sdp, tempfile
    >>> account = sdp.Ledger(tempfile.mkdtemp() + "/privacy.ledger").open("crashes", epsilon=2)
    >>> curator = sdp.Curator([[0.1, 0.2], [0.8, 0.9]], sdp.Domain((0, 0, 1, 1)), account)
    >>> curator.count(epsilon=0.5).privacy.epsilon, account.left.epsilon
    (Fraction(1, 2), Fraction(3, 2))
    """

    # --- counts ----------------------------------------------------------------------------------------

    def count(self, area: Any = None, *, epsilon: Number, delta: Number = 0, law: str = "discrete-laplace") -> Answers:
        """Count the records in the whole domain, in a box or in a polygon.

        Parameters
        ----------
        area : (xmin, ymin, xmax, ymax) or polygon, optional
            Public; the whole domain by default.
        epsilon, delta : int, float, Decimal or Fraction
            What the question spends; floats are taken as typed. Gaussian noise needs a δ and spends the ρ (zCDP) of
            both, from an account that was opened with a δ.
        law : {"discrete-laplace", "laplace", "gaussian"}
            The law of the noise.

        Returns
        -------
        Answers
            With one number.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> curator = sdp.Curator.rehearsal([[0.1, 0.2], [0.8, 0.9]], sdp.Domain((0, 0, 1, 1)))
        >>> curator.count((0, 0, 0.5, 0.5), epsilon=100).values
        1.0
        """
        spending = Spending.of(epsilon, delta, law)
        return self._answer(Count(self._frame, spending, one_area(area, self._frame.domain)))

    def counts(
        self, areas: npt.ArrayLike, *, epsilon: Number, delta: Number = 0, law: str = "discrete-laplace"
    ) -> Answers:
        """Count the records in each of many boxes, or polygons.

        Boxes that do not overlap cost as little as one of them. If some overlap, noise grows with the largest number of
        boxes that share a place. More than 2,000 boxes are treated as if all of them overlapped: make a release. A
        record counts in the first polygon that contains it.

        Parameters
        ----------
        areas : (m, 4) array-like of boxes, or a list, GeoSeries or GeoDataFrame of polygons
            Public, within the domain at least in part.
        epsilon, delta, law
            As for `count`, for all areas together.

        Returns
        -------
        Answers
            With a number for each area.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> curator = sdp.Curator.rehearsal([[0.1, 0.2], [0.8, 0.9]], sdp.Domain((0, 0, 1, 1)))
        >>> curator.counts([(0, 0, 0.5, 0.5), (0, 0, 1, 1)], epsilon=100).values
        array([1., 2.])
        """
        spending = Spending.of(epsilon, delta, law)
        return self._answer(Count(self._frame, spending, read_areas(areas, self._frame.domain)))

    # --- values of a column ------------------------------------------------------------------------

    def sum(
        self,
        values: str,
        bounds: tuple[float, float],
        areas: Any = None,
        *,
        epsilon: Number,
        delta: Number = 0,
        law: str = "discrete-laplace",
    ) -> Answers:
        """Add up the values of a column, in the whole domain or in each of some areas.

        Parameters
        ----------
        values : str
            The name of a column beside the points. A record without a number counts nowhere.
        bounds : (low, high)
            Public: values beyond them count as the bound. Noise grows with the larger of both.
        areas : box, polygon or many of them, optional
            As for `counts`.
        epsilon, delta, law
            As for `count`.

        Returns
        -------
        Answers
            Intervals are about the sum of the clipped values, each rounded to a millionth of the larger bound.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> rows = sdp.Rows([[0.1, 0.2], [0.8, 0.9]], price=[30, 500])
        >>> curator = sdp.Curator.rehearsal(rows, sdp.Domain((0, 0, 1, 1)))
        >>> round(curator.sum("price", bounds=(0, 100), epsilon=1000).values)
        130
        """
        return self._of_values(Sum, values, bounds, areas, Spending.of(epsilon, delta, law))

    def mean(
        self,
        values: str,
        bounds: tuple[float, float],
        areas: Any = None,
        *,
        epsilon: Number,
        delta: Number = 0,
        law: str = "discrete-laplace",
    ) -> Answers:
        """Average the values of a column, in the whole domain or in each of some areas.

        Parameters
        ----------
        values, bounds, areas, epsilon, delta, law
            As for `sum`. Noise grows with the distance of the bounds.

        Returns
        -------
        Answers
            Means within the bounds, and their middle where noise drowns the number of records. Intervals cover with
            the stated probability or more.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> rows = sdp.Rows([[0.1, 0.2], [0.8, 0.9]], price=[30, 500])
        >>> curator = sdp.Curator.rehearsal(rows, sdp.Domain((0, 0, 1, 1)))
        >>> round(curator.mean("price", bounds=(0, 100), epsilon=1000).values)
        65
        """
        return self._of_values(Mean, values, bounds, areas, Spending.of(epsilon, delta, law))

    def _of_values(
        self, kind: type[Sum] | type[Mean], values: str, bounds: tuple[float, float], areas: Any, spending: Spending
    ) -> Answers:
        """Ask about the values of a column in some areas, clipped to public bounds."""
        limits, places = value_bounds(bounds), self._places(areas)
        return self._answer(kind(self._frame, spending, self._frame.column(values), limits, places))

    def histogram(
        self, values: str, edges: npt.ArrayLike, *, epsilon: Number, delta: Number = 0, law: str = "discrete-laplace"
    ) -> Answers:
        """Count the records by bins of a column's values.

        Parameters
        ----------
        values : str
            The name of a column beside the points. A record without a number, or beyond the edges, counts nowhere.
        edges : array-like of numbers
            Public and rising; the first and the last may be infinite. A bin has its lower edge and not its upper one;
            the last has both.
        epsilon, delta, law
            As for `count`, for all bins together: they cost as little as one.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> rows = sdp.Rows([[0.1, 0.2], [0.8, 0.9]], price=[30, 500])
        >>> curator = sdp.Curator.rehearsal(rows, sdp.Domain((0, 0, 1, 1)))
        >>> curator.histogram("price", [0, 100, 200, 1000], epsilon=100).values
        array([1., 0., 1.])
        """
        spending = Spending.of(epsilon, delta, law)
        return self._answer(Histogram(self._frame, spending, self._frame.column(values), read_edges(edges)))

    # --- quantiles ---------------------------------------------------------------------------------

    def median(
        self, values: str, bounds: tuple[float, float] | None = None, area: Any = None, *, epsilon: Number
    ) -> Answers:
        """Draw the median of an axis, or of a column's values; see `quantile`.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> curator = sdp.Curator.rehearsal([[0.1 * i, 0.5] for i in range(11)], sdp.Domain((0, 0, 1, 1)))
        >>> 0.4 <= curator.median("x", epsilon=100).values <= 0.6
        True
        """
        return self.quantile(0.5, values, bounds, area, epsilon=epsilon)

    def quantile(
        self,
        share: Number,
        values: str,
        bounds: tuple[float, float] | None = None,
        area: Any = None,
        *,
        epsilon: Number,
    ) -> Answers:
        """Draw a value that about a given share of the values lies below.

        Parameters
        ----------
        share : int, float, Decimal or Fraction
            Between 0 and 1, with at most three digits; 0.5 is the median.
        values : str
            ``"x"`` or ``"y"`` for the coordinates, or the name of a column beside the points.
        bounds : (low, high), optional
            Public bounds of a column's values; values beyond them count as the bound. An axis has those of the domain,
            or of the area.
        area : box or polygon, optional
            The whole domain by default.
        epsilon : int, float, Decimal or Fraction
            As for `count`. There is no Gaussian noise here.

        Returns
        -------
        Answers
            One number, without an interval: how far off it is depends on how densely records lie around it.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> rows = sdp.Rows([[0.5, 0.5]] * 100, price=list(range(100)))
        >>> curator = sdp.Curator.rehearsal(rows, sdp.Domain((0, 0, 1, 1)))
        >>> 88 <= curator.quantile(0.9, "price", bounds=(0, 100), epsilon=100).values <= 91
        True
        """
        limits = None if values in AXES and bounds is None else value_bounds(bounds)
        column = values if limits is None else self._frame.column(values)
        place = one_area(area, self._frame.domain)
        return self._answer(Quantile(self._frame, Spending.of(epsilon), column, quantile_share(share), limits, place))

    def _places(self, areas: Any) -> Areas:
        """Return the areas of a question, or the whole domain for None."""
        return one_area(None, self._frame.domain) if areas is None else read_areas(areas, self._frame.domain)
