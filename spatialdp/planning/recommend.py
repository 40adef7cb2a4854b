"""Which mechanism should be chosen, before a record is read? The one with the least error to expect.

Everything here is computed from public parameters and must not read a record. Without a guess of the number of records,
only the error of noise is known, for mechanisms whose cells are public. With a guess, errors of uneven spread are
foreseen too, as they are on typical maps, and so are adaptive trees and the best size of cells.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy.typing as npt

from spatialdp._support.arrays import Floats
from spatialdp._support.checks import whole_pair
from spatialdp.errors import DomainError
from spatialdp.mechanisms import Adaptive, Flat, Hierarchy, Mechanism, Quadtree, Tailored, Wavelet
from spatialdp.mechanisms.fixed.tailored import LONGEST
from spatialdp.mechanisms.fixed.wavelet import ScaleBudget
from spatialdp.planning.queries import boxes_of, guessed_records
from spatialdp.planning.typical_map import NOISE_ALONE, assumption, tree_shape, typical_error
from spatialdp.privacy.budget import Budget, Number
from spatialdp.privacy.neighbours import Neighbours
from spatialdp.privacy.noise.laws import Law
from spatialdp.privacy.unit import Person
from spatialdp.space.domain import Domain
from spatialdp.workload import Workload

__all__ = ["SIZES", "Recommendation", "plain_mechanisms", "recommend"]

Shape = tuple[int, int]

DEFAULT = (256, 256)
SIZES = [(2**k, 2**k) for k in range(11)]  # that are tried if a guess of the records is given and no shape


@dataclass(frozen=True)
class Recommendation:
    """A mechanism and the error to expect from it.

    Attributes
    ----------
    mechanism : Mechanism
    error : float
        Root-mean-square error to expect in the workload's boxes. With a guess of the number of records it is that of
        noise and of uneven spread, on a typical map; without, that of the noise alone.
    assumed : str
        What the error assumes about the records, in words.

    Examples
    --------
    >>> best = recommend(Domain((0, 0, 1, 1)), epsilon=1, records=20_000)[0]
    >>> best.mechanism.name, best.assumed
    ('adaptive', '20,000 records, spread as unevenly as those of the data sets that come with spatialdp')
    """

    mechanism: Mechanism
    error: float
    assumed: str = NOISE_ALONE


def recommend(
    domain: Domain,
    epsilon: Number,
    workload: Workload | npt.ArrayLike | None = None,
    *,
    shape: Sequence[int] | None = None,
    records: float | None = None,
    delta: Number = 0,
    neighbours: str = Neighbours.ADD_REMOVE,
    person: Person | None = None,
) -> list[Recommendation]:
    """Rank mechanisms by the error to expect, best first.

    Parameters
    ----------
    domain : Domain
    epsilon : int, float, Decimal or Fraction
    workload : Workload or (m, 4) array-like of boxes, optional
        The queries that matter; any box by default. With a workload, `Tailored` and `Hierarchy` are also
        considered in forms that are optimised for these boxes.
    shape : (nx, ny), optional
        Number of columns and rows that a release should have. By default 256 x 256; with `records`, the
        number from 1 x 1 to 1024 x 1024 that is best for each mechanism.
    records : float, optional
        A public guess of the number of records; with `person`, of what is counted (`Person.counted`): records that
        the bound keeps, presences, or persons. With it, `Adaptive`, which `publish` uses, is ranked too, and
        errors are those of noise and of uneven spread together. Without it, the error of an adaptive tree
        cannot be foreseen: mechanisms with a public grid are ranked by the error of their noise.
    delta : optional
        If given, Gaussian noise is considered as well.
    neighbours : {"add-remove", "replace"}
    person : Person, optional
        The bound on what one person contributes, if persons are protected rather than records; as for `release`.
        Noise is that of the bound. What it cuts off depends on the records and is not foreseen, so errors of
        different bounds are not to be compared; `evaluate` measures both, on public data.

    Returns
    -------
    list of Recommendation
        Best first. Each mechanism can be used as it is, with the δ if its noise is Gaussian:
        ``recommend(...)[0].mechanism.release(points, domain, ...)``.

    Privacy
    -------
    No record is read and nothing is spent. The guess must be public, such as the size of last year's release or a
    number of inhabitants; never count the records for it. A wrong guess costs accuracy, never privacy: the mechanism
    that is recommended does not know the guess.

    Notes
    -----
    Without a workload this takes a few seconds. With a workload, `Tailored` is optimised for
    the boxes, which takes up to half a minute for a few hundred columns and rows. The result is kept in the
    user's cache folder; a second call, and the release, are then quick.

    How uneven typical maps are was measured on the data sets that come with spatialdp; ``docs/design/planning.md``
    has the laws. `KdTree`, `Fourier` and `Uniform` are not ranked.

    Examples
    --------
    >>> best, *others = recommend(Domain((0, 0, 1, 1)), epsilon=1, shape=(64, 64))
    >>> best.error <= min(other.error for other in others)
    True
    >>> recommend(Domain((0, 0, 1, 1)), epsilon=0.1, records=100_000)[0].mechanism
    Adaptive(shape=(256, 256), ...)
    """
    question = _Question(
        domain, boxes_of(domain, workload), guessed_records(records), epsilon, delta, neighbours, person
    )
    given = None if shape is None else whole_pair(shape, "shape")
    laws = [Law.DISCRETE_LAPLACE, *([Law.GAUSSIAN] if Budget(1, delta).delta else [])]
    ranked = [each for law in laws for each in _candidates(question, law, given, fitted=workload is not None)]
    # Of equally good mechanisms the simplest comes first, whatever the last digits of their errors.
    return sorted(ranked, key=lambda recommendation: float(f"{recommendation.error:.9g}"))


@dataclass(frozen=True)
class _Question:
    """What is asked about each mechanism: its error in these boxes, under these terms."""

    domain: Domain
    boxes: Floats
    records: float | None
    epsilon: Number
    delta: Number
    neighbours: str
    person: Person | None

    def judge(self, mechanism: Mechanism) -> Recommendation:
        """The mechanism, with its error."""
        terms = self._terms(mechanism.law)
        if self.records is None:
            return Recommendation(mechanism, mechanism.expected_error(self.domain, self.boxes, **terms))
        error = typical_error(mechanism, self.domain, self.boxes, self.records, **terms)
        return Recommendation(mechanism, error, assumption(self.records, self.person))

    def tree(self, law: Law, shape: Shape | None) -> Recommendation:
        """An adaptive tree on the given grid, or on one that is fine enough."""
        assert self.records is not None
        plan = Adaptive(law=law).prepare(self.domain, **self._terms(law)).plan
        best = tree_shape(self.domain, self.boxes, self.records, plan.standard_deviation)
        return self.judge(Adaptive(shape or best, law=law))

    def _terms(self, law: Law) -> dict[str, Any]:
        """What a release with this law is given; only Gaussian noise takes a δ."""
        return {
            "epsilon": self.epsilon,
            "delta": self.delta if law is Law.GAUSSIAN else 0,
            "neighbours": self.neighbours,
            "person": self.person,
        }

    def without_region(self) -> _Question:
        """The same question about the whole domain, if records were as dense there as they are in the region."""
        if self.domain.region is None or self.records is None:
            return self
        grid = self.domain.grid(DEFAULT)
        records = self.records * math.prod(DEFAULT) / max(grid.n_cells, 1)
        return replace(self, domain=Domain(self.domain.bounds, crs=self.domain.crs), records=records)


def _candidates(question: _Question, law: Law, shape: Shape | None, *, fitted: bool) -> Iterator[Recommendation]:
    """Mechanisms with one law of noise, each with cells of the given size or of its best size; simple ones first."""
    if shape is None and question.records is not None:
        plain = _best_sizes(question, law)
    else:
        plain = {kind: question.judge(mechanism) for kind, mechanism in plain_mechanisms(shape or DEFAULT, law)}
    if question.records is not None:
        yield question.tree(law, shape)
    yield from plain.values()
    for kind in ("hierarchy", "tailored") if fitted else ():  # at the size that is best without fitting, to save time
        if kind in plain:
            yield question.judge(replace(plain[kind].mechanism, workload=question.boxes))  # type: ignore[type-var]


def _best_sizes(question: _Question, law: Law) -> dict[str, Recommendation]:
    """Each mechanism with the cells for which its error is least.

    Sizes are compared without the region, which is much faster: noise and records are as dense as in the region.
    """
    best: dict[str, Recommendation] = {}
    without = question.without_region()
    for shape in SIZES:
        for kind, mechanism in plain_mechanisms(shape, law):
            found = without.judge(mechanism)
            if kind not in best or found.error < best[kind].error:
                best[kind] = found
    return best if without is question else _in_region(question, best)


def _in_region(question: _Question, best: dict[str, Recommendation]) -> dict[str, Recommendation]:
    """The same mechanisms, judged in the region; without those none of whose cells lies there."""
    judged = {}
    for kind, each in best.items():
        with suppress(DomainError):  # no cell of this size has its centre in the region
            judged[kind] = question.judge(each.mechanism)
    return judged


def plain_mechanisms(shape: Shape, law: Law) -> Iterator[tuple[str, Mechanism]]:
    """Mechanisms with a public structure that are not fitted to boxes, simple ones first."""
    nx, ny = shape
    yield "flat", Flat(shape, law=law)
    yield "wavelet", Wavelet(shape, law=law, budget=ScaleBudget.OPTIMISED)
    yield "hierarchy", Hierarchy(shape, law=law)
    yield "hierarchy for cells", Hierarchy(shape, law=law, workload="cells")
    if max(shape) <= LONGEST:
        yield "tailored", Tailored(shape, law=law)
    if nx == ny and nx.bit_count() == 1:
        yield "quadtree", Quadtree(nx.bit_length() - 1, law=law)
