"""The one list: every mechanism, in every variant, and the settings it is audited in.

A test asks for a selection, `select(SMALL, is_tree, is_consistent)`, and keeps no list of its own. So a mechanism that
enters the list is met by all tests that it belongs to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import pytest
import shapely
from _pytest.mark import ParameterSet

import spatialdp as sdp
from spatialdp.mechanisms import Mechanism
from spatialdp.space.domain import Domain
from spatialdp.transforms.spectral import padded

T = TypeVar("T")

TWO_CORNERS = shapely.MultiPolygon([shapely.box(0.05, 0.05, 0.2, 0.2), shapely.box(0.8, 0.8, 0.95, 0.95)])
FIVE_SIDES = shapely.Polygon([(0, 0), (8, 0), (8, 5), (3, 6), (0, 3)])

DOMAINS = {
    "whole": Domain((0, 0, 1, 1)),
    "two corners": Domain((0, 0, 1, 1), region=TWO_CORNERS, region_cells="centres"),
    "five sides": Domain((0, 0, 8, 6), crs="EPSG:4326", region=FIVE_SIDES),
}
RELATIONS = ("add-remove", "replace")
DELTA = 1e-6

BOXES = ((0, 0, 0.5, 1), (0.1, 0.1, 0.3, 0.9), (0, 0.2, 1, 0.3))


@dataclass(frozen=True)
class Variant:
    """A mechanism with parameters that matter, in one or two sizes.

    Attributes
    ----------
    small : Mechanism, optional
        A few dozen cells, for what is worked out cell by cell: the audit, dense algebra.
    large : Mechanism, optional
        As many cells as a map has, for what a reader sees: pages, pictures, errors to expect.
    """

    small: Mechanism | None = None
    large: Mechanism | None = None


# The audit's own, in its order: seeds of the fingerprint are numbered by it, so new ones come last.
AUDITED = {
    "uniform": Variant(sdp.Uniform((8, 6)), sdp.Uniform((16, 12))),
    "uniform, fine": Variant(sdp.Uniform((5, 7), law="laplace")),
    "uniform, gaussian": Variant(sdp.Uniform((8, 8), law="gaussian")),
    "flat": Variant(sdp.Flat((8, 8)), sdp.Flat((37, 29))),
    "flat, one cell": Variant(sdp.Flat((1, 1)), sdp.Flat((1, 1))),
    "flat, cells by size": Variant(sdp.Flat(cell_size=0.125)),
    "flat, fine": Variant(sdp.Flat((7, 5), law="laplace"), sdp.Flat((16, 12), law="laplace")),
    "flat, gaussian": Variant(sdp.Flat((8, 8), law="gaussian"), sdp.Flat((16, 12), law="gaussian")),
    "flat, truncated": Variant(sdp.Flat((6, 9), truncate=2), sdp.Flat((16, 12), truncate=2)),
    "quadtree": Variant(sdp.Quadtree(3), sdp.Quadtree(5)),
    "quadtree, root alone": Variant(sdp.Quadtree(0), sdp.Quadtree(0)),
    "quadtree, uniform": Variant(sdp.Quadtree(2, budget="uniform")),
    "quadtree, leaves": Variant(sdp.Quadtree(3, budget="leaves")),
    "quadtree, raw": Variant(sdp.Quadtree(3, consistent=False), sdp.Quadtree(5, consistent=False)),
    "quadtree, raw, fine": Variant(sdp.Quadtree(2, consistent=False, law="laplace")),
    "quadtree, weights": Variant(sdp.Quadtree(3, budget=(1, 0, 2, 3)), sdp.Quadtree(4, budget=(1, 0, 1, 0, 1))),
    "quadtree, gaussian": Variant(sdp.Quadtree(3, law="gaussian")),
    "quadtree, pruned": Variant(sdp.Quadtree(3, prune=3), sdp.Quadtree(5, prune=20)),
    "quadtree, stop": Variant(sdp.Quadtree(4, stop=8), sdp.Quadtree(4, stop=15)),
    "quadtree, stop, weights": Variant(sdp.Quadtree(4, stop=4, budget=(1, 0, 1, 1, 2))),
    "quadtree, stop, gaussian": Variant(sdp.Quadtree(4, stop=8, law="gaussian")),
    "kd": Variant(sdp.KdTree(3), sdp.KdTree(4)),
    "kd, raw": Variant(sdp.KdTree(2, consistent=False, budget="uniform"), sdp.KdTree(3, consistent=False)),
    "kd, hybrid, stop": Variant(sdp.KdTree(4, data_levels=2, stop=8)),
    "kd, midpoints": Variant(sdp.KdTree(2, data_levels=0)),
    "kd, midpoints, stop": Variant(sdp.KdTree(2, data_levels=0, budget=(0, 1, 9), stop=20)),
    "kd, pruned": Variant(sdp.KdTree(2, prune=2, median_share=0.5), sdp.KdTree(5, prune=10)),
    "kd, cell": Variant(sdp.KdTree(3, median="cell", cells=8, stop=5)),
    "kd, noisy mean": Variant(sdp.KdTree(3, median="noisy-mean")),
    "kd, smooth": Variant(sdp.KdTree(2, median="smooth")),
    "kd, sampled": Variant(sdp.KdTree(2, sampling=0.5)),
    "kd, fine": Variant(sdp.KdTree(3, law="laplace", stop=3)),
    "hierarchy": Variant(sdp.Hierarchy((12, 8)), sdp.Hierarchy((37, 29))),
    "hierarchy, raw": Variant(sdp.Hierarchy((9, 6), levels=(1, 3), consistent=False)),
    "hierarchy, gaussian": Variant(
        sdp.Hierarchy((9, 8), levels=(1, 3), root=True, law="gaussian"), sdp.Hierarchy((32, 32), law="gaussian")
    ),
    "hierarchy, as Hay's": Variant(sdp.Hierarchy((8, 8), branching=2, levels="uniform", root=True)),
    "hierarchy, as HB": Variant(sdp.Hierarchy((11, 7), branching="hb", levels="uniform", law="laplace")),
    "hierarchy, weights": Variant(sdp.Hierarchy((8, 8), levels=(1, 2, 4), budget=(3, 0, 1))),
    "hierarchy, for blocks": Variant(sdp.Hierarchy((8, 6), workload=(3, 2))),
    "hierarchy, raw, root": Variant(
        sdp.Hierarchy((14, 9), levels=(1, 2, 6), budget=(1, 0, 2, 0.1), root=True, consistent=False)
    ),
    "hierarchy, for boxes": Variant(sdp.Hierarchy((8, 8), workload=BOXES)),
    "wavelet": Variant(sdp.Wavelet((8, 5)), sdp.Wavelet((37, 29))),
    "wavelet, fine": Variant(sdp.Wavelet((4, 7), law="laplace")),
    "wavelet, gaussian": Variant(sdp.Wavelet((8, 8), law="gaussian")),
    "wavelet along x": Variant(sdp.Wavelet((8, 4), axis="x", budget="optimised")),
    "wavelet along y": Variant(sdp.Wavelet((3, 8), axis="y")),
    "wavelet, quadtree": Variant(sdp.Wavelet((8, 6), form="quadtree"), sdp.Wavelet((100, 9), form="quadtree")),
    "wavelet, quadtree, gaussian": Variant(sdp.Wavelet((8, 8), form="quadtree", budget="optimised", law="gaussian")),
    "fourier": Variant(sdp.Fourier((8, 12))),
    "fourier, gaussian": Variant(sdp.Fourier((8, 8), law="gaussian")),
    "fourier, gaussian, dft": Variant(sdp.Fourier((6, 7), basis="dft", law="gaussian", selection_share=0.9)),
    "fourier, given list": Variant(
        sdp.Fourier((6, 10), basis="dft", candidates=[(2, 2), "marginals"], law="laplace", selection_share=0.4)
    ),
    "fourier, given block": Variant(sdp.Fourier((12, 8), block=(4, 4)), sdp.Fourier((16, 12), block=(4, 4))),
    "fourier, given block, dft": Variant(sdp.Fourier((7, 6), basis="dft", block=(4, 3))),
    "fourier, whole": Variant(sdp.Fourier((6, 4), block=(6, 4)), sdp.Fourier((16, 12), block=(16, 12))),
    "fourier, cross": Variant(sdp.Fourier((8, 8), basis="dft", block=("hyperbolic", 3), law="gaussian")),
    "fourier, marginals": Variant(sdp.Fourier((5, 8), block="marginals")),
    "fourier, walsh": Variant(sdp.Fourier((8, 8), basis="walsh", block=(4, 8))),
    "fourier, walsh, chosen": Variant(sdp.Fourier((8, 6), basis="walsh")),
    "tailored": Variant(sdp.Tailored((32, 12)), sdp.Tailored((64, 32))),
    "tailored, fine": Variant(sdp.Tailored((16, 8), law="laplace")),
    "tailored, gaussian": Variant(sdp.Tailored((12, 32), law="gaussian"), sdp.Tailored((32, 32), law="gaussian")),
    "tailored, prefixes": Variant(sdp.Tailored((8, 16), workload="prefixes")),
    "tailored, rows": Variant(sdp.Tailored((16, 5), workload=("ranges", "cells"))),
    "tailored, boxes": Variant(sdp.Tailored((16, 8), workload=BOXES)),
    "tailored, boxes, gaussian": Variant(sdp.Tailored((9, 8), workload=BOXES[:2], law="gaussian")),
    "tailored, marginals": Variant(sdp.Tailored((8, 5), workload="marginals")),
    "tailored, trees": Variant(sdp.Tailored((64, 64), strategy="trees"), sdp.Tailored((64, 32), strategy="trees")),
    "adaptive": Variant(sdp.Adaptive((8, 8)), sdp.Adaptive((40, 24))),
    "adaptive, unbiased": Variant(
        sdp.Adaptive((6, 9), estimate="unbiased"), sdp.Adaptive((32, 32), estimate="unbiased")
    ),
    "adaptive, fine": Variant(sdp.Adaptive((8, 6), law="laplace")),
    "adaptive, gaussian": Variant(sdp.Adaptive((8, 8), law="gaussian")),
}

# Shapes and combinations that the audit has others like, but some test or other is about.
OTHERS = {
    "quadtree, high": Variant(large=sdp.Quadtree(7)),
    "quadtree, no root": Variant(sdp.Quadtree(3, budget=(0, 1, 0, 2))),
    "quadtree, raw, uniform": Variant(sdp.Quadtree(2, budget="uniform", consistent=False)),
    "quadtree, raw, weights": Variant(
        sdp.Quadtree(3, budget=(1, 0, 2, 3), consistent=False),
        sdp.Quadtree(4, budget=(1, 0, 1, 0, 1), consistent=False),
    ),
    "quadtree, raw, stop": Variant(
        sdp.Quadtree(4, stop=8, budget=(1, 0, 1, 1, 1), consistent=False),
        sdp.Quadtree(5, stop=20, budget=(1, 0, 1, 1, 1, 1), consistent=False),
    ),
    "kd, hybrid": Variant(sdp.KdTree(4, data_levels=2)),
    "kd, stop": Variant(sdp.KdTree(4, stop=15), sdp.KdTree(4, stop=15)),
    "kd, cell, unstopped": Variant(sdp.KdTree(3, median="cell", cells=16)),
    "kd, cell, hybrid": Variant(sdp.KdTree(4, median="cell", cells=16, data_levels=1)),
    "kd, fine, unstopped": Variant(sdp.KdTree(3, law="laplace")),
    "hierarchy, whole blocks": Variant(sdp.Hierarchy((12, 12), levels=(1, 2, 6))),
    "hierarchy, odd": Variant(sdp.Hierarchy((7, 7), levels=(1, 2, 4), budget=(3, 2, 1))),
    "hierarchy, root": Variant(sdp.Hierarchy((9, 4), levels=(1, 3), root=True)),
    "hierarchy, unmeasured": Variant(sdp.Hierarchy((9, 5), levels=(1, 2, 4), budget=(1, 0, 2))),
    "hierarchy, row": Variant(sdp.Hierarchy((11, 1), branching=2, levels="uniform", root=True)),
    "hierarchy, column": Variant(sdp.Hierarchy((1, 6), branching=3, levels="uniform")),
    "hierarchy, thirds, raw": Variant(sdp.Hierarchy((9, 6), branching=3, levels="uniform", consistent=False)),
    "hierarchy, as HB, whole": Variant(sdp.Hierarchy((10, 10), branching="hb", levels="uniform")),
    "hierarchy, cells alone": Variant(sdp.Hierarchy((40, 3), levels=(1,))),
    "hierarchy, for cells": Variant(sdp.Hierarchy((6, 6), workload="cells")),
    "hierarchy, fine": Variant(sdp.Hierarchy((5, 5), law="laplace", levels=(1, 2))),
    "hierarchy, one cell": Variant(sdp.Hierarchy((1, 1), root=True)),
    "hierarchy, many cells": Variant(large=sdp.Hierarchy((200, 150))),
    "wavelet, optimised": Variant(sdp.Wavelet((8, 8), budget="optimised"), sdp.Wavelet((32, 32), budget="optimised")),
    "wavelet along x, uniform": Variant(sdp.Wavelet((8, 4), axis="x"), sdp.Wavelet((37, 29), axis="x")),
    "wavelet along y, optimised": Variant(sdp.Wavelet((3, 8), axis="y", budget="optimised")),
    "fourier, whole, dft": Variant(
        sdp.Fourier((7, 6), basis="dft", block=(7, 6)), sdp.Fourier((16, 12), basis="dft", block=(16, 12))
    ),
    "fourier, whole, walsh": Variant(
        sdp.Fourier((6, 4), basis="walsh", block=(8, 4)), sdp.Fourier((16, 12), basis="walsh", block=(16, 16))
    ),
    "tailored, trees, rows": Variant(sdp.Tailored((16, 8), strategy="trees", workload=("ranges", "total"))),
}

# Lists of few places, which have no number for most cells: `tests/audit/test_sparse.py` audits them.
LISTED: dict[str, Mechanism] = {
    "sparse": sdp.Sparse((8, 8)),
    "sparse, slides": sdp.Sparse((8, 6), remeasure=0),
    "sparse, lattice": sdp.Sparse((2**30, 2**30), false=3),
    "sparse, half": sdp.Sparse((12, 8), false=20, remeasure=0.5),
    "sparse, cells by size": sdp.Sparse(cell_size=0.125, false=0.1),
}

# Lists over maps: `tests/audit/test_sparse_map.py` audits them.
OVER_MAPS: dict[str, Mechanism] = {
    "list over map": sdp.SparseMap((8, 8), blocks=(4, 2), false=4),
    "list over levels": sdp.SparseMap((16, 8), blocks=(8, 8), share=0.25, remeasure=0.5, false=9),
    "list over map, lattice": sdp.SparseMap((2**30, 2**30), blocks=(2, 2), false=3),
}

VARIANTS = AUDITED | OTHERS
CASES: dict[str, Mechanism] = {name: variant.small for name, variant in AUDITED.items() if variant.small is not None}
SMALL: dict[str, Mechanism] = {name: variant.small for name, variant in VARIANTS.items() if variant.small is not None}
LARGE: dict[str, Mechanism] = {name: variant.large for name, variant in VARIANTS.items() if variant.large is not None}
# The first of each kind, by the name that it has on the command line.
ONE_OF_EACH: dict[str, Mechanism] = {}
for _mechanism in CASES.values():
    ONE_OF_EACH.setdefault(_mechanism.name, _mechanism)


# --- selections ------------------------------------------------------------------------------------


def by_turns(cases: Mapping[str, Mechanism], options: Sequence[T]) -> list[tuple[str, T]]:
    """Every case with one of the options, in turn, and the first case of each mechanism with all of them."""
    first = {mechanism.name: name for name, mechanism in reversed(cases.items())}.values()
    return [
        (name, option)
        for turn, name in enumerate(cases)
        for place, option in enumerate(options)
        if name in first or turn % len(options) == place
    ]


def in_turn(cases: Mapping[str, Mechanism], options: Sequence[T]) -> list[ParameterSet]:
    """All pairs of a case and an option as parameters of a test; those that are not in `by_turns` run in the audit."""
    daily = by_turns(cases, options)
    pairs = [(name, option) for name in cases for option in options]
    return [pytest.param(*pair, marks=() if pair in daily else pytest.mark.audit) for pair in pairs]


def select(variants: Mapping[str, Mechanism], *wanted: Callable[[Mechanism], bool]) -> dict[str, Mechanism]:
    """Those variants that have all the properties wanted, which are the functions below."""
    return {name: mechanism for name, mechanism in variants.items() if all(has(mechanism) for has in wanted)}


def is_tree(mechanism: Mechanism) -> bool:
    """Whether a release is a tree, and not a grid."""
    if isinstance(mechanism, sdp.Adaptive):
        return mechanism.estimate == "unbiased"
    return isinstance(mechanism, sdp.Quadtree | sdp.KdTree | sdp.Hierarchy)


def is_grid(mechanism: Mechanism) -> bool:
    """Whether a release is a grid, and neither a tree nor a field."""
    return not is_tree(mechanism) and not isinstance(mechanism, sdp.Adaptive)


def has_least_squares(mechanism: Mechanism) -> bool:
    """Whether a tree is fitted by least squares, and not with weights that were fixed beforehand."""
    return is_tree(mechanism) and not isinstance(mechanism, sdp.Adaptive)


def is_hierarchy(mechanism: Mechanism) -> bool:
    return isinstance(mechanism, sdp.Hierarchy)


def is_kd_tree(mechanism: Mechanism) -> bool:
    return isinstance(mechanism, sdp.KdTree)


def is_adaptive(mechanism: Mechanism) -> bool:
    """Whether records or noise decide on the areas that are counted."""
    return isinstance(mechanism, sdp.KdTree | sdp.Adaptive)


def is_consistent(mechanism: Mechanism) -> bool:
    """Whether the estimates of a tree add up; those of a grid always do."""
    return bool(getattr(mechanism, "consistent", True))


def is_complete(mechanism: Mechanism) -> bool:
    """Whether no node of a tree is left out for being small."""
    return getattr(mechanism, "stop", None) is None and getattr(mechanism, "prune", None) is None


def is_unbiased(mechanism: Mechanism) -> bool:
    """Whether errors average out: no count is truncated, no tree stopped on the way, no frequency left out."""
    whole = not isinstance(mechanism, sdp.Fourier) or mechanism.block == _whole_block(mechanism, mechanism.shape)
    return whole and getattr(mechanism, "stop", None) is None and getattr(mechanism, "truncate", None) is None


def is_foreseeable(mechanism: Mechanism) -> bool:
    """Whether the error of every answer is known before a record is read."""
    return is_unbiased(mechanism) and is_complete(mechanism) and not is_adaptive(mechanism)


def is_pure(mechanism: Mechanism) -> bool:
    """Whether its noise is discrete Laplace noise: whole numbers, δ = 0."""
    return str(mechanism.law) == "discrete-laplace"


def has_few_cells(mechanism: Mechanism) -> bool:
    """Whether there is more than one cell, but few enough to be looked at one by one in a dense matrix."""
    if hasattr(mechanism, "height"):
        return 1 < 4**mechanism.height <= 400
    return mechanism.shape is not None and 1 < mechanism.shape[0] * mechanism.shape[1] <= 400


def fits_any_domain(mechanism: Mechanism) -> bool:
    """Whether no parameter is in the coordinates of one domain: neither a cell's size nor boxes to be good at."""
    by_shape = getattr(mechanism, "cell_size", None) is None
    return by_shape and isinstance(getattr(mechanism, "workload", None), str | tuple | None)


def has_several_counts(mechanism: Mechanism) -> bool:
    """Whether more than one number is measured, so that errors of different boxes differ."""
    return not isinstance(mechanism, sdp.Uniform) and mechanism not in (sdp.Flat((1, 1)), sdp.Quadtree(0))


def fits_any_shape(mechanism: Mechanism) -> bool:
    """Whether `of_shape` can say the same of other grids: no parameter is a list of numbers for one of them."""
    if isinstance(mechanism, sdp.Fourier):
        return is_unbiased(mechanism)  # all frequencies there are, however many
    sized = [getattr(mechanism, name, None) for name in ("budget", "levels")]
    if isinstance(mechanism, sdp.Hierarchy):
        sized.append(mechanism.workload)
    by_shape = not is_kd_tree(mechanism) and getattr(mechanism, "cell_size", None) is None
    return by_shape and not any(isinstance(value, tuple) for value in sized)


def of_shape(mechanism: Mechanism, shape: tuple[int, int]) -> Mechanism | None:
    """The same variant on another grid; None if it has none of that shape."""
    if isinstance(mechanism, sdp.Quadtree):
        height = shape[0].bit_length() - 1
        return replace(mechanism, height=height) if shape == (2**height, 2**height) else None
    if isinstance(mechanism, sdp.Fourier):
        return replace(mechanism, shape=shape, block=_whole_block(mechanism, shape))
    return replace(mechanism, shape=shape)


def _whole_block(mechanism: sdp.Fourier, shape: tuple[int, int]) -> tuple[int, ...]:
    """All frequencies of a grid."""
    return tuple(padded(mechanism.basis, size) for size in shape)


# --- settings --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Setting:
    """A case on a domain under a relation between neighbours, which differ by a record, or by a person with a bound."""

    case: str
    region: str
    relation: str
    person: sdp.Person | None = None

    @property
    def mechanism(self) -> Mechanism:
        return (CASES | LISTED | OVER_MAPS)[self.case]

    @property
    def domain(self) -> Domain:
        return DOMAINS[self.region]

    @property
    def terms(self) -> dict[str, object]:
        person = {} if self.person is None else {"person": self.person}
        return terms(self.mechanism, self.relation) | person

    def __str__(self) -> str:
        person = "" if self.person is None else f", {self.person.in_short()}"
        return f"{self.case}, {self.region}, {self.relation}{person}"


def terms(mechanism: Mechanism, relation: str, epsilon: object = 1) -> dict[str, object]:
    """What `release` is asked for: Gaussian noise needs a δ, the others refuse it."""
    gaussian = str(mechanism.law) == "gaussian"
    return {"epsilon": epsilon, "delta": DELTA if gaussian else 0, "neighbours": relation}


def possible(case: str, region: str, relation: str, person: sdp.Person | None = None) -> bool:
    """Whether the mechanism takes the setting; what it refuses is tested with the mechanism."""
    if case in ("kd, smooth", "kd, noisy mean", "kd, sampled") and person is not None and person.shares:
        return False  # their lines need whole records
    if case in ("flat, one cell", "quadtree, root alone") and region == "two corners":
        return False  # the only cell's centre is outside
    return not (case == "kd, sampled" and relation == "replace")


# A bound of each kind, and choices of both kinds. Large boxes and a large share make the choice a close one, although
# the audit has few persons.
CLOSE = sdp.Chosen(share=0.5, candidates=(1, 2, 4, 30), area=1)
PERSONS = (
    sdp.Person(records=3),
    sdp.Person(cells=3),
    sdp.Person(shares=True),
    sdp.Person(cells=CLOSE),
    sdp.Person(records=CLOSE),
)


SETTINGS = [
    Setting(case, region, relation)
    for case in CASES
    for region in DOMAINS
    for relation in RELATIONS
    if possible(case, region, relation)
]

LISTED_SETTINGS = [
    Setting(case, region, relation)
    for case in LISTED
    for region in DOMAINS
    for relation in RELATIONS
    if case != "sparse, cells by size" or region != "two corners"
]

LISTED_PERSON_SETTINGS = [
    Setting(case, "whole", relation, person)
    for case in ("sparse", "sparse, lattice")
    for person in PERSONS
    if person.choice is None  # a chosen bound is refused
    for relation in RELATIONS
]
OVER_MAP_SETTINGS = [
    Setting(case, region, relation)
    for case in OVER_MAPS
    for region in DOMAINS
    for relation in RELATIONS
    if case == "list over levels" or region != "two corners"  # larger blocks have no centre there
]

OVER_MAP_PERSON_SETTINGS = [
    Setting(case, region, relation, person)
    for case, region in zip(OVER_MAPS, ("whole", "five sides", "whole"), strict=True)
    for person in PERSONS
    if person.choice is None  # a chosen bound is refused
    for relation in RELATIONS
]

# Every case with one bound on persons, in turn, and the first case of each mechanism with all of them; regions and
# relations in turn, too.
PERSON_SETTINGS = [
    Setting(case, region, relation, person)
    for turn, (case, person) in enumerate(by_turns(CASES, PERSONS))
    for region, relation in [(list(DOMAINS)[turn // 2 % len(DOMAINS)], RELATIONS[turn % len(RELATIONS)])]
    if possible(case, region, relation, person)
]
