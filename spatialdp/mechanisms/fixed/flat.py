"""How is a flat histogram released? By a count and independent noise for every cell.

This is the simplest mechanism, and the one of Dwork and McSherry's traffic experiment. It is the best
choice for reading single cells; sums over large boxes collect the noise of every cell in them.
Truncation must read released values only. See ``docs/mechanisms/flat.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from spatialdp._support.checks import whole_number
from spatialdp._support.options import Choice
from spatialdp._support.override import override
from spatialdp.estimates.histogram import Histogram
from spatialdp.mechanisms.base import Terms
from spatialdp.mechanisms.recipe import Design, GridMechanism
from spatialdp.privacy.noise.laws import Law
from spatialdp.space.domain import Domain
from spatialdp.structures.cells import CellCounts

__all__ = ["Flat"]


@dataclass(frozen=True)
class Flat(GridMechanism):
    """A count and independent noise for each cell of the region.

    Parameters
    ----------
    shape : (nx, ny), optional
        Number of columns and rows.
    cell_size : float or (width, height), optional
        Instead of `shape`; must divide the domain.
    law : {"discrete-laplace", "laplace", "gaussian"}
        Integer noise with geometric tails (the default); Laplace noise on a lattice of 1/1024
        counts; or integer Gaussian noise for (ε, δ), accounted as zCDP.
    truncate : int, optional
        Clip every estimate to the range from 0 to this number afterwards. The map looks cleaner, but
        every sum is biased and there are no intervals.

    Privacy
    -------
    If neighbours add or remove one record, one cell changes by 1: the L1 and L2 sensitivities are 1. If
    neighbours replace one record, two cells change by 1: L1 sensitivity 2, L2 sensitivity √2 (1 if there is
    only one cell). All of the budget is spent on the counts. Laplace laws: noise of scale (L1 sensitivity)/ε in every
    cell is ε-DP (Dwork, McSherry, Nissim, Smith 2006; Ghosh, Roughgarden, Sundararajan 2009 for the discrete
    law). Gaussian law: σ² = (L2 sensitivity)²/2ρ is ρ-zCDP (Canonne, Kamath, Steinke 2020), and ρ is the
    largest for which that implies (ε, δ)-DP. Truncation reads released values only. Sensitivities are checked
    by brute force in ``tests/mechanisms/fixed/test_flat.py``.

    Examples
    --------
    >>> import spatialdp as sdp
    >>> domain = sdp.Domain(bounds=(0, 0, 10, 10))
    >>> release = sdp.Flat(shape=(5, 5)).release([[1, 1], [9, 9]], domain, epsilon=1)
    >>> release.answer((0, 0, 4, 4)).is_integer()
    True
    >>> float(sdp.Flat(cell_size=2.0).plan(domain, epsilon=0.1).budget["counts"])
    0.1
    """

    name: ClassVar[str] = "flat"

    shape: Sequence[int] | None = None
    cell_size: float | Sequence[float] | None = None
    law: Choice[Law] = Choice(Law.DISCRETE_LAPLACE)
    truncate: int | None = None

    def __post_init__(self) -> None:
        self._check_grid()
        if self.truncate is not None:
            object.__setattr__(self, "truncate", whole_number(self.truncate, "truncate", 0, 2**53))

    @override
    def _design(self, domain: Domain, terms: Terms) -> Design[CellCounts]:
        return self._priced(CellCounts(self.leaf_grid(domain)), terms)

    @override
    def _finished(self, estimate: Histogram) -> Histogram:
        if self.truncate is None:
            return estimate
        return replace(estimate, values=np.clip(estimate.values, 0, self.truncate), biased=True)
