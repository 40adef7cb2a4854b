"""How are private wavelets (Privelet) released? With noise in the Haar coefficients of rows and columns.

A range of cells is made of few coefficients, so its noise grows with the logarithm of its length and
not with the length. The inverse must read released values only. See ``docs/mechanisms/wavelet.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from spatialdp._support.options import Choice, Option
from spatialdp._support.override import override
from spatialdp.errors import ParameterError
from spatialdp.mechanisms.base import Terms
from spatialdp.mechanisms.recipe import Design, GridMechanism
from spatialdp.privacy.budget import divide
from spatialdp.privacy.noise.laws import Law
from spatialdp.space.domain import Domain, Grid
from spatialdp.structures.axis_pairs import AxisPairs
from spatialdp.structures.quad_haar import QuadtreeWavelet
from spatialdp.transforms.axis import AxisTransform, IdentityAxis
from spatialdp.transforms.haar import HaarAxis
from spatialdp.wording import parameter

__all__ = ["Wavelet"]


class ScaleBudget(Option):
    """Rules that divide a wavelet's budget over its scales."""

    UNIFORM = "uniform"
    OPTIMISED = "optimised"


class Form(Option):
    """Forms of the two-dimensional wavelet transform."""

    TENSOR = "tensor"
    QUADTREE = "quadtree"


class Transformed(Option):
    """The axes that a wavelet transforms."""

    BOTH = "both"
    X = "x"
    Y = "y"


@dataclass(frozen=True)
class Wavelet(GridMechanism):
    """Noisy Haar coefficients of the grid of counts (Privelet).

    Parameters
    ----------
    shape : (nx, ny), optional
        Number of columns and rows; any numbers. A row of cells, ``(nx, 1)``, gives a 1D histogram.
    cell_size : float or (width, height), optional
        Instead of `shape`; must divide the domain.
    axis : {"both", "x", "y"}
        Which axes are transformed; a short axis is better left as it is (Privelet+).
    form : {"tensor", "quadtree"}
        Rows, then columns (the standard transform, Privelet's), or the non-standard transform: three differences
        for every node of a quadtree.
    budget : {"uniform", "optimised"}
        The same budget for every group of coefficients (a pair of scales, or a scale and kind of difference), as
        published; or the budgets with the least mean variance over all boxes.
    law : {"discrete-laplace", "laplace", "gaussian"}
        As for `Flat`.

    Privacy
    -------
    Neighbours differ by one record, added or removed, or replaced. A record changes one coefficient of each pair
    of scales, by ±1: each pair has L1 and L2 sensitivity 1 under add-remove, and 2 under replace (1 for the
    total). Each pair costs its own budget, and these add up to the whole. The same holds for each kind of
    difference of each scale of a quadtree; with the total there are 3 h + 1 of them for 2^h x 2^h cells.
    Padding to a power of two adds cells that are known to be empty and hold no record. The inverse reads
    released values only. Xiao, Wang, Gehrke, "Differential privacy via wavelet transforms" (ICDE 2010).
    Sensitivities are checked by brute force in ``tests/contract/test_structures.py``.

    Examples
    --------
    >>> import spatialdp as sdp
    >>> domain = sdp.Domain(bounds=(0, 0, 1, 1))
    >>> release = sdp.Wavelet(shape=(8, 8)).release([[0.1, 0.2], [0.8, 0.9]], domain, epsilon=1000)
    >>> round(release.answer((0, 0, 0.5, 0.5)), 1)
    1.0
    """

    name: ClassVar[str] = "wavelet"

    shape: Sequence[int] | None = None
    cell_size: float | Sequence[float] | None = None
    axis: Choice[Transformed] = Choice(Transformed.BOTH)
    form: Choice[Form] = Choice(Form.TENSOR)
    budget: Choice[ScaleBudget] = Choice(ScaleBudget.UNIFORM)
    law: Choice[Law] = Choice(Law.DISCRETE_LAPLACE)

    def __post_init__(self) -> None:
        self._check_grid()
        if self.form is Form.QUADTREE and self.axis is not Transformed.BOTH:
            raise ParameterError(
                f"{parameter('axis')} is {str(self.axis)!r}, but {parameter('form', 'quadtree')} transforms both axes; "
                f"leave {parameter('axis')} out, or use {parameter('form', 'tensor')}."
            )

    @override
    def _design(self, domain: Domain, terms: Terms) -> Design[AxisPairs | QuadtreeWavelet]:
        grid = self.leaf_grid(domain)
        if self.form is Form.QUADTREE:
            return self._priced(QuadtreeWavelet(grid), terms)
        return self._priced(AxisPairs(grid, *self._axes(grid)), terms)

    def _axes(self, grid: Grid) -> tuple[AxisTransform, AxisTransform]:
        nx, ny = grid.shape
        x = IdentityAxis(nx) if self.axis is Transformed.Y else HaarAxis(nx)
        y = IdentityAxis(ny) if self.axis is Transformed.X else HaarAxis(ny)
        return x, y

    @override
    def _costs(self, structure: AxisPairs | QuadtreeWavelet, whole: Fraction) -> Sequence[Fraction]:
        if self.budget is ScaleBudget.UNIFORM:
            return super()._costs(structure, whole)
        # Σ n/ε² is least for ε ∝ n^(1/3), and Σ n/ρ for ρ ∝ n^(1/2); n is a group's mean square weight in a box.
        power = 1 / 2 if self.law is Law.GAUSSIAN else 1 / 3
        return divide(whole, (structure.mean_squares() ** power).tolist())
