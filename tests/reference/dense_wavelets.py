"""Wavelets as matrices, one unit vector after the other."""

from __future__ import annotations

import numpy as np


def quad_haar_weights(transform):
    """(coefficients, cells): what each coefficient contributes to each cell, and each coefficient's group."""
    sizes = [part.shape for part in transform.forward(np.zeros((transform.ny, transform.nx), dtype=np.int64))]
    lengths = [rows * columns for rows, columns in sizes]
    units = np.eye(sum(lengths))
    cut = [np.split(unit, np.cumsum(lengths)[:-1]) for unit in units]
    columns = [transform.inverse([p.reshape(s) for p, s in zip(each, sizes, strict=True)]).ravel() for each in cut]
    return np.array(columns), np.repeat(np.arange(len(sizes)), lengths)
