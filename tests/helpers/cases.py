"""The one list: every mechanism, in every variant, and the settings it is audited in."""

from __future__ import annotations

from dataclasses import dataclass

import shapely

import spatialdp as sdp
from spatialdp.mechanisms import Mechanism
from spatialdp.space.domain import Domain

TWO_CORNERS = shapely.MultiPolygon([shapely.box(0.05, 0.05, 0.2, 0.2), shapely.box(0.8, 0.8, 0.95, 0.95)])
FIVE_SIDES = shapely.Polygon([(0, 0), (8, 0), (8, 5), (3, 6), (0, 3)])

DOMAINS = {
    "whole": Domain((0, 0, 1, 1)),
    "two corners": Domain((0, 0, 1, 1), region=TWO_CORNERS),
    "five sides": Domain((0, 0, 8, 6), crs="EPSG:4326", region=FIVE_SIDES),
}
RELATIONS = ("add-remove", "replace")
DELTA = 1e-6

BOXES = ((0, 0, 0.5, 1), (0.1, 0.1, 0.3, 0.9), (0, 0.2, 1, 0.3))

CASES: dict[str, Mechanism] = {
    "uniform": sdp.Uniform((8, 6)),
    "uniform, fine": sdp.Uniform((5, 7), law="laplace"),
    "uniform, gaussian": sdp.Uniform((8, 8), law="gaussian"),
    "flat": sdp.Flat((8, 8)),
    "flat, one cell": sdp.Flat((1, 1)),
    "flat, cells by size": sdp.Flat(cell_size=0.125),
    "flat, fine": sdp.Flat((7, 5), law="laplace"),
    "flat, gaussian": sdp.Flat((8, 8), law="gaussian"),
    "flat, truncated": sdp.Flat((6, 9), truncate=2),
    "quadtree": sdp.Quadtree(3),
    "quadtree, root alone": sdp.Quadtree(0),
    "quadtree, uniform": sdp.Quadtree(2, budget="uniform"),
    "quadtree, leaves": sdp.Quadtree(3, budget="leaves"),
    "quadtree, raw": sdp.Quadtree(3, consistent=False),
    "quadtree, raw, fine": sdp.Quadtree(2, consistent=False, law="laplace"),
    "quadtree, weights": sdp.Quadtree(3, budget=(1, 0, 2, 3)),
    "quadtree, gaussian": sdp.Quadtree(3, law="gaussian"),
    "quadtree, pruned": sdp.Quadtree(3, prune=3),
    "quadtree, stop": sdp.Quadtree(4, stop=8),
    "quadtree, stop, weights": sdp.Quadtree(4, stop=4, budget=(1, 0, 1, 1, 2)),
    "quadtree, stop, gaussian": sdp.Quadtree(4, stop=8, law="gaussian"),
    "kd": sdp.KdTree(3),
    "kd, raw": sdp.KdTree(2, consistent=False, budget="uniform"),
    "kd, hybrid, stop": sdp.KdTree(4, data_levels=2, stop=8),
    "kd, midpoints": sdp.KdTree(2, data_levels=0),
    "kd, midpoints, stop": sdp.KdTree(2, data_levels=0, budget=(0, 1, 9), stop=20),
    "kd, pruned": sdp.KdTree(2, prune=2, median_share=0.5),
    "kd, cell": sdp.KdTree(3, median="cell", cells=8, stop=5),
    "kd, noisy mean": sdp.KdTree(3, median="noisy-mean"),
    "kd, smooth": sdp.KdTree(2, median="smooth"),
    "kd, sampled": sdp.KdTree(2, sampling=0.5),
    "kd, fine": sdp.KdTree(3, law="laplace", stop=3),
    "hierarchy": sdp.Hierarchy((12, 8)),
    "hierarchy, raw": sdp.Hierarchy((9, 6), levels=(1, 3), consistent=False),
    "hierarchy, gaussian": sdp.Hierarchy((9, 8), levels=(1, 3), root=True, law="gaussian"),
    "hierarchy, as Hay's": sdp.Hierarchy((8, 8), branching=2, levels="uniform", root=True),
    "hierarchy, as HB": sdp.Hierarchy((11, 7), branching="hb", levels="uniform", law="laplace"),
    "hierarchy, weights": sdp.Hierarchy((8, 8), levels=(1, 2, 4), budget=(3, 0, 1)),
    "hierarchy, for blocks": sdp.Hierarchy((8, 6), workload=(3, 2)),
    "hierarchy, raw, root": sdp.Hierarchy(
        (14, 9), levels=(1, 2, 6), budget=(1, 0, 2, 0.1), root=True, consistent=False
    ),
    "hierarchy, for boxes": sdp.Hierarchy((8, 8), workload=BOXES),
    "wavelet": sdp.Wavelet((8, 5)),
    "wavelet, fine": sdp.Wavelet((4, 7), law="laplace"),
    "wavelet, gaussian": sdp.Wavelet((8, 8), law="gaussian"),
    "wavelet along x": sdp.Wavelet((8, 4), axis="x", budget="optimised"),
    "wavelet along y": sdp.Wavelet((3, 8), axis="y"),
    "wavelet, quadtree": sdp.Wavelet((8, 6), form="quadtree"),
    "wavelet, quadtree, gaussian": sdp.Wavelet((8, 8), form="quadtree", budget="optimised", law="gaussian"),
    "fourier": sdp.Fourier((8, 12)),
    "fourier, gaussian": sdp.Fourier((8, 8), law="gaussian"),
    "fourier, gaussian, dft": sdp.Fourier((6, 7), basis="dft", law="gaussian", selection_share=0.9),
    "fourier, given list": sdp.Fourier(
        (6, 10), basis="dft", candidates=[(2, 2), "marginals"], law="laplace", selection_share=0.4
    ),
    "fourier, given block": sdp.Fourier((12, 8), block=(4, 4)),
    "fourier, given block, dft": sdp.Fourier((7, 6), basis="dft", block=(4, 3)),
    "fourier, whole": sdp.Fourier((6, 4), block=(6, 4)),
    "fourier, cross": sdp.Fourier((8, 8), basis="dft", block=("hyperbolic", 3), law="gaussian"),
    "fourier, marginals": sdp.Fourier((5, 8), block="marginals"),
    "fourier, walsh": sdp.Fourier((8, 8), basis="walsh", block=(4, 8)),
    "fourier, walsh, chosen": sdp.Fourier((8, 6), basis="walsh"),
    "tailored": sdp.Tailored((32, 12)),
    "tailored, fine": sdp.Tailored((16, 8), law="laplace"),
    "tailored, gaussian": sdp.Tailored((12, 32), law="gaussian"),
    "tailored, prefixes": sdp.Tailored((8, 16), workload="prefixes"),
    "tailored, rows": sdp.Tailored((16, 5), workload=("ranges", "cells")),
    "tailored, boxes": sdp.Tailored((16, 8), workload=BOXES),
    "tailored, boxes, gaussian": sdp.Tailored((9, 8), workload=BOXES[:2], law="gaussian"),
    "tailored, marginals": sdp.Tailored((8, 5), workload="marginals"),
    "tailored, trees": sdp.Tailored((64, 64), strategy="trees"),
}


@dataclass(frozen=True)
class Setting:
    """A case on a domain under a relation between neighbours."""

    case: str
    region: str
    relation: str

    @property
    def mechanism(self) -> Mechanism:
        return CASES[self.case]

    @property
    def domain(self) -> Domain:
        return DOMAINS[self.region]

    @property
    def terms(self) -> dict[str, object]:
        return terms(self.mechanism, self.relation)

    def __str__(self) -> str:
        return f"{self.case}, {self.region}, {self.relation}"


def terms(mechanism: Mechanism, relation: str, epsilon: object = 1) -> dict[str, object]:
    """What `release` is asked for: Gaussian noise needs a δ, the others refuse it."""
    gaussian = str(mechanism.law) == "gaussian"
    return {"epsilon": epsilon, "delta": DELTA if gaussian else 0, "neighbours": relation}


def possible(case: str, region: str, relation: str) -> bool:
    """Whether the mechanism takes the setting; what it refuses is tested with the mechanism."""
    if case in ("flat, one cell", "quadtree, root alone") and region == "two corners":
        return False  # the only cell's centre is outside
    return not (case == "kd, sampled" and relation == "replace")


SETTINGS = [
    Setting(case, region, relation)
    for case in CASES
    for region in DOMAINS
    for relation in RELATIONS
    if possible(case, region, relation)
]
