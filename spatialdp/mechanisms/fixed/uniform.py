"""How good is one noisy total, spread evenly? It is the baseline that every other mechanism should beat.

Hay et al. found that many published methods lose to it where records are few or ε is small. See
``docs/mechanisms/uniform.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from spatialdp._support.checks import whole_pair
from spatialdp._support.options import Choice
from spatialdp._support.override import override
from spatialdp.mechanisms.base import Terms
from spatialdp.mechanisms.recipe import Design, StructuredMechanism, with_cells
from spatialdp.privacy.noise.laws import Law
from spatialdp.space.domain import Domain, Grid
from spatialdp.structures.cells import EvenTotal

__all__ = ["Uniform"]


@dataclass(frozen=True)
class Uniform(StructuredMechanism):
    """The number of records and noise, spread evenly over the domain or its region.

    Parameters
    ----------
    shape : (nx, ny)
        Number of columns and rows of the grid on which the region is drawn. Without a region, answers do not
        depend on it.
    law : {"discrete-laplace", "laplace", "gaussian"}
        As for `Flat`.

    Privacy
    -------
    The number of records in the domain (in the cells of its region) changes by 1 if neighbours add or remove
    one record, and by at most 1 if they replace one, because the record may leave or enter the domain: L1 and
    L2 sensitivity 1 under both relations. The total costs all of ε, by the mechanisms that `Flat` cites.
    Spreading the total reads no records. The sensitivity is checked by brute force in
    ``tests/mechanisms/fixed/test_uniform.py``.

    References
    ----------
    Hay, Machanavajjhala, Miklau, Chen, Zhang: "Principled evaluation of differentially private algorithms using
    DPBench" (SIGMOD 2016), where Uniform is one of two baselines; the other one is `Flat`.

    Examples
    --------
    >>> import spatialdp as sdp
    >>> domain = sdp.Domain(bounds=(0, 0, 1, 1))
    >>> release = sdp.Uniform().release([[0.1, 0.1], [0.2, 0.1]], domain, epsilon=100)
    >>> release.answer((0.5, 0.5, 1, 1))
    0.5
    """

    name: ClassVar[str] = "uniform"

    shape: Sequence[int] = (64, 64)
    law: Choice[Law] = Choice(Law.DISCRETE_LAPLACE)

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", whole_pair(self.shape, "shape"))

    @override
    def _design(self, domain: Domain, terms: Terms) -> Design[EvenTotal]:
        return self._priced(EvenTotal(self.leaf_grid(domain)), terms)

    @override
    def leaf_grid(self, domain: Domain) -> Grid:
        return with_cells(domain.grid(self.shape))
