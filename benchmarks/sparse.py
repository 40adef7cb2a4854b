"""How fast is a list of cells out of 2^60, and how much memory does it take? Against sorting the records' cells.

The yardstick is `np.unique` of the numbers of the cells that the records lie in, which have been computed beforehand.
Recent versions of NumPy use a hash table for it, which takes many times as long as sorting, so sorting (`np.unique`
with counts) is a yardstick too. A release also finds these numbers, draws noise for each occupied cell and the empty
cells that pass, and counts the list afresh.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import spatialdp as sdp
from benchmarks.measure import Result, in_turn, most_bytes
from spatialdp._support.arrays import Floats, Integers
from spatialdp.space.fine_grid import FineGrid

DOMAIN = sdp.Domain((0, 0, 1, 1))
SIDE = 2**30
RECORDS, SPOTS, IN_A_SPOT = 1_000_000, 2_000, 60
MECHANISM = sdp.Sparse((SIDE, SIDE), false=200_000)  # more than 100,000 empty cells pass


def records() -> Floats:
    """Return records of which one in eight is in a hot spot, and the others are alone in their cell."""
    random = np.random.default_rng(1)
    spots = np.repeat(random.random((SPOTS, 2)), IN_A_SPOT, axis=0)
    return np.concatenate([spots, random.random((RECORDS - len(spots), 2))])


def listed(xy: Floats) -> sdp.Release:
    """Release the list at ε = 1."""
    return MECHANISM.release(xy, DOMAIN, epsilon=1)


def cells_of(xy: Floats) -> Integers:
    """Return the numbers of the cells of the records."""
    return FineGrid(DOMAIN, (SIDE, SIDE)).of_squares(*DOMAIN.boxes(np.hstack([xy, xy]))[:, :2].T)


def sparse_release() -> Iterator[Result]:
    """Time a list of about 10^5 cells out of 2^60 from 10^6 records against np.unique, and take its peak memory."""
    xy = records()
    cells = cells_of(xy)
    hashed, sorted_, ours = in_turn(
        lambda: np.unique(cells), lambda: np.unique(cells, return_counts=True), lambda: listed(xy)
    )
    what = f"{listed(xy).estimate.n_cells:,} listed of 2^60 cells, {RECORDS:,} records"
    yield Result(f"{what}, time over np.unique of their cells", ours / hashed, 3, False)
    yield Result(f"{what}, time over np.unique with counts", ours / sorted_, 25, False)
    yield Result(f"{what}, memory beyond the records", most_bytes(lambda: listed(xy)) / 1e6, 200, False, "MB")


def sparse_boxes() -> Iterator[Result]:
    """Time the answers to 2,000 boxes from about 10^5 listed cells against one sum over all of them for each box."""
    release = listed(records())
    boxes = np.sort(np.random.default_rng(3).random((2000, 2, 2)), axis=1).reshape(-1, 4)
    places, values = release.estimate.leaf_boxes()[:, :2] / SIDE, release.estimate.values

    def one_by_one() -> None:
        for x0, y0, x1, y1 in boxes:
            values[((places >= (x0, y0)) & (places < (x1, y1))).all(axis=1)].sum()

    release.answer(boxes[0])  # makes the tables, once for each release
    theirs, ours = in_turn(one_by_one, lambda: release.answer(boxes), repeat=2)
    yield Result("2,000 boxes from 10^5 listed cells, speed over sums one by one", theirs / ours, 20)


BENCHMARKS = (sparse_release, sparse_boxes)
