"""How are counts of public zones released? By noisy counts of every level, fitted so that totals add up.

Zones have unequal fan-outs, leaves at several depths and chains of only children, so budgets follow no simple rule:
each level gets the share of the noise that it causes (`strategies.zone_budgets`), and a zone that spans several levels
is measured once, with what all of them cost (`structures.zone_levels`). All of that depends on the zones, the law and
the parameters, and must not depend on the records. See ``docs/mechanisms/zone-tree.md``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from spatialdp._support.arrays import Floats, Integers
from spatialdp._support.checks import true_or_false
from spatialdp._support.options import Choice, Option
from spatialdp._support.override import override
from spatialdp._support.terminal import is_printable
from spatialdp.errors import ParameterError
from spatialdp.estimates.zones.counts import ZoneCounts
from spatialdp.mechanisms.base import Plan, Terms
from spatialdp.mechanisms.level_budgets import check_budget
from spatialdp.mechanisms.prepared import PreparedRelease
from spatialdp.mechanisms.recipe import Design, StructuredMechanism, design_of
from spatialdp.privacy.budget import Number, divide
from spatialdp.privacy.neighbours import Neighbours
from spatialdp.privacy.noise.laws import Law, noisy
from spatialdp.privacy.noise.source import Noise
from spatialdp.privacy.noise.wide import Wide
from spatialdp.privacy.statement import Privacy
from spatialdp.privacy.unit import Person
from spatialdp.records.codes import as_zone_records
from spatialdp.records.zones import count_zones
from spatialdp.space.zones.frame import Zones
from spatialdp.strategies.zone_budgets import ZoneObjective, best_shares, importance_of_levels
from spatialdp.structures.zone_levels import KnownTotals, ZoneLevels, level_step
from spatialdp.wording import parameter, quoted
from spatialdp.zone_release import ZoneRelease

__all__ = ["ZoneTree"]

_MOST_KNOWN = 10_000  # totals that a statement lists
_SETS = 100  # of leaves, whose noise decides which bound on persons is worth it
# Leaves must be measured even if no target needs them; so much they count beside the targets.
_LEAF_IMPORTANCE = 1e-9


class ZoneBudget(Option):
    """Rules that divide the budget over the levels of zones."""

    BALANCED = "balanced"
    ZONES = "zones"
    LEAVES = "leaves"


@dataclass(frozen=True)
class ZoneDesign(Design[ZoneLevels]):
    """The design of a release by zones.

    Attributes
    ----------
    level_costs : tuple of Fraction
        Cost of each level, root first; the costs add up to the whole budget.
    """

    level_costs: tuple[Fraction, ...] = ()

    @override
    def counts(self, points: Any) -> Integers:
        """The exact counts of the leaves, in the frame's order."""
        return count_zones(points, self.structure.zones, self.person)

    @override
    def carry_out(self, exact: Iterable[Integers | Wide], noise: Noise) -> ZoneCounts:
        """Add noise to exact measurements, but not to invariants, and fit them."""
        parts = (
            _as_counts(part) if self.structure.is_exact(group) else noisy(part, law, noise)
            for group, (part, law) in enumerate(zip(exact, self.laws, strict=True))
        )
        return self.structure.estimate(self.structure.fit(parts, self.laws), self.laws)


def _as_counts(part: Any) -> Floats:
    """Invariants, as they are published."""
    return np.asarray(part, dtype=np.float64)


@dataclass(frozen=True)
class ZoneTree(StructuredMechanism):
    """Noisy counts of public zones and of everything that they add up to, such as counties, states and the country.

    Parameters
    ----------
    budget : {"balanced", "zones", "leaves"} or sequence of numbers
        How the budget is divided over the levels. ``"balanced"`` makes the sum over levels of the mean variance of a
        level's zones as small as it can be, so that each level matters equally; ``"zones"`` the mean variance of all
        zones, most of which are leaves. ``"leaves"`` gives everything to the lowest level. Weights are given root
        first, one for each level of the frame; a level of weight 0 is not measured.
    targets : sequence of str, optional
        Codes of zones: the budget is divided so that the mean variance of these zones is as small
        as it can be.
    known : mapping of totals, optional
        Totals that are public already, such as those of a census: for each level that has some, the
        totals of zones by code. The release adds up to them exactly. The promise does not change.
    invariants : sequence of str, optional
        Levels whose totals are computed from these records and published exactly. The release is
        then NOT differentially private in the plain sense, and all its statements say so.
    consistent : bool
        Make every zone the sum of its parts, by least squares; every answer becomes more accurate.
    law : {"discrete-laplace", "laplace", "gaussian"}
        As for `Flat`.

    Privacy
    -------
    Neighbours differ by one record, added or removed, or replaced. Zones, budgets, targets and known totals are public.
    A record is in at most one zone of each level, so it moves one count of each level by 1; under replace it leaves
    one path of zones and enters another. A zone that is on several levels, because it is an only child's parent or has
    no parts on the lower levels, is measured once, at the summed cost of these levels. So the measurements that a
    record is in cost exactly the whole budget, whichever leaf it is in, and replacing a record costs half of each of
    two paths, at most the whole (all zones together: 1 at full cost). Persons are bounded likewise. Records in no zone,
    and unknown codes, count nowhere. Fitting reads released values and known totals only. Sequential composition along
    a path, and parallel composition over disjoint zones; ``docs/design/zones.md`` has the proof, and
    ``tests/structures/test_zone_levels.py`` checks the sensitivities and the paths' costs by brute force.

    With `invariants` there is no ε-differential privacy in the plain sense. Compared are data sets that have the same
    totals: one record is replaced by another of the same zone. Nothing is promised about the totals, nor about what
    they imply together with outside knowledge. Every statement of the release says so.

    Notes
    -----
    "Balanced" budgets are the fixed point of a rule: a level gets the share of f, the sum of the mean variances, that
    its noise causes (`spatialdp.strategies.zone_budgets`), for Laplace noise of variance 2/ε² or Gaussian noise of
    variance 1/2ρ. They are budgets for fitted estimates.

    Examples
    --------
    >>> import spatialdp as sdp
    >>> zones = sdp.Zones.from_codes(["37063", "37135", "45001"], None, {"state": 2, "county": 5})
    >>> print(sdp.ZoneTree().plan(zones, epsilon=1))
    method    zone-tree
    zones     6
    memory    less than 0.1 MB for counts and estimates
    noise     standard deviation 1.357 in one zone of the lowest level
    cost      ε = 1
                0  count of all zones
                0  counts by state
                1  counts by county
    error     expected from noise (root mean square), for one zone of the level
                all zones  2.35
                state      1.662
                county     1.357
    """

    name: ClassVar[str] = "zone-tree"
    frame: ClassVar[type] = Zones

    budget: str | Sequence[Number] = ZoneBudget.BALANCED
    targets: Sequence[str] | None = None
    known: Mapping[str, Any] | None = None
    invariants: Sequence[str] | None = None
    consistent: bool = True
    law: Choice[Law] = Choice(Law.DISCRETE_LAPLACE)

    def __post_init__(self) -> None:
        values = {
            "consistent": true_or_false(self.consistent, "consistent"),
            "budget": _checked_rule(self.budget),
            "targets": _texts(self.targets, "targets", "codes of zones, such as"),
            "invariants": _texts(self.invariants, "invariants", "names of levels, such as"),
            "known": None if self.known is None else _checked_tables(self.known),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)
        if self.targets is not None and self.budget != ZoneBudget.BALANCED:
            raise ParameterError(
                f"{parameter('targets')} are given and {parameter('budget')} is {quoted(self.budget)}, but targets "
                f"decide how the budget is divided; give either {parameter('targets')} or {parameter('budget')}."
            )
        if self.known is not None and not self.consistent:
            raise ParameterError(
                f"{parameter('known')} totals are given and {parameter('consistent', False)}, but only consistent "
                f"estimates add up to them; use {parameter('consistent', True)}, or leave {parameter('known')} out."
            )
        if self.known is not None and self.invariants is not None:
            raise ParameterError(
                f"{parameter('known')} and {parameter('invariants')} are both given, but totals come either from "
                "elsewhere or from these records; give one of them."
            )

    # --- everything public ---

    @override
    def _prepared(self, domain: Zones, terms: Terms) -> PreparedRelease:
        if self.invariants is None:
            return super()._prepared(domain, terms)
        if terms.person is not None:
            raise ParameterError(
                f"{parameter('person')} and {parameter('invariants')} are both given, but exact totals leave a promise "
                f"about single records of one zone only; leave {parameter('invariants')} out to protect persons."
            )
        ordered = tuple(sorted(self.invariants, key=domain.depth_of))  # statements name the lowest level, the last one
        if ordered != self.invariants:
            return replace(self, invariants=ordered)._prepared(domain, terms)
        # Only data sets with the same totals are compared, so records can be replaced but not added.
        return super()._prepared(domain, replace(terms, neighbours=Neighbours.REPLACE))

    @override
    def _design(self, domain: Zones, terms: Terms) -> ZoneDesign:
        known = self._known_totals(domain)
        structure = ZoneLevels(domain, self.consistent, known, self._exact_depth(domain))
        levels = divide(terms.spendable(self.law), self._weights(structure, terms))
        design = design_of(structure, structure.costs_of(levels), self.law, terms.neighbours, terms.person)
        return ZoneDesign(**vars(design), level_costs=levels)

    def _exact_depth(self, zones: Zones) -> int:
        """The depth of the lowest level whose totals are published exactly; -1 if there is none."""
        depth = max((zones.depth_of(level) for level in self.invariants or ()), default=-1)
        chains = zones.chains
        if depth >= chains.first[chains.shape.leaves].max():
            raise ParameterError(
                f"{parameter('invariants')} are {quoted(self.invariants)}, which gives the totals of all zones of the "
                "lowest level, so that nothing would be private; give upper levels."
            )
        return depth

    def _known_totals(self, zones: Zones) -> KnownTotals | None:
        if self.known is None:
            return None
        nodes = [zones.nodes_of(list(table), level) for level, table in self.known.items()]
        values = [list(table.values()) for table in self.known.values()]
        return KnownTotals(np.concatenate(nodes), np.concatenate(values))

    def _weights(self, structure: ZoneLevels, terms: Terms) -> Sequence[Number]:
        """Weights of the levels in the budget, root first."""
        height = structure.zones.shape.height
        if self.budget == ZoneBudget.LEAVES:
            return [0] * height + [1]
        if isinstance(self.budget, str):
            return best_shares(self._objective(structure, terms))
        weights = check_budget(self.budget, height)
        assert not isinstance(weights, str)
        above = structure.exact_depth + 1  # levels without noise cost nothing
        return [0] * above + list(weights[above:])

    def _objective(self, structure: ZoneLevels, terms: Terms) -> ZoneObjective:
        """What the budget is divided for."""
        sensitivities = structure.sensitivities(terms.neighbours, terms.person)
        gaussian = self.law is Law.GAUSSIAN
        return ZoneObjective(
            structure.tree,
            structure.chains.group,
            structure.chains.spans,
            self._importance(structure),
            self.law,
            np.array([float(each.l2_squared if gaussian else each.l1**2) / each.steps**2 for each in sensitivities]),
            structure.certain,
        )

    def _importance(self, structure: ZoneLevels) -> Floats:
        """How much the variance of each merged node matters."""
        zones, place, size = structure.zones, structure.chains.place, structure.tree.n_nodes
        if self.targets is not None:
            targets = np.bincount(place[zones.nodes_of(list(self.targets))], minlength=size) / len(self.targets)
            return np.asarray(targets + _LEAF_IMPORTANCE * structure.tree.leaves / structure.tree.n_leaves)
        if self.budget == ZoneBudget.ZONES:
            return np.bincount(place, minlength=size) / place.size
        return importance_of_levels(zones.shape, place, size)

    @override
    def _steps(self, design: Any) -> dict[str, Fraction]:
        zones = design.structure.zones
        return {level_step(zones, depth): cost for depth, cost in enumerate(design.level_costs)}

    @override
    def _plan(self, design: ZoneDesign) -> Plan:
        return replace(super()._plan(design), errors_of="zones", invariants=self._invariants())

    @override
    def _errors(self, design: ZoneDesign, domain: Zones) -> tuple[float, dict[str, float]]:
        blank = design.structure.blank(design.laws)
        every = blank.noise.fitted_variances() if self.consistent else blank.noise.raw_nodes()[0]
        variances = every[design.structure.chains.place]
        deviations = {
            level: math.sqrt(variances[domain.shape.level(depth)].mean()) for depth, level in enumerate(domain.levels)
        }
        return math.sqrt(variances[domain.leaf_nodes].mean()), deviations

    @override
    def _counted_in(self, domain: Zones) -> Zones:
        return domain

    @override
    def _box_deviation(self, design: ZoneDesign, domain: Zones, area: Fraction) -> float:
        """Root mean square of the noise over sets of neighbouring leaves; each set has this share of all leaves."""
        size = max(1, round(area * domain.n_leaves))
        starts = np.unique(np.linspace(0, domain.n_leaves - size, _SETS).astype(np.int64))
        sums = design.structure.blank(design.laws).of_sets([domain.leaf_nodes[at : at + size] for at in starts])
        return math.sqrt(sums.variance.mean())

    @override
    def _missed(self, domain: Zones) -> None:  # noqa: ARG002 - zones may have gaps, which `check` shows
        return None

    # --- the records, and the release ---

    @override
    def _records(self, points: Any, domain: Zones, person: Person | None) -> Any:
        return as_zone_records(points, domain, person)

    @override
    def _published(self, domain: Any, statement: Privacy, estimate: Any) -> ZoneRelease:  # noqa: ARG002
        return ZoneRelease.of(estimate, statement)

    @override
    def _invariants(self) -> tuple[str, ...]:
        return tuple(self.invariants or ())

    @override
    def parameters(self) -> dict[str, Any]:
        values = super().parameters()
        if self.known is not None:
            values["known"] = {level: dict(table) for level, table in self.known.items()}
        return values


def _checked_rule(budget: Any) -> str | tuple[Number, ...]:
    if isinstance(budget, str):
        return ZoneBudget.parse(budget, "budget")
    if not hasattr(budget, "__len__") or not len(budget):
        names = ", ".join(repr(str(rule)) for rule in ZoneBudget)
        raise ParameterError(
            f"{parameter('budget')} is {budget!r}; give one of {names}, or one number for each level, root first."
        )
    weights = check_budget(budget, len(budget) - 1)
    assert not isinstance(weights, str)
    return weights


def _texts(values: Any, name: str, what: str) -> tuple[str, ...] | None:
    """Names of levels or codes of zones, each once; None if none were given."""
    if values is None:
        return None
    given = (values,) if isinstance(values, str) else tuple(values)
    if not given or not all(isinstance(value, str) for value in given) or len(set(given)) < len(given):
        example = ("37063", "37135") if name == "targets" else ("state",)
        raise ParameterError(
            f"{parameter(name)} is {quoted(given)}; give {what} {quoted(example)}, each of them once, as text."
        )
    return given


def _checked_tables(known: Any) -> dict[str, dict[str, float]]:
    """Known totals, as plain values that a statement can hold: for each level, its codes and totals."""
    if not isinstance(known, Mapping) or not known:
        raise ParameterError(
            f"{parameter('known')} is {quoted(known)}; give a mapping of levels to their tables of codes and totals, "
            f"such as {quoted({'state': {'37': 1200}})}."
        )
    tables = {str(level): _checked_table(table, str(level)) for level, table in known.items()}
    if sum(map(len, tables.values())) > _MOST_KNOWN:
        raise ParameterError(
            f"{parameter('known')} has {sum(map(len, tables.values())):,} totals, but the privacy statement lists them "
            f"and can hold {_MOST_KNOWN:,}; give those of upper levels."
        )
    return tables


def _checked_table(table: Any, level: str) -> dict[str, float]:
    items = dict(table.items()) if hasattr(table, "items") else {}
    sound = items and all(
        isinstance(code, str) and is_printable(code) and _is_total(total) for code, total in items.items()
    )
    if not sound:
        raise ParameterError(
            f"{parameter('known')} for level {level!r} is not a table of codes and totals; give a mapping, or a series "
            "indexed by codes as text, with finite totals of at least 0."
        )
    return {code: int(total) if float(total).is_integer() else float(total) for code, total in items.items()}


def _is_total(value: Any) -> bool:
    number = not isinstance(value, bool | np.bool_) and isinstance(value, int | float | np.integer | np.floating)
    return bool(number and math.isfinite(value) and 0 <= value < 2**53)
