"""Waves as they are measured, blocks of them, and records to measure."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

import spatialdp as sdp
from spatialdp.mechanisms.base import Terms
from spatialdp.mechanisms.fixed import fourier
from spatialdp.privacy.neighbours import Neighbours
from spatialdp.privacy.noise.laws import Law
from spatialdp.transforms.frequency_blocks import make_block
from spatialdp.transforms.integer_waves import spectrum, wave_bits, whole_waves
from spatialdp.transforms.spectral import Basis, functions, padded

DOMAIN = sdp.Domain((0, 0, 1, 1))
ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE


def sizes_of(basis, shape):
    return tuple(padded(basis, size) for size in shape)


def designed(basis, shape, block, neighbours=ADD, law=Law.DISCRETE_LAPLACE, cost=Fraction(1)):
    made = make_block(block, sizes_of(basis, shape))
    terms = Terms(sdp.Budget(1), neighbours)
    return fourier._block_design(basis, DOMAIN.grid(shape), made, law, cost, terms)


def measurement(*terms, **more):
    return designed(*terms, **more).structure


def orthonormal(values, basis):
    """All coefficients of stacks of arrays of (rows, columns), in doubles."""
    y, x = (functions(basis, size, padded(basis, size)) for size in values.shape[-2:])
    return y @ values @ x.T


def measured_waves(basis, size):
    """The functions as they are measured, in orthonormal units."""
    if basis is Basis.WALSH:
        return functions(basis, size, padded(basis, size))
    return whole_waves(basis, size, slice(None)) / 2.0 ** wave_bits(size)


def whole_spectrum(counts, basis):
    return spectrum(counts, basis, sizes_of(basis, counts.shape[::-1]))


def points_of(counts):
    """Records in the middle of their cells."""
    ny, nx = counts.shape
    rows, columns = (np.repeat(index.ravel(), counts.ravel()) for index in np.indices(counts.shape))
    return np.stack([(columns + 0.5) / nx, (rows + 0.5) / ny], axis=1)


def neighbours_of(counts, rng):
    """One record more, and one moved."""
    more, moved = counts.copy(), counts.copy()
    more.flat[rng.integers(counts.size)] += 1
    moved.flat[rng.choice(np.flatnonzero(counts))] -= 1
    moved.flat[rng.integers(counts.size)] += 1
    return ((ADD, more), (REPLACE, moved))
