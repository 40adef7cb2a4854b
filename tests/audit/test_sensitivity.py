"""Are declared sensitivities the largest changes that a record can make? Every cell is tried.

`tight` lists the cases in which the declared value is only an upper bound.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

import spatialdp as sdp
from spatialdp.mechanisms import Mechanism
from tests.audit.sensitivity import declared_is_an_upper_bound, declared_is_the_maximum
from tests.helpers.cases import CASES, DOMAINS, RELATIONS, possible


def public(mechanism: Mechanism) -> bool:
    """Whether the measurements are fixed before the records are read."""
    steps = mechanism.plan(DOMAINS["whole"], epsilon=1, delta=1e-6 if str(mechanism.law) == "gaussian" else 0).budget
    chooses = any(word in step for step in steps for word in ("line", "choice"))
    return getattr(mechanism, "stop", None) is None and not chooses


def shape_of(mechanism: Mechanism, domain: sdp.Domain) -> tuple[int, int]:
    """Return the shape of the finest cells that a mechanism can distinguish."""
    if hasattr(mechanism, "height"):
        return 2**mechanism.height, 2**mechanism.height
    return domain.grid(mechanism.shape, cell_size=getattr(mechanism, "cell_size", None)).shape


PUBLIC = [name for name, mechanism in CASES.items() if public(mechanism)]
SMALL = [name for name in PUBLIC if name != "tailored, trees"]  # tested below, among the large ones


def tight(name: str, region: str, relation: str) -> float | None:
    """Return the share of the declared cost that must be reached; None if it must be reached exactly.

    An added or removed record must reach it exactly. Under replace, some sensitivities are upper bounds, for pairs of
    cells that need not exist: for waves, for Gaussian windows, which overlap a little, and for wavelets in a region
    that may lack the two cells with the largest change together.
    """
    mechanism = CASES[name]
    if relation == "add-remove":
        return None
    if mechanism.name == "fourier" and str(mechanism.basis) != "walsh":
        return 0.3
    if mechanism.name == "tailored" and str(mechanism.law) == "gaussian":
        return 0.999
    return 0.79 if name.startswith("wavelet") and region == "two corners" else None


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("region", ["whole", "two corners", "five sides"])
@pytest.mark.parametrize("name", SMALL)
def test_declared_is_the_maximum(name, region, relation):
    if not possible(name, region, relation) or (region == "five sides" and relation == "replace"):
        return
    mechanism, domain, share = CASES[name], DOMAINS[region], tight(name, region, relation)
    if share is None:
        declared_is_the_maximum(mechanism, domain, shape_of(mechanism, domain), relation)
    else:
        declared_is_an_upper_bound(mechanism, domain, shape_of(mechanism, domain), relation, share)


LARGE = {
    "uniform": sdp.Uniform((64, 64)),
    "flat": sdp.Flat((64, 64)),
    "flat, gaussian": sdp.Flat((64, 64), law="gaussian"),
    "quadtree": sdp.Quadtree(6),
    "hierarchy": sdp.Hierarchy((64, 64)),
    "wavelet": sdp.Wavelet((64, 64)),
    "wavelet, quadtree": sdp.Wavelet((64, 64), form="quadtree"),
    "wavelet, quadtree, gaussian": sdp.Wavelet((64, 64), form="quadtree", law="gaussian"),
    "fourier": sdp.Fourier((64, 64), block=(8, 8)),
    "fourier, dft, gaussian": sdp.Fourier((64, 64), basis="dft", block=("hyperbolic", 4), law="gaussian"),
    "fourier, walsh": sdp.Fourier((64, 64), basis="walsh", block=(16, 8)),
    "tailored": sdp.Tailored((64, 64)),
    "tailored, trees": CASES["tailored, trees"],
}


def on_256_cells(mechanism: Mechanism) -> Mechanism:
    return replace(mechanism, height=4) if hasattr(mechanism, "height") else replace(mechanism, shape=(16, 16))


@pytest.mark.parametrize("name", LARGE)
def test_declared_is_the_maximum_over_256_cells(name):
    declared_is_the_maximum(on_256_cells(LARGE[name]), DOMAINS["whole"], (16, 16), "add-remove")


@pytest.mark.audit
@pytest.mark.parametrize("name", LARGE)
def test_declared_is_the_maximum_over_4096_cells(name):
    declared_is_the_maximum(LARGE[name], DOMAINS["whole"], (64, 64), "add-remove")
