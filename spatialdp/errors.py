"""What can go wrong, as types.

Every error has the root `SpatialDPError` and also is what a plain Python caller
would catch (`ValueError`, ...). Messages say what was given, what is required and
what to do; they never contain a coordinate, a count or anything else of a record.
"""

from __future__ import annotations

__all__ = [
    "BudgetError",
    "CRSMismatchError",
    "DomainError",
    "FileFormatError",
    "ParameterError",
    "PointsError",
    "ReleaseError",
    "SpatialDPError",
]


class SpatialDPError(Exception):
    """Root of all errors raised on purpose by spatialdp.

    Each of them also is what a plain Python caller would catch, most often a `ValueError`.

    Privacy
    -------
    Messages are about public parameters and the form of input; none holds a coordinate, a count or a row number.

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
    """A privacy budget is missing, absurd or would be exceeded."""


class CRSMismatchError(SpatialDPError, ValueError):
    """Two things that must share a coordinate reference system do not."""


class PointsError(SpatialDPError, ValueError):
    """The records have the wrong form (never: the wrong values)."""


class ReleaseError(SpatialDPError, ValueError):
    """A release can not honestly answer what it was asked."""


class FileFormatError(SpatialDPError, ValueError):
    """A file is not a release this version can read, or not an intact one."""
