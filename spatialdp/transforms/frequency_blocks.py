"""Which coefficients are measured, and how far can one record move them? Blocks of frequencies and their norms.

A block is a set of pairs of frequency bands: a rectangle of low frequencies, a hyperbolic cross, or
the two marginals. A block's coefficients are exact integers (`integer_waves`), and so are the norms
of a record's change: the largest over the region's cells, compared in Python's integers. Sensitivities
must be declared from these norms and never from the functions in doubles. The derivation is in
``docs/design/fourier.md``. This module reads no record.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from spatialdp._support.arrays import Booleans, Floats, Integers, Objects
from spatialdp._support.checks import whole_number, whole_pair
from spatialdp.errors import ParameterError
from spatialdp.privacy.neighbours import Neighbours, Sensitivity
from spatialdp.space.domain import Grid
from spatialdp.transforms.integer_waves import wave_bits, wave_error, whole_waves
from spatialdp.transforms.spectral import Basis, padded, walsh_sums
from spatialdp.wording import either, parameter, quoted

__all__ = [
    "FrequencyBlock",
    "block_norms",
    "check_block",
    "check_candidates",
    "default_blocks",
    "largest_count",
    "make_block",
    "sensitivity_of",
    "squared_length",
    "step_bits",
    "step_width",
]

Sizes = tuple[int, int]
Description = tuple[int, int] | tuple[Literal["hyperbolic"], int] | Literal["marginals"]

_LARGEST_COUNT = 2**40


@dataclass(frozen=True)
class FrequencyBlock:
    """A set of pairs of frequency bands: the coefficients that are measured.

    Attributes
    ----------
    x, y : tuple of int
        Edges of the bands along each axis, from 0.
    kept : tuple of tuples of bool
        Whether each pair is measured, as [x band][y band]. The pair of the lowest bands always is.
    """

    x: tuple[int, ...]
    y: tuple[int, ...]
    kept: tuple[tuple[bool, ...], ...]

    @property
    def table(self) -> Booleans:
        """Whether each pair of bands is measured, (x bands, y bands)."""
        return np.array(self.kept)

    @property
    def n_coefficients(self) -> int:
        """Number of measured coefficients."""
        return int(np.diff(self.x) @ self.table.astype(np.int64) @ np.diff(self.y))

    @property
    def mask(self) -> Booleans:
        """Whether each coefficient is measured, (y frequencies, x frequencies)."""
        return np.repeat(np.repeat(self.table.T, np.diff(self.y), axis=0), np.diff(self.x), axis=1)

    def holds(self, x: Sequence[int], y: Sequence[int]) -> Booleans:
        """Whether pairs of some x and some y frequencies are measured, (x, y)."""
        columns, rows = (np.searchsorted(edges, at, side="right") - 1 for edges, at in ((self.x, x), (self.y, y)))
        extended = np.pad(self.table, ((0, 1), (0, 1)))  # nothing is measured beyond the last edge
        return np.asarray(extended[np.ix_(columns, rows)])


def check_block(block: Any) -> Description:
    """Check a description of a block; returns it as (kx, ky), ("hyperbolic", k) or "marginals"."""
    if isinstance(block, str) and block.lower() == "marginals":
        return "marginals"
    parts = () if isinstance(block, str) or not isinstance(block, Iterable) else tuple(block)
    if len(parts) == 2 and isinstance(parts[0], str) and parts[0].lower() == "hyperbolic":
        return "hyperbolic", whole_number(parts[1], "the size of a hyperbolic cross", 0, 60)
    if len(parts) != 2 or isinstance(parts[0], str):
        cross, marginals = either('("hyperbolic", k)', "hyperbolic,K"), either('"marginals"', "marginals")
        raise ParameterError(
            f"{parameter('block')} is {quoted(block)}; it must be two whole numbers {either('(kx, ky)', 'KX,KY')}, "
            f"{cross} or {marginals}."
        )
    return whole_pair(parts, "block")


def check_candidates(candidates: Any) -> tuple[Description, ...]:
    """Check the descriptions of one or more blocks, given as any sequence or array."""
    blocks = () if isinstance(candidates, str) or not isinstance(candidates, Iterable) else tuple(candidates)
    if not blocks:
        raise ParameterError(
            f"{parameter('candidates')} is {quoted(candidates)}; it must be a list of one or more blocks such as "
            f"{quoted([(4, 4), (8, 8)])}."
        )
    return tuple(check_block(block) for block in blocks)


def make_block(description: Description, sizes: Sizes) -> FrequencyBlock:
    """Make the block of a description, for axes with `sizes` coefficients.

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
        return FrequencyBlock(x, y, tuple(tuple(i * j == 0 for j in range(len(y) - 1)) for i in range(len(x) - 1)))
    if description[0] == "hyperbolic":
        return _hyperbolic(description[1], sizes)
    kx, ky = int(description[0]), description[1]
    if kx > sizes[0] or ky > sizes[1]:
        raise ParameterError(
            f"{parameter('block')} is {quoted(description)}, but the axes have {quoted(sizes)} coefficients. Give a "
            "smaller block."
        )
    return FrequencyBlock((0, kx), (0, ky), ((True,),))


def _hyperbolic(level: int, sizes: Sizes) -> FrequencyBlock:
    """The pairs of dyadic bands 0, 1, 2-3, 4-7, ... whose numbers add up to at most `level`."""
    x, y = (_dyadic_edges(size)[: level + 2] for size in sizes)
    return FrequencyBlock(x, y, tuple(tuple(i + j <= level for j in range(len(y) - 1)) for i in range(len(x) - 1)))


def _dyadic_edges(size: int) -> tuple[int, ...]:
    return (0, *(2**i for i in range((size - 1).bit_length())), size)


def default_blocks(sizes: Sizes) -> tuple[Description, ...]:
    """Candidates for the choice of a block: squares, rectangles and hyperbolic crosses of all sizes.

    Squares have sides 2^i and 3 · 2^i. The list depends on the sizes alone.
    """
    longest = max(sizes)
    sides = sorted({s for i in range(longest.bit_length()) for s in (2**i, 3 * 2**i) if s < longest} | {longest})
    shapes = [(k, k) for k in sides]
    shapes += [pair for k in sides if k.bit_count() == 1 for f in (2, 4) for pair in ((f * k, k), (k, f * k))]
    rectangles = dict.fromkeys((min(kx, sizes[0]), min(ky, sizes[1])) for kx, ky in shapes)
    most = sum((size - 1).bit_length() for size in sizes)
    return (*rectangles, *(("hyperbolic", level) for level in range(1, most)))


def step_bits(sizes: Sizes) -> int:
    """Binary places of measured cosine and Fourier coefficients: they are whole multiples of 2^-bits."""
    return sum(wave_bits(size) for size in sizes)


def step_width(basis: Basis, sizes: Sizes) -> float:
    """Width of one step: orthonormal coefficients are whole multiples of 2^-bits, or for Walsh of √(1/cells)."""
    if basis is Basis.WALSH:
        return 1 / math.sqrt(math.prod(padded(basis, size) for size in sizes))
    return 2.0 ** -step_bits(sizes)


def largest_count(basis: Basis, sizes: Sizes) -> int:
    """The public limit at which the count of a cell is cut off.

    With it all integers have a public bound, and the sums of Walsh functions are exact in doubles.
    """
    if basis is Basis.WALSH:
        return min(_LARGEST_COUNT, 2**52 // math.prod(padded(basis, size) for size in sizes))
    return _LARGEST_COUNT


def block_norms(basis: Basis, grid: Grid, block: FrequencyBlock) -> tuple[int, int]:
    """Largest L1 norm and squared L2 norm of one record's coefficients over the region's cells, in steps.

    Examples
    --------
    >>> from spatialdp.space.domain import Domain
    >>> grid = Domain((0, 0, 1, 1)).grid((64, 64))
    >>> l1, l2_squared = block_norms(Basis.DCT, grid, make_block((8, 8), (64, 64)))
    >>> width = step_width(Basis.DCT, (64, 64))
    >>> round(l1 * width, 2), l2_squared * width**2 < 1
    (1.84, True)
    """
    if basis is Basis.WALSH:
        return block.n_coefficients, block.n_coefficients
    return _norms(basis, grid.shape, block) if grid.mask.all() else _norms_within(basis, grid, block)


@lru_cache(maxsize=256)
def _norms(basis: Basis, sizes: Sizes, block: FrequencyBlock) -> tuple[int, int]:
    return _largest_norm(basis, sizes, block, None, 1), _largest_norm(basis, sizes, block, None, 2)


@lru_cache(maxsize=256)
def _norms_within(basis: Basis, grid: Grid, block: FrequencyBlock) -> tuple[int, int]:
    columns = grid.mask.T
    return _largest_norm(basis, grid.shape, block, columns, 1), _largest_norm(basis, grid.shape, block, columns, 2)


def _largest_norm(basis: Basis, sizes: Sizes, block: FrequencyBlock, inside: Any, power: int) -> int:
    """The largest Σ|coefficient|^power of a record in any of the cells (column, row) inside, exactly.

    The largest is sought in doubles first. They are sums of at most nx + ny products, none negative,
    so in whatever order they are added up, their relative error is at most that many times 2^-52. All
    cells that come close enough to be the largest are then computed in Python's integers.
    """
    (x, kinds_x), (y, kinds_y) = (
        _kinds_of_cells(basis, size, edges, power) for size, edges in zip(sizes, (block.x, block.y), strict=True)
    )
    present = np.ones((x.shape[1], y.shape[1]), dtype=bool)  # pairs of kinds that occur inside
    if inside is not None:
        present = _any_of_kind(_any_of_kind(inside, kinds_x, 0), kinds_y, 1)
    right = block.table.astype(np.float64) @ y.astype(np.float64)
    columns, rows = _nearly_largest(x.astype(np.float64), right, present, 8 * (sum(sizes) + 8) * 2.0**-52)
    return int((x[:, columns] * block.table.astype(object).dot(y[:, rows])).sum(axis=0).max())


@lru_cache(maxsize=256)
def _kinds_of_cells(basis: Basis, size: int, edges: tuple[int, ...], power: int) -> tuple[Objects, Integers]:
    """Sums of |function|^power over each band for each kind of cell, (bands, kinds), and the kind of every cell.

    The sums are Python's integers. Cells with the same sums are of one kind. Functions are even or odd
    about the middle (cosines) or about cell 0 (Fourier), so half of the cells show all kinds.
    """
    half, step = size // 2 + 1, max(1, 2**20 // edges[-1])
    parts = [np.arange(start, min(start + step, half)) for start in range(0, half, step)]
    columns = [column for part in parts for column in zip(*_band_sums(basis, size, edges, part, power), strict=True)]
    numbers: dict[tuple[int, ...], int] = {}
    kinds = np.array([numbers.setdefault(column, len(numbers)) for column in columns])
    cells = np.arange(size)
    mirrored = size - 1 - cells if basis is Basis.DCT else (size - cells) % size
    return np.array(list(numbers), dtype=object).T, kinds[np.minimum(cells, mirrored)]


def _band_sums(basis: Basis, size: int, edges: tuple[int, ...], cells: Integers, power: int) -> list[list[int]]:
    """Exact sums of |function|^power over each band in some cells; they are below 2^(2 bits + 1)."""
    waves = np.abs(whole_waves(basis, size, slice(edges[-1]), cells)).astype(np.int64)
    if wave_bits(size) > 30:
        waves = waves.astype(object)
    sums: list[list[int]] = np.add.reduceat(waves**power, edges[:-1], axis=0).tolist()
    return sums


def _any_of_kind(inside: Booleans, kinds: Integers, axis: int) -> Booleans:
    """Whether any cell of each kind along an axis is inside."""
    order = np.argsort(kinds, kind="stable")
    starts = np.flatnonzero(np.diff(kinds[order], prepend=-1))
    return np.logical_or.reduceat(np.take(inside, order, axis=axis), starts, axis=axis)


def _nearly_largest(x: Floats, right: Floats, inside: Booleans, near: float) -> tuple[Integers, Integers]:
    """Columns and rows at which xᵀ right is within the share `near` of its largest value inside."""
    step, candidates, best = max(1, 2**22 // right.shape[1]), [], 0.0  # blocks of columns save memory
    for start in range(0, x.shape[1], step):
        values = x[:, start : start + step].T @ right
        values *= inside[start : start + step]
        best = max(best, float(values.max()))
        columns, rows = np.nonzero(values >= (1 - near) * best)
        candidates.append((columns + start, rows, values[columns, rows]))
    columns, rows, reached = (np.concatenate(parts) for parts in zip(*candidates, strict=True))
    close = reached >= (1 - near) * best
    return columns[close], rows[close]


def sensitivity_of(basis: Basis, grid: Grid, block: FrequencyBlock, neighbours: Neighbours) -> Sensitivity:
    """How far one record can move the coefficients of a block, in steps.

    Notes
    -----
    Let S₁ and S₂ be the largest L1 and L2 norms of one record's coefficients (`block_norms`), K the
    number of coefficients, and t the bound on what rounding the functions adds to one record's vector
    (`wave_error`). Adding or removing a record moves the coefficients by that record's vector: at most
    by S₁ and S₂, which are exact. Replacing a record moves them by the difference of two cells' vectors:
    at most 2 S₁ and 2 S₂. That difference consists of K coordinates of a vector of length √2, up to
    rounding, so it is also at most √K (√2 + 2 t) in L1 and √2 + 2 t in L2. The bounds for replacing
    need not be reached by any two cells. A block with the total alone does not move at all, unless
    the record leaves the domain.
    """
    if basis is Basis.WALSH:
        return _walsh_sensitivity(grid.shape, block, neighbours)
    l1, l2_squared = block_norms(basis, grid, block)
    count = block.n_coefficients
    if neighbours is Neighbours.ADD_REMOVE or count == 1:
        return Sensitivity(l1, l2_squared)
    squared = _squared_length(grid.shape, 2)
    return Sensitivity(min(2 * l1, math.isqrt(math.floor(count * squared))), min(4 * l2_squared, math.floor(squared)))


def squared_length(basis: Basis, sizes: Sizes, cells: int) -> int:
    """Bound the squared L2 norm, in steps, of the coefficients of counts that are ±1 in some cells and 0 elsewhere.

    Such counts are a vector of length √cells. The functions are orthonormal, so some of its coefficients are no longer
    than the vector, but for what rounding the functions adds for each cell. Walsh functions are not rounded; their
    length is the root of their number.
    """
    if basis is Basis.WALSH:
        return cells * math.prod(padded(basis, size) for size in sizes)
    return math.floor(_squared_length(sizes, cells))


def _squared_length(sizes: Sizes, cells: int) -> Fraction:
    length = (Fraction(math.isqrt(cells << 128) + 1, 1 << 64) + cells * wave_error(sizes)) * 2 ** step_bits(sizes)
    squared: Fraction = length * length
    return squared


def _walsh_sensitivity(sizes: Sizes, block: FrequencyBlock, neighbours: Neighbours) -> Sensitivity:
    """Exact sensitivity of Walsh coefficients, in steps: a record moves each of K sums by ±1.

    Replacing a record in cell a by one in cell b moves by ±2 those sums in which the signs of a and b
    differ. The product of the two signs is the function at a xor b, so half of K - Σ φ(a xor b) sums
    move. All such sums over φ are one Walsh transform of the block.
    """
    count = block.n_coefficients
    if neighbours is Neighbours.ADD_REMOVE:
        return Sensitivity(count, count)
    mask = np.zeros([padded(Basis.WALSH, size) for size in reversed(sizes)])
    mask[: block.y[-1], : block.x[-1]] = block.mask
    differing = count - int(walsh_sums(walsh_sums(mask, 1), 0).min())
    return Sensitivity(max(count, differing), max(count, 2 * differing))
