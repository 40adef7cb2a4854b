"""How is an adaptive tree released? Blocks of cells are counted with noise and divided where counts are large.

No part of the budget goes to finding the structure, except one in a hundred for the number of records: the released
counts of blocks decide how far each block is divided. The descent is in `descent`, its rules are in `choices`. This
module holds the counts, and `_counter` is the only function of an adaptive tree that reads them. See
``docs/mechanisms/adaptive.md``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from spatialdp._support.arrays import Floats, Integers, Integers32
from spatialdp._support.options import Choice, Option
from spatialdp._support.override import override
from spatialdp.errors import DomainError
from spatialdp.estimates.base import Estimate
from spatialdp.estimates.decomposition import Decomposition
from spatialdp.estimates.fields.field import LARGEST_FIELD, Field
from spatialdp.mechanisms.adaptive.choices import first_parts
from spatialdp.mechanisms.adaptive.descent import (
    UNITS,
    Descent,
    Measure,
    Transcript,
    descend,
    distinct,
    plan_descent,
)
from spatialdp.mechanisms.base import Mechanism, Plan, Terms
from spatialdp.mechanisms.recipe import check_cells, with_cells
from spatialdp.privacy.noise.laws import Law
from spatialdp.privacy.noise.source import Noise
from spatialdp.privacy.noise.stated import StatedNoise
from spatialdp.records.counting import count_cells
from spatialdp.records.points import Points
from spatialdp.space.boxes.subdivision import block_sums, summed_areas
from spatialdp.space.boxes.walk import family_shares
from spatialdp.space.domain import Domain, Grid, most_cells
from spatialdp.space.regions.borders import RegionArea
from spatialdp.trees.given_weights import given_weights_fit, noise_ratios
from spatialdp.wording import parameter

__all__ = ["Adaptive", "Reading"]

_TOTAL, _BLOCKS = "number of records", "blocks of cells"  # the steps, as plans and statements name them
DEFAULT_CELLS = 2**20  # of a grid that is not given
SMEARED = 2.0  # least variance of counts, in steps squared, from which sums of them count as continuous


class Reading(Option):
    """How the noisy counts of an adaptive tree are read: as a smooth field, or without bias."""

    FIELD = "field"
    UNBIASED = "unbiased"


@dataclass(frozen=True)
class Adaptive(Mechanism):
    """Noisy counts of blocks that are divided where released counts are large: the most accurate map for most data.

    Parameters
    ----------
    shape : (nx, ny), optional
        Cells of the finest grid; at most 2^24 cells. Blocks end where noise would drown them, so a fine grid costs no
        accuracy.
    cell_size : float or (width, height), optional
        Size of the cells, in domain units, instead of `shape`. Without both, the grid has about a million cells that
        are as square as possible.
    estimate : {"field", "unbiased"}
        How counts are read. "field": as a smooth density, which has the most accurate answers but a small bias.
        "unbiased": errors of noise average out. Intervals and the total are those of the unbiased reading either way.
    law : {"discrete-laplace", "laplace", "gaussian"}
        As for `Flat`.

    Privacy
    -------
    Neighbours differ by one record, added or removed, or replaced. Only noisy counts of blocks read the records. Which
    blocks are counted next, and at which cost, is a function of the counts released so far and of public numbers. For
    every possible outcome, the costs of the counts that contain a cell add up to the same number of millionths of ε:
    to all of them under add-remove; under replace, where the counts along two paths may change, all counts but that of
    all records cost half as much. A count moves by at most 1, so the ratio of the probabilities of any outcome is at
    most e^ε. For Gaussian noise the same sums bound ρ of zero-concentrated privacy (a Rényi filter). The argument is in
    ``docs/design/adaptive.md``. Path sums, replay and exact log-ratios are checked in
    ``tests/mechanisms/adaptive/test_descent.py`` and ``test_adaptive_tree.py``, whole releases in ``tests/audit``.

    Notes
    -----
    The idea of a second level that depends on noisy counts of the first is Qardaji, Yang, Li, "Differentially private
    grids for geospatial data" (ICDE 2013).

    Examples
    --------
    >>> import numpy as np, spatialdp as sdp
    >>> town = np.stack(np.meshgrid(np.linspace(0.3, 0.4, 70), np.linspace(0.6, 0.7, 70)), axis=-1).reshape(-1, 2)
    >>> release = sdp.Adaptive((256, 256)).release(town, sdp.Domain((0, 0, 1, 1)), epsilon=1)
    >>> low, high = release.interval((0.25, 0.5, 0.5, 0.75))
    >>> bool(low < 4900 < high), bool(abs(release.answer((0.25, 0.5, 0.5, 0.75)) - 4900) < 100)
    (True, True)
    """

    name: ClassVar[str] = "adaptive"

    shape: Sequence[int] | None = None
    cell_size: float | Sequence[float] | None = None
    estimate: Choice[Reading] = Choice(Reading.FIELD)
    law: Choice[Law] = Choice(Law.DISCRETE_LAPLACE)

    def __post_init__(self) -> None:
        if self.shape is not None or self.cell_size is not None:
            check_cells(self)

    @override
    def leaf_grid(self, domain: Domain) -> Grid:
        if self.shape is None and self.cell_size is None:
            return with_cells(domain.grid(_default_shape(domain)))
        return with_cells(domain.grid(self.shape, cell_size=self.cell_size))

    @override
    def _design(self, domain: Domain, terms: Terms) -> Descent:
        grid = self.leaf_grid(domain)
        nx, ny = grid.shape
        if nx * ny > LARGEST_FIELD:
            raise DomainError(
                f"the grid has {nx} x {ny} cells, but an adaptive tree has at most {LARGEST_FIELD:,}; give a smaller "
                f"{parameter('shape')} or a larger {parameter('cell_size')}. Blocks rarely end at single cells, so "
                "this costs little."
            )
        return plan_descent(grid, terms.spendable(self.law), self.law, terms.neighbours, terms.person)

    @override
    def _plan(self, design: Descent) -> Plan:
        return Plan(
            mechanism=self.name,
            cells=design.grid.n_cells,
            currency="rho" if self.law is Law.GAUSSIAN else "epsilon",
            budget=_steps(design),
            noise=_stated(design),
            standard_deviation=math.sqrt(design.laws[design.path - max(first_parts(design.path))].variance),
            memory=400 * math.prod(design.grid.shape),  # if every cell is a leaf
        )

    @override
    def _blank(self, design: Descent) -> None:  # noqa: ARG002 - never known: released counts decide on the blocks
        return None

    @override
    def _box_deviation(self, design: Descent, domain: Domain, area: Fraction) -> float:  # noqa: ARG002
        """The noise of one count: blocks end where noise would drown them, so few of them make up a box of any size."""
        return self._plan(design).standard_deviation

    @override
    def _estimate(self, points: Points, design: Descent, noise: Noise) -> Estimate:
        transcript = descend(design, _counter(points, design, noise))
        unbiased = _unbiased(design, transcript)
        return unbiased if self.estimate is Reading.UNBIASED else Field(design.grid, unbiased, transcript.values)


def _counter(points: Points, design: Descent, noise: Noise) -> Measure:
    """Count the records of blocks with noise; exact counts never leave this function."""
    sums = summed_areas(count_cells(points, design.grid, design.person))

    def measure(blocks: Integers32, units: Integers) -> Floats:
        exact, noisy = block_sums(sums, blocks), np.empty(len(blocks))
        for cost in distinct(units):
            chosen = units == cost
            noisy[chosen] = design.laws[int(cost)].add_to(exact[chosen], noise)
        return noisy

    return measure


def _unbiased(design: Descent, transcript: Transcript) -> Decomposition:
    """The unbiased reading of what was released."""
    domain, tree = design.grid.domain, transcript.tree
    shares = family_shares(tree, RegionArea.of(domain))
    variances, kurtosis = design.moments(transcript.units)
    nx, ny = design.grid.shape
    return Decomposition(
        domain,
        tree,
        given_weights_fit(tree, transcript.values, transcript.own_weights, shares),
        variances,
        kurtosis,
        step=_step(design),
        consistent=True,
        shape=design.grid.shape if nx * ny <= most_cells(tree.n_leaves) else None,
        own_weights=transcript.own_weights,
        noise_ratios=noise_ratios(
            tree, transcript.values, variances, transcript.own_weights, transcript.lowest, transcript.highest
        ),
    )


def _step(design: Descent) -> float:
    """Width of the lattice on which the noise of answers lies; 0 if they are as good as continuous.

    The unbiased reading weighs counts by areas and forecasts, and a small part of a large block by its area. Such sums
    lie on no lattice of whole counts, and intervals that allowed for one would be too wide. Only where noise is nearly
    always zero, a single count can make up an answer's noise, which then needs the allowance.
    """
    least = design.laws[design.path - min(first_parts(design.path))]
    return 0.0 if least.variance >= SMEARED * least.step**2 else least.step


def _steps(design: Descent) -> dict[str, Fraction]:
    """Cost of each step: how a path is divided among its blocks follows from released counts."""
    steps = {_TOTAL: design.total, _BLOCKS: UNITS - design.total}
    return {name: design.whole * units / UNITS for name, units in steps.items()}


def _stated(design: Descent) -> dict[str, StatedNoise]:
    """The noise of each step: released counts decide which block is counted with which of these laws."""
    of_blocks = [law for units, law in design.laws.items() if units != design.total]
    return {_TOTAL: StatedNoise.of([design.laws[design.total]]), _BLOCKS: StatedNoise.of(of_blocks)}


def _default_shape(domain: Domain) -> tuple[int, int]:
    """About a million cells, as square as possible."""
    width, height = domain.size
    columns = round(math.sqrt(DEFAULT_CELLS * width / height))
    nx = min(max(columns, 1), DEFAULT_CELLS)
    return nx, max(round(DEFAULT_CELLS / nx), 1)
