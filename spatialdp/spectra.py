"""Real orthonormal bases of one axis: cosines, the real Fourier basis and Walsh functions.

Functions come in the order of their frequency, so that the first few of them are the smooth ones. Coefficients
are real numbers: a basis without complex numbers has no phases that could be forgotten. Nothing here sees a record.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from spatialdp._checks import whole_number
from spatialdp._options import Option
from spatialdp.axes import AxisWeights
from spatialdp.coverage import Coverage

__all__ = ["Basis", "SpectralAxis", "analyse", "error_bound", "functions", "padded", "synthesise"]

Floats = npt.NDArray[np.float64]

_ROUNDING = 2.0**-53
_WEIGHTS_AT_ONCE = 2**21


class Basis(Option):
    """A real orthonormal basis."""

    DCT = "dct"
    DFT = "dft"
    WALSH = "walsh"


def padded(basis: Basis, size: int) -> int:
    """Number of functions: the size, or for Walsh functions the next power of two."""
    return int(2 ** (size - 1).bit_length()) if basis is Basis.WALSH else size


def functions(basis: Basis, size: int, count: int, cells: slice = slice(None)) -> Floats:
    """The first functions of a basis at some cells, (count, cells); entries are right to 2^-48 of the largest.

    Examples
    --------
    >>> functions(Basis.WALSH, 4, 2).tolist()
    [[0.5, 0.5, 0.5, 0.5], [0.5, 0.5, -0.5, -0.5]]
    """
    if basis is Basis.WALSH:
        return analyse(np.eye(size), basis, axis=1).T[:count, cells] / math.sqrt(padded(basis, size))
    order, places = np.arange(count)[:, None], np.arange(size)[cells]
    # Angles are reduced in integers and looked up in one turn of 4n steps.
    if basis is Basis.DCT:
        angles = order * (2 * places + 1)
    else:
        quarter = np.where((order % 2 == 0) & (order > 0), size, 0)  # makes a sine of a cosine
        angles = 4 * ((order + 1) // 2) * places - quarter
    wave = np.cos(math.pi / (2 * size) * np.arange(4 * size))
    return np.asarray(wave[angles % (4 * size)] * _amplitudes(basis, size, count)[:, None])


def _amplitudes(basis: Basis, size: int, count: int) -> Floats:
    """√(1/n) for waves that are ±1 everywhere, √(2/n) for the others."""
    amplitudes = np.full(count, math.sqrt(2 / size))
    amplitudes[0] = math.sqrt(1 / size)
    if basis is Basis.DFT and size % 2 == 0:
        amplitudes[size - 1 :] = math.sqrt(1 / size)
    return amplitudes


def analyse(values: Floats, basis: Basis, axis: int) -> Floats:
    """Coefficients along one axis: orthonormal ones, or for Walsh functions plain sums with signs ±1."""
    from scipy import fft

    if basis is Basis.DCT:
        return np.asarray(fft.dct(values, axis=axis, norm="ortho"))
    if basis is Basis.WALSH:
        return _walsh(values, axis)
    spectrum = np.moveaxis(fft.rfft(values, axis=axis, norm="ortho"), axis, -1)
    size = values.shape[axis]
    out = np.empty((*spectrum.shape[:-1], size))
    out[..., 0] = spectrum[..., 0].real
    middle = (size - 1) // 2
    out[..., 1 : size - 1 + size % 2 : 2] = math.sqrt(2) * spectrum[..., 1 : middle + 1].real
    out[..., 2:size:2] = -math.sqrt(2) * spectrum[..., 1 : middle + 1].imag
    if size % 2 == 0:
        out[..., -1] = spectrum[..., -1].real
    return np.moveaxis(out, -1, axis)


def synthesise(coefficients: Floats, basis: Basis, size: int, axis: int) -> Floats:
    """Values of the cells from the first orthonormal coefficients; the missing ones are 0."""
    from scipy import fft

    if basis is Basis.DCT:
        return np.asarray(fft.idct(coefficients, n=size, axis=axis, norm="ortho"))
    given = np.moveaxis(coefficients, axis, -1)
    full = np.zeros((*given.shape[:-1], padded(basis, size)))
    full[..., : given.shape[-1]] = given
    if basis is Basis.WALSH:
        return np.moveaxis(_walsh(full, -1)[..., :size] / math.sqrt(full.shape[-1]), -1, axis)
    spectrum = np.zeros((*given.shape[:-1], size // 2 + 1), dtype=np.complex128)
    middle = (size - 1) // 2
    spectrum[..., 0] = full[..., 0]
    spectrum[..., 1 : middle + 1].real = full[..., 1 : size - 1 + size % 2 : 2] / math.sqrt(2)
    spectrum[..., 1 : middle + 1].imag = full[..., 2:size:2] / -math.sqrt(2)
    if size % 2 == 0:
        spectrum[..., -1] = full[..., -1]
    return np.moveaxis(np.asarray(fft.irfft(spectrum, n=size, axis=-1, norm="ortho")), -1, axis)


def _walsh(values: Floats, axis: int) -> Floats:
    """Sums with the signs of Walsh functions in Paley's order; pads to a power of two.

    A function of i = (high, low) is a product of functions of its high and its low digits, so two small matrices do
    the work. In doubles, which are exact for integers whose absolute values add up to less than 2^53.
    """
    given = np.moveaxis(values, axis, -1)
    bits = (given.shape[-1] - 1).bit_length()
    high, low = _signs(bits // 2), _signs(bits - bits // 2)
    full = np.zeros((*given.shape[:-1], 2**bits))
    full[..., : given.shape[-1]] = given
    half = (full.reshape(-1, low.shape[0]) @ low.T).reshape(-1, high.shape[0], low.shape[0])
    sums = np.swapaxes(half, 1, 2).reshape(-1, high.shape[0]) @ high.T
    return np.moveaxis(sums.reshape(full.shape), -1, axis)


def _signs(bits: int) -> Floats:
    """Walsh functions of 2^bits cells: an order's lowest digit goes with a cell's highest."""
    signs = np.ones((1, 1))
    for _ in range(bits):
        signs = np.repeat(signs, 2, axis=0)
        signs = np.concatenate([signs, signs * np.tile([[1.0], [-1.0]], (signs.shape[0] // 2, 1))], axis=1)
    return signs


def error_bound(basis: Basis, size: int) -> float:
    """How far `analyse` can be off along one axis: Euclidean norm of the error over that of the values.

    Notes
    -----
    Sums with signs are exact for integers below 2^53. A Fourier transform is a product of one stage for each prime
    factor f of its size; a stage is √f times an orthogonal map, and its outputs are sums of f products, so that in
    doubles (u = 2^-53) it is off by at most (f + 8) u Σ|products|, a relative error of (f + 8) √f u (Higham, Accuracy
    and stability of numerical algorithms, §24.1, for f = 2). Sizes with a factor above 11 may go through Bluestein's
    convolution: three transforms of size at most 4n with factors up to 11, less than 20 u for each doubling, and at
    most four times the norm between them (2.2 is the largest measured, not a proof). That scipy works in such stages
    is how its transforms are known to work; it is an argument, not a proof for the code that runs. 40 u are for what a
    cosine transform does before and after. Errors against exact arithmetic are 1 to 3 u (`tests/test_fourier.py`), a
    hundredth of the bound or less.
    """
    if basis is Basis.WALSH:
        return 0.0
    factors = list(_prime_factors(size))
    stages = sum((f + 8) * math.sqrt(f) for f in factors if f <= 300)  # larger ones never have a stage
    convolution = 240 * math.log2(4 * size) if max(factors, default=1) > 11 else 0.0
    return (stages + convolution + 40) * _ROUNDING


def _prime_factors(number: int) -> Iterator[int]:
    factor = 2
    while factor * factor <= number:
        while number % factor == 0:
            yield factor
            number //= factor
        factor += 1
    if number > 1:
        yield number


@dataclass(frozen=True)
class SpectralAxis(AxisWeights):
    """The first functions of a basis, in bands.

    Attributes
    ----------
    size : int
        Cells.
    basis : Basis
    edges : tuple of int
        Bands are between successive edges; the first is 0.
    """

    size: int
    basis: Basis
    edges: tuple[int, ...]

    @property
    def groups(self) -> tuple[slice, ...]:
        """The bands."""
        return tuple(slice(low, high) for low, high in pairwise(self.edges))

    def powers(self, coverage: Coverage) -> tuple[Floats, Floats]:
        """Weights of all functions, from prefix sums along the cells; in blocks of boxes, to save memory."""
        squares = np.empty((self.n_groups, coverage.start.size))
        fourths = np.empty_like(squares)
        block = max(1, _WEIGHTS_AT_ONCE // self.n_coefficients)
        for start in range(0, coverage.start.size, block):
            part = slice(start, start + block)
            weights = self._weights(coverage.knots[:, part], coverage.weights(1)[:, part]) ** 2
            squares[:, part] = np.add.reduceat(weights, self.edges[:-1], axis=1).T
            fourths[:, part] = np.add.reduceat(weights**2, self.edges[:-1], axis=1).T
        return squares, fourths

    def cell_weights(self, cells: slice) -> Floats:
        """The functions' values."""
        return functions(self.basis, self.size, self.n_coefficients, cells).T

    def to_json(self) -> dict[str, Any]:
        """Basis and bands."""
        return {"kind": "spectral", "basis": str(self.basis), "edges": list(self.edges)}

    @classmethod
    def from_json(cls, data: dict[str, Any], size: int) -> SpectralAxis:
        """Read what `to_json` wrote; raises ValueError, KeyError or TypeError for anything else."""
        basis = Basis(data["basis"])
        edges = tuple(whole_number(edge, "edge", 0, padded(basis, size)) for edge in data["edges"])
        if len(edges) < 2 or edges[0] != 0 or any(low >= high for low, high in pairwise(edges)):
            raise ValueError("the bands are not in order")
        return cls(size, basis, edges)

    def _weights(self, knots: npt.NDArray[np.int64], weights: Floats) -> Floats:
        """(boxes, functions): the sum of each function over each box."""
        return np.asarray(
            sum(weight[:, None] * self.prefixes[knot] for knot, weight in zip(knots, weights, strict=True))
        )

    @cached_property
    def prefixes(self) -> Floats:
        """(cells + 1, functions): sums of the functions over the first cells."""
        sums = np.zeros((self.size + 1, self.n_coefficients))
        np.cumsum(functions(self.basis, self.size, self.n_coefficients).T, axis=0, out=sums[1:])
        return sums
