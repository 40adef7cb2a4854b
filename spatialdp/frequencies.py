"""Which coefficients of a 2D transform are measured, and how far one record can move them.

A block is a set of pairs of frequency bands: a rectangle of low frequencies, a hyperbolic cross, or the two marginals.
Its coefficients are exact numbers (see `waves`) that are rounded to a lattice of public width, and what rounding can do
is part of the sensitivity. Nothing here sees a record.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from spatialdp._checks import whole_number, whole_pair
from spatialdp.errors import ParameterError
from spatialdp.privacy.laws import Law, Neighbours, Sensitivity
from spatialdp.spectra import Basis, padded, walsh_sums
from spatialdp.waves import largest_coefficient, wave_bits, wave_error, whole_waves

__all__ = [
    "Block",
    "Lattice",
    "block_norms",
    "check_block",
    "check_candidates",
    "default_blocks",
    "lattice_for",
    "make_block",
]

Floats = npt.NDArray[np.float64]
Sizes = tuple[int, int]
Description = tuple[int, int] | tuple[Literal["hyperbolic"], int] | Literal["marginals"]

# Norms are sums of products of whole numbers, none negative, in doubles. Fewer than 2^30 are added up along an axis, so
# that in whatever order the relative error is below 2^-20.
_SAFETY = 1 + Fraction(1, 2**20)
# Rounded coefficients are below this, so that with noise they are int64. That limits the count of a cell; the lattice
# is never so fine that a cell could not have a million records.
_LARGEST_STEPS = 2**62
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
    if isinstance(block, str) and block.lower() == "marginals":
        return "marginals"
    parts = () if isinstance(block, str) or not isinstance(block, Iterable) else tuple(block)
    if len(parts) == 2 and isinstance(parts[0], str) and parts[0].lower() == "hyperbolic":
        return "hyperbolic", whole_number(parts[1], "the size of a hyperbolic cross", 0, 60)
    if len(parts) != 2 or isinstance(parts[0], str):
        raise ParameterError(
            f'block is {block!r}; it must be two whole numbers (kx, ky), ("hyperbolic", k) or "marginals".'
        )
    return whole_pair(parts, "block")


def check_candidates(candidates: Any) -> tuple[Description, ...]:
    """Descriptions of one or more blocks, from any sequence or array of them."""
    blocks = () if isinstance(candidates, str) or not isinstance(candidates, Iterable) else tuple(candidates)
    if not blocks:
        raise ParameterError(
            f"candidates is {candidates!r}; it must be a list of one or more blocks such as [(4, 4), (8, 8)]."
        )
    return tuple(check_block(block) for block in blocks)


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
    """Largest L1 norm and squared L2 norm of a record's coefficients: a maximum over all cells of what is measured.

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
    half, step, unit = size // 2 + 1, max(1, 2**20 // edges[-1]), 2.0 ** -wave_bits(size)
    parts = [slice(start, min(start + step, half)) for start in range(0, half, step)]
    sums = [_band_sums(unit * whole_waves(basis, size, slice(edges[-1]), part), edges) for part in parts]
    return np.concatenate([l1 for l1, _ in sums], axis=1), np.concatenate([l2 for _, l2 in sums], axis=1)


def _band_sums(waves: Floats, edges: tuple[int, ...]) -> tuple[Floats, Floats]:
    return np.add.reduceat(np.abs(waves), edges[:-1], axis=0), np.add.reduceat(waves**2, edges[:-1], axis=0)


@dataclass(frozen=True)
class Lattice:
    """Where the coefficients of a block are rounded to, and what that costs.

    Attributes
    ----------
    width : float
        Of a step, as orthonormal coefficients.
    bits : int
        The width is 2^-bits; for Walsh functions, whose sums are integers, it is √(1/cells), and bits is 0.
    sensitivity : Sensitivity
        How far one record can move the rounded coefficients, in steps.
    largest_count : int
        Cells count at most so many records, so that all integers have a public bound.
    """

    width: float
    bits: int
    sensitivity: Sensitivity
    largest_count: int


def lattice_for(basis: Basis, sizes: Sizes, block: Block, law: Law, cost: Fraction, neighbours: Neighbours) -> Lattice:
    """A lattice so fine that rounding adds little to the sensitivity and is small against the noise.

    Notes
    -----
    Between neighbours K exact coefficients move by at most S₁ in L1 and S₂ in L2, and rounding to steps of g adds less
    than one step for each: floor(S₁ / g) + K steps, and (S₂ / g + √K)² squared. Replacing a record moves coefficients
    by the difference of two cells' vectors: at most 2 S₁ and 2 S₂. As K coordinates of a vector, of length √2 but for
    what rounding does to the functions (`wave_error`, t for each cell), also at most √K (√2 + 2 t) and √2 + 2 t. A
    block with the total alone does not move at all, unless the record leaves the domain.
    """
    if basis is Basis.WALSH:
        cells = math.prod(padded(basis, size) for size in sizes)
        largest = min(_LARGEST_COUNT, 2**52 // cells)  # so that sums are exact in doubles
        return Lattice(1 / math.sqrt(cells), 0, _walsh_sensitivity(sizes, block, neighbours), largest)
    count = block.n_coefficients
    root = Fraction(math.isqrt(count * 2**64) + 1, 2**32)
    l1, l2 = _moves(basis, sizes, block, neighbours)
    if law is Law.GAUSSIAN:
        bits = _bits(sizes, float(l2), math.sqrt(count), float(l2) / math.sqrt(2 * cost))
    else:
        bits = _bits(sizes, float(l1), count, float(l1 / cost))
    steps = Fraction(2) ** bits
    moved = Sensitivity(math.floor(l1 * steps) + count, math.floor((l2 * steps + root) ** 2))
    largest = min(_LARGEST_COUNT, math.floor(_LARGEST_STEPS / (largest_coefficient(sizes) * steps)))
    return Lattice(2.0**-bits, bits, moved, largest)


def _moves(basis: Basis, sizes: Sizes, block: Block, neighbours: Neighbours) -> tuple[Fraction, Fraction]:
    """L1 and L2 norms of what one record can do to exact coefficients; bounds from above."""
    norms, count = block_norms(basis, sizes, block), block.n_coefficients
    l1, l2 = (Fraction(norm) * _SAFETY for norm in (norms[0], math.sqrt(norms[1])))
    if neighbours is Neighbours.ADD_REMOVE or count == 1:
        return l1, l2
    longest = Fraction(math.sqrt(2)) * _SAFETY + 2 * wave_error(sizes)
    return min(2 * l1, Fraction(math.sqrt(count)) * _SAFETY * longest), min(2 * l2, longest)


def _bits(sizes: Sizes, norm: float, rounding: float, noise: float) -> int:
    """Of the widest lattice that is fine enough for both rules; but neither noise nor counts must be too many steps."""
    wanted = math.ceil(-math.log2(min(norm / (_STEPS_PER_ROUNDING * rounding), noise / _STEPS_PER_NOISE)))
    drawable = math.floor(-math.log2(noise / _WIDEST_STEPS))
    countable = math.floor(math.log2(_LARGEST_STEPS / (_LEAST_LARGEST_COUNT * largest_coefficient(sizes))))
    return min(wanted, drawable, countable, sum(wave_bits(size) for size in sizes))


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
    differing = count - int(walsh_sums(walsh_sums(mask, 1), 0).min())
    return Sensitivity(max(count, differing), max(count, 2 * differing))
