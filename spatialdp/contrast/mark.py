"""How does everybody see that a k-anonymous map is no private release? The mark that all objects of `contrast` carry.

Objects say ``private = False`` and carry `NOTE`; pictures carry `BAND` across the map. None has a method that saves it:
what `contrast` makes is for explaining and for testing, and it is as private as the records.
"""

from __future__ import annotations

from typing import ClassVar

__all__ = ["BAND", "HEADING", "NOTE", "NotPrivate"]

NOTE = "Not private: k-anonymity bounds nothing that others may publish"
HEADING = "Private-only: computed from the true records. Nothing on this page may be published"
BAND = "NOT PRIVATE · for study only"


class NotPrivate:
    """An object made from records without differential privacy: for explaining and testing, never for publishing.

    Attributes
    ----------
    private : bool
        Always False.
    NOTE : str
        Says so in words.

    Privacy
    -------
    None. Whoever sees the object sees records, or what follows from them.

    Examples
    --------
    >>> NotPrivate().private, NotPrivate.NOTE
    (False, 'Not private: k-anonymity bounds nothing that others may publish')
    """

    private: ClassVar[bool] = False
    NOTE: ClassVar[str] = NOTE

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: not private, for study only>"
