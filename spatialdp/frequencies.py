"""Which coefficients of a 2D transform are measured, and how far one record can move them.

A block is a set of pairs of frequency bands: a rectangle of low frequencies, a hyperbolic cross, or the two marginals.
Its real coefficients are rounded to a lattice of public width, and everything that rounding and floating point can do
is part of the sensitivity. Nothing here sees a record.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from spatialdp._checks import whole_number, whole_pair
from spatialdp.errors import ParameterError
from spatialdp.privacy.laws import Law, Neighbours, Sensitivity
from spatialdp.spectra import Basis, analyse, error_bound, functions, padded

__all__ = ["Block", "Lattice", "block_norms", "check_block", "default_blocks", "lattice_for", "make_block"]

Floats = npt.NDArray[np.float64]
Sizes = tuple[int, int]
Description = tuple[int, int] | tuple[Literal["hyperbolic"], int] | Literal["marginals"]

# Norms are computed in doubles: entries are right to 2^-48 of the largest, which is at most twice their mean square
# over it, and fewer than 2^20 are added up along an axis, so the relative error of a norm is below 2^-30.
_SAFETY = 1 + Fraction(1, 2**30)
# Floating-point errors of the transform may take this share of the sensitivity; that decides the largest count, but
# a million records in a cell must always be possible.
_ERROR_SHARE = 2.0**-10
_LARGEST_COUNT = 2**40
_LEAST_LARGEST_COUNT = 2**20
# The lattice is this much finer than the noise, and its rounding this small a part of the sensitivity.
_STEPS_PER_NOISE = 2**10
_STEPS_PER_ROUNDING = 2**8
_WIDEST_STEPS = 2.0**38  # keeps the noise's scale within what can be drawn


@dataclass(frozen=True)
class Block:
    """Pairs of frequency bands.

    Attributes
    ----------
    x, y : tuple of int
        Edges of the bands along each axis, from 0.
    kept : tuple of tuples of bool
        [x band][y band]: which pairs are measured. The pair of the lowest bands always is.
    """

    x: tuple[int, ...]
    y: tuple[int, ...]
    kept: tuple[tuple[bool, ...], ...]

    @property
    def table(self) -> npt.NDArray[np.bool_]:
        """(x bands, y bands) array of the kept pairs."""
        return np.array(self.kept)

    @property
    def n_coefficients(self) -> int:
        """Number of measured coefficients."""
        return int(np.diff(self.x) @ self.table.astype(np.int64) @ np.diff(self.y))

    @property
    def mask(self) -> npt.NDArray[np.bool_]:
        """(y frequencies, x frequencies): which coefficients are measured."""
        return np.repeat(np.repeat(self.table.T, np.diff(self.y), axis=0), np.diff(self.x), axis=1)

    def holds(self, x: Sequence[int], y: Sequence[int]) -> npt.NDArray[np.bool_]:
        """(x, y) table: whether pairs of frequencies are measured."""
        columns, rows = (np.searchsorted(edges, at, side="right") - 1 for edges, at in ((self.x, x), (self.y, y)))
        grown = np.pad(self.table, ((0, 1), (0, 1)))  # beyond the last edge nothing is kept
        return np.asarray(grown[np.ix_(columns, rows)])


def check_block(block: Any) -> Description:
    """A description of a block in its plain form: (kx, ky), ("hyperbolic", k) or "marginals"."""
    if block == "marginals":
        return "marginals"
    if isinstance(block, Sequence) and len(block) == 2 and block[0] == "hyperbolic":
        return "hyperbolic", whole_number(block[1], "the size of a hyperbolic cross", 0, 60)
    return whole_pair(block, "block")


def make_block(description: Description, sizes: Sizes) -> Block:
    """The block of a description for axes with so many coefficients.

    Examples
    --------
    >>> make_block((4, 2), (8, 8)).n_coefficients
    8
    >>> make_block(("hyperbolic", 1), (8, 8)).n_coefficients
    3
    >>> make_block("marginals", (8, 8)).n_coefficients
    15
    """
    if description == "marginals":
        x, y = ((0, 1, size) if size > 1 else (0, 1) for size in sizes)
        return Block(x, y, tuple(tuple(i * j == 0 for j in range(len(y) - 1)) for i in range(len(x) - 1)))
    if description[0] == "hyperbolic":
        return _hyperbolic(description[1], sizes)
    kx, ky = int(description[0]), description[1]
    if kx > sizes[0] or ky > sizes[1]:
        raise ParameterError(f"block is {description}, but the axes have {sizes} coefficients. Give a smaller block.")
    return Block((0, kx), (0, ky), ((True,),))


def _hyperbolic(level: int, sizes: Sizes) -> Block:
    """Pairs of dyadic bands 0, 1, 2-3, 4-7, ... whose numbers add up to at most `level`."""
    x, y = (_dyadic_edges(size)[: level + 2] for size in sizes)
    return Block(x, y, tuple(tuple(i + j <= level for j in range(len(y) - 1)) for i in range(len(x) - 1)))


def _dyadic_edges(size: int) -> tuple[int, ...]:
    return (0, *(2**i for i in range((size - 1).bit_length())), size)


def default_blocks(sizes: Sizes) -> tuple[Description, ...]:
    """Squares and rectangles with sides 2^i and 3 · 2^i, and hyperbolic crosses; depends on the sizes alone."""
    longest = max(sizes)
    sides = sorted({s for i in range(longest.bit_length()) for s in (2**i, 3 * 2**i) if s < longest} | {longest})
    shapes = [(k, k) for k in sides]
    shapes += [pair for k in sides if k.bit_count() == 1 for f in (2, 4) for pair in ((f * k, k), (k, f * k))]
    rectangles = dict.fromkeys((min(kx, sizes[0]), min(ky, sizes[1])) for kx, ky in shapes)
    most = sum((size - 1).bit_length() for size in sizes)
    return (*rectangles, *(("hyperbolic", level) for level in range(1, most)))


@lru_cache(maxsize=256)
def block_norms(basis: Basis, sizes: Sizes, block: Block) -> tuple[float, float]:
    """Largest L1 norm and squared L2 norm of a record's coefficients: a maximum over all cells.

    For a rectangle both are products of maxima over the axes, because |φ(x) ψ(y)| is a product and a record's column
    and row are free to be any.

    Examples
    --------
    >>> l1, l2_squared = block_norms(Basis.DCT, (64, 64), make_block((8, 8), (64, 64)))
    >>> round(l1, 2), l2_squared < 1
    (1.84, True)
    """
    if basis is Basis.WALSH:
        share = block.n_coefficients / math.prod(padded(basis, size) for size in sizes)
        return math.sqrt(share * block.n_coefficients), share
    x, y = (_envelopes(basis, size, edges) for size, edges in zip(sizes, (block.x, block.y), strict=True))
    kept = block.table.astype(np.float64)
    return _largest(x[0], kept, y[0]), _largest(x[1], kept, y[1])


def _largest(x: Floats, kept: Floats, y: Floats) -> float:
    """Largest entry of xᵀ kept y, in blocks of rows."""
    right = kept @ y
    step = max(1, 2**22 // right.shape[1])
    return max(float((x[:, i : i + step].T @ right).max()) for i in range(0, x.shape[1], step))


@lru_cache(maxsize=256)
def _envelopes(basis: Basis, size: int, edges: tuple[int, ...]) -> tuple[Floats, Floats]:
    """(bands, cells): sums of absolute values and of squares of each band's functions.

    Functions are even or odd about the middle (cosines) or about cell 0 (Fourier), so half the cells show all.
    """
    half, step = size // 2 + 1, max(1, 2**20 // edges[-1])
    parts = [slice(start, min(start + step, half)) for start in range(0, half, step)]
    sums = [_band_sums(functions(basis, size, edges[-1], part), edges) for part in parts]
    return np.concatenate([l1 for l1, _ in sums], axis=1), np.concatenate([l2 for _, l2 in sums], axis=1)


def _band_sums(waves: Floats, edges: tuple[int, ...]) -> tuple[Floats, Floats]:
    return np.add.reduceat(np.abs(waves), edges[:-1], axis=0), np.add.reduceat(waves**2, edges[:-1], axis=0)


@dataclass(frozen=True)
class Lattice:
    """Where the coefficients of a block are rounded to, and what that costs.

    Attributes
    ----------
    width : float
        Of a step, as orthonormal coefficients. A power of two, but for Walsh functions, whose sums are integers.
    sensitivity : Sensitivity
        How far one record can move the rounded coefficients, in steps.
    largest_count : int
        Cells count at most so many records, so that floating-point errors have a public bound.
    """

    width: float
    sensitivity: Sensitivity
    largest_count: int


def lattice_for(basis: Basis, sizes: Sizes, block: Block, law: Law, cost: Fraction, neighbours: Neighbours) -> Lattice:
    """A lattice so fine that rounding adds little to the sensitivity and is small against the noise.

    Notes
    -----
    Let c be the exact coefficients and ĉ the computed ones; ‖ĉ - c‖₂ <= E = η C √cells, where cells count at most C
    records. Between neighbours K coefficients move by Σ|Δĉ| <= S₁ + 2 √K E, and rounding to steps of g
    adds at most one step for each: floor((S₁ + 2 √K E) / g) + K steps. In the same way ‖Δ‖₂ <= (S₂ + 2 E) / g + √K.
    C is the largest for which E adds less than a thousandth, but at least 2^20. Replacing a record moves coefficients
    by φ(a) - φ(b): at most 2 S₁ or, as K coefficients of a vector of length √2, √(2K); and at most 2 S₂ or √2. A
    block with the total alone does not move at all, unless the record leaves the domain.
    """
    if basis is Basis.WALSH:
        cells = math.prod(padded(basis, size) for size in sizes)
        largest = min(_LARGEST_COUNT, 2**52 // cells)  # so that sums are exact in doubles
        return Lattice(1 / math.sqrt(cells), _walsh_sensitivity(sizes, block, neighbours), largest)
    count = block.n_coefficients
    l1, l2 = _moves(block_norms(basis, sizes, block), count, neighbours)
    gaussian = law is Law.GAUSSIAN
    width = _width(*((l2, math.sqrt(count), l2 / math.sqrt(2 * cost)) if gaussian else (l1, count, l1 / float(cost))))
    largest, error = _largest_count(basis, sizes, min(l1 / math.sqrt(count), l2))
    root = Fraction(math.isqrt(count * 2**64) + 1, 2**32)
    steps_l1 = (Fraction(l1) * _SAFETY + root * error) / Fraction(width)
    steps_l2 = (Fraction(l2) * _SAFETY + error) / Fraction(width) + root
    return Lattice(width, Sensitivity(math.floor(steps_l1) + count, math.floor(steps_l2**2)), largest)


def _moves(norms: tuple[float, float], count: int, neighbours: Neighbours) -> tuple[float, float]:
    """L1 and L2 norms of what one record can do."""
    l1, l2 = norms[0], math.sqrt(norms[1])
    if neighbours is Neighbours.ADD_REMOVE or count == 1:
        return l1, l2
    return min(2 * l1, math.sqrt(2 * count)), min(2 * l2, math.sqrt(2))


def _width(norm: float, rounding: float, noise: float) -> float:
    """The largest power of two that is small enough for both rules, but not too small to draw noise on."""
    finest = math.ceil(math.log2(noise / _WIDEST_STEPS))
    wanted = math.floor(math.log2(min(norm / (_STEPS_PER_ROUNDING * rounding), noise / _STEPS_PER_NOISE)))
    return 2.0 ** max(finest, wanted)


def _largest_count(basis: Basis, sizes: Sizes, norm: float) -> tuple[int, Fraction]:
    """C, and 2 E = 2 η C √cells."""
    relative = 2 * sum(error_bound(basis, size) for size in sizes) * math.sqrt(math.prod(sizes)) * (1 + 2.0**-20)
    count = min(_LARGEST_COUNT, max(_LEAST_LARGEST_COUNT, math.floor(norm * _ERROR_SHARE / relative)))
    return count, Fraction(relative) * count


def _walsh_sensitivity(sizes: Sizes, block: Block, neighbours: Neighbours) -> Sensitivity:
    """Exact, in whole sums: a record moves each of K sums by ±1.

    Replacing moves those by ±2 in which the cells a and b differ, and the product of their signs is the function at
    a xor b: half of K - Σ φ(a xor b) of them. All such sums are one transform of the block.
    """
    count = block.n_coefficients
    if neighbours is Neighbours.ADD_REMOVE:
        return Sensitivity(count, count)
    mask = np.zeros([padded(Basis.WALSH, size) for size in reversed(sizes)])
    mask[: block.y[-1], : block.x[-1]] = block.mask
    differing = count - int(analyse(analyse(mask, Basis.WALSH, 1), Basis.WALSH, 0).min())
    return Sensitivity(max(count, differing), max(count, 2 * differing))
