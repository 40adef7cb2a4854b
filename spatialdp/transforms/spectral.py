"""How do noisy coefficients become cells, and how noisy are boxes then? Real orthonormal bases of one axis.

The bases are cosines, the real Fourier basis and Walsh functions. Functions come in the order of
their frequency, so the first few are the smooth ones. A basis without complex numbers has no phase
that could be released without noise. The inverse is computed in doubles, after the noise; what is
measured before the noise is in `integer_waves` (``docs/design/fourier.md``). This module reads no
record.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from spatialdp._support.arrays import Booleans, Floats, Integers
from spatialdp._support.checks import whole_number
from spatialdp._support.options import Option
from spatialdp._support.override import override
from spatialdp.space.coverage import Coverage
from spatialdp.transforms.axis import AxisWeights

__all__ = ["Basis", "SpectralAxis", "angles", "functions", "most_weights", "padded", "synthesise", "walsh_sums"]


_WEIGHTS_AT_ONCE = 2**21  # limits the memory that `SpectralAxis.powers` takes
_FEW_WEIGHTS = 2**23  # weights that any axis may have: 64 MiB
_MOST_SLENDER = 8  # weights of a longer axis for each cell of its grid


class Basis(Option):
    """A real orthonormal basis of the cells of an axis."""

    DCT = "dct"
    DFT = "dft"
    WALSH = "walsh"


def padded(basis: Basis, size: int) -> int:
    """Number of functions of a basis for `size` cells: the size, or for Walsh functions the next power of two."""
    return int(2 ** (size - 1).bit_length()) if basis is Basis.WALSH else size


def most_weights(cells: int) -> int:
    """Return how many weights an axis of a grid with so many cells may have, one for each function and cell of it.

    An axis of n cells with n frequencies has n² weights: no more than 8 for each cell of the grid unless the grid is
    long and narrow, with an axis more than eight times as long as the other and longer than 2,896 cells. Such releases
    are refused when they are planned, and files when they are loaded.

    Examples
    --------
    >>> most_weights(100 * 100), most_weights(4096 * 4096)
    (8388608, 134217728)
    """
    return max(_FEW_WEIGHTS, _MOST_SLENDER * cells)


def functions(basis: Basis, size: int, count: int) -> Floats:
    """Values of the first functions of a basis in all cells, (count, cells), in doubles.

    Examples
    --------
    >>> functions(Basis.WALSH, 4, 2).tolist()
    [[0.5, 0.5, 0.5, 0.5], [0.5, 0.5, -0.5, -0.5]]
    """
    if basis is Basis.WALSH:
        return walsh_sums(np.eye(size), 0)[:count] / math.sqrt(padded(basis, size))
    steps, flat = angles(basis, size, slice(count))
    wave = np.cos(math.pi / (2 * size) * np.arange(4 * size))
    return np.asarray(wave[steps] * np.sqrt(np.where(flat, 1, 2) / size)[:, None])


def angles(basis: Basis, size: int, orders: slice, cells: slice | Integers = slice(None)) -> tuple[Integers, Booleans]:
    """Angles at which cosines are taken for some functions and cells, and which functions are flat.

    Angles, (orders, cells), are counted in steps; 4 size steps make a full turn. A flat function,
    (orders,), is √(1/size) times the cosine, which is ±1; every other one is √(2/size) times it.
    """
    order, places = np.arange(size)[orders], np.arange(size)[cells]
    flat = order == 0
    if basis is Basis.DCT:
        return order[:, None] * (2 * places + 1) % (4 * size), flat
    quarter = np.where((order % 2 == 0) & (order > 0), size, 0)  # makes a sine of a cosine
    frequencies = (order + 1) // 2
    return (4 * frequencies[:, None] * places - quarter[:, None]) % (4 * size), flat | (2 * frequencies == size)


def synthesise(coefficients: Floats, basis: Basis, size: int, axis: int) -> Floats:
    """Values of the cells from the first orthonormal coefficients along an axis; missing coefficients are 0."""
    from scipy import fft, fftpack

    if basis is Basis.DCT:
        return np.asarray(fft.idct(coefficients, n=size, axis=axis, norm="ortho"))
    if basis is Basis.WALSH:
        full = np.zeros([padded(basis, size) if each == axis else n for each, n in enumerate(coefficients.shape)])
        full[: coefficients.shape[0], : coefficients.shape[1]] = coefficients
        sums = walsh_sums(full, axis) / math.sqrt(full.shape[axis])
        return sums[:, :size] if axis else sums[:size]
    # fftpack has the only real transform in scipy whose coefficients come in this order; it expects
    # sums with e^(-i angle), and divides by the size.
    scale = np.full(coefficients.shape[axis], math.sqrt(size / 2))
    scale[0], scale[2::2] = math.sqrt(size), -scale[2::2]
    if scale.size == size and size % 2 == 0:
        scale[-1] = math.sqrt(size)
    return np.asarray(fftpack.irfft(coefficients * (scale if axis else scale[:, None]), n=size, axis=axis))


def walsh_sums(values: Floats, axis: int) -> Floats:
    """Sums along axis 0 or 1 with the signs of Walsh functions in Paley's order; pads to a power of two.

    A Walsh function of i = (high, low) is a product of one function of i's high binary digits and one
    of its low digits, so two small matrices do the work. The sums are computed in doubles, which is
    exact for integers whose absolute values add up to less than 2^53.
    """
    size = values.shape[axis]
    bits = (size - 1).bit_length()
    if size < 2**bits:
        values = np.pad(values, [(0, 2**bits - size) if each == axis else (0, 0) for each in range(2)])
    high, low = _signs(bits // 2), _signs(bits - bits // 2)
    if axis == 1:
        cells = values.reshape(-1, high.shape[0], low.shape[0]).swapaxes(1, 2)
        return np.asarray((low @ cells @ high).reshape(values.shape))
    halves = low @ values.reshape(high.shape[0], low.shape[0], -1)
    return np.asarray((high @ halves.swapaxes(0, 1)).reshape(values.shape))


def _signs(bits: int) -> Floats:
    """Walsh functions of 2^bits cells, (orders, cells), as ±1.

    The sign is (-1)^n, n being the number of binary digits that are 1 both in the order and in the
    cell's number read backwards.
    """
    signs = np.ones((1, 1))
    for _ in range(bits):
        signs = np.repeat(signs, 2, axis=0)
        signs = np.concatenate([signs, signs * np.tile([[1.0], [-1.0]], (signs.shape[0] // 2, 1))], axis=1)
    return signs


@dataclass(frozen=True)
class SpectralAxis(AxisWeights):
    """The first functions of a basis as measurements of an axis; each band of frequencies is a group.

    Attributes
    ----------
    size : int
        Number of cells.
    basis : Basis
    edges : tuple of int
        Bands lie between successive edges; the first edge is 0.
    """

    size: int
    basis: Basis
    edges: tuple[int, ...]

    @property
    @override
    def groups(self) -> tuple[slice, ...]:
        return tuple(slice(low, high) for low, high in pairwise(self.edges))

    @property
    def n_weights(self) -> int:
        """Number of weights of all functions in all cells: what `powers` needs once, and polygons need each time."""
        return self.size * self.n_coefficients

    @override
    def powers(self, coverage: Coverage) -> tuple[Floats, Floats]:
        # From prefix sums along the cells; in blocks of boxes, to save memory.
        squares = np.empty((self.n_groups, coverage.start.size))
        fourths = np.empty_like(squares)
        block = max(1, _WEIGHTS_AT_ONCE // self.n_coefficients)
        for start in range(0, coverage.start.size, block):
            part = slice(start, start + block)
            weights = self._weights(coverage.knots[:, part], coverage.weights(1)[:, part]) ** 2
            squares[:, part] = np.add.reduceat(weights, self.edges[:-1], axis=1).T
            fourths[:, part] = np.add.reduceat(weights**2, self.edges[:-1], axis=1).T
        return squares, fourths

    @override
    def cell_weights(self, cells: slice) -> Floats:
        return functions(self.basis, self.size, self.n_coefficients)[:, cells].T

    @override
    def to_json(self) -> dict[str, Any]:
        return {"kind": "spectral", "basis": str(self.basis), "edges": list(self.edges)}

    @classmethod
    def from_json(cls, data: dict[str, Any], size: int) -> SpectralAxis:
        """Read an axis that `to_json` wrote; raises ValueError, KeyError or TypeError for anything else."""
        basis = Basis(data["basis"])
        edges = tuple(whole_number(edge, "edge", 0, padded(basis, size)) for edge in data["edges"])
        if len(edges) < 2 or edges[0] != 0 or any(low >= high for low, high in pairwise(edges)):
            raise ValueError("the edges of the bands must increase from 0")
        return cls(size, basis, edges)

    def _weights(self, knots: Integers, weights: Floats) -> Floats:
        """The sum of each function over each box, (boxes, functions)."""
        return np.asarray(
            sum(weight[:, None] * self.prefixes[knot] for knot, weight in zip(knots, weights, strict=True))
        )

    @cached_property
    def prefixes(self) -> Floats:
        """Sums of the functions over the first 0, 1, 2, ... cells, (cells + 1, functions)."""
        sums = np.zeros((self.size + 1, self.n_coefficients))
        np.cumsum(functions(self.basis, self.size, self.n_coefficients).T, axis=0, out=sums[1:])
        return sums
