"""Over what is a table released? A `Frame`: space beside time, categories and whatever else has a public list of cells.

A frame is public: nothing in it comes from records. Its cells are all combinations of a cell of space, a tick of time
and a category. A record is in one of them at most: in one place, at one time and of one kind. So the whole table costs
what one of its counts costs; the combinations are disjoint.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property
from math import prod
from typing import Any

from spatialdp.errors import ParameterError
from spatialdp.space.domain import Domain, Grid
from spatialdp.space.frames.categories import Categories
from spatialdp.space.frames.cells import Cells
from spatialdp.space.frames.selection import FrameAxis, Selection, select
from spatialdp.space.frames.time import Time
from spatialdp.space.frames.zone_axis import ZoneAxis
from spatialdp.space.zones.frame import Zones
from spatialdp.wording import either, parameter, quoted

__all__ = ["LARGEST_TABLE", "Frame"]

LARGEST_TABLE = 2**28  # cells
_MOST_AXES = 8
_NAME = re.compile(r"[a-z][a-z_]{0,30}")
_TAKEN = frozenset(
    {
        "about",
        "blocks",
        "box",
        "estimate",
        "first",
        "last",
        "level",
        "noise",
        "path",
        "person",
        "points",
        "space",
        "zone",
    }
)


class Frame:
    """Space, time and categories as the axes of a table.

    Parameters
    ----------
    space : Grid or Zones
        The cells of a domain, ``domain.grid(shape)``, or zones such as states and counties.
    blocks : sequence of int
        For a grid: sides of blocks, in cells, that may be counted too, such as ``(8, 4)``.
    **axes : Time or Categories
        Further axes by name, as many as are needed: ``time=...``, ``kind=...``.

    Raises
    ------
    ParameterError
        If an axis is of another type, or the table would have more than 2^28 cells.

    Privacy
    -------
    A frame holds public values only.

    Examples
    --------
    >>> import spatialdp as sdp
    >>> grid = sdp.Domain((0, 0, 1, 1)).grid((4, 4))
    >>> frame = sdp.Frame(grid, time=sdp.Time("2024-01-01", "2024-02-01"), kind=sdp.Categories(["theft", "fraud"]))
    >>> frame
    Frame(box: 16 cells, time: 744 cells, kind: 2 cells)
    >>> frame.n_cells
    23808
    """

    def __init__(self, space: Any, *, blocks: Any = (), **axes: Any) -> None:
        self.space = _space_axis(space, blocks)
        for name, axis in axes.items():
            _check_axis(name, axis)
        if len(axes) >= _MOST_AXES:
            raise ParameterError(f"the frame has {len(axes)} axes beside space; give at most {_MOST_AXES - 1}.")
        # Space comes last in arrays: it is the longest axis, and sums over it are fastest in the last place.
        self.axes: Mapping[str, FrameAxis] = {**axes, self.space_name: self.space}
        if self.n_cells > LARGEST_TABLE:
            raise ParameterError(
                f"the table would have {self.n_cells:,} cells; at most {LARGEST_TABLE:,} are possible. Take fewer or "
                "coarser zones, ticks or categories, or fold time."
            )

    def __repr__(self) -> str:
        return f"Frame({', '.join(f'{name}: {self.axes[name].size:,} cells' for name in self.names)})"

    @property
    def space_name(self) -> str:
        """The name by which queries speak of space: ``"box"`` for a grid, ``"zone"`` for zones."""
        return "box" if isinstance(self.space, Cells) else "zone"

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the axes, space first: the order of queries and columns."""
        return (self.space_name, *(name for name in self.axes if name != self.space_name))

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Number of cells of each axis, in the order of arrays: space last."""
        return tuple(axis.size for axis in self.axes.values())

    @property
    def n_cells(self) -> int:
        """Number of cells of the table."""
        return prod(self.shape)

    @property
    def domain(self) -> Domain | None:
        """The domain of space; None for zones without geometry."""
        domain: Domain | None = self.space.domain
        return domain

    def select(self, queries: Mapping[str, Any]) -> tuple[Selection, ...]:
        """Return what queries by name mean along each axis, in the order of arrays; an axis without a query is summed.

        Examples
        --------
        >>> frame = Frame(Domain((0, 0, 1, 1)).grid((4, 4)), kind=Categories(["theft", "fraud"]))
        >>> [each.cells.size for each in frame.select({"kind": "fraud"})]
        [1, 16]
        """
        unknown = [name for name in queries if name not in self.axes]
        if unknown:
            raise ParameterError(
                f"{parameter(unknown[0])} is no axis of this table; its axes are {', '.join(self.names)}. Ask for "
                "these."
            )
        return tuple(select(axis, queries.get(name)) for name, axis in self.axes.items())


def _space_axis(space: Any, blocks: Any) -> Any:
    if isinstance(space, Grid):
        return Cells(space, blocks)
    if isinstance(space, Zones):
        if blocks:
            raise ParameterError(
                f"{parameter('blocks')} were given, but zones have levels of their own; leave them out."
            )
        return ZoneAxis(space)
    if isinstance(space, Domain):
        raise ParameterError(
            f"{parameter('space')} is a Domain, which has no cells; give its grid"
            f"{either(', domain.grid(shape=(nx, ny))', '')}."
        )
    raise ParameterError(f"{parameter('space')} is a {type(space).__name__}; give the grid of a domain, or zones.")


def _check_axis(name: str, axis: Any) -> None:
    if not _NAME.fullmatch(name) or name in _TAKEN:
        raise ParameterError(
            f"an axis is called {quoted(name)}; give a name of small letters other than {', '.join(sorted(_TAKEN))}."
        )
    if not isinstance(axis, Time | Categories):
        raise ParameterError(
            f"{parameter(name)} is a {type(axis).__name__}; give "
            f"{either('spatialdp.Time(...) or spatialdp.Categories([...])', 'times or categories')}."
        )
