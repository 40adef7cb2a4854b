"""How is a private quadtree released? By noisy counts of every level of a fixed subdivision, made consistent.

Large boxes are answered by a few large nodes instead of thousands of noisy cells. The structure is
public; with `stop` it follows from released counts, and must follow from nothing else. See
``docs/mechanisms/quadtree.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from spatialdp._support.options import Choice
from spatialdp._support.override import override
from spatialdp.estimates.base import Estimate
from spatialdp.mechanisms.base import Terms
from spatialdp.mechanisms.level_budgets import BudgetRule, LevelBudget, level_costs
from spatialdp.mechanisms.recipe import Design, StructuredMechanism
from spatialdp.mechanisms.stopping import Stopping, count_tree, stopping_rule
from spatialdp.mechanisms.tree_mechanism import TreeMechanism
from spatialdp.privacy.noise.laws import Law, laws_for
from spatialdp.privacy.noise.source import Noise
from spatialdp.privacy.noise.stated import StatedNoise, stated
from spatialdp.records.points import Points
from spatialdp.space.domain import Domain, Grid
from spatialdp.structures.base import step_of
from spatialdp.structures.tree_levels import QuadtreeLevels

__all__ = ["Quadtree"]


@dataclass(frozen=True)
class Quadtree(TreeMechanism, StructuredMechanism):
    """Noisy counts on every level of a quadtree over the public domain.

    Parameters
    ----------
    height : int
        Number of levels below the root, at most 14; the leaves are 2^height x 2^height cells.
    budget : {"geometric", "uniform", "leaves"} or sequence of numbers
        How ε is divided over the levels: growing towards the leaves by 2^(1/3) a level (2^(1/2) for
        Gaussian noise), equally, all to the leaves, or by weights, root first. A weight of zero leaves a level
        unmeasured.
    consistent : bool
        Make every parent the sum of its children, by least squares; every answer becomes more accurate.
    prune : float, optional
        Afterwards drop all nodes below those whose consistent estimate is under this public threshold.
    stop : float, optional
        Do not divide nodes whose noisy count is under this public threshold. The rest of their budget goes
        into a second count of them. Nodes whose noise was large are divided more often, so that totals come out a
        little too high: such a release offers no intervals. No node ends at a level without budget.
    law : {"discrete-laplace", "laplace", "gaussian"}
        As for `Flat`.

    Privacy
    -------
    Neighbours differ by one record, added or removed, or replaced. The structure is public, or with `stop` a
    function of released counts. A record is in one node of each level, so a level's counts have L1 and L2
    sensitivity 1 under add-remove, and 2 and √2 under replace (1 at the root: a record can only leave or
    enter the domain). Each level costs its own budget, and a path from the root to a leaf costs their sum,
    exactly the whole budget. The nodes of a level are disjoint (parallel composition), also where released
    counts chose them. The second count of a node that ends spends what its path would have spent below.
    Fitting and pruning read released values only. Cormode et al., "Differentially private spatial
    decompositions" (ICDE 2012). Sensitivities are checked by brute force in
    ``tests/contract/test_structures.py``, path costs in ``tests/mechanisms/fixed/test_quadtree.py`` and
    ``tests/mechanisms/test_stopping.py``.

    Notes
    -----
    Cormode et al.'s variants: quad-baseline is ``budget="uniform", consistent=False``; quad-geo ``consistent=False``;
    quad-post ``budget="uniform"``; quad-opt is the default.

    Examples
    --------
    >>> import spatialdp as sdp
    >>> domain = sdp.Domain(bounds=(0, 0, 1, 1))
    >>> release = sdp.Quadtree(height=3).release([[0.1, 0.2], [0.8, 0.9]], domain, epsilon=1000)
    >>> round(release.answer((0, 0, 0.5, 0.5)), 3)
    1.0
    """

    name: ClassVar[str] = "quadtree"

    height: int
    budget: BudgetRule = LevelBudget.GEOMETRIC
    consistent: bool = True
    prune: float | None = None
    stop: float | None = None
    law: Choice[Law] = Choice(Law.DISCRETE_LAPLACE)

    def __post_init__(self) -> None:
        self._check_tree()

    @override
    def _design(self, domain: Domain, terms: Terms) -> Design[QuadtreeLevels]:
        structure = QuadtreeLevels(self.leaf_grid(domain), self.consistent)
        design = self._priced(structure, terms)
        return design if self.stop is None else self._stopping(design, terms, self.stop)

    def _stopping(self, design: Design[QuadtreeLevels], terms: Terms, stop: float) -> StoppingDesign:
        """The design of a tree whose nodes may end early, with noise for whichever nodes do."""
        sensitivities = [
            design.structure.path_sensitivity(depth, terms.neighbours, terms.person) for depth in range(self.height + 1)
        ]
        left = [sum(design.costs[depth + 1 :], Fraction(0)) for depth in range(self.height)]
        laws = laws_for(self.law, design.costs, sensitivities)
        stopping = stopping_rule(stop, left, self.law, sensitivities[:-1])
        return StoppingDesign(**{**vars(design), "laws": laws}, stopping=stopping)

    @override
    def leaf_grid(self, domain: Domain) -> Grid:
        return domain.grid((2**self.height, 2**self.height))

    @override
    def _costs(self, structure: QuadtreeLevels, whole: Fraction) -> Sequence[Fraction]:  # noqa: ARG002 - height is known
        return level_costs(self.budget, self.height, whole, self.law)

    @override
    def _stated(self, design: Any) -> dict[str, StatedNoise]:
        second = stated(design.stopping.named_laws()) if isinstance(design, StoppingDesign) else {}
        return super()._stated(design) | second

    @override
    def _blank(self, design: Design[QuadtreeLevels]) -> Estimate | None:
        return super()._blank(design) if self.stop is None and self.prune is None else None

    @override
    def _estimate(self, points: Points, design: Design[QuadtreeLevels], noise: Noise) -> Estimate:
        if not isinstance(design, StoppingDesign):
            return super()._estimate(points, design, noise)
        structure = design.structure
        counts = structure.node_counts(design.counts(points))
        tree, noisy = count_tree(structure.tree, counts, design.laws, design.stopping, noise)
        return self._finished(self._decompose(structure.grid.domain, tree, noisy, step_of(design.laws)))


@dataclass(frozen=True, kw_only=True)
class StoppingDesign(Design[QuadtreeLevels]):
    """The design of a quadtree whose nodes may end early.

    Attributes
    ----------
    stopping : Stopping
    """

    stopping: Stopping
