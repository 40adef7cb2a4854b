"""The types of errors that spatialdp raises on purpose.

All have the root `SpatialDPError`, and each also is the built-in error that a plain Python caller would catch:
`ValueError`, or `RuntimeError` for a ledger, whose state is at fault and no value. Messages say what was given, what is
required and what to do. They must not contain a coordinate, a count or anything else of a record. Where a message names
Python code, it also has words for the command line (`spatialdp.wording`).
"""

from __future__ import annotations

from spatialdp.wording import Worded

__all__ = [
    "BudgetError",
    "CRSMismatchError",
    "DomainError",
    "FileFormatError",
    "LedgerError",
    "OutsideDomainWarning",
    "ParameterError",
    "PointsError",
    "ReleaseError",
    "SpatialDPError",
]


class SpatialDPError(Worded):
    """Root of all errors raised on purpose by spatialdp.

    Each of them also is the built-in error that a plain Python caller would catch: a `ValueError`, or a `RuntimeError`
    for a ledger that cannot be relied on.

    Attributes
    ----------
    parts : tuple of str and Mention
        The message in parts: those that read alike for everybody, and those that have another wording for users of
        the command line.

    Privacy
    -------
    Messages speak of public parameters and of the form of input. None contains a coordinate, a count or a row number.

    Examples
    --------
    >>> import spatialdp as sdp
    >>> try:
    ...     sdp.Domain(bounds=(0, 0, 0, 1))
    ... except sdp.SpatialDPError as error:
    ...     print(error)
    bounds are (0.0, 0.0, 0.0, 1.0); xmin must be below xmax. ...
    """


class ParameterError(SpatialDPError, ValueError):
    """A public parameter of a mechanism, query or function is not usable."""


class DomainError(SpatialDPError, ValueError):
    """The public domain, region or grid is not usable."""


class BudgetError(SpatialDPError, ValueError):
    """A privacy budget is missing, out of range, or too small for the measurements that it should pay for."""


class CRSMismatchError(SpatialDPError, ValueError):
    """Points, polygons or a region have another coordinate reference system (CRS) than the domain."""


class PointsError(SpatialDPError, ValueError):
    """The records have the wrong form: types, columns, geometries. No value of a record causes an error."""


class ReleaseError(SpatialDPError, ValueError):
    """A release cannot give an honest answer to a query, or an honest map or file."""


class FileFormatError(SpatialDPError, ValueError):
    """A file is damaged, or not of the format that was expected, such as a release that this version can read."""


class LedgerError(SpatialDPError, RuntimeError):
    """A ledger is damaged, a copy or rolled back, or it cannot be read or written. Nothing may be released then."""


class OutsideDomainWarning(Worded, UserWarning):
    """Some of many boxes or polygons lie outside the domain of a release, and are answered with NaN."""
