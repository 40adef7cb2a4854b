"""Between which lines of a grid do large cells lie? They must not cut any block of a tree in two.

Blocks of a grid are halved again and again, across the longer side. So the columns between lines at which the width has
been halved some times, and the rows between lines at which the height has, are unions of blocks. But a block may have
been halved more often than these columns and less often than these rows; it would be cut. All of this follows from the
shape of the grid.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from spatialdp._support.arrays import Floats, Integers

__all__ = ["coarser_lines", "halved", "uncut_lines"]

Lines = tuple[Integers, Integers]  # along x and along y

_MOST_JOINED = 3  # columns or rows that are joined into one at a time, where there is a choice


def halved(length: int, times: int) -> Integers:
    """The lines at which a number of cells is halved so many times.

    Examples
    --------
    >>> halved(10, 2).tolist()
    [0, 2, 5, 7, 10]
    """
    lines = np.array([0, length])
    for _ in range(times):
        finer = np.empty(2 * lines.size - 1, dtype=np.int64)
        finer[::2], finer[1::2] = lines, (lines[1:] + lines[:-1]) // 2
        lines = finer[np.append(True, finer[1:] > finer[:-1])]  # single cells are not halved
    return lines


def uncut_lines(shape: tuple[int, int]) -> list[Lines]:
    """All pairs of lines between which cells cut no block of a grid, from one cell for the whole grid to its own cells.

    Examples
    --------
    >>> [(x.size - 1, y.size - 1) for x, y in uncut_lines((8, 4))]
    [(1, 1), (2, 1), (2, 2), (4, 2), (4, 4), (8, 4)]
    """
    kinds = _kinds_of_blocks(shape)
    uncut = [times for times in sorted(kinds, key=sum) if not _cuts(times, kinds)]
    x, y = ({times: halved(shape[axis], times) for times in {each[axis] for each in uncut}} for axis in (0, 1))
    different = {(x[i].size, y[j].size): (x[i], y[j]) for i, j in uncut}
    return list(different.values())


def _kinds_of_blocks(shape: tuple[int, int]) -> dict[tuple[int, int], set[tuple[int, int]]]:
    """The sizes of the blocks that are reached by so many halvings along x and along y."""
    kinds: dict[tuple[int, int], set[tuple[int, int]]] = defaultdict(set)
    kinds[0, 0].add(shape)
    new = {((0, 0), shape)}
    while new:
        halves = set()
        for times, (width, height) in new:
            if width > height:
                halves |= {((times[0] + 1, times[1]), (part, height)) for part in (width // 2, -(-width // 2))}
            elif height > 1:
                halves |= {((times[0], times[1] + 1), (width, part)) for part in (height // 2, -(-height // 2))}
        new = halves
        for times, block in new:
            kinds[times].add(block)
    return dict(kinds)


def _cuts(times: tuple[int, int], kinds: dict[tuple[int, int], set[tuple[int, int]]]) -> bool:
    """Whether cells after so many halvings along x and y cut a block: it is neither a union of them nor within one."""
    for block_times, blocks in kinds.items():
        is_union = all(block <= cell for block, cell in zip(block_times, times, strict=True))
        for block in () if is_union else blocks:
            sides = zip(block_times, times, block, strict=True)
            if not all(halvings >= cell or side == 1 for halvings, cell, side in sides):
                return True
    return False


def coarser_lines(widths: Floats, heights: Floats) -> list[Lines]:
    """Lines of grids of larger and larger cells, as numbers of the columns and rows where their cells begin.

    Parameters
    ----------
    widths, heights : float arrays
        Of the columns and rows of the finest grid, which lie between some of the lines at which blocks are halved.

    Examples
    --------
    >>> [(x.tolist(), y.tolist()) for x, y in coarser_lines(np.ones(8), np.ones(4))]
    [([0, 2, 4, 6], [0, 2]), ([0, 4], [0]), ([0], [0])]
    """
    x, y = (np.append(0, np.cumsum(sides)).astype(np.int64) for sides in (widths, heights))
    finer, chosen = (x, y), []
    rest = [each for each in uncut_lines((int(x[-1]), int(y[-1]))) if _are_some(each, finer)]
    while rest:
        near = [each for each in rest if _most_joined(each, finer) <= _MOST_JOINED]
        finer = near[0] if near else rest[-1]
        chosen.append(finer)
        rest = [each for each in rest if _are_some(each, finer)]
    return [(np.searchsorted(x, some[:-1]), np.searchsorted(y, others[:-1])) for some, others in chosen]


def _are_some(lines: Lines, finer: Lines) -> bool:
    """Whether lines are some of other lines, but not all of them."""
    for some, others in zip(lines, finer, strict=True):
        known = np.zeros(others[-1] + 1, dtype=bool)
        known[others] = True
        if not known[some].all():
            return False
    return lines[0].size + lines[1].size < finer[0].size + finer[1].size


def _most_joined(lines: Lines, finer: Lines) -> int:
    """The most columns or rows that are joined into one."""
    return max(int(np.diff(np.searchsorted(others, some)).max()) for some, others in zip(lines, finer, strict=True))
