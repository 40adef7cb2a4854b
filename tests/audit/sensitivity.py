"""Sensitivity by brute force: what every single record does to every measurement, and what that costs.

The real `release` runs on a data set of one record for every cell, and on none; the numbers that noise would be added
to are written down. The largest change of a measurement, over its noise, is what the measurement costs, and that must
be what the plan states for it: not more, and where a mechanism claims to be tight, not less either.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np

from spatialdp.mechanisms import Mechanism
from spatialdp.privacy.noise.laws import Law, NoiseLaw
from spatialdp.privacy.noise.source import Noise
from spatialdp.space.domain import Domain
from tests.audit.seams import planned_once
from tests.audit.tape import integers
from tests.helpers.cases import terms


class Silent(Noise):
    """Draws nothing: a mechanism that asks for it chooses by the records, and has no fixed measurements."""

    def random_bytes(self, count: int) -> bytes:
        raise AssertionError("a choice was drawn")


def measurements(
    mechanism: Mechanism, domain: Domain, relation: str, data: Iterable[Any]
) -> Iterator[list[tuple[NoiseLaw, Any]]]:
    """For every data set the measurements of a release: each one's law and the numbers noise would be added to."""
    heard: list[tuple[NoiseLaw, Any]] = []

    def listen(law: NoiseLaw, counts: Any, noise: Noise) -> Any:
        heard.append((law, integers(counts).ravel()))
        return np.zeros(np.shape(counts))

    with mock.patch.object(NoiseLaw, "add_to", listen), planned_once(mechanism):
        for records in data:
            mechanism.release(records, domain, noise=Silent(), **terms(mechanism, relation))
            yield heard.copy()
            heard.clear()


def centres(domain: Domain, shape: tuple[int, int]) -> list[Any]:
    """Data sets of one record: in the centre of each cell."""
    grid = domain.grid(shape)
    x, y = ((edges[:-1] + edges[1:]) / 2 for edges in (grid.x_edges, grid.y_edges))
    return list(np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 1, 2))


def norm(law: NoiseLaw, change: Any) -> int:
    """Of the largest of some changes, (..., measured numbers): L1, or L2 squared for Gaussian noise."""
    sizes = change**2 if law.law is Law.GAUSSIAN else np.abs(change)
    return int(np.max(sizes.sum(axis=-1)))


def cost(law: NoiseLaw, norm: int) -> Fraction:
    """What a change of that norm costs."""
    return norm / (2 * law.parameter) if law.law is Law.GAUSSIAN else norm * law.steps / law.parameter


def largest_costs(mechanism: Mechanism, domain: Domain, relation: str, data: list[Any]) -> list[Fraction]:
    """What each measurement costs if any of the records comes, goes or, under replace, becomes another."""
    (empty,) = measurements(mechanism, domain, relation, [np.empty((0, 2))])
    assert not any(counts.any() for _, counts in empty), "nothing is counted as something"
    laws, most = [law for law, _ in empty], [0] * len(empty)
    seen: list[dict[tuple[int, ...], Any]] = [{} for _ in empty]
    for heard in measurements(mechanism, domain, relation, data):
        assert [law for law, _ in heard] == laws, "the noise depends on the records"
        for i, (law, change) in enumerate(heard):
            most[i] = max(most[i], norm(law, change))
            if relation == "replace":
                seen[i][tuple(change.tolist())] = change
    for i, distinct in enumerate(np.array(list(each.values())) for each in seen):
        most[i] = max([most[i], *(norm(laws[i], distinct - row) for row in distinct)])
    return sorted(map(cost, laws, most))


def costs(
    mechanism: Mechanism, domain: Domain, shape: tuple[int, int], relation: str
) -> tuple[list[Fraction], list[Fraction]]:
    """Costs of all measurements, found by brute force and as planned, both in rising order."""
    found = largest_costs(mechanism, domain, relation, centres(domain, shape))
    plan = mechanism.plan(domain, **terms(mechanism, relation))
    return found, sorted(step for step in plan.budget.values() if step)


def declared_is_the_maximum(mechanism: Mechanism, domain: Domain, shape: tuple[int, int], relation: str) -> None:
    """Every measurement costs what is planned for it, exactly."""
    found, planned = costs(mechanism, domain, shape, relation)
    assert found == planned, f"brute force finds {_shown(found)}, the plan says {_shown(planned)}"


def declared_is_an_upper_bound(
    mechanism: Mechanism, domain: Domain, shape: tuple[int, int], relation: str, at_least: float
) -> None:
    """No measurement costs more than planned; together they cost at least a stated share of it."""
    found, planned = costs(mechanism, domain, shape, relation)
    assert len(found) == len(planned)
    assert all(a <= b for a, b in zip(found, planned, strict=True)), f"{_shown(found)} exceeds {_shown(planned)}"
    assert sum(found) >= at_least * sum(planned), f"{_shown(found)} is far below {_shown(planned)}"


def _shown(values: list[Fraction]) -> list[float]:
    return [round(float(value), 6) for value in values]
