"""How is a private low-pass histogram released? With noise in the first coefficients of a real basis.

A smooth density is made of few low frequencies. Measuring only those spares the noise of all the
others; what the others held is lost, so sharp detail is smeared out and the estimates are biased.

This module chooses a block of coefficients, if there is a choice, and pays for it; measuring is in
`structures.spectral` and `transforms`. Coefficients must be exact integers until their noise is added.
See ``docs/design/fourier.md`` and ``docs/mechanisms/fourier.md``.
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
from spatialdp._support.override import override
from spatialdp.errors import BudgetError, ParameterError
from spatialdp.estimates.base import Estimate
from spatialdp.mechanisms.base import Plan, Terms
from spatialdp.mechanisms.recipe import Design, GridMechanism, design_of
from spatialdp.privacy.budget import Number, exact
from spatialdp.privacy.neighbours import Neighbours
from spatialdp.privacy.noise.laws import Law, choice_epsilon
from spatialdp.privacy.noise.selection import exponential
from spatialdp.privacy.noise.source import Noise
from spatialdp.privacy.noise.stated import StatedNoise
from spatialdp.privacy.unit import Bound
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
from spatialdp.transforms.spectral import Basis, most_weights, padded
from spatialdp.wording import either, parameter

__all__ = ["Fourier"]

# Scores are rounded to 1/256. Before that, they are right to 4/256 if no cell counts more than `_largest_score_count`.
_SCORE_STEPS = 256
_SCORE_ERROR = 4

# How the plan calls the public limit at which the count of a cell is cut off.
_LIMITED = {
    None: "records counted in one cell",
    Bound.RECORDS: "records counted in one cell",
    Bound.CELLS: "persons counted in one cell",
    Bound.SHARES: "shares counted in one cell",
}


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
        Public list of blocks to choose from; by default rectangles and crosses of all sizes.
    selection_share : number
        Share of the budget for the choice of a block, between 0 and 1. Not spent if there is nothing to choose.
    law : {"discrete-laplace", "laplace", "gaussian"}
        Coefficients lie on a very fine lattice, so the two Laplace laws are the same here.

    Privacy
    -------
    Neighbours differ by one record, added or removed, or replaced. The measured functions are not cosines but
    whole numbers: each cosine, times 2^28 or so and rounded, is a row of a public table
    (`transforms.integer_waves.whole_waves`), and a coefficient is the exact integer sum of counts times the
    row's entries. So under add-remove one record moves the K coefficients of a block by at most S₁ = max over
    the region's cells of Σ|entry| in L1 and S₂ = max √Σentry² in L2: whole numbers (S₂ squared), declared as
    they are. Under replace it moves them by twice that, or less: see
    `transforms.frequency_blocks.sensitivity_of`. The noise is a whole number too and is added at full width
    (`privacy.noise.wide`); doubles come after the noise, so that there is no rounding and no floating-point
    error to argue about. Walsh functions are ±1 as they are.

    Each cell counts at most a public number of records, ``plan(...).limits``: 2^40 for a given block (less for
    Walsh functions on large grids), so that all integers fit; where a block is chosen, 3 · 10^7 on 1024 × 1024
    cells and less on larger grids, so that scores are computed accurately enough. Records beyond the limit are
    not counted. If the counts of two neighbours are both cut off at the limit, they are equal, or still
    neighbours, or under replace differ by one record, which moves the coefficients less.

    The block is drawn by the exponential mechanism with the score -(norm of the lost coefficients + expected
    norm of the noise). The first norm is the length of a projection of a vector that one record moves by at
    most 1 (√2 under replace) and what rounding the functions adds (`transforms.integer_waves.wave_error`);
    computing and rounding the score adds 9/256. For Gaussian noise, an exponential mechanism of ε costs ε²/8 of
    ρ (see `privacy.noise.selection.exponential`). The choice and the coefficients together cost the whole
    budget. There are no complex numbers, and so no phase that could be released without noise, which the
    published shortcut of EFPA does. Barak et al. (PODS 2007), Rastogi, Nath (SIGMOD 2010), Ács, Castelluccia,
    Chen (ICDM 2012).
    Sensitivities are checked by brute force in ``tests/transforms/test_frequency_blocks.py`` and
    ``tests/structures/test_spectral.py``, the choice in ``tests/mechanisms/fixed/test_fourier.py``.

    Notes
    -----
    Unless all coefficients are measured, the release is biased and says so: it gives no intervals, because what
    the lost frequencies held is unknown. Fourier is good for smooth densities on fine grids; for clustered ones
    use a tree. With Laplace noise a box has at most S₁² times the variance that it has in `Flat`, so that blocks
    with S₁ above 1 (8 × 8 of 64 × 64, 16 × 16 of 256 × 256) only help small boxes; with Gaussian noise S₂ is
    never above 1. The choice minimises the error of cells; for large boxes a block that is known to suit the
    data is better. The inverse uses cosines in doubles. They differ from the measured functions by 2^-29 or so,
    which moves a coefficient by about 10^-9 times the length of the vector of counts, far below the noise.

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
            raise ParameterError(
                f"{parameter('selection_share')} is {self.selection_share}; it must lie strictly between 0 and 1."
            )

    def _check_blocks(self) -> None:
        if self.block is not None and self.candidates is not None:
            raise ParameterError(
                f"{either('Fourier', 'fourier')} got both {parameter('block', self.block)} and "
                f"{parameter('candidates')}, but needs at most one; give the block, or the candidates to choose it "
                "from."
            )
        if self.block is not None:
            object.__setattr__(self, "block", check_block(self.block))
        if self.candidates is not None:
            object.__setattr__(self, "candidates", check_candidates(self.candidates))

    @override
    def _design(self, domain: Domain, terms: Terms) -> BlockDesigns:
        grid = self.leaf_grid(domain)
        sizes = (padded(self.basis, grid.shape[0]), padded(self.basis, grid.shape[1]))
        candidates = default_blocks(sizes) if self.candidates is None else self.candidates
        descriptions = candidates if self.block is None else (self.block,)
        blocks = dict.fromkeys(make_block(description, sizes) for description in descriptions)
        if any(block.n_coefficients == math.prod(sizes) for block in blocks):
            _check_length(grid.shape, sizes)
        whole = terms.spendable(self.law)
        cost = whole * exact(self.selection_share, "selection_share") if len(blocks) > 1 else Fraction(0)
        if cost and not choice_epsilon(self.law, cost):
            raise BudgetError(
                f"{parameter('selection_share')} is {self.selection_share}, which leaves the choice of the block "
                f"next to nothing; raise it, or give the {parameter('block')}."
            )
        designs = (_block_design(self.basis, grid, block, self.law, whole - cost, terms) for block in blocks)
        return BlockDesigns(cost, tuple(designs))

    @override
    def _plan(self, design: BlockDesigns) -> Plan:
        plan = super()._plan(design.first)
        cost = design.choice_cost
        return replace(
            plan,
            budget={"choice of the block": cost} | plan.budget if cost else plan.budget,
            noise=_stated(design),
            standard_deviation=max(map(_noise_norm, design.designs)) / math.sqrt(design.first.structure.n_functions),
            limits={_LIMITED[design.first.bound]: design.largest_count // design.first.steps},
        )

    @override
    def _blank(self, design: BlockDesigns) -> Estimate | None:
        # Only if all coefficients are measured: otherwise part of the error depends on the records.
        return super()._blank(design.first) if not design.choice_cost and design.first.structure.whole else None

    @override
    def _box_deviation(self, design: BlockDesigns, domain: Domain, area: Fraction) -> float:
        # Noise in the sum of m cells is that of one coefficient times √m, as long as waves are shorter than the box. Of
        # several blocks, the middle one: which one is chosen depends on the records.
        if self._blank(design) is not None:
            return super()._box_deviation(design, domain, area)
        one = sorted(each.last_deviation * each.structure.width for each in design.designs)[len(design.designs) // 2]
        return one * math.sqrt(float(area) * design.first.structure.n_functions)

    @override
    def _estimate(self, points: Points, design: BlockDesigns, noise: Noise) -> Estimate:
        # Choose a block, if there is a choice; the rest is the recipe.
        if not design.choice_cost:
            return super()._estimate(points, design.first, noise)
        structure = design.first.structure
        counts = np.minimum(design.first.counts(points), design.largest_count)
        coefficients = spectrum(counts, self.basis, structure.sizes)
        chosen = self._choose(coefficients, design, noise)
        return chosen.carry_out(chosen.structure.select(coefficients), noise)

    def _choose(self, exact_coefficients: Spectrum, design: BlockDesigns, noise: Noise) -> Design[SpectralBlock]:
        shape = design.first.structure.grid.shape
        coefficients = exact_coefficients.whole().floats() * (step_width(self.basis, shape) / design.first.steps)
        tails = _tail_norms(coefficients, [each.structure.block for each in design.designs])
        sensitivity = _score_sensitivity(self.basis, design.first)
        epsilon = choice_epsilon(self.law, design.choice_cost)
        return design.designs[exponential(_scores(tails, design.designs), epsilon, sensitivity, noise)]


@dataclass(frozen=True)
class BlockDesigns:
    """One design for each candidate block, and the cost of choosing among them.

    Attributes
    ----------
    choice_cost : Fraction
        0 if there is one design only.
    designs : tuple of Design
        All have the same grid, and cost the same.
    """

    choice_cost: Fraction
    designs: tuple[Design[SpectralBlock], ...]

    @property
    def first(self) -> Design[SpectralBlock]:
        """The first design, for all that does not depend on the block, such as the grid."""
        return self.designs[0]

    @property
    def largest_count(self) -> int:
        """The public limit at which the count of a cell is cut off, in the steps in which cells are counted."""
        structure = self.first.structure
        basis, shape = structure.basis, structure.grid.shape
        largest = largest_count(basis, shape)
        return min(largest, _largest_score_count(basis, shape) * self.first.steps) if self.choice_cost else largest


def _stated(design: BlockDesigns) -> dict[str, StatedNoise]:
    """The noise of coefficients: it depends on the block, and so on which one is chosen."""
    drawn = [law for each in design.designs for law in each.laws if law is not None]
    return {name: StatedNoise.of(drawn) for name in design.first.groups}


def _check_length(shape: tuple[int, int], sizes: tuple[int, int]) -> None:
    """Refuse all frequencies of a grid that is so long and narrow that intervals would need too many weights."""
    weights = max(cells * functions for cells, functions in zip(shape, sizes, strict=True))
    most = most_weights(math.prod(shape))
    if weights > most:
        raise ParameterError(
            f"the block holds all frequencies of {shape[0]} x {shape[1]} cells, whose intervals need {weights} "
            f"weights; at most {most} are possible. Use a smaller block, or a grid whose sides differ less."
        )


def _block_design(
    basis: Basis, grid: Grid, block: FrequencyBlock, law: Law, cost: Fraction, terms: Terms
) -> Design[SpectralBlock]:
    lattice_law = Law.DISCRETE_LAPLACE if law is Law.LAPLACE else law
    return design_of(SpectralBlock(basis, grid, block), (cost,), lattice_law, terms.neighbours, terms.person)


def _noise_norm(design: Design[SpectralBlock]) -> float:
    """Root-mean-square length of the noise vector; the same for coefficients and for cells."""
    structure = design.structure
    return math.sqrt(structure.block.n_coefficients) * design.last_deviation * structure.width


def _tail_norms(coefficients: Floats, blocks: Sequence[FrequencyBlock]) -> Floats:
    """Norm of the coefficients that each block leaves out, from sums of squares over all bands of the blocks."""
    x, y = (
        sorted({0}.union(*(getattr(block, name) for block in blocks)) - {size})
        for name, size in zip("xy", reversed(coefficients.shape), strict=True)
    )
    squares = coefficients**2
    energies = np.add.reduceat(np.add.reduceat(squares, x, axis=1), y, axis=0).T
    return np.sqrt([np.where(block.holds(x, y), 0.0, energies).sum(axis=0).sum() for block in blocks])


def _scores(tails: Floats, designs: Sequence[Design[SpectralBlock]]) -> list[Fraction]:
    """Score of each block: -(norm of the lost coefficients + norm of the noise), in whole steps of 1/256."""
    return [
        Fraction(-round(_SCORE_STEPS * float(tail)) - round(_SCORE_STEPS * _noise_norm(design)))
        for tail, design in zip(tails, designs, strict=True)
    ]


def _score_sensitivity(basis: Basis, design: Design[SpectralBlock]) -> Fraction:
    """Sensitivity of the scores, in steps of 1/256.

    One record moves the coefficients by a vector of length 1 (√2 under replace), and by what rounding the
    functions adds for each cell. A person with at most L records moves them L times as far, one with shares as
    far as one record, and one who is counted once in each of L cells by a vector of length √L (√(2 L)). The
    two computed norms are off by 4 steps each, and rounding adds 1.
    """
    person = design.person
    once_each = person is not None and person.bound is Bound.CELLS
    cells = (1 if design.neighbours is Neighbours.ADD_REMOVE else 2) * (person.most if person and once_each else 1)
    times = person.most if person and not once_each else 1
    length = Fraction(math.isqrt(cells * 2**80) + 1, 2**40) + cells * _wave_error(basis, design.structure.grid.shape)
    return Fraction(math.ceil(_SCORE_STEPS * times * length) + 2 * _SCORE_ERROR + 1)


def _largest_score_count(basis: Basis, shape: tuple[int, int]) -> int:
    """The largest C for which computed tail norms of counts up to C are right to 4/256.

    Coefficients are integers that become doubles in three operations. Their squares are added up along x
    and y, within and over bands, in any order: at most 2 (nx + ny) + 16 operations one after the other. So
    the norm, which is at most C √cells (1 + `wave_error`), has a relative error of at most that many times
    2^-53.
    """
    nx, ny = (padded(basis, size) for size in shape)
    relative = (2 * (nx + ny) + 16) * 2.0**-53 * float(1 + _wave_error(basis, shape))
    return math.floor(_SCORE_ERROR / (_SCORE_STEPS * relative * math.sqrt(shape[0] * shape[1])))


def _wave_error(basis: Basis, shape: tuple[int, int]) -> Fraction:
    return Fraction(0) if basis is Basis.WALSH else wave_error(shape)
