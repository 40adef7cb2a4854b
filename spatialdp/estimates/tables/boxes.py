"""How does a table refuse questions about a single map? With an error that says how to ask a table, by names.

Every kind of estimate is asked about boxes, polygons and leaves of one map. A table has a map for every time and
category, so it refuses these questions in words. `table_release.TableRelease` has those that it answers.
"""

from __future__ import annotations

from typing import ClassVar, NoReturn

from spatialdp._support.arrays import Booleans, Floats, Integers
from spatialdp.errors import ReleaseError
from spatialdp.estimates.base import Unsmoothed
from spatialdp.estimates.unevenness.allowance import Allowance
from spatialdp.space.polygons import Polygons
from spatialdp.wording import either

__all__ = ["ManyMaps", "many_maps"]

_IN_PYTHON = "with at(), such as release.at(kind='theft')"
_ON_COMMAND_LINE = "with its time and its category, such as --time 08:00 --kind theft"


def many_maps() -> NoReturn:
    """Refuse a question about a single map.

    Examples
    --------
    >>> many_maps()
    Traceback (most recent call last):
    spatialdp.errors.ReleaseError: a table has a map for every time and category, and this needs a single one; ...
    """
    raise ReleaseError(
        "a table has a map for every time and category, and this needs a single one; take one of them "
        f"{either(_IN_PYTHON, _ON_COMMAND_LINE)}."
    )


class ManyMaps(Unsmoothed):
    """The questions about one map that every kind of estimate is asked, refused in words: `_refuse` has them."""

    extrapolates: ClassVar[bool] = False

    def _refuse(self) -> NoReturn:
        """Refuse a question that only a map can answer."""
        many_maps()

    @property
    def leaf_steps(self) -> bool:
        """Whether the noise of each leaf's estimate is a whole multiple of `step`; a table has no leaves."""
        return False

    def in_steps(self, boxes: Integers) -> Booleans:  # noqa: ARG002 - refused for all boxes
        """Refused: a table answers by names."""
        self._refuse()

    def polygons_in_steps(self, polygons: Polygons) -> Booleans:  # noqa: ARG002 - refused for all polygons
        """Refused: a table answers by names."""
        self._refuse()

    def answer(self, boxes: Integers) -> Floats:  # noqa: ARG002 - refused for all boxes
        """Refused: a table answers by names."""
        self._refuse()

    def moments(self, boxes: Integers) -> tuple[Floats, Floats]:  # noqa: ARG002 - refused for all boxes
        """Refused: a table answers by names."""
        self._refuse()

    def allowance(self, boxes: Integers) -> Allowance:  # noqa: ARG002 - refused for all boxes
        """Refused: a table answers by names."""
        self._refuse()

    def polygon_allowance(self, polygons: Polygons) -> Allowance:  # noqa: ARG002 - refused for all polygons
        """Refused: a table answers by names."""
        self._refuse()

    def leaf_allowance(self) -> Allowance:
        """Refused: the cells of a table are no areas."""
        self._refuse()

    def uniformity(self, boxes: Integers) -> Floats:  # noqa: ARG002 - refused for all boxes
        """Refused: a table answers by names."""
        self._refuse()

    def answer_polygons(self, polygons: Polygons) -> Floats:  # noqa: ARG002 - refused for all polygons
        """Refused: a table answers by names."""
        self._refuse()

    def polygon_moments(self, polygons: Polygons) -> tuple[Floats, Floats]:  # noqa: ARG002 - refused for all polygons
        """Refused: a table answers by names."""
        self._refuse()

    def leaf_boxes(self, numbers: Integers | slice = slice(None)) -> Integers:  # noqa: ARG002 - refused for all
        """Refused: the cells of a table are no areas."""
        self._refuse()

    def leaf_values(self) -> Floats:
        """Refused: the cells of a table are no areas."""
        self._refuse()

    def leaf_moments(self) -> tuple[Floats, Floats]:
        """Refused: the cells of a table are no areas."""
        self._refuse()
