"""What do noisy tables of attributes and their parents say of all attributes together? A product of conditional shares.

A `Family` is an attribute and the attributes that it depends on, its parents, each at a level of its axis: a category
may depend on the block that a cell is in. This module sees released numbers only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spatialdp._support.arrays import Floats, Integers
from spatialdp.space.frames.frame import Frame
from spatialdp.space.frames.selection import FrameAxis, parts_of
from spatialdp.trees.adjust import project_rows
from spatialdp.trees.shape import TreeShape

__all__ = ["Family", "joint", "owners", "table_shape"]


@dataclass(frozen=True)
class Family:
    """An attribute and its parents.

    Attributes
    ----------
    child : str
        The name of the attribute's axis.
    parents : tuple of (str, int)
        Names of axes, each with the number of a level below the root, 1 for the coarsest.
    """

    child: str
    parents: tuple[tuple[str, int], ...] = ()


def table_shape(frame: Frame, family: Family) -> tuple[int, ...]:
    """Return the shape of a family's table: the cells of the child, then the parts of each parent.

    Examples
    --------
    >>> import spatialdp as sdp
    >>> frame = Frame(sdp.Domain((0, 0, 1, 1)).grid((4, 4)), blocks=2, kind=sdp.Categories(["theft", "fraud"]))
    >>> table_shape(frame, Family("kind", (("box", 1),)))
    (2, 4)
    """
    parents = (len(frame.axes[name].part_labels(frame.axes[name].names[level])) for name, level in family.parents)
    return (frame.axes[family.child].size, *parents)


def owners(axis: FrameAxis, level: int) -> Integers:
    """Return the number of the part of a level that each cell of an axis is in.

    Examples
    --------
    >>> from spatialdp.space.frames.categories import Categories
    >>> owners(Categories({"theft": ["burglary", "shoplifting"], "assault": []}), 1).tolist()
    [1, 0, 0]
    """
    parts = parts_of(axis, axis.names[level])
    numbers = np.empty(axis.size, dtype=np.int64)
    numbers[parts.cells] = np.repeat(np.arange(parts.count), parts.sizes)
    return numbers


def joint(frame: Frame, families: Sequence[Family], tables: Sequence[Floats]) -> Floats:
    """Return the share of all records that the model expects in each cell of the frame.

    Examples
    --------
    >>> import spatialdp as sdp
    >>> frame = Frame(sdp.Domain((0, 0, 1, 1)).grid((2, 1)), kind=sdp.Categories(["theft", "fraud"]))
    >>> families = [Family("box"), Family("kind", (("box", 1),))]
    >>> joint(frame, families, [np.array([3.0, 1]), np.array([[1.0, 1], [1, 0]])]).tolist()
    [[0.375, 0.25], [0.375, 0.0]]
    """
    names, shares = list(frame.axes), np.ones((1,) * len(frame.axes))
    for family, table in zip(families, tables, strict=True):
        given = _conditional(table)
        for place, (name, level) in enumerate(family.parents, start=1):
            given = np.take(given, owners(frame.axes[name], level), axis=place)
        own = [names.index(name) for name in (family.child, *(name for name, _ in family.parents))]
        shape = [frame.shape[place] if place in own else 1 for place in range(len(names))]
        shares = shares * given.transpose(np.argsort(own)).reshape(shape)
    return np.ascontiguousarray(np.broadcast_to(shares, frame.shape))


def _conditional(table: Floats) -> Floats:
    """Return the shares of the child for each value of the parents; those of all records where a value has none."""
    flat = TreeShape(np.array([0, 1, 1 + table.size]), np.array([table.size, *[0] * table.size], dtype=np.int32))
    counts = project_rows(flat, table.reshape(1, -1)).reshape(table.shape)
    if not counts.any():
        return np.full(table.shape, 1 / table.shape[0])
    of_parents = counts.sum(axis=0)
    own = counts.reshape(table.shape[0], -1).sum(axis=1) / counts.sum()
    own = own.reshape(-1, *(1,) * (table.ndim - 1))
    return np.where(of_parents > 0, counts / np.where(of_parents > 0, of_parents, 1.0), own)
