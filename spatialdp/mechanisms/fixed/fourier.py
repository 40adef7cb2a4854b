"""Private low-pass histograms: noise in the first coefficients of a real orthonormal basis.

A smooth density is made of few low frequencies. Measuring only those spares the noise of all the others; what the
others held is lost, so sharp detail is smeared out and the estimates are biased.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from spatialdp._support.arrays import Floats
from spatialdp._support.options import Choice
from spatialdp.errors import BudgetError, ParameterError
from spatialdp.estimates.base import Estimate
from spatialdp.mechanisms.base import Plan, Terms
from spatialdp.mechanisms.recipe import Design, GridMechanism, design_of
from spatialdp.privacy.budget import Number, exact
from spatialdp.privacy.neighbours import Neighbours
from spatialdp.privacy.noise.laws import Law, spendable
from spatialdp.privacy.noise.selection import exponential
from spatialdp.privacy.noise.source import Noise
from spatialdp.records.counting import count_cells
from spatialdp.records.points import Points
from spatialdp.space.domain import Domain, Grid
from spatialdp.structures.spectral import SpectralBlock
from spatialdp.transforms.frequency_blocks import (
    FrequencyBlock,
    check_block,
    check_candidates,
    default_blocks,
    largest_count,
    make_block,
    step_width,
)
from spatialdp.transforms.integer_waves import Spectrum, spectrum, wave_error
from spatialdp.transforms.spectral import Basis, padded

__all__ = ["Fourier"]

# Scores are rounded to 1/256, and computed to 4/256 as long as cells count no more than `_largest_score_count`.
_SCORE_STEPS = 256
_SCORE_ERROR = 4


@dataclass(frozen=True)
class Fourier(GridMechanism):
    """Noisy low-frequency coefficients of the grid of counts.

    Parameters
    ----------
    shape : (nx, ny), optional
        Number of columns and rows; any numbers.
    cell_size : float or (width, height), optional
        Instead of `shape`; must divide the domain.
    basis : {"dct", "dft", "walsh"}
        Cosines (DCT-II, without a jump at the edges), the real Fourier basis (cosines and sines), or Walsh
        functions, for marginals and dyadic boxes.
    block : (kx, ky), ("hyperbolic", k) or "marginals", optional
        Which coefficients are measured: the first kx times the first ky; the pairs of dyadic bands (0, 1, 2-3, 4-7,
        ...) whose numbers add up to at most k; or those of the column sums and the row sums. Chosen from `candidates`
        by default.
    candidates : sequence of blocks, optional
        A public list; by default rectangles and crosses of all sizes.
    selection_share : number
        Share of the budget for the choice, between 0 and 1. Not spent if there is nothing to choose.
    law : {"discrete-laplace", "laplace", "gaussian"}
        Coefficients lie on a very fine lattice, so the two Laplace laws are the same here.

    Privacy
    -------
    What is measured are not cosines but whole numbers: each function, times 2^28 or so and rounded, is a public table
    (`waves.whole_waves`), and a coefficient is the exact integer sum of counts times its entries. So one record moves
    the K coefficients of a block by at most S₁ = max over the region's cells of Σ|entry| in L1 and S₂ = max √Σentry² in
    L2: whole numbers, declared as they are (twice that under replace, or less: see `frequencies.sensitivity_of`). The
    noise is a whole number too, added at full width (`privacy.wide`), and doubles come after it, so that there is no
    rounding and no floating-point error to argue about. Walsh functions are ±1 as they are.
    Cells count at most a public number of records, ``plan(...).limits``: 2^40 for a given block (for Walsh functions on
    large grids less), so that all integers fit; where a block is chosen, 3 · 10^7 on 1024 × 1024 cells and less on
    larger grids, so that scores are computed well enough. Records beyond it are not counted. Cutting off a neighbour's
    counts as well leaves the same counts, neighbours, or under replace counts that differ by one record, which moves
    them less.
    The block is drawn by the exponential mechanism with score -(norm of the lost coefficients + expected norm of the
    noise): the first is the length of a projection of a vector that one record moves by at most 1 (√2 under replace)
    and what rounding the functions adds (`waves.wave_error`); computing and rounding it adds 9/256. For Gaussian noise,
    an exponential mechanism of ε costs ε²/8 of ρ (see `privacy.selection.exponential`). Choice and coefficients add up
    to the budget. No complex numbers, so no phase is released without noise, as the published shortcut of EFPA does.
    Barak et al. (PODS 2007), Rastogi, Nath (SIGMOD 2010), Ács, Castelluccia, Chen (ICDM 2012). Checked by brute force
    in ``tests/test_fourier.py`` and ``tests/test_waves.py``.

    Notes
    -----
    Unless all coefficients are measured the release is biased and says so: it gives no intervals, because what the
    lost frequencies held is unknown. Good for smooth densities on fine grids; for clustered ones use a tree. With
    Laplace noise a box has S₁² times the variance it has in `Flat`, at most, so that blocks with S₁ above 1 (8 × 8 of
    64 × 64, 16 × 16 of 256 × 256) only help small boxes; with Gaussian noise S₂ is never above 1. The choice
    minimises the error of cells; for large boxes a block that is known to suit the data is better. The way back uses
    cosines in doubles. As they differ from the measured functions by 2^-29 or so, a coefficient is off by about
    10^-9 times the length of the vector of counts, which is far below the noise.

    Examples
    --------
    >>> import spatialdp as sdp
    >>> domain = sdp.Domain(bounds=(0, 0, 1, 1))
    >>> release = sdp.Fourier(shape=(8, 8), block=(8, 8)).release([[0.1, 0.2], [0.8, 0.9]], domain, epsilon=1000)
    >>> round(release.answer((0, 0, 0.5, 0.5)))
    1
    >>> plan = sdp.Fourier(shape=(64, 64)).plan(domain, epsilon=1)
    >>> plan.budget["choice of the block"], plan.limits["records counted in one cell"]
    (Fraction(1, 5), 8084644261)
    """

    name: ClassVar[str] = "fourier"

    shape: Sequence[int] | None = None
    cell_size: float | Sequence[float] | None = None
    basis: Choice[Basis] = Choice(Basis.DCT)
    block: Any = None
    candidates: Sequence[Any] | None = None
    selection_share: Number = Fraction(1, 5)
    law: Choice[Law] = Choice(Law.DISCRETE_LAPLACE)

    def __post_init__(self) -> None:
        object.__setattr__(self, "selection_share", exact(self.selection_share, "selection_share"))
        self._check_grid()
        self._check_blocks()
        if not 0 < self.selection_share < 1:
            raise ParameterError(f"selection_share is {self.selection_share}; it must lie strictly between 0 and 1.")

    def _check_blocks(self) -> None:
        if self.block is not None and self.candidates is not None:
            raise ParameterError("Fourier takes either a block or candidates to choose one from, and not both.")
        if self.block is not None:
            object.__setattr__(self, "block", check_block(self.block))
        if self.candidates is not None:
            object.__setattr__(self, "candidates", check_candidates(self.candidates))

    def _design(self, domain: Domain, terms: Terms) -> Blocks:
        """A design for each candidate."""
        grid = self.leaf_grid(domain)
        sizes = (padded(self.basis, grid.shape[0]), padded(self.basis, grid.shape[1]))
        listed = default_blocks(sizes) if self.candidates is None else self.candidates
        chosen = dict.fromkeys(make_block(block, sizes) for block in (listed if self.block is None else (self.block,)))
        whole = spendable(self.law, terms.budget)
        choice = whole * exact(self.selection_share, "selection_share") if len(chosen) > 1 else Fraction(0)
        if choice and not self._choice_epsilon(choice):
            raise BudgetError(
                f"selection_share is {self.selection_share}, which leaves the choice of the block next to nothing; "
                "raise it, or give the block."
            )
        made = (_block_design(self.basis, grid, block, self.law, whole - choice, terms.neighbours) for block in chosen)
        return Blocks(choice, tuple(made))

    def _plan(self, design: Blocks) -> Plan:
        plan = super()._plan(design.first)
        return replace(
            plan,
            budget={"choice of the block": design.choice} | plan.budget if design.choice else plan.budget,
            standard_deviation=max(map(_noise_norm, design.each)) / math.sqrt(design.first.structure.n_functions),
            limits={"records counted in one cell": design.largest_count},
        )

    def _blank(self, design: Blocks) -> Estimate | None:
        """Only if all coefficients are measured: otherwise part of the error is what the records lose."""
        return super()._blank(design.first) if not design.choice and design.first.structure.whole else None

    def _estimate(self, points: Points, design: Blocks, noise: Noise) -> Estimate:
        """Pay for a choice, if there is one; the rest is the recipe."""
        if not design.choice:
            return super()._estimate(points, design.first, noise)
        structure = design.first.structure
        counts = np.minimum(count_cells(points, structure.grid), design.largest_count)
        found = spectrum(counts, self.basis, structure.sizes)
        chosen = self._choose(found, design, noise)
        return chosen.carry_out(chosen.structure.taken(found), noise)

    def _choose(self, found: Spectrum, design: Blocks, noise: Noise) -> Design[SpectralBlock]:
        shape = design.first.structure.grid.shape
        coefficients = found.whole().floats() * step_width(self.basis, shape)
        tails = _tail_norms(coefficients, [each.structure.block for each in design.each])
        sensitivity = _score_sensitivity(self.basis, shape, design.first.neighbours)
        epsilon = self._choice_epsilon(design.choice)
        return design.each[exponential(_scores(tails, design.each), epsilon, sensitivity, noise)]

    def _choice_epsilon(self, cost: Fraction) -> Fraction:
        """Of the exponential mechanism, whose ρ is ε²/8."""
        return _root(8 * cost) if self.law is Law.GAUSSIAN else cost


@dataclass(frozen=True)
class Blocks:
    """The designs that a choice is made among, and its cost; if there is but one, it costs nothing.

    Attributes
    ----------
    choice : Fraction
    each : tuple of Design
    """

    choice: Fraction
    each: tuple[Design[SpectralBlock], ...]

    @property
    def first(self) -> Design[SpectralBlock]:
        """Whose grid is that of all."""
        return self.each[0]

    @property
    def largest_count(self) -> int:
        """Cells count no more records than this public number."""
        structure = self.first.structure
        basis, shape = structure.basis, structure.grid.shape
        largest = largest_count(basis, shape)
        return min(largest, _largest_score_count(basis, shape)) if self.choice else largest


def _block_design(
    basis: Basis, grid: Grid, block: FrequencyBlock, law: Law, cost: Fraction, neighbours: Neighbours
) -> Design[SpectralBlock]:
    drawn = Law.DISCRETE_LAPLACE if law is Law.LAPLACE else law
    return design_of(SpectralBlock(basis, grid, block), (cost,), drawn, neighbours)


def _noise_norm(design: Design[SpectralBlock]) -> float:
    """Root-mean-square length of the noise vector; the same for coefficients and for cells."""
    structure = design.structure
    return math.sqrt(structure.block.n_coefficients) * design.last_deviation * structure.width


def _tail_norms(coefficients: Floats, blocks: Sequence[FrequencyBlock]) -> Floats:
    """Length of what each block leaves out, from sums of squares over all bands that the blocks need."""
    x, y = (
        sorted({0}.union(*(getattr(block, name) for block in blocks)) - {size})
        for name, size in zip("xy", reversed(coefficients.shape), strict=True)
    )
    squares = coefficients**2
    energies = np.add.reduceat(np.add.reduceat(squares, x, axis=1), y, axis=0).T
    return np.sqrt([np.where(block.holds(x, y), 0.0, energies).sum(axis=0).sum() for block in blocks])


def _scores(tails: Floats, designs: Sequence[Design[SpectralBlock]]) -> list[Fraction]:
    """-(lost + noise), in whole steps of 1/256."""
    return [
        Fraction(-round(_SCORE_STEPS * float(tail)) - round(_SCORE_STEPS * _noise_norm(design)))
        for tail, design in zip(tails, designs, strict=True)
    ]


def _score_sensitivity(basis: Basis, shape: tuple[int, int], neighbours: Neighbours) -> Fraction:
    """In steps: coefficients move by a vector of length 1 or √2, and by what rounding the functions adds for each cell.

    Two computed norms are off by 4 each, rounding adds 1.
    """
    cells = 1 if neighbours is Neighbours.ADD_REMOVE else 2
    length = Fraction(math.isqrt(cells * 2**80) + 1, 2**40) + cells * _wave_error(basis, shape)
    return Fraction(math.ceil(_SCORE_STEPS * length) + 2 * _SCORE_ERROR + 1)


def _largest_score_count(basis: Basis, shape: tuple[int, int]) -> int:
    """The largest C for which computed tail norms of counts up to C are right to 4/256.

    Coefficients are integers that become doubles in three operations; their squares are added up along x and y, within
    and over bands, in any order: at most 2 (nx + ny) + 16 operations one after the other, so the norm, which is at most
    C √cells (1 + `wave_error`), is off by that many times 2^-53.
    """
    nx, ny = (padded(basis, size) for size in shape)
    relative = (2 * (nx + ny) + 16) * 2.0**-53 * float(1 + _wave_error(basis, shape))
    return math.floor(_SCORE_ERROR / (_SCORE_STEPS * relative * math.sqrt(shape[0] * shape[1])))


def _wave_error(basis: Basis, shape: tuple[int, int]) -> Fraction:
    return Fraction(0) if basis is Basis.WALSH else wave_error(shape)


def _root(value: Fraction) -> Fraction:
    """Square root, rounded down to a multiple of 2^-40."""
    return Fraction(math.isqrt(math.floor(value * 2**80)), 2**40)
