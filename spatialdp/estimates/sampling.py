"""How are synthetic points drawn from a release? A cell by its estimate, then a place within the cell, evenly.

Some tools read points and no counts. For them, a cell or leaf is drawn in proportion to its
non-negative estimate, and then one of its lattice squares, each equally likely. Draws are whole
numbers from the shared source of random bits. A point is the centre of its lattice square, so that
snapping it gives the cell from which it was drawn. Sampling reads the release alone, never a record:
it is post-processing and costs nothing.
"""

from __future__ import annotations

import numpy as np

from spatialdp._support.arrays import Booleans, Floats, Integers, expand_ranges
from spatialdp._support.checks import whole_number
from spatialdp.errors import ReleaseError
from spatialdp.estimates.base import Estimate
from spatialdp.privacy.noise.source import Noise, SystemNoise
from spatialdp.space.domain import RASTER_SHIFT, Domain
from spatialdp.trees.adjust import NonNegative
from spatialdp.wording import either, parameter

__all__ = ["draw_in_rows", "draw_leaves", "draw_parts", "sample", "sample_size"]


LARGEST_SAMPLE = 2**30
LARGEST_DEFAULT = 2**26
_SHARES = 2**62  # weights of cells are rounded to whole multiples of 1/_SHARES of their sum


def sample(estimate: Estimate, domain: Domain, n: int | None, noise: Noise | None) -> Floats:
    """Draw an (n, 2) array of points; see `Release.sample`."""
    count = sample_size(estimate.total, n)
    source = SystemNoise() if noise is None else noise
    drawn_from = (estimate.non_negative(NonNegative.FAMILIES) if estimate.consistent else estimate).finest
    leaves = draw_leaves(np.maximum(drawn_from.leaf_values(), 0.0), count, source)
    boxes = draw_parts(drawn_from.leaf_boxes(), domain, leaves, source)
    axes = domain.axes
    return np.stack(
        [axis.centres(boxes[:, i] + source.below(boxes[:, i + 2] - boxes[:, i])) for i, axis in enumerate(axes)], axis=1
    )


def sample_size(
    total: float, n: int | None, *, counted: str = "records", drawn: str = "points", most: int = LARGEST_DEFAULT
) -> int:
    """Return how many points or trajectories to draw: the number that was asked for, or the released total."""
    if n is not None:
        return whole_number(n, "n", 0, LARGEST_SAMPLE)
    count = max(0, round(total))
    if count > most:
        raise ReleaseError(
            f"this release estimates {count:,} {counted}, and no number of {drawn} was given; without one, at most "
            f"{most:,} are drawn, which take a gigabyte or more. Give {parameter('n')}."
        )
    return count


def draw_leaves(weights: Floats, count: int, source: Noise) -> Integers:
    """Numbers of `count` leaves, drawn in proportion to the leaves' weights (rounded to 2^-62 of their sum)."""
    if not count:
        return np.empty(0, dtype=np.int64)
    if not weights.sum() > 0:
        raise ReleaseError(
            "no estimate of this release is above zero, but points are drawn from such estimates only; ask for "
            f"{either('n=0', '-n 0')} points, or release with a larger ε or larger cells."
        )
    return _draw((weights / weights.sum() * _SHARES).astype(np.int64), np.zeros(count, dtype=np.int64), source)


def draw_in_rows(rows: Floats, numbers: Integers, source: Noise) -> Integers:
    """Columns of a table: one for each row number, drawn in proportion to the row's weights.

    Parameters
    ----------
    rows : (m, k) float array
        Not negative; some weight of each row is above 0. Weights are rounded to 2^-62 of their row's sum times m.
    numbers : int array
    """
    count, width = rows.shape
    weights = (rows / rows.sum(axis=1, keepdims=True) * (_SHARES // count)).astype(np.int64)
    drawn = _draw(weights.ravel(), numbers, source, np.arange(count) * width)
    return np.asarray(drawn - numbers * width)


def _draw(weights: Integers, groups: Integers, source: Noise, first_members: Integers | None = None) -> Integers:
    """Draw one member of each group in `groups`, in proportion to the members' weights; returns the members' indices.

    The members of a group lie next to each other in `weights`. `first_members` holds the index of each
    group's first member; without it, all members form one group.
    """
    ends = np.cumsum(weights)
    starts = ends - weights
    first = np.zeros(1, dtype=np.int64) if first_members is None else first_members
    low = starts[first]
    totals = np.append(low[1:], ends[-1]) - low
    return np.searchsorted(ends, low[groups] + source.below(totals[groups]), side="right")


def draw_parts(boxes: Integers, domain: Domain, leaves: Integers, source: Noise) -> Integers:
    """A lattice box for each drawn leaf: the leaf itself, or with a region a part of the leaf within the region.

    Parts are cut at the region's raster and drawn in proportion to their areas.
    """
    raster = domain.region_raster
    if raster is None or not leaves.size:
        return boxes[leaves]
    distinct, place = np.unique(leaves, return_inverse=True)
    owner, parts = _parts(boxes[distinct], raster)
    areas = (parts[:, 2] - parts[:, 0]) * (parts[:, 3] - parts[:, 1])
    first_parts = np.searchsorted(owner, np.arange(distinct.size))
    return parts[_draw(areas, place, source, first_parts)]


def _parts(boxes: Integers, raster: Booleans) -> tuple[Integers, Integers]:
    """Cut boxes into stretches of the region, one or more for each row of its raster; returns each one's box number.

    A box that meets no raster cell of the region stays whole; a cell that is finer than the raster can be such a box.
    """
    changes = np.diff(np.pad(raster, ((0, 0), (1, 1))).astype(np.int8), axis=1)
    run_row, run_start = np.nonzero(changes == 1)
    run_stop = np.nonzero(changes == -1)[1]
    low, high = boxes[:, :2] >> RASTER_SHIFT, ((boxes[:, 2:] - 1) >> RASTER_SHIFT) + 1
    by_row, row = expand_ranges(low[:, 1], high[:, 1])
    width = raster.shape[1] + 1
    first = np.searchsorted(run_row * width + run_stop, row * width + low[by_row, 0], side="right")
    last = np.searchsorted(run_row * width + run_start, row * width + high[by_row, 0], side="left")
    pair, run = expand_ranges(first, np.maximum(first, last))
    owner, row = by_row[pair], row[pair]
    edges = np.stack([run_start[run], row, run_stop[run], row + 1], axis=1) << RASTER_SHIFT
    parts = np.concatenate(
        [np.maximum(boxes[owner, :2], edges[:, :2]), np.minimum(boxes[owner, 2:], edges[:, 2:])], axis=1
    )
    whole = np.flatnonzero(np.bincount(owner, minlength=len(boxes)) == 0)
    owner, parts = np.concatenate([owner, whole]), np.concatenate([parts, boxes[whole]])
    order = np.argsort(owner, kind="stable")
    return owner[order], parts[order]
