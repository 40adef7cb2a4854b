"""How fast is a list of cells out of 2^60, and how much memory does it take? Against sorting the records' cells.

The yardstick is `np.unique` of the numbers of the cells that the records lie in, which have been computed beforehand.
Recent versions of NumPy use a hash table for it, which takes many times as long as sorting, so sorting (`np.unique`
with counts) is a yardstick too. A release also finds these numbers, draws noise for each occupied cell and the empty
cells that pass, and counts the list afresh.

A list over a map reads, locates and sorts the records once, as a list does. Beyond that it adds the count of each
occupied cell to that of its block, and fits 4,096 blocks: so it may take half as long again. A box is answered by the
listed cells of the blocks that it cuts, some 3 % of them, and the yardstick looks at all: 5 leaves room for the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import spatialdp as sdp
from benchmarks.measure import Result, in_turn, most_bytes
from spatialdp._support.arrays import Floats, Integers
from spatialdp.space.fine_grid import FineGrid

DOMAIN = sdp.Domain((0, 0, 1, 1))
SIDE = 2**30
RECORDS, SPOTS, IN_A_SPOT = 1_000_000, 2_000, 60
MECHANISM = sdp.Sparse((SIDE, SIDE), false=200_000)  # more than 100,000 empty cells pass
OVER_MAP = sdp.SparseMap((SIDE, SIDE), blocks=(64, 64), false=200_000)


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


def sparse_map_release() -> Iterator[Result]:
    """Time a list over a map of 64 x 64 blocks from 10^6 records against the list alone at the same ε for it."""
    xy = records()
    alone, ours = in_turn(lambda: listed(xy), lambda: OVER_MAP.release(xy, DOMAIN, epsilon=2))
    yield Result(f"a list over 64 x 64 blocks, {RECORDS:,} records, time over the list alone", ours / alone, 1.5, False)
    memory = most_bytes(lambda: OVER_MAP.release(xy, DOMAIN, epsilon=2)) / 1e6
    yield Result("a list over 64 x 64 blocks, memory beyond the records", memory, 200, False, "MB")


def sparse_map_boxes() -> Iterator[Result]:
    """Time the answers to 200 boxes from a list over a map against looking at all listed cells for each box."""
    release: Any = OVER_MAP.release(records(), DOMAIN, epsilon=2)
    boxes = np.sort(np.random.default_rng(3).random((200, 2, 2)), axis=1).reshape(-1, 4)
    cells, blocks, values = (
        release.estimate.listed.leaf_boxes(),
        release.estimate.blocks,
        release.estimate.listed.values,
    )

    def share(areas: Integers, box: Integers) -> Floats:
        sides = [np.minimum(areas[:, i + 2], box[i + 2]) - np.maximum(areas[:, i], box[i]) for i in (0, 1)]
        whole = [areas[:, i + 2] - areas[:, i] for i in (0, 1)]
        shares = [np.maximum(side, 0) / all_of for side, all_of in zip(sides, whole, strict=True)]
        return np.asarray(shares[0] * shares[1])

    def one_by_one() -> None:
        plain = release.estimate.map.answer(DOMAIN.boxes(boxes))
        for number, box in enumerate(DOMAIN.boxes(boxes)):
            plain[number] += values @ (share(cells, box) - share(blocks, box))

    release.answer(boxes[0])
    theirs, ours = in_turn(one_by_one, lambda: release.answer(boxes), repeat=2)
    yield Result("200 boxes from 10^5 listed cells over a map, speed over looking at all of them", theirs / ours, 5)


BENCHMARKS = (sparse_release, sparse_boxes, sparse_map_release, sparse_map_boxes)
