"""Mondrian, slowly and obviously: one box after the other, and all boundaries of each."""

from __future__ import annotations

import numpy as np


def boundaries(values: np.ndarray, k: int) -> list[int]:
    """Numbers of records below the boundaries between distinct values that leave k records on both sides."""
    ordered = np.sort(values)
    return [place for place in range(k, ordered.size - k + 1) if ordered[place - 1] < ordered[place]]


def mondrian(columns: np.ndarray, k: int) -> set[frozenset[int]]:
    """The groups, as sets of record numbers."""
    whole = np.ptp(columns, axis=1)

    def parts(records: np.ndarray) -> set[frozenset[int]]:
        widths = [np.ptp(column[records]) / (extent or 1.0) for column, extent in zip(columns, whole, strict=True)]
        for axis in sorted(range(len(columns)), key=lambda axis: (-widths[axis], axis)):
            values = columns[axis, records]
            places = boundaries(values, k)
            if places:
                place = min(places, key=lambda place: (abs(2 * place - values.size), place))
                below = values < np.sort(values)[place]
                return parts(records[below]) | parts(records[~below])
        return {frozenset(records.tolist())}

    return parts(np.arange(columns.shape[1]))
