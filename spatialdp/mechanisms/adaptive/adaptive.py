"""prototype"""
from __future__ import annotations
from dataclasses import dataclass
from typing import ClassVar
import math
import numpy as np
from fractions import Fraction
from spatialdp._support.options import Choice
from spatialdp._support.override import override
from spatialdp.estimates.decomposition import Decomposition
from spatialdp.mechanisms.adaptive.descent import UNITS, Descent, descend, plan_descent
from spatialdp.mechanisms.base import Plan, Terms
from spatialdp.mechanisms.recipe import GridMechanism
from spatialdp.privacy.noise.laws import Law, spendable
from spatialdp.privacy.noise.source import Noise
from spatialdp.records.counting import count_cells
from spatialdp.records.points import Points
from spatialdp.space.domain import Domain
from spatialdp.space.regions.borders import RegionArea
from spatialdp.structures.base import step_of
from spatialdp.trees.given_weights import family_shares, given_weights_fit
from spatialdp.trees.subdivision import block_sums, summed_areas

@dataclass(frozen=True)
class Adaptive(GridMechanism):
    name: ClassVar[str] = "adaptive"
    shape: tuple[int, int] | None = None
    cell_size: float | None = None
    law: Choice[Law] = Choice(Law.DISCRETE_LAPLACE)

    @override
    def _design(self, domain: Domain, terms: Terms) -> Descent:
        return plan_descent(self.leaf_grid(domain), spendable(self.law, terms.budget), self.law, terms.neighbours)

    @override
    def _plan(self, design: Descent) -> Plan:
        return Plan(self.name, design.grid.n_cells, "epsilon", {"all": design.whole}, 1.0, 8 * design.grid.n_cells)

    @override
    def _blank(self, design: Descent) -> None:
        return None

    @override
    def _estimate(self, points: Points, design: Descent, noise: Noise) -> Decomposition:
        sums = summed_areas(count_cells(points, design.grid))

        def measure(blocks, units):
            exact, noisy = block_sums(sums, blocks), np.empty(len(blocks))
            for cost in np.unique(units):
                chosen = units == cost
                noisy[chosen] = design.laws[int(cost)].add_to(exact[chosen], noise)
            return noisy

        t = descend(design, measure)
        self.__dict__["transcript"] = t
        domain = design.grid.domain
        shares = family_shares(t.tree, RegionArea.of(domain))
        values = given_weights_fit(t.tree, t.values, t.own_weights, shares)
        var, kurt = design.moments(t.units)
        return Decomposition(domain, t.tree, values, var, kurt, step=1.0, consistent=True, own_weights=t.own_weights)
