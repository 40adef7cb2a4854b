"""How fast is the Fourier transform in exact integers, forward and back? Measured without noise, against SciPy."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import numpy.typing as npt
import scipy.fft

import spatialdp as sdp
from benchmarks.measure import Result, seconds
from spatialdp.mechanisms.base import Terms
from spatialdp.privacy.neighbours import Neighbours
from spatialdp.transforms.spectral import Basis

SHAPE = (1024, 1024)


def spectrum() -> Iterator[Result]:
    """Time the whole spectrum of 1024 × 1024 cells against SciPy's dctn and idctn."""
    counts = np.random.default_rng(1).poisson(3, SHAPE)
    values = counts.astype(np.float64)
    theirs = seconds(lambda: scipy.fft.idctn(scipy.fft.dctn(values, norm="ortho"), norm="ortho"))
    domain = sdp.Domain((0, 0, 1, 1))
    terms = Terms(sdp.Budget(1), Neighbours.ADD_REMOVE)
    for basis in Basis:
        mechanism = sdp.Fourier(SHAPE, basis=basis, block=SHAPE)
        ours = seconds(partial(_transform_and_invert, mechanism, domain, terms, counts))
        yield Result(f"{basis} of 1024 x 1024 cells and back, time over scipy's dctn", ours / theirs, 3, False)


def _transform_and_invert(
    mechanism: sdp.Fourier, domain: sdp.Domain, terms: Terms, counts: npt.NDArray[np.int64]
) -> None:
    design = mechanism._design(domain, terms).first
    noisy = (part.floats() for part in design.structure.measure(counts))
    design.structure.fit(noisy, design.laws)


BENCHMARKS = (spectrum,)
