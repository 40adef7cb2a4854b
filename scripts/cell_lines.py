"""Where is the median of a noisy histogram of one axis? Split lines for comparison with private medians.

Only `scripts/median_quality.py` uses this: the mechanisms of the package choose their lines otherwise.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from spatialdp._support.arrays import Integers

__all__ = ["cell_medians"]


def cell_medians(counts: npt.ArrayLike, edges: npt.ArrayLike) -> Integers:
    """Return split lines of released histograms: the places where cumulative counts reach half of the total.

    Parameters
    ----------
    counts : array, (nodes, cells)
        Noisy counts along the axis; negative counts count as 0. A node without a positive count is split in the middle.
    edges : int array, (nodes, cells + 1)
        Increasing lattice lines between the cells; the first and the last are the bounds of the node.

    Returns
    -------
    int64 array
        A line for each node: strictly inside the node if its width is at least two, else its upper bound.

    Privacy
    -------
    Post-processing of released counts, which costs no budget. The counts must be released ones.

    Examples
    --------
    >>> cell_medians([[4, 0, 2, -9], [0, -1, 0, 0]], [[0, 8, 16, 24, 32], [0, 8, 16, 24, 32]])
    array([ 6, 16])
    """
    bounds = np.asarray(edges, dtype=np.int64)
    weights = np.maximum(np.asarray(counts, dtype=np.float64), 0)
    weights = np.where(weights.sum(axis=1, keepdims=True) > 0, weights, np.diff(bounds))
    sums = weights.cumsum(axis=1)
    half = sums[:, -1:] / 2
    cell = np.argmax(sums >= half, axis=1)[:, None]
    inside, through = np.take_along_axis(weights, cell, 1), np.take_along_axis(sums, cell, 1)
    share = np.clip(1 - (through - half) / np.where(inside > 0, inside, 1), 0, 1)
    left, right = np.take_along_axis(bounds, cell, 1), np.take_along_axis(bounds, cell + 1, 1)
    lines = np.rint(left + share * (right - left))[:, 0].astype(np.int64)
    low, high = bounds[:, 0], bounds[:, -1]
    return np.where(high - low >= 2, np.clip(lines, low + 1, high - 1), high)
