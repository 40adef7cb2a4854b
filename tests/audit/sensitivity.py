"""Is the stated cost of every measurement right? Compute sensitivities by brute force, record by record.

The real `release` runs on no records, and for every cell on one record. The exact numbers, before noise, are written
down. The cost of a measurement is its largest change in units of its noise. This cost must not be above the planned one
and, if a mechanism claims to be tight, must not be below it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np

from spatialdp.mechanisms import Adaptive, Mechanism
from spatialdp.mechanisms.adaptive.choices import FIRST_SHARE
from spatialdp.privacy.noise.laws import Law, NoiseLaw
from spatialdp.privacy.noise.source import Noise
from spatialdp.space.domain import Domain
from tests.audit.tape import integers
from tests.helpers.cases import terms


class Silent(Noise):
    """A source that refuses to draw: a mechanism that draws a choice has no fixed measurements."""

    def random_bytes(self, count: int) -> bytes:
        raise AssertionError("a choice was drawn")


def measurements(
    mechanism: Mechanism, domain: Domain, relation: str, data: Iterable[Any]
) -> Iterator[list[tuple[NoiseLaw, Any]]]:
    """Yield the measurements of a release for every data set: law and exact numbers of each measurement."""
    recorded: list[tuple[NoiseLaw, Any]] = []

    def record(law: NoiseLaw, counts: Any, noise: Noise) -> Any:
        recorded.append((law, integers(counts).ravel()))
        return np.zeros(np.shape(counts))

    with mock.patch.object(NoiseLaw, "add_to", record):
        prepared = mechanism.prepare(domain, **terms(mechanism, relation))
        for records in data:
            prepared.release(records, noise=Silent())
            yield recorded.copy()
            recorded.clear()


def centres(domain: Domain, shape: tuple[int, int]) -> list[Any]:
    """Return one data set for each cell, with one record in the centre of the cell."""
    grid = domain.grid(shape)
    x, y = ((edges[:-1] + edges[1:]) / 2 for edges in (grid.x_edges, grid.y_edges))
    return list(np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 1, 2))


def norm(law: NoiseLaw, change: Any) -> int:
    """Return the largest norm of changes, (..., measured numbers): L1, or the square of L2 for Gaussian noise."""
    sizes = change**2 if law.law is Law.GAUSSIAN else np.abs(change)
    return int(np.max(sizes.sum(axis=-1)))


def cost(law: NoiseLaw, norm: int) -> Fraction:
    """Return the cost of a change of this norm, in ε or ρ."""
    finer = law.steps // law.counted
    return norm / (2 * law.parameter) if law.law is Law.GAUSSIAN else norm * finer / law.parameter


def largest_costs(mechanism: Mechanism, domain: Domain, relation: str, data: list[Any]) -> list[Fraction]:
    """Return the cost of each measurement if one of these records is added, removed or, under replace, replaced."""
    (empty,) = measurements(mechanism, domain, relation, [np.empty((0, 2))])
    assert not any(counts.any() for _, counts in empty), "a release without records measures something other than zero"
    laws, most = [law for law, _ in empty], [0] * len(empty)
    seen: list[dict[tuple[int, ...], Any]] = [{} for _ in empty]
    for measured in measurements(mechanism, domain, relation, data):
        assert [law for law, _ in measured] == laws, "the noise depends on the records"
        for i, (law, change) in enumerate(measured):
            most[i] = max(most[i], norm(law, change))
            if relation == "replace":
                seen[i][tuple(change.tolist())] = change
    for i, distinct in enumerate(np.array(list(each.values())) for each in seen):
        most[i] = max([most[i], *(norm(laws[i], distinct - row) for row in distinct)])
    return sorted(map(cost, laws, most))


def costs(
    mechanism: Mechanism, domain: Domain, shape: tuple[int, int], relation: str
) -> tuple[list[Fraction], list[Fraction]]:
    """Return the costs of all measurements, by brute force and by the plan, both in rising order.

    The plan of an adaptive tree states what all blocks on a path cost together, since released counts divide it. Where
    no records were released, the first blocks get the larger share, and the blocks below them the rest.
    """
    computed = largest_costs(mechanism, domain, relation, centres(domain, shape))
    plan = mechanism.plan(domain, **terms(mechanism, relation))
    steps = list(plan.budget.values())
    if isinstance(mechanism, Adaptive):
        number, blocks = steps
        first = blocks * Fraction(*FIRST_SHARE)
        steps = [number, first, blocks - first]
    return computed, sorted(step for step in steps if step)


def declared_is_the_maximum(mechanism: Mechanism, domain: Domain, shape: tuple[int, int], relation: str) -> None:
    """Check that every measurement costs exactly what the plan states."""
    computed, planned = costs(mechanism, domain, shape, relation)
    assert computed == planned, f"brute force gives {_rounded(computed)}, the plan states {_rounded(planned)}"


def declared_is_an_upper_bound(
    mechanism: Mechanism, domain: Domain, shape: tuple[int, int], relation: str, at_least: float
) -> None:
    """Check that no measurement costs more than planned, and that all together cost at least a share of the plan."""
    computed, planned = costs(mechanism, domain, shape, relation)
    texts = _rounded(computed), _rounded(planned)
    assert len(computed) == len(planned)
    assert all(a <= b for a, b in zip(computed, planned, strict=True)), f"{texts[0]} exceeds {texts[1]}"
    assert sum(computed) >= at_least * sum(planned), f"{texts[0]} is far below {texts[1]}"


def _rounded(values: list[Fraction]) -> list[float]:
    return [round(float(value), 6) for value in values]
