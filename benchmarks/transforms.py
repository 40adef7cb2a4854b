"""How fast are wavelets and the search for the levels of a hierarchy? Against PyWavelets, and against drawing noise."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

import spatialdp as sdp
from benchmarks.measure import Result, seconds
from spatialdp.structures.axis_pairs import forward, inverse
from spatialdp.transforms.haar import HaarAxis

SIDE = 4096


def wavelet() -> Iterator[Result]:
    """Time transform and inverse of 4096 × 4096 counts against PyWavelets in doubles, both without noise."""
    import pywt

    counts = np.random.default_rng(1).integers(0, 100, (SIDE, SIDE))
    axes = HaarAxis(SIDE), HaarAxis(SIDE)
    doubles = counts.astype(np.float64)
    theirs = seconds(lambda: pywt.waverecn(pywt.wavedecn(doubles, "haar"), "haar"), 3)
    ours = seconds(lambda: inverse(forward(counts, axes).astype(np.float64), axes), 3)
    yield Result("Haar transform and inverse of 4096 x 4096, time over PyWavelets", ours / theirs, 3, at_least=False)
    yield Result("wavelet release of 4096 x 4096, peak memory", _peak("sdp.Wavelet((4096, 4096))"), 2, False, "GB")


def hierarchy() -> Iterator[Result]:
    """Time the search for levels and budgets of a hierarchy on 1024 × 1024 cells."""
    from spatialdp.strategies.levels import best_levels

    source = sdp.SystemNoise()
    grid = sdp.Domain((0, 0, 1, 1)).grid((1024, 1024))
    drawing = seconds(lambda: source.laplace(Fraction(20), 1_000_000))

    def optimise() -> None:
        best_levels.cache_clear()
        sdp.Hierarchy((1024, 1024))._levels(grid)

    yield Result(
        "optimising levels for 1024 x 1024, time over drawing a million values", seconds(optimise) / drawing, 1, False
    )


def _peak(mechanism: str) -> float:
    """Return the peak memory, in gigabytes, of a process that only releases 100,000 points."""
    code = f"""
import numpy as np, spatialdp as sdp
from benchmarks.measure import peak_gigabytes
xy = np.random.default_rng(1).random((100_000, 2))
{mechanism}.release(xy, sdp.Domain((0, 0, 1, 1)), epsilon=1).answer((0.1, 0.2, 0.3, 0.4))
print(peak_gigabytes())
"""
    return float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)


BENCHMARKS = (wavelet, hierarchy)
