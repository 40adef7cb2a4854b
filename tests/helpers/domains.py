"""Domains in both hemispheres, large and small, and points in them, for hypothesis."""

from __future__ import annotations

from hypothesis import strategies as st

from spatialdp import Domain

finite = st.floats(-1e6, 1e6, allow_subnormal=True)
sides = st.floats(1e-3, 1e6)
shapes = st.tuples(st.integers(1, 40), st.integers(1, 40))


@st.composite
def domains(draw):
    """Boxes in both hemispheres, large and small."""
    x, y, width, height = draw(finite), draw(finite), draw(sides), draw(sides)
    return Domain((x, y, x + width, y + height))


@st.composite
def domains_and_points(draw):
    """A domain and a point in it, often on an edge or corner."""
    domain = draw(domains())
    xmin, ymin, xmax, ymax = domain.bounds
    share = st.one_of(st.sampled_from([0.0, 1.0, 0.5]), st.floats(0, 1, allow_subnormal=True))
    x = min(xmax, xmin + draw(share) * (xmax - xmin))
    y = min(ymax, ymin + draw(share) * (ymax - ymin))
    return domain, (x, y)
