"""Which sets of parents may an attribute get? All that are as large as useful tables allow; a public list."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from spatialdp.estimates.networks.model import Family
from spatialdp.space.frames.frame import Frame

__all__ = ["candidates", "level_sizes"]


def level_sizes(frame: Frame) -> dict[str, list[int]]:
    """Return the number of parts of each level of each axis, 1 for the root."""
    return {name: [len(axis.part_labels(level)) for level in axis.names] for name, axis in frame.axes.items()}


def candidates(
    sizes: Mapping[str, Sequence[int]], known: Sequence[str], left: Sequence[str], cells: float, most: int
) -> list[Family]:
    """Return the families from which one is chosen: each attribute that is left, with each largest set of parents.

    Parameters
    ----------
    sizes : dict of str to sequence of int
        Number of parts of each level of each axis, as `level_sizes` has them.
    known, left : sequence of str
        Attributes that may be parents, and those that have none yet.
    cells : float
        The largest table; an attribute whose own table is larger gets no parents.
    most : int
        The most parents of an attribute.

    Examples
    --------
    >>> sizes = {"box": [1, 4, 16], "kind": [1, 5], "day": [1, 7]}
    >>> [family.parents for family in candidates(sizes, ["box", "kind"], ["day"], 150, 2)]
    [(('box', 1), ('kind', 1)), (('box', 2),)]
    >>> [family.parents for family in candidates(sizes, ["box", "kind"], ["day"], 6, 2)]
    [()]
    """
    families = []
    for child in left:
        fitting = dict.fromkeys(_fitting([sizes[name] for name in known], cells / sizes[child][-1], most))
        fitting |= {(0,) * len(known): None}
        for levels in fitting:
            if not any(finer in fitting for finer in _finer(levels)):
                parents = ((name, level) for name, level in zip(known, levels, strict=True) if level)
                families.append(Family(child, tuple(parents)))
    return families


def _fitting(sizes: Sequence[Sequence[int]], room: float, most: int) -> Iterator[tuple[int, ...]]:
    """Yield the levels of all sets of parents that fit: 0 for an axis that is no parent."""
    if not sizes:
        yield ()
        return
    for level, size in enumerate(sizes[0][: None if most else 1]):
        if size <= room:
            for others in _fitting(sizes[1:], room / size, most - bool(level)):
                yield (level, *others)


def _finer(levels: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Yield all sets that are finer by one step."""
    for place, level in enumerate(levels):
        yield (*levels[:place], level + 1, *levels[place + 1 :])
